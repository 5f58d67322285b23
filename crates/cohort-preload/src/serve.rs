//! The chosen lock in a mutex's bytes: acquire, try, release, whatever it is.

use crate::layout::Mutex;
#[cfg(feature = "compositions")]
use cohort::Inherit;
use cohort::catalogue::own_pool_bytes;
use cohort::compose::stacked::{Recipe, Stacked, Text};
use cohort::door::{AtomicU32 as Word, thread};
use cohort::host::{
    Arena, Fat, Gate, Holding, InPlace, Inflated, Pool, Pooled, Returning, Seldom, Served, Stock,
};
use cohort::numa::FutexHmcs;
use cohort::{Abortable, Outcome, Patience, Quick, RawLock, RawTry};
use core::ffi::c_int;
use core::mem::offset_of;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use core::{hint, ptr};

/// The threads' caches of records, which all locks share, since a process uses one for its
/// mutexes; and of waiters at conditions.  (The others are those of fat locks and of pools
/// that locks have themselves.)
const RECORDS: usize = 0;
pub const WAITERS: usize = 2;

/// How a mutex is locked and unlocked.
pub struct Pair {
    /// Blocks until the mutex is locked; 0, as the C function returns.
    pub lock: unsafe fn(&Mutex) -> c_int,
    /// Unlocks the mutex, or leaves alone one that nobody had locked; 0.
    pub unlock: unsafe fn(&Mutex) -> c_int,
}

/// One lock, as it serves mutexes.  Each function may be called only with mutexes that
/// this lock alone has served; `unlock` only by whoever may unlock.
pub struct Service {
    /// What has to be short.
    pub pair: Pair,
    /// Locks the mutex if nobody has.
    pub try_lock: unsafe fn(&Mutex) -> bool,
    /// Blocks until the mutex is locked or patience runs out; false then.
    pub lock_within: unsafe fn(&Mutex, &Patience) -> bool,
    /// Whether the mutex was locked a moment ago.
    pub is_locked: unsafe fn(&Mutex) -> bool,
    /// Where in the mutex's spare bytes the lock notes in which process it is used, if it does.
    pub generation: Option<usize>,
    /// What the process's mutexes needed so far.
    pub needs: fn() -> Needs,
    /// Whether somebody waits who will lock the mutex; false too where nobody can tell.
    #[cfg(feature = "compositions")]
    pub has_waiters: unsafe fn(&Mutex) -> bool,
    /// In a forked child, forgets whoever was at a mutex that nobody of this process is at.
    #[cfg(feature = "compositions")]
    pub forget: unsafe fn(&Mutex),
}

/// What the process's mutexes needed so far beside their own bytes.
#[derive(Default)]
pub struct Needs {
    /// Bytes of nodes, records and inflated locks.
    pub bytes: usize,
    /// Inflated locks.
    pub inflated: u32,
}

/// Views a mutex's spare bytes as an object.
///
/// # Safety
/// They are all zero or have only ever been a `T` since they were.
unsafe fn body<T>(mutex: &Mutex) -> &T {
    const {
        assert!(size_of::<T>() <= 16);
        assert!(align_of::<T>() <= 8);
    }
    // SAFETY: the caller's; the bytes are in a cell.
    unsafe { &*mutex.body.get().cast() }
}

/// The gate of a lock in the mutex's spare bytes, where the default lock would be; of an
/// inflated one only the claim.
fn gate(mutex: &Mutex) -> &Gate {
    const { assert!(size_of::<Gate>() <= size_of::<FutexHmcs>()) };
    // SAFETY: both are words that are good whatever they hold, and a process that does
    // not use the one uses the other.
    unsafe { &*ptr::from_ref(&mutex.futex).cast() }
}

/// Where a lock with a gate keeps the mutex's threads at conditions.
fn behind_gate(mutex: &Mutex) -> &Returning {
    const { assert!(size_of::<Gate>() + size_of::<Returning>() <= size_of::<FutexHmcs>()) };
    // SAFETY: a word of the mutex's, all zero at first, that nobody uses for anything else
    // in a process whose lock is not the default.
    unsafe {
        &*ptr::from_ref(&mutex.futex)
            .byte_add(size_of::<Gate>())
            .cast()
    }
}

/// Notes that the calling thread is locking the mutex, or has locked it.
#[inline(always)]
pub fn hold(mutex: &Mutex) {
    thread().holds.set(ptr::from_ref(mutex).addr());
}

