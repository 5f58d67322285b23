/* hclh (numa/hclh.rs, and basic/clh.rs on the owners of nodes): a clh queue for each NUMA
 * node, which its first waiter splices into the system's, node by node, each access to
 * shared memory a step.
 *
 * Left out: sleeping, how long a master waits for others, which ends, and the pool: a
 * thread that needs a node takes the first that nobody owns.
 *
 * The flaws:
 *   -DENDLESS      a master waits until it sees the lock free, however long that takes
 *   -DFOLLOWERS    a master splices its own node, and forgets those that come after
 *   -DSTAY_BEHIND  what was spliced stays in the local queue
 *   -DTWO_STEPS    the local queue is read and then emptied, not by one exchange
 *   -DNO_END       the last spliced node is not marked as the one that ends the queue
 *   -DKEEP_BOTH    a thread that leaves its node to its successor goes on using it
 *   -DNO_RENEW     a node is used again as it was released
 */

#include "names.pml"

#define NODES (2 * THREADS)

byte tail = NONE;
byte local_tail[COHORTS] = NONE;
bool released[NODES];
bool ends_here[NODES];
bool owned[NODES];
/* A thread waits for it that will own it. */
bool followed[NODES];

#define LOCALS byte mine = NONE, spare = NONE, other;
#define AT_REST (tail == NONE && local_tail[0] == NONE && local_tail[1] == NONE)

/* Also done when a successor takes a node over, in the same step, so that states which
 * differ in what nobody reads again are one. */
#ifdef NO_RENEW
#define RENEW(n) ends_here[n] = false; followed[n] = false
#else
#define RENEW(n) ends_here[n] = false; followed[n] = false; released[n] = false
#endif

inline follow(n) {
	if
	:: n != NONE -> assert(!followed[n]); followed[n] = true
	:: else
	fi
}

/* A node that nobody else knows. */
inline fresh() {
	d_step {
		if
		:: mine != NONE
		:: else ->
			mine = 0;
			do
			:: owned[mine] -> mine++
			:: else -> break
			od;
			owned[mine] = true
		fi;
		RENEW(mine)
	}
}

inline acquire() {
	if
	:: tail == NONE ->
		fresh();
		ends_here[mine] = true;
		if
		:: atomic { tail == NONE -> tail = mine }; goto acquired
		:: tail != NONE
		fi
	:: tail != NONE
	fi;
	fresh();
	atomic { other = local_tail[COHORT(me)]; local_tail[COHORT(me)] = mine; follow(other) };
	if
	:: other != NONE
	:: other == NONE ->
#ifdef ENDLESS
		tail == NONE;
#endif
#if defined(FOLLOWERS)
		local_tail[COHORT(me)] = NONE;
		other = mine;
#elif defined(STAY_BEHIND)
		other = local_tail[COHORT(me)];
#elif defined(TWO_STEPS)
		other = local_tail[COHORT(me)];
		local_tail[COHORT(me)] = NONE;
#else
		atomic { other = local_tail[COHORT(me)]; local_tail[COHORT(me)] = NONE };
#endif
#ifndef NO_END
		ends_here[other] = true;
#endif
		/* `other` is the last of them, and then the one that was the last before. */
		atomic { spare = tail; tail = other; other = spare; spare = NONE; follow(other) };
		if
		:: other == NONE -> goto acquired
		:: other != NONE
		fi
	fi;
	d_step { released[other] -> spare = other; RENEW(spare) };
acquired:
	other = 0
}

inline release() {
	if
	:: atomic { ends_here[mine] && tail == mine ->
		tail = NONE;
		RENEW(mine);
		/* A predecessor's node is too many. */
		if
		:: spare != NONE -> owned[spare] = false; spare = NONE
		:: else
		fi
	   }
	:: atomic { !ends_here[mine] || tail != mine ->
		other = mine;
#ifndef KEEP_BOTH
		mine = spare;
		spare = NONE
#endif
	   };
	   d_step { released[other] = true; other = 0 }
	fi
}

#include "threads.pml"
