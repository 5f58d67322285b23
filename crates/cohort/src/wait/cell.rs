//! A word set by one thread while others wait for its value.
//!
//! The setter must know of sleepers, so the word's top bit marks them. Each lock is compiled in two
//! forms: with cells that permit sleeping, and with cells that do not and are set by a plain store.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `value` | the setter's value, 31 bits | the setter |
//! | `value \| ASLEEP` | a waiter sleeps, or is about to, until the value changes | that waiter |

use crate::door::{
    Advice, AtomicU32, Attempt, Order, Spinner, constructor, flaws, mutant, orders, runs_out,
    sleep_on, sleep_within, wake,
};
use cohort_raw::Patience;
use core::marker::PhantomData;

orders! {
    /// Falling asleep publishes nothing. The setter's read-modify-write of this word precedes the
    /// announcement, which then fails, or follows it and sees the mark.
    CELL_ANNOUNCE = Relaxed;
}

flaws! {
    WAKE_ONE_CLASS = "cell.wake-one-class";
    FORGET_WAKE = "cell.forget-wake";
}

/// A waiter may be asleep on this cell.
const ASLEEP: u32 = 1 << 31;

/// All classes of sleepers.
const EVERY_CLASS: u32 = u32::MAX;

/// Whether a cell permits sleeping; a type, because it decides how the cell is set.
pub trait Parking: Send + Sync + Default + 'static {
    /// Whether waiters may sleep.
    const MAY_SLEEP: bool;
}

/// Waiters spin, then yield; setting is a plain store.
#[derive(Debug, Default)]
pub struct SpinOnly;

/// Waiters spin, yield or sleep, according to the process's policy; setting is one
/// read-modify-write.
#[derive(Debug, Default)]
pub struct MayPark;

impl Parking for SpinOnly {
    const MAY_SLEEP: bool = false;
}

impl Parking for MayPark {
    const MAY_SLEEP: bool = true;
}

/// A cell; zero at first.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct WaitCell<P: Parking = MayPark> {
    word: AtomicU32,
    parking: PhantomData<P>,
}

impl<P: Parking> WaitCell<P> {
    constructor! {
        /// A cell with the value zero.
        #[must_use]
        pub fn new() -> Self {
            Self::with(0)
        }
    }

    constructor! {
        /// A cell with that value, at most [`MAX`](Self::MAX).
        #[must_use]
        pub fn with(value: u32) -> Self {
            Self {
                word: AtomicU32::new(value),
                parking: PhantomData,
            }
        }
    }
}

impl<P: Parking> WaitCell<P> {
    /// The largest value a cell can hold.
    pub const MAX: u32 = ASLEEP - 1;

    /// The last value set.
    #[inline(always)]
    pub fn value(&self, order: Order) -> u32 {
        self.word.load(order) & !ASLEEP
    }

    /// Writes `value` to a cell without waiters.
    #[inline(always)]
    pub fn reset(&self, value: u32) {
        self.word.store(value, Order::RELAXED);
    }

    /// Writes `value` and clears a sleeper's mark: for a [quick](super::quick) release.
    #[inline(always)]
    pub fn put(&self, value: u32, order: Order) {
        self.word.store(value, order);
    }

    /// Replaces `from` by `to` if no mark is set; returns whether it did.
    pub fn try_set(&self, from: u32, to: u32, order: Order) -> bool {
        self.word
            .compare_exchange(from, to, order, Order::RELAXED)
            .is_ok()
    }

