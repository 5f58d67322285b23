//! A readers–writer lock: readers share, writers exclude, every waiter acquires.

use super::guest::SharedGuest;
use super::{add_one, read, write};
use crate::locks::compose::Numa;
use crate::locks::door::{AtomicU32, Cell, Order, Spinner, Strength, counts_reads, thread};
use crate::locks::rwlock::{CohortRw, RawRwLock};
use crate::locks::{
    AbortableShared, Deadline, DetectsWaiters, Outcome, Patience, RawShared, RawTry, Recursion,
};
use crate::world::{soon, together};
use std::sync::Arc;

/// The lock and two counts that writers keep equal.
#[derive(Default)]
struct Shared<L> {
    lock: L,
    one: Cell<u64>,
    other: Cell<u64>,
}

impl<L: RawShared> Shared<L> {
    fn look(&self) {
        assert_eq!(
            read(&self.one),
            read(&self.other),
            "a reader saw half a write"
        );
    }

    fn change(&self) {
        self.look();
        add_one(&self.one);
        add_one(&self.other);
    }

    /// Checks that all writes are present and the lock is free.
    fn holds(&self, written: Option<Vec<u64>>) {
        if let Some(written) = written {
            assert_eq!(read(&self.one), written.iter().sum::<u64>());
            assert!(!self.lock.is_locked(), "the lock is left held");
        }
    }
}

impl Shared<RawRwLock> {
    fn end_read(&self) {
        // SAFETY: the caller holds it to read.
        unsafe { self.lock.release_read() };
    }

    fn end_write(&self) {
        // SAFETY: the caller holds it to write.
        unsafe { self.lock.release_write() };
    }
}

/// The first `writers` threads write `rounds` times, the others read; `enter` returns whether the
/// thread acquired, to write or to read.
fn takes_part<L: RawShared + 'static>(
    threads: usize,
    writers: usize,
    rounds: u64,
    enter: impl Fn(usize, bool, &SharedGuest<'_, L>) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new(Shared::<L>::default());
    let theirs = Arc::clone(&shared);
    let written = together(threads, move |thread| {
        let guest = SharedGuest::of(&theirs.lock);
        let writes = thread < writers;
        let mut written = 0;
        for _ in 0..rounds {
            if !enter(thread, writes, &guest) {
                continue;
            }
            if writes {
                theirs.change();
                written += 1;
            } else {
                theirs.look();
            }
            guest.release();
        }
        written
    });
    shared.holds(written);
}

/// The first `writers` threads write `rounds` times, the others read; the last `triers` threads
/// only try.
pub fn shares<L: RawShared + 'static>(threads: usize, writers: usize, rounds: u64, triers: usize) {
    shares_by::<L>(threads, writers, rounds, triers, Recursion::Allowed);
}

/// Like [`shares`], with threads that promise no recursive reads.
pub fn shares_without_recursion<L: RawShared + 'static>(
    threads: usize,
    writers: usize,
    rounds: u64,
) {
    shares_by::<L>(threads, writers, rounds, 0, Recursion::Excluded);
}

fn shares_by<L: RawShared + 'static>(
    threads: usize,
    writers: usize,
    rounds: u64,
    triers: usize,
    recursion: Recursion,
) {
    takes_part::<L>(
        threads,
        writers,
        rounds,
        move |thread, writes, guest| match (writes, thread + triers >= threads) {
            (true, true) => guest.try_write(),
            (false, true) => guest.try_read(recursion),
            (true, false) => {
                guest.write();
                true
            }
            (false, false) => {
                guest.read(recursion);
                true
            }
        },
    );
}

/// Like [`shares`], but the last `hurried` threads have a deadline.
pub fn lets_go<L: AbortableShared + 'static>(
    threads: usize,
    writers: usize,
    rounds: u64,
    hurried: usize,
) {
    takes_part::<L>(threads, writers, rounds, move |thread, writes, guest| {
        let hurried = thread + hurried >= threads;
        let patience = if hurried {
            Patience::until(soon())
        } else {
            Patience::ENDLESS
        };
        let outcome = if writes {
            guest.write_within(&patience)
        } else {
            guest.read_within(Recursion::Allowed, &patience)
        };
        assert!(
            hurried || outcome == Outcome::Acquired,
            "gave up without a deadline"
        );
        outcome == Outcome::Acquired
    });
}

