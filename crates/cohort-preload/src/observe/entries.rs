//! The observing library's exported functions.
//!
//! Each is a few instructions that pass its call site on, beside the arguments; a compiled function
//! has no access to its own call site.

use super::own::{Caller, LOOK};
use super::quick::SlowPath;
use super::segments::{creating, joined, meeting, pending, posting, signalling};
use super::slow::{
    at_once, destroying, initialising, lock_from, locking, sleeping, spinning, unlock_from,
    unlocking, waiting,
};
use super::ways;
use crate::c11::{self, thrd};
use crate::layout::{Attr, Cond, Mutex, RwLock, Spin};
use crate::libc::Timespec;
use crate::next::observed;
use crate::{condvar, mutex, rwlock, spin};
use cohort::records::{Doing, How};
use core::ffi::{c_int, c_void};
use core::ptr;

/// Declares entries: their names; the inner function with the program's arguments and the unused
/// argument registers; and, if any, the unobserved function, called while nothing is recorded.
macro_rules! entries {
    ($($name:ident $(, $alias:ident)* =>
        fn $inner:ident($($argument:ident: $type:ty),+; $($nothing:ident),*) $(or $plain:path)?,
        |$caller:ident| $body:block)+) => {
        $(
            unsafe extern "C" fn $inner(
                $($argument: $type,)+
                $($nothing: usize,)*
                stack: usize,
                frame: usize,
                link: usize,
            ) -> c_int {
                let _ = ($($nothing),*);
                // SAFETY: passed on by the entries below; the program's arguments.
                unsafe {
                    let $caller = &caller(stack, frame, link);
                    $body
                }
            }
            entries!(@each [$name $(, $alias)*], $inner $(, $plain)?);
        )+
    };
    (@each [], $($to:tt)*) => {};
    (@each [$name:ident $(, $other:ident)*], $($to:tt)*) => {
        entries!(@entry $name, $($to)*);
        entries!(@each [$($other),*], $($to)*);
    };
    (@entry $name:ident, $inner:ident) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "lea r8, [rsp + 8]",
                "mov r9, rbp",
                "jmp {inner}",
                inner = sym $inner,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "mov x4, sp",
                "mov x5, x29",
                "mov x6, x30",
                "b {inner}",
                inner = sym $inner,
            );
        }
    };
    (@entry $name:ident, $inner:ident, $plain:path) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "mov rax, qword ptr [rip + {look}]",
                "cmp dword ptr [rax], 0",
                "je {plain}",
                "lea r8, [rsp + 8]",
                "mov r9, rbp",
                "jmp {inner}",
                look = sym LOOK,
                plain = sym $plain,
                inner = sym $inner,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x16, {look}",
                "ldr x16, [x16, :lo12:{look}]",
                "ldr w16, [x16]",
                "cbnz w16, 2f",
                "b {plain}",
                "2:",
                "mov x4, sp",
                "mov x5, x29",
                "mov x6, x30",
                "b {inner}",
                look = sym LOOK,
                plain = sym $plain,
                inner = sym $inner,
            );
        }
    };
}

/// Declares the entries of the most frequent calls. Each jumps to one of this process's [ways],
/// with the return address and the present watch.
macro_rules! usual_entries {
    ($($name:ident, $alias:ident => $way:ident or $plain:path;)+) => {
        $(
            usual_entries!(@entry $name, $way, $plain);
            usual_entries!(@entry $alias, $way, $plain);
        )+
    };
    (@entry $name:ident, $way:ident, $plain:path) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "mov rax, qword ptr [rip + {look}]",
                "cmp dword ptr [rax], 0",
                "je {plain}",
                // 0 if the watch has just ended: nobody reads what is written then.
                "mov edx, dword ptr [rax]",
                "mov rsi, qword ptr [rsp]",
                "jmp qword ptr [rip + {way}]",
                look = sym LOOK,
                plain = sym $plain,
                way = sym ways::$way,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x16, {look}",
                "ldr x16, [x16, :lo12:{look}]",
                "ldr w2, [x16]",
                "cbnz w2, 2f",
                "b {plain}",
                "2:",
                "adrp x16, {way}",
                "ldr x16, [x16, :lo12:{way}]",
                "mov x1, x30",
                "br x16",
                look = sym LOOK,
                plain = sym $plain,
                way = sym ways::$way,
            );
        }
    };
}

