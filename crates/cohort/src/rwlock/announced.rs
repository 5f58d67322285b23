//! Slots in which readers announce themselves, where a lock's writers are rare.
//!
//! Readers of a *biased* lock do not count themselves in its word, which all of them would write.
//! Each thread has a slot on cache lines of its own, and stores the lock's address there. The idea
//! is BRAVO's (Dice and Kogan 2019). Two things differ: a thread has one slot for all locks, and the
//! writer executes `membarrier`, so that the reader needs no fence.
//!
//! A reader stores the address as *provisional*, checks that the lock is still biased and has no
//! marks, and then confirms it. A writer marks the lock, executes the barrier, and waits until no
//! slot names the lock. If it misses a reader's store, that reader sees the mark and turns back.
//!
//! | field of a slot | meaning | written by |
//! |---|---|---|
//! | `lock` | the lock that the owner reads, and `PROVISIONAL`; 0: none | the owner |
//! | `taken` | the lock that another thread released for the owner; 0: none | such a thread; the owner |
//! | `asked` | the owner must look further when it leaves | a writer about to sleep; such a thread; the owner clears it |
//! | `owner` | the kernel's number of the owning thread | the thread that claims the slot |
//!
//! The owner's record holds the same address: a release reads it first. The last step of a release
//! on the lock is the slot's store, so the next holder may free the lock's memory. A sleeping writer
//! waits on `asked`, which is never freed.
//!
//! **One announcement a thread.** A thread that reads a second lock, or one lock twice, counts
//! itself there. It also counts itself without a slot: there are [`READER_SLOTS`]. An ended thread's
//! slot is claimed by a later thread.
//!
//! **A read lock released by another thread** than its owner, which POSIX leaves undefined and the C
//! library tolerates, is taken from any slot that names the lock. That slot's owner finds `taken`
//! when it leaves, and releases another hold instead: the totals agree.
//!
//! **In a forked child** announced readers stay, like counted ones, since a child cannot tell which
//! are its own. The head clears a provisional announcement of a thread that the child lacks.

use crate::door::{
    Advice, AtomicU32, AtomicUsize, Order, READER_SLOTS, Spinner, ThreadRecord, constructor,
    fence_everywhere_for_certain, fence_here, flaws, generation_so_far, is_gone, mutant, orders,
    process_wide, random, repeated, runs_out, sleep_within, thread, wake,
};
use cohort_raw::Patience;

orders! {
    /// A writer that sees an announcement sees who owns the slot.
    RWA_BEGIN = Release;
    /// What a reader read is read before the writer that finds its slot empty writes.
    RWA_LEFT = Release;
    /// The writer's side of `RWA_LEFT`.
    RWA_LOOK = Acquire;
    /// Both sides of the agreement, under a model checker.
    RWA_AGREE = SeqCst;
    /// What a thread read is read before its release for another thread.
    RWA_TAKE = Release;
    /// The owner's release instead comes after that.
    RWA_TAKEN = Acquire;
}

flaws! {
    UNFENCED = "rw-announced.unfenced";
    LOOK_AWAY = "rw-announced.look-away";
    UNCHECKED = "rw-announced.unchecked";
    FORGET_WRITER = "rw-announced.forget-writer";
    SLEEP_AT_ONCE = "rw-announced.sleep-at-once";
    KEEP_GHOSTS = "rw-announced.keep-ghosts";
    ANNOUNCE_TWICE = "rw-announced.announce-twice";
    TAKE_TWICE = "rw-announced.take-twice";
}

/// In a slot's `lock`: the owner has not checked the lock's word since. A lock's address is even.
const PROVISIONAL: usize = 1;

/// The one class of sleepers on a slot.
const WRITER: u32 = 1;

/// In a slot's `asked`: a writer sleeps, or another thread has released the owner's hold.
const ASKED: u32 = 1;
/// How many holds other threads have released, above that.
const TOOK: u32 = 2;

/// Claimed slots before a thread looks for an ended thread's.
const FEW: u32 = 64;

