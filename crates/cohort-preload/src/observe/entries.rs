//! The functions that the program calls.
//!
//! Each is a few instructions that hand on, beside the arguments, where the call came from; a
//! compiled function could not tell that of its own caller.

use super::own::{Caller, Own, any, is_unwatched, own};
use super::wrong::{all_are_certain, found, holder};
use super::{edges, profile};
use crate::c11::thrd;
use crate::choice::{Choice, choice};
use crate::layout::{ADAPTIVE, Attr, Cond, DESTROYED, KINDS, Mutex, NORMAL, RwLock};
use crate::libc::{EBUSY, Timespec, keeping_errno};
use crate::{condvar, mutex, next, rwlock};
use cohort::records::{Doing, How, Wrong};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A robust mutex is locked too where its owner has died.
const EOWNERDEAD: c_int = 130;

pub fn is_locked(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}

/// Declares entries: their names, the function behind them with what the program gives it, and
/// the registers that hold nothing.
macro_rules! entries {
    ($($name:ident $(, $alias:ident)* =>
        fn $inner:ident($($argument:ident: $type:ty),+; $($nothing:ident),*)
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
                // SAFETY: what the entries below hand on; the program's arguments.
                unsafe {
                    let $caller = &caller(stack, frame, link);
                    $body
                }
            }
            entries!(@entry $name, $inner);
            $(entries!(@entry $alias, $inner);)*
        )+
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
}

/// Where the program called from.
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

/// Runs what may wait, and records the wait and, if it ended with a lock, the hold; `look` sees
/// before whether something is wrong with it.
#[inline(always)]
fn locking(
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    look: impl FnOnce(&Own),
    lock: impl FnOnce() -> c_int,
) -> c_int {
    if is_unwatched() {
        return lock();
    }
    let Some(own) = own() else { return lock() };
    if own.is_profiled {
        return profile::locking(&own, doing, how, object, caller, lock);
    }
    look(&own);
    if doing != Doing::Nothing {
        // What waits with a deadline, or tries, can let go of all again.
        if doing != Doing::Timed {
            edges::takes(&own, object, how, caller);
        }
        own.begins(doing, object, 0, caller);
    }
    let result = lock();
    if doing != Doing::Nothing {
        own.ends();
    }
    if is_locked(result) {
        own.holds_now(object, how, caller.returns_to);
    }
    result
}

/// What is wrong with locking a mutex, if anything is.
fn look(own: &Own, mutex: *mut Mutex, caller: &Caller) {
    // SAFETY: the program's.
    let kind = unsafe { (*mutex).kind.load(Relaxed) };
    if kind == DESTROYED {
        found(own, Wrong::UseDestroyed, mutex as usize, caller, None);
    } else if kind & !KINDS != 0 {
        found(own, Wrong::Uninitialised, mutex as usize, caller, None);
    } else if matches!(kind & !crate::layout::ELISION, NORMAL | ADAPTIVE)
        && let Some(place) = own.find(mutex as usize)
    {
        let site = own.thread.holds[place].site.load(Relaxed);
        let (site, _) = cohort::records::Hold::unpack(site);
        let id = own.thread.id.load(Relaxed);
        found(
            own,
            Wrong::LockTwice,
            mutex as usize,
            caller,
            Some((id, site)),
        );
    }
}

/// Unlocks what the thread holds; says so if it does not.
#[inline(always)]
fn unlocking(
    how: How,
    object: usize,
    caller: &Caller,
    is_free: impl FnOnce() -> bool,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    if is_unwatched() {
        return unlock();
    }
    let Some(own) = own() else { return unlock() };
    if own.is_profiled {
        return profile::unlocking(&own, how, object, unlock);
    }
    if !own.lets_go(object) {
        unlocks_others(&own, object, caller, is_free);
    }
    unlock()
}

/// A lock has been initialised: what was at its address is another.  This is noted whether or not
/// anybody watches: a command that comes later could not find out.
fn initialised(how: How, object: usize, caller: &Caller, result: c_int) -> c_int {
    if let (Some(own), 0) = (any(), result) {
        if own.is_profiled {
            profile::initialised(&own, how, object, caller);
        } else {
            edges::forget(&own, object);
        }
    }
    result
}

#[cold]
fn unlocks_others(own: &Own, object: usize, caller: &Caller, is_free: impl FnOnce() -> bool) {
    if !own.is_certain() {
        return;
    }
    if let Some(other) = holder(own, object, true) {
        found(own, Wrong::UnlockOthers, object, caller, Some(other));
    } else if all_are_certain(own) && is_free() {
        found(own, Wrong::UnlockFree, object, caller, None);
    }
}

