/* Sizes, alignments and initialisers of the public types, as crates/cohort-c/ABI.md promises. */

#include <cohort.h>
#include <string.h>

#define LAYOUT(type, size, alignment) \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), #type)

LAYOUT(cohort_mutex_t, 8, 4);
LAYOUT(cohort_rwlock_t, 16, 4);
LAYOUT(cohort_cond_t, 24, 4);
LAYOUT(cohort_token_t, 24, _Alignof(uint64_t));
LAYOUT(cohort_context_t, 128, 64);

int main(void)
{
    static const unsigned char zeroes[128];
    const cohort_mutex_t mutex = COHORT_MUTEX_INIT;
    const cohort_rwlock_t rwlock = COHORT_RWLOCK_INIT;
    const cohort_cond_t cond = COHORT_COND_INIT;
    const cohort_token_t token = COHORT_TOKEN_INIT;

    if (memcmp(&mutex, zeroes, sizeof mutex))
        return 1;
    if (memcmp(&rwlock, zeroes, sizeof rwlock))
        return 2;
    if (memcmp(&cond, zeroes, sizeof cond))
        return 3;
    if (memcmp(&token, zeroes, sizeof token))
        return 4;
    return 0;
}
