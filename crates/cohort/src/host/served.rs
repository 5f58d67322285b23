//! Every lock of the catalogue as a value: how it serves an object that a program has, such as
//! a `pthread_mutex_t`, whatever lock it is.
//!
//! | bytes of the object | what they hold |
//! |---|---|
//! | 0–7 | the [default lock](FutexHmcs); under any other, its [`Gate`] (of an inflated one only the claim) and the threads that will [return](Returning) |
//! | 8–23 | the face's: a kind, an owner, a count; no service touches them |
//! | 24–39 | any other lock, [in place](InPlace) or [inflated](Inflated); under the default, the threads that will return |
//!
//! All bytes but the face's are zero at rest, save the [`Generation`](super::Generation) of the
//! last use.  One process serves all its objects by one lock, so that a word has one meaning in
//! it, and the threads' caches of records are shared by all locks; unless objects are
//! [assigned](super::assigned) others, whose records are in caches that have been moved.

use super::{
    Fat, FatPool, Gate, Holding, InPlace, Inflated, Pool, Pooled, Returning, Seldom, Served,
};
use crate::catalogue::own_pool_bytes;
use crate::door::{AtomicU32, Static, pool, process_wide, thread};
use crate::numa::FutexHmcs;
use cohort_raw::{
    Able, Abortable, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry, Unable as _,
};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::offset_of;
use core::{hint, ptr};
use in_place::Claiming as _;

/// The threads' caches of records, which all locks share, since a process uses one for its
/// objects, or moves the caches of the others.  (The other caches are those of fat locks, of
/// waiters at conditions, of contexts that are [kept](crate::context), and of pools that locks
/// have themselves.)
const RECORDS: usize = 0;

/// 40 bytes, laid out as the table above says; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Object {
    /// The default lock.
    pub word: FutexHmcs,
    face: UnsafeCell<[u64; 2]>,
    body: UnsafeCell<[u64; 2]>,
}

const _: () = assert!(size_of::<Object>() == 40 && align_of::<Object>() == 8);

// SAFETY: the face's bytes are its own business; the others are atoms.
unsafe impl Sync for Object {}

/// How an object is locked and unlocked.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Blocks until the object is locked; 0, so that a C function may end in the call.
    pub lock: unsafe fn(&Object) -> i32,
    /// Unlocks the object, or leaves alone one that nobody had locked; 0.
    pub unlock: unsafe fn(&Object) -> i32,
}

/// One lock, as it serves objects.  Each function may be called only with objects that
/// this lock alone has served; `unlock` only by a thread that may unlock.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// What has to be short.
    pub pair: Pair,
    /// Locks the object if nobody has.
    pub try_lock: unsafe fn(&Object) -> bool,
    /// Blocks until the object is locked or patience runs out; false then.
    pub lock_within: unsafe fn(&Object, &Patience) -> bool,
    /// Whether the object was locked a moment ago.
    pub is_locked: unsafe fn(&Object) -> bool,
    /// Where in the object's [body](Object) the lock notes in which process it is used, if it
    /// does.
    pub generation: Option<u32>,
    /// What the process's objects needed so far.
    pub needs: fn() -> Needs,
    /// Before the lock serves its first object in a process that has another lock too: its
    /// records are kept in caches of the threads that stand so many places further.
    #[cfg(feature = "several")]
    pub move_caches: fn(u32),
    /// Unlocks the object; false if nobody had locked it.  None where that is told only by a look
    /// before.
    #[cfg(feature = "writers")]
    pub unlock_held: Option<unsafe fn(&Object) -> bool>,
    /// Whether a thread waits that will lock the object; false too where nobody can tell.
    #[cfg(feature = "writers")]
    pub has_waiters: unsafe fn(&Object) -> bool,
    /// In a forked child, forgets the threads that were at an object that none of this process
    /// is at.
    #[cfg(feature = "writers")]
    pub forget: unsafe fn(&Object),
}

