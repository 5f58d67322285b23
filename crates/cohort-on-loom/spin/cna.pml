/* cna (numa/cna.rs): one queue, along which the holder looks for a neighbour, and a second
 * one of those that it has set aside, node by node, each access to shared memory a step.
 *
 * Left out: sleeping.
 *
 *   (nothing)      thread 1 is alone on its NUMA node
 *   -DTWO_AND_TWO  threads 0 and 2 share one NUMA node, 1 and 3 the other
 *   -DHAND_OFFS=n  a NUMA node has the lock n times in a row at most
 *
 * The flaws:
 *   -DNO_BOUND     a NUMA node keeps the lock while its own threads want it
 *   -DFORGET_ASIDE a holder that takes the others back into an empty queue grants none of them
 *   -DLEAVE_ASIDE  nor does it take them back: it leaves the lock free
 *   -DLOSE_ASIDE   setting more aside loses those that are
 *   -DNEVER_BACK   a node that has had its turns grants its successor, and keeps them aside
 *   -DOLD_END      taken back into an empty queue, the last one keeps its old successor
 */

#ifdef TWO_AND_TWO
#define THREADS 4
#define COHORT(t) ((t) % 2)
#endif
#include "names.pml"

#ifndef HAND_OFFS
#define HAND_OFFS 2
#endif

byte tail = NONE;
byte next[THREADS] = NONE;
bool granted[THREADS];
byte first[THREADS] = NONE;
byte last[THREADS] = NONE;
byte row[THREADS];

#define LOCALS byte succ, front, end, before, waiter;
#define AT_REST (tail == NONE)

#ifdef NO_BOUND
#define MAY_KEEP(row) true
#define ONE_MORE(row) row
#else
#define MAY_KEEP(row) (row < HAND_OFFS)
#define ONE_MORE(row) (row + 1)
#endif

/* What nobody reads again is forgotten, so that there are fewer states. */
inline forget() {
	next[me] = NONE; granted[me] = false; first[me] = NONE; last[me] = NONE; row[me] = 0;
	succ = 0; front = 0; end = 0; before = 0; waiter = 0
}

inline acquire() {
	/* Nobody else knows the node. */
	d_step { forget(); row[me] = 1 };
	atomic { waiter = tail; tail = me };
	if
	:: waiter != NONE -> d_step { next[waiter] = me; waiter = 0 }; granted[me]
	:: else
	fi
}

/* The fields are the holder's to write, and the grant publishes them: one step. */
inline grant(t, one, other, count) {
	d_step { first[t] = one; last[t] = other; row[t] = count; granted[t] = true; forget() };
	goto released
}

inline release() {
	/* The holder alone knows which waiters are aside. */
	d_step { succ = next[me]; front = first[me]; end = last[me] };
	if
	:: succ == NONE ->
#ifndef OLD_END
		if
		:: front != NONE -> next[end] = NONE
		:: else
		fi;
#endif
		if
		:: atomic { tail == me ->
#ifdef LEAVE_ASIDE
			tail = NONE
#else
			tail = end
#endif
		   };
#if !defined(FORGET_ASIDE) && !defined(LEAVE_ASIDE)
			if
			:: front != NONE -> grant(front, NONE, NONE, 1)
			:: else
			fi;
#endif
			d_step { forget() };
			goto released
		:: atomic { tail != me };
			next[me] != NONE;
			succ = next[me]
		fi
	:: else
	fi;
	if
	:: MAY_KEEP(row[me]) ->
		/* The first neighbour, and the waiter before it. */
		before = NONE;
		waiter = succ;
		do
		:: waiter == NONE || COHORT(waiter) == COHORT(me) -> break
		:: else -> d_step { before = waiter; waiter = next[waiter] }
		od;
		if
		:: waiter != NONE && before == NONE ->
			grant(waiter, front, end, ONE_MORE(row[me]))
		:: waiter != NONE && before != NONE ->
#ifdef LOSE_ASIDE
			grant(waiter, succ, before, ONE_MORE(row[me]))
#else
			if
			:: front == NONE -> grant(waiter, succ, before, ONE_MORE(row[me]))
			:: else ->
				next[end] = succ;
				grant(waiter, front, before, ONE_MORE(row[me]))
			fi
#endif
		:: waiter == NONE
		fi
	:: else
	fi;
#ifdef NEVER_BACK
	grant(succ, front, end, 1);
#else
	if
	:: front == NONE -> grant(succ, NONE, NONE, 1)
	:: else ->
		next[end] = succ;
		grant(front, NONE, NONE, 1)
	fi;
#endif
released:
	skip
}

#include "threads.pml"
