//! The process's generation: a number that differs between a process and each child it forks.
//!
//! It is stored in a page that the kernel wipes in a forked child. So no `atfork` handler has to
//! run first, and `_Fork` and a bare `clone` are detected too.

use super::atoms::{AtomicPtr, AtomicU32, Ordering};
use super::memory::page_of_zeroes_in_child;

static NOT_YET: AtomicU32 = AtomicU32::new(0);

/// The wiped page's word; `NOT_YET` before the first use.
static CURRENT: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NOT_YET).cast_mut());

/// The last number assigned; a child inherits it, so its own is higher.
static LAST: AtomicU32 = AtomicU32::new(0);

/// This process's generation: at least 1, and higher than the parent's.
#[inline(always)]
#[must_use]
pub fn generation() -> u32 {
    let current = generation_so_far();
    if current != 0 { current } else { begin() }
}

/// The same, or 0 before its first use in this process.
#[inline(always)]
#[must_use]
pub fn generation_so_far() -> u32 {
    // SAFETY: the pointer is always to `NOT_YET` or to the page, and both live for ever.
    unsafe { &*CURRENT.load(Ordering::Acquire) }.load(Ordering::Acquire)
}

/// Whether a process may have been forked from another.
#[inline(always)]
#[must_use]
pub const fn may_fork() -> bool {
    true
}

/// First use in this process, by any of its threads.
#[cold]
fn begin() -> u32 {
    let mut word = CURRENT.load(Ordering::Acquire);
    if core::ptr::eq(word, &raw const NOT_YET) {
        let fresh =
            page_of_zeroes_in_child().map_or_else(without_wiping, |page| page.cast().as_ptr());
        word = match CURRENT.compare_exchange(word, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            // Another thread was first; the spare page stays mapped and untouched.
            Err(theirs) => theirs,
        };
    }
    // Several threads may draw a number; the first to write it wins.
    let drawn = LAST.fetch_add(1, Ordering::AcqRel) + 1;
    // SAFETY: as in `generation`.
    match unsafe { &*word }.compare_exchange(0, drawn, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => drawn,
        Err(theirs) => theirs,
    }
}

/// For kernels that cannot wipe, and emulators that do not: the C library calls this handler in the
/// child, before handlers registered later. If the first use is at the start, these include all of
/// the program's.
fn without_wiping() -> *mut AtomicU32 {
    static WORD: AtomicU32 = AtomicU32::new(0);
    extern "C" fn in_child() {
        WORD.store(0, Ordering::Release);
    }
    unsafe extern "C" {
        fn __register_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
            object: *const u8,
        ) -> i32;
    }
    // SAFETY: the handler is a plain function that lives as long as the program.
    unsafe { __register_atfork(None, None, Some(in_child), core::ptr::null()) };
    (&raw const WORD).cast_mut()
}