/// Whether the calling thread is known to hold the mutex.
fn holds(mutex: &Mutex) -> bool {
    thread().holds.get() == ptr::from_ref(mutex).addr()
}

impl Service {
    /// Whether it is the lock in the mutex's first word, which has its own way to adopt
    /// threads that come back from conditions.
    pub fn is_word(&self) -> bool {
        // The catalogue's first one; see `crate::choice`.
        SERVICES[0].as_ref().is_some_and(|word| ptr::eq(self, word))
    }

    /// The threads that wait at conditions and will lock the mutex then: a word of the
    /// mutex that its lock leaves alone.
    ///
    /// # Safety
    /// This lock serves the mutex; so for all below.
    pub unsafe fn returning<'a>(&self, mutex: &'a Mutex) -> &'a Returning {
        if self.is_word() {
            // SAFETY: that lock leaves the body alone, which is zero at first.
            unsafe { body(mutex) }
        } else {
            behind_gate(mutex)
        }
    }

    /// Makes a thread that sleeps on a word, while that holds a value, one of the mutex's
    /// sleepers; false if the thread has to be woken.
    ///
    /// Where a lock's sleepers each have a place of their own, only a thread that holds the
    /// mutex can: the release might be under way.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn adopt(&self, mutex: &Mutex, place: &Word, seen: u32) -> bool {
        if self.is_word() {
            mutex.futex.adopt(place, seen)
        } else {
            holds(mutex) && behind_gate(mutex).adopt(place, seen)
        }
    }
}

/// Notes that the calling thread is about to unlock the mutex; whether that owes a thread
/// that the mutex has adopted a wake-up.
#[inline(always)]
fn owes_at_unlock(mutex: &Mutex) -> bool {
    if holds(mutex) {
        thread().holds.set(0);
    }
    !behind_gate(mutex).owes_nothing()
}

/// 0, which a function returns that others end in: were it known to be constant, they
/// would call it, and build a frame for that, rather than jump to it.
pub fn done() -> c_int {
    hint::black_box(0)
}

/// A mutex that is in place: what is short at once, and the rest in functions of its
/// own, since an uncontended lock cannot afford what those need.
mod in_place {
    use super::*;

    pub type Records<L> = Arena<Holding<<L as RawLock>::Context>>;

    /// # Safety
    /// The mutex is only ever served by `L`.
    #[inline(always)]
    pub unsafe fn lock<L: Served>(mutex: &Mutex, slowly: unsafe fn(&Mutex) -> c_int) -> c_int {
        hold(mutex);
        // SAFETY: the caller's.
        if unsafe { body::<InPlace<L>>(mutex) }.lock_untouched() {
            return 0;
        }
        // SAFETY: passed on.
        unsafe { slowly(mutex) }
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn lock_slowly<L: Served>(mutex: &Mutex, records: &Records<L>) -> c_int {
        // SAFETY: the caller's.
        unsafe { body::<InPlace<L>>(mutex) }.lock(gate(mutex), records);
        done()
    }

    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(always)]
    pub unsafe fn unlock<L: Served>(mutex: &Mutex, slowly: unsafe fn(&Mutex) -> c_int) -> c_int {
        if owes_at_unlock(mutex) {
            // SAFETY: passed on.
            return unsafe { unlock_and_wake(mutex, slowly) };
        }
        let place = ptr::from_ref(mutex);
        // SAFETY: the caller's.
        match unsafe { body::<InPlace<L>>(mutex).unlock_quickly(gate(mutex)) } {
            Quick::Released => 0,
            Quick::MarkLost => wake_everybody::<L>(place),
            // SAFETY: passed on.
            Quick::Refused => unsafe { slowly(mutex) },
        }
    }

    /// # Safety
    /// As above.
    #[cold]
    #[inline(never)]
    unsafe fn unlock_and_wake(mutex: &Mutex, slowly: unsafe fn(&Mutex) -> c_int) -> c_int {
        // SAFETY: passed on.
        behind_gate(mutex).release(|| unsafe { slowly(mutex) })
    }

