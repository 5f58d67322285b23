//! A lock too large for the object: one word at rest, a fat lock from a pool under contention.
//!
//! | `word` | state |
//! |---|---|
//! | 0 | free |
//! | `THIN` | held, thin: uncontended |
//! | `FAT`, `GROUPED`, number n, groups | held or granted; waiters of those cache groups are at fat lock n |
//! | and `BARRED` | the holder looks for waiters |
//! | `FAT`, users u, number n | held or granted; u threads hold or wait for fat lock n |
//! | and `HURRIED` | some waiters may give up; users are no proof of a committed waiter |
//!
//! The word counts users if waiters can give up, and on few CPUs; otherwise it has `GROUPED`.
//!
//! | change | by | keeps |
//! |---|---|---|
//! | `THIN` to `FAT` and number, or to 0 | an exchange of exactly `THIN` | there is nothing else |
//! | one more user, `HURRIED`, a group's bit | an exchange of the read, unbarred word | all |
//! | one user fewer | an exchange | all; the last user leaves 0 |
//! | `BARRED` set, cleared | bit operations of the holder | all |
//! | barred to 0 | a store of the holder: no thread changes a barred word | nothing |
//!
//! The first thread that finds the object held inflates it. It takes a fat lock, acquires it on the
//! thin holder's behalf, and puts its number in the word.
//!
//! A waiter first registers among the [`Arrivals`] of its cache group, so the fat lock stays the
//! object's. Under contention no thread writes the word, and all read cached copies. A holder that
//! grants the fat lock to a committed waiter does not access the object again. A holder without
//! waiters bars the word, which stops arrivals, and looks again. It then opens the word, or frees
//! the object and returns the fat lock. So an uncontended object owns nothing: any thread can free
//! or forget it. A release does not access the object once another thread may have it.
//!
//! A lock that [adapts](cohort_raw::Adapts) may be in a mode that permits barging. Threads then
//! take its fat lock *past* its waiters, uncounted. The last counted holder granted the object to
//! one of these waiters, which still waits. So the counts stay valid during and after a barging
//! acquisition.
//!
//! If waiters can give up, the last user may be a waiter that does. So the word counts all users: a
//! holder counts itself out before it releases the fat lock, and the last user returns it. The same
//! holds on two CPUs of one cache group: their threads write lines of the object anyway. If waiters
//! cannot give up, waiters with deadlines are uncounted: they use a [`Claim`] beside the object. By
//! it, a holder may hand over the object, thin or fat, unchanged.
//!
//! The object's code is shared by all locks; their differences are in the [`FatPool`].
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | arrivals and holders, as above | the table above |
//! | `holder` | the holder, if the word counts users and one gate suffices | its record; 0: see [`Arrivals`] |
//! | `generation` | the first user in each process | see [`Generation`] |

use super::comers::{Admission, Arrivals, Holder};
use super::gate::are_cpus_scarce;
use super::{Claim, Gate, Generation, Holding, MadeInPlace, Pool, Try};
use crate::door::{
    AtomicU32, AtomicU64, Order, Spinner, cpus, flaws, keep_cpu, mutant, now, orders, runs_out,
    tries_anything,
};
use cohort_raw::{
    AcquireWithin, Adapting, Hosted, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious,
};
use core::mem::offset_of;
use core::ops::Deref;

orders! {
    /// Sees the writes of the last thin holder.
    INFLATED_TAKE = Acquire;
    /// The next holder sees the writes of this one, thin or the last at the fat lock.
    INFLATED_FREE = Release;
    /// Publishes the number of the fat lock, which is held. Reads through this exchange are ordered
    /// by the fat lock's own acquire.
    INFLATED_PUBLISH = Release;
    /// Sees the fat lock behind the number.
    INFLATED_ENTER = Acquire;
    /// Used if the word counts users. The next thin holder sees the writes of the last holder. The
    /// last user sees all others' changes to the fat lock before it returns it.
    INFLATED_LEAVE = AcqRel;
    /// The thin holder finds a fat lock published meanwhile.
    INFLATED_FOUND = Acquire;
}

