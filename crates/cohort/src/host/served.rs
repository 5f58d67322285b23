//! Each lock of the catalogue as a value: the functions by which it serves a program's object, such
//! as a `pthread_mutex_t`.
//!
//! | bytes of the object | contents |
//! |---|---|
//! | 0–7 | the [default lock](FutexHmcs); under another lock, its [`Gate`] and [`Returning`] threads |
//! | 8–23 | the face's: a kind, an owner, a count; untouched by services |
//! | 24–39 | any other lock, [`InPlace`] or [`Inflated`]; under the default, its `Returning` threads |
//!
//! An inflated lock uses only the claim in the gate. All bytes but the face's are zero at rest,
//! except the [`Generation`](super::Generation) of the last use. A process serves all objects by
//! one lock, so each word has one meaning, and all locks can share the threads' caches of records.
//! Exceptions are objects with an [assigned](super::assigned) lock: its records are in other
//! caches, by `move_caches`.

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

/// The threads' cache of records, shared by all locks: a process uses one lock for its objects, or
/// moves the caches of the others. Further caches are for fat locks, condition waiters,
/// [kept](crate::support::context) contexts, and the locks' own pools.
const RECORDS: usize = 0;

/// 40 bytes with the layout of the module's table; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Object {
    /// The default lock.
    pub word: FutexHmcs,
    face: UnsafeCell<[u64; 2]>,
    body: UnsafeCell<[u64; 2]>,
}

const _: () = assert!(size_of::<Object>() == 40 && align_of::<Object>() == 8);

// SAFETY: the face synchronises its own bytes; the others are atomics.
unsafe impl Sync for Object {}

/// The functions that lock and unlock an object.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Blocks until the object is locked; returns 0, so that a C function can end in this call.
    pub lock: unsafe fn(&Object) -> i32,
    /// Unlocks the object if it is locked; returns 0.
    pub unlock: unsafe fn(&Object) -> i32,
}

/// The functions of one lock. Each accepts only objects that this lock alone has served; `unlock`
/// only from a thread entitled to unlock.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The functions on the fast path.
    pub pair: Pair,
    /// Locks the object if it is free.
    pub try_lock: unsafe fn(&Object) -> bool,
    /// Blocks until the object is locked, or until patience runs out: then false.
    pub lock_within: unsafe fn(&Object, &Patience) -> bool,
    /// Whether the object was locked at the time of the read.
    pub is_locked: unsafe fn(&Object) -> bool,
    /// The offset of the lock's generation in the object's [body](Object), if it has one.
    pub generation: Option<u32>,
    /// Memory used by the process's objects.
    pub needs: fn() -> Needs,
    /// Moves the lock's records to the threads' caches that many places further. To be called
    /// before the lock serves its first object, in a process with several locks.
    #[cfg(feature = "several")]
    pub move_caches: fn(u32),
    /// Unlocks the object; false if it was not locked. None if only a check beforehand can tell.
    #[cfg(feature = "writers")]
    pub unlock_held: Option<unsafe fn(&Object) -> bool>,
    /// Whether the object has a committed waiter; false too if the lock cannot tell.
    #[cfg(feature = "writers")]
    pub has_waiters: unsafe fn(&Object) -> bool,
    /// In a forked child, forgets the threads at an object that no thread of this process uses.
    #[cfg(feature = "writers")]
    pub forget: unsafe fn(&Object),
}

/// Memory used by the process's objects, without their own bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Bytes of nodes, records and inflated locks.
    pub bytes: usize,
    /// Inflated locks.
    pub inflated: u32,
}

impl Object {
    /// The size of the part that services leave untouched.
    pub const FACE: usize = 16;

    /// The address of that part.
    #[must_use]
    pub const fn face(&self) -> *mut u8 {
        self.face.get().cast()
    }

    /// Views the body as a lock.
    ///
    /// # Safety
    /// The body is all zero, or has been used only as a `T` since it was.
    unsafe fn body<T>(&self) -> &T {
        const {
            assert!(size_of::<T>() <= 16);
            assert!(align_of::<T>() <= 8);
        }
        // SAFETY: the caller's; the bytes are in a cell.
        unsafe { &*self.body.get().cast() }
    }

