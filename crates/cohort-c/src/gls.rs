//! A lock for any address (GLS; Antić, Chatzopoulos, Guerraoui and Trigonakis 2016 §4): nobody
//! declares it, chooses it or makes it.
//!
//! The table and its locks are [`cohort_service`]'s; here they get C's names and errors.

use crate::libc::{EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::time;
use cohort_service::gls::{Refusal, address};
use core::ffi::{c_int, c_void};

fn answer(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Refusal::NoKey) => EINVAL,
        Err(Refusal::Busy) => EBUSY,
        Err(Refusal::NotHeld) => EPERM,
        Err(Refusal::TimedOut) => ETIMEDOUT,
    }
}

/// Blocks until the lock of that address is held.  Any value but null is an address, whatever is
/// there; the first call makes its lock, which takes about 100 bytes until `cohort_gls_free`.  A
/// thread that has the lock already waits for ever.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock(address: *const c_void) -> c_int {
    answer(address::lock(address.addr()))
}

/// Takes the lock of that address, or returns `EBUSY` if somebody has it; never blocks.  For a
/// moment after `cohort_gls_free` another address's lock may be found taken.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock_try(address: *const c_void) -> c_int {
    answer(address::try_lock(address.addr()))
}

/// Blocks until the lock of that address is held, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// # Safety
/// The time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_lock_until(
    address: *const c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { time::until(clock, time) } {
        Ok(patience) => answer(address::lock_within(address.addr(), &patience)),
        Err(error) => error,
    }
}

/// Blocks until the lock of that address is held, or returns `ETIMEDOUT` after so many
/// nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock_for(address: *const c_void, nanoseconds: u64) -> c_int {
    answer(address::lock_within(
        address.addr(),
        &time::during(nanoseconds),
    ))
}

/// Releases the lock of that address; `EPERM` if nobody has it, or it has none.  A lock does not
/// know its owner: to release another thread's is not noticed, and its section is no longer alone.
///
/// # Safety
/// The caller has the lock, or nobody has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_unlock(address: *const c_void) -> c_int {
    // SAFETY: the caller's.
    answer(unsafe { address::unlock(address.addr()) })
}

/// Gives the lock of that address to others; to be called before what is there is given back.
/// `EBUSY` if somebody has the lock or waits for it; 0 also if the address has none.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_free(address: *const c_void) -> c_int {
    answer(address::free(address.addr()))
}
