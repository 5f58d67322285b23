//! What this library asks of the C library, and its constants.

use core::ffi::{c_char, c_int, c_void};
use core::fmt;

pub const EPERM: c_int = 1;
pub const EAGAIN: c_int = 11;
pub const EBUSY: c_int = 16;
pub const EINVAL: c_int = 22;
pub const EDEADLK: c_int = 35;
pub const ENOMEM: c_int = 12;
pub const ETIMEDOUT: c_int = 110;

pub const CLOCK_REALTIME: c_int = 0;
pub const CLOCK_MONOTONIC: c_int = 1;

pub const PTHREAD_PROCESS_PRIVATE: c_int = 0;
pub const PTHREAD_PROCESS_SHARED: c_int = 1;
pub const PTHREAD_PRIO_NONE: c_int = 0;
pub const PTHREAD_MUTEX_STALLED: c_int = 0;
pub const PTHREAD_CANCEL_ASYNCHRONOUS: c_int = 1;

pub const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

/// An attribute object of any kind; only the C library looks inside.
#[repr(C)]
pub struct Attributes {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

/// `struct _pthread_cleanup_buffer`.
#[repr(C)]
pub struct Cleanup {
    pub routine: Option<unsafe extern "C" fn(*mut c_void)>,
    pub argument: *mut c_void,
    pub cancel_type: c_int,
    pub previous: *mut Cleanup,
}

impl Cleanup {
    /// Before it is pushed.
    pub const EMPTY: Self = Self {
        routine: None,
        argument: core::ptr::null_mut(),
        cancel_type: 0,
        previous: core::ptr::null_mut(),
    };
}

/// Runs something that may change the program's `errno`, and puts it back.
pub fn keeping_errno<R>(run: impl FnOnce() -> R) -> R {
    // SAFETY: the calling thread's own `errno`.
    unsafe {
        let errno = __errno_location();
        let before = *errno;
        let result = run();
        *errno = before;
        result
    }
}

#[link(name = "c")]
unsafe extern "C" {
    pub safe static environ: *const *const c_char;
    pub fn abort() -> !;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub fn write(file: c_int, bytes: *const u8, count: usize) -> isize;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn close(file: c_int) -> c_int;
    #[cfg(feature = "compositions")]
    pub fn read(file: c_int, buffer: *mut u8, size: usize) -> isize;
    pub fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn readlink(path: *const c_char, buffer: *mut u8, size: usize) -> isize;
    pub fn strlen(text: *const c_char) -> usize;
    pub fn __errno_location() -> *mut c_int;
    pub fn pthread_mutexattr_gettype(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_mutexattr_getpshared(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_mutexattr_getprotocol(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_mutexattr_getrobust(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_condattr_init(attributes: *mut Attributes) -> c_int;
    pub fn pthread_condattr_setpshared(attributes: *mut Attributes, shared: c_int) -> c_int;
    pub fn pthread_condattr_setclock(attributes: *mut Attributes, clock: c_int) -> c_int;
    pub fn pthread_condattr_getclock(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_condattr_getpshared(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_rwlockattr_getpshared(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_rwlockattr_getkind_np(attributes: *const Attributes, out: *mut c_int) -> c_int;
    pub fn pthread_setcanceltype(new: c_int, old: *mut c_int) -> c_int;
    pub fn _pthread_cleanup_push(
        buffer: *mut Cleanup,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    pub fn _pthread_cleanup_pop(buffer: *mut Cleanup, execute: c_int);
}

/// Reads one attribute by its getter.
///
/// # Safety
/// `attributes` is an initialised attribute object of the getter's kind.
pub unsafe fn attribute(
    attributes: *const Attributes,
    getter: unsafe extern "C" fn(*const Attributes, *mut c_int) -> c_int,
) -> c_int {
    let mut value = 0;
    // SAFETY: the caller vouches for the object; `value` is writable.
    unsafe { getter(attributes, &raw mut value) };
    value
}

/// Whether the calling thread is the only one of its process.
#[inline(always)]
pub fn alone() -> bool {
    unsafe extern "C" {
        /// The C library's flag, which it writes when threads start.
        static __libc_single_threaded: u8;
    }
    // SAFETY: the flag is there since 2.32; the read is volatile because nothing in this
    // library writes it.
    unsafe { (&raw const __libc_single_threaded).read_volatile() != 0 }
}

/// Writes a message to standard error, as far as it takes it.
pub fn say(message: fmt::Arguments<'_>) {
    struct Stderr;
    impl fmt::Write for Stderr {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            say_text(text);
            Ok(())
        }
    }
    let _ = fmt::Write::write_fmt(&mut Stderr, message);
}

/// The same of a message of texts, of which none is a format's argument: what pads and cuts such
/// arguments would take a hundredth of the library.
pub fn say_texts(texts: &[&str]) {
    for text in texts {
        say_text(text);
    }
}

fn say_text(text: &str) {
    // SAFETY: the bytes are alive; a failed write is nobody's to hear.
    keeping_errno(|| unsafe { write(2, text.as_ptr(), text.len()) });
}
