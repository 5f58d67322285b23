/* Waits that stay (compose/aclof.rs, `hand_on`): three levels of abstract locks, of which a waiter
 * that gives up at the top holds the lower two, and hands them on within its cohort.
 *
 * Threads 0 and 2 share a cohort and are hurried: they may give up at any look, and come back or not.
 * Thread 1 is of another cohort, below the same lock in the middle, and thread 3 comes to the top by
 * itself; these two are patient.  A waiter is served before any that comes later can have a lock: no
 * lock is wanted by more than two.
 *
 *   -DHAND_OFFS=n    a cohort has the lock, and hands a wait on, n times in a row at most
 *
 * The flaws:
 *   -DSTAY_FOR_EVER  a wait is handed on for as long as one waiter gives up after the other
 *   -DLEAVE_WAIT     a wait that nobody goes on with does not end
 */

#ifndef THREADS
#define THREADS 4
#endif

#include "names.pml"

#ifndef HAND_OFFS
#define HAND_OFFS 2
#endif

#define MINE COHORT(me)
#define OTHER (2 - me)
#define HURRIED (me == 0 || me == 2)

/* What comes with a low lock: nothing, a wait, or all above, handed over so many times. */
#define NOTHING 0
#define BEGUN 1
#define HELD 2
#define NEXT (came[MINE] < HELD -> HELD : came[MINE] + 1)

/* Which thread holds a cohort's low lock; which wait for it. */
byte low[COHORTS] = NONE;
bool queued[THREADS];
byte came[COHORTS];
byte given[COHORTS];

/* Which cohort holds the lock in the middle; which waits for it. */
byte middle = NONE;
bool waits[COHORTS];

/* Whether thread 3 holds the lock at the top, or the holder of the one in the middle; which of them waits. */
#define SIDE (me == 3)
byte top = NONE;
bool wanted[2];

#define LOCALS bool got, passed;
#define GAVE_UP (!got)
#define AT_REST (low[0] == NONE && low[1] == NONE && middle == NONE && top == NONE)

#ifdef STAY_FOR_EVER
#define MAY_GIVE true
#define COUNT skip
#else
#define MAY_GIVE (given[MINE] < HAND_OFFS)
#define COUNT given[MINE]++
#endif

inline acquire_low() {
	atomic {
		if
		:: low[MINE] == NONE -> low[MINE] = me; came[MINE] = NOTHING
		:: else -> queued[me] = true
		fi
	};
	if
	:: atomic { low[MINE] == me -> queued[me] = false; got = true }
	:: atomic { HURRIED && low[MINE] != me -> queued[me] = false; got = false }
	fi
}

/* Gives the low lock and what comes with it to the waiter that stays; without one it is kept, or
 * free if nothing comes with it. */
inline pass_low(what) {
	atomic {
		if
		:: queued[OTHER] -> came[MINE] = what; low[MINE] = OTHER; passed = true
		:: !queued[OTHER] && what == NOTHING -> low[MINE] = NONE; passed = true
		:: else -> passed = false
		fi
	}
}

inline acquire_middle() {
	atomic {
		if
		:: middle == NONE -> middle = MINE
		:: else -> waits[MINE] = true
		fi
	};
	if
	:: atomic { middle == MINE -> waits[MINE] = false; got = true }
	:: atomic { HURRIED && middle != MINE -> waits[MINE] = false; got = false }
	fi
}

inline release_middle() {
	atomic {
		if
		:: waits[1 - MINE] -> middle = 1 - MINE
		:: else -> middle = NONE
		fi
	}
}

inline acquire_top() {
	atomic {
		if
		:: top == NONE -> top = SIDE
		:: else -> wanted[SIDE] = true
		fi
	};
	if
	:: atomic { top == SIDE -> wanted[SIDE] = false; got = true }
	:: atomic { HURRIED && top != SIDE -> wanted[SIDE] = false; got = false }
	fi
}

inline release_top() {
	atomic {
		if
		:: wanted[1 - SIDE] -> top = 1 - SIDE
		:: else -> top = NONE
		fi
	}
}

inline hand_on() {
	if
	:: MAY_GIVE -> COUNT; pass_low(BEGUN)
	:: else
	fi;
	if
	:: passed
	:: else ->
		given[MINE] = 0;
#ifndef LEAVE_WAIT
		if
		:: middle == MINE -> release_middle()
		:: else
		fi;
#endif
		pass_low(NOTHING)
	fi;
	passed = false
}

inline acquire() {
	if
	:: SIDE -> acquire_top()
	:: else ->
		acquire_low();
		if
		:: got && came[MINE] < HELD ->
			if
			:: middle == MINE
			:: else -> acquire_middle()
			fi;
			if
			:: got -> acquire_top()
			:: else
			fi;
			if
			:: got -> given[MINE] = 0
			:: else -> hand_on()
			fi
		:: else
		fi
	fi
}

inline release() {
	got = false;
	if
	:: SIDE -> release_top()
	:: else ->
		if
		:: NEXT < HELD + HAND_OFFS -> pass_low(NEXT)
		:: else
		fi;
		if
		:: passed
		:: else -> release_top(); release_middle(); pass_low(NOTHING)
		fi;
		passed = false
	fi
}

#include "threads.pml"
