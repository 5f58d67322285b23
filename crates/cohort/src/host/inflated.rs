//! A lock too big for the object: one word at rest, a fat lock from a pool while
//! contended.
//!
//! | `word` | state |
//! |---|---|
//! | 0 | free |
//! | `THIN` | held, thin: nobody else is here |
//! | `FAT`, users u, number n | held, or just granted to one of the waiters; u threads hold or wait for fat lock n |
//! | and `HURRIED` | some of them may give up: that they wait does not say that they will hold it |
//!
//! The first thread that finds the object held inflates it: it takes a fat lock,
//! acquires it on the thin holder's behalf, and puts its number in the word.
//! A thread that wants to wait counts itself in that word first, so the fat lock cannot go
//! away underneath.  The holder counts itself out before it releases the fat lock; if
//! it was the last, counting out is what frees the object, and it returns the fat
//! lock.  So a quiet object owns nothing and can be freed or forgotten by any thread, and a
//! release touches the object no more once another thread may have it.
//!
//! Waiters with deadlines are counted too where the lock's can give up; one that does so counts
//! itself out, and may be the fat lock's last user.  Those of other locks are not: they have a
//! [`Claim`] beside the object, thin or fat, by which a holder may leave everything as it is to
//! one of them.
//!
//! The object's code is the same for all locks; what depends on the lock is its
//! [`FatPool`]'s.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | everybody, by compare-exchange | the table above |
//! | `holder` | the holder of the fat lock | its record's number; 0: the thin holder's, or nobody's, section |
//! | `generation` | the first user in each process | see [`Generation`] |

use super::{Claim, Gate, Generation, Holding, MadeInPlace, Pool, Try};
use crate::door::{AtomicU32, AtomicU64, Order, cpus, flaws, mutant, orders, runs_out};
use cohort_raw::{
    AcquireWithin, Hosted, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious,
};
use core::mem::offset_of;
use core::ops::Deref;

orders! {
    /// Sees what the last thin holder did.
    INFLATED_TAKE = Acquire;
    /// What this thin holder did is seen by the next.
    INFLATED_FREE = Release;
    /// Publishes the fat lock, held, with its number; nothing is read through
    /// this exchange that the fat lock's own acquire does not order.
    INFLATED_PUBLISH = Release;
    /// Sees the fat lock that the number names.
    INFLATED_ENTER = Acquire;
    /// What the holder did is seen by the thread that finds the object free; what
    /// others did to the fat lock is seen by the last one, which returns it.
    INFLATED_LEAVE = AcqRel;
    /// The thin holder finds the fat lock that was published meanwhile.
    INFLATED_FOUND = Acquire;
}

flaws! {
    TAKE_AS_LEFT = "inflated.take-as-left";
    BELIEVE_CLAIMS = "inflated.believe-claims";
    /// A waiter that may give up is taken for one that will hold the lock.
    BELIEVE_HURRIED = "inflated.believe-hurried";
}

/// A fat lock.
#[derive(Debug, Default)]
pub struct Fat<L: RawLock> {
    header: FatHeader,
    lock: L,
}

impl<L: Hosted<Context: 'static> + 'static> MadeInPlace for Fat<L> {
    const CACHE: usize = 3;

    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's; each field is written once.
        unsafe {
            (&raw mut (*place).header).write(FatHeader::default());
            L::make_at(&raw mut (*place).lock);
        }
    }
}

/// What stands before a fat lock, whichever it is.
#[derive(Debug, Default)]
pub struct FatHeader {
    /// Where the fat lock was last taken.
    generation: Generation,
    /// What waiters pass before they queue.
    gate: Gate,
    /// The record by which the thin holder's part is acquired, until that is released.  Not
    /// the fat lock's own: a thread that releases a composition is not done with its context
    /// when the next one holds the lock, which may be the last to use the fat lock.
    thin: AtomicU32,
}

/// The fat locks of one kind, by their numbers, and the records of those that hold them.
///
/// # Safety
/// A number that `draw` returned is nobody else's until it is put back; each fat lock
/// excludes every thread but its holder.
pub unsafe trait FatPool {
    /// A fat lock that is nobody's, as it was left.
    fn draw(&self) -> u32;

