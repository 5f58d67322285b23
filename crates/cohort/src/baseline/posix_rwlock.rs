//! The readers–writer lock of the GNU C library since 2.25, which prefers readers
//! (`PTHREAD_RWLOCK_PREFER_READER_NP`, its default) or writers
//! (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`).
//!
//! **Not for** programs with permanently overlapping readers: by default these starve writers.  It
//! serves as a comparison; [`RwLock`](crate::RwLock) is the lock to use.
//!
//! The lock is in one of two phases.  At most one writer is *primary*: it is next to write, or
//! writes:
//!
//! | readers in `state` | `WRITING` | `PRIMARY` | meaning |
//! |---|---|---|---|
//! | 0 | no | no | free, in a read phase |
//! | n | no | no | n read |
//! | n | no | yes | n read, a writer waits for the last of them |
//! | 0 | yes | no | free, in a write phase |
//! | n | yes | no | free, and n are about to make it a read phase |
//! | 0 | yes | yes | a writer writes |
//! | n | yes | yes | a writer writes, n wait for a read phase |
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `state` | the table above; `HELD_UP`: readers that gave way to a writer sleep here | all threads |
//! | `phase` | a word to sleep on: the phase, published to its waiters | the thread that changed it, afterwards |
//! | `primary` | a word to sleep on: whether there is a primary writer | that writer |
//! | `writers` | how many wait to be primary; `HANDED`: one of them may be, at once | they; the thread that hands over |
//!
//! A phase with waiters begins for them when `phase` says so, and not before: otherwise a late
//! publication would be taken for the next one.

use crate::door::{AtomicU32, Order, Spinner, flaws, mutant, orders, sleep_on, wake};
use cohort_raw::{RawShared, Recursion};

orders! {
    /// A reader or writer that enters sees what earlier ones did.
    POSIX_RW_ENTER = Acquire;
    /// What a reader or writer did is seen by later ones.
    POSIX_RW_LEAVE = Release;
    /// A published phase is the phase of `state`, and so are all earlier ones.
    POSIX_RW_PHASE = Acquire;
    /// What a writer did is seen by its successor.
    POSIX_RW_HAND = Release;
    /// Sees it.
    POSIX_RW_HANDED = Acquire;
}

flaws! {
    FORGET_WAKE = "posix-rwlock.forget-wake";
    HOLD_UP = "posix-rwlock.hold-up";
    FORGET_WRITER = "posix-rwlock.forget-writer";
}

const WRITING: u32 = 1;
const PRIMARY: u32 = 2;
const HELD_UP: u32 = 4;
const READER: u32 = 8;

const HANDED: u32 = 1 << 31;

/// There is one class of sleepers.
const CLASS: u32 = 1;
const EVERYBODY: u32 = i32::MAX as u32;

/// A word to sleep on: 0 or 1, and whether there are sleepers.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Signal(AtomicU32);

const ASLEEP: u32 = 2;

impl Signal {
    fn value(&self) -> u32 {
        self.0.load(Order::RELAXED) & !ASLEEP
    }

    /// Writes the value; whether there were sleepers.
    fn set(&self, value: u32) -> bool {
        self.0.swap(value, Order::RELAXED) & ASLEEP != 0
    }

    /// Sleeps if it has that value, until it is set.
    fn sleep_while(&self, value: u32) {
        let asleep = value | ASLEEP;
        let marked = self
            .0
            .compare_exchange(value, asleep, Order::RELAXED, Order::RELAXED);
        if marked.is_ok() || marked == Err(asleep) {
            let _ = sleep_on(&self.0, asleep, CLASS, None);
        }
    }

    fn wake(&self, count: u32) {
        if !mutant(flaw::FORGET_WAKE) {
            wake(&raw const self.0, count, CLASS);
        }
    }
}

/// The lock; all zero, and free, when new.  A waiter cannot give up.
///
/// ```
/// use cohort::baseline::PosixRwLock;
///
/// let lock: PosixRwLock = PosixRwLock::default();
/// lock.read();
/// assert!(lock.try_read() && !lock.try_write());
/// // SAFETY: read twice above.
/// unsafe {
///     lock.end_read();
///     lock.end_read();
/// }
/// lock.write();
/// // SAFETY: written above.
/// unsafe { lock.end_write() };
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct PosixRwLock<const PREFERS_WRITERS: bool = false> {
    state: AtomicU32,
    phase: Signal,
    primary: Signal,
    writers: AtomicU32,
}

