//! A word that one thread sets and others wait for.
//!
//! The setter must know whether somebody sleeps, so the top bit of the word says
//! so, and a lock is compiled in two forms: one whose cells may be slept on and
//! one whose cells never are, which sets them with a plain store.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `value` | the setter's value, 31 bits | the setter |
//! | `value \| ASLEEP` | somebody sleeps, or is about to, until the value changes | a waiter, by compare-exchange |

use crate::door::{
    Advice, AtomicU32, Order, Spinner, constructor, flaws, mutant, orders, runs_out, sleep_on,
    sleep_within, wake,
};
use cohort_raw::Patience;
use core::marker::PhantomData;

orders! {
    /// Nothing is published by going to sleep: the setter's read-modify-write
    /// of the same word comes before the announcement, which then fails, or
    /// after, and sees it.
    CELL_ANNOUNCE = Relaxed;
}

flaws! {
    WAKE_ONE_CLASS = "cell.wake-one-class";
    FORGET_WAKE = "cell.forget-wake";
}

/// Somebody may be asleep on this cell.
const ASLEEP: u32 = 1 << 31;

/// All classes of sleepers.
const EVERY_CLASS: u32 = u32::MAX;

/// Whether a cell may be slept on; a type, because it decides how it is set.
pub trait Parking: Send + Sync + Default + 'static {
    /// The answer.
    const MAY_SLEEP: bool;
}

/// Waiters spin, then yield; setting is a plain store.
#[derive(Debug, Default)]
pub struct SpinOnly;

/// Waiters spin, yield or sleep, as the policy of the process says; setting is
/// one read-modify-write.
#[derive(Debug, Default)]
pub struct MayPark;

impl Parking for SpinOnly {
    const MAY_SLEEP: bool = false;
}

impl Parking for MayPark {
    const MAY_SLEEP: bool = true;
}

/// The cell; zero at first.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct WaitCell<P: Parking = MayPark> {
    word: AtomicU32,
    parking: PhantomData<P>,
}

impl<P: Parking> WaitCell<P> {
    constructor! {
        /// A cell of zero.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                parking: PhantomData,
            }
        }
    }
}

impl<P: Parking> WaitCell<P> {
    /// The largest value a cell can hold.
    pub const MAX: u32 = ASLEEP - 1;

    /// What the setter last wrote.
    #[inline(always)]
    pub fn value(&self, order: Order) -> u32 {
        self.word.load(order) & !ASLEEP
    }

    /// Writes `value` while nobody waits.
    #[inline(always)]
    pub fn reset(&self, value: u32) {
        self.word.store(value, Order::RELAXED);
    }

    /// Writes `value` and wipes out a sleeper's mark: for a [quick](super::quick)
    /// release.
    #[inline(always)]
    pub fn put(&self, value: u32, order: Order) {
        self.word.store(value, order);
    }

    /// Replaces a value by another if nobody has left a mark; whether it did.
    pub fn try_set(&self, from: u32, to: u32, order: Order) -> bool {
        self.word
            .compare_exchange(from, to, order, Order::RELAXED)
            .is_ok()
    }

