//! Releasing by a plain store: a lock that has long been quiet saves its release's
//! read-modify-write, which costs more than all the rest of it.
//!
//! What makes it safe is an agreement between the thread that releases and one that is about to
//! sleep.  A waiter that has left its mark on the lock, and finds it in a quick time,
//! *calls that off*: it makes the lock attentive, raises the process's count of such
//! calls, and passes a barrier that every running thread takes part in; then it looks
//! again.  A quick release from before the barrier is seen by the waiter, and one after
//! it finds the count raised, and wakes every sleeper in case its store wiped out their
//! marks.  The releaser's side is two loads of a word that hardly ever changes.
//!
//! The lock says where it keeps the word *quick*; a holder sets it, when it finds nobody
//! waiting, and anybody takes it back.

use crate::door::{Order, fence_everywhere, fence_here, flaws, mutant, orders, revocations};
use cohort_raw::Quick;

orders! {
    /// A releaser that finds the count raised finds the lock attentive too.
    QUICK_REVOKE = Release;
    /// As above, from the releaser's side.
    QUICK_REVOKED = Acquire;
    /// Both sides of the agreement, in a checker's world.
    QUICK_AGREE = SeqCst;
}

flaws! {
    LOST_MARK = "quick.lost-mark";
    NO_BARRIER = "quick.no-barrier";
    REVOKE_ALONE = "quick.revoke-alone";
}

/// Releases by `store` in a quick time, of which `look` says whether it is one, and what
/// else there is to know for the store.  Nothing of the lock is touched after that.
#[inline(always)]
pub fn release<T>(look: impl FnOnce() -> Option<T>, store: impl FnOnce(T)) -> Quick {
    let revoked = revocations().load(QUICK_REVOKED);
    let Some(seen) = look() else {
        return Quick::Refused;
    };
    store(seen);
    fence_here(QUICK_AGREE);
    if revocations().load(Order::RELAXED) == revoked || mutant(flaw::LOST_MARK) {
        Quick::Released
    } else {
        Quick::MarkLost
    }
}

/// Ends a quick time that the caller has just taken back: afterwards every release
/// honours marks, and the lock shows every release that did not.  The caller, which has
/// left a mark, looks again before it sleeps.
#[cold]
pub fn revoke(wake_everybody: impl FnOnce()) {
    revocations().fetch_add(1, QUICK_REVOKE);
    if !mutant(flaw::NO_BARRIER) {
        fence_everywhere(QUICK_AGREE);
    }
    // Waiters that found the time over before the barrier may have slept on marks that
    // a quick release was wiping out.
    if !mutant(flaw::REVOKE_ALONE) {
        wake_everybody();
    }
}