/// How many slots it looks at: enough where most owners have ended, cheap where none has.
const PROBES: u32 = 4;

/// How long a writer that must not block waits for readers: a few short sections.
const MOMENT_NANOSECONDS: u64 = 1_000;

/// One thread's announcement.
#[derive(Debug)]
#[repr(C, align(128))]
struct Slot {
    lock: AtomicUsize,
    taken: AtomicUsize,
    asked: AtomicU32,
    owner: AtomicU32,
}

impl Slot {
    constructor! {
        fn new() -> Self {
            Self {
                lock: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
                asked: AtomicU32::new(0),
                owner: AtomicU32::new(0),
            }
        }
    }

    /// Whether the owner reads that lock, or is about to.
    fn names(&self, lock: usize) -> bool {
        self.lock.load(RWA_LOOK) & !PROVISIONAL == lock
            && self.taken.load(RWA_LOOK) != lock
            && !mutant(flaw::LOOK_AWAY)
    }

    /// Empties the slot, the owner's; returns whether another thread had released the lock already.
    #[inline]
    fn leave(&self, lock: usize) -> bool {
        self.lock.store(0, RWA_LEFT);
        fence_here(RWA_AGREE);
        self.asked.load(Order::RELAXED) != 0 && self.answer(lock)
    }

    /// Wakes the writer that waits for the owner, if any; returns as [`leave`](Self::leave).
    #[cold]
    #[inline(never)]
    fn answer(&self, lock: usize) -> bool {
        if !mutant(flaw::FORGET_WRITER) {
            self.asked.swap(0, Order::RELAXED);
            wake(&raw const self.asked, i32::MAX as u32, WRITER);
        }
        self.is_returned(lock)
    }

    /// Whether another thread has released the owner's hold of that lock; true once for each.
    fn is_returned(&self, lock: usize) -> bool {
        self.taken.load(Order::RELAXED) == lock
            && self
                .taken
                .compare_exchange(lock, 0, RWA_TAKEN, Order::RELAXED)
                .is_ok()
    }

    /// Blocks until the slot does not name the lock; false after a timeout.
    fn outlast(&self, lock: usize, patience: &Patience) -> bool {
        // Writers of a biased lock are rare.
        let mut spinner = Spinner::keeping_turns();
        while self.names(lock) {
            if runs_out(patience) {
                return false;
            }
            if spinner.step() != Advice::Sleep || self.is_ghost(lock) {
                continue;
            }
            let asked = self.asked.fetch_or(ASKED, Order::RELAXED) | ASKED;
            if !mutant(flaw::SLEEP_AT_ONCE) {
                fence_everywhere_for_certain(RWA_AGREE);
            }
            if self.names(lock) {
                let _ = sleep_within(&self.asked, asked, WRITER, patience);
                spinner = Spinner::keeping_turns();
            }
        }
        true
    }

    /// Whether the slot named the lock for a thread that a fork left behind before it could check
    /// the lock; the slot is empty then.
    #[cold]
    fn is_ghost(&self, lock: usize) -> bool {
        self.lock.load(RWA_LOOK) == lock | PROVISIONAL
            && is_gone(self.owner.load(Order::RELAXED))
            && !mutant(flaw::KEEP_GHOSTS)
            && self
                .lock
                .compare_exchange(lock | PROVISIONAL, 0, Order::RELAXED, Order::RELAXED)
                .is_ok()
    }

    /// Makes the calling thread the owner, if the last owner has ended or stayed in the parent
    /// process, and holds nothing.
    fn inherit(&self, me: u32) -> bool {
        let owner = self.owner.load(Order::RELAXED);
        let lock = self.lock.load(Order::RELAXED);
        if lock != 0 && lock & PROVISIONAL == 0 || owner == 0 || !is_gone(owner) {
            return false;
        }
        let claimed = self
            .owner
            .compare_exchange(owner, me, Order::RELAXED, Order::RELAXED)
            .is_ok();
        if claimed {
            self.lock.store(0, Order::RELAXED);
            self.taken.store(0, Order::RELAXED);
        }
        claimed
    }

