//! Requirements of hosts, the adapters that put any lock into a program's object.

use crate::RawLock;

/// A lock that a host can place and knows enough about.
///
/// An ordinary lock implements it by [`standalone!`](crate::standalone).
///
/// # Safety
/// Hosts exclude by it: [`Hosting::grants`] is false only for a lock that never grants, and
/// [`turn`](Self::turn) behaves as documented.
#[diagnostic::on_unimplemented(
    message = "`{Self}` lacks the properties that adapters need",
    note = "`cohort_raw::standalone!` implements the defaults: FIFO, no extra nodes"
)]
pub unsafe trait Hosted: RawLock {
    /// The lock's properties for a host.
    const HOSTING: Hosting;

    /// Creates a free lock at `place`, for callers that must not build it on a thread's stack.
    ///
    /// # Safety
    /// The place is valid for writes and unused.
    unsafe fn make_at(place: *mut Self);

    /// The number of the holder's turn, for a lock that [grants](Hosting::grants) and has no
    /// contexts: not 0, and different from the previous and the next number. A lock without numbers
    /// returns 1; it may not be released [quickly](QuickRelease::release_quickly).
    fn turn(&self) -> u32;
}

/// A lock's properties for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosting {
    /// Whether releases grant in FIFO order, to a running waiter or not. Such a lock stalls when
    /// waiters outnumber the CPUs for them.
    pub strict: bool,
    /// Whether a release grants the lock to a waiter, which is the holder from then on, before it
    /// notices. If not, each holder acquires the lock itself.
    pub grants: bool,
    /// Bytes of nodes for an acquisition, besides its context.
    pub node_bytes: usize,
    /// Bytes of nodes for the contended lock itself, in one place of the machine; each further
    /// place adds at most as many.
    pub cohort_bytes: usize,
}

impl Hosting {
    /// A strict lock without nodes besides its contexts.
    pub const USUAL: Self = Self {
        strict: true,
        grants: true,
        node_bytes: 0,
        cohort_bytes: 0,
    };
}

/// A lock that may be released by a plain store, for a caller that moves the rest of a release out
/// of its fast path.
///
/// # Safety
/// After [`Quick::Released`] and [`Quick::MarkLost`] the lock is released, as
/// [`release`](RawLock::release) says; after [`Quick::Refused`] nothing has happened.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare its plain-store release",
    note = "`cohort_raw::standalone!` declares none"
)]
pub unsafe trait QuickRelease: RawLock {
    /// Releases the lock like [`release`](RawLock::release), if that takes a plain store only;
    /// refuses otherwise.
    ///
    /// # Safety
    /// As for [`release`](RawLock::release), unless it is refused.
    unsafe fn release_quickly(&self, cx: &Self::Context) -> Quick;

    /// Wakes every sleeper of the lock at `place`, which may be gone, to look again: required after
    /// [`Quick::MarkLost`].
    fn wake_everybody(place: *const Self);
}

/// The result of an attempt to release a lock by a plain store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Quick {
    /// The lock is released.
    Released,
    /// The lock is released, and a sleeper's mark may be lost: the caller must call
    /// [`wake_everybody`](QuickRelease::wake_everybody).
    MarkLost,
    /// The lock is still held.
    Refused,
}
