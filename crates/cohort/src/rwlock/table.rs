//! Counts of readers, for locks without room for them: one table for all locks, with a row for each
//! cohort.
//!
//! A lock with readers from several cohorts gets a *name*, a number never used before, and keeps
//! it. A slot of a row belongs to one name while its count is not zero; a free slot goes to the
//! first lock that needs it. Consecutive names have different slots. A lock without readers owns
//! nothing here, so it needs no destruction: freeing its memory suffices, and the next lock in that
//! memory has no name or a new one.
//!
//! A reader that finds its slot taken by another lock is counted in the lock's own word, like the
//! readers that arrived before the lock had a name. A releasing reader does not know where it was
//! counted (a reader owed entry does): it decrements the slot if that has a count for the lock, and
//! the word otherwise. A thread stays in its cohort's row while it holds any read lock, even if it
//! migrates.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | a slot of either kind | readers of that cohort; a writer marks it | name, count, writer's mark |
//! | a row's `gone` | the reader that empties a marked slot | changes, to wake the sleeping writer |
//! | the lock's `readers`, `owed` | readers of either kind without a slot | their [`Count`] |
//! | the lock's `name` | the first reader that finds a reader of another cohort inside | the name, or 0 |
//!
//! **Why a sum of zero means no readers**, while none is admitted. At each moment all counts
//! together are the number of readers, and none is below zero. Counts of readers inside at the
//! closing only decrease. A reader that arrives and turns back decrements where it incremented,
//! unless another reader has decremented there, which then has left a count in the word. The word
//! is read before the slots, so a count that moves from the word to a slot is not missed. A reader
//! that decrements the word for its increment of a slot has published that increment.
//!
//! **A read lock released by another thread** than its owner, which POSIX leaves undefined and the
//! C library tolerates, is decremented wherever there is a count.

use super::count::Count;
use super::phase::{Indicators, Wait};
use crate::door::{
    Advice, AtomicU32, AtomicU64, Order, Spinner, constructor, flaws, mutant, orders, repeated,
    runs_out, sleep_within, thread, wake,
};
use cohort_raw::{Outcome, Patience};

orders! {
    /// What a reader read is read before the next writer writes. Whoever sees the decrement sees
    /// the increment.
    RWT_LEAVE = Release;
    /// A reader whose count was taken by another finds the count that the other left elsewhere.
    RWT_TAKEN = Acquire;
    /// A sleeping writer that sees a row's event sees the count behind it.
    RWT_GONE = Release;
    /// The same, from the writer's side.
    RWT_LOOK = Acquire;
}

flaws! {
    FORGET_WRITER = "rw-table.forget-writer";
}

/// A writer sleeps until the slot is empty.
const WANTED: u64 = 1;
const ONE: u64 = 2;
/// A slot's count and mark.
const COUNT: u64 = u32::MAX as u64;

/// The one class of sleepers on a row.
const DRAINER: u32 = 1;

/// The name of an unnamed lock.
const NAMELESS: u32 = 0;

/// The last name; later locks go without.
const LAST_NAME: u32 = u32::MAX / 2;

const fn number(slot: u64) -> u64 {
    (slot & COUNT) / ONE
}

const fn is_of(slot: u64, name: u32) -> bool {
    (slot >> 32) as u32 == name
}

/// A name's readers in one cohort, or its readers owed entry there.
#[derive(Debug)]
#[repr(transparent)]
struct Slot(AtomicU64);

