//! A section posted for another thread, and its progress.
//!
//! | `state` | meaning | written by |
//! |---|---|---|
//! | `IDLE` | no section, or it has been run | the server; its poster, as it takes it back |
//! | `POSTED` | pending; its poster may receive the lock | its poster |
//! | with `PATIENT` | the same, and its poster may take it back at any time | its poster |
//! | `QUEUED` | pending; its poster acquires the lock itself | its poster |
//! | `HANDED` | its poster holds the lock, and is to run it; in [`fc`](super::fc) it must acquire the lock first | the previous holder |
//! | `RUNNING` | running; used for patient requests only | the server |
//!
//! The lock's holder alone serves requests and hands the lock over. A poster takes its request back
//! while it holds that lock. It may take back a *patient* request at any time, by an exchange;
//! therefore the server takes it by an exchange, too.

use crate::door::{Cell, Order, Tallied, flaws, mutant, orders, runs_out, tally};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{Patience, Section};

orders! {
    /// Publishes the section, and what its poster wrote before.
    REQUEST_POST = Release;
    /// Reads it.
    REQUEST_SEEN = Acquire;
    /// Publishes the section's writes to its poster.
    REQUEST_DONE = Release;
    /// Reads the writes of the section or the last holder, and the server's accesses to the
    /// request, which is overwritten next.
    REQUEST_ANSWERED = Acquire;
    /// Publishes the holders' writes to the poster that receives the lock.
    REQUEST_HAND = Release;
    /// Publishes the empty request to the next thread in this seat.
    REQUEST_RETURN = Release;
    /// Reads that, or the last state of an ended thread's request.
    REQUEST_INHERIT = Acquire;
}

flaws! {
    /// A section runs while its request still says that it is pending (Zhang et al. 2017, algorithm
    /// 2, lines 7 to 10).
    LEAVE_POSTED = "request.leave-posted";
}

const IDLE: u32 = 0;
const POSTED: u32 = 1;
const QUEUED: u32 = 2;
const HANDED: u32 = 3;
const RUNNING: u32 = 4;
/// Mark beside `POSTED`; in the same word, so that a server reads both of the same request.
const PATIENT: u32 = 8;

/// A poster waits only for its own request.
const CLASS: u32 = 1;

/// One thread's request at one lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Request {
    state: WaitCell<MayPark>,
    section: Cell<Option<Section<'static>>>,
}

/// A poster's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The section has been run.
    Served,
    /// The poster holds the lock, or must acquire it, depending on the lock.
    Handed,
}

impl Request {
    /// Empties an unpublished request.
    pub fn renew(&self) {
        self.state.reset(IDLE);
    }

    /// Empties the request of an ended thread for a new one; acquires its last state.
    pub fn inherit(&self) {
        self.state.swap(IDLE, REQUEST_INHERIT);
    }

    /// Posts a section.
    ///
    /// # Safety
    /// The request is empty and the caller's. The caller waits for the answer, or takes the section
    /// back before the section's lifetime ends.
    #[inline]
    pub unsafe fn post(&self, section: Section<'_>, patient: bool) {
        // SAFETY: the caller's.
        let section = unsafe { section.outliving() };
        // SAFETY: unpublished until the state is stored.
        self.section
            .with_mut(|place| unsafe { *place = Some(section) });
        let state = if patient { POSTED | PATIENT } else { POSTED };
        self.state.put(state, REQUEST_POST);
    }

    /// Returns whether a section is pending and its poster may receive the lock.
    #[inline]
    pub fn is_posted(&self) -> bool {
        self.state.value(Order::RELAXED) & !PATIENT == POSTED
    }

    /// Returns whether such a section of a poster without a deadline is pending.
    pub fn is_endless(&self) -> bool {
        self.state.value(Order::RELAXED) == POSTED
    }

    /// Takes the pending section, which must then be [answered](Self::answer).
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn take<P: Parking>(&self) -> Option<Section<'static>> {
        let state = self.state.in_form::<P>();
        match state.value(REQUEST_SEEN) {
            POSTED | QUEUED => {}
            seen if seen == POSTED | PATIENT
                && (mutant(flaw::LEAVE_POSTED) || state.change(seen, RUNNING, REQUEST_SEEN)) => {}
            _ => return None,
        }
        // SAFETY: a posted section is the server's, which is the lock's holder, the caller.
        self.section.with_mut(|place| unsafe { (*place).take() })
    }

    /// Notifies the poster that its section has been run.
    #[inline]
    pub fn answer<P: Parking>(&self) {
        self.state.in_form::<P>().set(IDLE, REQUEST_DONE);
    }

    /// Hands the caller's lock to the poster, or has the poster acquire it; false without a waiting
    /// poster.
    pub fn hand<P: Parking>(&self) -> bool {
        let state = self.state.in_form::<P>();
        let seen = state.value(Order::RELAXED);
        seen & !PATIENT == POSTED && state.change(seen, HANDED, REQUEST_HAND)
    }

    /// Excludes the poster from hand-overs, since it will acquire the lock itself; false if it has
    /// been answered already.
    pub fn queue(&self) -> bool {
        self.state
            .exchange(POSTED, QUEUED, Order::RELAXED, Order::RELAXED)
    }

    /// Takes the section back for its poster, unless it has been run.
    ///
    /// # Safety
    /// The caller posted it, and holds the lock.
    pub unsafe fn take_back(&self) -> Option<Section<'static>> {
        if self.state.value(REQUEST_ANSWERED) == IDLE {
            return None;
        }
        // SAFETY: no thread serves while the caller holds the lock.
        let section = self.section.with_mut(|place| unsafe { (*place).take() });
        self.state.put(IDLE, REQUEST_RETURN);
        section
    }

    /// Withdraws a patient request when patience has run out; returns whether it did. If the
    /// request is being served, blocks until its section has been run.
    pub fn gives_up<P: Parking>(&self, patience: &Patience) -> bool {
        if !runs_out(patience) {
            return false;
        }
        if self.withdraw() {
            tally(Tallied::Withdrawals, 1);
            return true;
        }
        // It is being run, or has been answered.
        self.wait::<P>(&Patience::ENDLESS);
        false
    }

    /// Withdraws a patient request; false if a server has begun it, or has handed the lock to its
    /// poster.
    fn withdraw(&self) -> bool {
        // The section that stays there is dead, and the next one overwrites it.
        self.state
            .exchange(POSTED | PATIENT, IDLE, Order::RELAXED, Order::RELAXED)
    }

    /// Returns the poster's answer, if there is one.
    #[inline]
    pub fn told(&self) -> Option<Told> {
        match self.state.value(REQUEST_ANSWERED) {
            IDLE => Some(Told::Served),
            HANDED => Some(Told::Handed),
            _ => None,
        }
    }

    /// Blocks until the poster is answered, at most as long as `patience` lasts.
    pub fn wait<P: Parking>(&self, patience: &Patience) {
        let state = self.state.in_form::<P>();
        let told = |state| matches!(state, IDLE | HANDED);
        let _ = state.wait_within(REQUEST_ANSWERED, CLASS, told, patience);
    }
}
