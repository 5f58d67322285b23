//! The file in which a process has its records: in a folder of the command's that started it, or,
//! where commands come and go, one without a name that stays open, so that others find it among the
//! process's open files and nothing is left of it when the process has ended.
//!
//! A daemon that closes all its files must not lose that one, so the functions that close files
//! answer for it as if it were not open.

use crate::filter;
use crate::libc::{keeping_errno, mmap, open, readlink, say};
use crate::next;
use cohort::records::{MAGIC, Records};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicPtr};

/// What the nameless file is called.
const CALLED: &CStr = c"cohort-records";

/// The open file of this process's, or its parent's, records; -1: none.
static FILE: AtomicI32 = AtomicI32::new(-1);

const READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const MAP_NORESERVE: c_int = 0x4000;
const MADV_DONTDUMP: c_int = 16;

unsafe extern "C" {
    safe fn getpid() -> c_int;
    fn ftruncate(file: c_int, length: i64) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn getrlimit(what: c_int, limits: *mut [u64; 2]) -> c_int;
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn fcntl(file: c_int, what: c_int, ...) -> c_int;
}

/// The file `FOLDER/PROCESS.GENERATION.NAMESPACE`, open; without the last part where that cannot be
/// told.  Processes of two PID namespaces may have one number.
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
    put(decimal(getpid() as u32, &mut [0; 10]))?;
    put(b".")?;
    put(decimal(here, &mut [0; 10]))?;
    if let Some(namespace) = namespace(&mut [0; 32]) {
        put(b".")?;
        put(namespace)?;
    }
    // SAFETY: the path ends by zero.
    let file = unsafe { open(path.as_ptr().cast(), O_RDWR | O_CREAT | O_CLOEXEC, 0o666) };
    (file >= 0).then_some(file)
}

/// The digits of the number of this process's PID namespace, in the buffer.
fn namespace(buffer: &mut [u8; 32]) -> Option<&[u8]> {
    // A filter may kill for the call below.
    if filter::is_there() {
        return None;
    }
    let path = c"/proc/self/ns/pid".as_ptr();
    // SAFETY: the path is a string; at most the buffer is written.
    let length = keeping_errno(|| unsafe { readlink(path, buffer.as_mut_ptr(), buffer.len()) });
    let link = buffer.get(..usize::try_from(length).ok()?)?;
    let digits = link.strip_prefix(b"pid:[")?.strip_suffix(b"]")?;
    digits.iter().all(u8::is_ascii_digit).then_some(digits)
}

/// A file without a name, open.
pub fn nameless() -> Option<c_int> {
    const CLOSES_ON_EXEC: c_uint = 1;
    const NEVER_CODE: c_uint = 8;
    const DUPLICATE: c_int = 1030;
    // A low number is one that the program expects for its own files.
    const HIGH: c_int = 1000;
    // A filter may kill for the calls below.
    if filter::is_there() {
        return None;
    }
    // SAFETY: the name is a string; the numbers are the kernel's.
    unsafe {
        // Kernels before 6.3 do not know the second flag.
        let mut file = memfd_create(CALLED.as_ptr(), CLOSES_ON_EXEC | NEVER_CODE);
        if file < 0 {
            file = memfd_create(CALLED.as_ptr(), CLOSES_ON_EXEC);
        }
        if file < 0 {
            return None;
        }
        let higher = fcntl(file, DUPLICATE, HIGH);
        if higher >= 0 {
            close(file);
            file = higher;
        }
        Some(file)
    }
}

/// The nameless file stays open; that of the parent of a fork does not.
pub fn keep(file: c_int) {
    let before = FILE.swap(file, Relaxed);
    if before >= 0 {
        close(before);
    }
}

/// Fresh memory.
pub fn anonymous(bytes: usize) -> Option<*mut u8> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: fresh memory.
    let at = unsafe { mmap(ptr::null_mut(), bytes, READ_WRITE, flags, -1, 0) };
    (at as usize != usize::MAX).then_some(at.cast())
}

/// Whether this process may make a file that long; otherwise it would end by a signal.
fn may_make(bytes: usize) -> bool {
    const FILE_SIZE: c_int = 1;
    // A filter may kill for the call below.
    if filter::is_there() {
        return true;
    }
    let mut limits = [u64::MAX; 2];
    // SAFETY: two numbers are written.
    let known = unsafe { getrlimit(FILE_SIZE, &raw mut limits) } == 0;
    !known || limits[0] >= bytes as u64
}

