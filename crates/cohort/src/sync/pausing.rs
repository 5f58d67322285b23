//! Sections that wait in their middle, while sections of other threads run.
//!
//! Such a section runs in its own thread, as by [`locking`](Delegated::locking). Before it waits,
//! its thread ends its turn at the lock: it runs the sections published so far, if the lock
//! delegates, and hands the lock to the next server. Once notified, it takes another turn.
//!
//! Zhang et al. 2017 §3.3.2 lets the server wait in the section of a client, while another thread
//! becomes the server. Here no thread waits in another thread's section: the server's own next step
//! may be what that section waits for, and would never come.
//!
//! | field of `Pausing` | meaning |
//! |---|---|
//! | `turn` | the turn at the lock; none only while the section waits |
//! | `changes` | whether the section had access to change the data in this turn |
//!
//! A section is notified by each later section, as in [`run_when`](Delegated::run_when), or by a
//! [`Condvar`]. It joins these waiters during its turn, so no notification is lost. A pause without
//! changes notifies no others: two waiting sections would wake each other for ever.

use crate::delegation::StepsDown;
use crate::door::recorder::{Doing, How, acquiring, releasing, waiting};
use crate::door::{caught, flaws, mutant};
use crate::support::condvar::{NAMELESS, RawCondvar, WAITERS, Waited};
use crate::support::heed::heeding;
use crate::sync::condvar::Condvar;
use crate::sync::delegated::{Delegated, returned};
use cohort_raw::Patience;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr;

flaws! {
    /// A section waits during its turn.
    KEEP_TURN = "pausing.keep-turn";
    /// A section joins the waiters after its turn.
    JOIN_LATE = "pausing.join-late";
    /// A section goes on without another turn.
    GO_ON = "pausing.go-on";
    /// A section that changed the data notifies no waiters when it pauses.
    FORGET_AWAITED = "pausing.forget-awaited";
}

/// The data in a section that may wait, by [`Delegated::pausing`].
pub struct Pausing<'a, T, L: StepsDown> {
    of: &'a Delegated<T, L>,
    turn: Option<L::Turn>,
    changes: bool,
    /// Of the thread that took the turn.
    here: PhantomData<*const ()>,
}

impl<T, L: StepsDown> Delegated<T, L> {
    /// [`locking`](Self::locking), for a section that waits in its middle. Sections of other
    /// threads run meanwhile.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// ```
    /// use cohort::{Delegated, delegation::Sanl};
    ///
    /// let words: Delegated<Vec<&str>, Sanl> = Delegated::from(Vec::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| ["one", "two"].map(|word| words.run(move |words| words.push(word))));
    ///     let both = words.pausing(|words| {
    ///         words.pause_while(|words| words.is_empty());
    ///         let first = words.remove(0);
    ///         words.pause_while(|words| words.is_empty());
    ///         [first, words.remove(0)]
    ///     });
    ///     assert_eq!(both, ["one", "two"]);
    /// });
    /// ```
    pub fn pausing<R>(&self, section: impl FnOnce(&mut Pausing<'_, T, L>) -> R) -> R {
        self.expect_elsewhere();
        let mut inside = Pausing {
            of: self,
            turn: None,
            changes: false,
            here: PhantomData,
        };
        inside.begin();
        let ended = caught(|| section(&mut inside));
        let awaited = self.is_awaited();
        inside.end();
        self.tell(awaited);
        returned(ended)
    }
}

impl<T, L: StepsDown> Pausing<'_, T, L> {
    /// Ends the turn, blocks until another section has run, and takes another turn. Wake-ups can be
    /// spurious, so check the data again, as [`pause_while`](Self::pause_while) does.
    ///
    /// The end of a turn that borrowed the data mutably wakes others that wait; so borrow it mutably
    /// (`&mut **self`) before a change through a shared reference, of a [`Cell`](core::cell::Cell)
    /// for example.
    ///
    /// ```
    /// use cohort::{Delegated, delegation::CcSynch};
    ///
    /// let total: Delegated<u64, CcSynch> = Delegated::from(0);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| total.run(|total| *total += 1));
    ///     total.pausing(|total| while **total == 0 { total.pause() });
    /// });
    /// ```
    pub fn pause(&mut self) {
        let changed = self.of.changed();
        let _ = self.waits(changed, &Patience::ENDLESS);
    }

    /// [`pause`](Self::pause) until patience runs out; false then.
    ///
    /// ```
    /// use cohort::{Deadline, Delegated, Patience, basic::Mcs};
    ///
    /// let total: Delegated<u64, Mcs> = Delegated::from(0);
    /// let over = Patience::until(Deadline::monotonic(1));
    /// assert!(!total.pausing(|total| total.pause_within(&over)));
    /// ```
    pub fn pause_within(&mut self, patience: &Patience) -> bool {
        let changed = self.of.changed();
        heeding(patience, |patience| self.waits(changed, patience)) != Waited::GaveUp
    }

