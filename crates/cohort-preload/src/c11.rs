//! C11's `mtx_*` and `cnd_*`: the same objects under other names.

use crate::condvar::{
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_signal,
    pthread_cond_timedwait, pthread_cond_wait,
};
use crate::layout::{Cond, Mutex, NORMAL, RECURSIVE, clear};
use crate::libc::{EBUSY, ENOMEM, ETIMEDOUT, Timespec};
use crate::mutex::{
    pthread_mutex_destroy, pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_trylock,
    pthread_mutex_unlock,
};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

const THRD_SUCCESS: c_int = 0;
const THRD_BUSY: c_int = 1;
const THRD_ERROR: c_int = 2;
const THRD_NOMEM: c_int = 3;
const THRD_TIMEDOUT: c_int = 4;

const MTX_RECURSIVE: c_int = 1;
const MTX_TIMED: c_int = 2;

/// C11's equivalent of an error number.
pub const fn thrd(error: c_int) -> c_int {
    match error {
        0 => THRD_SUCCESS,
        EBUSY => THRD_BUSY,
        ENOMEM => THRD_NOMEM,
        ETIMEDOUT => THRD_TIMEDOUT,
        _ => THRD_ERROR,
    }
}

macro_rules! c11 {
    ($($name:ident($($argument:ident: $type:ty),*) = $call:expr;)+) => {
        c11!(#[unsafe(no_mangle)] $($name($($argument: $type),*) = $call;)+);
    };
    // Functions with observing entries in front of them export their names only there.
    (#[$exported:meta] $($name:ident($($argument:ident: $type:ty),*) = $call:expr;)+) => {
        $(c11!(@one #[$exported] $name($($argument: $type),*) = $call);)+
    };
    (@one #[$exported:meta] $name:ident($($argument:ident: $type:ty),*) = $call:expr) => {
        /// See C11 §7.26.
        ///
        /// # Safety
        /// As C11 asks.
        #[$exported]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: passed on.
            thrd(unsafe { $call })
        }
    };
}

c11! {
    #[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
    mtx_lock(mutex: *mut Mutex) = pthread_mutex_lock(mutex);
    mtx_trylock(mutex: *mut Mutex) = pthread_mutex_trylock(mutex);
    mtx_timedlock(mutex: *mut Mutex, at: *const Timespec) = pthread_mutex_timedlock(mutex, at);
    mtx_unlock(mutex: *mut Mutex) = pthread_mutex_unlock(mutex);
    cnd_wait(cond: *mut Cond, mutex: *mut Mutex) = pthread_cond_wait(cond, mutex);
    cnd_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const Timespec) =
        pthread_cond_timedwait(cond, mutex, at);
    cnd_signal(cond: *mut Cond) = pthread_cond_signal(cond);
    cnd_broadcast(cond: *mut Cond) = pthread_cond_broadcast(cond);
}

c11! {
    cnd_init(cond: *mut Cond) = pthread_cond_init(cond, ptr::null());
}

/// See C11 §7.26.4.2.
///
/// # Safety
/// As C11 asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_init(mutex: *mut Mutex, kind: c_int) -> c_int {
    if kind & !(MTX_RECURSIVE | MTX_TIMED) != 0 {
        return THRD_ERROR;
    }
    let kind = if kind & MTX_RECURSIVE == 0 {
        NORMAL
    } else {
        RECURSIVE
    };
    // SAFETY: the program gives memory for an unused mutex. The value written is a static
    // initialiser, valid for the C library too.
    unsafe {
        clear(mutex);
        (*mutex).kind.store(kind, Relaxed);
        #[cfg(feature = "observe")]
        crate::observe::mark(cohort::records::How::Mutex, mutex as usize);
    }
    THRD_SUCCESS
}

/// See C11 §7.26.4.1.
///
/// # Safety
/// As C11 asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_destroy(mutex: *mut Mutex) {
    // SAFETY: passed on.
    unsafe { pthread_mutex_destroy(mutex) };
}

/// See C11 §7.26.3.2.
///
/// # Safety
/// As C11 asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_destroy(cond: *mut Cond) {
    // SAFETY: passed on.
    unsafe { pthread_cond_destroy(cond) };
}