/// The first thread writes, with a deadline; the others read and promise no recursive reads. A
/// writer's timeout must not leave readers waiting.
pub fn lets_writers_go<L: AbortableShared + 'static>(threads: usize, rounds: u64) {
    takes_part::<L>(threads, 1, rounds, |_, writes, guest| {
        if writes {
            return guest.write_within(&Patience::until(soon())) == Outcome::Acquired;
        }
        guest.read(Recursion::Excluded);
        true
    });
}

/// One thread writes, the others try to read and to write.
pub fn is_tried<L: RawShared + 'static>(threads: usize, rounds: u64) {
    let shared = Arc::new(Shared::<L>::default());
    let theirs = Arc::clone(&shared);
    let written = together(threads, move |thread| {
        let guest = SharedGuest::of(&theirs.lock);
        let mut written = 0;
        for round in 0..rounds {
            if thread == 0 {
                guest.write();
            } else if (thread as u64 + round) % 2 == 1 {
                if guest.try_read(Recursion::Allowed) {
                    theirs.look();
                    guest.release();
                }
                continue;
            } else if !guest.try_write() {
                continue;
            }
            theirs.change();
            written += 1;
            guest.release();
        }
        written
    });
    shared.holds(written);
}

/// A recursive read while a writer waits must not wait behind it.
pub fn is_read_again<L: RawShared + 'static>(rounds: u64) {
    reads_again::<L>(rounds, false);
}

/// Like [`is_read_again`], with one more read later; the place of the read count may have changed
/// in between.
pub fn is_read_on<L: RawShared + 'static>(rounds: u64) {
    reads_again::<L>(rounds, true);
}

fn reads_again<L: RawShared + 'static>(rounds: u64, once_more: bool) {
    assert!(L::RECURSES, "it does not promise to");
    let shared = Arc::new(Shared::<L>::default());
    together(2, move |thread| {
        let guest = SharedGuest::of(&shared.lock);
        let again = SharedGuest::of(&shared.lock);
        for _ in 0..rounds {
            if thread == 0 {
                guest.write();
                shared.change();
                guest.release();
                continue;
            }
            guest.read(Recursion::Allowed);
            again.read(Recursion::Allowed);
            shared.look();
            again.release();
            guest.release();
            if once_more {
                guest.read(Recursion::Allowed);
                shared.look();
                guest.release();
            }
        }
    });
}

/// A recursive read while a writer waits, by tries, or by waits with an expired deadline if
/// `hurried`: it succeeds after enough refusals. `between` passes that much time between two tries;
/// it is empty in a model where each look at the clock takes as long.
pub fn is_read_again_at_last<L: AbortableShared + 'static>(
    hurried: bool,
    between: impl Fn() + Send + Sync + 'static,
) {
    beside_a_writer::<L>(move |shared, again| {
        let tries = || tries(again, hurried);
        let tries_on = || {
            between();
            tries()
        };
        // The first try may meet a writer that checks for readers and does not wait yet.
        assert!(tries() || tries_on() || tries_on(), "tries for ever");
        shared.look();
        again.release();
    });
}

/// A thread reads, by tries or as in [`is_read_again_at_last`], while a writer waits for another
/// reader. After one blocking read, its next read succeeds at once.
pub fn is_read_for_another<L: AbortableShared + 'static>(hurried: bool) {
    beside_a_writer::<L>(move |shared, again| {
        let tries = || {
            let came = tries(again, hurried);
            if came {
                shared.look();
                again.release();
            }
            came
        };
        let tries_on = || {
            again.read(Recursion::Allowed);
            shared.look();
            again.release();
            tries()
        };
        // A thread that is preempted for longer than readers may follow has to try again.
        assert!(
            tries() || (0..20).any(|_| tries_on()),
            "each read waits for the writer"
        );
    });
}

/// Tries to read, or reads with an expired deadline.
fn tries<L: AbortableShared>(guest: &SharedGuest<'_, L>, hurried: bool) -> bool {
    let at_once = Patience::until(Deadline::monotonic(1));
    match hurried {
        true => guest.read_within(Recursion::Allowed, &at_once) == Outcome::Acquired,
        false => guest.try_read(Recursion::Allowed),
    }
}

/// Calls `reads` on a thread that the lock does not recognise as a reader, while another hold to
/// read is active and a writer arrives.
fn beside_a_writer<L: AbortableShared + 'static>(
    reads: impl Fn(&Shared<L>, &SharedGuest<'_, L>) + Send + Sync + 'static,
) {
    let shared = Arc::new(Shared::<L>::default());
    together(2, move |index| {
        let held = SharedGuest::of(&shared.lock);
        if index == 0 {
            held.write();
            shared.change();
            return held.release();
        }
        held.read(Recursion::Allowed);
        let counted = thread().reading.replace(0);
        reads(&shared, &SharedGuest::of(&shared.lock));
        thread().reading.set(counted);
        held.release();
    });
}

