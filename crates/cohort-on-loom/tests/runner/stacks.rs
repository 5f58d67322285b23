//! Reuses the stacks of loom's fibers across executions of a model.
//!
//! Loom maps and unmaps a stack for each thread of each execution, which took more than half of a
//! model's time. These functions override the C library's in this program. An unmapped stack is kept,
//! with its guard page, for the next mapping. Fibers do not need zeroed stacks.

use libc::{MAP_ANONYMOUS, MAP_STACK, PROT_NONE, c_int, c_void, off_t, size_t};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A stack that this process has mapped.
struct Stack {
    begins: usize,
    bytes: usize,
    /// Whether a fiber uses it.
    used: bool,
    /// Whether its first page is a guard.
    guarded: bool,
}

static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// Applies `then` to the stack that satisfies `is_it`, if any.
fn find<R>(is_it: impl Fn(&Stack) -> bool, then: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
    stacks.iter_mut().find(|stack| is_it(stack)).map(then)
}

/// Maps memory; reuses a kept stack.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    const FOR_STACKS: c_int = MAP_STACK | MAP_ANONYMOUS;
    let is_stack = flags & FOR_STACKS == FOR_STACKS;
    let take = |stack: &mut Stack| {
        stack.used = true;
        stack.begins
    };
    let fits = |stack: &Stack| !stack.used && stack.bytes == bytes;
    if is_stack && let Some(begins) = find(fits, take) {
        return ptr::with_exposed_provenance_mut(begins);
    }
    // SAFETY: the caller's.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, at, bytes, protection, flags, file, offset) };
    let begins = mapped as usize;
    if is_stack && mapped != -1 {
        let stack = Stack {
            begins,
            bytes,
            used: true,
            guarded: false,
        };
        let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.push(stack);
    }
    ptr::with_exposed_provenance_mut(begins)
}

/// Changes the protection of memory, except for an existing guard page.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(at: *mut c_void, bytes: size_t, protection: c_int) -> c_int {
    let is_it = |stack: &Stack| protection == PROT_NONE && stack.begins == at.addr();
    let was_guarded = |stack: &mut Stack| std::mem::replace(&mut stack.guarded, true);
    if find(is_it, was_guarded) == Some(true) {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_mprotect, at, bytes, protection) as c_int }
}

/// Unmaps memory; a stack is kept.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, bytes: size_t) -> c_int {
    let is_it = |stack: &Stack| stack.begins == at.addr() && stack.bytes == bytes;
    if find(is_it, |stack| stack.used = false).is_some() {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_munmap, at, bytes) as c_int }
}
