//! Mutexes that are used without an initialiser, in programs compiled with `cohort-debug.h`.
//!
//! Zero bytes are a plain mutex for the C library, initialised or not. The header marks static
//! initialisers in the mutex's kind, and adds a note to the program or library. In a process with
//! such a module, initialisations mark mutexes too, and a plain mutex without a mark is one without
//! an initialiser. It is marked as it is found, and so judged once.

use super::own::{Caller, Form, any};
use crate::layout::{MARKED, Mutex, NO_KIND, NORMAL};
use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::slice;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Whether mutexes are judged in this process.
static JUDGES: AtomicBool = AtomicBool::new(false);

/// Whether mutexes are judged in this process, which may be known only after its first lock
/// operation.
pub fn are_looked_for() -> bool {
    JUDGES.load(Relaxed)
}

/// Begins to judge mutexes if the process has a module with the note. Modules loaded later do not
/// change that.
pub fn look_for(form: Form) {
    let mut has_one = false;
    if matches!(form, Form::Owner | Form::Order) {
        each_module(|module| has_one |= module.is_marked());
    }
    JUDGES.store(has_one, Relaxed);
}

/// Marks a mutex that has just been initialised.
///
/// # Safety
/// It is a mutex.
pub unsafe fn initialised(mutex: *mut Mutex) {
    if any().is_some() && are_looked_for() {
        // SAFETY: the caller's.
        mark(unsafe { &*mutex });
    }
}

fn mark(mutex: &Mutex) {
    // Other kinds are not zero, so something has initialised them.
    if mutex.kind.load(Relaxed) & !NO_KIND == NORMAL {
        mutex.kind.fetch_or(MARKED, Relaxed);
    }
}

/// Whether a mutex about to be locked had no initialiser: it lacks a mark, the call is in a module
/// with the note, and so is the mutex, unless it is in no module, as on the heap.
pub fn has_no_initialiser(mutex: &Mutex, caller: &Caller) -> bool {
    if !are_looked_for() || mutex.kind.load(Relaxed) != NORMAL {
        return false;
    }
    mark(mutex);
    let mut calls = false;
    let mut is_in_another = false;
    each_module(|module| {
        let is_marked = module.is_marked();
        calls |= is_marked && module.has(caller.returns_to);
        is_in_another |= !is_marked && module.has(ptr::from_ref(mutex).addr());
    });
    calls && !is_in_another
}

/// `struct dl_phdr_info`, as far as it is read.
#[repr(C)]
struct Module {
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
    in_memory: usize,
    _alignment: usize,
}

impl Module {
    /// Its segments of that kind: their addresses and sizes.
    fn segments(&self, kind: u32) -> impl Iterator<Item = (usize, usize)> {
        // SAFETY: the loader's array of that length.
        let all = unsafe { slice::from_raw_parts(self.segments, self.count.into()) };
        let bias = self.bias;
        all.iter()
            .filter(move |segment| segment.kind == kind)
            .map(move |segment| (bias.wrapping_add(segment.address), segment.in_memory))
    }

    /// Whether an address is in its code or data.
    fn has(&self, address: usize) -> bool {
        const LOADED: u32 = 1;
        self.segments(LOADED)
            .any(|(at, size)| address.wrapping_sub(at) < size)
    }

    /// Whether it has the header's note.
    fn is_marked(&self) -> bool {
        const NOTES: u32 = 4;
        self.segments(NOTES).any(|(at, size)| {
            // SAFETY: the loader has mapped the segment.
            let notes = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(at), size) };
            has_note(notes)
        })
    }
}

/// Whether the header's note is among these, one after the other.
fn has_note(notes: &[u8]) -> bool {
    const HEAD: usize = 12;
    let mut rest = notes;
    loop {
        let word = |at: usize| {
            let bytes = rest.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let (Some(name), Some(description), Some(kind)) = (word(0), word(4), word(8)) else {
            return false;
        };
        if kind == 1 && rest.get(HEAD..HEAD + name as usize) == Some(&b"Cohort\0"[..]) {
            return true;
        }
        let padded = |length: u32| (length as usize).next_multiple_of(4);
        let Some(next) = rest.get(HEAD + padded(name) + padded(description)..) else {
            return false;
        };
        rest = next;
    }
}

/// Calls `each` with every loaded module.
fn each_module<F: FnMut(&Module)>(mut each: F) {
    unsafe extern "C" {
        fn dl_iterate_phdr(
            each: unsafe extern "C" fn(&Module, usize, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }
    unsafe extern "C" fn pass<F: FnMut(&Module)>(
        module: &Module,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the function below.
        unsafe { (*data.cast::<F>())(module) };
        0
    }
    // SAFETY: the C library's function, and a function that outlives the call.
    unsafe { dl_iterate_phdr(pass::<F>, (&raw mut each).cast()) };
}
