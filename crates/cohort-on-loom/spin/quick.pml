/* Releasing by a plain store (wait/quick.rs), on a machine whose stores wait in a buffer
 * until they are drained: at any time, by a read-modify-write of their thread's, or by
 * the barrier in which every running thread takes part.
 *
 * A preempted thread is one that takes no step, at any point; the kernel's switch drains
 * its buffer, which a thread may do at any point here.  So each interleaving with a
 * preemption between the releaser's store and its second look is one of these.
 *
 *   (nothing)         a flag (wait/flag.rs): `quick` is a word of its own
 *   -DTICKET          a ticket lock (basic/ticket.rs): `quick` is a bit of the word that
 *                     the store replaces, and may come back with it
 *   -DTHREADS=n, -DROUNDS=n
 *
 * The flaws:
 *   -DNO_BARRIER      a waiter that calls the quick time off does not pass the barrier
 *   -DNO_SECOND_LOOK  a quick release does not look whether its time was revoked
 *   -DALONE           a waiter that revokes does not wake those that slept meanwhile
 *   -DHOPE            a waiter sleeps on its mark though the time is quick
 *   -DHURRY           a thread that takes the flag with its mark lets the time stay quick
 */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

/* The word: a flag's, or the number a ticket lock serves; and its marks. */
byte word;
bool asleep_mark;
bool quick;
byte revocations;

/* A store of `word` (and of the marks beside it) on its way to memory. */
bool buffered[THREADS];
byte stored[THREADS];

/* Threads in the kernel's queue. */
bool sleeps[THREADS];

byte inside;
byte finished;

/* What a waiter has seen of `quick` when it sleeps. */
#ifdef HOPE
#define hope true
#else
#define hope false
#endif

#ifdef TICKET
byte next;
#define FREE_FOR(me) (word == mine)
#else
#define FREE_FOR(me) (word == 0)
#endif

inline drain(t) {
	if
	:: buffered[t] ->
		word = stored[t];
		asleep_mark = false;
#ifdef TICKET
		quick = true;
#endif
		buffered[t] = false
	:: else
	fi
}

/* The kernel's side of waking begins with a full barrier. */
inline wake_everybody() {
	d_step {
		drain(_pid);
		i = 0;
		do
		:: i < THREADS -> sleeps[i] = false; i++
		:: else -> break
		od;
		i = 0
	}
}

inline wake_one() {
#ifdef TICKET
	wake_everybody()
#else
	atomic {
		drain(_pid);
		if
		:: sleeps[0] -> sleeps[0] = false
		:: sleeps[1] -> sleeps[1] = false
#if THREADS > 2
		:: sleeps[2] -> sleeps[2] = false
#endif
		:: else
		fi
	}
#endif
}

inline revoke() {
#ifdef TICKET
	/* A read-modify-write of the word. */
	d_step { drain(_pid); quick = false };
#else
	quick = false;
#endif
	d_step { drain(_pid); revocations++ };
#ifndef NO_BARRIER
	d_step {
		i = 0;
		do
		:: i < THREADS -> drain(i); i++
		:: else -> break
		od;
		i = 0
	};
#endif
#ifndef ALONE
	wake_everybody()
#endif
}

inline acquire() {
	do
	:: true ->
		/* A read-modify-write: takes the word, or leaves the mark on it. */
		atomic {
			drain(_pid);
			if
#ifdef TICKET
			:: word == mine -> break
#else
			/* A thread that has slept leaves the mark: others may be asleep still. */
			:: word == 0 -> word = 1; asleep_mark = slept; break
#endif
			:: else -> asleep_mark = true; seen = word
			fi
		};
#ifndef HOPE
		if
		:: quick -> revoke()
		:: else -> sleep()
		fi
#else
		sleep()
#endif
	od;
#ifndef TICKET
#ifndef HURRY
	if
	:: slept && quick -> quick = false
	:: else
	fi;
#endif
#endif
	slept = false
}

/* The kernel compares the word before it lets anybody sleep. */
inline sleep() {
	atomic {
		if
#ifdef TICKET
		:: word == seen && asleep_mark && (quick == hope) ->
#else
		:: word == seen && asleep_mark ->
#endif
			sleeps[_pid] = true; slept = true
		:: else
		fi
	};
	!sleeps[_pid]
}

inline release() {
	count = revocations;
	if
	:: quick ->
		d_step {
			stored[_pid] = word;
#ifdef TICKET
			stored[_pid] = word + 1;
#else
			stored[_pid] = 0;
#endif
			buffered[_pid] = true
		};
#ifndef NO_SECOND_LOOK
		if
		:: revocations != count -> wake_everybody()
		:: else
		fi
#else
		skip
#endif
	:: !quick ->
		/* Begin a quick time, or do not. */
		if
#ifdef TICKET
		:: atomic { !asleep_mark -> drain(_pid); word = word + 1; quick = true }
#else
		:: quick = true;
			atomic {
				drain(_pid);
				if
				:: !asleep_mark -> word = 0; marked = false
				:: else -> marked = true
				fi
			};
			if
			:: marked ->
				quick = false;
				atomic { drain(_pid); word = 0; asleep_mark = false };
				wake_one()
			:: else
			fi
#endif
		:: atomic {
			drain(_pid);
#ifdef TICKET
			word = word + 1;
#else
			word = 0;
#endif
			marked = asleep_mark;
			asleep_mark = false
		   };
		   if
		   :: marked -> wake_one()
		   :: else
		   fi
		fi
	fi
}

active [THREADS] proctype thread() {
	byte count, i, seen, rounds;
#ifdef TICKET
	byte mine;
#endif
	bool slept, marked;
	do
	:: rounds < ROUNDS ->
#ifdef TICKET
		d_step { drain(_pid); mine = next; next++ };
#endif
		acquire();
		inside++;
		assert(inside == 1);
		inside--;
		release();
		rounds++
	:: else -> break
	od;
	finished++
}

/* Memory takes what is buffered, sooner or later. */
active proctype memory() {
end:
	do
	:: atomic { buffered[0] -> byte i; drain(0) }
	:: atomic { buffered[1] -> drain(1) }
#if THREADS > 2
	:: atomic { buffered[2] -> drain(2) }
#endif
	od
}

ltl ends { <> (finished == THREADS) }
