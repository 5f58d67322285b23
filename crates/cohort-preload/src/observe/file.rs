//! The file of a process's records. Under `cohort debug` and `profile`, it lies in a folder of the
//! command. A process that commands may observe at any time uses an unnamed file, kept open:
//! commands find it among the process's open files, and it disappears with the process.
//!
//! A daemon that closes all its files must not lose it, so the functions that close files treat it
//! as closed.

use crate::filter;
use crate::libc::{self, close, getpid, open, readlink, say};
use crate::next::observed;
use cohort::door::system_call;
use cohort::records::{MAGIC, Records};
use core::ffi::{CStr, c_int, c_uint};
use core::ptr;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

/// Name of the memory file.
const CALLED: &CStr = c"cohort-records";

/// The open file with the records of this process, or of its parent; -1: none.
static FILE: AtomicI32 = AtomicI32::new(-1);

const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const MAP_NORESERVE: c_int = 0x4000;
const MADV_DONTDUMP: usize = 16;

#[cfg(target_arch = "x86_64")]
mod number {
    pub const MUNMAP: usize = 11;
    pub const MADVISE: usize = 28;
    pub const FCNTL: usize = 72;
    pub const FTRUNCATE: usize = 77;
    pub const FALLOCATE: usize = 285;
    pub const GETRLIMIT: usize = 97;
    pub const MEMFD_CREATE: usize = 319;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const FCNTL: usize = 25;
    pub const FTRUNCATE: usize = 46;
    pub const FALLOCATE: usize = 47;
    pub const GETRLIMIT: usize = 163;
    pub const MUNMAP: usize = 215;
    pub const MADVISE: usize = 233;
    pub const MEMFD_CREATE: usize = 279;
}

/// Opens `FOLDER/PROCESS.GENERATION.NAMESPACE`; without the last part if that is unknown. Processes
/// of two PID namespaces may have the same ID.
pub fn named(folder: &[u8], here: u32) -> Option<c_int> {
    const O_RDWR: c_int = 2;
    const O_CREAT: c_int = 0o100;
    const O_CLOEXEC: c_int = 0o2_000_000;
    let mut path = [0u8; 512];
    let mut length = 0;
    let mut put = |bytes: &[u8]| {
        let end = length + bytes.len();
        // The last byte stays zero.
        let room = path[..511].get_mut(length..end)?;
        room.copy_from_slice(bytes);
        length = end;
        Some(())
    };
    put(folder)?;
    put(b"/")?;
    put(decimal(getpid(), &mut [0; 10]))?;
    put(b".")?;
    put(decimal(here, &mut [0; 10]))?;
    if let Some(namespace) = namespace(&mut [0; 32]) {
        put(b".")?;
        put(namespace)?;
    }
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666);
    (file >= 0).then_some(file)
}

/// The digits of this process's PID namespace, in the buffer.
fn namespace(buffer: &mut [u8; 32]) -> Option<&[u8]> {
    // A filter may kill for the call below.
    if filter::is_there() {
        return None;
    }
    let link = readlink(c"/proc/self/ns/pid", buffer)?;
    let digits = link.strip_prefix(b"pid:[")?.strip_suffix(b"]")?;
    digits.iter().all(u8::is_ascii_digit).then_some(digits)
}

/// Opens an unnamed file.
pub fn nameless() -> Option<c_int> {
    const CLOSES_ON_EXEC: usize = 1;
    const NEVER_CODE: usize = 8;
    const DUPLICATE: usize = 1030;
    // Programs expect low numbers for their own files.
    const HIGH: usize = 1000;
    // A filter may kill for the calls below.
    if filter::is_there() {
        return None;
    }
    let create = |flags: usize| {
        let name = CALLED.as_ptr() as usize;
        // SAFETY: the name is a string.
        let file = unsafe { system_call(number::MEMFD_CREATE, [name, flags, 0, 0, 0, 0]) };
        c_int::try_from(file).ok().filter(|file| *file >= 0)
    };
    // Kernels before 6.3 reject the second flag.
    let file = create(CLOSES_ON_EXEC | NEVER_CODE).or_else(|| create(CLOSES_ON_EXEC))?;
    // SAFETY: the file is this function's own.
    let higher = unsafe { system_call(number::FCNTL, [file as usize, DUPLICATE, HIGH, 0, 0, 0]) };
    if higher < 0 {
        return Some(file);
    }
    close(file);
    Some(higher as c_int)
}

/// Keeps the unnamed file open, and closes that of a fork's parent.
pub fn keep(file: c_int) {
    let before = FILE.swap(file, Relaxed);
    if before >= 0 {
        close(before);
    }
}