/// Whether one of our locks says that nobody holds the mutex.
fn is_free(mutex: *mut Mutex) -> bool {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    match choice().0 {
        // SAFETY: the process's lock serves all mutexes that the C library does not.
        Choice::Ours(service) if !mutex::is_libcs(object) => unsafe {
            !(service.is_locked)(object.served())
        },
        _ => false,
    }
}

/// A mutex or rwlock of this thread's process that was used is destroyed.
fn destroying(object: usize, caller: &Caller, result: c_int) -> c_int {
    if let Some(own) = own().filter(|own| !own.is_profiled) {
        if result == EBUSY {
            found(
                &own,
                Wrong::DestroyUsed,
                object,
                caller,
                holder(&own, object, false),
            );
        } else {
            edges::forget(&own, object);
        }
    }
    result
}

/// A wait at a condition: the mutex stays in the thread's list, where a cancelled wait finds it.
#[inline(always)]
fn waiting(
    doing: Doing,
    cond: *mut Cond,
    mutex: *mut Mutex,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if is_unwatched() {
        return wait();
    }
    let Some(own) = own() else { return wait() };
    if own.is_profiled {
        return profile::waiting(&own, doing, cond as usize, mutex as usize, caller, wait);
    }
    if own.find(mutex as usize).is_none() && own.is_certain() {
        found(
            &own,
            Wrong::WaitUnlocked,
            mutex as usize,
            caller,
            holder(&own, mutex as usize, false),
        );
    }
    own.begins(doing, cond as usize, mutex as usize, caller);
    let result = wait();
    own.ends();
    result
}

type Time = *const Timespec;

