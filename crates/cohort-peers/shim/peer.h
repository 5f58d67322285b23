/*
 * How the benchmark calls a lock of a C or C++ library.
 *
 * PEER defines a table of functions, made from the statements that a user of the
 * library would write.  `pairs` repeats these statements in one function, so that a
 * lock which its users have inlined is measured inlined, and one behind a library's
 * function by a call of that function.
 *
 * In the statements `l` is the lock and `t` the thread's token.  Neither is ever freed:
 * queue nodes of some locks wander from thread to thread.
 */
#ifndef COHORT_PEER_H
#define COHORT_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PEER_SYMBOL extern "C"
#else
#define PEER_SYMBOL
#endif

struct peer {
	size_t lock_bytes;
	size_t token_bytes;
	void (*make)(void *lock);
	void (*join)(void *lock, void *token);
	void (*take)(void *lock, void *token);
	void (*give)(void *lock, void *token);
	void (*pairs)(void *lock, void *token, uint32_t count);
};

#define PEER_FUNCTION(NAME, WHAT, LOCK, TOKEN, DO)                             \
	static void NAME##_##WHAT(void *lock, void *token)                     \
	{                                                                      \
		LOCK *l = (LOCK *)lock;                                        \
		TOKEN *t = (TOKEN *)token;                                     \
		(void)l;                                                       \
		(void)t;                                                       \
		DO;                                                            \
	}

#define PEER(NAME, LOCK, TOKEN, MAKE, JOIN, TAKE, GIVE)                        \
	static void NAME##_make(void *lock)                                    \
	{                                                                      \
		LOCK *l = (LOCK *)lock;                                        \
		MAKE;                                                          \
	}                                                                      \
	PEER_FUNCTION(NAME, join, LOCK, TOKEN, JOIN)                           \
	PEER_FUNCTION(NAME, take, LOCK, TOKEN, TAKE)                           \
	PEER_FUNCTION(NAME, give, LOCK, TOKEN, GIVE)                           \
	static void NAME##_pairs(void *lock, void *token, uint32_t count)      \
	{                                                                      \
		LOCK *l = (LOCK *)lock;                                        \
		TOKEN *t = (TOKEN *)token;                                     \
		(void)t;                                                       \
		while (count-- > 0) {                                          \
			TAKE;                                                  \
			GIVE;                                                  \
		}                                                              \
	}                                                                      \
	PEER_SYMBOL const struct peer cohort_peer_##NAME;                      \
	const struct peer cohort_peer_##NAME = {                               \
		sizeof(LOCK), sizeof(TOKEN), NAME##_make, NAME##_join,         \
		NAME##_take, NAME##_give, NAME##_pairs,                        \
	};

/* A rwlock; SHARED defines its table. */
struct shared_peer {
	size_t bytes;
	void (*make)(void *lock);
	void (*read)(void *lock);
	void (*end_read)(void *lock);
	void (*write)(void *lock);
	void (*end_write)(void *lock);
};

#define SHARED_FUNCTION(NAME, WHAT, LOCK, DO)                                  \
	static void NAME##_##WHAT(void *lock)                                  \
	{                                                                      \
		LOCK *l = (LOCK *)lock;                                        \
		DO;                                                            \
	}

#define SHARED(NAME, LOCK, MAKE, READ, END_READ, WRITE, END_WRITE)             \
	SHARED_FUNCTION(NAME, make, LOCK, MAKE)                                \
	SHARED_FUNCTION(NAME, read, LOCK, READ)                                \
	SHARED_FUNCTION(NAME, end_read, LOCK, END_READ)                        \
	SHARED_FUNCTION(NAME, write, LOCK, WRITE)                              \
	SHARED_FUNCTION(NAME, end_write, LOCK, END_WRITE)                      \
	PEER_SYMBOL const struct shared_peer cohort_peer_##NAME;               \
	const struct shared_peer cohort_peer_##NAME = {                        \
		sizeof(LOCK), NAME##_make, NAME##_read,                        \
		NAME##_end_read, NAME##_write, NAME##_end_write,               \
	};

#endif