/// A recursive read, by each function that passes writers at once, never waits for a writer.
pub fn is_read_past_writers(rounds: u64) {
    let shared = Arc::new(Shared::<RawRwLock>::default());
    together(2, move |thread| {
        let lock = &shared.lock;
        for _ in 0..rounds {
            if thread == 0 {
                let _ = lock.write(&Patience::ENDLESS);
                shared.change();
                shared.end_write();
                continue;
            }
            let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS);
            let at_once = Patience::until(Deadline::monotonic(1));
            let named = lock.read_again(&at_once) == Outcome::Acquired;
            assert!(named && lock.try_read_again(), "waits, and says it reads");
            let counted = counts_reads();
            let counted_in = counted && lock.try_read(Recursion::Allowed);
            assert_eq!(counted_in, counted, "waits, and is counted");
            shared.look();
            for _ in 0..3 + u32::from(counted) {
                shared.end_read();
            }
        }
    });
}

/// Two threads write, and the first reads afterwards while the other may wait; then the lock's word
/// is back in its initial state.
pub fn comes_to_rest() {
    let shared = Arc::new(Shared::<RawRwLock>::default());
    let theirs = Arc::clone(&shared);
    let written = together(2, move |thread| {
        let _ = theirs.lock.write(&Patience::ENDLESS);
        theirs.change();
        theirs.end_write();
        if thread == 0 {
            let _ = theirs.lock.read(Recursion::Allowed, &Patience::ENDLESS);
            theirs.look();
            theirs.end_read();
        }
        1
    });
    let at_rest = written.is_none() || shared.lock.is_at_rest();
    shared.holds(written);
    assert!(at_rest, "a mark is left behind");
}

/// The hold of a thread in [`changes_its_hold`].
#[derive(Clone, Copy)]
pub enum Hold {
    /// Reads.
    Reads,
    /// Reads, and promises no recursive reads.
    ReadsOnce,
    /// Writes.
    Writes,
    /// Writes, and then reads what it has written.
    WritesThenReads,
    /// Reads upgradably, and then writes.
    ReadsThenWrites,
    /// Like [`ReadsThenWrites`](Self::ReadsThenWrites), but reads on after a deadline.
    ReadsThenMayWrite,
    /// Reads upgradably, writes, and reads upgradably again.
    WritesForAWhile,
    /// Reads upgradably, and then as any other.
    ReadsOn,
    /// Writes, reads upgradably what it has written, and writes again.
    WritesTwice,
    /// Writes, reads upgradably, and then does as [`WritesForAWhile`](Self::WritesForAWhile) and
    /// [`ReadsOn`](Self::ReadsOn).
    WritesAndReadsOn,
}

/// Implements the traits of rwlocks for a wrapper, by its lock and these of its releases.
macro_rules! shared_by {
    ($wrapper:ty: $release_read:ident, $release_write:ident) => {
        // SAFETY: that lock's, by these releases.
        unsafe impl RawShared for $wrapper {
            type Context = ();

            unsafe fn read(&self, (): &(), recursion: Recursion) {
                let _ = self.0.read(recursion, &Patience::ENDLESS);
            }

            unsafe fn try_read(&self, (): &(), recursion: Recursion) -> bool {
                self.0.try_read(recursion)
            }

            unsafe fn release_read(&self, (): &()) {
                // SAFETY: the caller's.
                unsafe { self.0.$release_read() };
            }

            unsafe fn write(&self, (): &()) {
                let _ = self.0.write(&Patience::ENDLESS);
            }

            unsafe fn try_write(&self, (): &()) -> bool {
                self.0.try_write()
            }

            unsafe fn release_write(&self, (): &()) {
                // SAFETY: the caller's.
                unsafe { self.0.$release_write() };
            }

            fn is_locked(&self) -> bool {
                self.0.is_locked()
            }

            fn is_write_locked(&self) -> bool {
                self.0.is_write_locked()
            }
        }

        // SAFETY: as above.
        unsafe impl AbortableShared for $wrapper {
            unsafe fn read_within(
                &self,
                (): &(),
                recursion: Recursion,
                patience: &Patience,
            ) -> Outcome {
                self.0.read(recursion, patience)
            }

            unsafe fn write_within(&self, (): &(), patience: &Patience) -> Outcome {
                self.0.write(patience)
            }
        }
    };
}