/// What the process's objects needed so far beside their own bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Bytes of nodes, records and inflated locks.
    pub bytes: usize,
    /// Inflated locks.
    pub inflated: u32,
}

impl Object {
    /// Bytes that no service touches.
    pub const FACE: usize = 16;

    /// Where those are.
    #[must_use]
    pub const fn face(&self) -> *mut u8 {
        self.face.get().cast()
    }

    /// Views the body as a lock.
    ///
    /// # Safety
    /// It is all zero or has only ever been a `T` since it was.
    unsafe fn body<T>(&self) -> &T {
        const {
            assert!(size_of::<T>() <= 16);
            assert!(align_of::<T>() <= 8);
        }
        // SAFETY: the caller's; the bytes are in a cell.
        unsafe { &*self.body.get().cast() }
    }

    /// The gate of a lock in the body; of an inflated one only the claim.
    fn gate(&self) -> &Gate {
        const { assert!(size_of::<Gate>() <= size_of::<FutexHmcs>()) };
        // SAFETY: both are words that are good whatever they hold, and a process that does
        // not use the one uses the other.
        unsafe { &*ptr::from_ref(&self.word).cast() }
    }

    /// Where a lock with a gate keeps the object's threads at conditions.
    fn behind_gate(&self) -> &Returning {
        const { assert!(size_of::<Gate>() + size_of::<Returning>() <= size_of::<FutexHmcs>()) };
        // SAFETY: a word of the object's, all zero at first, that nobody uses for anything else
        // in a process whose lock is not the default.
        unsafe { &*ptr::from_ref(&self.word).byte_add(size_of::<Gate>()).cast() }
    }

    /// Notes that the calling thread is locking the object, or has locked it.
    #[inline(always)]
    pub fn hold(&self) {
        thread().holds.set(ptr::from_ref(self).addr());
    }

    /// Whether the calling thread is known to hold the object.
    fn is_known_held(&self) -> bool {
        thread().holds.get() == ptr::from_ref(self).addr()
    }

    /// Notes that the calling thread is about to unlock the object; whether that owes a thread
    /// that the object has adopted a wake-up.
    #[inline(always)]
    fn owes_at_unlock(&self) -> bool {
        if self.is_known_held() {
            thread().holds.set(0);
        }
        !self.behind_gate().owes_nothing()
    }
}

impl Service {
    /// Whether it is the lock in the object's first word, which has its own way to adopt
    /// threads that come back from conditions.
    #[must_use]
    pub fn is_word(&self) -> bool {
        // The catalogue's first one.
        SERVICES[0].as_ref().is_some_and(|word| ptr::eq(self, word))
    }

    /// The threads that wait at conditions and will lock the object then: a word of the
    /// object that its lock leaves alone.
    ///
    /// # Safety
    /// This lock serves the object; so for all below.
    #[must_use]
    pub unsafe fn returning<'a>(&self, object: &'a Object) -> &'a Returning {
        if self.is_word() {
            // SAFETY: that lock leaves the body alone, which is zero at first.
            unsafe { object.body() }
        } else {
            object.behind_gate()
        }
    }

    /// Makes a thread that sleeps on a word, while that holds a value, one of the object's
    /// sleepers; false if the thread has to be woken.
    ///
    /// Where a lock's sleepers each have a place of their own, only a thread that holds the
    /// object can: the release might be under way.
    ///
    /// # Safety
    /// As above.
    #[must_use]
    pub unsafe fn adopt(&self, object: &Object, place: &AtomicU32, seen: u32) -> bool {
        if self.is_word() {
            object.word.adopt(place, seen)
        } else {
            object.is_known_held() && object.behind_gate().adopt(place, seen)
        }
    }
}

/// 0, which a function returns that others end in: were it known to be constant, they
/// would call it, and build a frame for that, rather than jump to it.
#[must_use]
pub fn done() -> i32 {
    hint::black_box(0)
}

