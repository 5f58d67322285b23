/* ThreadSanitizer does not see what the library does, and is told. */
#if defined(__SANITIZE_THREAD__)
#define COHORT_HAS_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COHORT_HAS_TSAN
#endif
#endif
#ifdef COHORT_HAS_TSAN
#undef COHORT_HAS_TSAN
#include <cohort_tsan.h>
#endif