/// A lock with fair releases only.
#[derive(Default)]
pub struct Fairly(RawRwLock);

shared_by!(Fairly: release_read_fairly, release_write_fairly);

/// A lock that is biased towards readers at first, in a model where each reader biases.
pub struct Biased(RawRwLock);

impl Default for Biased {
    fn default() -> Self {
        let lock = RawRwLock::new();
        for _ in 0..2 {
            assert!(lock.arrive(Recursion::Allowed), "a free lock can be read");
        }
        for _ in 0..2 {
            // SAFETY: read twice above.
            unsafe { lock.release_read() };
        }
        assert!(!lock.is_locked(), "a reader is left behind");
        Self(lock)
    }
}

shared_by!(Biased: release_read, release_write);

/// A thread reads `reads` times, once more than it releases. Another thread releases that hold, and
/// the last one writes. Releases are fair or not.
pub fn is_released_by_another(reads: u32, are_fair: bool) {
    let shared = Arc::new((Shared::<Biased>::default(), AtomicU32::new(0)));
    together(3, move |thread| {
        let (shared, held) = &*shared;
        let lock = &shared.lock.0;
        let release = || {
            // SAFETY: held to read, by some thread.
            let was_held = unsafe {
                if are_fair {
                    lock.release_fairly()
                } else {
                    lock.release()
                }
            };
            assert!(was_held, "the hold is lost");
        };
        match thread {
            0 => {
                let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS);
                shared.look();
                held.store(1, HANDED);
                for _ in 1..reads {
                    let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS);
                    shared.look();
                    release();
                }
            }
            1 => {
                let mut spinner = Spinner::new();
                while held.load(TAKEN) == 0 {
                    spinner.turn();
                }
                shared.look();
                release();
            }
            _ => {
                let _ = lock.write(&Patience::ENDLESS);
                shared.change();
                // SAFETY: held to write.
                unsafe { lock.release_write() };
            }
        }
    });
}

/// A writer with a deadline ends the bias beside a reader that it waits for in vain. That one writes
/// later, and what readers in slots did is done then.
pub fn is_left_unbiased() {
    let shared = Arc::new(Shared::<Biased>::default());
    let read = |lock: &RawRwLock| {
        let outcome = lock.read(Recursion::Allowed, &Patience::ENDLESS);
        assert_eq!(outcome, Outcome::Acquired, "gave up without a deadline");
    };
    // The second hold is counted, and the first is released first.
    read(&shared.lock.0);
    read(&shared.lock.0);
    // SAFETY: read twice above.
    unsafe { shared.lock.0.release_read() };
    together(3, move |thread| {
        let lock = &shared.lock.0;
        let patience = match thread {
            0 => {
                // SAFETY: read before.
                unsafe { lock.release_read() };
                Patience::ENDLESS
            }
            1 => {
                read(lock);
                shared.look();
                // SAFETY: read above.
                return unsafe { lock.release_read() };
            }
            _ => Patience::until(soon()),
        };
        if lock.write(&patience) == Outcome::Acquired {
            shared.change();
            // SAFETY: held to write.
            unsafe { lock.release_write() };
        }
    });
}

/// A hold is handed over with what its thread did.
const HANDED: Order = Order {
    name: None,
    strength: Strength::Release,
};
const TAKEN: Order = Order {
    name: None,
    strength: Strength::Acquire,
};

