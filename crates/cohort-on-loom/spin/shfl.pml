/* shfl (numa/shfl.rs): a word that anybody may take while nobody queues, and a queue whose
 * head alone waits for it and sorts the others, node by node, each access to shared memory
 * a step.
 *
 * Left out: sleeping, and the word's quick release (quick.pml).
 *
 *   -DROW=n        the head brings together n waiters at most
 *
 * The flaws:
 *   -DNO_BOUND     it brings together as many as come
 *   -DLAST_TOO     the last node of the queue is moved, too
 *   -DFORGET_GAP   the node before a moved one stays linked to it
 *   -DCUT          the node behind it is no longer linked to anybody
 *   -DBARGE        the word is taken though there is a queue
 *   -DLEAVE_FIRST  a head leaves the queue, and then waits for the word
 *   -DNO_LINK      a leaver does not wait for an arrival to link itself
 */

#include "names.pml"

#ifndef ROW
#define ROW 2
#endif

bool word;
byte tail = NONE;
byte next[THREADS] = NONE;
bool granted[THREADS];
bool sorts[THREADS];
byte row[THREADS];

#define LOCALS byte count, place, before, other, after;
#define AT_REST (!word && tail == NONE)

#ifdef NO_BOUND
#define MAY_BRING true
#define ONE_MORE skip
#else
#define MAY_BRING (count < ROW)
#define ONE_MORE count++
#endif

/* What nobody reads again is forgotten, so that there are fewer states. */
inline forget() {
	next[me] = NONE; granted[me] = false; sorts[me] = false; row[me] = 0;
	other = 0
}

/* Brings waiters of the head's NUMA node up behind it, until the word is free. */
inline sort() {
	d_step { count = row[me]; place = me; before = me };
	do
	:: !(MAY_BRING) -> break
	:: MAY_BRING ->
		if
		:: !word -> break
		:: word
		fi;
		other = next[before];
		if
		:: other == NONE -> break
		:: other != NONE && COHORT(other) != COHORT(me) -> before = other
		:: other != NONE && COHORT(other) == COHORT(me) ->
			if
			:: before == place -> before = other
			:: before != place ->
				after = next[other];
#ifndef LAST_TOO
				if
				:: after == NONE -> break
				:: after != NONE
				fi;
#endif
#ifndef FORGET_GAP
				next[before] = after;
#endif
#ifdef CUT
				next[other] = NONE;
#else
				next[other] = next[place];
#endif
				next[place] = other
			fi;
			atomic { place = other; ONE_MORE; after = 0 }
		fi
	od;
	atomic {
		if
		:: place != me ->
			sorts[place] = true; row[place] = count;
			sorts[me] = false; row[me] = 0
		:: else
		fi;
		count = 0; place = 0; before = 0; other = 0; after = 0
	}
}

inline take_word() {
	do
	:: atomic { !word -> word = true }; break
	od
}

/* Makes the next one the head. */
inline leave() {
	other = next[me];
	if
	:: other == NONE ->
		if
		:: d_step { tail == me -> tail = NONE; forget() }
		:: tail != me ->
#ifndef NO_LINK
			next[me] != NONE;
#endif
			other = next[me];
			grant()
		fi
	:: other != NONE -> grant()
	fi
}

inline grant() {
	d_step {
		if
		:: sorts[me] -> sorts[other] = true; row[other] = 1
		:: else
		fi;
		granted[other] = true;
		forget()
	}
}

inline acquire() {
#ifndef BARGE
	if
	:: tail != NONE
	:: tail == NONE ->
#else
	if
	:: true ->
#endif
		if
		:: word
		:: !word ->
			if
			:: atomic { !word -> word = true }; goto acquired
			:: word
			fi
		fi
	fi;
	/* Nobody else knows the node. */
	d_step { forget() };
	atomic { other = tail; tail = me };
	if
	:: other == NONE -> d_step { sorts[me] = true; row[me] = 1; other = 0 }
	:: other != NONE -> d_step { next[other] = me; other = 0 }; granted[me]
	fi;
	if
	:: sorts[me] -> sort()
	:: !sorts[me]
	fi;
#ifdef LEAVE_FIRST
	leave();
	take_word();
#else
	take_word();
	leave();
#endif
acquired:
	skip
}

inline release() {
	word = false
}

#include "threads.pml"
