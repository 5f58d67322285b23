//! A lock too big for the object: one word at rest, a fat lock from a pool while
//! contended.
//!
//! | `word` | state |
//! |---|---|
//! | 0 | free |
//! | `THIN` | held, thin: nobody else is here |
//! | `FAT`, users u, number n | held, or just granted to one of the waiters; u threads hold or wait for fat lock n |
//!
//! The first thread that finds the object held inflates it: it takes a fat lock,
//! acquires it on the thin holder's behalf, and puts its number in the word.
//! Whoever wants to wait counts itself in that word first, so the fat lock cannot go
//! away underneath.  The holder counts itself out before it releases the fat lock; if
//! it was the last, counting out is what frees the object, and it returns the fat
//! lock.  So a quiet object owns nothing, whoever frees or forgets it, and a release
//! touches the object no more once another thread may have it.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | everybody, by compare-exchange | the table above |
//! | `holder` | the holder of the fat lock | its record's number; 0: the thin holder's, or nobody's, section |
//! | `generation` | the first user in each process | see [`Generation`] |

use super::{Gate, Generation, Holding, Pool};
use crate::door::{AtomicU32, AtomicU64, Order, orders};
use cohort_raw::{Inherit, RawTry, ThreadOblivious};
use core::marker::PhantomData;

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
    /// What the holder did is seen by whoever finds the object free; what others
    /// did to the fat lock is seen by the last one, who returns it.
    INFLATED_LEAVE = AcqRel;
    /// The thin holder finds the fat lock that was published meanwhile.
    INFLATED_FOUND = Acquire;
}

/// A fat lock.
#[derive(Debug, Default)]
pub struct Fat<L: cohort_raw::RawLock> {
    lock: L,
    /// What waiters pass before they queue.
    gate: Gate,
    /// The context by which the thin holder's part is acquired and released.
    thin: L::Context,
    /// 1 while the thin holder has not released.
    thin_holds: AtomicU32,
}

/// The object; all zero when new.
#[derive(Debug)]
#[repr(C)]
pub struct Inflated<L> {
    word: AtomicU64,
    generation: Generation,
    holder: AtomicU32,
    lock: PhantomData<fn() -> L>,
}

impl<L> Default for Inflated<L> {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(FREE),
            holder: AtomicU32::new(NOBODY),
            generation: Generation::default(),
            lock: PhantomData,
        }
    }
}

const FREE: u64 = 0;
const THIN: u64 = 1;
const FAT: u64 = 2;
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

/// What became of a thread that came to an object.
enum Entered {
    /// It has locked it, thin.
    Thin,
    /// It is counted in at the fat lock of that number.
    Fat(u32),
    /// Nothing yet: somebody has it thin.
    Behind,
}

impl Entered {
    /// The same code for all locks.
    #[inline(never)]
    fn by(place: &AtomicU64) -> Self {
        loop {
            let word = place.load(Order::RELAXED);
            if word == FREE {
                if place
                    .compare_exchange(FREE, THIN, INFLATED_TAKE, Order::RELAXED)
                    .is_ok()
                {
                    return Self::Thin;
                }
            } else if word & FAT == 0 {
                return Self::Behind;
            } else if place
                .compare_exchange(word, word + USER, INFLATED_ENTER, Order::RELAXED)
                .is_ok()
            {
                return Self::Fat(number(word));
            }
        }
    }
}

