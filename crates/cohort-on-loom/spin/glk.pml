/* glk (adaptive/glk.rs): a lock that is taken by the low lock of its mode, which its holder
 * changes at will, CHANGES times; each access to shared memory a step.
 *
 * The low locks: `ticket` by its two words, with few numbers, so that they go round while a
 * thread that was sent away has still its own; `mcs` as an abstract queue; its waiters are sent away in
 * one step; with MUTEX a third one, which any thread takes that finds it free.
 *
 * Left out: sleeping, tries, deadlines, what decides on a mode and when.
 *
 *   -DCHANGES=n     the mode changes n times at most
 *   -DMUTEX         the mutex is a mode too
 *
 * The flaws:
 *   -DENDLESS       the mode changes again and again
 *   -DSTAY          the thread that changes the mode sends nobody away, and keeps the old low lock
 *   -DBELIEVE_MODE  a thread that has a low lock takes that for the lock
 *   -DCOME_BACK     the lock comes back to tickets while a thread that was sent away has one
 */

#include "names.pml"

#ifndef CHANGES
#define CHANGES 2
#endif

#ifdef ENDLESS
#define MAY_CHANGE true
#define COUNT skip
#else
#define MAY_CHANGE (changes < CHANGES)
#define COUNT changes++
#endif

#define TICKET 0
#define MCS 1
#define MUTEXES 2
#ifdef MUTEX
#define MODES 3
#else
#define MODES 2
#endif

/* How many numbers there are, and how many lie between two. */
#define ALL 8
#define AFTER(number) (((number) + 1) % ALL)
#define BETWEEN(first, last) (((last) + ALL - (first)) % ALL)

byte mode;
byte changes;

byte next;
byte serving;
/* How many were sent away and have not gone. */
byte leaving;

chan queue = [THREADS] of { byte };
bool away[THREADS];

bool taken;

#ifdef COME_BACK
#define IS_DESERTED true
#else
#define IS_DESERTED (leaving == 0)
#endif

#ifdef BELIEVE_MODE
#define IS_MODE(m) true
#else
#define IS_MODE(m) (mode == (m))
#endif

#define LOCALS byte seen; byte mine; byte other; byte was; bool got;
#define AT_REST (next == serving && leaving == 0 && len(queue) == 0 && !taken)

inline release_low(m) {
	if
	:: m == TICKET -> serving = AFTER(serving)
	:: m == MCS -> queue?eval(me)
	:: m == MUTEXES -> taken = false
	fi
}

/* Releases the low lock of that mode, and sends all its waiters away. */
inline leave(m) {
	if
	:: m == TICKET ->
		was = next;
		leaving = leaving + BETWEEN(serving, was) - 1;
		serving = was
	:: m == MCS ->
		atomic {
			queue?eval(me);
			do
			:: queue?was -> away[was] = true
			:: empty(queue) -> break
			od
		}
	:: m == MUTEXES -> taken = false
	fi;
	was = 0
}

/* Takes a place in the low lock of that mode and waits; `got` says whether it is held then. */
inline acquire_low(m) {
	if
	:: m == TICKET ->
		atomic { mine = next; next = AFTER(next) }
		atomic { BETWEEN(mine, serving) <= ALL / 2 -> got = (serving == mine); mine = 0 }
		if
		:: got
		:: !got -> leaving--
		fi
	:: m == MCS ->
		queue!me;
		atomic {
			if
			:: away[me] -> away[me] = false; got = false
			:: queue?[eval(me)] -> got = true
			fi
		}
	:: m == MUTEXES ->
		atomic { !taken -> taken = true; got = true }
	fi
}

/* Takes the low lock of that mode if it is free. */
inline try_low(m) {
	if
	:: m == TICKET ->
		was = serving;
		atomic { got = (next == was); if :: got -> next = AFTER(was) :: else fi; was = 0 }
	:: m == MCS ->
		atomic { got = (len(queue) == 0); if :: got -> queue!me :: else fi }
	:: m == MUTEXES ->
		atomic { got = !taken; taken = true }
	fi
}

/* The holder, before its section, changes the mode or not. */
inline consider() {
	if
	:: MAY_CHANGE ->
		other = (seen + 1) % MODES;
#ifdef MUTEX
		if
		:: true
		:: other = (seen + 2) % MODES
		fi;
#endif
		got = false;
		if
		:: other != TICKET || IS_DESERTED -> try_low(other)
		:: else
		fi;
		if
		:: got ->
			COUNT;
			mode = other;
#ifdef STAY
			skip
#else
			leave(seen)
#endif
		:: !got
		fi
	:: true
	fi
}

inline acquire() {
	do
	:: true ->
		seen = mode;
		acquire_low(seen);
		if
		:: got ->
			if
			:: IS_MODE(seen) -> break
			:: else -> release_low(seen)
			fi
		:: !got
		fi
	od;
	consider();
	atomic { seen = 0; other = 0; got = false }
}

/* Nobody else changes the mode while this thread has the lock. */
inline release() {
	release_low(mode)
}

#include "threads.pml"
