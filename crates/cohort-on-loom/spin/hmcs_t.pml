/* hmcs-t (numa/hmcs_t.rs, `climb`, `retreat` and `pass_on`): a tree of mcs queues, from which
 * waiters can part, node by node, each access to shared memory a step.
 *
 * Left out: making cohorts and nodes, sleeping, contexts that are dropped (each thread has one node
 * of its own), a second look for a successor before the mark, ways other than the paper's, patient
 * threads that gave up before.
 *
 * A thread that is hurried may give up at any look, and comes back or not: `wants` says nothing of it.
 * Those asked about are patient.
 *
 *   (nothing)      two levels: threads 0 and 2 share a cohort; 2 is hurried
 *   -DFLAT         one level
 *   -DHURRIED2     threads 0 and 2 are hurried, 1 is patient
 *   -DHAND_OFFS=n  a cohort has all above it n times in a row at most
 *   -DMINE         the place of a patient thread is in its context
 *   -DOWN          a thread that finds the system's queue empty may enter it by the queue's own place
 *
 * The flaws:
 *   -DNO_BOUND         a cohort keeps what is above while its own threads want it
 *   -DKEEP_FIRST       a node that is left behind still says that its queue is held
 *   -DIGNORE_MARK      a waiter that finds the mark waits all the same
 *   -DOVERWRITE_GRANT  a waiter gives up without looking whether it was granted
 *   -DFORGET_NODE      nodes that were passed over are never given back
 *   -DFORGET_BELOW     a waiter that gives up above keeps the queue below
 *   -DLOW_FIRST        a queue is left before the one above
 *   -DKEEP_LINK        the queue's own place keeps the link to a successor that was granted (OWN)
 *   -DUNLINK_LATE      it loses that link only after the grant (OWN)
 *   -DKEEP_MARKED      it keeps the link of a successor that has found the mark (OWN)
 *   -DLEAVE_PLACE      a patient thread leaves its place to a successor that is not linked (MINE)
 *   -DTRUST_ALL        the next is granted as a thread that does not give up (MINE)
 */

#include "names.pml"

#ifdef FLAT
#define TOP 0
#define QUEUES 1
#define QUEUE(l) 0
#define AT_REST (tail[0] == NONE)
#else
#define TOP 1
#define QUEUES 3
#define QUEUE(l) ((l) == TOP -> 2 : me == 1)
#define AT_REST (tail[0] == NONE && tail[1] == NONE && tail[2] == NONE)
#endif

#ifdef HURRIED2
#define HURRIES(t) ((t) != 1)
#else
#define HURRIES(t) ((t) == 2)
#endif
#define HURRIED HURRIES(me)

#ifndef HAND_OFFS
#define HAND_OFFS 2
#endif

#define RECYCLED 0
#define WAITING 1
#define ABANDONED 2
#define PREFIX 3
#define FIRST 4

/* In a node's `next`: its releaser has not waited for the successor. */
#define MARK 254

/* The threads' nodes, then the cohorts', then the system's queue's own place. */
#define PLACE (THREADS + QUEUES - 1)
#ifdef OWN
#define NODES (PLACE + 1)
#else
#define NODES PLACE
#endif
#define NODE(l) ((l) == 0 -> me : THREADS + (me == 1))

#ifdef OWN
#define IS_OWN(n) ((n) == PLACE)
#else
#define IS_OWN(n) false
#endif

/* The place of a patient thread, in its context: nobody else claims it. */
#ifdef MINE
#define IS_MINE(n) ((n) < THREADS && !HURRIES(n))
#else
#define IS_MINE(n) false
#endif

#ifdef TRUST_ALL
#define STAYS(n) true
#else
#define STAYS(n) IS_MINE(n)
#endif

#ifdef LEAVE_PLACE
#define WAITS_FOR_LINK(n) false
#else
#define WAITS_FOR_LINK(n) IS_MINE(n)
#endif

byte next[NODES] = NONE;
byte status[NODES];
byte tail[QUEUES] = NONE;

/* How the entry into a queue has gone. */
#define WAITS 0
#define ALONE 1
#define ALL 2
#define LATE 3

#ifdef OWN
#define BY_PLACE bool own;
#else
#define BY_PLACE
#endif

#define LOCALS byte level, node, other, was, entered; byte at[2]; byte behind[2]; bool passed, got; BY_PLACE
#define GAVE_UP (!got)

#ifdef NO_BOUND
#define MAY_KEEP(row) true
#define ONE_MORE(row) FIRST + 1
#else
#define MAY_KEEP(row) (row + 1 < FIRST + HAND_OFFS)
#define ONE_MORE(row) row + 1
#endif

#ifdef KEEP_FIRST
#define LEAVES_FIRST(n) true
#else
#define LEAVES_FIRST(n) status[n] != FIRST
#endif

/* Goes on behind the node, at which the way back begins then; but for the queue's own place, and a
 * context's. */
inline turn(l) {
	d_step {
		if
		:: IS_OWN(at[l]) || IS_MINE(at[l])
		:: else -> next[at[l]] = behind[l]; behind[l] = at[l]
		fi
	}
}

#ifdef OWN
inline unlink(l) {
	d_step {
		if
		:: at[l] == PLACE -> next[PLACE] = NONE
		:: else
		fi
	}
}
#endif