entries! {
    pthread_mutex_lock, __pthread_mutex_lock => fn lock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        let look = |own: &Own| look(own, mutex, caller);
        locking(Doing::Lock, How::Mutex, mutex as usize, caller, look, || {
            mutex::pthread_mutex_lock(mutex)
        })
    }
    pthread_mutex_trylock, __pthread_mutex_trylock =>
    fn trylock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, || {
            mutex::pthread_mutex_trylock(mutex)
        })
    }
    pthread_mutex_timedlock => fn timedlock(mutex: *mut Mutex, at: Time; _c, _d) |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, || {
            mutex::pthread_mutex_timedlock(mutex, at)
        })
    }
    pthread_mutex_clocklock =>
    fn clocklock(mutex: *mut Mutex, clock: c_int, at: Time; _d) |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, || {
            mutex::pthread_mutex_clocklock(mutex, clock, at)
        })
    }
    pthread_mutex_unlock, __pthread_mutex_unlock =>
    fn unlock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        unlocking(How::Mutex, mutex as usize, caller, || is_free(mutex), || {
            mutex::pthread_mutex_unlock(mutex)
        })
    }
    pthread_mutex_init, __pthread_mutex_init =>
    fn init(mutex: *mut Mutex, attributes: Attr; _c, _d) |caller| {
        let result = mutex::pthread_mutex_init(mutex, attributes);
        initialised(How::Mutex, mutex as usize, caller, result)
    }
    pthread_mutex_destroy, __pthread_mutex_destroy =>
    fn destroy(mutex: *mut Mutex; _b, _c, _d) |caller| {
        destroying(mutex as usize, caller, mutex::pthread_mutex_destroy(mutex))
    }
    mtx_lock => fn c11_lock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        let look = |own: &Own| look(own, mutex, caller);
        thrd(locking(Doing::Lock, How::Mutex, mutex as usize, caller, look, || {
            mutex::pthread_mutex_lock(mutex)
        }))
    }
    mtx_trylock => fn c11_trylock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        thrd(locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, || {
            mutex::pthread_mutex_trylock(mutex)
        }))
    }
    mtx_timedlock => fn c11_timedlock(mutex: *mut Mutex, at: Time; _c, _d) |caller| {
        thrd(locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, || {
            mutex::pthread_mutex_timedlock(mutex, at)
        }))
    }
    mtx_unlock => fn c11_unlock(mutex: *mut Mutex; _b, _c, _d) |caller| {
        thrd(unlocking(How::Mutex, mutex as usize, caller, || is_free(mutex), || {
            mutex::pthread_mutex_unlock(mutex)
        }))
    }
    pthread_cond_init => fn cond_init(cond: *mut Cond, attributes: Attr; _c, _d) |caller| {
        let result = condvar::pthread_cond_init(cond, attributes);
        initialised(How::Condition, cond as usize, caller, result)
    }
    pthread_cond_wait => fn cond_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) |caller| {
        waiting(Doing::Condition, cond, mutex, caller, || condvar::pthread_cond_wait(cond, mutex))
    }
    pthread_cond_timedwait =>
    fn cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) |caller| {
        waiting(Doing::Timed, cond, mutex, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        })
    }
    pthread_cond_clockwait =>
    fn cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: c_int, at: Time;) |caller| {
        waiting(Doing::Timed, cond, mutex, caller, || {
            condvar::pthread_cond_clockwait(cond, mutex, clock, at)
        })
    }
    cnd_wait => fn c11_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) |caller| {
        thrd(waiting(Doing::Condition, cond, mutex, caller, || {
            condvar::pthread_cond_wait(cond, mutex)
        }))
    }
    cnd_timedwait => fn c11_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) |caller| {
        thrd(waiting(Doing::Timed, cond, mutex, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        }))
    }
    pthread_rwlock_rdlock, __pthread_rwlock_rdlock =>
    fn rdlock(lock: *mut RwLock; _b, _c, _d) |caller| {
        locking(Doing::Read, How::Read, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_rdlock(lock)
        })
    }
    pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock =>
    fn tryrdlock(lock: *mut RwLock; _b, _c, _d) |caller| {
        locking(Doing::Nothing, How::Read, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_tryrdlock(lock)
        })
    }
    pthread_rwlock_timedrdlock => fn timedrdlock(lock: *mut RwLock, at: Time; _c, _d) |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_timedrdlock(lock, at)
        })
    }
    pthread_rwlock_clockrdlock =>
    fn clockrdlock(lock: *mut RwLock, clock: c_int, at: Time; _d) |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_clockrdlock(lock, clock, at)
        })
    }
    pthread_rwlock_wrlock, __pthread_rwlock_wrlock =>
    fn wrlock(lock: *mut RwLock; _b, _c, _d) |caller| {
        locking(Doing::Write, How::Write, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_wrlock(lock)
        })
    }
    pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock =>
    fn trywrlock(lock: *mut RwLock; _b, _c, _d) |caller| {
        locking(Doing::Nothing, How::Write, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_trywrlock(lock)
        })
    }
    pthread_rwlock_timedwrlock => fn timedwrlock(lock: *mut RwLock, at: Time; _c, _d) |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_timedwrlock(lock, at)
        })
    }
    pthread_rwlock_clockwrlock =>
    fn clockwrlock(lock: *mut RwLock, clock: c_int, at: Time; _d) |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, || {
            rwlock::pthread_rwlock_clockwrlock(lock, clock, at)
        })
    }
    pthread_rwlock_unlock, __pthread_rwlock_unlock =>
    fn rwunlock(lock: *mut RwLock; _b, _c, _d) |caller| {
        // Whether nobody holds an rwlock cannot be asked: one that is known to be held by
        // others only is told.
        unlocking(How::Read, lock as usize, caller, || false, || {
            rwlock::pthread_rwlock_unlock(lock)
        })
    }
    pthread_rwlock_init, __pthread_rwlock_init =>
    fn rwinit(lock: *mut RwLock, attributes: Attr; _c, _d) |caller| {
        let result = rwlock::pthread_rwlock_init(lock, attributes);
        initialised(How::Read, lock as usize, caller, result)
    }
    pthread_rwlock_destroy, __pthread_rwlock_destroy =>
    fn rwdestroy(lock: *mut RwLock; _b, _c, _d) |caller| {
        destroying(lock as usize, caller, rwlock::pthread_rwlock_destroy(lock))
    }
    pthread_join => fn join(thread: usize, value: *mut *mut c_void; _c, _d) |caller| {
        let own = own().filter(|own| !own.is_profiled);
        if let Some(own) = own {
            own.begins(Doing::Join, thread, 0, caller);
        }
        let result = next_join(thread, value);
        if let Some(own) = own {
            own.ends();
        }
        result
    }
}

/// The C library's `pthread_join`.
unsafe fn next_join(thread: usize, value: *mut *mut c_void) -> c_int {
    static FOUND: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
    let mut function = FOUND.load(Ordering::Relaxed);
    if function.is_null() {
        function = keeping_errno(|| next::find(c"pthread_join", None));
        FOUND.store(function, Ordering::Relaxed);
    }
    // SAFETY: the C library's function of that name has this signature; the caller vouches for
    // the arguments.
    unsafe {
        core::mem::transmute::<*mut (), unsafe extern "C" fn(usize, *mut *mut c_void) -> c_int>(
            function,
        )(thread, value)
    }
}