/// The records in that file.
pub fn map(file: c_int) -> Option<&'static Records> {
    let bytes = size_of::<Records>();
    if !may_make(bytes) {
        say(format_args!(
            "cohort: this process cannot be observed: its records are a sparse file of {} MB, and \
             `ulimit -f` allows less\n",
            bytes / 1_000_000
        ));
        return None;
    }
    // SAFETY: the file is as long as the mapping before it is used.
    let at = unsafe {
        if ftruncate(file, bytes as i64) == 0 {
            let flags = MAP_SHARED | MAP_NORESERVE;
            mmap(ptr::null_mut(), bytes, READ_WRITE, flags, file, 0)
        } else {
            usize::MAX as *mut _
        }
    };
    if at as usize == usize::MAX {
        say(format_args!(
            "cohort: this process cannot be observed: no room for its records\n"
        ));
        return None;
    }
    // A file without a name would be in a core dump, in its whole length.
    if !filter::is_there() {
        // SAFETY: mapped just now, in this length; nothing of it changes.
        unsafe { madvise(at, bytes, MADV_DONTDUMP) };
    }
    // SAFETY: mapped just now, in its length; all its bytes are atoms, for which zero is good.
    let records: &Records = unsafe { &*at.cast() };
    for (byte, wanted) in records.magic.iter().zip(MAGIC) {
        byte.store(wanted, Relaxed);
    }
    Some(records)
}

/// Lets go of records that no other thread knows.
pub fn unmap(records: &'static Records) {
    // SAFETY: mapped by `map`, in this length.
    unsafe {
        munmap(
            ptr::from_ref(records).cast_mut().cast(),
            size_of::<Records>(),
        )
    };
}

/// A number's digits, at the end of the buffer.
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

type Close = unsafe extern "C" fn(c_int) -> c_int;
type CloseRange = unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int;
type CloseFrom = unsafe extern "C" fn(c_int);

/// The C library's functions.
static CLOSE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static CLOSE_RANGE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static CLOSE_FROM: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Looks them up early: the first to call one may be a signal handler, or the child of a fork.
pub fn prepare() {
    known(&CLOSE, c"close");
    known(&CLOSE_RANGE, c"close_range");
    known(&CLOSE_FROM, c"closefrom");
}

/// The one of that name.
fn known(found: &AtomicPtr<()>, name: &CStr) -> *mut () {
    let mut function = found.load(Relaxed);
    if function.is_null() {
        function = keeping_errno(|| next::find(name, None));
        found.store(function, Relaxed);
    }
    function
}

/// Closes a file, whichever it is.
pub fn close(file: c_int) {
    // SAFETY: the C library's function has this signature.
    unsafe { core::mem::transmute::<*mut (), Close>(known(&CLOSE, c"close"))(file) };
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
    // SAFETY: the program's; the C library's function has this signature.
    unsafe { core::mem::transmute::<*mut (), Close>(known(&CLOSE, c"close"))(file) }
}

/// See `close_range(2)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: the program's; the C library's function has this signature.
    unsafe {
        let next = core::mem::transmute::<*mut (), CloseRange>(known(&CLOSE_RANGE, c"close_range"));
        let ours = c_uint::try_from(FILE.load(Relaxed)).unwrap_or(c_uint::MAX);
        if ours == c_uint::MAX || !(first..=last).contains(&ours) {
            return next(first, last, flags);
        }
        let mut result = 0;
        if first < ours {
            result = next(first, ours - 1, flags);
        }
        if result == 0 && ours < last {
            result = next(ours + 1, last, flags);
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
    // SAFETY: the program's; the C library's function has this signature.
    unsafe {
        let ours = FILE.load(Relaxed);
        let from = first.max(0);
        if ours >= from {
            // What is below ours; what is above it goes with the rest.
            for file in from..ours {
                close(file);
            }
        }
        let next = core::mem::transmute::<*mut (), CloseFrom>(known(&CLOSE_FROM, c"closefrom"));
        next(if ours >= from { ours + 1 } else { first });
    }
}