impl Slot {
    constructor! {
        fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// The count of that name here.
    fn number(&self, name: u32, order: Order) -> i32 {
        let slot = self.0.load(order);
        if is_of(slot, name) {
            number(slot) as i32
        } else {
            0
        }
    }

    /// Counts one, if the slot is free or the name's.
    #[inline]
    fn enter(&self, name: u32) -> bool {
        let mut slot = self.0.load(Order::RELAXED);
        loop {
            let more = if is_of(slot, name) {
                slot + ONE
            } else if number(slot) == 0 {
                (u64::from(name) << 32) | ONE
            } else {
                return false;
            };
            match self
                .0
                .compare_exchange(slot, more, Order::RELAXED, Order::RELAXED)
            {
                Ok(_) => return true,
                Err(now) => slot = now,
            }
        }
    }

    /// Uncounts one, if any is counted here; returns the slot's previous value.
    #[inline]
    fn leave(&self, name: u32, order: Order) -> Option<u64> {
        let mut slot = self.0.load(RWT_TAKEN);
        while is_of(slot, name) && number(slot) > 0 {
            match self.0.compare_exchange(slot, slot - ONE, order, RWT_TAKEN) {
                Ok(_) => return Some(slot),
                Err(now) => slot = now,
            }
        }
        None
    }

    /// Sets a writer's mark, if the name has a count here.
    fn want(&self, name: u32) -> bool {
        let slot = self.0.load(Order::RELAXED);
        let marked = slot | WANTED;
        is_of(slot, name)
            && number(slot) > 0
            && (slot == marked
                || self
                    .0
                    .compare_exchange(slot, marked, Order::RELAXED, Order::RELAXED)
                    .is_ok())
    }

    /// Clears the mark.
    fn want_no_more(&self, name: u32) {
        let mut slot = self.0.load(Order::RELAXED);
        while is_of(slot, name) && slot & WANTED != 0 {
            match self
                .0
                .compare_exchange(slot, slot & !WANTED, Order::RELAXED, Order::RELAXED)
            {
                Ok(_) => return,
                Err(now) => slot = now,
            }
        }
    }
}

/// What a count counts.
#[derive(Clone, Copy)]
enum CountOf {
    Readers,
    Owed,
}

/// One cohort's readers of all locks.
#[derive(Debug)]
#[repr(C, align(128))]
struct Row<const SLOTS: usize> {
    gone: AtomicU32,
    slots: [[Slot; 2]; SLOTS],
}

impl<const SLOTS: usize> Row<SLOTS> {
    constructor! {
        fn new() -> Self {
            Self {
                gone: AtomicU32::new(0),
                slots: repeated!(repeated!(Slot::new(), 2), SLOTS),
            }
        }
    }

    #[inline(always)]
    fn slot(&self, name: u32, kind: CountOf) -> &Slot {
        &self.slots[name as usize % SLOTS][kind as usize]
    }

    /// Uncounts one, if any is counted here.
    #[inline]
    fn leave(&self, name: u32, kind: CountOf, order: Order) -> bool {
        let left = self.slot(name, kind).leave(name, order);
        if left.is_some_and(|slot| slot & COUNT == ONE | WANTED) {
            self.tell();
        }
        left.is_some()
    }

    /// Wakes the writers asleep on this row.
    #[cold]
    fn tell(&self) {
        if !mutant(flaw::FORGET_WRITER) {
            self.gone.fetch_add(1, RWT_GONE);
            wake(&raw const self.gone, i32::MAX as u32, DRAINER);
        }
    }

    /// Sleeps, if the name has a count here, until it may be zero, or `done`, or patience runs out.
    fn sleep(&self, name: u32, kind: CountOf, done: impl Fn() -> bool, patience: &Patience) {
        let slot = self.slot(name, kind);
        if !slot.want(name) {
            return;
        }
        let gone = self.gone.load(RWT_LOOK);
        if slot.number(name, Order::RELAXED) > 0 && !done() {
            let _ = sleep_within(&self.gone, gone, DRAINER, patience);
        }
    }
}

/// The counts of all locks that share a table; all zero at first.
#[derive(Debug)]
pub struct Table<const ROWS: usize = 32, const SLOTS: usize = 256> {
    /// The last name in use.
    named: AtomicU32,
    rows: [Row<SLOTS>; ROWS],
}

impl<const ROWS: usize, const SLOTS: usize> Table<ROWS, SLOTS> {
    constructor! {
        /// An empty table.
        #[must_use]
        pub fn new() -> Self {
            Self {
                named: AtomicU32::new(NAMELESS),
                rows: repeated!(Row::new(), ROWS),
            }
        }
    }