/// The program's call site.
#[inline(always)]
unsafe fn caller(stack: usize, frame: usize, link: usize) -> Caller {
    // SAFETY: a call leaves its return address below the caller's stack pointer.
    #[cfg(target_arch = "x86_64")]
    let returns_to = unsafe { ptr::with_exposed_provenance::<usize>(stack - 8).read() };
    #[cfg(target_arch = "aarch64")]
    let returns_to = link;
    let _ = link;
    Caller {
        returns_to,
        stack,
        frame,
    }
}

type Time = *const Timespec;

usual_entries! {
    pthread_mutex_lock, __pthread_mutex_lock => LOCK or mutex::pthread_mutex_lock;
    pthread_mutex_unlock, __pthread_mutex_unlock => UNLOCK or mutex::pthread_mutex_unlock;
    pthread_rwlock_rdlock, __pthread_rwlock_rdlock => READ or rwlock::pthread_rwlock_rdlock;
    pthread_rwlock_wrlock, __pthread_rwlock_wrlock => WRITE or rwlock::pthread_rwlock_wrlock;
    pthread_rwlock_unlock, __pthread_rwlock_unlock => LEAVE or rwlock::pthread_rwlock_unlock;
}

entries! {
    pthread_mutex_trylock, __pthread_mutex_trylock =>
    fn trylock(mutex: *mut Mutex; _b, _c, _d) or mutex::pthread_mutex_trylock,
    |caller| {
        locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_trylock(mutex)
        })
    }
    pthread_mutex_timedlock => fn timedlock(mutex: *mut Mutex, at: Time; _c, _d) or mutex::pthread_mutex_timedlock,
    |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_timedlock(mutex, at)
        })
    }
    pthread_mutex_clocklock =>
    fn clocklock(mutex: *mut Mutex, clock: c_int, at: Time; _d) or mutex::pthread_mutex_clocklock,
    |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_clocklock(mutex, clock, at)
        })
    }
    pthread_mutex_init, __pthread_mutex_init =>
    fn init(mutex: *mut Mutex, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Mutex, mutex as usize, caller, || {
            mutex::init(mutex, attributes, caller.returns_to)
        })
    }
    pthread_mutex_destroy, __pthread_mutex_destroy =>
    fn destroy(mutex: *mut Mutex; _b, _c, _d),
    |caller| {
        destroying(How::Mutex, mutex as usize, caller, || mutex::pthread_mutex_destroy(mutex))
    }
    mtx_lock => fn c11_lock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_lock,
    |caller| {
        let Caller { returns_to, stack, frame } = *caller;
        thrd(lock_from(mutex, returns_to, stack, frame, SlowPath::Unusual))
    }
    mtx_trylock => fn c11_trylock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_trylock,
    |caller| {
        thrd(locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_trylock(mutex)
        }))
    }
    mtx_timedlock => fn c11_timedlock(mutex: *mut Mutex, at: Time; _c, _d) or c11::mtx_timedlock,
    |caller| {
        thrd(locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_timedlock(mutex, at)
        }))
    }
    mtx_unlock => fn c11_unlock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_unlock,
    |caller| {
        thrd(unlock_from(mutex, caller.returns_to, caller.stack, caller.frame))
    }
    pthread_cond_init => fn cond_init(cond: *mut Cond, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Condition, cond as usize, caller, || {
            condvar::pthread_cond_init(cond, attributes)
        })
    }
    pthread_cond_wait => fn cond_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) or condvar::pthread_cond_wait,
    |caller| {
        waiting(Doing::Condition, cond as usize, How::Mutex, mutex as usize, caller, || condvar::pthread_cond_wait(cond, mutex))
    }
    pthread_cond_timedwait =>
    fn cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) or condvar::pthread_cond_timedwait,
    |caller| {
        waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        })
    }
    pthread_cond_clockwait =>
    fn cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: c_int, at: Time;) or condvar::pthread_cond_clockwait,
    |caller| {
        waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_clockwait(cond, mutex, clock, at)
        })
    }
    cnd_wait => fn c11_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) or c11::cnd_wait,
    |caller| {
        thrd(waiting(Doing::Condition, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_wait(cond, mutex)
        }))
    }
    cnd_timedwait => fn c11_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) or c11::cnd_timedwait,
    |caller| {
        thrd(waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        }))
    }
    pthread_cond_signal => fn cond_signal(cond: *mut Cond; _b, _c, _d) or condvar::pthread_cond_signal,
    |_caller| { signalling(cond as usize, false, || condvar::pthread_cond_signal(cond)) }
    pthread_cond_broadcast => fn cond_broadcast(cond: *mut Cond; _b, _c, _d) or condvar::pthread_cond_broadcast,
    |_caller| { signalling(cond as usize, true, || condvar::pthread_cond_broadcast(cond)) }
    cnd_signal => fn c11_signal(cond: *mut Cond; _b, _c, _d) or c11::cnd_signal,
    |_caller| { thrd(signalling(cond as usize, false, || condvar::pthread_cond_signal(cond))) }
    cnd_broadcast => fn c11_broadcast(cond: *mut Cond; _b, _c, _d) or c11::cnd_broadcast,
    |_caller| { thrd(signalling(cond as usize, true, || condvar::pthread_cond_broadcast(cond))) }
    sem_post => fn post(semaphore: usize; _b, _c, _d) or observed::sem_post,
    |_caller| { posting(semaphore, || observed::sem_post(semaphore)) }
    sem_wait => fn sem_waiting(semaphore: usize; _b, _c, _d) or observed::sem_wait,
    |caller| {
        pending(semaphore, || {
            sleeping(Doing::Semaphore, semaphore, caller, || observed::sem_wait(semaphore))
        })
    }
    sem_trywait => fn sem_trying(semaphore: usize; _b, _c, _d) or observed::sem_trywait,
    |_caller| { pending(semaphore, || observed::sem_trywait(semaphore)) }
    sem_timedwait => fn sem_timed(semaphore: usize, at: Time; _c, _d) or observed::sem_timedwait,
    |_caller| { pending(semaphore, || observed::sem_timedwait(semaphore, at)) }
    sem_clockwait => fn sem_clock(semaphore: usize, clock: c_int, at: Time; _d) or observed::sem_clockwait,
    |_caller| { pending(semaphore, || observed::sem_clockwait(semaphore, clock, at)) }
    pthread_barrier_wait => fn barrier(barrier: usize; _b, _c, _d) or observed::pthread_barrier_wait,
    |caller| {
        meeting(barrier, || {
            sleeping(Doing::Barrier, barrier, caller, || observed::pthread_barrier_wait(barrier))
        })
    }
    pthread_spin_init => fn spin_init(lock: *mut Spin, shared: c_int; _c, _d),
    |caller| {
        initialising(How::Spin, lock as usize, caller, || spin::pthread_spin_init(lock, shared))
    }
    pthread_spin_destroy => fn spin_destroy(lock: *mut Spin; _b, _c, _d),
    |caller| {
        destroying(How::Spin, lock as usize, caller, || spin::pthread_spin_destroy(lock))
    }
    pthread_spin_lock => fn spin_lock(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_lock,
    |caller| { spinning(Doing::Lock, lock, caller, || spin::pthread_spin_lock(lock)) }
    pthread_spin_trylock => fn spin_try(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_trylock,
    |caller| { spinning(Doing::Nothing, lock, caller, || spin::pthread_spin_trylock(lock)) }
    pthread_spin_unlock => fn spin_unlock(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_unlock,
    |caller| {
        let is_free = || !spin::is_held(&*lock);
        unlocking(How::Spin, lock as usize, caller, is_free, || spin::pthread_spin_unlock(lock))
    }
    pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock =>
    fn tryrdlock(lock: *mut RwLock; _b, _c, _d) or rwlock::pthread_rwlock_tryrdlock,
    |caller| {
        locking(Doing::Nothing, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_tryrdlock(lock)
        })
    }
    pthread_rwlock_timedrdlock => fn timedrdlock(lock: *mut RwLock, at: Time; _c, _d) or rwlock::pthread_rwlock_timedrdlock,
    |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_timedrdlock(lock, at)
        })
    }
    pthread_rwlock_clockrdlock =>
    fn clockrdlock(lock: *mut RwLock, clock: c_int, at: Time; _d) or rwlock::pthread_rwlock_clockrdlock,
    |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_clockrdlock(lock, clock, at)
        })
    }
    pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock =>
    fn trywrlock(lock: *mut RwLock; _b, _c, _d) or rwlock::pthread_rwlock_trywrlock,
    |caller| {
        locking(Doing::Nothing, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_trywrlock(lock)
        })
    }
    pthread_rwlock_timedwrlock => fn timedwrlock(lock: *mut RwLock, at: Time; _c, _d) or rwlock::pthread_rwlock_timedwrlock,
    |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_timedwrlock(lock, at)
        })
    }
    pthread_rwlock_clockwrlock =>
    fn clockwrlock(lock: *mut RwLock, clock: c_int, at: Time; _d) or rwlock::pthread_rwlock_clockwrlock,
    |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_clockwrlock(lock, clock, at)
        })
    }
    pthread_rwlock_init, __pthread_rwlock_init =>
    fn rwinit(lock: *mut RwLock, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Read, lock as usize, caller, || {
            rwlock::pthread_rwlock_init(lock, attributes)
        })
    }
    pthread_rwlock_destroy, __pthread_rwlock_destroy =>
    fn rwdestroy(lock: *mut RwLock; _b, _c, _d),
    |caller| {
        destroying(How::Read, lock as usize, caller, || rwlock::pthread_rwlock_destroy(lock))
    }
    pthread_create => fn create(thread: *mut usize, attributes: Attr, routine: usize, argument: usize;),
    |_caller| {
        creating(thread, routine, argument, |routine, argument| {
            observed::pthread_create(thread, attributes, routine, argument)
        })
    }
    thrd_create => fn c11_create(thread: *mut usize, routine: usize, argument: usize; _d),
    |_caller| {
        creating(thread, routine, argument, |routine, argument| {
            observed::thrd_create(thread, routine, argument)
        })
    }
    pthread_tryjoin_np => fn try_join(thread: usize, value: *mut *mut c_void; _c, _d),
    |_caller| {
        joined(thread, || observed::pthread_tryjoin_np(thread, value))
    }
    pthread_timedjoin_np =>
    fn timed_join(thread: usize, value: *mut *mut c_void, at: Time; _d),
    |_caller| {
        joined(thread, || observed::pthread_timedjoin_np(thread, value, at))
    }
    pthread_clockjoin_np =>
    fn clock_join(thread: usize, value: *mut *mut c_void, clock: c_int, at: Time;),
    |_caller| {
        joined(thread, || observed::pthread_clockjoin_np(thread, value, clock, at))
    }
    pthread_join => fn join(thread: usize, value: *mut *mut c_void; _c, _d),
    |caller| {
        joined(thread, || {
            sleeping(Doing::Join, thread, caller, || observed::pthread_join(thread, value))
        })
    }
    thrd_join => fn c11_join(thread: usize, value: *mut c_int; _c, _d),
    |caller| {
        joined(thread, || {
            sleeping(Doing::Join, thread, caller, || observed::thrd_join(thread, value))
        })
    }
}