flaws! {
    TAKE_AS_LEFT = "inflated.take-as-left";
    BELIEVE_CLAIMS = "inflated.believe-claims";
    /// A waiter that may give up counts as a committed one.
    BELIEVE_HURRIED = "inflated.believe-hurried";
    /// A thread commits to a fat lock that is about to be returned, or has been.
    STAY = "inflated.stay";
    /// A thread barges at a fat lock that has left the object.
    TAKE_ANOTHERS = "inflated.take-anothers";
    /// A thread that barged counts itself out.
    COUNT_PAST = "inflated.count-past";
    /// The object is left despite a pending waiter.
    LEAVE_WAITERS = "inflated.leave-waiters";
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
            FatHeader::make_at(&raw mut (*place).header);
            L::make_at(&raw mut (*place).lock);
        }
    }
}

/// The part of a fat lock that is independent of the lock's type.
#[derive(Debug, Default)]
pub struct FatHeader {
    /// The process that last took the fat lock.
    generation: Generation,
    /// The holder, and the arrivals. The record that acquires for a thin holder is not part of the
    /// fat lock. A composition's release still uses its context when the next thread holds the
    /// lock, and that thread may be the last user of the fat lock.
    arrivals: Arrivals,
}

impl FatHeader {
    /// Makes a header; compiled once for all fat locks.
    ///
    /// # Safety
    /// The place is valid for writes, and exclusive to the caller.
    #[inline(never)]
    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's.
        unsafe { place.write(Self::default()) };
    }
}

/// The numbered fat locks of one type, and the records of their holders.
///
/// # Safety
/// A number that `draw` returned is exclusive until it is put back; each fat lock excludes every
/// thread but its holder.
pub unsafe trait FatPool {
    /// An unused fat lock, in the state of its last use.
    fn draw(&self) -> u32;

    /// The header of that fat lock.
    ///
    /// # Safety
    /// The number is from [`draw`](Self::draw); so for all below.
    unsafe fn header(&self, fat: u32) -> &'static FatHeader;

    /// Blocks until the fat lock is held, through the gate if one is given. Returns the record's
    /// number.
    ///
    /// # Safety
    /// The caller is counted in at `object`, which has this fat lock; without an object, the fat
    /// lock is exclusive to the caller.
    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>, gate: Option<&Gate>) -> u32;

    /// Whether its waiters can give up.
    fn gives_up(&self) -> bool;

    /// The adaptive operations, if the lock adapts to its number of waiters. Many waiters bypass
    /// the gates of such a lock. Threads parked outside are in no queue and use no CPU, so the lock
    /// could not count them.
    fn adapting(&self) -> Option<&dyn AdaptingPool>;

    /// [`acquire`](Self::acquire), until `patience` ends; then none.
    ///
    /// # Safety
    /// As for `acquire`, and the waiters can give up.
    unsafe fn acquire_within(
        &self,
        fat: u32,
        object: &Inflated,
        patience: &Patience,
    ) -> Option<u32>;

    /// Releases the fat lock, and puts it back after its last user.
    ///
    /// # Safety
    /// The caller holds it, by the record of that number.
    unsafe fn release(&self, fat: u32, record: u32, last: bool);

    /// Forgets all threads at the fat lock, in a forked child.
    ///
    /// # Safety
    /// The fat lock is exclusive to the caller, and unused by threads of this process.
    unsafe fn inherit(&self, fat: u32);

    /// Puts back a drawn fat lock, or a parent process's.
    ///
    /// # Safety
    /// The fat lock is exclusive to the caller, and no object names it.
    unsafe fn give(&self, fat: u32);
}

/// Operations of a [`FatPool`] of locks that [adapt](cohort_raw::Adapts).
pub trait AdaptingPool {
    /// Whether a fat lock is strict at first.
    fn begins_strict(&self) -> bool;

    /// Whether that fat lock is strict at present.
    ///
    /// # Safety
    /// The number stood in an object's word.
    unsafe fn is_strict(&self, fat: u32) -> bool;

    /// Restarts the fat lock, which the caller holds by that record, as the lock of `object`.
    ///
    /// # Safety
    /// As [`release`](FatPool::release).
    unsafe fn begin_anew(&self, fat: u32, record: u32, object: &Inflated);

