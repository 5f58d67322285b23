//! Locks that take the code to the data: a thread brings its section to the one that runs
//! sections already and has the data in its cache (Zhang et al. 2017 §2.2), one file each, under
//! their papers' names.
//!
//! [`p_sim`] is none of them: it applies operations to copies of the data, and waits for nobody.
//!
//! `request` is how a section is brought and answered for, in a queue `told`, `roster` which
//! threads bring them.
//!
//! **Who drops a lock.**  In its section a thread may find that it is the last user, as a count in the data
//! says, and drop the lock and free its memory as soon as the section has run.  The thread that ran
//! it may still use the lock then, and so may threads whose sections ran before and which are about to
//! return.  Each drop waits for them; they wait for nobody.

pub mod cc_synch;
pub mod fc;
pub mod h_synch;
pub mod oyama;
pub mod p_sim;
pub mod qd;
pub mod rcl;
#[cfg(internals)]
pub mod request;
#[cfg(not(internals))]
mod request;
#[cfg(internals)]
pub mod roster;
#[cfg(not(internals))]
mod roster;
pub mod sanl;
pub mod sanl_plus;
mod serving;
#[cfg(internals)]
pub mod told;
#[cfg(not(internals))]
mod told;

pub use cc_synch::CcSynch;
pub use fc::Fc;
pub use h_synch::HSynch;
pub use oyama::Oyama;
pub use p_sim::PSim;
pub use qd::Qd;
pub use rcl::Rcl;
pub use sanl::{Sanl, SanlDistanceFirst, SanlFlat};
pub use sanl_plus::SanlPlus;

use crate::door::{Flaw, Tallied, mutant, tally, tally_moment, thread};
use cohort_raw::{Delegate, Section};

/// Bytes of all that these locks have taken for their threads so far, and keep.
#[must_use]
pub fn pool_bytes() -> usize {
    cc_synch::pool_bytes() + fc::pool_bytes() + sanl::pool_bytes() + sanl_plus::pool_bytes()
}

/// Runs a section of a delegate.
///
/// # Safety
/// As [`Section::run`].
#[inline]
unsafe fn run(section: Section<'_>) {
    enter();
    // SAFETY: the caller's.
    unsafe { section.run() };
    leave();
}

/// The calling thread is in one section more, of whichever delegate.
#[inline]
fn enter() {
    let inside = &thread().inside;
    inside.set(inside.get() + 1);
}

/// The calling thread is in one section less.
#[inline]
fn leave() {
    let inside = &thread().inside;
    inside.set(inside.get() - 1);
}

/// Whether the calling thread may run the sections of others.  One that is in a section
/// already serves nobody: those would wait for what it does next, and it for them.  `unless` is the
/// flaw that forgets so at one place.
#[inline]
pub(crate) fn may_serve(unless: Flaw) -> bool {
    thread().inside.get() == 0 || mutant(unless)
}

/// Does something that is counted where counting takes no time, as is how long it takes.
#[inline(always)]
fn timed<R>(what: Tallied, takes: Tallied, does: impl FnOnce() -> R) -> R {
    let moment = tally_moment();
    let done = does();
    tally(what, 1);
    tally(takes, tally_moment() - moment);
    done
}

/// A delegate that is compiled in two forms, as a lock of [`TwoForms`](cohort_raw::TwoForms) is.
pub trait InTwoForms: Delegate {
    /// The form whose waiters never sleep.
    type Spinning: Delegate;
}