    /// What stands before it.
    ///
    /// # Safety
    /// The number came from [`draw`](Self::draw); so for all below.
    unsafe fn header(&self, fat: u32) -> &'static FatHeader;

    /// Blocks until it is held; the number of the record.  A thread that acquires it for an
    /// object of its own passes the gate.
    ///
    /// # Safety
    /// The caller is counted in at `object`, which has it; without an object it is the
    /// caller's.
    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>) -> u32;

    /// Whether its waiters can give up.
    fn gives_up(&self) -> bool;

    /// [`acquire`](Self::acquire), past the gate and no longer than `patience` lasts; none if
    /// that has run out.
    ///
    /// # Safety
    /// As there, and the waiters can give up.
    unsafe fn acquire_within(
        &self,
        fat: u32,
        object: &Inflated,
        patience: &Patience,
    ) -> Option<u32>;

    /// Releases it, and puts it back if that was its last user.
    ///
    /// # Safety
    /// The caller holds it, by the record of that number.
    unsafe fn release(&self, fat: u32, record: u32, last: bool);

    /// Forgets every thread that was at it.
    ///
    /// # Safety
    /// It is the caller's, and no thread of this process has ever used it.
    unsafe fn inherit(&self, fat: u32);

    /// Puts back what a parent process left.
    ///
    /// # Safety
    /// As above, and no object names it.
    unsafe fn give(&self, fat: u32);
}

impl dyn FatPool + '_ {
    /// A fat lock that is nobody's, acquired for a thin holder.  Blocks while the thread that
    /// used it last is on its way out.
    pub fn take(&self) -> u32 {
        let fat = self.draw();
        // SAFETY: drawn just now, so it is the caller's; in a process that has not settled it,
        // no thread has used it.
        unsafe {
            let header = self.header(fat);
            if !mutant(flaw::TAKE_AS_LEFT) {
                // The thread that leaves last puts the fat lock back, though others may still be
                // on their way out of it; those that a fork left behind never get there.
                header.generation.settle(|| {
                    header.gate.reset();
                    header.thin.store(NOBODY, Order::RELAXED);
                    self.inherit(fat);
                });
            }
            header.thin.store(self.acquire(fat, None), Order::RELAXED);
        }
        fat
    }

    /// Puts back what `take` returned and nobody has used.
    ///
    /// # Safety
    /// No object names it, or ever did since.
    pub unsafe fn put_back(&self, fat: u32) {
        // SAFETY: `take` acquired it by the record in the header, whose part ends here; without an
        // object nobody else can be counted in.
        unsafe {
            let thin = &self.header(fat).thin;
            let record = thin.load(Order::RELAXED);
            thin.store(NOBODY, Order::RELAXED);
            self.release(fat, record, true);
        }
    }
}

/// A fat_pool that takes its fat locks and its records from two pools, to which it points; of a
/// lock whose waiters can give up, or are taken for such as cannot: what only those need is
/// not compiled then.  A crowd is let past the gate of a lock that adapts, which would never hear of
/// it otherwise: sleepers outside are in no queue, and want no CPUs.
#[derive(Debug)]
pub struct Pooled<L: RawLock, R, F, const GIVE_UP: bool = false, const ADAPTS: bool = false> {
    records: R,
    fats: F,
    within: Option<AcquireWithin<L>>,
}

impl<L: RawLock, R, F> Pooled<L, R, F> {
    /// That fat_pool, of a lock whose waiters cannot give up, or are not to.
    pub const fn new(records: R, fats: F) -> Self {
        Self::giving_up(records, fats, None)
    }
}

impl<L: RawLock, R, F, const GIVE_UP: bool, const ADAPTS: bool> Pooled<L, R, F, GIVE_UP, ADAPTS> {
    /// The same, of one whose waiters [give up](cohort_raw::Able) in that way.
    pub const fn giving_up(records: R, fats: F, within: Option<AcquireWithin<L>>) -> Self {
        assert!(GIVE_UP == within.is_some());
        Self {
            records,
            fats,
            within,
        }
    }

    /// Where records and fat locks come from.
    pub const fn pools(&self) -> (&R, &F) {
        (&self.records, &self.fats)
    }