    /// Barges at the fat lock, if it is not strict and is free. Returns the record's number.
    ///
    /// # Safety
    /// The number stood in the word of `object`.
    unsafe fn take_past(&self, fat: u32, object: &Inflated) -> Option<u32>;
}

impl dyn FatPool + '_ {
    /// A fat lock for that object, acquired for its thin holder. Blocks while the last user is
    /// still leaving it.
    pub fn take(&self, object: &Inflated) -> u32 {
        let fat = self.draw_open();
        // SAFETY: drawn just now, so it is the caller's.
        unsafe {
            let record = self.acquire(fat, None, None);
            if let Some(adapting) = self.adapting() {
                adapting.begin_anew(fat, record, object);
            }
            self.header(fat).arrivals.hold(record, Admission::default());
        }
        fat
    }

    /// An unused fat lock with all groups open.
    fn draw_open(&self) -> u32 {
        let fat = self.draw();
        // SAFETY: drawn just now, so it is the caller's; in a process that has not settled it,
        // no thread has used it.
        unsafe {
            let header = self.header(fat);
            if !mutant(flaw::TAKE_AS_LEFT) {
                // The last user puts the fat lock back, though others may still be leaving it;
                // threads of the parent never finish leaving.
                header.generation.settle(|| {
                    header.arrivals.forget();
                    self.inherit(fat);
                });
            }
            if header.arrivals.opens() {
                return fat;
            }
        }
        // A thread was preempted while arriving there, or this is a signal handler that interrupted
        // one.
        let other = self.draw_open();
        // SAFETY: drawn above, and no object names it.
        unsafe { self.give(fat) };
        other
    }

    /// Puts back a fat lock from `take` that was not used.
    ///
    /// # Safety
    /// No object names it, or has since `take`.
    pub unsafe fn put_back(&self, fat: u32) {
        // SAFETY: `take` acquired it by the record in the header, which is released here; without
        // an object no other thread can be counted in.
        unsafe {
            let arrivals = &self.header(fat).arrivals;
            if let Some(holder) = arrivals.holder() {
                arrivals.let_go();
                self.release(fat, holder.record, true);
            }
        }
    }
}

/// A fat pool over two other pools, for fat locks and records. Without `GIVE_UP`, the code for
/// waiters with deadlines is not compiled; without `ADAPTS`, the code for adaptive locks is not.
#[derive(Debug)]
pub struct Pooled<L: RawLock, R, F, const GIVE_UP: bool = false, const ADAPTS: bool = false> {
    records: R,
    fats: F,
    within: Option<AcquireWithin<L>>,
    adapting: Option<Adapting<L>>,
}

impl<L: RawLock, R, F> Pooled<L, R, F> {
    /// A fat pool of a lock without deadlines and adaptation, or with both off.
    pub const fn new(records: R, fats: F) -> Self {
        Self::giving_up(records, fats, None)
    }
}

impl<L: RawLock, R, F, const GIVE_UP: bool> Pooled<L, R, F, GIVE_UP> {
    /// The same for a lock with [timed waiters](cohort_raw::Able), by `within`.
    pub const fn giving_up(records: R, fats: F, within: Option<AcquireWithin<L>>) -> Self {
        Self::able(records, fats, within, None)
    }
}

impl<L: RawLock, R, F, const GIVE_UP: bool, const ADAPTS: bool> Pooled<L, R, F, GIVE_UP, ADAPTS> {
    /// The same for a lock with either [ability](cohort_raw::Able). A lock with timed waiters
    /// does not adapt: all of them may leave while a thread that barged holds it.
    pub const fn able(
        records: R,
        fats: F,
        within: Option<AcquireWithin<L>>,
        adapting: Option<Adapting<L>>,
    ) -> Self {
        assert!(GIVE_UP == within.is_some() && ADAPTS == adapting.is_some());
        assert!(!GIVE_UP || !ADAPTS);
        Self {
            records,
            fats,
            within,
            adapting,
        }
    }

    /// The pools of records and fat locks.
    pub const fn pools(&self) -> (&R, &F) {
        (&self.records, &self.fats)
    }

