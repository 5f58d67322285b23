//! Releases by a plain store. A lock without waiters for a long time saves its release's
//! read-modify-write, which costs more than the rest of the release.
//!
//! The releaser and a waiter about to sleep follow a protocol. A waiter that has set its mark and
//! finds the lock in quick mode *revokes* the mode. It makes the lock attentive, increments the
//! process's count of revocations, and executes a barrier on all running threads. Then it checks
//! the lock again. The waiter sees a quick release from before the barrier. A later one sees the
//! new count, and wakes all sleepers, since its store may have cleared their marks. The releaser's
//! cost is two loads of a word that rarely changes.
//!
//! The lock provides the word for the mode. A holder sets it to *quick* if it finds no waiter; any
//! thread may reset it.

use crate::door::{Order, fence_everywhere, fence_here, flaws, mutant, orders, revocations};
use cohort_raw::Quick;

orders! {
    /// A releaser that sees the new count also sees the attentive lock.
    QUICK_REVOKE = Release;
    /// The releaser's side of `QUICK_REVOKE`.
    QUICK_REVOKED = Acquire;
    /// Both sides of the protocol, under a model checker.
    QUICK_AGREE = SeqCst;
}

flaws! {
    LOST_MARK = "quick.lost-mark";
    NO_BARRIER = "quick.no-barrier";
    REVOKE_ALONE = "quick.revoke-alone";
}

/// Releases by `store` if `look` finds the quick mode; `look` returns what the store needs. The
/// lock is not accessed after that.
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

/// Completes the revocation of a quick mode that the caller has just reset. Afterwards every
/// release honours marks, and the lock shows all releases that did not. The caller has set a mark,
/// and checks the lock again before it sleeps.
#[cold]
pub fn revoke(wake_everybody: impl FnOnce()) {
    revocations().fetch_add(1, QUICK_REVOKE);
    if !mutant(flaw::NO_BARRIER) {
        fence_everywhere(QUICK_AGREE);
    }
    // Waiters that saw the mode reset before the barrier may sleep on marks that a quick release
    // was clearing.
    if !mutant(flaw::REVOKE_ALONE) {
        wake_everybody();
    }
}
