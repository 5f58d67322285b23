/* hmcs and ahmcs (numa/hmcs.rs, `climb` and `pass_on`): a tree of mcs queues, node by
 * node, each access to shared memory a step.
 *
 * Left out: making cohorts, sleeping, and what ahmcs learns: there an acquisition enters
 * at any level, whatever the last one met.
 *
 *   (nothing)      two levels: threads 0 and 2 share a cohort
 *   -DDEEP         three levels, four threads: 0 and 2 share a core, 3 their NUMA node
 *   -DHAND_OFFS=n  a cohort has all above it n times in a row at most
 *   -DANYWHERE     an acquisition enters at any level (ahmcs)
 *
 * The flaws:
 *   -DNO_BOUND     a cohort keeps what is above while its own threads want it
 *   -DALL_ABOVE    a waiter that is left the queue alone is told that it has all above, too
 *   -DLOW_FIRST    a queue is left before the one above
 *   -DFORGET_ABOVE the queue above is not left
 *   -DNO_RESET     an entering node keeps the status of its last time
 *   -DNO_LINK      a leaver does not wait for an arrival to link itself
 *   -DFROM_LEAF    (of ahmcs) a release begins at the leaf, wherever the node is
 */

#ifdef DEEP
#define THREADS 4
/* The levels of cohorts, and the system's. */
#define TOP 2
/* Queues 0 to 2 are cores', 3 and 4 NUMA nodes', 5 the system's. */
#define QUEUES 6
#define QUEUE(l) \
	((l) == TOP -> 5 : ((l) == 1 -> (me == 1 -> 4 : 3) : (me == 1 -> 2 : me == 3)))
#else
#define TOP 1
#define QUEUES 3
#define QUEUE(l) ((l) == TOP -> 2 : me == 1)
#endif
#include "names.pml"

#ifndef HAND_OFFS
#define HAND_OFFS 2
#endif

#define WAITING 0
#define FIRST 1
#define ALONE 100

/* The threads' nodes, then the cohorts', which are numbered as their queues. */
#define NODES (THREADS + QUEUES - 1)
/* What stands in the caller's queue of that level. */
#define NODE(l) ((l) == entry -> me : THREADS + QUEUE((l) - 1))

byte next[NODES] = NONE;
byte status[NODES];
/* It is in a queue. */
bool in_use[NODES];
byte tail[QUEUES] = NONE;

#define LOCALS byte level, entry, queue, node, other;

#ifdef DEEP
#define AT_REST \
	(tail[0] == NONE && tail[1] == NONE && tail[2] == NONE && tail[3] == NONE && \
	tail[4] == NONE && tail[5] == NONE)
#else
#define AT_REST (tail[0] == NONE && tail[1] == NONE && tail[2] == NONE)
#endif

/* A thread that leaves a queue forgets its node in the same step, so that states which differ
 * in what nobody reads again are one. */
#ifdef NO_RESET
#define RENEW(n) next[n] = NONE
#define FORGET(n) next[n] = NONE; in_use[n] = false; other = 0; node = 0; queue = 0
#else
#define RENEW(n) next[n] = NONE; status[n] = WAITING
#define FORGET(n) RENEW(n); in_use[n] = false; other = 0; node = 0; queue = 0
#endif

#ifdef NO_BOUND
#define MAY_KEEP(row) true
#define ONE_MORE(row) row
#else
#define MAY_KEEP(row) (row < HAND_OFFS)
#define ONE_MORE(row) (row + 1)
#endif

#ifdef ALL_ABOVE
#define LEFT_ALONE FIRST
#else
#define LEFT_ALONE ALONE
#endif

inline acquire() {
	entry = 0;
#ifdef ANYWHERE
	if
	:: entry = 0
	:: entry = TOP
#ifdef DEEP
	:: entry = 1
#endif
	fi;
#endif
	level = entry;
	do
	:: true ->
		/* Nobody else knows the node. */
		d_step {
			queue = QUEUE(level); node = NODE(level);
			assert(!in_use[node]); in_use[node] = true;
			RENEW(node)
		};
		atomic { other = tail[queue]; tail[queue] = node };
		if
		:: other != NONE ->
			d_step { next[other] = node; other = 0 };
			status[node] != WAITING;
			if
			:: status[node] != ALONE -> break
			:: else
			fi
		:: else
		fi;
		status[node] = FIRST;
		if
		:: level == TOP -> break
		:: level < TOP -> level++
		fi
	od;
	atomic { level = 0; node = 0; queue = 0; other = 0 }
}

/* Leaves the caller's queue of that level to the next thread in it. */
inline leave(what) {
	d_step { queue = QUEUE(level); node = NODE(level); other = next[node] };
	if
	:: other == NONE ->
		if
		:: atomic { tail[queue] == node -> tail[queue] = NONE; FORGET(node) }
		:: atomic { tail[queue] != node };
#ifndef NO_LINK
			next[node] != NONE;
#endif
			other = next[node];
			d_step { status[other] = what; FORGET(node) }
		fi
	:: else -> d_step { status[other] = what; FORGET(node) }
	fi
}

inline release() {
	/* Up to where somebody of the same cohort is next. */
#ifdef FROM_LEAF
	entry = 0;
#endif
	level = entry;
	do
	:: level == TOP -> leave(FIRST); break
	:: level < TOP ->
		node = NODE(level);
		if
		:: MAY_KEEP(status[node]) ->
			other = next[node];
			if
			:: other != NONE ->
				d_step { status[other] = ONE_MORE(status[node]); FORGET(node) };
				break
			:: else
			fi
		:: else
		fi;
#ifdef LOW_FIRST
		leave(ALONE);
#endif
		level++;
#ifdef FORGET_ABOVE
		break
#endif
	od;
	/* And down again, since each is left before those below. */
#ifndef LOW_FIRST
	do
	:: level == entry -> break
	:: level > entry -> level--; leave(LEFT_ALONE)
	od
#endif
}

#include "threads.pml"