/* Grants that to the first waiter behind the node at which the way has come that is there. */
inline pass(l, what) {
	do
	:: other = next[at[l]];
		if
		:: other == NONE -> passed = false; break
		:: else ->
			assert(other != MARK);
#if defined(OWN) && !defined(KEEP_LINK) && !defined(UNLINK_LATE)
			unlink(l);
#endif
			if
			:: STAYS(other) -> d_step { was = WAITING; status[other] = what }
			:: else -> atomic { was = status[other]; status[other] = what }
			fi;
#ifdef UNLINK_LATE
			unlink(l);
#endif
			turn(l);
			if
			:: was == WAITING -> passed = true; break
			:: else -> at[l] = other
			fi
		fi
	od;
	atomic { other = 0; was = 0 }
}

/* Passes the queue on, or leaves it to nobody. */
inline finish(l, what) {
	do
	:: pass(l, what);
		if
		:: passed -> break
		:: else
		fi;
		if
		:: atomic { tail[QUEUE(l)] == at[l] -> tail[QUEUE(l)] = NONE };
			turn(l);
			break
		:: tail[QUEUE(l)] != at[l] ->
			if
			:: WAITS_FOR_LINK(at[l]) -> next[at[l]] != NONE
			:: else ->
				if
				:: LEAVES_FIRST(at[l])
				:: !(LEAVES_FIRST(at[l])) -> status[at[l]] = PREFIX
				fi;
				if
				:: atomic { next[at[l]] == NONE -> next[at[l]] = MARK }; break
				:: next[at[l]] != NONE
				fi
			fi
		fi
	od;
	passed = false
}

/* Gives back the nodes passed over, the last first. */
inline recycle(l) {
	do
	:: behind[l] == NONE -> break
	:: else ->
		d_step {
			other = behind[l]; behind[l] = next[other];
#ifndef FORGET_NODE
			status[other] = RECYCLED;
#endif
			other = 0
		}
	od;
	atomic { at[l] = 0; behind[l] = 0 }
}

inline acquire() {
	d_step { level = 0; node = me };
	do
#ifdef OWN
	:: atomic { level == 0 && tail[QUEUE(TOP)] == NONE ->
			tail[QUEUE(TOP)] = PLACE; own = true; got = true };
		break
#endif
	:: true ->
		entered = WAITS;
		if
		:: atomic { status[node] == RECYCLED || IS_MINE(node) ->
				status[node] = WAITING; next[node] = NONE };
			atomic { other = tail[QUEUE(level)]; tail[QUEUE(level)] = node };
			if
			:: other == NONE -> status[node] = FIRST; entered = ALONE
			:: else ->
				if
				:: IS_MINE(other) -> d_step { next[other] = node; was = NONE }
				:: else -> atomic { was = next[other]; next[other] = node }
				fi;
				if
#ifndef IGNORE_MARK
				:: was == MARK ->
#ifndef OWN
					status[other] = RECYCLED;
#else
					d_step {
						if
#ifdef KEEP_MARKED
						:: other == PLACE
#else
						:: other == PLACE -> next[PLACE] = NONE
#endif
						:: else -> status[other] = RECYCLED
						fi
					};
#endif
					status[node] = FIRST;
					entered = ALONE
#endif
				:: else
				fi
			fi;
			atomic { other = 0; was = 0 }
		:: atomic { status[node] == ABANDONED -> status[node] = WAITING }
#ifndef FLAT
		/* The thread that gave the caller the queue below held this one too. */
		:: level == TOP && status[node] == FIRST -> entered = ALONE
#endif
		:: atomic { HURRIED && status[node] != RECYCLED && status[node] != ABANDONED &&
			(level == 0 || status[node] != FIRST) -> entered = LATE }
		fi;
		if
		:: entered == WAITS ->
			if
			:: atomic { status[node] == PREFIX -> status[node] = FIRST; entered = ALONE }
			:: atomic { status[node] > PREFIX -> entered = ALL }
#ifdef OVERWRITE_GRANT
			:: HURRIED -> atomic { status[node] = ABANDONED; entered = LATE }
#else
			:: atomic { HURRIED && status[node] == WAITING -> status[node] = ABANDONED; entered = LATE }
#endif
			fi
		:: else
		fi;
		if
		:: entered == ALL -> got = true; break
		:: entered == LATE -> got = false; break
		:: else ->
			if
			:: level == TOP -> got = true; break
			:: else -> d_step { level++; node = NODE(1) }
			fi
		fi
	od;
#if !defined(FLAT) && !defined(FORGET_BELOW)
	if
	:: !got && level > 0 ->
		d_step { at[0] = me; behind[0] = NONE };
		finish(0, PREFIX);
		recycle(0)
	:: else
	fi;
#endif
	atomic { level = 0; node = 0; entered = 0 }
}

#ifndef FLAT
inline release_tree() {
	if
	:: MAY_KEEP(status[me]) -> pass(0, ONE_MORE(status[me]))
	:: else
	fi;
	if
	:: passed -> passed = false
	:: else ->
#ifdef LOW_FIRST
		finish(0, PREFIX);
#endif
		d_step { at[1] = NODE(1); behind[1] = NONE };
		finish(1, FIRST + 1);
		recycle(1);
#ifndef LOW_FIRST
		finish(0, PREFIX)
#endif
	fi;
	recycle(0)
}
#endif

inline release() {
#ifdef FLAT
#ifdef OWN
	d_step { got = false; at[0] = (own -> PLACE : me); behind[0] = NONE; own = false };
#else
	d_step { got = false; at[0] = me; behind[0] = NONE };
#endif
	finish(0, FIRST + 1);
	recycle(0)
#else
	d_step { got = false; at[0] = me; behind[0] = NONE };
#ifdef OWN
	if
	:: own ->
		d_step { own = false; at[1] = PLACE; behind[1] = NONE };
		finish(1, FIRST + 1);
		recycle(1)
	:: else -> release_tree()
	fi
#else
	release_tree()
#endif
#endif
}

#include "threads.pml"