/// An object whose lock is in place: what is short at once, and the rest in functions of its
/// own, since an uncontended lock cannot afford what those need.
mod in_place {
    use super::*;

    /// # Safety
    /// The object is only ever served by `L`.
    #[inline(always)]
    pub unsafe fn lock<L: Served + QuickRelease>(
        object: &Object,
        slowly: unsafe fn(&Object) -> i32,
    ) -> i32 {
        object.hold();
        // SAFETY: the caller's.
        if unsafe { object.body::<InPlace<L>>() }.lock_untouched() {
            return 0;
        }
        // SAFETY: passed on.
        unsafe { slowly(object) }
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn lock_slowly<L: Served + QuickRelease>(
        object: &Object,
        records: &impl Pool<Holding<L::Context>>,
    ) -> i32 {
        // SAFETY: the caller's.
        unsafe { object.body::<InPlace<L>>() }.lock(object.gate(), records);
        done()
    }

    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(always)]
    pub unsafe fn unlock<L: Served + QuickRelease>(
        object: &Object,
        slowly: unsafe fn(&Object) -> i32,
    ) -> i32 {
        if object.owes_at_unlock() {
            // SAFETY: passed on.
            return unsafe { unlock_and_wake(object, slowly) };
        }
        let place = ptr::from_ref(object);
        // SAFETY: the caller's.
        match unsafe { object.body::<InPlace<L>>().unlock_quickly(object.gate()) } {
            Quick::Released => 0,
            Quick::MarkLost => wake_everybody::<L>(place),
            // SAFETY: passed on.
            Quick::Refused => unsafe { slowly(object) },
        }
    }

    /// # Safety
    /// As above.
    #[cold]
    #[inline(never)]
    unsafe fn unlock_and_wake(object: &Object, slowly: unsafe fn(&Object) -> i32) -> i32 {
        // SAFETY: passed on.
        object.behind_gate().release(|| unsafe { slowly(object) })
    }

    #[cold]
    #[inline(never)]
    fn wake_everybody<L: Served + QuickRelease>(place: *const Object) -> i32 {
        let body = place.wrapping_byte_add(offset_of!(Object, body));
        InPlace::<L>::wake_everybody(body.cast());
        done()
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn unlock_slowly<L: Served + QuickRelease>(
        object: &Object,
        records: &impl Pool<Holding<L::Context>>,
    ) -> i32 {
        // SAFETY: the caller's.
        unsafe { object.body::<InPlace<L>>().unlock(object.gate(), records) };
        done()
    }

    /// How a waiter with a deadline waits: at the lock, if it can leave that again, and else at
    /// the claim beside it.  The lock's type decides, since an inherent function is taken before one
    /// of a trait where its bounds are met; so no code that is generic over `L` may ask.
    pub struct Timed<L>(PhantomData<L>);

    impl<L: Served + QuickRelease + Abortable> Timed<L> {
        /// Blocks until the object is locked or patience runs out; false then.
        ///
        /// # Safety
        /// As above.
        pub unsafe fn lock_within(
            object: &Object,
            records: &impl Pool<Holding<L::Context>>,
            patience: &Patience,
        ) -> bool {
            // SAFETY: the caller's.
            unsafe { object.body::<InPlace<L>>() }.lock_within(object.gate(), records, patience)
        }
    }

    /// As [`Timed`], of a lock whose waiters cannot leave it.
    pub trait Claiming<L: Served + QuickRelease> {
        /// # Safety
        /// As [`Timed::lock_within`].
        unsafe fn lock_within(
            object: &Object,
            records: &impl Pool<Holding<L::Context>>,
            patience: &Patience,
        ) -> bool {
            // SAFETY: the caller's.
            unsafe { object.body::<InPlace<L>>() }.claim_within(object.gate(), records, patience)
        }
    }

    impl<L: Served + QuickRelease> Claiming<L> for Timed<L> {}
}

/// An object whose lock is inflated while it is contended: the same code for all locks, which
/// differ in their fat_pool.
pub mod inflated {
    use super::*;