    /// Acquires out of line, once per lock type.
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

    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>, gate: Option<&Gate>) -> u32 {
        // SAFETY: the caller's.
        let fat = unsafe { self.fats.at(fat) };
        let record = self.records.take();
        record.note(object);
        // SAFETY: the record goes back to its pool with the release; nodes of pools stay where they are.
        unsafe {
            if let Some(gate) = gate {
                // An adaptive lock has to count its waiters, so they do not try it at the gate.
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

    fn adapting(&self) -> Option<&dyn AdaptingPool> {
        if ADAPTS { Some(self) } else { None }
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
        // SAFETY: the caller holds the lock by that record's context, which is unused afterwards.
        // If no other thread is counted in, no thread can find the fat lock.
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
        // SAFETY: the caller has exclusive access, and no thread of this process is inside.
        unsafe { self.fats.at(fat).lock.inherit(None) };
    }

    unsafe fn give(&self, fat: u32) {
        // SAFETY: drawn from this pool by the parent, and named by no object of the child.
        unsafe { self.fats.give(self.fats.at(fat)) };
    }
}

impl<L, R, F, const GIVE_UP: bool, const ADAPTS: bool> AdaptingPool
    for Pooled<L, R, F, GIVE_UP, ADAPTS>
where
    L: RawTry<Context: 'static> + ThreadOblivious + Inherit + 'static,
    R: Deref<Target: Pool<Holding<L::Context>>>,
    F: Deref<Target: Pool<Fat<L>>>,
{
    fn begins_strict(&self) -> bool {
        (self.adapting.as_ref()).is_none_or(|adapting| (adapting.begins_strict)())
    }

    unsafe fn is_strict(&self, fat: u32) -> bool {
        // SAFETY: the caller's.
        let lock = unsafe { &self.fats.at(fat).lock };
        (self.adapting.as_ref()).is_none_or(|adapting| (adapting.is_strict)(lock))
    }

    unsafe fn begin_anew(&self, fat: u32, record: u32, object: &Inflated) {
        if let Some(adapting) = &self.adapting {
            // SAFETY: the caller's.
            unsafe {
                let (fat, record) = (self.fats.at(fat), self.records.at(record));
                (adapting.begin_anew)(
                    &fat.lock,
                    &record.context,
                    core::ptr::from_ref(object).addr(),
                );
            }
        }
    }

    unsafe fn take_past(&self, fat: u32, object: &Inflated) -> Option<u32> {
        // SAFETY: the caller's.
        let lock = unsafe {
            if self.is_strict(fat) {
                return None;
            }
            &self.fats.at(fat).lock
        };
        if lock.is_locked() {
            return None;
        }
        let record = self.records.take();
        record.note(Some(object));
        // SAFETY: as an acquisition; a try that fails holds nothing by its context.
        unsafe {
            if lock.try_acquire(&record.context) {
                return Some(self.records.number(record));
            }
            self.records.give(record);
        }
        None
    }
}

/// The word, generation and holder of an object; all zero when new. All calls on an object pass the
/// same fat pool and the same claim, which belongs to this object only.
#[derive(Debug)]
#[repr(C)]
pub struct Inflated {
    word: AtomicU64,
    generation: Generation,
    holder: AtomicU32,
}

impl Default for Inflated {
    fn default() -> Self {
        Gate::make_ready();
        Self {
            word: AtomicU64::new(FREE),
            generation: Generation::default(),
            holder: AtomicU32::new(NOBODY),
        }
    }
}

/// How long waiters compete for a thin object before one inflates it. A few waiters all acquire
/// within this time, and avoid the cost of taking and returning a fat lock: its cache lines are
/// remote.
const AMONG_FEW_NANOSECONDS: u64 = 1_000;

/// The number of no record.
const NOBODY: u32 = 0;

const FREE: u64 = 0;
const THIN: u64 = 1;
const FAT: u64 = 2;
const HURRIED: u64 = 4;
const BARRED: u64 = 8;
const GROUPED: u64 = 16;

/// The users, if the word counts them.
const USER: u64 = 1 << 8;
const USERS: u64 = 0xff_ffff << 8;

/// The cache groups with arrivals, if the word does not count users.
const GROUP: u64 = 1 << 8;
const GROUPS: u64 = 0xffff << 8;

const _: () = assert!(crate::door::FAT_GROUPS as u32 <= (GROUPS / GROUP).count_ones());

/// The word of an object with that fat lock.
const fn fat(number: u32) -> u64 {
    FAT | ((number as u64) << 32)
}

const fn number(fat: u64) -> u32 {
    (fat >> 32) as u32
}

/// Up to this number of CPUs in one cache group, the word counts users. Threads write the object's
/// lines anyway, and another line would also have to move.
const FEW_CPUS: u32 = 2;

/// Whether the word counts users, since CPUs are few.
#[inline(always)]
fn counts_in_word() -> bool {
    cpus() <= FEW_CPUS && Gate::is_one()
}

/// How many more threads than CPUs are no crowd yet (Antić et al. 2016, their release).
const NO_CROWD: u32 = 2;

/// The result of counting a thread in at a fat lock.
struct Entered {
    fat: u32,
    way: Admission,
    /// A lower bound on the other threads at the lock.
    others: u32,
}

impl Entered {
    /// Counted in the object's word; then only the gate knows the number of waiters.
    fn in_word(fat: u32) -> Self {
        Self {
            fat,
            way: Admission::default(),
            others: u32::MAX,
        }
    }
}

/// The cache groups with arrivals, a bit each.
const fn groups(fat: u64) -> u64 {
    (fat & GROUPS) / GROUP
}

impl Inflated {
    /// The offset of the generation in the object.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// Blocks until the object is locked.
    #[inline]
    pub fn lock(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        self.settle(claim, fat_pool);
        if !self.take_thin() {
            self.lock_contended(fat_pool);
        }
    }

    /// The same for an adaptive lock: a thread that may barge does so before it accesses the
    /// object's line.
    #[inline]
    pub fn lock_adapting(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        self.settle(claim, fat_pool);
        if !self.take_past(fat_pool) && !self.take_thin() {
            self.lock_contended(fat_pool);
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self, fat_pool: &dyn FatPool) {
        // An adaptive lock has to count its waiters, unless they are known to be many.
        let adapting = fat_pool.adapting();
        let may_compete = adapting.is_none_or(|pool| !pool.begins_strict());
        if tries_anything() && may_compete && self.take_among_few() {
            return;
        }
        let group = Arrivals::of_thread();
        let Some(entered) = self.enter(fat_pool, 0, group) else {
            return;
        };
        let Entered {
            fat,
            mut way,
            others,
        } = entered;
        // SAFETY: counted in, so the number stays the object's.
        unsafe {
            let arrivals = &fat_pool.header(fat).arrivals;
            let stops = adapting.is_none_or(|pool| pool.is_strict(fat) && self.are_few(arrivals));
            if stops && way.group().is_none() && Gate::is_one() {
                let record = fat_pool.acquire(fat, Some(self), Some(arrivals.gate(0)));
                self.holder.store(record, Order::RELAXED);
                return;
            }
            let places = if stops { Gate::places_of_group() } else { None };
            if let Some((places, spins)) = places {
                if others >= places {
                    arrivals.gate(group).admit(places, spins, None);
                    way = way.by_gate(group);
                }
                keep_cpu(true);
            }
            let record = fat_pool.acquire(fat, Some(self), None);
            arrivals.hold(record, way);
            if places.is_some() {
                Gate::have_waited();
            }
        }
    }

    /// Whether a committed waiter exists; for the holder.
    pub fn has_waiters(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        let word = self.word.load(INFLATED_FOUND);
        if word & FAT != 0 {
            // SAFETY: the caller holds the object, so the number stays.
            let arrivals = unsafe { &fat_pool.header(number(word)).arrivals };
            if arrivals.holder().is_some_and(|holder| holder.way.is_past()) {
                return true;
            }
            if word & GROUPED != 0 {
                return arrivals.is_awaited(groups(word), 0);
            }
        }
        let marks = FAT
            | if mutant(flaw::BELIEVE_HURRIED) {
                0
            } else {
                HURRIED
            };
        word & marks == FAT && word & USERS > USER
    }

    /// Locks the object if it is free; never blocks.
    #[inline]
    pub fn try_lock(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        // A fat lock is held or granted, so a try would fail.
        self.take_thin()
    }

    /// Blocks until the object is locked, or until patience runs out: then false.
    pub fn lock_within(&self, claim: &Claim, fat_pool: &dyn FatPool, patience: &Patience) -> bool {
        self.settle(claim, fat_pool);
        if !fat_pool.gives_up() {
            return claim.wait(patience, &|| self.take_thin());
        }
        if self.take_thin() {
            return true;
        }
        if runs_out(patience) {
            return false;
        }
        // Waiters with deadlines pass no gate.
        let Some(Entered { fat, .. }) = self.enter(fat_pool, HURRIED, 0) else {
            return true;
        };
        // SAFETY: counted in, so the number stays the object's.
        match unsafe { fat_pool.acquire_within(fat, self, patience) } {
            Some(record) => {
                // SAFETY: as above.
                unsafe { fat_pool.header(fat) }
                    .arrivals
                    .hold(record, Admission::default());
                true
            }
            None => {
                // SAFETY: counted in, and not at the fat lock.
                unsafe { self.give_up(fat_pool) };
                false
            }
        }
    }

    /// Counts out a waiter that gives up. The last user deflates; the previous holder may still be
    /// releasing.
    ///
    /// # Safety
    /// The caller is counted in the word, and has left the fat lock's queue.
    #[cold]
    unsafe fn give_up(&self, fat_pool: &dyn FatPool) {
        let (fat, last) = self.count_out();
        if last {
            // SAFETY: no other thread is counted in; the next user of the fat lock waits for its
            // release.
            unsafe { fat_pool.give(fat) };
        }
    }

    /// Counts the caller out of the word; the last user frees the object. Returns the fat lock, and
    /// whether the caller was the last.
    fn count_out(&self) -> (u32, bool) {
        let mut word = self.word.load(Order::RELAXED);
        loop {
            let last = word & USERS == USER;
            let new = if last { FREE } else { word - USER };
            match self
                .word
                .compare_exchange(word, new, INFLATED_LEAVE, Order::RELAXED)
            {
                Ok(_) => return (number(word), last),
                Err(now) => word = now,
            }
        }
    }

    /// Whether the threads at the object, with the caller, are no crowd.
    fn are_few(&self, arrivals: &Arrivals) -> bool {
        let word = self.word.load(Order::RELAXED);
        let here = if word & GROUPED == 0 {
            ((word & USERS) / USER) as u32
        } else {
            arrivals.are_here(groups(word))
        };
        here <= cpus() + NO_CROWD
    }

    /// Locks a free object. Where many threads read the word, a failing exchange would take its
    /// line from all of them and from the holder; so the word is read first.
    #[inline(always)]
    fn take_thin(&self) -> bool {
        (counts_in_word() || self.word.load(Order::RELAXED) == FREE) && self.take_free()
    }

    #[inline(always)]
    fn take_free(&self) -> bool {
        self.word
            .compare_exchange(FREE, THIN, INFLATED_TAKE, Order::RELAXED)
            .is_ok()
    }

    /// Barges at the object's fat lock, if its mode permits and it is free; returns whether the
    /// object is locked.
    ///
    /// For a moment the caller may hold a fat lock that serves another object by then. A signal
    /// handler that interrupts the caller there must not lock that object. Counting the caller in
    /// first would cost two more updates of the word, and POSIX forbids handlers to lock a mutex.
    fn take_past(&self, fat_pool: &dyn FatPool) -> bool {
        let word = self.word.load(INFLATED_ENTER);
        if word & FAT == 0 {
            return false;
        }
        let fat = number(word);
        let pool = fat_pool.adapting();
        // SAFETY: the number stood in the word, and fat locks stay mapped; so for all below.
        let Some(record) = pool.and_then(|pool| unsafe { pool.take_past(fat, self) }) else {
            return false;
        };
        // Only a holder of the fat lock frees the object, or gives the fat lock to another object.
        let now = self.word.load(Order::RELAXED);
        if (now & FAT == 0 || number(now) != fat) && !mutant(flaw::TAKE_ANOTHERS) {
            // SAFETY: taken just now; the thread that draws it waits for this release.
            unsafe { fat_pool.release(fat, record, false) };
            return false;
        }
        // SAFETY: as above.
        unsafe { fat_pool.header(fat) }
            .arrivals
            .hold(record, Admission::past());
        true
    }

    /// Competes for a thin object for a short time; returns whether it is locked.
    fn take_among_few(&self) -> bool {
        let mut spinner = Spinner::new();
        let since = now();
        let mut left = AMONG_FEW_NANOSECONDS;
        loop {
            let mut word = THIN;
            spinner.watch(left, || {
                word = self.word.load(Order::RELAXED);
                word == THIN
            });
            if word != FREE {
                return false;
            }
            if self.take_free() {
                return true;
            }
            left = AMONG_FEW_NANOSECONDS.saturating_sub(now() - since);
        }
    }

    /// Unlocks the object; false if it was not locked.
    ///
    /// # Safety
    /// The caller is entitled to unlock it, if it is locked.
    #[inline]
    pub unsafe fn unlock(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        let mut word = self.word.load(INFLATED_FOUND);
        if word & FAT == 0 {
            if claim.hand_over(|| word == THIN) {
                return true;
            }
            match self
                .word
                .compare_exchange(THIN, FREE, INFLATED_FREE, INFLATED_FOUND)
            {
                Ok(_) => return true,
                Err(now) if now & FAT != 0 => word = now,
                Err(_) => return false,
            }
        }
        // SAFETY: passed on.
        unsafe { self.unlock_fat(word, claim, fat_pool) }
    }

    /// Unlocks an object with the fat lock of that word; the caller may be the thin holder.
    ///
    /// # Safety
    /// As [`unlock`](Self::unlock).
    #[inline(never)]
    unsafe fn unlock_fat(&self, word: u64, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        let fat = number(word);
        // SAFETY: the number stood in the word, and the holder is counted in until it leaves below.
        let arrivals = unsafe { &fat_pool.header(fat).arrivals };
        let record = self.holder.load(Order::RELAXED);
        let holder = if record != NOBODY {
            Holder {
                record,
                way: Admission::default(),
            }
        } else if let Some(holder) = arrivals.holder() {
            holder
        } else {
            return false;
        };
        if claim.hand_over(|| true) {
            return true;
        }
        // The slot is left before the fat lock can serve another object. There, neither a thread
        // nor a signal handler may wait for the slot of a thread that is leaving here.
        if record != NOBODY {
            self.holder.store(NOBODY, Order::RELAXED);
            arrivals.gate(0).pass_on();
        } else {
            arrivals.let_go();
        }
        let way = holder.way;
        let gate = way.gate().map(|group| {
            let gate = arrivals.gate(group);
            (gate, gate.step_out())
        });
        let last = if way.is_past() && !mutant(flaw::COUNT_PAST) {
            false
        } else if word & GROUPED == 0 {
            self.count_out().1
        } else {
            let stays = arrivals.is_awaited(groups(word), way.group().unwrap_or(0))
                || !self.leave_if_last(arrivals, way.stays_in());
            if stays {
                arrivals.pass_turn();
            }
            !stays
        };
        // The object may be gone: the code below accesses only the fat lock.
        // SAFETY: the number stood there since the acquisition that holds the fat lock by this
        // record, or by which it was acquired on the thin holder's behalf.
        unsafe { fat_pool.release(fat, holder.record, last) };
        if let Some(group) = way.stays_in() {
            arrivals.depart(group);
        }
        if let Some((gate, left)) = gate {
            gate.let_in(left);
        }
        true
    }

    /// Frees the object unless a waiter is pending. The caller is the holder, has seen no waiter,
    /// and may be registered in group `own`.
    #[cold]
    fn leave_if_last(&self, arrivals: &Arrivals, own: Option<usize>) -> bool {
        // No further group's bit is set.
        let word = self.word.fetch_or(BARRED, Order::RELAXED);
        if arrivals.close(groups(word), own) && !mutant(flaw::LEAVE_WAITERS) {
            // No store: an arrival acquires the published fat lock through this word.
            self.word.fetch_and(!BARRED, Order::RELAXED);
            return false;
        }
        self.word.store(FREE, INFLATED_FREE);
        true
    }

    /// Whether the object was locked at the time of the read.
    pub fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Counts this thread in, in that cache group or with that mark. If the object becomes free,
    /// locks it thin and returns none.
    fn enter(&self, fat_pool: &dyn FatPool, mark: u64, group: usize) -> Option<Entered> {
        let mut spinner = Spinner::new();
        loop {
            let word = self.word.load(INFLATED_ENTER);
            if word == FREE {
                if self.take_free() {
                    return None;
                }
            } else if word & FAT == 0 {
                if let Some(fat) = self.inflate(fat_pool, mark, group) {
                    return Some(Entered::in_word(fat));
                }
            } else if word & BARRED != 0 {
                spinner.moment();
            } else if word & GROUPED != 0 {
                // SAFETY: the number stands in the word, and headers stay mapped.
                let arrivals = unsafe { &fat_pool.header(number(word)).arrivals };
                let adapts = fat_pool.adapting().is_some();
                if let Some(entered) = self.join(arrivals, word, group, adapts, &mut spinner) {
                    return Some(entered);
                }
            } else if self
                .word
                .compare_exchange(word, (word + USER) | mark, INFLATED_ENTER, Order::RELAXED)
                .is_ok()
            {
                return Some(Entered::in_word(number(word)));
            }
        }
    }

    /// Registers and commits this thread in its cache group, if the object still has the fat lock
    /// of that word. Until then no thread waits for it, nor does its own signal handler.
    #[inline]
    fn join(
        &self,
        arrivals: &Arrivals,
        word: u64,
        group: usize,
        adapts: bool,
        spinner: &mut Spinner,
    ) -> Option<Entered> {
        let joined = word | (GROUP << group);
        if word != joined
            && self
                .word
                .compare_exchange(word, joined, Order::RELAXED, Order::RELAXED)
                .is_err()
        {
            return None;
        }
        let seen = arrivals.arrive(group);
        // Other groups may have arrived too; holders look for this one only if its bit is set.
        let others = GROUPS & !(GROUP << group);
        let now = self.word.load(Order::RELAXED);
        if (now ^ joined) & !others != 0 && !mutant(flaw::STAY) {
            arrivals.depart(group);
            return None;
        }
        let stays = adapts || !seen.is_calm() || are_cpus_scarce();
        if !arrivals.come(group, stays) {
            // The holder has barred the word, and will free the object or open the word.
            spinner.moment();
            return None;
        }
        Some(Entered {
            fat: number(word),
            way: Admission::of(group, stays),
            others: if stays { seen.here() } else { 0 },
        })
    }

    /// Publishes a fat lock, held for the thin holder; none if the thin holder was gone. If the
    /// word counts users, both that holder and this thread are counted, and the number is returned.
    fn inflate(&self, fat_pool: &dyn FatPool, mark: u64, group: usize) -> Option<u32> {
        let new = fat_pool.take(self);
        let counts = fat_pool.gives_up() || counts_in_word();
        let users = if counts {
            (2 * USER) | mark
        } else {
            GROUPED | (GROUP << group)
        };
        if self
            .word
            .compare_exchange(THIN, fat(new) | users, INFLATED_PUBLISH, Order::RELAXED)
            .is_ok()
        {
            return counts.then_some(new);
        }
        // SAFETY: never published.
        unsafe { fat_pool.put_back(new) };
        None
    }

    #[inline(always)]
    fn settle(&self, claim: &Claim, fat_pool: &dyn FatPool) {
        self.generation.settle(|| self.inherit(claim, fat_pool));
    }

    /// Repairs the object in a forked child. A thread inside its critical section keeps the object,
    /// thin, unless it had handed it over. The fat lock and its threads are forgotten.
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
        // SAFETY: the number stood in the word, and the caller has exclusive access.
        let header = unsafe { fat_pool.header(number(word)) };
        let began =
            self.holder.load(Order::RELAXED) != NOBODY || header.arrivals.holder().is_some();
        let held = began && !handed_over;
        self.holder.store(NOBODY, Order::RELAXED);
        self.word
            .store(if held { THIN } else { FREE }, Order::RELAXED);
        // SAFETY: the word does not name it, and no thread of this process has used it; its next
        // user forgets the parent's threads.
        unsafe { fat_pool.give(number(word)) };
    }
}