/// Maps fresh memory.
pub fn anonymous(bytes: usize) -> Option<*mut u8> {
    libc::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)
}

/// Whether this process may create a file of that length; otherwise a signal would end it.
pub fn may_make(bytes: usize) -> bool {
    const FILE_SIZE: usize = 1;
    // A filter may kill for the call below.
    if filter::is_there() {
        return true;
    }
    let mut limits = [u64::MAX; 2];
    // SAFETY: the call writes two numbers.
    let known = unsafe {
        let limits = (&raw mut limits) as usize;
        system_call(number::GETRLIMIT, [FILE_SIZE, limits, 0, 0, 0, 0]) == 0
    };
    !known || limits[0] >= bytes as u64
}

/// Reserves pages of a file; false if there is no space.
pub fn reserve(file: c_int, offset: usize, bytes: usize) -> bool {
    // SAFETY: the caller's file, which only grows.
    unsafe {
        let arguments = [file as usize, 0, offset, bytes, 0, 0];
        system_call(number::FALLOCATE, arguments) == 0
    }
}

/// Maps the records in that file.
pub fn map(file: c_int) -> Option<&'static Records> {
    let bytes = size_of::<Records>();
    if !may_make(bytes) {
        say(format_args!(
            "cohort: cannot observe this process: its record file of {} MB (sparse) exceeds \
             `ulimit -f`; raise the limit\n",
            bytes / 1_000_000
        ));
        return None;
    }
    // SAFETY: the caller's file.
    let grown = unsafe { system_call(number::FTRUNCATE, [file as usize, bytes, 0, 0, 0, 0]) == 0 };
    let at = grown
        .then(|| libc::map(bytes, MAP_SHARED | MAP_NORESERVE, file))
        .flatten();
    let Some(at) = at else {
        say(format_args!(
            "cohort: cannot observe this process: no space for its record file\n"
        ));
        return None;
    };
    // A core dump would contain the whole length of an unnamed file.
    if !filter::is_there() {
        // SAFETY: mapped just above, in this length; the content stays unchanged.
        unsafe {
            let at = at as usize;
            system_call(number::MADVISE, [at, bytes, MADV_DONTDUMP, 0, 0, 0]);
        }
    }
    // SAFETY: mapped just above, in its length; all its bytes are atomics, for which zero is valid.
    let records: &Records = unsafe { &*at.cast() };
    for (byte, wanted) in records.magic.iter().zip(MAGIC) {
        byte.store(wanted, Relaxed);
    }
    Some(records)
}

/// Unmaps records that no other thread has seen.
pub fn unmap(records: &'static Records) {
    // SAFETY: mapped by `map`, in this length.
    unsafe {
        let at = ptr::from_ref(records) as usize;
        system_call(number::MUNMAP, [at, size_of::<Records>(), 0, 0, 0, 0]);
    }
}

/// The number's decimal digits, at the end of the buffer.
fn decimal(mut number: u32, buffer: &mut [u8; 10]) -> &[u8] {
    let mut first = buffer.len();
    loop {
        first -= 1;
        buffer[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[first..];
        }
    }
}

/// See `close(2)`.
///
/// # Safety
/// As that page asks.
#[unsafe(export_name = "close")]
pub unsafe extern "C" fn close_but_ours(file: c_int) -> c_int {
    const EBADF: c_int = 9;
    if file >= 0 && file == FILE.load(Relaxed) {
        // SAFETY: the calling thread's own.
        unsafe { *crate::libc::__errno_location() = EBADF };
        return -1;
    }
    // SAFETY: the program's.
    unsafe { observed::close(file) }
}

/// See `close_range(2)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: the program's.
    unsafe {
        let ours = c_uint::try_from(FILE.load(Relaxed)).unwrap_or(c_uint::MAX);
        if ours == c_uint::MAX || !(first..=last).contains(&ours) {
            return observed::close_range(first, last, flags);
        }
        let mut result = 0;
        if first < ours {
            result = observed::close_range(first, ours - 1, flags);
        }
        if result == 0 && ours < last {
            result = observed::close_range(ours + 1, last, flags);
        }
        result
    }
}

/// See `closefrom(3)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: the program's.
    unsafe {
        let ours = FILE.load(Relaxed);
        let from = first.max(0);
        if ours >= from {
            // The files below the records' file; those above it are closed below.
            for file in from..ours {
                close(file);
            }
        }
        observed::closefrom(if ours >= from { ours + 1 } else { first });
    }
}