    /// A function of its own, which each lock has once.
    ///
    /// # Safety
    /// As [`RawLock::acquire`].
    #[inline(never)]
    unsafe fn acquire_by(fat: &Fat<L>, context: &L::Context) {
        // SAFETY: the caller's.
        unsafe { fat.lock.acquire(context) };
    }
}

// SAFETY: pools hand out a node once.
unsafe impl<L, R, F, const GIVE_UP: bool, const ADAPTS: bool> FatPool
    for Pooled<L, R, F, GIVE_UP, ADAPTS>
where
    L: RawTry<Context: 'static> + ThreadOblivious + Inherit + 'static,
    R: Deref<Target: Pool<Holding<L::Context>>>,
    F: Deref<Target: Pool<Fat<L>>>,
{
    fn draw(&self) -> u32 {
        self.fats.number(self.fats.take())
    }

    unsafe fn header(&self, fat: u32) -> &'static FatHeader {
        // SAFETY: the caller's.
        &unsafe { self.fats.at(fat) }.header
    }

    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>) -> u32 {
        // SAFETY: the caller's.
        let fat = unsafe { self.fats.at(fat) };
        let record = self.records.take();
        record.note(object);
        let stops = |object: &&Inflated| !ADAPTS || object.are_few();
        // SAFETY: the record goes back to its pool with the release; nodes of pools stay where they are.
        unsafe {
            if object.filter(stops).is_some() {
                let gate = &fat.header.gate;
                // A lock that adapts is to see the threads that wait for it.
                let tries = (!ADAPTS).then(|| Try::of(&fat.lock, &record.context));
                let passed = gate.enter(tries);
                if !passed.has_lock() {
                    Self::acquire_by(fat, &record.context);
                }
                gate.leave(passed);
            } else {
                Self::acquire_by(fat, &record.context);
            }
        }
        self.records.number(record)
    }

    fn gives_up(&self) -> bool {
        GIVE_UP
    }

    unsafe fn acquire_within(
        &self,
        fat: u32,
        object: &Inflated,
        patience: &Patience,
    ) -> Option<u32> {
        let within = self.within.filter(|_| GIVE_UP)?;
        // SAFETY: the caller's.
        let fat = unsafe { self.fats.at(fat) };
        let record = self.records.take();
        record.note(Some(object));
        // SAFETY: as in `acquire`.
        let outcome = unsafe { within(&fat.lock, &record.context, patience) };
        if outcome == Outcome::Acquired {
            return Some(self.records.number(record));
        }
        // SAFETY: a waiter that gives up holds nothing by its context.
        unsafe { self.records.give(record) };
        None
    }

    unsafe fn release(&self, fat: u32, record: u32, last: bool) {
        // SAFETY: the caller's: held by that record's context, which is nobody's
        // afterwards.  If nobody else was counted in, nobody else can find the fat lock any
        // more.
        unsafe {
            let (fat, record) = (self.fats.at(fat), self.records.at(record));
            fat.lock.release(&record.context);
            self.records.give(record);
            if last {
                self.fats.give(fat);
            }
        }
    }

    unsafe fn inherit(&self, fat: u32) {
        // SAFETY: the caller has it to itself, and nobody of this process is inside.
        unsafe { self.fats.at(fat).lock.inherit(None) };
    }

    unsafe fn give(&self, fat: u32) {
        // SAFETY: drawn from this pool by the parent, and named by no object of the child's.
        unsafe { self.fats.give(self.fats.at(fat)) };
    }
}

/// The object; all zero when new.  Every call is with the same fat_pool, and with the same
/// claim, which is this object's and nobody else's.
#[derive(Debug)]
#[repr(C)]
pub struct Inflated {
    word: AtomicU64,
    generation: Generation,
    holder: AtomicU32,
}

impl Default for Inflated {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(FREE),
            holder: AtomicU32::new(NOBODY),
            generation: Generation::default(),
        }
    }
}

const FREE: u64 = 0;
const THIN: u64 = 1;
const FAT: u64 = 2;
const HURRIED: u64 = 4;
const USER: u64 = 1 << 8;
const USERS: u64 = 0xff_ffff << 8;

/// No record.
const NOBODY: u32 = 0;

const fn fat(number: u32, users: u64) -> u64 {
    FAT | ((number as u64) << 32) | (users * USER)
}

