/* A table with many readers and few writers; the same under rwlocks by name.
 *
 *   readers [NAME]...
 */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>

struct table {
    cohort_rwlock_t rwlock;
    cohort_shared_t *named; /* or NULL */
    long pair[2];
};

/* Clang's analysis cannot follow a choice of two locks. */
#define UNCHECKED COHORT_ANNOTATION(no_thread_safety_analysis)

UNCHECKED static int look_once(struct table *table)
{
    if (table->named)
        cohort_shared_read(table->named);
    else
        cohort_rwlock_read(&table->rwlock);
    int is_torn = table->pair[0] != table->pair[1];
    if (table->named)
        cohort_shared_unlock(table->named);
    else
        cohort_rwlock_unlock(&table->rwlock);
    return is_torn;
}

static void *look(void *argument)
{
    for (int i = 0; i < 20000; i++)
        if (look_once(argument))
            return argument;
    return NULL;
}

UNCHECKED static void change(struct table *table)
{
    if (table->named) {
        cohort_shared_write(table->named);
        table->pair[0]++;
        table->pair[1]++;
        cohort_shared_unlock(table->named);
        return;
    }
    /* Looks first, beside other readers, and then writes: no other thread has written in between. */
    cohort_rwlock_read_upgradable(&table->rwlock);
    long next = table->pair[0] + 1;
    cohort_rwlock_upgrade(&table->rwlock);
    table->pair[0] = next;
    table->pair[1] = next;
    cohort_rwlock_unlock_fair(&table->rwlock);
}

static int is_sound(const char *name)
{
    struct table table = { COHORT_RWLOCK_INIT, name ? cohort_shared_new(name) : NULL, { 0, 0 } };
    pthread_t threads[3];
    void *torn[3];

    if (name && !table.named)
        return 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, look, &table);
    for (int i = 0; i < 2000; i++)
        change(&table);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], &torn[i]);
    if (cohort_shared_free(table.named) != 0)
        return 0;
    return !torn[0] && !torn[1] && !torn[2] && table.pair[0] == 2000;
}

int main(int count, char **names)
{
    static char *usual[] = { "", "rwlock", "c-rw-np", "c-rw-wp" };

    if (count < 2) {
        names = usual;
        count = sizeof usual / sizeof *usual;
    }
    if (!is_sound(NULL))
        return 1;
    for (int i = 1; i < count; i++)
        if (!is_sound(names[i])) {
            printf("readers: %s failed\n", names[i]);
            return 1;
        }
    printf("readers: %d locks\n", count);
    return 0;
}
