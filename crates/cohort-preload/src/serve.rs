//! The chosen lock in a mutex's bytes: acquire, try, release, whatever it is.

use crate::choice::Choice;
use crate::layout::Mutex;
use cohort::basic::futex::Futex;
use cohort::catalogue::own_pool_bytes;
use cohort::door::{Advice, Spinner, expired, nap};
use cohort::host::{Arena, Fat, Gate, Holding, InPlace, Inflated, Pool};
use cohort::{Abortable, Deadline, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::ptr;

/// The threads' caches; a process uses one lock for its mutexes, so all locks
/// share the first and third.  (`clh` has the second for its nodes.)
const RECORDS: usize = 0;
pub const WAITERS: usize = 2;
const FATS: usize = 3;

/// A lock that may stand in a mutex: how, and with which pools.
trait Served: RawTry + ThreadOblivious + Inherit + 'static
where
    Self::Context: 'static,
{
    unsafe fn lock(mutex: &Mutex);
    unsafe fn try_lock(mutex: &Mutex) -> bool;
    unsafe fn unlock(mutex: &Mutex) -> bool;
    unsafe fn is_locked(mutex: &Mutex) -> bool;
    fn needs() -> Needs;
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

/// The gate of a lock in the mutex's spare bytes, where the default lock would be.
fn gate(mutex: &Mutex) -> &Gate {
    const { assert!(size_of::<Gate>() <= size_of::<Futex>()) };
    // SAFETY: both are words that are good whatever they hold, and a process that does
    // not use the one uses the other.
    unsafe { &*ptr::from_ref(&mutex.futex).cast() }
}

macro_rules! served {
    ($($name:ident, $lock:ty, $placement:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        $(served!(@$placement $name, $lock);)+

        /// Blocks until the mutex is locked.
        ///
        /// # Safety
        /// The choice is the process's.
        #[inline(always)]
        pub unsafe fn lock(choice: Choice, mutex: &Mutex) {
            match choice {
                // SAFETY: passed on.
                $(Choice::$name => unsafe { <$lock as Served>::lock(mutex) },)+
                Choice::Undecided | Choice::System => unreachable!(),
            }
        }

        /// Locks the mutex if nobody has.
        ///
        /// # Safety
        /// The choice is the process's.
        #[inline(always)]
        pub unsafe fn try_lock(choice: Choice, mutex: &Mutex) -> bool {
            match choice {
                // SAFETY: passed on.
                $(Choice::$name => unsafe { <$lock as Served>::try_lock(mutex) },)+
                Choice::Undecided | Choice::System => unreachable!(),
            }
        }

        /// Unlocks the mutex; false if nobody had locked it.
        ///
        /// # Safety
        /// The choice is the process's; the caller may unlock.
        #[inline(always)]
        pub unsafe fn unlock(choice: Choice, mutex: &Mutex) -> bool {
            match choice {
                // SAFETY: passed on.
                $(Choice::$name => unsafe { <$lock as Served>::unlock(mutex) },)+
                Choice::Undecided | Choice::System => unreachable!(),
            }
        }

        /// What the process's mutexes needed so far.
        pub fn needs(choice: Choice) -> Needs {
            match choice {
                $(Choice::$name => <$lock as Served>::needs(),)+
                Choice::Undecided | Choice::System => Needs::default(),
            }
        }

        /// Whether the mutex was locked a moment ago.
        ///
        /// # Safety
        /// The choice is the process's.
        pub unsafe fn is_locked(choice: Choice, mutex: &Mutex) -> bool {
            match choice {
                // SAFETY: passed on.
                $(Choice::$name => unsafe { <$lock as Served>::is_locked(mutex) },)+
                Choice::Undecided | Choice::System => unreachable!(),
            }
        }
    };

    (@Word $name:ident, $lock:ty) => {
        impl Served for $lock {
            unsafe fn lock(mutex: &Mutex) {
                mutex.futex.acquire(&());
            }
            unsafe fn try_lock(mutex: &Mutex) -> bool {
                mutex.futex.try_acquire(&())
            }
            unsafe fn unlock(mutex: &Mutex) -> bool {
                let locked = mutex.futex.is_locked();
                if locked {
                    // SAFETY: locked, and the caller may unlock.
                    unsafe { mutex.futex.release(&()) };
                }
                locked
            }
            unsafe fn is_locked(mutex: &Mutex) -> bool {
                mutex.futex.is_locked()
            }
            fn needs() -> Needs {
                Needs::default()
            }
        }
    };

    (@InPlace $name:ident, $lock:ty) => {
        const _: () = {
            static POOL: Arena<Holding<<$lock as RawLock>::Context>> = Arena::new(RECORDS);
            impl Served for $lock {
                unsafe fn lock(mutex: &Mutex) {
                    // SAFETY: this process's mutexes are this lock's.
                    unsafe { body::<InPlace<Self>>(mutex) }.lock(gate(mutex), &POOL);
                }
                unsafe fn try_lock(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<InPlace<Self>>(mutex) }.try_lock(gate(mutex), &POOL)
                }
                unsafe fn unlock(mutex: &Mutex) -> bool {
                    // SAFETY: as above; the caller may unlock.
                    unsafe { body::<InPlace<Self>>(mutex).unlock(gate(mutex), &POOL) }
                }
                unsafe fn is_locked(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<InPlace<Self>>(mutex) }.is_locked()
                }
                fn needs() -> Needs {
                    Needs {
                        bytes: POOL.bytes() + own_pool_bytes(),
                        inflated: 0,
                    }
                }
            }
        };
    };

    (@Inflated $name:ident, $lock:ty) => {
        const _: () = {
            static POOL: Arena<Holding<<$lock as RawLock>::Context>> = Arena::new(RECORDS);
            static FAT: Arena<Fat<$lock>> = Arena::new(FATS);
            impl Served for $lock {
                unsafe fn lock(mutex: &Mutex) {
                    // SAFETY: this process's mutexes are this lock's.
                    unsafe { body::<Inflated<Self>>(mutex) }.lock(&POOL, &FAT);
                }
                unsafe fn try_lock(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<Inflated<Self>>(mutex) }.try_lock(&FAT)
                }
                unsafe fn unlock(mutex: &Mutex) -> bool {
                    // SAFETY: as above; the caller may unlock.
                    unsafe { body::<Inflated<Self>>(mutex).unlock(&POOL, &FAT) }
                }
                unsafe fn is_locked(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<Inflated<Self>>(mutex) }.is_locked()
                }
                fn needs() -> Needs {
                    Needs {
                        bytes: POOL.bytes() + FAT.bytes() + own_pool_bytes(),
                        inflated: FAT.used(),
                    }
                }
            }
        };
    };
}
cohort::for_each_lock!(served);

/// Blocks until the mutex is locked or patience runs out; false then.
///
/// # Safety
/// The choice is the process's.
pub unsafe fn lock_within(choice: Choice, mutex: &Mutex, patience: &Patience) -> bool {
    let Some(deadline) = patience.deadline() else {
        // SAFETY: passed on.
        unsafe { lock(choice, mutex) };
        return true;
    };
    if choice == Choice::futex {
        return <Futex as Abortable>::acquire_within(&mutex.futex, &(), patience)
            == Outcome::Acquired;
    }
    // SAFETY: passed on.
    poll(deadline, || unsafe { try_lock(choice, mutex) })
}

/// For locks whose waiters cannot give up: tries, and waits between tries, a
/// little longer each time.
fn poll(deadline: &Deadline, attempt: impl Fn() -> bool) -> bool {
    const LONGEST_NAP: u64 = 1_000_000;
    let mut spinner = Spinner::new();
    let mut length = 20_000;
    loop {
        if attempt() {
            return true;
        }
        if expired(deadline) {
            return false;
        }
        if spinner.step() == Advice::Sleep {
            nap(length);
            length = (length * 2).min(LONGEST_NAP);
        }
    }
}