    /// The same cell in the other form.
    #[inline(always)]
    pub fn in_form<Q: Parking>(&self) -> &WaitCell<Q> {
        // SAFETY: both forms are one word without invalid values.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Clears bits of the value; for any thread.
    pub fn clear(&self, bits: u32) {
        self.word.fetch_and(!bits, Order::RELAXED);
    }

    /// Wakes all sleepers of the cell at `place`, which may be gone; they check the value again.
    #[cold]
    pub fn wake_everybody(place: *const Self) {
        wake(place.cast::<AtomicU32>(), i32::MAX as u32, EVERY_CLASS);
    }

    /// Writes `value` and wakes all sleepers.
    #[inline(always)]
    pub fn set(&self, value: u32, order: Order) {
        if !P::MAY_SLEEP {
            self.word.store(value, order);
        } else if self.word.swap(value, order) & ASLEEP != 0 {
            self.wake(EVERY_CLASS);
        }
    }

    /// Writes `value` and wakes all sleepers, if the mark is seen. A hint: it publishes nothing,
    /// and a waiter that falls asleep concurrently may miss it.
    #[inline]
    pub fn rouse(&self, value: u32) {
        if P::MAY_SLEEP && self.word.load(Order::RELAXED) & ASLEEP != 0 {
            self.set(value, Order::RELAXED);
        }
    }

    /// Writes `value`, wakes all sleepers, and returns the old value.
    #[inline]
    pub fn swap(&self, value: u32, order: Order) -> u32 {
        let old = self.word.swap(value, order);
        if P::MAY_SLEEP && old & ASLEEP != 0 {
            self.wake(EVERY_CLASS);
        }
        old & !ASLEEP
    }

    /// Replaces `from` by `to` and wakes all sleepers; returns whether it did.
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

    /// Replaces `from` by `to`, with or without a mark; returns whether it did. `failure` is the
    /// order of the read that found another value. Wakes no sleeper: for a word with at most one
    /// waiter, the caller.
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

    /// Writes `value` and wakes sleepers of `class`, the only waiters for this value. `others` says
    /// whether waiters of further classes may be asleep; they stay so.
    #[inline(always)]
    pub fn set_for(&self, value: u32, order: Order, class: u32, others: impl Fn() -> bool) {
        if !P::MAY_SLEEP {
            self.word.store(value, order);
            return;
        }
        let mut old = self.word.load(Order::RELAXED);
        loop {
            // A waiter may see the mark while it is being cleared, and sleep without setting it
            // again. So clearing the mark wakes all classes.
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

    /// Out of line, once for all setters: a lock's release has no room for rare code.
    #[cold]
    #[inline(never)]
    fn wake(&self, classes: u32) {
        if mutant(flaw::FORGET_WAKE) {
            return;
        }
        // The cell may be reused by now: its address serves only as a key.
        wake(&raw const self.word, i32::MAX as u32, classes);
    }

    /// Blocks until `ready` is true of the value; `order` is the order of the read that saw it.
    /// Setters of the waiter's `class`, a bit, wake it.
    ///
    /// For a cell with at most one waiter at a time, so the CPU may monitor it.
    #[inline]
    pub fn wait_for(&self, order: Order, class: u32, ready: impl Fn(u32) -> bool) {
        if !ready(self.value(order)) {
            let pass = |spinner: &mut Spinner, word| spinner.step_at(&self.word, word);
            let look = || self.word.load(order);
            self.wait_long(class, Attempt::Load, look, ready, pass, || true);
        }
    }

    /// [`wait_for`](Self::wait_for) until `patience` ends; returns whether the value became
    /// `ready`.
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

    /// [`wait_for`](Self::wait_for) with a pause of `spacing` nanoseconds, a function of the value,
    /// after each unsuccessful check. A waiter that has left the mark sleeps only if it is
    /// `honoured`; otherwise it checks again.
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
            let look = || self.word.load(order);
            self.wait_long(class, Attempt::Load, look, ready, pass, honoured);
        }
    }

    /// [`wait_for`](Self::wait_for) whose checks are read-modify-writes that change nothing. They
    /// fetch the word's line for writing.
    #[inline]
    pub fn wait_owning(&self, order: Order, class: u32, ready: impl Fn(u32) -> bool) {
        let look = || self.word.fetch_add(0, order);
        if !ready(look() & !ASLEEP) {
            let pass = |spinner: &mut Spinner, _| spinner.pause(0);
            self.wait_long(class, Attempt::Update, look, ready, pass, || true);
        }
    }

    /// Waits for `ready`; `look` makes that attempt, and `pass` pauses after an unsuccessful check
    /// of that word.
    #[cold]
    fn wait_long(
        &self,
        class: u32,
        attempt: Attempt,
        look: impl Fn() -> u32,
        ready: impl Fn(u32) -> bool,
        pass: impl Fn(&mut Spinner, u32) -> Advice,
        honoured: impl Fn() -> bool,
    ) {
        let mut spinner = Spinner::in_line();
        let is_ready = move |word: u32| ready(word & !ASLEEP);
        // SAFETY: both stay, and a look follows each pass.
        unsafe { spinner.foresee(&self.word, attempt, &is_ready) };
        loop {
            let word = look();
            if is_ready(word) {
                return;
            }
            if pass(&mut spinner, word) == Advice::Sleep {
                self.sleep(&mut spinner, word, class, &honoured);
            }
        }
    }

    /// Blocks until the value is `from`, and replaces it by `to`; each check is an attempt to
    /// replace.
    #[inline]
    pub fn replace(&self, from: u32, to: u32, order: Order, class: u32) {
        let mut spinner = Spinner::keeping_turns_if_lost();
        let mut expected = from;
        let is_ready = move |word: u32| word & !ASLEEP == from;
        // SAFETY: both stay, and an attempt follows each step.
        unsafe { spinner.foresee(&self.word, Attempt::Compare, &is_ready) };
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

    /// Sleeps while the word has that value, unless the mark is not honoured.
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
