//! A section that is brought to another thread, and what has become of it.
//!
//! | `state` | meaning | written by |
//! |---|---|---|
//! | `IDLE` | there is none, or it has been run | the server; its poster, as it takes it back |
//! | `POSTED` | it is to be run; its poster may be handed the lock | its poster |
//! | with `PATIENT` | the same, and its poster may take it back at any time | its poster |
//! | `QUEUED` | it is to be run; its poster acquires the lock itself | its poster |
//! | `HANDED` | its poster has the lock, and is to run it; in [`fc`](super::fc) it is to take the lock first | the thread that had the lock |
//! | `RUNNING` | it is being run; only if it was patient, else that is not said | the server |
//!
//! One thread at a time serves and hands on, which the lock around it says.  A poster takes a
//! request back while it has that lock, when nobody serves; or, if the request is *patient*, at
//! any time, by an exchange, and then the server takes it by one too.

use crate::door::{Cell, Order, Tallied, flaws, mutant, orders, runs_out, tally};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{Patience, Section};

orders! {
    /// The section is seen with what its poster did before.
    REQUEST_POST = Release;
    /// Sees it.
    REQUEST_SEEN = Acquire;
    /// What the section did is seen by its poster.
    REQUEST_DONE = Release;
    /// Sees it, or what the last holder did; and what the server did with the request, which is
    /// written again next.
    REQUEST_ANSWERED = Acquire;
    /// What holders did is seen by the poster that is handed the lock.
    REQUEST_HAND = Release;
    /// The next thread in this seat sees the request taken back.
    REQUEST_RETURN = Release;
    /// Sees that, or what was done last to the request of a thread that has ended.
    REQUEST_INHERIT = Acquire;
}

flaws! {
    /// A section runs while its request still says that it is to be run (Zhang et al. 2017,
    /// algorithm 2, lines 7 to 10).
    LEAVE_POSTED = "request.leave-posted";
}

const IDLE: u32 = 0;
const POSTED: u32 = 1;
const QUEUED: u32 = 2;
const HANDED: u32 = 3;
const RUNNING: u32 = 4;
/// Beside `POSTED`.  In the same word, so that a server never takes one request's state with
/// another's patience.
const PATIENT: u32 = 8;

/// A poster waits for its own request only.
const CLASS: u32 = 1;

/// One thread's request at one lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Request {
    state: WaitCell<MayPark>,
    section: Cell<Option<Section<'static>>>,
}

/// What a poster is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The section has been run.
    Served,
    /// The poster has the lock, or is to take it, as the lock has it.
    Handed,
}

impl Request {
    /// Makes it one of a thread that has posted nothing: nobody else looks at it.
    pub fn renew(&self) {
        self.state.reset(IDLE);
    }

    /// Makes it a new thread's, whose owner is no more; sees what was done to it last.
    pub fn inherit(&self) {
        self.state.swap(IDLE, REQUEST_INHERIT);
    }

    /// Posts a section.
    ///
    /// # Safety
    /// Nothing is posted, and this request is that of the caller, which waits for the answer or
    /// takes the section back before the section's lifetime ends.
    #[inline]
    pub unsafe fn post(&self, section: Section<'_>, patient: bool) {
        // SAFETY: the caller's.
        let section = unsafe { section.outliving() };
        // SAFETY: nobody looks there until the state says so.
        self.section
            .with_mut(|place| unsafe { *place = Some(section) });
        let state = if patient { POSTED | PATIENT } else { POSTED };
        self.state.put(state, REQUEST_POST);
    }

    /// Whether a section is to be run whose poster may be handed the lock.
    #[inline]
    pub fn is_posted(&self) -> bool {
        self.state.value(Order::RELAXED) & !PATIENT == POSTED
    }

    /// The same of one that its poster never takes back for lack of time.
    pub fn is_endless(&self) -> bool {
        self.state.value(Order::RELAXED) == POSTED
    }

    /// The section, if there is one: to be run, and then [answered](Self::answer).
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline]
    pub unsafe fn take<P: Parking>(&self) -> Option<Section<'static>> {
        let state = self.state.in_form::<P>();
        match state.value(REQUEST_SEEN) {
            POSTED | QUEUED => {}
            seen if seen == POSTED | PATIENT
                && (mutant(flaw::LEAVE_POSTED) || state.change(seen, RUNNING, REQUEST_SEEN)) => {}
            _ => return None,
        }
        // SAFETY: a posted section is the server's, which the lock says that the caller is.
        self.section.with_mut(|place| unsafe { (*place).take() })
    }

    /// Tells the poster that its section has been run.
    #[inline]
    pub fn answer<P: Parking>(&self) {
        self.state.in_form::<P>().set(IDLE, REQUEST_DONE);
    }

    /// Hands the caller's lock to the poster, or tells it to take that; whether there is one that does.
    pub fn hand<P: Parking>(&self) -> bool {
        let state = self.state.in_form::<P>();
        let seen = state.value(Order::RELAXED);
        seen & !PATIENT == POSTED && state.change(seen, HANDED, REQUEST_HAND)
    }

    /// The poster will acquire the lock, and cannot be handed it any more; whether it still had
    /// to.
    pub fn queue(&self) -> bool {
        self.state
            .exchange(POSTED, QUEUED, Order::RELAXED, Order::RELAXED)
    }

    /// The poster takes its section back, if it has not been run.
    ///
    /// # Safety
    /// The caller has posted it, and has the lock.
    pub unsafe fn take_back(&self) -> Option<Section<'static>> {
        if self.state.value(REQUEST_ANSWERED) == IDLE {
            return None;
        }
        // SAFETY: nobody serves.
        let section = self.section.with_mut(|place| unsafe { (*place).take() });
        self.state.put(IDLE, REQUEST_RETURN);
        section
    }

    /// Gives a patient request up for its poster, if patience has run out; whether it did.  If
    /// somebody has begun to serve it, blocks until its section has been run.
    pub fn gives_up<P: Parking>(&self, patience: &Patience) -> bool {
        if !runs_out(patience) {
            return false;
        }
        if self.withdraw() {
            tally(Tallied::Withdrawals, 1);
            return true;
        }
        // It is being run, unless something has been told.
        self.wait::<P>(&Patience::ENDLESS);
        false
    }

    /// The poster of a patient request gives it up; whether it could, before anybody began to
    /// serve it or handed the lock to it.
    fn withdraw(&self) -> bool {
        // What is left there is nobody's, until it is posted over.
        self.state
            .exchange(POSTED | PATIENT, IDLE, Order::RELAXED, Order::RELAXED)
    }

    /// What its poster is told now; nothing while it waits.
    #[inline]
    pub fn told(&self) -> Option<Told> {
        match self.state.value(REQUEST_ANSWERED) {
            IDLE => Some(Told::Served),
            HANDED => Some(Told::Handed),
            _ => None,
        }
    }

    /// Blocks until its poster is told something, no longer than `patience` lasts.
    pub fn wait<P: Parking>(&self, patience: &Patience) {
        let state = self.state.in_form::<P>();
        let told = |state| matches!(state, IDLE | HANDED);
        let _ = state.wait_within(REQUEST_ANSWERED, CLASS, told, patience);
    }
}
