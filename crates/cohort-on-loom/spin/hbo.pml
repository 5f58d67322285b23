/* hbo (numa/hbo.rs, wait/flag.rs): a flag, and beside it whose it is, by which waiters
 * choose their pauses; each access to shared memory a step.
 *
 * Left out: sleeping, deadlines, and how long a pause is, which ends: so what a waiter
 * sees of the place decides nothing here, and the lock is as unfair as any flag.
 *
 * The flaws:
 *   -DTWO_STEPS    the flag is looked at and set, not taken by one exchange
 *   -DFAR_WAITS    a waiter that sees the lock elsewhere does not look at the flag again
 */

#include "names.pml"

bool held;
byte place;

#define LOCALS
#define AT_REST (!held)

inline acquire() {
	do
	:: !held ->
#ifdef TWO_STEPS
		held = true;
		break
#else
		if
		:: atomic { !held -> held = true }; break
		:: held
		fi
#endif
	:: held ->
pause:
		if
		:: place == COHORT(me)
		:: place != COHORT(me) ->
#ifdef FAR_WAITS
			goto pause
#else
			skip
#endif
		fi
	od;
	place = COHORT(me)
}

inline release() {
	held = false
}

#include "threads.pml"