impl<L: RawTry + ThreadOblivious + Inherit> Inflated<L>
where
    L::Context: 'static,
    L: 'static,
{
    /// Blocks until the object is locked.
    #[inline]
    pub fn lock(&self, records: &impl Pool<Holding<L::Context>>, fats: &impl Pool<Fat<L>>) {
        self.generation.settle(|| self.inherit(fats));
        if self
            .word
            .compare_exchange(FREE, THIN, INFLATED_TAKE, Order::RELAXED)
            .is_err()
        {
            self.lock_contended(records, fats);
        }
    }

    #[cold]
    fn lock_contended(&self, records: &impl Pool<Holding<L::Context>>, fats: &impl Pool<Fat<L>>) {
        let Some(fat) = self.enter(fats) else {
            return;
        };
        let record = records.take();
        record.note(self);
        let passed = fat.gate.enter();
        fat.lock.acquire(&record.context);
        fat.gate.leave(passed);
        self.holder.store(records.number(record), Order::RELAXED);
    }

    /// Locks the object if nobody has; never blocks.
    #[inline]
    pub fn try_lock(&self, fats: &impl Pool<Fat<L>>) -> bool {
        self.generation.settle(|| self.inherit(fats));
        // A fat lock is held, or granted to somebody: there is nothing to try.
        self.word
            .compare_exchange(FREE, THIN, INFLATED_TAKE, Order::RELAXED)
            .is_ok()
    }

    /// Unlocks the object; false if nobody had locked it.
    ///
    /// # Safety
    /// The caller is entitled to unlock it, if it is locked.
    #[inline]
    pub unsafe fn unlock(
        &self,
        records: &impl Pool<Holding<L::Context>>,
        fats: &impl Pool<Fat<L>>,
    ) -> bool {
        self.generation.settle(|| self.inherit(fats));
        let holder = self.holder.load(Order::RELAXED);
        if holder != NOBODY {
            // SAFETY: passed on.
            return unsafe { self.unlock_fat(holder, records, fats) };
        }
        match self
            .word
            .compare_exchange(THIN, FREE, INFLATED_FREE, INFLATED_FOUND)
        {
            Ok(_) => true,
            // SAFETY: passed on.
            Err(word) if word & FAT != 0 => unsafe { self.unlock_published(word, fats) },
            Err(_) => false,
        }
    }

    /// Unlocks for a holder of the fat lock.
    ///
    /// # Safety
    /// As [`unlock`](Self::unlock); `holder` is what stood in the object.
    #[inline(never)]
    unsafe fn unlock_fat(
        &self,
        holder: u32,
        records: &impl Pool<Holding<L::Context>>,
        fats: &impl Pool<Fat<L>>,
    ) -> bool {
        self.holder.store(NOBODY, Order::RELAXED);
        // SAFETY: the number stands here since the acquisition that holds the fat
        // lock, with this record's context; the record is then nobody's.
        unsafe {
            let record = records.at(holder);
            self.leave(fats, &record.context);
            records.give(record);
        }
        true
    }

    /// Unlocks for the thin holder, whose part somebody acquired meanwhile.
    ///
    /// # Safety
    /// As [`unlock`](Self::unlock).
    #[cold]
    unsafe fn unlock_published(&self, word: u64, fats: &impl Pool<Fat<L>>) -> bool {
        // SAFETY: the thin holder is counted in until it leaves below.
        let fat = unsafe { fats.at(number(word)) };
        if fat.thin_holds.load(Order::RELAXED) == 0 {
            return false;
        }
        fat.thin_holds.store(0, Order::RELAXED);
        // SAFETY: acquired with this context on the thin holder's behalf.
        unsafe { self.leave(fats, &fat.thin) };
        true
    }

    /// Whether the object was locked a moment ago.
    pub fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Counts this thread in and returns the fat lock; or, if the object turns
    /// out free, locks it thin and returns nothing.
    fn enter(&self, fats: &impl Pool<Fat<L>>) -> Option<&'static Fat<L>> {
        loop {
            match Entered::by(&self.word) {
                Entered::Thin => return None,
                // SAFETY: counted in, so the number stays the object's.
                Entered::Fat(number) => return Some(unsafe { fats.at(number) }),
                Entered::Behind => {}
            }
            if let Some(fat) = self.inflate(fats) {
                return Some(fat);
            }
        }
    }

    /// Publishes a fat lock, held for the thin holder, with that holder and this
    /// thread counted in; nothing if the thin holder was gone.
    fn inflate(&self, fats: &impl Pool<Fat<L>>) -> Option<&'static Fat<L>> {
        let new = fats.take();
        new.thin_holds.store(1, Order::RELAXED);
        new.lock.acquire(&new.thin);
        let word = fat(fats.number(new), 2);
        if self
            .word
            .compare_exchange(THIN, word, INFLATED_PUBLISH, Order::RELAXED)
            .is_ok()
        {
            return Some(new);
        }
        // SAFETY: acquired above, never published.
        unsafe {
            new.lock.release(&new.thin);
            Self::put_back(fats, new);
        }
        None
    }

    /// Counts the holder out and releases; the last one deflates.
    ///
    /// # Safety
    /// The caller holds the fat lock, by `context`.
    unsafe fn leave(&self, fats: &impl Pool<Fat<L>>, context: &L::Context) {
        let mut word = self.word.load(Order::RELAXED);
        // SAFETY: the caller is counted in.
        let fat = unsafe { fats.at(number(word)) };
        fat.gate.pass_on();
        loop {
            let last = word & USERS == USER;
            let new = if last { FREE } else { word - USER };
            match self
                .word
                .compare_exchange(word, new, INFLATED_LEAVE, Order::RELAXED)
            {
                // The object may be gone: only the fat lock is touched from here.
                Ok(_) => {
                    // SAFETY: held by this context.  If nobody else was counted
                    // in, nobody else can find the fat lock any more.
                    unsafe {
                        fat.lock.release(context);
                        if last {
                            Self::put_back(fats, fat);
                        }
                    }
                    return;
                }
                Err(now) => word = now,
            }
        }
    }

    /// In a forked child: whoever's critical section had begun keeps the object,
    /// thin; the fat lock and those who were in it are forgotten.
    #[cold]
    fn inherit(&self, fats: &impl Pool<Fat<L>>) {
        let word = self.word.load(Order::RELAXED);
        if word & FAT == 0 {
            return;
        }
        // SAFETY: the number stood in the word, and the caller is alone.
        let fat = unsafe { fats.at(number(word)) };
        let held =
            self.holder.load(Order::RELAXED) != NOBODY || fat.thin_holds.load(Order::RELAXED) != 0;
        self.holder.store(NOBODY, Order::RELAXED);
        self.word
            .store(if held { THIN } else { FREE }, Order::RELAXED);
        // SAFETY: the word names it no more, and no thread of this process has
        // ever used it.
        unsafe {
            fat.gate.reset();
            fat.lock.inherit(None);
            Self::put_back(fats, fat);
        }
    }

    /// Returns a fat lock.  A function of its own, which each lock has once.
    ///
    /// # Safety
    /// It is free, and no object names it.
    #[inline(never)]
    unsafe fn put_back(fats: &impl Pool<Fat<L>>, fat: &'static Fat<L>) {
        // SAFETY: the caller's.
        unsafe { fats.give(fat) };
    }
}
