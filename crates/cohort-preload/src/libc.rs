//! Functions and constants of the C library and the kernel that this library uses.
//!
//! A function that the C library implements by a system call is a system call here: a program or
//! another preloaded library may wrap any function in one that locks a mutex. The functions
//! declared here are called only while [`next`](crate::next) is looked up, except those that only
//! access the caller's memory.

use cohort::door::system_call;
use core::ffi::{CStr, c_char, c_int, c_void};
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

/// Attribute object of any kind; only the C library reads it.
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

/// Runs `run` and restores the program's `errno`.
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

#[cfg(target_arch = "x86_64")]
mod number {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    #[cfg(feature = "compositions")]
    pub const LSEEK: usize = 8;
    #[cfg(feature = "compositions")]
    pub const MUNMAP: usize = 11;
    pub const GETPID: usize = 39;
    pub const OPENAT: usize = 257;
    pub const READLINKAT: usize = 267;
    #[cfg(feature = "compositions")]
    pub const READ: usize = 0;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const MMAP: usize = 222;
    #[cfg(feature = "compositions")]
    pub const LSEEK: usize = 62;
    #[cfg(feature = "compositions")]
    pub const MUNMAP: usize = 215;
    pub const GETPID: usize = 172;
    pub const OPENAT: usize = 56;
    pub const READLINKAT: usize = 78;
    #[cfg(feature = "compositions")]
    pub const READ: usize = 63;
}

const AT_FDCWD: usize = -100_isize as usize;

/// See `open(2)`; a negative number is an error.
#[inline(never)]
pub fn open(path: &CStr, flags: c_int, mode: usize) -> c_int {
    let path = path.as_ptr() as usize;
    // SAFETY: the path is a string.
    unsafe { system_call(number::OPENAT, [AT_FDCWD, path, flags as usize, mode, 0, 0]) as c_int }
}

/// Closes a file, ignoring errors.
#[inline(never)]
pub fn close(file: c_int) {
    // SAFETY: the caller's file.
    unsafe { system_call(number::CLOSE, [file as usize, 0, 0, 0, 0, 0]) };
}

/// See `read(2)`; a negative number is an error.
///
/// # Safety
/// `buffer` has room for `size` bytes.
#[cfg(feature = "compositions")]
pub unsafe fn read(file: c_int, buffer: *mut u8, size: usize) -> isize {
    // SAFETY: the caller's.
    unsafe {
        system_call(
            number::READ,
            [file as usize, buffer as usize, size, 0, 0, 0],
        )
    }
}

/// The length of a file; a negative number is an error.
#[cfg(feature = "compositions")]
pub fn length(file: c_int) -> isize {
    const FROM_END: usize = 2;
    // SAFETY: the call moves the file's position only.
    unsafe { system_call(number::LSEEK, [file as usize, 0, FROM_END, 0, 0, 0]) }
}

/// Reads a link's target into the buffer.
pub fn readlink<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let [path, at] = [path.as_ptr() as usize, buffer.as_mut_ptr() as usize];
    // SAFETY: the path is a string, and the length is the buffer's.
    let length =
        unsafe { system_call(number::READLINKAT, [AT_FDCWD, path, at, buffer.len(), 0, 0]) };
    buffer.get(..usize::try_from(length).ok()?)
}

/// The ID of this process.
pub fn getpid() -> u32 {
    // SAFETY: the call changes nothing.
    unsafe { system_call(number::GETPID, [0; 6]) as u32 }
}

/// Maps that many bytes of a file, or of fresh memory, readable and writable.
#[inline(never)]
pub fn map(bytes: usize, flags: c_int, file: c_int) -> Option<*mut u8> {
    map_at(bytes, flags, file, 0)
}

/// [`map`], from that offset of the file.
#[inline(always)]
pub fn map_at(bytes: usize, flags: c_int, file: c_int, offset: usize) -> Option<*mut u8> {
    const READ_WRITE: usize = 3;
    // SAFETY: the kernel chooses the address, so no mapping is replaced.
    let at = unsafe {
        system_call(
            number::MMAP,
            [0, bytes, READ_WRITE, flags as usize, file as usize, offset],
        )
    };
    (!(-4095..=0).contains(&at)).then(|| core::ptr::with_exposed_provenance_mut(at as usize))
}

/// Ends a mapping.
#[cfg(feature = "compositions")]
pub fn unmap(from: *mut u8, bytes: usize) {
    // SAFETY: the caller's mapping.
    unsafe { system_call(number::MUNMAP, [from as usize, bytes, 0, 0, 0, 0]) };
}

/// Reserves a range of addresses, if it is free.
#[cfg(feature = "observe")]
pub fn reserve(from: usize, bytes: usize) {
    const NOTHING: usize = 0;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const NORESERVE: usize = 0x4000;
    const FIXED_NOREPLACE: usize = 0x10_0000;
    let flags = PRIVATE_ANONYMOUS | NORESERVE | FIXED_NOREPLACE;
    // SAFETY: it replaces no mapping.
    let at = unsafe { system_call(number::MMAP, [from, bytes, NOTHING, flags, usize::MAX, 0]) };
    // Before 4.17, the kernel maps elsewhere if the range is not free.
    if at > 0 && at as usize != from {
        unmap(core::ptr::with_exposed_provenance_mut(at as usize), bytes);
    }
}

#[link(name = "c")]
unsafe extern "C" {
    pub safe static environ: *const *const c_char;
    pub fn abort() -> !;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub fn strlen(text: *const c_char) -> usize;
    pub fn __errno_location() -> *mut c_int;
    /// `pthread_atfork`, which is no symbol of the shared library.
    pub fn __register_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        object: *mut c_void,
    ) -> c_int;
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
    // SAFETY: the caller promises the object; `value` is writable.
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
    // SAFETY: the flag exists since 2.32; the read is volatile because nothing in this library
    // writes it.
    unsafe { (&raw const __libc_single_threaded).read_volatile() != 0 }
}

/// Writes a message to standard error; errors are ignored.
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

/// [`say`] for plain texts. Format arguments would pull in padding and truncation code, a hundredth
/// of the library.
pub fn say_texts(texts: &[&str]) {
    for text in texts {
        say_text(text);
    }
}

fn say_text(text: &str) {
    // SAFETY: the bytes are alive; a failed write is ignored.
    unsafe {
        system_call(
            number::WRITE,
            [2, text.as_ptr() as usize, text.len(), 0, 0, 0],
        )
    };
}
