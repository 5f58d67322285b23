/* What threads do with a lock, and what is asked of it.  The model has said what
 * `acquire` and `release` are, and
 *
 *   LOCALS   which variables of a thread they use
 *   AT_REST  what is true of the lock once nobody wants it any more
 *   GAVE_UP  whether `acquire` has come back without the lock, where it may
 */

bool wants[THREADS];
bool holds[THREADS];
byte inside;
byte finished;

active [THREADS] proctype thread() {
	byte me = _pid;
	LOCALS
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
		acquire();
#ifdef GAVE_UP
		if
		:: GAVE_UP -> wants[me] = false
		:: else ->
#endif
		atomic { inside++; assert(inside == 1); holds[me] = true; wants[me] = false }
		atomic { inside--; holds[me] = false }
		release()
#ifdef GAVE_UP
		fi
#endif
	od;
	atomic { finished++; assert(finished < THREADS || AT_REST) }
}

ltl lonely { [](wants[1] -> <>holds[1]) }
ltl shared { [](wants[0] -> <>holds[0]) }
ltl ends { <>(finished == THREADS) }