    /// Blocks until the object is locked; 0.
    ///
    /// # Safety
    /// The object is only ever served from that fat_pool; so for all below.
    #[inline(never)]
    pub unsafe fn lock(object: &Object, fat_pool: &dyn FatPool) -> i32 {
        object.hold();
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.lock(&object.gate().claim, fat_pool);
        0
    }

    /// The same, with the fat locks of one that adapts.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn lock_adapting(object: &Object, fat_pool: &dyn FatPool) -> i32 {
        object.hold();
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.lock_adapting(&object.gate().claim, fat_pool);
        0
    }

    /// Unlocks it, or leaves alone one that nobody had locked; 0.
    ///
    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(never)]
    pub unsafe fn unlock(object: &Object, fat_pool: &dyn FatPool) -> i32 {
        // SAFETY: passed on.
        unsafe { release(object, fat_pool) };
        0
    }

    /// Unlocks it; false if nobody had locked it.
    ///
    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(never)]
    #[must_use]
    pub unsafe fn unlock_held(object: &Object, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: passed on.
        unsafe { release(object, fat_pool) }
    }

    #[inline(always)]
    unsafe fn release(object: &Object, fat_pool: &dyn FatPool) -> bool {
        let claim = &object.gate().claim;
        // SAFETY: the caller's.
        let unlock = || unsafe { object.body::<Inflated>().unlock(claim, fat_pool) };
        if object.owes_at_unlock() {
            object.behind_gate().release(unlock)
        } else {
            unlock()
        }
    }

    /// Locks it if nobody has.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    #[must_use]
    pub unsafe fn try_lock(object: &Object, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.try_lock(&object.gate().claim, fat_pool)
    }

    /// Blocks until it is locked or patience runs out; false then.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    #[must_use]
    pub unsafe fn lock_within(
        object: &Object,
        fat_pool: &dyn FatPool,
        patience: &Patience,
    ) -> bool {
        // SAFETY: the caller's.
        let body = unsafe { object.body::<Inflated>() };
        body.lock_within(&object.gate().claim, fat_pool, patience)
    }

    /// Whether it was locked a moment ago.
    ///
    /// # Safety
    /// As above.
    #[must_use]
    pub unsafe fn is_locked(object: &Object) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.is_locked()
    }

    /// Whether a thread waits that will lock it.
    ///
    /// # Safety
    /// As above, and the caller holds the object.
    #[must_use]
    pub unsafe fn has_waiters(object: &Object, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.has_waiters(&object.gate().claim, fat_pool)
    }
}

/// The [`Service`] of the locks of a [`FatPool`], an expression that is evaluated at each call;
/// how it is locked, a function of [`inflated`](crate::host::served::inflated); what they need, and what moves
/// their caches, functions.
#[macro_export]
macro_rules! service_of_fat_pool {
    ($fat_pool:expr, $lock:expr, $needs:expr, $move_caches:expr) => {
        $crate::host::served::Inflating {
            pair: $crate::host::served::Pair {
                // SAFETY: passed on.
                lock: |object| unsafe { $lock(object, $fat_pool) },
                // SAFETY: passed on.
                unlock: |object| unsafe {
                    $crate::host::served::inflated::unlock(object, $fat_pool)
                },
            },
            // SAFETY: passed on.
            try_lock: |object| unsafe {
                $crate::host::served::inflated::try_lock(object, $fat_pool)
            },
            // SAFETY: passed on.
            lock_within: |object, patience| unsafe {
                $crate::host::served::inflated::lock_within(object, $fat_pool, patience)
            },
            needs: $needs,
            move_caches: $move_caches,
            // SAFETY: passed on.
            unlock_held: |object| unsafe {
                $crate::host::served::inflated::unlock_held(object, $fat_pool)
            },
            // SAFETY: passed on.
            has_waiters: |object| unsafe {
                $crate::host::served::inflated::has_waiters(object, $fat_pool)
            },
            // SAFETY: passed on.
            forget: |object| unsafe {
                $crate::host::served::inflated::unlock(object, $fat_pool);
            },
        }
        .service()
    };
}

