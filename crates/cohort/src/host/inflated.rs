//! A lock too big for the object: one word at rest, a fat lock from a pool while
//! contended.
//!
//! | `word` | state |
//! |---|---|
//! | 0 | free |
//! | `THIN` | held, thin: nobody else is here |
//! | `FAT`, `GROUPED`, number n, groups | held, or about to be by one that waits; waiters of those cache groups have come to fat lock n |
//! | and `BARRED` | its holder finds out whether anybody waits |
//! | `FAT`, users u, number n | of a lock that waiters can leave, or on few CPUs: held, or about to be; u threads hold or wait for fat lock n |
//! | and `HURRIED` | some of them may give up: that they wait does not say that they will hold it |
//!
//! | change | by | keeps |
//! |---|---|---|
//! | `THIN` to `FAT` and number, or to 0 | an exchange of exactly `THIN` | there is nothing else |
//! | one more user, `HURRIED`, a group's bit | an exchange of the word that was seen, without `BARRED` | all |
//! | one user fewer | an exchange | all; the last user leaves 0 |
//! | `BARRED` set, cleared | bit operations of the holder | all |
//! | barred to 0 | a store of the holder: no thread changes a barred word | nothing |
//!
//! The first thread that finds the object held inflates it: it takes a fat lock,
//! acquires it on the thin holder's behalf, and puts its number in the word.
//!
//! A thread that wants to wait is counted first, so the fat lock cannot go away underneath: among
//! the [`Comers`] of its cache group.  While many wait, nobody writes the word, and all read
//! copies of it.  A holder that leaves the fat lock to one that has come is done with the object.
//! One that finds nobody bars the word, which lets nobody in then, looks again, and either opens it
//! again, or leaves the object free and returns the fat lock.  So a quiet object owns nothing and can be
//! freed or forgotten by any thread, and a release touches the object no more once another thread
//! may have it.
//!
//! A lock that [adapts](cohort_raw::Adapts) may be one at the moment that any running thread takes when it is free.
//! Then threads take its fat lock *past* those that wait, and are counted nowhere.  The holder before has
//! left the object to one of these, which waits for the fat lock still; so what is counted is right as it
//! is while such a thread holds it, and after that.
//!
//! Where waiters can give up, one that does so may be the last user, so all are counted in the word: a
//! holder counts itself out before it releases the fat lock, and the last of all returns it.  So they are
//! on two CPUs of one cache group, which change lines of the object anyway.
//! Waiters with deadlines of other locks are not counted: they have a [`Claim`] beside the
//! object, thin or fat, by which a holder may leave everything as it is to one of them.
//!
//! The object's code is the same for all locks; what depends on the lock is its
//! [`FatPool`]'s.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | arrivals and holders, as above | the table above |
//! | `holder` | the holder, where users are counted in the word and one gate is enough | its record's number; 0: the fat lock's [`Comers`] say |
//! | `generation` | the first user in each process | see [`Generation`] |

use super::comers::{Comers, Holder, Way};
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
    /// Sees what the last thin holder did.
    INFLATED_TAKE = Acquire;
    /// What this holder did, the last or a thin one, is seen by the next.
    INFLATED_FREE = Release;
    /// Publishes the fat lock, held, with its number; nothing is read through
    /// this exchange that the fat lock's own acquire does not order.
    INFLATED_PUBLISH = Release;
    /// Sees the fat lock that the number names.
    INFLATED_ENTER = Acquire;
    /// Where users are counted in the word: what the holder did is seen by the thread that finds the
    /// object free; what others did to the fat lock is seen by the last one, which returns it.
    INFLATED_LEAVE = AcqRel;
    /// The thin holder finds the fat lock that was published meanwhile.
    INFLATED_FOUND = Acquire;
}

