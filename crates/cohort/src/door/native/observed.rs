//! The observing library of this process, if there is one.

use super::image::Image;
use crate::door::recorder::{CallSite, NAME, Recorder, VERSION};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

/// Whether there may be a recorder: true until the first search. The word that each lock operation
/// reads first.
static MAY_BE: AtomicBool = AtomicBool::new(true);

/// The recorder found; null: none yet.
static FOUND: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());

/// Whether the process has a recorder, as far as is known. False is final.
#[inline(always)]
#[must_use]
pub fn may_be_observed() -> bool {
    MAY_BE.load(Relaxed)
}

/// The process's recorder, searched once.
#[cold]
#[inline(never)]
#[must_use]
pub fn recorder() -> Option<&'static Recorder> {
    let known = FOUND.load(Acquire);
    let found = if known.is_null() && may_be_observed() && is_expected() {
        find()
    } else {
        known
    };
    if found.is_null() {
        MAY_BE.store(false, Relaxed);
    } else if known.is_null() {
        FOUND.store(found, Release);
    }
    // SAFETY: null, or in a library that is never closed and never writes it.
    unsafe { found.as_ref() }
}

/// Whether the environment has a variable by which commands start the observing library.
fn is_expected() -> bool {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    const NAMES: [&[u8]; 3] = [b"COHORT_OBSERVE=", b"COHORT_PROFILE=", b"COHORT_WATCH="];
    // SAFETY: the environment is a list of strings ended by null; programs change it only while
    // single-threaded.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            if NAMES.iter().any(|name| text.starts_with(name)) {
                return true;
            }
            entry = entry.add(1);
        }
    }
    false
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
    _rest: [usize; 4],
}

/// The recorder that a loaded library exports; null: none of this version.
fn find() -> *mut Recorder {
    unsafe extern "C" {
        fn dl_iterate_phdr(
            each: unsafe extern "C" fn(&Loaded, usize, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }
    unsafe extern "C" fn each(loaded: &Loaded, _size: usize, found: *mut c_void) -> c_int {
        const DYNAMIC: u32 = 2;
        // The kernel's own image has no recorder, and its addresses are not relocated.
        // SAFETY: the loader's list of that image's segments, and its dynamic section.
        let image = unsafe {
            let mut segments = (0..usize::from(loaded.count)).map(|at| &*loaded.segments.add(at));
            let dynamic = segments.find(|segment| segment.kind == DYNAMIC);
            dynamic.and_then(|dynamic| {
                let at = loaded.bias + dynamic.address;
                Image::new(loaded.bias, ptr::with_exposed_provenance(at))
            })
        };
        let Some(recorder) = image.and_then(|image| image.find(NAME)) else {
            return 0;
        };
        let recorder = recorder.cast::<Recorder>();
        // SAFETY: the symbol of that name begins with its version.
        if unsafe { (*recorder).version } == VERSION {
            // SAFETY: the pointer below.
            unsafe { found.cast::<*mut Recorder>().write(recorder) };
        }
        1
    }
    let mut found: *mut Recorder = ptr::null_mut();
    // SAFETY: the C library's function, and a place that outlives the call.
    unsafe { dl_iterate_phdr(each, (&raw mut found).cast()) };
    found
}

/// The caller's place: where this call returns to.
#[inline(always)]
#[must_use]
pub fn call_site() -> CallSite {
    let mut site = CallSite::default();
    // SAFETY: writes the site alone.
    unsafe { note(&raw mut site) };
    site
}

/// # Safety
/// The site is writable.
// SAFETY: it writes three words and changes no register that belongs to the caller.
#[unsafe(naked)]
unsafe extern "C" fn note(site: *mut CallSite) {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "mov rax, qword ptr [rsp]",
        "lea rcx, [rsp + 8]",
        "mov qword ptr [rdi], rax",
        "mov qword ptr [rdi + 8], rcx",
        "mov qword ptr [rdi + 16], rbp",
        "ret",
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "mov x9, sp",
        "stp x30, x9, [x0]",
        "str x29, [x0, #16]",
        "ret",
    );
}
