/* One step of a composition (Chehab et al. 2021 §4.2.2): a low lock for each of two cohorts
 * below one high lock, all of them abstract.  compose/clof.rs has the same steps in the same
 * order.
 *
 * A fair lock is a queue: a thread that acquires it goes to its end and waits to be
 * first, and one that releases it takes the first away.  What stands in a low lock's queue is a
 * thread; in the high lock's, a cohort, since the cohort's context is what waits there.
 *
 *   -DHAND_OFFS=n  the high lock is passed within a cohort n times in a row at most
 *   -DUNFAIR       the high lock is taken by whichever cohort comes first, not in turn
 *   -DNO_BOUND     a cohort keeps the high lock while its own threads want it
 *   -DLOW_FIRST    the low lock is released before the high one
 *   -DNO_CLEAR     a cohort that gives the high lock away forgets to say so
 *   -DROUNDS=n     each thread acquires n times, not for ever
 *   -DHURRIED      thread 2 may give up at either lock, and comes back or not: the step of
 *                  compose/aclof.rs, in which the high lock goes to a waiter that can no longer leave
 *   -DBLINDLY      (of HURRIED) a holder looks for a waiter, and hands over whether or not that stays
 */

#define THREADS 3
#define COHORTS 2
#ifndef HAND_OFFS
#define HAND_OFFS 2
#endif

#ifdef NO_BOUND
#define MAY_KEEP(c) true
#define COUNT(c) skip
#else
#define MAY_KEEP(c) (hand_offs[c] < HAND_OFFS)
#define COUNT(c) hand_offs[c]++
#endif

chan low[COHORTS] = [THREADS] of { byte };
bool passed[COHORTS];
byte hand_offs[COHORTS];

/* The cohort's context is in use by an acquisition of the high lock. */
bool in_use[COHORTS];

#ifdef UNFAIR
bool taken;
#else
chan high = [COHORTS] of { byte };
#endif

/* What the properties speak of. */
bool wants[THREADS];
bool holds[THREADS];
byte inside;
byte finished;

#ifdef HURRIED
#define GIVES_UP (me == 2)
#else
#define GIVES_UP false
#endif

/* To `got`. */
inline acquire_low(c, t) {
	low[c]!t;
	if
	:: low[c]?[eval(t)] -> got = true
	:: atomic { GIVES_UP && !(low[c]?[eval(t)]) -> low[c]??eval(t); got = false }
	fi
}

/* To `got`. */
inline acquire_high(c) {
	/* The context invariant (Chehab et al. 2021 §4.1.3). */
	atomic { assert(!in_use[c]); in_use[c] = true;
#ifdef UNFAIR
	}
	atomic { !taken -> taken = true }
#else
	high!c }
	if
	:: high?[eval(c)]
	:: atomic { GIVES_UP && !(high?[eval(c)]) -> high??eval(c); in_use[c] = false; got = false }
	fi
#endif
}

inline release_high(c) {
#ifdef UNFAIR
	atomic { taken = false; in_use[c] = false }
#else
	atomic { high?eval(c); in_use[c] = false }
#endif
}

inline release_low(c, t) {
	low[c]?eval(t)
}

active [THREADS] proctype thread() {
	byte me = _pid;
	byte mine = _pid % COHORTS;
	bool got;
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
		acquire_low(mine, me);
		if
		:: !got -> goto over
		:: got && passed[mine] -> skip
		:: got && !passed[mine] -> acquire_high(mine)
		fi;
		if
		:: !got -> release_low(mine, me); goto over
		:: else
		fi;

		atomic { inside++; assert(inside == 1); holds[me] = true; wants[me] = false }
		atomic { inside--; holds[me] = false }

		if
#if defined(HURRIED) && !defined(BLINDLY)
		/* As long as it is looked for, a waiter may leave. */
		:: atomic { len(low[mine]) > 1 && MAY_KEEP(mine) ->
			COUNT(mine); passed[mine] = true; release_low(mine, me) }
#else
		:: (len(low[mine]) > 1 && MAY_KEEP(mine)) ->
			COUNT(mine);
			passed[mine] = true;
			release_low(mine, me)
#endif
		/* Also if somebody waits: a low lock may overlook its waiters. */
		:: true ->
#ifndef NO_CLEAR
			passed[mine] = false;
#endif
			hand_offs[mine] = 0;
#ifdef LOW_FIRST
			release_low(mine, me);
			release_high(mine)
#else
			release_high(mine);
			release_low(mine, me)
#endif
		fi;
over:
		wants[me] = false; got = false
	od;
	finished++
}

/* Thread 1 is alone in its cohort; 0 and 2 share the other. */
ltl lonely { [](wants[1] -> <>holds[1]) }
ltl shared { [](wants[0] -> <>holds[0]) }
ltl ends { <>(finished == THREADS) }
