/* Programs with one contended lock, `hot` or `hot_rwlock`, beside others:
 *
 *   hottest mutex|rwlock|queue|allocator|nested
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, GROUPS = 3 };

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t hot_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t cold = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer[GROUPS] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER
};
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long length;
static void *blocks;

static void rest(long microseconds)
{
	struct timespec time = { 0, microseconds * 1000 };

	nanosleep(&time, NULL);
}

static void visit_cold(void)
{
	pthread_mutex_lock(&cold);
	rest(50);
	pthread_mutex_unlock(&cold);
	rest(200);
}

static void *rwlock(void *own)
{
	long number = (long)own;

	for (;;) {
		if (number % 2 == 0)
			pthread_rwlock_wrlock(&hot_rwlock);
		else
			pthread_rwlock_rdlock(&hot_rwlock);
		rest(1000);
		pthread_rwlock_unlock(&hot_rwlock);
		visit_cold();
	}
	return NULL;
}

static void *mutex(void *own)
{
	for (;;) {
		pthread_mutex_lock(&hot);
		rest(1000);
		pthread_mutex_unlock(&hot);
		visit_cold();
	}
	return own;
}

/* Idle consumers wait for the condition, which is no contention. */
static void *queue(void *own)
{
	long number = (long)own;

	for (;;) {
		pthread_mutex_lock(&hot);
		if (number < 2) {
			while (length == 0)
				pthread_cond_wait(&filled, &hot);
			length--;
		} else {
			rest(1000);
			length++;
			pthread_cond_signal(&filled);
		}
		pthread_mutex_unlock(&hot);
		if (number >= 2)
			visit_cold();
	}
	return NULL;
}

/* Blocks from a shared list; they are filled outside of it. */
static void *allocator(void *own)
{
	for (;;) {
		void **block;
		int tries;

		pthread_mutex_lock(&hot);
		block = blocks;
		if (block != NULL)
			blocks = *block;
		/* As if it looked for a block that fits. */
		for (tries = 0; tries < 100000; tries++)
			__asm__ volatile("" ::: "memory");
		pthread_mutex_unlock(&hot);
		if (block == NULL)
			block = malloc(256);
		memset(block, 1, 256);
		pthread_mutex_lock(&hot);
		*block = blocks;
		blocks = block;
		pthread_mutex_unlock(&hot);
	}
	return own;
}

static void *nested(void *own)
{
	long number = (long)own;

	for (;;) {
		pthread_mutex_lock(&outer[number % GROUPS]);
		pthread_mutex_lock(&hot);
		rest(1000);
		pthread_mutex_unlock(&hot);
		pthread_mutex_unlock(&outer[number % GROUPS]);
	}
	return NULL;
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
	} all[] = {
		{ "mutex", mutex },         { "rwlock", rwlock }, { "queue", queue },
		{ "allocator", allocator }, { "nested", nested },
	};
	unsigned one;
	long thread;

	for (one = 0; one < sizeof all / sizeof *all; one++) {
		pthread_t started;

		if (count < 2 || strcmp(words[1], all[one].name) != 0)
			continue;
		for (thread = 0; thread < THREADS; thread++)
			pthread_create(&started, NULL, all[one].run, (void *)thread);
		for (;;)
			pause();
	}
	return 2;
}
