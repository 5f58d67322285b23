//! What hosts, which put any lock into an object of a program, ask of it.

use crate::RawLock;

/// A lock that a host can put where it wants and knows enough of.
///
/// A lock about which there is nothing to say has it from [`standalone!`](crate::standalone).
///
/// # Safety
/// Hosts exclude by it: [`Hosting::grants`] is false only for a lock that never grants, and
/// [`turn`](Self::turn) keeps to what is said there.
#[diagnostic::on_unimplemented(
    message = "hosts do not know enough of `{Self}`",
    note = "`cohort_raw::standalone!` says the usual: that it serves in order and takes no nodes of its own"
)]
pub unsafe trait Hosted: RawLock {
    /// What a host has to know of it.
    const HOSTING: Hosting;

    /// Makes a free lock at `place`, for callers that would not have it on a thread's stack.
    ///
    /// # Safety
    /// The place is valid for writes, and nobody's.
    unsafe fn make_at(place: *mut Self);

    /// Of a lock that [grants](Hosting::grants) and has no contexts, the number of the holder's
    /// turn: not 0, and another than the one before and the one after.  A lock that does not number
    /// turns always answers 1; it may not be released [quickly](QuickRelease::release_quickly).
    fn turn(&self) -> u32;
}

/// What a host has to know of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosting {
    /// Whether a release gives the lock to the waiter that came first, running or not.
    /// Such a lock stands still wherever more wait than there are CPUs to run them.
    pub strict: bool,
    /// Whether a release gives the lock to a waiter, which holds it from then on though it
    /// has still to notice.  If not, the holder has taken the lock itself.
    pub grants: bool,
    /// Bytes of nodes that an acquisition takes beside its context.
    pub node_bytes: usize,
    /// Bytes of nodes that the lock itself takes where it is contended, in one place of
    /// the machine; each further place adds as many at most.
    pub cohort_bytes: usize,
}

impl Hosting {
    /// A strict lock that takes no nodes but its contexts.
    pub const USUAL: Self = Self {
        strict: true,
        grants: true,
        node_bytes: 0,
        cohort_bytes: 0,
    };
}

/// A lock that may be released by a plain store, for a caller that wants to do the rest of a
/// release elsewhere than in its shortest path.
///
/// # Safety
/// After [`Quick::Released`] and [`Quick::MarkLost`] the lock is released, as
/// [`release`](RawLock::release) says; after [`Quick::Refused`] nothing has happened.
#[diagnostic::on_unimplemented(
    message = "nobody has said whether a plain store releases `{Self}`",
    note = "`cohort_raw::standalone!` says that none does"
)]
pub unsafe trait QuickRelease: RawLock {
    /// Releases the lock as [`release`](RawLock::release) does, if that takes a plain store
    /// and no more; a lock that has no such way refuses.
    ///
    /// # Safety
    /// As for [`release`](RawLock::release), unless it is refused.
    unsafe fn release_quickly(&self, cx: &Self::Context) -> Quick;

    /// Makes every sleeper of the lock at `place`, where it need not be any more, look
    /// again: owed after [`Quick::MarkLost`].
    fn wake_everybody(place: *const Self);
}

/// What became of an attempt to release a lock by a plain store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Quick {
    /// The lock is released.
    Released,
    /// It is, and a sleeper's mark may have been wiped out: the caller owes a
    /// [`wake_everybody`](QuickRelease::wake_everybody).
    MarkLost,
    /// The lock is still held.
    Refused,
}
