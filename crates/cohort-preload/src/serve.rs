//! The chosen lock in a mutex's bytes: acquire, try, release, whatever it is.

use crate::choice::Choice;
use crate::layout::Mutex;
use cohort::basic::{Bo, Futex, Tas, Ttas};
use cohort::catalogue::own_pool_bytes;
use cohort::door::{Advice, Spinner, expired, nap};
use cohort::host::{Arena, Fat, Gate, Holding, InPlace, Inflated, Pool};
use cohort::{Abortable, Deadline, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::ffi::c_int;
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
    unsafe fn lock(mutex: &Mutex) -> c_int;
    unsafe fn try_lock(mutex: &Mutex) -> bool;
    unsafe fn unlock(mutex: &Mutex) -> c_int;
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

/// How one lock serves one call.
type Way = unsafe fn(&Mutex) -> c_int;

/// No lock of ours serves the process.
unsafe fn nobody(_mutex: &Mutex) -> c_int {
    unreachable!()
}

macro_rules! served {
    ($($name:ident, $lock:ty, $placement:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        $(served!(@$placement $name, $lock);)+

        /// Each choice's way to lock, and to unlock: one load and one jump from the C
        /// function, which is what an uncontended lock can afford.
        static WAYS: &[(Way, Way)] = &[
            (nobody, nobody),
            (nobody, nobody),
            $((<$lock as Served>::lock, <$lock as Served>::unlock),)+
        ];

        /// Blocks until the mutex is locked; always 0, as the C function returns.
        ///
        /// # Safety
        /// The choice is the process's.
        #[inline(always)]
        pub unsafe fn lock(choice: Choice, mutex: &Mutex) -> c_int {
            // SAFETY: passed on.
            unsafe { WAYS[choice as usize].0(mutex) }
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

        /// Unlocks the mutex, or leaves alone one that nobody had locked; always 0.
        ///
        /// # Safety
        /// The choice is the process's; the caller may unlock.
        #[inline(always)]
        pub unsafe fn unlock(choice: Choice, mutex: &Mutex) -> c_int {
            // SAFETY: passed on.
            unsafe { WAYS[choice as usize].1(mutex) }
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
            unsafe fn lock(mutex: &Mutex) -> c_int {
                mutex.futex.acquire(&());
                0
            }
            unsafe fn try_lock(mutex: &Mutex) -> bool {
                mutex.futex.try_acquire(&())
            }
            unsafe fn unlock(mutex: &Mutex) -> c_int {
                if mutex.futex.is_locked() {
                    // SAFETY: locked, and the caller may unlock.
                    unsafe { mutex.futex.release(&()) };
                }
                0
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
                #[inline(never)]
                unsafe fn lock(mutex: &Mutex) -> c_int {
                    // SAFETY: this process's mutexes are this lock's.
                    unsafe { body::<InPlace<Self>>(mutex) }.lock(gate(mutex), &POOL);
                    0
                }
                unsafe fn try_lock(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<InPlace<Self>>(mutex) }.try_lock(gate(mutex), &POOL)
                }
                #[inline(never)]
                unsafe fn unlock(mutex: &Mutex) -> c_int {
                    // SAFETY: as above; the caller may unlock.
                    unsafe { body::<InPlace<Self>>(mutex).unlock(gate(mutex), &POOL) };
                    0
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
                #[inline(never)]
                unsafe fn lock(mutex: &Mutex) -> c_int {
                    // SAFETY: this process's mutexes are this lock's.
                    unsafe { body::<Inflated<Self>>(mutex) }.lock(&POOL, &FAT);
                    0
                }
                unsafe fn try_lock(mutex: &Mutex) -> bool {
                    // SAFETY: as above.
                    unsafe { body::<Inflated<Self>>(mutex) }.try_lock(&FAT)
                }
                #[inline(never)]
                unsafe fn unlock(mutex: &Mutex) -> c_int {
                    // SAFETY: as above; the caller may unlock.
                    unsafe { body::<Inflated<Self>>(mutex).unlock(&POOL, &FAT) };
                    0
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
    // SAFETY: passed on.
    unsafe {
        match choice {
            Choice::futex => {
                <Futex as Abortable>::acquire_within(&mutex.futex, &(), patience)
                    == Outcome::Acquired
            }
            Choice::tas => lock_flag_within::<Tas>(mutex, patience),
            Choice::ttas => lock_flag_within::<Ttas>(mutex, patience),
            Choice::bo => lock_flag_within::<Bo>(mutex, patience),
            _ => poll(deadline, || try_lock(choice, mutex)),
        }
    }
}

/// For locks without contexts or order, whose waiters may give up anywhere.
///
/// # Safety
/// The lock is the process's.
unsafe fn lock_flag_within<L>(mutex: &Mutex, patience: &Patience) -> bool
where
    L: RawTry<Context = ()> + Abortable + ThreadOblivious + Inherit + 'static,
{
    /// No record is ever taken from it.
    static NONE: Arena<Holding<()>> = Arena::new(RECORDS);
    // SAFETY: this process's mutexes are this lock's.
    unsafe { body::<InPlace<L>>(mutex) }.lock_within(gate(mutex), &NONE, patience)
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
