//! Stops a thread after any of its instructions, by the processor's single step.

extern crate std;

use core::arch::asm;
use libc::{c_int, c_void, siginfo_t};
use std::fs::read_to_string;
use std::mem::transmute;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicU32};

/// The stepped thread's instructions so far, and the number after which it stops.
static STEPS: AtomicU32 = AtomicU32::new(0);
static STOP: AtomicU32 = AtomicU32::new(0);

/// The function to call at the stop, a `fn()` or null.
static THERE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

extern "C" fn stepped(_signal: c_int, _info: *mut siginfo_t, _context: *mut c_void) {
    if STEPS.fetch_add(1, SeqCst) + 1 != STOP.load(SeqCst) {
        return;
    }
    let there = THERE.load(SeqCst);
    if !there.is_null() {
        // SAFETY: `stopped_after` stored a function.
        let there = unsafe { transmute::<*mut c_void, fn()>(there) };
        there();
    }
}

fn handle_steps() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is async-signal-safe if its user's function is.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = stepped as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
        }
    });
}

/// Whether single steps reach this process; a debugger would intercept them.
pub fn can_step() -> bool {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line == "TracerPid:\t0")
}

/// The instructions of `it`, and a few around it. One thread at a time.
#[allow(dead_code, reason = "the lab's tests count, others stop")]
pub fn steps_of(it: impl FnOnce()) -> u32 {
    stopped_after(u32::MAX, || {}, it);
    STEPS.load(SeqCst)
}

/// Runs `it` in single steps, and calls `there` in a signal handler after `steps` of them. Returns
/// false if it has fewer steps. One thread at a time.
pub fn stopped_after(steps: u32, there: fn(), it: impl FnOnce()) -> bool {
    handle_steps();
    STEPS.store(0, SeqCst);
    STOP.store(steps, SeqCst);
    THERE.store(there as *mut c_void, SeqCst);
    // SAFETY: sets and clears the single-step flag; its trap is handled.
    unsafe {
        asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        it();
        asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
    }
    STEPS.load(SeqCst) >= steps
}