    /// A fresh name, or none.
    fn name(&self) -> u32 {
        if self.named.load(Order::RELAXED) >= LAST_NAME {
            return NAMELESS;
        }
        self.named.fetch_add(1, Order::RELAXED) + 1
    }
}

impl<const ROWS: usize, const SLOTS: usize> Default for Table<ROWS, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

/// One lock's readers in a table, and in its own words.
pub(super) struct Named<'a, const ROWS: usize, const SLOTS: usize, const OWED: u32> {
    pub table: &'a Table<ROWS, SLOTS>,
    pub readers: &'a Count,
    pub name: &'a AtomicU32,
    pub owed: &'a Count<OWED>,
}

/// Counts the calling thread in that cohort's row from here on, unless it holds a read lock.
#[inline(always)]
fn take_row(cohort: usize) {
    let thread = thread();
    if thread.reading.get() == 0 {
        thread.row.set(cohort as u32);
    }
}

/// Where a reader is counted, inside or owed entry.
#[derive(Clone, Copy)]
pub(super) enum RowOrWord {
    /// In the slot of that row.
    Slot(usize),
    /// In the lock's own word.
    Word,
}

impl<const ROWS: usize, const SLOTS: usize, const OWED: u32> Named<'_, ROWS, SLOTS, OWED> {
    /// The number of the calling thread's row.
    #[inline(always)]
    fn place(&self) -> usize {
        thread().row.get() as usize % ROWS
    }

    /// The row of the calling thread.
    #[inline(always)]
    fn row(&self) -> &Row<SLOTS> {
        &self.table.rows[self.place()]
    }

    /// Counts the calling thread in its row, if there is room for the lock.
    #[inline(always)]
    fn enter_row(&self, name: u32, kind: CountOf) -> Option<RowOrWord> {
        let place = self.place();
        let entered = name != NAMELESS && self.table.rows[place].slot(name, kind).enter(name);
        entered.then_some(RowOrWord::Slot(place))
    }

    /// Uncounts a reader that entered that way, if it is still counted there.
    fn leave_row(&self, way: RowOrWord, kind: CountOf, order: Order) -> bool {
        let name = self.name.load(Order::RELAXED);
        match way {
            RowOrWord::Slot(place) => self.table.rows[place].leave(name, kind, order),
            RowOrWord::Word => false,
        }
    }

    /// The whole count, with the lock's word.
    fn number(&self, kind: CountOf, order: Order) -> i32 {
        let mut sum = match kind {
            CountOf::Readers => self.readers.number(order),
            CountOf::Owed => self.owed.number(order),
        };
        let name = self.name.load(Order::RELAXED);
        if name != NAMELESS {
            for row in &self.table.rows {
                sum += row.slot(name, kind).number(name, order);
            }
        }
        sum
    }

    /// Blocks until the count is zero or patience runs out.
    #[cold]
    fn wait_for_none(&self, kind: CountOf, patience: &Patience, wait: &Wait) -> Outcome {
        let done = || self.number(kind, Order::RELAXED) == 0;
        let seldom = wait.is_rare();
        let mut spinner = Spinner::sparing_turns(seldom);
        let outcome = loop {
            if done() {
                break Outcome::Acquired;
            }
            if runs_out(patience) {
                break Outcome::GaveUp;
            }
            if spinner.step() == Advice::Again {
                continue;
            }
            let name = self.name.load(Order::RELAXED);
            let has_some =
                |row: &&Row<SLOTS>| row.slot(name, kind).number(name, Order::RELAXED) > 0;
            match kind {
                CountOf::Readers if self.readers.number(Order::RELAXED) > 0 => {
                    self.readers.sleep(patience);
                }
                CountOf::Owed if self.owed.number(Order::RELAXED) > 0 => self.owed.sleep(patience),
                _ => {
                    if let Some(row) = self.table.rows.iter().find(has_some) {
                        row.sleep(name, kind, done, patience);
                    }
                }
            }
            spinner = Spinner::sparing_turns(seldom);
        };
        match kind {
            CountOf::Readers => self.readers.want_no_more(),
            CountOf::Owed => self.owed.want_no_more(),
        }
        let name = self.name.load(Order::RELAXED);
        for row in &self.table.rows {
            row.slot(name, kind).want_no_more(name);
        }
        outcome
    }

    /// Uncounts one reader, wherever; false if there was none.
    #[inline]
    pub fn leave(&self) -> bool {
        let name = self.name.load(Order::RELAXED);
        if name != NAMELESS && self.row().leave(name, CountOf::Readers, RWT_LEAVE) {
            return true;
        }
        if self.readers.number(Order::RELAXED) > 0 {
            self.readers.leave(RWT_LEAVE);
            return true;
        }
        name != NAMELESS && self.leave_by_any_row(name)
    }

    /// For a release by another thread than the acquirer.
    #[cold]
    fn leave_by_any_row(&self, name: u32) -> bool {
        let mut rows = self.table.rows.iter();
        rows.any(|row| row.leave(name, CountOf::Readers, RWT_LEAVE))
    }

    /// Names the lock: it has readers of several cohorts.
    #[cold]
    fn christen(&self) {
        if self.name.load(Order::RELAXED) == NAMELESS {
            let name = self.table.name();
            let _ = self
                .name
                .compare_exchange(NAMELESS, name, Order::RELAXED, Order::RELAXED);
        }
    }

    /// Resets the counts.
    fn reset(&self, kind: CountOf) {
        let name = self.name.load(Order::RELAXED);
        if name != NAMELESS {
            for row in &self.table.rows {
                while row.leave(name, kind, Order::RELAXED) {}
            }
        }
    }

    /// Forgets all readers.
    pub fn forget_readers(&self) {
        self.readers.reset();
        self.reset(CountOf::Readers);
    }

    /// Forgets all readers owed entry.
    pub fn forget_owed(&self) {
        self.owed.reset();
        self.reset(CountOf::Owed);
    }
}

