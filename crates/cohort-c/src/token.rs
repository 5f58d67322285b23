//! `cohort_token_t`: a word by which one thread ends the waits of others.

use crate::libc::{ECANCELED, EINVAL, ETIMEDOUT};
use cohort::{Patience, Token};
use core::ffi::c_int;

/// Token: 24 bytes, valid when zero.
#[repr(C)]
pub struct cohort_token_t {
    token: Token,
}

const _: () = assert!(size_of::<cohort_token_t>() == 24 && align_of::<cohort_token_t>() == 8);

/// The token at that address.
macro_rules! at {
    ($token:expr) => {
        // SAFETY: the caller's: null, or a token.
        match unsafe { $token.as_ref() } {
            Some(token) => &token.token,
            None => return EINVAL,
        }
    };
}

/// Runs `wait` with a patience that ends when the token is cancelled; returns `ECANCELED` instead
/// of `ETIMEDOUT`.
///
/// # Safety
/// Null, or a token.
pub unsafe fn unless(token: *mut cohort_token_t, wait: impl FnOnce(&Patience) -> c_int) -> c_int {
    match wait(&Patience::ENDLESS.unless(at!(token))) {
        ETIMEDOUT => ECANCELED,
        result => result,
    }
}

/// Initialises a token in any memory, as `COHORT_TOKEN_INIT` does; a cancelled token becomes usable
/// again.
///
/// # Safety
/// Null, or memory for a token without waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_token_init(token: *mut cohort_token_t) -> c_int {
    if token.is_null() {
        return EINVAL;
    }
    let new = Token::new();
    // SAFETY: the caller's.
    unsafe { token.write(cohort_token_t { token: new }) };
    0
}

/// Ends all present and future waits with the token, as at a deadline: they return `ECANCELED`.
/// Blocks until all threads sleeping in them are awake; not for use in a signal handler.
///
/// # Safety
/// Null, or a token; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_token_cancel(token: *mut cohort_token_t) -> c_int {
    at!(token).cancel();
    0
}

/// 1 if the token has been cancelled, else 0; never blocks.
///
/// # Safety
/// As `cohort_token_cancel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_token_is_cancelled(token: *const cohort_token_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { token.as_ref() }.is_some_and(|token| token.token.is_cancelled()) as c_int
}