/// What differs between services of inflated locks; see
/// [`service_of_fat_pool!`](crate::service_of_fat_pool).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Inflating {
    pub pair: Pair,
    pub try_lock: unsafe fn(&Object) -> bool,
    pub lock_within: unsafe fn(&Object, &Patience) -> bool,
    pub needs: fn() -> Needs,
    pub move_caches: fn(u32),
    pub unlock_held: unsafe fn(&Object) -> bool,
    pub has_waiters: unsafe fn(&Object) -> bool,
    pub forget: unsafe fn(&Object),
}

impl Inflating {
    /// The service.
    #[must_use]
    pub const fn service(self) -> Service {
        Service {
            pair: self.pair,
            try_lock: self.try_lock,
            lock_within: self.lock_within,
            is_locked: inflated::is_locked,
            generation: Some(Inflated::GENERATION as u32),
            needs: self.needs,
            #[cfg(feature = "several")]
            move_caches: self.move_caches,
            #[cfg(feature = "writers")]
            unlock_held: Some(self.unlock_held),
            #[cfg(feature = "writers")]
            has_waiters: self.has_waiters,
            // All but a holder is forgotten first.
            #[cfg(feature = "writers")]
            forget: self.forget,
        }
    }
}

/// The default lock, in the object's first word; with its queues or without them.
const WORD: Service = {
    fn lock(object: &Object) -> i32 {
        // SAFETY: the word has no contexts, and an object that is in use stays where it is; so below.
        unsafe { object.word.acquire(&()) };
        0
    }
    fn unlock(object: &Object) -> i32 {
        if object.word.is_locked() {
            // SAFETY: locked, and the caller may unlock.
            unsafe { object.word.release(&()) };
        }
        0
    }
    fn try_lock(object: &Object) -> bool {
        // SAFETY: as above.
        unsafe { object.word.try_acquire(&()) }
    }
    fn lock_within(object: &Object, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { object.word.acquire_within(&(), patience) == Outcome::Acquired }
    }
    fn is_locked(object: &Object) -> bool {
        object.word.is_locked()
    }
    /// # Safety
    /// As [`Service::forget`].
    #[cfg(feature = "writers")]
    unsafe fn forget(object: &Object) {
        use cohort_raw::Inherit;
        // SAFETY: the caller's.
        unsafe { object.word.inherit(None) };
    }
    Service {
        pair: Pair { lock, unlock },
        try_lock,
        lock_within,
        is_locked,
        generation: None,
        needs: || Needs {
            bytes: own_pool_bytes(),
            inflated: 0,
        },
        #[cfg(feature = "several")]
        move_caches: |_| (),
        #[cfg(feature = "writers")]
        unlock_held: None,
        #[cfg(feature = "writers")]
        has_waiters: |_| false,
        #[cfg(feature = "writers")]
        forget,
    }
};

/// A lock that the interposer has only where it need not be small.
#[cfg(feature = "writers")]
macro_rules! apart {
    ($lock:ty) => {
        Some(services!(@Inflated $lock))
    };
}
#[cfg(not(feature = "writers"))]
macro_rules! apart {
    ($lock:ty) => {
        None
    };
}

/// How many there are up to the last that there is.
const fn served(all: &[Option<Service>]) -> usize {
    let mut count = all.len();
    while count > 0 && all[count - 1].is_none() {
        count -= 1;
    }
    count
}

/// That many: what nobody reads would be in every process.
const fn up_to_the_last<const COUNT: usize>(all: &[Option<Service>]) -> [Option<Service>; COUNT] {
    let mut some = [None; COUNT];
    let mut at = 0;
    while at < COUNT {
        some[at] = all[at];
        at += 1;
    }
    some
}

