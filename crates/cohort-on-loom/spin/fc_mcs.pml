/* fc-mcs (numa/fc_mcs.rs): a list of arrivals for each NUMA node, which the first of them
 * appends to one mcs queue, node by node, each access to shared memory a step.
 *
 * Left out: sleeping, and how long a collector waits for others, which ends.
 *
 * The flaws:
 *   -DENDLESS      a collector waits until it sees the lock free, however long that takes
 *   -DFOLLOWERS    the collector does not link those that come after it
 *   -DNO_TURN      the arrivals stay linked to those before them, not to those after
 *   -DRETRY        an arrival enters the list by exchanges that may fail, again and again
 *   -DHURRY        a collector does not wait for an arrival to link itself
 *   -DTWO_STEPS    the list is read and then emptied, not by one exchange
 *   -DNO_LINK      the appended are not linked to those that were in the queue
 */

#include "names.pml"

byte tail = NONE;
byte arrivals[COHORTS] = NONE;
byte next[THREADS] = NONE;
bool granted[THREADS];

#define LOCALS byte other, node, before, after;
#define AT_REST (tail == NONE && arrivals[0] == NONE && arrivals[1] == NONE)

/* What nobody reads again is forgotten, so that there are fewer states. */
inline forget() {
	next[me] = NONE; granted[me] = false; other = 0
}

inline acquire() {
	if
	:: tail == NONE ->
		if
		:: atomic { tail == NONE -> tail = me }; goto acquired
		:: tail != NONE
		fi
	:: tail != NONE
	fi;

#ifdef RETRY
	other = arrivals[COHORT(me)];
	do
	:: true ->
		next[me] = other;
		if
		:: atomic { arrivals[COHORT(me)] == other -> arrivals[COHORT(me)] = me }; break
		:: atomic { arrivals[COHORT(me)] != other -> other = arrivals[COHORT(me)] }
		fi
	od;
#else
	atomic { other = arrivals[COHORT(me)]; arrivals[COHORT(me)] = me };
#endif
	if
	:: other != NONE ->
#ifndef RETRY
		next[me] = other;
#endif
		other = 0
	:: other == NONE ->
#ifdef ENDLESS
		tail == NONE;
#endif
#ifdef TWO_STEPS
		other = arrivals[COHORT(me)];
		arrivals[COHORT(me)] = NONE;
#else
		atomic { other = arrivals[COHORT(me)]; arrivals[COHORT(me)] = NONE };
#endif
		/* From the last to the collector, which came first.  Nobody but its owner
		 * looks at a node before it is appended. */
		d_step { node = other; after = NONE };
		do
		:: node == me -> break
		:: node != me ->
#ifndef HURRY
			next[node] != NONE;
#endif
			d_step {
				before = next[node];
#ifndef NO_TURN
				next[node] = after;
#endif
				after = node; node = before; before = 0
			}
		od;
		atomic {
#if !defined(FOLLOWERS) && !defined(NO_TURN)
			next[me] = after;
#endif
			node = 0; after = 0
		};
		/* `other` is the last, and then the one that was the last before. */
		atomic { node = tail; tail = other; other = 0 };
		if
		:: node == NONE -> goto acquired
		:: node != NONE ->
#ifdef NO_LINK
			skip
#else
			d_step { next[node] = me; node = 0 }
#endif
		fi
	fi;
	granted[me];
acquired:
	atomic { other = 0; node = 0 }
}

inline grant(t) {
	d_step { granted[t] = true; forget() }
}

inline release() {
	other = next[me];
	if
	:: other == NONE ->
		if
		:: d_step { tail == me -> tail = NONE; forget() }
		:: tail != me ->
			next[me] != NONE;
			other = next[me];
			grant(other)
		fi
	:: other != NONE -> grant(other)
	fi
}

#include "threads.pml"