    /// Takes the owner's hold of that lock, for a release by another thread.
    fn take(&self, lock: usize) -> bool {
        if self.lock.load(Order::RELAXED) != lock
            || self
                .taken
                .compare_exchange(0, lock, RWA_TAKE, Order::RELAXED)
                .is_err()
        {
            return false;
        }
        self.asked.fetch_or(ASKED, Order::RELAXED);
        fence_everywhere_for_certain(RWA_AGREE);
        // An owner that left before it could see the mark has released its own hold only.
        let took = self.lock.load(Order::RELAXED) == lock
            || self
                .taken
                .compare_exchange(lock, 0, Order::RELAXED, Order::RELAXED)
                .is_err();
        if took {
            // A writer about to sleep finds another value.
            self.asked.fetch_add(TOOK, Order::RELAXED);
            wake(&raw const self.asked, i32::MAX as u32, WRITER);
        }
        took
    }
}

/// The slots of all threads.
#[derive(Debug)]
pub struct Announced {
    /// How many have ever had an owner: the first ones.
    claimed: AtomicU32,
    slots: [Slot; READER_SLOTS],
}

impl Announced {
    constructor! {
        /// No announcements.
        #[must_use]
        pub fn new() -> Self {
            Self {
                claimed: AtomicU32::new(0),
                slots: repeated!(Slot::new(), READER_SLOTS),
            }
        }
    }

    fn claimed(&self) -> &[Slot] {
        let claimed = self.claimed.load(Order::RELAXED) as usize;
        &self.slots[..claimed.min(READER_SLOTS)]
    }

    /// The calling thread's slot, if it is free; none if there is none for this thread.
    #[inline]
    fn free(&self, me: &ThreadRecord) -> Option<&Slot> {
        if me.announced.get() != 0 && !self.is_returned(me) {
            return None;
        }
        if me.slot_of.get() == generation_so_far() + 1 {
            self.slots.get(me.slot.get() as usize)
        } else {
            self.claim(me)
        }
    }

    /// Whether another thread has released what the calling thread announced.
    #[cold]
    #[inline(never)]
    fn is_returned(&self, me: &ThreadRecord) -> bool {
        let lock = me.announced.get();
        let own = self.slots.get(me.slot.get() as usize);
        let returned = own.is_some_and(|slot| {
            // A handler may have interrupted the announcement.
            let returned = lock & PROVISIONAL == 0 && slot.is_returned(lock);
            if returned {
                let _ = slot.leave(lock);
            }
            returned
        });
        if returned {
            me.announced.set(0);
        }
        returned || mutant(flaw::ANNOUNCE_TWICE)
    }

    /// A slot for the calling thread in this process.
    #[cold]
    #[inline(never)]
    fn claim(&self, me: &ThreadRecord) -> Option<&Slot> {
        // A thread that found none tries again after twice as many reads.
        let tries = me.slot_tries.get().wrapping_add(1);
        me.slot_tries.set(tries);
        if !tries.is_power_of_two() {
            return None;
        }
        me.settle();
        let index = self.own(me).or_else(|| self.new_slot(me))?;
        me.slot.set(index);
        me.slot_owner.set(me.id());
        me.slot_of.set(generation_so_far() + 1);
        me.slot_tries.set(0);
        self.slots.get(index as usize)
    }

    /// In a forked child, the slot that the thread had in the parent, unless it went to another.
    fn own(&self, me: &ThreadRecord) -> Option<u32> {
        let index = me.slot.get();
        let had = me.slot_of.get() != 0;
        let slot = self.slots.get(index as usize).filter(|_| had)?;
        slot.owner
            .compare_exchange(me.slot_owner.get(), me.id(), Order::RELAXED, Order::RELAXED)
            .ok()
            .map(|_| index)
    }

