/* Threads lock a list hand over hand; a thread holds a thousand locks at once. */
#include <pthread.h>
#include <stddef.h>

enum { NODES = 1025 };
static pthread_mutex_t nodes[NODES];

static void *walk(void *nothing)
{
    for (int round = 0; round < 20; round++) {
        pthread_mutex_lock(&nodes[0]);
        for (int i = 1; i < NODES; i++) {
            pthread_mutex_lock(&nodes[i]);
            pthread_mutex_unlock(&nodes[i - 1]);
        }
        pthread_mutex_unlock(&nodes[NODES - 1]);
    }
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    for (int i = 0; i < NODES; i++)
        pthread_mutex_init(&nodes[i], NULL);
    pthread_create(&one, NULL, walk, NULL);
    pthread_create(&other, NULL, walk, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    for (int i = 0; i < NODES; i++)
        pthread_mutex_lock(&nodes[i]);
    for (int i = 0; i < NODES; i++)
        pthread_mutex_unlock(&nodes[i]);
    return 0;
}