/// Each thread holds the lock in its way; the data stays unchanged during a hold, except by the
/// holder.
pub fn changes_its_hold(threads: &'static [Hold]) {
    let shared = Arc::new(Shared::<RawRwLock>::default());
    let theirs = Arc::clone(&shared);
    let written = together(threads.len(), move |thread| {
        let lock = &theirs.lock;
        let hold = threads[thread];
        match hold {
            Hold::Reads | Hold::ReadsOnce => {
                let recursion = if matches!(hold, Hold::Reads) {
                    Recursion::Allowed
                } else {
                    Recursion::Excluded
                };
                let _ = lock.read(recursion, &Patience::ENDLESS);
                theirs.look();
                theirs.end_read();
                return 0;
            }
            Hold::Writes | Hold::WritesThenReads => {
                let _ = lock.write(&Patience::ENDLESS);
                theirs.change();
                if matches!(hold, Hold::Writes) {
                    theirs.end_write();
                    return 1;
                }
                let written = read(&theirs.one);
                // SAFETY: held to write.
                unsafe { lock.downgrade() };
                theirs.look();
                assert_eq!(read(&theirs.one), written, "another thread wrote meanwhile");
                theirs.end_read();
                return 1;
            }
            Hold::WritesTwice | Hold::WritesAndReadsOn => {
                let _ = lock.write(&Patience::ENDLESS);
                theirs.change();
                // SAFETY: held to write.
                unsafe { lock.downgrade_to_upgradable() };
            }
            Hold::ReadsThenWrites
            | Hold::ReadsThenMayWrite
            | Hold::WritesForAWhile
            | Hold::ReadsOn => {
                let outcome = lock.read_upgradably(&Patience::ENDLESS);
                assert_eq!(outcome, Outcome::Acquired, "gave up without a deadline");
            }
        }
        let wrote = u64::from(matches!(hold, Hold::WritesTwice | Hold::WritesAndReadsOn));
        theirs.look();
        let mut seen = read(&theirs.one);
        let for_a_while = matches!(hold, Hold::WritesForAWhile | Hold::WritesAndReadsOn);
        if for_a_while {
            // SAFETY: held to read upgradably.
            let outcome = unsafe { lock.upgrade_for_a_while(&Patience::ENDLESS) };
            assert_eq!(outcome, Outcome::Acquired, "gave up without a deadline");
            assert_eq!(read(&theirs.one), seen, "another thread wrote meanwhile");
            theirs.change();
            seen = read(&theirs.one);
            // SAFETY: held to write.
            unsafe { lock.downgrade() };
        }
        let patience = match hold {
            Hold::ReadsThenMayWrite => Patience::until(soon()),
            _ => Patience::ENDLESS,
        };
        // SAFETY: held to read upgradably.
        let writes = !for_a_while
            && !matches!(hold, Hold::ReadsOn)
            && unsafe { lock.upgrade(&patience) } == Outcome::Acquired;
        assert_eq!(read(&theirs.one), seen, "another thread wrote meanwhile");
        if writes {
            theirs.change();
            theirs.end_write();
            return wrote + 1;
        }
        // SAFETY: held to read upgradably.
        unsafe { lock.end_upgradable() };
        theirs.look();
        theirs.end_read();
        wrote + u64::from(for_a_while)
    });
    shared.holds(written);
}

/// A thread that holds one lock to read also reads another lock, where the other threads write.
pub fn is_read_beside_another<L: RawShared + 'static>(threads: usize, rounds: u64) {
    let shared = Arc::new((Shared::<L>::default(), L::default()));
    together(threads, move |thread| {
        let (shared, another) = &*shared;
        let (guest, beside) = (SharedGuest::of(&shared.lock), SharedGuest::of(another));
        for _ in 0..rounds {
            if thread > 0 {
                guest.write();
                shared.change();
                guest.release();
                continue;
            }
            beside.read(Recursion::Allowed);
            guest.read(Recursion::Allowed);
            shared.look();
            guest.release();
            beside.release();
        }
    });
}

/// One thread writes until a reader is owed entry. It and another writer then acquire `rounds`
/// times each; at most `TURNS` of these acquisitions precede the reader's.
pub fn lets_readers_in<W, const NEUTRAL: bool, const TURNS: u32, const COHORTS: usize>(rounds: u64)
where
    W: RawTry + DetectsWaiters + 'static,
{
    const HELD: u32 = 1;
    let lock = CohortRw::<W, NEUTRAL, Numa, TURNS, COHORTS>::default();
    let shared = Arc::new((lock, AtomicU32::new(0), Cell::new(false), Cell::new(0)));
    together(3, move |thread| {
        let (lock, stage, came, row) = &*shared;
        let guest = SharedGuest::of(lock);
        let until = |reached: &dyn Fn() -> bool| {
            let mut spinner = Spinner::new();
            while !reached() {
                spinner.turn();
            }
        };
        if thread > 0 {
            until(&|| stage.load(Order::RELAXED) == HELD);
        }
        if thread == 2 {
            guest.read(Recursion::Allowed);
            write(came, true);
            return guest.release();
        }
        for round in 0..rounds {
            guest.write();
            if thread == 0 && round == 0 {
                stage.store(HELD, Order::RELAXED);
                until(&|| lock.owes_entry());
            } else if !read(came) {
                add_one(row);
                let row = read(row);
                assert!(
                    row <= u64::from(TURNS),
                    "{row} writers came before a reader that was owed"
                );
            }
            guest.release();
        }
    });
}