    /// The gate of a lock in the body; an inflated lock uses only its claim.
    fn gate(&self) -> &Gate {
        const { assert!(size_of::<Gate>() <= size_of::<FutexHmcs>()) };
        // SAFETY: both are words without invalid values, and a process uses only one of them.
        unsafe { &*ptr::from_ref(&self.word).cast() }
    }

    /// The threads at conditions, for a lock with a gate.
    fn behind_gate(&self) -> &Returning {
        const { assert!(size_of::<Gate>() + size_of::<Returning>() <= size_of::<FutexHmcs>()) };
        // SAFETY: a word of the object, all zero at first, without other users in a process whose
        // lock is not the default.
        unsafe { &*ptr::from_ref(&self.word).byte_add(size_of::<Gate>()).cast() }
    }

    /// Records that the calling thread is locking the object, or has locked it.
    #[inline(always)]
    pub fn hold(&self) {
        thread().holds.set(ptr::from_ref(self).addr());
    }

    /// Whether the calling thread is recorded as the object's holder.
    fn is_known_held(&self) -> bool {
        thread().holds.get() == ptr::from_ref(self).addr()
    }

    /// Records that the calling thread is about to unlock the object; returns whether its release
    /// owes a wake-up to a requeued thread.
    #[inline(always)]
    fn owes_at_unlock(&self) -> bool {
        if self.is_known_held() {
            thread().holds.set(0);
        }
        !self.behind_gate().owes_nothing()
    }
}

impl Service {
    /// Whether this is the lock in the object's first word, which requeues condition waiters
    /// itself.
    #[must_use]
    pub fn is_word(&self) -> bool {
        // It is the first of the catalogue.
        SERVICES[0].as_ref().is_some_and(|word| ptr::eq(self, word))
    }

    /// The condition waiters that will lock the object: a word of the object that its lock does not
    /// use.
    ///
    /// # Safety
    /// This lock serves the object; so for all below.
    #[must_use]
    pub unsafe fn returning<'a>(&self, object: &'a Object) -> &'a Returning {
        if self.is_word() {
            // SAFETY: that lock does not use the body, which is zero at first.
            unsafe { object.body() }
        } else {
            object.behind_gate()
        }
    }

    /// Requeues a thread that sleeps at `place`, if that holds `seen`, at the object. False if the
    /// thread has to be woken.
    ///
    /// If the lock's sleepers have places of their own, the caller has to hold the object: a
    /// release might be in progress otherwise.
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

/// Returns 0, for functions in tail position. If the result were known to be constant, callers
/// would build a frame and call instead of jumping.
#[must_use]
pub fn done() -> i32 {
    hint::black_box(0)
}

/// Objects with a lock in place. The fast path is inlined, and the rest is out of line: an
/// uncontended acquisition cannot afford the frame of the slow path.
mod in_place {
    use super::*;