    fn new_slot(&self, me: &ThreadRecord) -> Option<u32> {
        let mut claimed = self.claimed.load(Order::RELAXED);
        if claimed >= FEW.min(READER_SLOTS as u32) {
            let start = random();
            for probe in 0..PROBES {
                let index =
                    (start.wrapping_mul(u64::from(2 * probe + 1)) % u64::from(claimed)) as u32;
                if self.slots[index as usize].inherit(me.id()) {
                    return Some(index);
                }
            }
        }
        while (claimed as usize) < READER_SLOTS {
            match self.claimed.compare_exchange(
                claimed,
                claimed + 1,
                Order::RELAXED,
                Order::RELAXED,
            ) {
                Ok(index) => {
                    self.slots[index as usize]
                        .owner
                        .store(me.id(), Order::RELAXED);
                    return Some(index);
                }
                Err(now) => claimed = now,
            }
        }
        None
    }
}

process_wide!(pub static ANNOUNCED: Announced = Announced::new);

/// The lock of that address: its readers' announcements.
#[derive(Clone, Copy, Debug)]
pub struct Readers(pub usize);

impl Readers {
    /// Announces the calling thread, if it has a free slot and the lock `is_open`, as looked up
    /// afterwards.
    #[inline]
    pub fn announce(self, is_open: impl FnOnce() -> bool) -> bool {
        let me = thread();
        let Some(slot) = ANNOUNCED.get().free(me) else {
            return false;
        };
        let Self(lock) = self;
        // First: a signal handler finds the slot in use.
        me.announced.set(lock | PROVISIONAL);
        slot.lock.store(lock | PROVISIONAL, RWA_BEGIN);
        if !mutant(flaw::UNFENCED) {
            fence_here(RWA_AGREE);
        }
        if is_open() || mutant(flaw::UNCHECKED) {
            slot.lock.store(lock, Order::RELAXED);
            me.announced.set(lock);
            return true;
        }
        let _ = slot.leave(lock);
        me.announced.set(0);
        false
    }

    /// Whether the calling thread has announced itself.
    #[inline(always)]
    pub fn is_announced(self) -> bool {
        thread().announced.get() == self.0
    }

    /// Ends the calling thread's announcement; false if another thread has released that hold
    /// already. The lock's memory may be in other use afterwards, if true.
    #[inline]
    pub fn leave(self) -> bool {
        let me = thread();
        me.announced.set(0);
        let own = ANNOUNCED.get().slots.get(me.slot.get() as usize);
        !own.is_some_and(|slot| slot.leave(self.0))
    }

    /// Ends some thread's announcement; false if there is none.
    #[cold]
    #[inline(never)]
    pub fn take(self) -> bool {
        let mut slots = ANNOUNCED.get().claimed().iter();
        slots.any(|slot| slot.take(self.0)) && !mutant(flaw::TAKE_TWICE)
    }

    /// Whether a thread was announced a moment ago.
    #[cold]
    #[inline(never)]
    pub fn are_present(self) -> bool {
        ANNOUNCED
            .get()
            .claimed()
            .iter()
            .any(|slot| slot.names(self.0))
    }

    /// Blocks until no thread is announced, for a caller that has marked the lock; false after a
    /// timeout. `begin` is called once all have left that the caller can see without a barrier.
    #[cold]
    #[inline(never)]
    pub fn outlast(self, patience: &Patience, begin: impl FnOnce()) -> bool {
        if !self.outlast_seen(patience) {
            return false;
        }
        begin();
        fence_everywhere_for_certain(RWA_AGREE);
        self.outlast_seen(patience)
    }

    /// [`outlast`](Self::outlast) for a caller that must not block.
    #[cold]
    #[inline(never)]
    pub fn outlast_short(self, begin: impl FnOnce()) -> bool {
        begin();
        fence_everywhere_for_certain(RWA_AGREE);
        let mut slots = ANNOUNCED.get().claimed().iter();
        slots.all(|slot| {
            !slot.names(self.0) || !Spinner::new().watch(MOMENT_NANOSECONDS, || slot.names(self.0))
        })
    }

    fn outlast_seen(self, patience: &Patience) -> bool {
        let mut slots = ANNOUNCED.get().claimed().iter();
        slots.all(|slot| slot.outlast(self.0, patience))
    }
}