    /// [`pause`](Self::pause)s as long as `goes_on` returns true.
    ///
    /// ```
    /// use cohort::{Delegated, delegation::SanlPlus};
    ///
    /// let total: Delegated<u64, SanlPlus> = Delegated::from(0);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| total.run(|total| *total += 1));
    ///     total.pausing(|total| {
    ///         total.pause_while(|total| *total == 0);
    ///         assert_eq!(**total, 1);
    ///     });
    /// });
    /// ```
    pub fn pause_while(&mut self, mut goes_on: impl FnMut(&T) -> bool) {
        while goes_on(self) {
            self.pause();
        }
    }

    /// [`pause`](Self::pause), until that condition notifies the section.
    ///
    /// ```
    /// use cohort::{Condvar, Delegated, delegation::Sanl};
    ///
    /// let (words, filled) = (Delegated::<Vec<&str>, Sanl>::from(Vec::new()), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         words.run(|words| words.push("one"));
    ///         filled.notify_one();
    ///     });
    ///     words.pausing(|words| while words.is_empty() { words.pause_at(&filled) });
    /// });
    /// ```
    pub fn pause_at(&mut self, condvar: &Condvar) {
        let _ = self.waits(condvar.queue(), &Patience::ENDLESS);
    }

    /// [`pause_at`](Self::pause_at) until patience runs out; false then.
    ///
    /// ```
    /// use cohort::{Condvar, Deadline, Delegated, Patience, basic::Mcs};
    ///
    /// let (total, changed) = (Delegated::<u64, Mcs>::from(0), Condvar::new());
    /// let over = Patience::until(Deadline::monotonic(1));
    /// assert!(!total.pausing(|total| total.pause_at_within(&changed, &over)));
    /// ```
    pub fn pause_at_within(&mut self, condvar: &Condvar, patience: &Patience) -> bool {
        let waited = heeding(patience, |patience| self.waits(condvar.queue(), patience));
        waited != Waited::GaveUp
    }

    /// The lock's address in reports.
    fn address(&self) -> usize {
        ptr::from_ref(self.of).addr()
    }

    /// Takes a turn.
    #[inline(always)]
    fn begin(&mut self) {
        let lock = self.of.raw();
        let mut turn = None;
        // A section of another thread keeps the lock as a holder does, unknown here.
        acquiring(
            Doing::Lock,
            How::Section,
            self.address(),
            || true,
            || {
                turn = Some(lock.take_turn());
                true
            },
        );
        self.turn = turn;
        self.changes = false;
        self.of.is_run_here(true);
    }

    /// Ends the turn.
    #[inline(always)]
    fn end(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.of.is_run_here(false);
            releasing(How::Section, self.address(), || {
                // SAFETY: of this lock, taken by this thread.
                unsafe { self.of.raw().end_turn(turn) };
            });
        }
    }

    /// Waits at that condition between two turns.
    #[inline(always)]
    fn waits(&mut self, at: &RawCondvar, patience: &Patience) -> Waited {
        // Read first: its own changes do not concern this thread.
        let awaited = self.changes && self.of.is_awaited() && !mutant(flaw::FORGET_AWAITED);
        // SAFETY: without a mutex name, and of one pool.
        let join = || unsafe { at.enqueue(&WAITERS, NAMELESS) };
        let waiter = (!mutant(flaw::JOIN_LATE)).then(join);
        let doing = if patience.is_endless() && !patience.is_cancellable() {
            Doing::Condition
        } else {
            Doing::Timed
        };
        let keeps = mutant(flaw::KEEP_TURN);
        if !keeps {
            self.end();
        }
        self.of.tell(awaited);
        let waiter = waiter.unwrap_or_else(join);
        let mut waited = Waited::GaveUp;
        let condition = ptr::from_ref(at).addr();
        // The thread holds nothing of this lock meanwhile.
        waiting(doing, How::Condition, condition, condition, || {
            // SAFETY: it joined this queue, and waits once.
            waited = unsafe { at.wait(&WAITERS, waiter, patience) }.waited;
        });
        if !keeps && !mutant(flaw::GO_ON) {
            self.begin();
        }
        waited
    }
}

impl<T, L: StepsDown> Deref for Pausing<'_, T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is this thread's turn until the next call with a mutable borrow.
        self.of.data().with(|data| unsafe { &*data })
    }
}

impl<T, L: StepsDown> DerefMut for Pausing<'_, T, L> {
    fn deref_mut(&mut self) -> &mut T {
        self.changes = true;
        // SAFETY: as above, and nothing else borrows it.
        self.of.data().with_mut(|data| unsafe { &mut *data })
    }
}

impl<T: fmt::Debug, L: StepsDown> fmt::Debug for Pausing<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pausing")
            .field("data", &**self)
            .finish_non_exhaustive()
    }
}
