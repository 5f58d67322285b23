/* Concurrency Kit's spin locks; its users have them inlined. */
#include <stdbool.h>
#include <ck_spinlock.h>
#include "peer.h"

/* More threads than any crowd has; a power of two, as the lock wants it. */
#define SLOTS 128

struct anderson {
	ck_spinlock_anderson_t lock;
	ck_spinlock_anderson_thread_t slots[SLOTS];
};

struct clh {
	ck_spinlock_clh_t *queue;
	ck_spinlock_clh_t unowned;
};

struct clh_token {
	ck_spinlock_clh_t *mine;
	ck_spinlock_clh_t first;
};

PEER(ck_fas, ck_spinlock_fas_t, char, ck_spinlock_fas_init(l), ,
     ck_spinlock_fas_lock(l), ck_spinlock_fas_unlock(l))

PEER(ck_cas, ck_spinlock_cas_t, char, ck_spinlock_cas_init(l), ,
     ck_spinlock_cas_lock(l), ck_spinlock_cas_unlock(l))

PEER(ck_dec, ck_spinlock_dec_t, char, ck_spinlock_dec_init(l), ,
     ck_spinlock_dec_lock(l), ck_spinlock_dec_unlock(l))

PEER(ck_ticket, ck_spinlock_ticket_t, char, ck_spinlock_ticket_init(l), ,
     ck_spinlock_ticket_lock(l), ck_spinlock_ticket_unlock(l))

PEER(ck_mcs, ck_spinlock_mcs_t, ck_spinlock_mcs_context_t, ck_spinlock_mcs_init(l), ,
     ck_spinlock_mcs_lock(l, t), ck_spinlock_mcs_unlock(l, t))

PEER(ck_clh, struct clh, struct clh_token,
     ck_spinlock_clh_init(&l->queue, &l->unowned),
     t->mine = &t->first,
     ck_spinlock_clh_lock(&l->queue, t->mine), ck_spinlock_clh_unlock(&t->mine))

PEER(ck_anderson, struct anderson, ck_spinlock_anderson_thread_t *,
     ck_spinlock_anderson_init(&l->lock, l->slots, SLOTS), ,
     ck_spinlock_anderson_lock(&l->lock, t), ck_spinlock_anderson_unlock(&l->lock, *t))