const fn has_readers(state: u32) -> bool {
    state >= READER
}

impl<const PREFERS_WRITERS: bool> PosixRwLock<PREFERS_WRITERS> {
    /// Blocks until the caller may read.  If the lock prefers writers, a recursive read may
    /// deadlock.
    pub fn read(&self) {
        if PREFERS_WRITERS {
            self.give_way();
        }
        let mut state = self.state.fetch_add(READER, POSIX_RW_ENTER) + READER;
        if state & WRITING == 0 {
            return;
        }
        while state & (WRITING | PRIMARY) == WRITING {
            match self.state.compare_exchange(
                state,
                state ^ WRITING,
                POSIX_RW_ENTER,
                Order::RELAXED,
            ) {
                Ok(_) => return self.tell(0),
                Err(now) => state = now,
            }
        }
        self.wait_for_phase(0);
    }

    /// Sleeps while others read and a writer waits for them.
    fn give_way(&self) {
        let mut state = self.state.load(Order::RELAXED);
        while state & (WRITING | PRIMARY) == PRIMARY && has_readers(state) {
            let held_up = state | HELD_UP;
            if state == held_up
                || self
                    .state
                    .compare_exchange(state, held_up, Order::RELAXED, Order::RELAXED)
                    .is_ok()
            {
                let _ = sleep_on(&self.state, held_up, CLASS, None);
            }
            state = self.state.load(Order::RELAXED);
        }
    }

    /// Blocks until the phase is published.
    fn wait_for_phase(&self, wanted: u32) {
        let mut spinner = Spinner::new();
        let mut is_sure = false;
        loop {
            if self.phase.value() != wanted {
                self.phase.sleep_while(1 - wanted);
            } else if is_sure {
                return;
            } else if self.state.load(POSIX_RW_PHASE) & WRITING == wanted * WRITING {
                // The value seen so far may be an earlier phase's publication; a value seen from
                // now on is not.
                is_sure = true;
            } else {
                spinner.moment();
            }
        }
    }

    /// Publishes the phase, and wakes its waiters.
    fn tell(&self, phase: u32) {
        if self.phase.set(phase) {
            self.phase.wake(EVERYBODY);
        }
    }

    /// Blocks until the caller may write.
    pub fn write(&self) {
        let mut state = self.state.fetch_or(PRIMARY, POSIX_RW_ENTER);
        let mut slept = false;
        if state & PRIMARY != 0 {
            match self.become_primary(&mut slept) {
                Some(found) => state = found,
                // Handed over, with the phase.
                None => state = WRITING,
            }
        }
        self.primary
            .0
            .store(if slept { 1 | ASLEEP } else { 1 }, Order::RELAXED);
        if state & WRITING != 0 {
            return;
        }
        state |= PRIMARY;
        while !has_readers(state) && state & WRITING == 0 {
            match self.state.compare_exchange(
                state,
                state | WRITING,
                POSIX_RW_ENTER,
                Order::RELAXED,
            ) {
                Ok(_) => return self.phase.0.store(1, Order::RELAXED),
                Err(now) => state = now,
            }
        }
        self.wait_for_phase(1);
    }

    /// Blocks until the caller is the primary writer.  Returns the state in which it became that,
    /// or `None` if the last one handed over.
    #[cold]
    fn become_primary(&self, slept: &mut bool) -> Option<u32> {
        let mut spinner = Spinner::new();
        self.writers.fetch_add(1, Order::RELAXED);
        loop {
            let state = self.state.load(Order::RELAXED);
            if state & PRIMARY == 0 {
                let becomes = self.state.compare_exchange(
                    state,
                    state | PRIMARY,
                    POSIX_RW_ENTER,
                    Order::RELAXED,
                );
                if becomes.is_ok() {
                    self.writers.fetch_sub(1, Order::RELAXED);
                    return Some(state);
                }
                continue;
            }
            let writers = self.writers.load(Order::RELAXED);
            if writers & HANDED != 0 {
                let rest = (writers & !HANDED) - 1;
                let accepts =
                    self.writers
                        .compare_exchange(writers, rest, POSIX_RW_HANDED, Order::RELAXED);
                if accepts.is_ok() {
                    return None;
                }
            } else if self.primary.value() == 1 {
                *slept = true;
                self.primary.sleep_while(1);
            } else {
                // The primary writer is arriving or leaving.
                spinner.moment();
            }
        }
    }

