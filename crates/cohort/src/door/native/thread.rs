//! A thread's record is in initial-exec thread-local storage, without destructor. So it is valid
//! before the first constructor and after the last destructor.
//!
//! Stable Rust's `thread_local!` needs `std`; the words are declared in assembly.

use super::ThreadRecord;
use super::allowed::{Beyond, is_allowed};
use super::kernel::{call, number};

/// The words' symbol, unique to this build: see build.rs.
macro_rules! record {
    () => {
        env!("COHORT_THREAD_RECORD")
    };
}

core::arch::global_asm!(
    concat!(".section .tbss.", record!(), ",\"awT\",@nobits"),
    ".balign 8",
    concat!(".hidden ", record!()),
    concat!(".globl ", record!()),
    concat!(".type ", record!(), ",%object"),
    concat!(".size ", record!(), ",{size}"),
    concat!(record!(), ":"),
    ".zero {size}",
    ".text",
    size = const size_of::<ThreadRecord>(),
);

/// The calling thread's words.
#[inline(always)]
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    let at: *const ThreadRecord;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the offset of our own symbol and the thread pointer.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            concat!("add {0}, qword ptr [rip + ", record!(), "@GOTTPOFF]"),
            out(reg) at,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the offset of our own symbol and the thread pointer.
    unsafe {
        core::arch::asm!(
            concat!("adrp {1}, :gottprel:", record!()),
            concat!("ldr {1}, [{1}, :gottprel_lo12:", record!(), "]"),
            "mrs {0}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) at,
            out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: the words live as long as their thread, which is the one running;
    // the type is not `Sync`, so the reference cannot leave it.
    unsafe { &*at }
}

/// How often a thread finds other readers before it considers what that costs.
const FOUND: u32 = 256;

/// Whether the calling thread, as it finds other readers of a lock, has found some often enough to
/// consider what that costs.
#[inline(always)]
#[must_use]
pub fn finds_readers() -> bool {
    let found = &thread().found;
    let times = found.get().wrapping_add(1);
    found.set(times);
    times.is_multiple_of(FOUND)
}

/// Whether a lock's change to bias is [paced](crate::rwlock).
#[inline(always)]
#[must_use]
pub const fn is_paced() -> bool {
    true
}

/// The kernel's number of the calling thread.
#[inline(always)]
#[must_use]
pub fn thread_id() -> u32 {
    let me = thread();
    me.settle();
    me.id()
}

/// A number of the calling thread that is unique in the process, whereas the kernel reuses its
/// numbers.
#[inline(always)]
#[must_use]
pub fn thread_number() -> u64 {
    thread().number()
}

/// Whether this process has no thread with that number.
///
/// A caller that does not find itself cannot judge: it runs in a child of `vfork`, in its parent's
/// memory.
#[must_use]
pub fn is_gone(id: u32) -> bool {
    const ESRCH: isize = -3;
    if !is_allowed(Beyond::Search) {
        return false;
    }
    // SAFETY: signal 0 delivers nothing.
    unsafe {
        let process = call(number::GETPID, [0; 6]) as usize;
        let asks = |id: u32| call(number::TGKILL, [process, id as usize, 0, 0, 0, 0]);
        asks(id) == ESRCH && asks(thread_id()) == 0
    }
}