    /// The same cell, as one in whose lock waiters wait in that way.
    #[inline(always)]
    pub fn in_form<Q: Parking>(&self) -> &WaitCell<Q> {
        // SAFETY: both are one word, and say nothing of what it may be.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Clears bits of the value, in whichever thread.
    pub fn clear(&self, bits: u32) {
        self.word.fetch_and(!bits, Order::RELAXED);
    }

    /// Wakes every sleeper of the cell at `place`, where it need not be any more: they
    /// look again.
    #[cold]
    pub fn wake_everybody(place: *const Self) {
        wake(place.cast::<AtomicU32>(), i32::MAX as u32, EVERY_CLASS);
    }

    /// Writes `value` and wakes every sleeper.
    #[inline(always)]
    pub fn set(&self, value: u32, order: Order) {
        if !P::MAY_SLEEP {
            self.word.store(value, order);
        } else if self.word.swap(value, order) & ASLEEP != 0 {
            self.wake(EVERY_CLASS);
        }
    }

    /// Writes `value` and wakes every sleeper, if there may be one: a hint, which publishes
    /// nothing, and which a waiter that goes to sleep just now misses.
    #[inline]
    pub fn rouse(&self, value: u32) {
        if P::MAY_SLEEP && self.word.load(Order::RELAXED) & ASLEEP != 0 {
            self.set(value, Order::RELAXED);
        }
    }

    /// Writes `value`, wakes every sleeper, and returns what was there.
    #[inline]
    pub fn swap(&self, value: u32, order: Order) -> u32 {
        let old = self.word.swap(value, order);
        if P::MAY_SLEEP && old & ASLEEP != 0 {
            self.wake(EVERY_CLASS);
        }
        old & !ASLEEP
    }

    /// Replaces a value by another and wakes every sleeper; whether it did.
    #[inline]
    pub fn change(&self, from: u32, to: u32, order: Order) -> bool {
        let mut expected = from;
        loop {
            let changed = self
                .word
                .compare_exchange(expected, to, order, Order::RELAXED);
            match changed {
                Ok(old) => {
                    if P::MAY_SLEEP && old & ASLEEP != 0 {
                        self.wake(EVERY_CLASS);
                    }
                    return true;
                }
                Err(now) if now & !ASLEEP == from => expected = now,
                Err(_) => return false,
            }
        }
    }

    /// Replaces a value by another, whether or not there is a mark; whether it did.  `failure`
    /// is the order of the look that found another value.  For a word for which one thread at
    /// a time waits: the caller, or nobody.
    #[inline]
    pub fn exchange(&self, from: u32, to: u32, order: Order, failure: Order) -> bool {
        let mut expected = from;
        loop {
            match self.word.compare_exchange(expected, to, order, failure) {
                Ok(_) => return true,
                Err(now) if now & !ASLEEP == from => expected = now,
                Err(_) => return false,
            }
        }
    }

    /// Writes `value`, which only waiters of one `class` wait for, and wakes
    /// those.  `others` says that waiters of further classes may be asleep and
    /// stay so.
    #[inline(always)]
    pub fn set_for(&self, value: u32, order: Order, class: u32, others: impl Fn() -> bool) {
        if !P::MAY_SLEEP {
            self.word.store(value, order);
            return;
        }
        let mut old = self.word.load(Order::RELAXED);
        loop {
            // A waiter may be arriving while the mark is taken off and sleep
            // without putting it back, so taking it off wakes every class.
            let stay = old & ASLEEP != 0 && others();
            let new = if stay { value | ASLEEP } else { value };
            match self.word.compare_exchange(old, new, order, Order::RELAXED) {
                Ok(_) if old & ASLEEP == 0 => return,
                Ok(_) if stay || mutant(flaw::WAKE_ONE_CLASS) => return self.wake(class),
                Ok(_) => return self.wake(EVERY_CLASS),
                Err(now) => old = now,
            }
        }
    }

    /// Once for all that set such cells: the release of a lock has no room for what it does seldom.
    #[cold]
    #[inline(never)]
    fn wake(&self, classes: u32) {
        if mutant(flaw::FORGET_WAKE) {
            return;
        }
        // The cell may belong to somebody else by now; its address is a name.
        wake(&raw const self.word, i32::MAX as u32, classes);
    }

    /// Blocks until `ready` is true of the value; `order` is that of the read
    /// that saw it.  A sleeper is woken by the setters of its `class`, a bit.
    ///
    /// It is for a cell that one thread at a time waits for: the CPU may watch it.
    #[inline]
    pub fn wait_for(&self, order: Order, class: u32, ready: impl Fn(u32) -> bool) {
        if !ready(self.value(order)) {
            let pass = |spinner: &mut Spinner, word| spinner.step_at(&self.word, word);
            self.wait_long(class, || self.word.load(order), ready, pass, || true);
        }
    }

    /// [`wait_for`](Self::wait_for), but no longer than `patience` lasts; whether the value
    /// became `ready`.
    #[inline]
    pub fn wait_within(
        &self,
        order: Order,
        class: u32,
        ready: impl Fn(u32) -> bool,
        patience: &Patience,
    ) -> bool {
        ready(self.value(order)) || self.wait_long_within(order, class, ready, patience)
    }

    #[cold]
    fn wait_long_within(
        &self,
        order: Order,
        class: u32,
        ready: impl Fn(u32) -> bool,
        patience: &Patience,
    ) -> bool {
        let mut spinner = Spinner::in_line();
        loop {
            let word = self.word.load(order);
            if ready(word & !ASLEEP) {
                return true;
            }
            if runs_out(patience) {
                return false;
            }
            if spinner.step_at(&self.word, word) == Advice::Again {
                continue;
            }
            if !P::MAY_SLEEP {
                spinner.insist();
                continue;
            }
            let asleep = word | ASLEEP;
            let marked = word == asleep
                || self
                    .word
                    .compare_exchange(word, asleep, CELL_ANNOUNCE, Order::RELAXED)
                    .is_ok();
            if marked {
                let _ = sleep_within(&self.word, asleep, class, patience);
            }
        }
    }

    /// [`wait_for`](Self::wait_for), letting `spacing` nanoseconds, a function of
    /// the value, pass after each look in vain.  A waiter that has left the mark looks
    /// again rather than sleep unless it is `honoured`.
    #[inline]
    pub fn wait_spaced(
        &self,
        order: Order,
        class: u32,
        ready: impl Fn(u32) -> bool,
        spacing: impl Fn(u32) -> u64,
        honoured: impl Fn() -> bool,
    ) {
        if !ready(self.value(order)) {
            let pass = |spinner: &mut Spinner, word| spinner.pause(spacing(word & !ASLEEP));
            self.wait_long(class, || self.word.load(order), ready, pass, honoured);
        }
    }

    /// [`wait_for`](Self::wait_for) whose looks are read-modify-writes that change
    /// nothing: they bring the word's line in for writing.
    #[inline]
    pub fn wait_owning(&self, order: Order, class: u32, ready: impl Fn(u32) -> bool) {
        let look = || self.word.fetch_add(0, order);
        if !ready(look() & !ASLEEP) {
            let pass = |spinner: &mut Spinner, _| spinner.pause(0);
            self.wait_long(class, look, ready, pass, || true);
        }
    }

    /// `pass` lets time pass after a look in vain, which saw that word.
    #[cold]
    fn wait_long(
        &self,
        class: u32,
        look: impl Fn() -> u32,
        ready: impl Fn(u32) -> bool,
        pass: impl Fn(&mut Spinner, u32) -> Advice,
        honoured: impl Fn() -> bool,
    ) {
        let mut spinner = Spinner::in_line();
        loop {
            let word = look();
            if ready(word & !ASLEEP) {
                return;
            }
            if pass(&mut spinner, word) == Advice::Sleep {
                self.sleep(&mut spinner, word, class, &honoured);
            }
        }
    }

    /// Blocks until the value is `from`, and replaces it by `to` in one step; each
    /// look is that attempt.
    #[inline]
    pub fn replace(&self, from: u32, to: u32, order: Order, class: u32) {
        let mut spinner = Spinner::new();
        let mut expected = from;
        loop {
            match self
                .word
                .compare_exchange(expected, to, order, Order::RELAXED)
            {
                Ok(old) if old & ASLEEP != 0 => return self.wake(EVERY_CLASS),
                Ok(_) => return,
                Err(now) if now & !ASLEEP == from => expected = now,
                Err(now) => {
                    expected = from;
                    if spinner.step() == Advice::Sleep {
                        self.sleep(&mut spinner, now, class, || true);
                    }
                }
            }
        }
    }

    /// Sleeps on a word that was seen, unless it has changed or the mark is not honoured.
    fn sleep(&self, spinner: &mut Spinner, word: u32, class: u32, honoured: impl Fn() -> bool) {
        if !P::MAY_SLEEP {
            return spinner.insist();
        }
        let asleep = word | ASLEEP;
        let marked = word == asleep
            || self
                .word
                .compare_exchange(word, asleep, CELL_ANNOUNCE, Order::RELAXED)
                .is_ok();
        if marked && honoured() {
            let _ = sleep_on(&self.word, asleep, class, None);
        }
    }
}
