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

inline acquire_high(c) {
	/* The context invariant (Chehab et al. 2021 §4.1.3). */
	atomic { assert(!in_use[c]); in_use[c] = true;
#ifdef UNFAIR
	}
	atomic { !taken -> taken = true }
#else
	high!c }
	high?[eval(c)]
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
		low[mine]!me;
		low[mine]?[eval(me)];
		if
		:: passed[mine] -> skip
		:: else -> acquire_high(mine)
		fi;

		atomic { inside++; assert(inside == 1); holds[me] = true; wants[me] = false }
		atomic { inside--; holds[me] = false }

		if
		:: (len(low[mine]) > 1 && MAY_KEEP(mine)) ->
			COUNT(mine);
			passed[mine] = true;
			release_low(mine, me)
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
		fi
	od;
	finished++
}

/* Thread 1 is alone in its cohort; 0 and 2 share the other. */
ltl lonely { [](wants[1] -> <>holds[1]) }
ltl shared { [](wants[0] -> <>holds[0]) }
ltl ends { <>(finished == THREADS) }