    /// # Safety
    /// The object is served by `L` only.
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
    pub unsafe fn lock_slow<L: Served + QuickRelease>(
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
        match unsafe { object.body::<InPlace<L>>().unlock_quick(object.gate()) } {
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
    pub unsafe fn unlock_slow<L: Served + QuickRelease>(
        object: &Object,
        records: &impl Pool<Holding<L::Context>>,
    ) -> i32 {
        // SAFETY: the caller's.
        unsafe { object.body::<InPlace<L>>().unlock(object.gate(), records) };
        done()
    }

    /// Timed acquisition: at the lock if its waiters can give up, otherwise at the claim beside it.
    /// The choice depends on method resolution, which prefers an inherent function over a trait's
    /// if its bounds are met; so code generic over `L` cannot make it.
    pub struct Timed<L>(PhantomData<L>);

    impl<L: Served + QuickRelease + Abortable> Timed<L> {
        /// Blocks until the object is locked, or until patience runs out: then false.
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

    /// [`Timed`] for a lock without timed waiters.
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

/// Objects with a lock that is inflated under contention. All locks share this code, and differ in the
/// fat pool.
pub mod inflated {
    use super::*;

    /// Blocks until the object is locked; returns 0.
    ///
    /// # Safety
    /// The object is served from that fat pool only; so for all below.
    #[inline(never)]
    pub unsafe fn lock(object: &Object, fat_pool: &dyn FatPool) -> i32 {
        object.hold();
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.lock(&object.gate().claim, fat_pool);
        0
    }

    /// The same for an adaptive lock.
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

    /// Unlocks the object if it is locked; returns 0.
    ///
    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(never)]
    pub unsafe fn unlock(object: &Object, fat_pool: &dyn FatPool) -> i32 {
        // SAFETY: passed on.
        unsafe { release(object, fat_pool) };
        0
    }

    /// Unlocks the object; false if it was not locked.
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

    /// Locks the object if it is free.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    #[must_use]
    pub unsafe fn try_lock(object: &Object, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.try_lock(&object.gate().claim, fat_pool)
    }

    /// Blocks until the object is locked, or until patience runs out: then false.
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

    /// Whether the object was locked at the time of the read.
    ///
    /// # Safety
    /// As above.
    #[must_use]
    pub unsafe fn is_locked(object: &Object) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.is_locked()
    }

    /// Whether the object has a committed waiter.
    ///
    /// # Safety
    /// As above, and the caller holds the object.
    #[must_use]
    pub unsafe fn has_waiters(object: &Object, fat_pool: &dyn FatPool) -> bool {
        // SAFETY: the caller's.
        unsafe { object.body::<Inflated>() }.has_waiters(&object.gate().claim, fat_pool)
    }
}

/// The [`Service`] of the locks of a [`FatPool`], an expression evaluated at each call. `$lock` is
/// a function of [`inflated`](crate::host::served::inflated); `$needs` and `$move_caches` are
/// functions of the service.
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

/// The variable part of an inflated lock's service; see
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
    /// The complete service.
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
            // Forgets all threads but a holder; then unlocks.
            #[cfg(feature = "writers")]
            forget: self.forget,
        }
    }
}

/// The default lock, in the object's first word, with or without its queues.
const WORD: Service = {
    fn lock(object: &Object) -> i32 {
        // SAFETY: the word has no contexts, and an object in use does not move; so below.
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

/// A lock that the interposer omits where it has to be small.
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

/// The number of entries up to the last service.
const fn served(all: &[Option<Service>]) -> usize {
    let mut count = all.len();
    while count > 0 && all[count - 1].is_none() {
        count -= 1;
    }
    count
}

/// The first entries: the rest would be unused data in every process.
const fn up_to_the_last<const COUNT: usize>(all: &[Option<Service>]) -> [Option<Service>; COUNT] {
    let mut some = [None; COUNT];
    let mut at = 0;
    while at < COUNT {
        some[at] = all[at];
        at += 1;
    }
    some
}

/// The service of the lock at that place of the catalogue, if it has one.
#[must_use]
pub fn at(place: usize) -> Option<&'static Service> {
    SERVICES.get(place)?.as_ref()
}

macro_rules! services {
    ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        const ALL: &[Option<Service>] = &[$(services!(?$storage $lock)),+];

        /// All locks in the catalogue's order, up to the last with a service; none for locks
        /// without one, or with a service elsewhere.
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
                        in_place::lock_slow::<$lock>(object, &RECORDS_OF)
                    })
                },
                // SAFETY: passed on.
                unlock: |object| unsafe {
                    in_place::unlock::<$lock>(object, |object| {
                        in_place::unlock_slow::<$lock>(object, &RECORDS_OF)
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
            // SAFETY: passed on; all threads but a holder are forgotten first.
            #[cfg(feature = "writers")]
            forget: |object| unsafe {
                in_place::unlock_slow::<$lock>(object, &RECORDS_OF);
            },
        }
    }};

    (@Inflated $lock:ty) => {{
        type Record = Holding<<$lock as RawLock>::Context>;
        process_wide!(static RECORDS_OF: Seldom<Record> = Seldom::new);
        process_wide!(static FATS_OF: Seldom<Fat<$lock>> = Seldom::new);
        type Records = &'static Static<Seldom<Record>>;
        type Fats = &'static Static<Seldom<Fat<$lock>>>;
        type Abilities = Able<$lock>;
        type Store = Pooled<$lock, Records, Fats, { Abilities::ABORTABLE }, { Abilities::ADAPTS }>;
        static FAT_POOL: Store =
            Store::able(&RECORDS_OF, &FATS_OF, Abilities::ACQUIRE_WITHIN, Abilities::ADAPTING);
        const LOCK: unsafe fn(&Object, &dyn FatPool) -> i32 = if Abilities::ADAPTS {
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