impl<const ROWS: usize, const SLOTS: usize, const OWED: u32> Indicators
    for Named<'_, ROWS, SLOTS, OWED>
{
    type CountedAt = RowOrWord;

    #[inline(always)]
    fn enter(&self, cohort: usize) -> RowOrWord {
        take_row(cohort);
        let name = self.name.load(Order::RELAXED);
        if let Some(way) = self.enter_row(name, CountOf::Readers) {
            return way;
        }
        // The first cohort needs no row while it is the only one.
        if self.readers.enter() > 0 && cohort > 0 {
            self.christen();
        }
        RowOrWord::Word
    }

    #[inline]
    fn take_back(&self, way: RowOrWord) {
        if !self.leave_row(way, CountOf::Readers, RWT_LEAVE) {
            self.readers.leave(RWT_LEAVE);
        }
    }

    fn is_idle(&self, order: Order) -> bool {
        self.number(CountOf::Readers, order) == 0
    }

    fn wait_until_idle(&self, patience: &Patience, wait: &Wait) -> Outcome {
        self.wait_for_none(CountOf::Readers, patience, wait)
    }

    fn owe(&self, cohort: usize) -> RowOrWord {
        take_row(cohort);
        let name = self.name.load(Order::RELAXED);
        if let Some(way) = self.enter_row(name, CountOf::Owed) {
            return way;
        }
        self.owed.enter();
        RowOrWord::Word
    }

    fn pay(&self, way: RowOrWord) {
        if !self.leave_row(way, CountOf::Owed, Order::RELAXED) {
            self.owed.leave(Order::RELAXED);
        }
    }

    fn owes(&self) -> bool {
        self.number(CountOf::Owed, Order::RELAXED) != 0
    }

    #[inline]
    fn wait_until_paid(&self, patience: &Patience, wait: &Wait) -> Option<bool> {
        if self.owes() && self.wait_for_none(CountOf::Owed, patience, wait) == Outcome::GaveUp {
            return None;
        }
        Some(self.is_idle(Order::RELAXED))
    }
}