    /// Reads, if the lock is in a read phase or free; never blocks.
    pub fn try_read(&self) -> bool {
        let mut state = self.state.load(Order::RELAXED);
        loop {
            let is_written = state & (WRITING | PRIMARY) == WRITING | PRIMARY;
            if is_written || PREFERS_WRITERS && state & PRIMARY != 0 {
                return false;
            }
            let new = (state + READER) & !WRITING;
            match self
                .state
                .compare_exchange(state, new, POSIX_RW_ENTER, Order::RELAXED)
            {
                Ok(_) => {
                    if state & WRITING != 0 {
                        self.tell(0);
                    }
                    return true;
                }
                Err(now) => state = now,
            }
        }
    }

    /// Writes, if there is no reader, writer or waiting writer; never blocks.
    pub fn try_write(&self) -> bool {
        let mut state = self.state.load(Order::RELAXED);
        while !has_readers(state) && state & PRIMARY == 0 {
            match self.state.compare_exchange(
                state,
                state | WRITING | PRIMARY,
                POSIX_RW_ENTER,
                Order::RELAXED,
            ) {
                Ok(_) => {
                    self.primary.0.store(1, Order::RELAXED);
                    self.phase.0.store(1, Order::RELAXED);
                    return true;
                }
                Err(now) => state = now,
            }
        }
        false
    }

    /// Ends a read.
    ///
    /// # Safety
    /// The caller reads.
    pub unsafe fn end_read(&self) {
        let mut state = self.state.load(Order::RELAXED);
        let new = loop {
            let mut new = state - READER;
            if !has_readers(new) {
                new &= !HELD_UP;
                if new & PRIMARY != 0 {
                    new |= WRITING;
                }
            }
            match self
                .state
                .compare_exchange(state, new, POSIX_RW_LEAVE, Order::RELAXED)
            {
                Ok(_) => break new,
                Err(now) => state = now,
            }
        };
        if new & WRITING != 0 {
            self.tell(1);
        }
        if (state ^ new) & HELD_UP != 0 && !mutant(flaw::HOLD_UP) {
            wake(&raw const self.state, EVERYBODY, CLASS);
        }
    }

    /// Ends a write.
    ///
    /// # Safety
    /// The caller writes.
    pub unsafe fn end_write(&self) {
        let primary = &raw const self.primary.0;
        let others_slept = self.primary.set(0);
        if !(PREFERS_WRITERS && self.hand_over()) {
            let mut state = self.state.load(Order::RELAXED);
            loop {
                let phase = if has_readers(state) { 0 } else { WRITING };
                let new = state & !(PRIMARY | WRITING) | phase;
                match self
                    .state
                    .compare_exchange(state, new, POSIX_RW_LEAVE, Order::RELAXED)
                {
                    Ok(_) => break,
                    Err(now) => state = now,
                }
            }
            if has_readers(state) {
                self.tell(0);
            }
        }
        if others_slept && !mutant(flaw::FORGET_WRITER) {
            wake(primary, 1, CLASS);
        }
    }

    /// Leaves the primary place to a waiting writer, if there is one.
    fn hand_over(&self) -> bool {
        let mut writers = self.writers.load(Order::RELAXED);
        while writers != 0 {
            match self.writers.compare_exchange(
                writers,
                writers | HANDED,
                POSIX_RW_HAND,
                Order::RELAXED,
            ) {
                Ok(_) => return true,
                Err(now) => writers = now,
            }
        }
        false
    }
}

// SAFETY: the methods with the same names, which share and exclude.
unsafe impl<const PREFERS_WRITERS: bool> RawShared for PosixRwLock<PREFERS_WRITERS> {
    type Context = ();

    const RECURSES: bool = !PREFERS_WRITERS;

    unsafe fn read(&self, (): &(), _recursion: Recursion) {
        self.read();
    }

    unsafe fn try_read(&self, (): &(), _recursion: Recursion) -> bool {
        self.try_read()
    }

    unsafe fn release_read(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.end_read() };
    }

    unsafe fn write(&self, (): &()) {
        self.write();
    }

    unsafe fn try_write(&self, (): &()) -> bool {
        self.try_write()
    }

    unsafe fn release_write(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.end_write() };
    }

    fn is_locked(&self) -> bool {
        let state = self.state.load(Order::RELAXED);
        has_readers(state) || state & PRIMARY != 0
    }

    fn is_write_locked(&self) -> bool {
        let held = WRITING | PRIMARY;
        self.state.load(Order::RELAXED) & held == held
    }
}