const fn number(fat: u64) -> u32 {
    (fat >> 32) as u32
}

/// So many more than CPUs are no crowd yet (Antić et al. 2016, their release).
const NO_CROWD: u32 = 2;

impl Inflated {
    /// Where in the object its generation is.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// Blocks until the object is locked.
    #[inline]
    pub fn lock(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        self.settle(claim, fat_pool);
        if !self.take_thin() {
            self.lock_contended(fat_pool);
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self, fat_pool: &dyn FatPool) {
        if let Some(fat) = self.enter(fat_pool, 0) {
            // SAFETY: counted in, so the number stays the object's.
            let record = unsafe { fat_pool.acquire(fat, Some(self)) };
            self.holder.store(record, Order::RELAXED);
        }
    }

    /// Whether a thread waits that will hold the object; for its holder.
    pub fn has_waiters(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        let word = self.word.load(Order::RELAXED);
        let marks = FAT
            | if mutant(flaw::BELIEVE_HURRIED) {
                0
            } else {
                HURRIED
            };
        word & marks == FAT && word & USERS > USER
    }

    /// Locks the object if nobody has; never blocks.
    #[inline]
    pub fn try_lock(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        // A fat lock is held, or granted to somebody: there is nothing to try.
        self.take_thin()
    }

    /// Blocks until the object is locked or patience runs out; false then.
    pub fn lock_within(&self, claim: &Claim, fat_pool: &dyn FatPool, patience: &Patience) -> bool {
        self.settle(claim, fat_pool);
        if !fat_pool.gives_up() {
            return claim.wait(patience, &|| !self.is_locked() && self.take_thin());
        }
        if self.take_thin() {
            return true;
        }
        if runs_out(patience) {
            return false;
        }
        let Some(fat) = self.enter(fat_pool, HURRIED) else {
            return true;
        };
        // SAFETY: counted in, so the number stays the object's.
        match unsafe { fat_pool.acquire_within(fat, self, patience) } {
            Some(record) => {
                self.holder.store(record, Order::RELAXED);
                true
            }
            None => {
                // SAFETY: counted in, and at the fat lock no more.
                unsafe { self.give_up(fat_pool) };
                false
            }
        }
    }

    /// Counts a waiter out; the last one deflates, whose predecessor may still be releasing.
    ///
    /// # Safety
    /// The caller is counted in, and waits no more.
    #[cold]
    unsafe fn give_up(&self, fat_pool: &dyn FatPool) {
        let mut word = self.word.load(Order::RELAXED);
        loop {
            let last = word & USERS == USER;
            let new = if last { FREE } else { word - USER };
            match self
                .word
                .compare_exchange(word, new, INFLATED_LEAVE, Order::RELAXED)
            {
                Ok(_) if last => {
                    // SAFETY: nobody else is counted in; the thread that takes it next waits for
                    // it.
                    return unsafe { fat_pool.give(number(word)) };
                }
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Whether those that hold it or wait are no crowd.
    fn are_few(&self) -> bool {
        self.word.load(Order::RELAXED) & USERS <= u64::from(cpus() + NO_CROWD) * USER
    }

    #[inline(always)]
    fn take_thin(&self) -> bool {
        self.word
            .compare_exchange(FREE, THIN, INFLATED_TAKE, Order::RELAXED)
            .is_ok()
    }

    /// Unlocks the object; false if nobody had locked it.
    ///
    /// # Safety
    /// The caller is entitled to unlock it, if it is locked.
    #[inline]
    pub unsafe fn unlock(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        let holder = self.holder.load(Order::RELAXED);
        if holder != NOBODY {
            if claim.hand_over(|| true) {
                return true;
            }
            self.holder.store(NOBODY, Order::RELAXED);
            // SAFETY: the number stood here since the acquisition that holds the fat
            // lock by this record.
            unsafe { self.leave(fat_pool, holder) };
            return true;
        }
        if claim.hand_over(|| self.word.load(Order::RELAXED) == THIN) {
            return true;
        }
        match self
            .word
            .compare_exchange(THIN, FREE, INFLATED_FREE, INFLATED_FOUND)
        {
            Ok(_) => true,
            // SAFETY: passed on.
            Err(word) if word & FAT != 0 => unsafe { self.unlock_published(word, claim, fat_pool) },
            Err(_) => false,
        }
    }

    /// Unlocks for the thin holder, whose part somebody acquired meanwhile.
    ///
    /// # Safety
    /// As [`unlock`](Self::unlock).
    #[cold]
    #[inline(never)]
    unsafe fn unlock_published(&self, word: u64, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: the thin holder is counted in until it leaves below.
        let header = unsafe { fat_pool.header(number(word)) };
        let record = header.thin.load(Order::RELAXED);
        if record == NOBODY {
            return false;
        }
        if claim.hand_over(|| true) {
            return true;
        }
        header.thin.store(NOBODY, Order::RELAXED);
        // SAFETY: acquired by that record on the thin holder's behalf.
        unsafe { self.leave(fat_pool, record) };
        true
    }

    /// Whether the object was locked a moment ago.
    pub fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Counts this thread in, with that mark, and returns the fat lock's number; or, if the object
    /// turns out free, locks it thin and returns nothing.
    fn enter(&self, fat_pool: &dyn FatPool, mark: u64) -> Option<u32> {
        loop {
            let word = self.word.load(Order::RELAXED);
            if word == FREE {
                if self.take_thin() {
                    return None;
                }
            } else if word & FAT == 0 {
                if let Some(fat) = self.inflate(fat_pool, mark) {
                    return Some(fat);
                }
            } else if self
                .word
                .compare_exchange(word, (word + USER) | mark, INFLATED_ENTER, Order::RELAXED)
                .is_ok()
            {
                return Some(number(word));
            }
        }
    }

    /// Publishes a fat lock, held for the thin holder, with that holder and this
    /// thread counted in; nothing if the thin holder was gone.
    fn inflate(&self, fat_pool: &dyn FatPool, mark: u64) -> Option<u32> {
        let new = fat_pool.take();
        if self
            .word
            .compare_exchange(THIN, fat(new, 2) | mark, INFLATED_PUBLISH, Order::RELAXED)
            .is_ok()
        {
            return Some(new);
        }
        // SAFETY: never published.
        unsafe { fat_pool.put_back(new) };
        None
    }

    /// Counts the holder out and releases; the last one deflates.
    ///
    /// # Safety
    /// The caller holds the fat lock by the record of that number.
    #[inline(never)]
    unsafe fn leave(&self, fat_pool: &dyn FatPool, record: u32) {
        let mut word = self.word.load(Order::RELAXED);
        let fat = number(word);
        // SAFETY: the caller is counted in.
        unsafe { fat_pool.header(fat) }.gate.pass_on();
        loop {
            let last = word & USERS == USER;
            let new = if last { FREE } else { word - USER };
            match self
                .word
                .compare_exchange(word, new, INFLATED_LEAVE, Order::RELAXED)
            {
                // The object may be gone: only the fat lock is touched from here.
                // SAFETY: the caller's.
                Ok(_) => return unsafe { fat_pool.release(fat, record, last) },
                Err(now) => word = now,
            }
        }
    }

    #[inline(always)]
    fn settle(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        self.generation.settle(|| self.inherit(claim, fat_pool));
    }

    /// In a forked child: a thread with a critical section that had begun keeps the object,
    /// thin, unless it had handed it over; the fat lock and the threads that were in it are
    /// forgotten.
    #[cold]
    #[inline(never)]
    fn inherit(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        let word = self.word.load(Order::RELAXED);
        let handed_over = claim.forget() && !mutant(flaw::BELIEVE_CLAIMS);
        if word & FAT == 0 {
            if handed_over {
                self.word.store(FREE, Order::RELAXED);
            }
            return;
        }
        // SAFETY: the number stood in the word, and the caller is alone.
        let header = unsafe { fat_pool.header(number(word)) };
        let began = self.holder.load(Order::RELAXED) != NOBODY
            || header.thin.load(Order::RELAXED) != NOBODY;
        let held = began && !handed_over;
        self.holder.store(NOBODY, Order::RELAXED);
        self.word
            .store(if held { THIN } else { FREE }, Order::RELAXED);
        // SAFETY: the word names it no more, and no thread of this process has
        // ever used it; the one that takes it next forgets the threads that were there.
        unsafe { fat_pool.give(number(word)) };
    }
}
