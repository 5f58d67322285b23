//! Modules compiled with `cohort-debug.h`, which marks static initialisers. Zeroes that such a
//! module locks were never initialised.
//!
//! A mutex's mark is the C library's bit against lock elision, which neither library acts on. A
//! rwlock's is a word that neither uses. `init` sets the same marks.

use super::own::{Caller, Own};
use super::wrong::found;
use crate::layout::{Mutex, NORMAL, RwLock};
use crate::libc::{RTLD_NEXT, dlsym};
use crate::mutex;
use cohort::records::{How, Wrong};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};
use core::{mem, ptr};

/// `PTHREAD_MUTEX_NO_ELISION_NP`.
const MUTEX: c_int = 0x200;

/// Greatest number of marked modules; further ones count as unmarked.
const MODULES: usize = 64;

/// The addresses of marked modules: first, and first beyond.
static MARKED: [[AtomicUsize; 2]; MODULES] =
    [const { [const { AtomicUsize::new(0) }; 2] }; MODULES];

/// Their number.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Whether there are any.
#[inline(always)]
pub fn are_there() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Whether that address is in a marked module.
fn is_marked(address: usize) -> bool {
    let count = COUNT.load(Acquire) as usize;
    MARKED[..count.min(MODULES)]
        .iter()
        .any(|[from, to]| (from.load(Relaxed)..to.load(Relaxed)).contains(&address))
}

/// Marks a lock that `init` has initialised.
///
/// # Safety
/// There is a lock of that sort at that address, not yet used.
pub unsafe fn mark(how: How, object: usize) {
    if !are_there() {
        return;
    }
    // SAFETY: the caller's.
    unsafe {
        match how {
            How::Mutex => {
                let mutex = &*ptr::with_exposed_provenance::<Mutex>(object);
                if mutex.kind.load(Relaxed) == NORMAL {
                    mutex.kind.store(MUTEX, Relaxed);
                }
            }
            How::Read => {
                let lock = &*ptr::with_exposed_provenance::<RwLock>(object);
                lock.mark.store(1, Relaxed);
            }
            _ => {}
        }
    }
}

/// Reports a mutex that is all zero, and about to be locked by a marked module.
pub fn look(own: &Own, mutex: &Mutex, caller: &Caller) {
    if are_there() && mutex::kind_without_lock(mutex) == NORMAL && is_marked(caller.returns_to) {
        let object = ptr::from_ref(mutex) as usize;
        found(own, Wrong::Unmarked, object, caller, None);
    }
}

/// The same for a rwlock.
///
/// # Safety
/// The lock is the program's.
pub unsafe fn look_at_rwlock(own: &Own, lock: *mut RwLock, caller: &Caller) {
    // SAFETY: the caller's.
    let object = unsafe { &*lock };
    if are_there() && object.is_unmarked() && is_marked(caller.returns_to) {
        found(own, Wrong::Unmarked, lock as usize, caller, None);
    }
}

/// `struct dl_phdr_info`, as far as it is read.
#[repr(C)]
struct Loaded {
    bias: usize,
    _name: *const c_char,
    segments: *const Segment,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Segment {
    kind: u32,
    _flags: u32,
    _offset: usize,
    address: usize,
    _physical: usize,
    _in_file: usize,
    size: usize,
    align: usize,
}

impl Segment {
    const LOAD: u32 = 1;
    const NOTE: u32 = 4;
}

/// Finds the marked modules among those loaded at the program's start.
pub fn prepare() {
    type Each = unsafe extern "C" fn(&Loaded, usize, *mut c_void) -> c_int;
    type Iterate = unsafe extern "C" fn(Each, *mut c_void) -> c_int;

    unsafe extern "C" fn each(loaded: &Loaded, _size: usize, _: *mut c_void) -> c_int {
        // SAFETY: the loader's list of that module's segments.
        let segments =
            || (0..usize::from(loaded.count)).map(|at| unsafe { &*loaded.segments.add(at) });
        let notes = |segment: &Segment| {
            let place = ptr::with_exposed_provenance(loaded.bias + segment.address);
            // SAFETY: a loaded segment.
            let bytes = unsafe { core::slice::from_raw_parts(place, segment.size) };
            has_mark(bytes, segment.align)
        };
        let parts = || segments().filter(|segment| segment.kind == Segment::LOAD);
        // Tools that edit programs may leave notes that are not loaded.
        let is_loaded = |segment: &Segment| {
            let end = segment.address + segment.size;
            parts().any(|part| part.address <= segment.address && end <= part.address + part.size)
        };
        let is_note = |segment: &Segment| segment.kind == Segment::NOTE && is_loaded(segment);
        if segments().any(|segment| is_note(segment) && notes(segment)) {
            let from = parts().map(|segment| segment.address).min();
            let to = parts().map(|segment| segment.address + segment.size).max();
            let count = COUNT.load(Relaxed);
            if let (Some(from), Some(to)) = (from, to)
                && let Some(room) = MARKED.get(count as usize)
            {
                room[0].store(loaded.bias + from, Relaxed);
                room[1].store(loaded.bias + to, Relaxed);
                COUNT.store(count + 1, Release);
            }
        }
        0
    }
    // Past a wrapper of the program's, which may lock mutexes.
    // SAFETY: the name is a string; the handle is the documented constant.
    let found = unsafe { dlsym(RTLD_NEXT, c"dl_iterate_phdr".as_ptr()) };
    if !found.is_null() {
        // SAFETY: the C library's function, of that type; the callback reads what the loader keeps
        // mapped.
        unsafe {
            let iterate = mem::transmute::<*mut c_void, Iterate>(found);
            iterate(each, ptr::null_mut());
        }
    }
}

/// Whether these notes have the header's: of the name "Cohort" and the type 1.
fn has_mark(mut notes: &[u8], align: usize) -> bool {
    const NAME: &[u8] = b"Cohort\0";
    let round = |length: usize| length.next_multiple_of(if align == 8 { 8 } else { 4 });
    let word = |notes: &[u8], at: usize| {
        let bytes = notes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes) as usize)
    };
    while let (Some(name), Some(content), Some(kind)) =
        (word(notes, 0), word(notes, 4), word(notes, 8))
    {
        if kind == 1 && notes.get(12..12 + name) == Some(NAME) {
            return true;
        }
        let length = round(12 + name) + round(content);
        let Some(behind) = notes.get(length..) else {
            return false;
        };
        notes = behind;
    }
    false
}