    #[cold]
    #[inline(never)]
    fn wake_everybody<L: Served>(place: *const Mutex) -> c_int {
        let body = place.wrapping_byte_add(offset_of!(Mutex, body));
        InPlace::<L>::wake_everybody(body.cast());
        done()
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn unlock_slowly<L: Served>(mutex: &Mutex, records: &Records<L>) -> c_int {
        // SAFETY: the caller's.
        unsafe { body::<InPlace<L>>(mutex).unlock(gate(mutex), records) };
        done()
    }
}

/// A mutex that is inflated while it is contended: the same code for all locks, which
/// differ in their stock.
pub mod inflated {
    use super::*;

    /// # Safety
    /// The mutex is only ever served from that stock; so for all below.
    #[inline(never)]
    pub unsafe fn lock(mutex: &Mutex, stock: &dyn Stock) -> c_int {
        hold(mutex);
        // SAFETY: the caller's.
        unsafe { body::<Inflated>(mutex) }.lock(&gate(mutex).claim, stock);
        0
    }

    /// # Safety
    /// As above, and the caller may unlock.
    #[inline(never)]
    pub unsafe fn unlock(mutex: &Mutex, stock: &dyn Stock) -> c_int {
        // SAFETY: the caller's.
        let unlock = || unsafe { body::<Inflated>(mutex).unlock(&gate(mutex).claim, stock) };
        if owes_at_unlock(mutex) {
            behind_gate(mutex).release(unlock);
        } else {
            unlock();
        }
        0
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn try_lock(mutex: &Mutex, stock: &dyn Stock) -> bool {
        // SAFETY: the caller's.
        unsafe { body::<Inflated>(mutex) }.try_lock(&gate(mutex).claim, stock)
    }

    /// # Safety
    /// As above.
    #[inline(never)]
    pub unsafe fn lock_within(mutex: &Mutex, stock: &dyn Stock, patience: &Patience) -> bool {
        // SAFETY: the caller's.
        let body = unsafe { body::<Inflated>(mutex) };
        body.lock_within(&gate(mutex).claim, stock, patience)
    }

    /// # Safety
    /// As above.
    pub unsafe fn is_locked(mutex: &Mutex) -> bool {
        // SAFETY: the caller's.
        unsafe { body::<Inflated>(mutex) }.is_locked()
    }

    /// # Safety
    /// As above, and the caller holds the mutex.
    #[cfg(feature = "compositions")]
    pub unsafe fn has_waiters(mutex: &Mutex, stock: &dyn Stock) -> bool {
        // SAFETY: the caller's.
        unsafe { body::<Inflated>(mutex) }.has_waiters(&gate(mutex).claim, stock)
    }
}

/// The default lock, in the mutex's first word; with its queues or without them.
const WORD: Service = {
    fn lock(mutex: &Mutex) -> c_int {
        mutex.futex.acquire(&());
        0
    }
    fn unlock(mutex: &Mutex) -> c_int {
        if mutex.futex.is_locked() {
            // SAFETY: locked, and the caller may unlock.
            unsafe { mutex.futex.release(&()) };
        }
        0
    }
    fn try_lock(mutex: &Mutex) -> bool {
        mutex.futex.try_acquire(&())
    }
    fn lock_within(mutex: &Mutex, patience: &Patience) -> bool {
        mutex.futex.acquire_within(&(), patience) == Outcome::Acquired
    }
    fn is_locked(mutex: &Mutex) -> bool {
        mutex.futex.is_locked()
    }
    /// # Safety
    /// As [`Service::forget`].
    #[cfg(feature = "compositions")]
    unsafe fn forget(mutex: &Mutex) {
        // SAFETY: the caller's.
        unsafe { mutex.futex.inherit(None) };
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
        #[cfg(feature = "compositions")]
        has_waiters: |_| false,
        #[cfg(feature = "compositions")]
        forget,
    }
};

macro_rules! served {
    ($($name:ident, $lock:ty, $placement:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        /// Every lock, as in the catalogue; none for those that serve no program.
        pub static SERVICES: &[Option<Service>] = &[$(served!(?$placement $lock, $capabilities)),+];
    };

    (?Nowhere $lock:ty, $capabilities:tt) => { None };
    (?$placement:ident $lock:ty, $capabilities:tt) => { Some(served!(@$placement $lock, $capabilities)) };

    (@Word $lock:ty, $capabilities:tt) => { WORD };

    (@InPlace $lock:ty, $capabilities:tt) => {{
        static RECORDS_OF: in_place::Records<$lock> = Arena::new(RECORDS);
        Service {
            pair: Pair {
                // SAFETY: passed on.
                lock: |mutex| unsafe {
                    in_place::lock::<$lock>(mutex, |mutex| {
                        in_place::lock_slowly::<$lock>(mutex, &RECORDS_OF)
                    })
                },
                // SAFETY: passed on.
                unlock: |mutex| unsafe {
                    in_place::unlock::<$lock>(mutex, |mutex| {
                        in_place::unlock_slowly::<$lock>(mutex, &RECORDS_OF)
                    })
                },
            },
            // SAFETY: passed on.
            try_lock: |mutex| unsafe {
                body::<InPlace<$lock>>(mutex).try_lock(gate(mutex), &RECORDS_OF)
            },
            lock_within: served!(@within $lock, RECORDS_OF, $capabilities),
            // SAFETY: passed on.
            is_locked: |mutex| unsafe { body::<InPlace<$lock>>(mutex) }.is_locked(),
            generation: Some(InPlace::<$lock>::GENERATION),
            needs: || Needs {
                bytes: RECORDS_OF.bytes() + own_pool_bytes(),
                inflated: 0,
            },
            #[cfg(feature = "compositions")]
            has_waiters: |_| false,
            #[cfg(feature = "compositions")]
            // SAFETY: passed on; all but a holder is forgotten first.
            forget: |mutex| unsafe {
                in_place::unlock_slowly::<$lock>(mutex, &RECORDS_OF);
            },
        }
    }};

    (@within $lock:ty, $records:ident, [RawTry, Abortable $($rest:tt)*]) => {
        |mutex, patience| {
            // SAFETY: passed on.
            unsafe { body::<InPlace<$lock>>(mutex) }.lock_within(gate(mutex), &$records, patience)
        }
    };

    (@within $lock:ty, $records:ident, $capabilities:tt) => {
        |mutex, patience| {
            // SAFETY: passed on.
            unsafe { body::<InPlace<$lock>>(mutex) }
                .claim_within(gate(mutex), &$records, patience)
        }
    };

    (@Inflated $lock:ty, $capabilities:tt) => {{
        static RECORDS_OF: Seldom<Holding<<$lock as RawLock>::Context>> = Seldom::new();
        static FATS_OF: Seldom<Fat<$lock>> = Seldom::new();
        static STOCK: Pooled<$lock, &Seldom<Holding<<$lock as RawLock>::Context>>, &Seldom<Fat<$lock>>> =
            Pooled::new(&RECORDS_OF, &FATS_OF);
        Service {
            pair: Pair {
                // SAFETY: passed on.
                lock: |mutex| unsafe { inflated::lock(mutex, &STOCK) },
                // SAFETY: passed on.
                unlock: |mutex| unsafe { inflated::unlock(mutex, &STOCK) },
            },
            // SAFETY: passed on.
            try_lock: |mutex| unsafe { inflated::try_lock(mutex, &STOCK) },
            // SAFETY: passed on.
            lock_within: |mutex, patience| unsafe {
                inflated::lock_within(mutex, &STOCK, patience)
            },
            is_locked: inflated::is_locked,
            generation: Some(Inflated::GENERATION),
            needs: || Needs {
                bytes: RECORDS_OF.bytes() + FATS_OF.bytes() + own_pool_bytes(),
                inflated: FATS_OF.used(),
            },
            #[cfg(feature = "compositions")]
            // SAFETY: passed on.
            has_waiters: |mutex| unsafe { inflated::has_waiters(mutex, &STOCK) },
            #[cfg(feature = "compositions")]
            // SAFETY: passed on; all but a holder is forgotten first.
            forget: |mutex| unsafe {
                inflated::unlock(mutex, &STOCK);
            },
        }
    }};
}
cohort::for_each_lock!(served);

/// A composition that a text describes: [`set_recipe`] has said which, before this serves.
pub static COMPOSITION: Service = served!(@Inflated Stacked<Said>, [RawTry]);

/// The recipe, in words.
static RECIPE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Says what [`COMPOSITION`] is; whoever publishes afterwards that it serves publishes
/// this too.  Threads that say it at once say the same.
pub fn set_recipe(recipe: &Recipe) {
    for (place, word) in RECIPE.iter().zip(recipe.to_words()) {
        place.store(word, Relaxed);
    }
}

/// The recipe that [`set_recipe`] was told.
pub struct Said;

impl Text for Said {
    fn recipe() -> Recipe {
        Recipe::of_words(RECIPE.each_ref().map(|word| word.load(Relaxed)))
    }
}