flaws! {
    TAKE_AS_LEFT = "inflated.take-as-left";
    BELIEVE_CLAIMS = "inflated.believe-claims";
    /// A waiter that may give up is taken for one that will hold the lock.
    BELIEVE_HURRIED = "inflated.believe-hurried";
    /// A thread comes that finds the fat lock about to be returned, or returned.
    STAY = "inflated.stay";
    /// A fat lock is taken past others that is the object's no more.
    TAKE_ANOTHERS = "inflated.take-anothers";
    /// A thread counts itself out that has come past others.
    COUNT_PAST = "inflated.count-past";
    /// The object is left although somebody is awaited.
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

/// What stands before a fat lock, whichever it is.
#[derive(Debug, Default)]
pub struct FatHeader {
    /// Where the fat lock was last taken.
    generation: Generation,
    /// Its holder and its arrivals.  The record by which a thin holder's part is acquired is not the
    /// fat lock's own: a thread that releases a composition is not done with its context when the
    /// next one holds the lock, which may be the last to use the fat lock.
    comers: Comers,
}

impl FatHeader {
    /// Makes one; once for all fat locks.
    ///
    /// # Safety
    /// The place is valid for writes, and nobody's.
    #[inline(never)]
    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's.
        unsafe { place.write(Self::default()) };
    }
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

    /// Blocks until it is held, by way of a gate if there is one; the number of the record.
    ///
    /// # Safety
    /// The caller is counted in at `object`, which has it; without an object it is the
    /// caller's.
    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>, gate: Option<&Gate>) -> u32;

    /// Whether its waiters can give up.
    fn gives_up(&self) -> bool;

    /// The same, if it adapts to how many want it: a crowd is let past the gates of such a lock, which would
    /// never hear of it otherwise, since sleepers outside are in no queue, and want no CPUs.
    fn adapting(&self) -> Option<&dyn AdaptingPool>;

    /// [`acquire`](Self::acquire), no longer than `patience` lasts; none if that has run out.
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

    /// Puts back what was drawn, or what a parent process left.
    ///
    /// # Safety
    /// It is the caller's, and no object names it.
    unsafe fn give(&self, fat: u32);
}

/// What is asked of a [`FatPool`] of locks that [adapt](cohort_raw::Adapts).
pub trait AdaptingPool {
    /// Whether one that begins now serves in strict order.
    fn begins_strict(&self) -> bool;

    /// Whether that one does, as it is now.
    ///
    /// # Safety
    /// The number stood in an object's word.
    unsafe fn is_strict(&self, fat: u32) -> bool;

    /// Has that one, which the caller holds by the record of that number, go on as the lock of `object`.
    ///
    /// # Safety
    /// As [`release`](FatPool::release).
    unsafe fn begin_anew(&self, fat: u32, record: u32, object: &Inflated);

    /// Takes it past those that wait, if it does not and is free; the number of the record.
    ///
    /// # Safety
    /// The number stood in the word of `object`.
    unsafe fn take_past(&self, fat: u32, object: &Inflated) -> Option<u32>;
}

impl dyn FatPool + '_ {
    /// A fat lock for that object, acquired for its thin holder.  Blocks while the thread that
    /// used it last is on its way out.
    pub fn take(&self, object: &Inflated) -> u32 {
        let fat = self.draw_open();
        // SAFETY: drawn just now, so it is the caller's.
        unsafe {
            let record = self.acquire(fat, None, None);
            if let Some(adapting) = self.adapting() {
                adapting.begin_anew(fat, record, object);
            }
            self.header(fat).comers.hold(record, Way::default());
        }
        fat
    }

    /// A fat lock that is nobody's, to which threads can come.
    fn draw_open(&self) -> u32 {
        let fat = self.draw();
        // SAFETY: drawn just now, so it is the caller's; in a process that has not settled it,
        // no thread has used it.
        unsafe {
            let header = self.header(fat);
            if !mutant(flaw::TAKE_AS_LEFT) {
                // The thread that leaves last puts the fat lock back, though others may still be
                // on their way out of it; those that a fork left behind never get there.
                header.generation.settle(|| {
                    header.comers.forget();
                    self.inherit(fat);
                });
            }
            if header.comers.opens() {
                return fat;
            }
        }
        // Some thread has lost its CPU as it arrived there, or this is a signal handler of it.
        let other = self.draw_open();
        // SAFETY: drawn above, and no object names it.
        unsafe { self.give(fat) };
        other
    }

    /// Puts back what `take` returned and nobody has used.
    ///
    /// # Safety
    /// No object names it, or ever did since.
    pub unsafe fn put_back(&self, fat: u32) {
        // SAFETY: `take` acquired it by the record in the header, whose part ends here; without an
        // object nobody else can be counted in.
        unsafe {
            let comers = &self.header(fat).comers;
            if let Some(holder) = comers.holder() {
                comers.let_go();
                self.release(fat, holder.record, true);
            }
        }
    }
}

/// A fat_pool that takes its fat locks and its records from two pools, to which it points; of a
/// lock whose waiters can give up, or are taken for such as cannot: what only those need is
/// not compiled then.  Nor is what only a lock needs that adapts.
#[derive(Debug)]
pub struct Pooled<L: RawLock, R, F, const GIVE_UP: bool = false, const ADAPTS: bool = false> {
    records: R,
    fats: F,
    within: Option<AcquireWithin<L>>,
    adapting: Option<Adapting<L>>,
}

