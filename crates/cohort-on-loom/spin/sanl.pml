/* sanl (delegation/sanl.rs) with its policy for NUMA nodes, serving-first: threads that run their sections
 * in place, and threads that post them, each access to shared memory a step.
 *
 * The lock below is an abstract queue.  Votes are as bad as they can be: whichever way a thread brings
 * its section, and whether servers are strict, is free at each section and each round.  A thread that
 * posted has its time up whenever that suits it least.
 *
 * Left out: sleeping, deadlines, forks, sections of other locks.
 *
 *   -DPASSES=n      a server goes n times through all places
 *   -DMOST=n        the lock is handed on n times in a row at most; once is too few, since that once
 *                   may go to a thread of another node each time
 *   -DROUNDS=n      each thread brings n sections, not sections for ever
 *
 * The flaws:
 *   -DNO_BOUND        the lock is handed on as long as somebody has posted
 *   -DTRY_ALONE       a thread that has waited for T_w only tries (Zhang et al. 2017, algorithm 3, line 17)
 *   -DKEEP_GATE       a thread that has queued for its node leaves the gate closed
 *   -DHAND_TO_QUEUED  a thread that queues can be handed the lock
 *   -DPOST_AGAIN      a thread that was its own server posts its section all the same (lines 9 and 10)
 *   -DUPGRADE_SERVED  a thread that was served runs its section all the same (lines 22 to 24)
 */

#include "names.pml"

#ifndef PASSES
#define PASSES 1
#endif
#ifndef MOST
#define MOST 2
#endif

#ifdef NO_BOUND
#define MAY_HAND true
#define ONE_MORE skip
#else
#define MAY_HAND (consecutive < MOST)
#define ONE_MORE consecutive++
#endif

#define EMPTY 0
#define POSTED 1
#define QUEUED 2
#define RUNNING 3
#define HANDED 4
#define DONE 5

bool locked;
byte granted = NONE;
chan queue = [THREADS] of { byte };
byte consecutive;
byte request[THREADS];
/* Of which node its server is to be: 1 plus the node; 0 for any. */
byte keeps[THREADS];
bool gate[COHORTS];

bool wants[THREADS];
bool holds[THREADS];
byte inside;
byte finished;

#define IS_POSTED(t) (request[t] == POSTED || request[t] == QUEUED)
#define IS_FOR(t) (!strict || keeps[t] == 0 || keeps[t] == 1 + COHORT(me))
#define IS_BEYOND(t) (keeps[t] == 2 - COHORT(me))
#define SOMEBODY_POSTED (IS_POSTED(0) || IS_POSTED(1) || IS_POSTED(2))

inline enqueue() {
	atomic {
		if
		:: !locked -> locked = true; granted = me
		:: else -> queue!me
		fi
	}
}

inline release() {
	atomic {
		if
		:: queue?granted
		:: empty(queue) -> locked = false
		fi
	}
}

/* The section of that thread, whichever runs it: once. */
inline carry_out(t) {
	atomic { inside++; assert(inside == 1); assert(wants[t]); holds[t] = true; wants[t] = false }
	atomic { inside--; holds[t] = false }
}

inline serve_others() {
	do
	:: passes == PASSES -> break
	:: passes < PASSES ->
		passes++;
		if
		:: strict = false
		:: strict = true
		fi;
		do
		:: at == THREADS -> break
		:: at < THREADS ->
			atomic {
				if
				:: IS_POSTED(at) && IS_FOR(at) -> request[at] = RUNNING
				:: else -> at++; goto next
				fi
			}
			carry_out(at);
			atomic { request[at] = DONE; at++ }
next:
			skip
		od;
		at = 0
	od;
	atomic { passes = 0; strict = false }
}

#define HANDS(t) request[t] == POSTED -> request[t] = HANDED; handed = true
#define HANDS_BEYOND(t) request[t] == POSTED && IS_BEYOND(t) -> request[t] = HANDED; handed = true

/* Hands the lock on, or releases it, and sees to what is posted. */
inline leave() {
	do
	:: true ->
		if
		:: MAY_HAND ->
			ONE_MORE;
			/* First to a thread that waits for a server of its own node, which is another. */
			atomic {
				if
				:: HANDS_BEYOND(0)
				:: HANDS_BEYOND(1)
				:: HANDS_BEYOND(2)
				:: else ->
					if
					:: HANDS(0)
					:: HANDS(1)
					:: HANDS(2)
					:: else
					fi
				fi
			}
		:: else
		fi;
		if
		:: handed -> break
		:: !handed
		fi;
		consecutive = 0;
		release();
		if
		:: !SOMEBODY_POSTED -> break
		:: SOMEBODY_POSTED
		fi;
		if
		:: atomic { !locked -> locked = true }
		:: locked -> break
		fi
	od;
	handed = false
}

inline in_place() {
	enqueue();
	atomic { granted == me -> granted = NONE }
	carry_out(me);
	release()
}

/* Waits until the section has been run, or this thread has the lock: `has` says so. */
inline wait() {
	do
	:: atomic { request[me] == DONE -> break }
	:: atomic { request[me] == HANDED -> has = true; break }
	:: atomic { request[me] == POSTED && !locked -> locked = true; has = true; break }
#ifndef TRY_ALONE
	:: request[me] == POSTED && keeps[me] == 0 ->
		if
#ifdef HAND_TO_QUEUED
		:: true
#else
		:: atomic { request[me] == POSTED -> request[me] = QUEUED }
#endif
			enqueue();
			atomic { granted == me -> granted = NONE; has = true; break }
		:: request[me] != POSTED
		fi
	:: atomic { request[me] == POSTED && keeps[me] != 0 && !gate[COHORT(me)] -> gate[COHORT(me)] = true }
		if
#ifdef HAND_TO_QUEUED
		:: true
#else
		:: atomic { request[me] == POSTED -> request[me] = QUEUED }
#endif
			keeps[me] = 0;
			enqueue();
			atomic { granted == me -> granted = NONE; has = true }
#ifndef KEEP_GATE
			gate[COHORT(me)] = false;
#endif
			break
		:: request[me] != POSTED ->
			gate[COHORT(me)] = false
		fi
#endif
	od
}

inline post() {
	if
	:: keeps[me] = 0
	:: keeps[me] = 1 + COHORT(me)
	fi;
	request[me] = POSTED;
	wait();
	/* A section that was not run is taken back, by the thread that has the lock. */
	atomic { own = (request[me] != DONE); request[me] = EMPTY; keeps[me] = 0 }
#ifdef UPGRADE_SERVED
	own = has;
#endif
	if
	:: has && own -> carry_out(me); serve_others(); leave()
	:: has && !own -> leave()
	:: !has
	fi;
	atomic { has = false; own = false }
}

inline bring() {
	if
	:: atomic { !locked -> locked = true }
		carry_out(me);
		serve_others();
		leave();
#ifdef POST_AGAIN
		post()
#endif
	:: locked -> post()
	fi
}

active [THREADS] proctype thread() {
	byte me = _pid;
	byte passes, at;
	bool strict, handed, has, own;
#ifdef ROUNDS
	byte rounds;
	do
	:: rounds == ROUNDS -> break
	:: rounds < ROUNDS ->
		rounds++;
#else
	do
	::
#endif
		wants[me] = true;
		if
		:: in_place()
		:: bring()
		fi
	od;
	atomic { finished++; assert(finished < THREADS || !locked) }
}

ltl lonely { [](wants[1] -> <>holds[1]) }
ltl shared { [](wants[0] -> <>holds[0]) }
ltl ends { <>(finished == THREADS) }