/// What serves programs by the lock at that place of the catalogue, if anything does.
#[must_use]
pub fn at(place: usize) -> Option<&'static Service> {
    SERVICES.get(place)?.as_ref()
}

macro_rules! services {
    ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        const ALL: &[Option<Service>] = &[$(services!(?$storage $lock)),+];

        /// Every lock, as in the catalogue, up to the last that serves programs; none for those
        /// before it that serve none, or not from here.
        pub static SERVICES: &[Option<Service>] = &up_to_the_last::<{ served(ALL) }>(ALL);
    };

    (?Nowhere $lock:ty) => { None };
    (?Apart $lock:ty) => { apart!($lock) };
    (?$storage:ident $lock:ty) => { Some(services!(@$storage $lock)) };

    (@Word $lock:ty) => { WORD };

    (@InPlace $lock:ty) => {{
        pool!(static RECORDS_OF: Holding<<$lock as RawLock>::Context>, cache RECORDS);
        Service {
            pair: Pair {
                // SAFETY: passed on.
                lock: |object| unsafe {
                    in_place::lock::<$lock>(object, |object| {
                        in_place::lock_slowly::<$lock>(object, &RECORDS_OF)
                    })
                },
                // SAFETY: passed on.
                unlock: |object| unsafe {
                    in_place::unlock::<$lock>(object, |object| {
                        in_place::unlock_slowly::<$lock>(object, &RECORDS_OF)
                    })
                },
            },
            // SAFETY: passed on.
            try_lock: |object| unsafe {
                object.body::<InPlace<$lock>>().try_lock(object.gate(), &RECORDS_OF)
            },
            lock_within: |object, patience| {
                // SAFETY: passed on.
                unsafe { in_place::Timed::<$lock>::lock_within(object, &RECORDS_OF, patience) }
            },
            // SAFETY: passed on.
            is_locked: |object| unsafe { object.body::<InPlace<$lock>>() }.is_locked(),
            generation: Some(InPlace::<$lock>::GENERATION as u32),
            needs: || Needs {
                bytes: RECORDS_OF.bytes() + own_pool_bytes(),
                inflated: 0,
            },
            #[cfg(feature = "several")]
            move_caches: |by| RECORDS_OF.move_caches(by),
            #[cfg(feature = "writers")]
            unlock_held: None,
            #[cfg(feature = "writers")]
            has_waiters: |_| false,
            // SAFETY: passed on; all but a holder is forgotten first.
            #[cfg(feature = "writers")]
            forget: |object| unsafe {
                in_place::unlock_slowly::<$lock>(object, &RECORDS_OF);
            },
        }
    }};

    (@Inflated $lock:ty) => {{
        type Record = Holding<<$lock as RawLock>::Context>;
        process_wide!(static RECORDS_OF: Seldom<Record> = Seldom::new);
        process_wide!(static FATS_OF: Seldom<Fat<$lock>> = Seldom::new);
        type Records = &'static Static<Seldom<Record>>;
        type Fats = &'static Static<Seldom<Fat<$lock>>>;
        type Way = Able<$lock>;
        type Store = Pooled<$lock, Records, Fats, { Way::ABORTABLE }, { Way::ADAPTS }>;
        static FAT_POOL: Store =
            Store::able(&RECORDS_OF, &FATS_OF, Way::ACQUIRE_WITHIN, Way::ADAPTING);
        const LOCK: unsafe fn(&Object, &dyn FatPool) -> i32 = if Way::ADAPTS {
            inflated::lock_adapting
        } else {
            inflated::lock
        };
        crate::service_of_fat_pool!(&FAT_POOL, LOCK, || Needs {
            bytes: RECORDS_OF.bytes() + FATS_OF.bytes() + own_pool_bytes(),
            inflated: FATS_OF.get().used(),
        }, |_by| {
            #[cfg(feature = "several")]
            {
                RECORDS_OF.get().move_caches(_by);
                FATS_OF.get().move_caches(_by);
            }
        })
    }};
}
crate::for_each_lock!(services);
