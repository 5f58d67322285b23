//! Functions and constants of the C library in use.

use core::ffi::{c_char, c_int, c_void};
use core::fmt;

pub const EPERM: c_int = 1;
pub const EAGAIN: c_int = 11;
pub const ENOMEM: c_int = 12;
pub const EBUSY: c_int = 16;
pub const EINVAL: c_int = 22;
pub const ENOTSUP: c_int = 95;
pub const ETIMEDOUT: c_int = 110;
pub const ECANCELED: c_int = 125;

pub const PTHREAD_CANCEL_DISABLE: c_int = 1;

pub const CLOCK_REALTIME: c_int = 0;
pub const CLOCK_MONOTONIC: c_int = 1;

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

#[link(name = "c")]
unsafe extern "C" {
    pub fn abort() -> !;
    pub fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    pub fn free(memory: *mut c_void);
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn pthread_setcancelstate(new: c_int, old: *mut c_int) -> c_int;
    pub fn strlen(text: *const c_char) -> usize;
    fn write(file: c_int, bytes: *const u8, count: usize) -> isize;
    fn __errno_location() -> *mut c_int;
}

/// Replaces `errno`, and returns the old value.
pub fn replace_errno(error: c_int) -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { __errno_location().replace(error) }
}

/// Sets `errno`, for functions that return no error number.
pub fn set_errno(error: c_int) {
    // SAFETY: the calling thread's own.
    unsafe { *__errno_location() = error };
}

/// Writes a message to standard error; errors are ignored.
pub fn say(message: fmt::Arguments<'_>) {
    struct Stderr;
    impl fmt::Write for Stderr {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            // SAFETY: the bytes are alive; a failed write is ignored.
            unsafe { write(2, text.as_ptr(), text.len()) };
            Ok(())
        }
    }
    let _ = fmt::Write::write_fmt(&mut Stderr, message);
}