impl<L: RawLock, R, F> Pooled<L, R, F> {
    /// That fat pool, of a lock that does not adapt, and that waiters cannot leave, or are not to.
    pub const fn new(records: R, fats: F) -> Self {
        Self::giving_up(records, fats, None)
    }
}

impl<L: RawLock, R, F, const GIVE_UP: bool> Pooled<L, R, F, GIVE_UP> {
    /// The same, of one whose waiters [give up](cohort_raw::Able) in that way.
    pub const fn giving_up(records: R, fats: F, within: Option<AcquireWithin<L>>) -> Self {
        Self::able(records, fats, within, None)
    }
}

impl<L: RawLock, R, F, const GIVE_UP: bool, const ADAPTS: bool> Pooled<L, R, F, GIVE_UP, ADAPTS> {
    /// The same, of one that is [able](cohort_raw::Able) to do that.  One that waiters can leave does not
    /// adapt: the last of them may be gone while a thread holds it that has come past them.
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

    unsafe fn acquire(&self, fat: u32, object: Option<&Inflated>, gate: Option<&Gate>) -> u32 {
        // SAFETY: the caller's.
        let fat = unsafe { self.fats.at(fat) };
        let record = self.records.take();
        record.note(object);
        // SAFETY: the record goes back to its pool with the release; nodes of pools stay where they are.
        unsafe {
            if let Some(gate) = gate {
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
        Gate::make_ready();
        Self {
            word: AtomicU64::new(FREE),
            generation: Generation::default(),
            holder: AtomicU32::new(NOBODY),
        }
    }
}

/// For how long waiters compete for an object before the first of them gives it a fat lock: a few
/// are all served in that time, and spare what it costs to take one and to return it, with lines that
/// were another thread's.
const AMONG_FEW_NANOSECONDS: u64 = 1_000;

/// No record.
const NOBODY: u32 = 0;

const FREE: u64 = 0;
const THIN: u64 = 1;
const FAT: u64 = 2;
const HURRIED: u64 = 4;
const BARRED: u64 = 8;
const GROUPED: u64 = 16;

/// Where users are counted in the word.
const USER: u64 = 1 << 8;
const USERS: u64 = 0xff_ffff << 8;

/// Where they are not: the cache groups of which somebody has come.
const GROUP: u64 = 1 << 8;
const GROUPS: u64 = 0xffff << 8;

const _: () = assert!(crate::door::FAT_GROUPS as u32 <= (GROUPS / GROUP).count_ones());

/// The word of an object that has that fat lock.
const fn fat(number: u32) -> u64 {
    FAT | ((number as u64) << 32)
}

const fn number(fat: u64) -> u32 {
    (fat >> 32) as u32
}

/// On so few CPUs of one cache group users are counted in the word: threads change lines of it anyway, and
/// another line would be one more to move.
const FEW_CPUS: u32 = 2;

/// Whether CPUs are so few.
#[inline(always)]
fn counts_in_word() -> bool {
    cpus() <= FEW_CPUS && Gate::is_one()
}

/// So many more than CPUs are no crowd yet (Antić et al. 2016, their release).
const NO_CROWD: u32 = 2;

/// How a thread has come to a fat lock.
struct Entered {
    fat: u32,
    way: Way,
    /// How many others it has to reckon with, at least.
    others: u32,
}

impl Entered {
    /// Counted in the object's word: there the gate alone knows how many are at it.
    fn in_word(fat: u32) -> Self {
        Self {
            fat,
            way: Way::default(),
            others: u32::MAX,
        }
    }
}

/// A bit for each group of which somebody has come.
const fn groups(fat: u64) -> u64 {
    (fat & GROUPS) / GROUP
}

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

    /// The same, with the fat locks of one that adapts: a thread that may go past others does so before
    /// it asks for the object's line.
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
        // A lock that adapts is to see how many want it, unless it is known that they are a crowd.
        let adapting = fat_pool.adapting();
        let may_compete = adapting.is_none_or(|pool| !pool.begins_strict());
        if tries_anything() && may_compete && self.take_among_few() {
            return;
        }
        let group = Comers::of_thread();
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
            let comers = &fat_pool.header(fat).comers;
            let stops = adapting.is_none_or(|pool| pool.is_strict(fat) && self.are_few(comers));
            if stops && way.group().is_none() && Gate::is_one() {
                let record = fat_pool.acquire(fat, Some(self), Some(comers.gate(0)));
                self.holder.store(record, Order::RELAXED);
                return;
            }
            let places = if stops { Gate::places_of_group() } else { None };
            if let Some((places, spins)) = places {
                if others >= places {
                    comers.gate(group).admit(places, spins, None);
                    way = way.by_gate(group);
                }
                keep_cpu(true);
            }
            let record = fat_pool.acquire(fat, Some(self), None);
            comers.hold(record, way);
            if places.is_some() {
                Gate::have_waited();
            }
        }
    }

    /// Whether a thread waits that will hold the object; for its holder.
    pub fn has_waiters(&self, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        self.settle(claim, fat_pool);
        let word = self.word.load(INFLATED_FOUND);
        if word & FAT != 0 {
            // SAFETY: the caller holds the object, so the number stays.
            let comers = unsafe { &fat_pool.header(number(word)).comers };
            if comers.holder().is_some_and(|holder| holder.way.is_past()) {
                return true;
            }
            if word & GROUPED != 0 {
                return comers.is_awaited(groups(word), 0);
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
            return claim.wait(patience, &|| self.take_thin());
        }
        if self.take_thin() {
            return true;
        }
        if runs_out(patience) {
            return false;
        }
        // By no group's gate.
        let Some(Entered { fat, .. }) = self.enter(fat_pool, HURRIED, 0) else {
            return true;
        };
        // SAFETY: counted in, so the number stays the object's.
        match unsafe { fat_pool.acquire_within(fat, self, patience) } {
            Some(record) => {
                // SAFETY: as above.
                unsafe { fat_pool.header(fat) }
                    .comers
                    .hold(record, Way::default());
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
    /// The caller is counted in, in the word, and waits no more.
    #[cold]
    unsafe fn give_up(&self, fat_pool: &dyn FatPool) {
        let (fat, last) = self.count_out();
        if last {
            // SAFETY: nobody else is counted in; the thread that takes it next waits for it.
            unsafe { fat_pool.give(fat) };
        }
    }

    /// Counts the caller out of the word, and leaves the object free if it is the last; the fat lock,
    /// and whether it is.
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

    /// Whether those that are here, the caller among them, are no crowd.
    fn are_few(&self, comers: &Comers) -> bool {
        let word = self.word.load(Order::RELAXED);
        let here = if word & GROUPED == 0 {
            ((word & USERS) / USER) as u32
        } else {
            comers.are_here(groups(word))
        };
        here <= cpus() + NO_CROWD
    }

    /// Where many read the word, an attempt that must fail would take it from all of them, and from the
    /// holder.
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

    /// Takes the object's fat lock past those that wait, where it lets threads do so and is free; whether
    /// the object is locked.
    ///
    /// For a moment the caller may hold a fat lock that is another object's by now.  A signal handler that
    /// interrupts it there must not want that object: to be counted first, so that the fat lock could
    /// not go away, would cost two more updates of the word, and POSIX lets no handler lock a mutex.
    fn take_past(&self, fat_pool: &dyn FatPool) -> bool {
        let word = self.word.load(INFLATED_ENTER);
        if word & FAT == 0 {
            return false;
        }
        let fat = number(word);
        let pool = fat_pool.adapting();
        // SAFETY: the number stood in the word, and fat locks stay; so for all below.
        let Some(record) = pool.and_then(|pool| unsafe { pool.take_past(fat, self) }) else {
            return false;
        };
        // A thread that leaves the object holds the fat lock then, and so does one that gives it to another.
        let now = self.word.load(Order::RELAXED);
        if (now & FAT == 0 || number(now) != fat) && !mutant(flaw::TAKE_ANOTHERS) {
            // SAFETY: taken just now; a thread that has drawn it waits for that.
            unsafe { fat_pool.release(fat, record, false) };
            return false;
        }
        // SAFETY: as above.
        unsafe { fat_pool.header(fat) }
            .comers
            .hold(record, Way::past());
        true
    }

    /// Competes for an object that has no fat lock, for a short time; whether it is locked.
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

    /// Unlocks the object; false if nobody had locked it.
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

    /// Unlocks an object that has a fat lock, by that word, of which the caller may be the thin holder.
    ///
    /// # Safety
    /// As [`unlock`](Self::unlock).
    #[inline(never)]
    unsafe fn unlock_fat(&self, word: u64, claim: &Claim, fat_pool: &dyn FatPool) -> bool {
        let fat = number(word);
        // SAFETY: the number stood in the word, and the holder is counted in until it leaves below.
        let comers = unsafe { &fat_pool.header(fat).comers };
        let record = self.holder.load(Order::RELAXED);
        let holder = if record != NOBODY {
            Holder {
                record,
                way: Way::default(),
            }
        } else if let Some(holder) = comers.holder() {
            holder
        } else {
            return false;
        };
        if claim.hand_over(|| true) {
            return true;
        }
        // Before the fat lock can be another object's: no thread there waits for a place of one that is
        // on its way out here, nor does a signal handler that interrupts it.
        if record != NOBODY {
            self.holder.store(NOBODY, Order::RELAXED);
            comers.gate(0).pass_on();
        } else {
            comers.let_go();
        }
        let way = holder.way;
        let gate = way.gate().map(|group| {
            let gate = comers.gate(group);
            (gate, gate.step_out())
        });
        let last = if way.is_past() && !mutant(flaw::COUNT_PAST) {
            false
        } else if word & GROUPED == 0 {
            self.count_out().1
        } else {
            let stays = comers.is_awaited(groups(word), way.group().unwrap_or(0))
                || !self.leave_if_last(comers, way.stays_in());
            if stays {
                comers.pass_turn();
            }
            !stays
        };
        // The object may be gone: only the fat lock is touched from here.
        // SAFETY: the number stood there since the acquisition that holds the fat lock by this
        // record, or by which it was acquired on the thin holder's behalf.
        unsafe { fat_pool.release(fat, holder.record, last) };
        if let Some(group) = way.stays_in() {
            comers.depart(group);
        }
        if let Some((gate, left)) = gate {
            gate.let_in(left);
        }
        true
    }

    /// Leaves the object free unless somebody is awaited; for the holder, that has found nobody, and may
    /// be here itself, in the `own` group.
    #[cold]
    fn leave_if_last(&self, comers: &Comers, own: Option<usize>) -> bool {
        // No other group's bit is set from here on.
        let word = self.word.fetch_or(BARRED, Order::RELAXED);
        if comers.close(groups(word), own) && !mutant(flaw::LEAVE_WAITERS) {
            // No store: an arrival is to see the fat lock that was published.
            self.word.fetch_and(!BARRED, Order::RELAXED);
            return false;
        }
        self.word.store(FREE, INFLATED_FREE);
        true
    }

    /// Whether the object was locked a moment ago.
    pub fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Counts this thread in, of that cache group or with that mark; or, if the object turns out free,
    /// locks it thin and returns nothing.
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
                // SAFETY: the number stands in the word, and headers stay.
                let comers = unsafe { &fat_pool.header(number(word)).comers };
                let adapts = fat_pool.adapting().is_some();
                if let Some(entered) = self.join(comers, word, group, adapts, &mut spinner) {
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

    /// Counts this thread in among those of its cache group, if the object still has the fat lock of
    /// that word.  Until it is, nobody waits for it: not its own signal handler either.
    #[inline]
    fn join(
        &self,
        comers: &Comers,
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
        let seen = comers.arrive(group);
        // Other groups may have come too; a holder looks for this one only where its bit stands.
        let others = GROUPS & !(GROUP << group);
        let now = self.word.load(Order::RELAXED);
        if (now ^ joined) & !others != 0 && !mutant(flaw::STAY) {
            comers.depart(group);
            return None;
        }
        let stays = adapts || !seen.is_calm() || are_cpus_scarce();
        if !comers.come(group, stays) {
            // The holder has barred the word, and leaves the object or opens it again.
            spinner.moment();
            return None;
        }
        Some(Entered {
            fat: number(word),
            way: Way::of(group, stays),
            others: if stays { seen.here() } else { 0 },
        })
    }

    /// Publishes a fat lock, held for the thin holder; nothing if the thin holder was gone.  Where users
    /// are counted in the word, that holder and this thread are, and the number is returned.
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
        let began = self.holder.load(Order::RELAXED) != NOBODY || header.comers.holder().is_some();
        let held = began && !handed_over;
        self.holder.store(NOBODY, Order::RELAXED);
        self.word
            .store(if held { THIN } else { FREE }, Order::RELAXED);
        // SAFETY: the word names it no more, and no thread of this process has
        // ever used it; the one that takes it next forgets the threads that were there.
        unsafe { fat_pool.give(number(word)) };
    }
}
