//! A thread's record is in initial-exec thread-local storage, without destructor. So it is valid
//! before the first constructor and after the last destructor.
//!
//! Libraries that programs load late, by `dlopen`, share a small reserve of such storage. With the
//! feature `dynamic_tls`, the record is found by a TLS descriptor: the loader takes the reserve as
//! long as there is some, and otherwise allocates the record at the thread's first access.
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

/// Finds the words by their TLS descriptor. Its call preserves all registers but one. Where it
/// allocates, glibc before 2.40 preserves no vector registers: they are among the clobbers.
#[cfg(all(target_arch = "x86_64", feature = "dynamic_tls"))]
macro_rules! by_descriptor {
    ($at:ident, $($clobbers:tt)+) => {
        // SAFETY: calls the descriptor of our own symbol, and adds the thread pointer.
        unsafe {
            core::arch::asm!(
                concat!("leaq ", record!(), "@tlsdesc(%rip), %rax"),
                concat!("call *", record!(), "@tlscall(%rax)"),
                "addq %fs:0, %rax",
                out("rax") $at,
                $($clobbers)+,
                options(pure, readonly, att_syntax),
            );
        }
    };
}

/// Finds the words by their TLS descriptor. Its call changes x0, the link register and flags.
/// Where it allocates, it preserves no registers of SVE: they are among the clobbers.
#[cfg(all(target_arch = "aarch64", feature = "dynamic_tls"))]
macro_rules! by_descriptor {
    ($at:ident, $($clobbers:tt)+) => {
        // SAFETY: calls the descriptor of our own symbol, and adds the thread pointer.
        unsafe {
            core::arch::asm!(
                concat!("adrp x0, :tlsdesc:", record!()),
                concat!("ldr x1, [x0, :tlsdesc_lo12:", record!(), "]"),
                concat!("add x0, x0, :tlsdesc_lo12:", record!()),
                concat!(".tlsdesccall ", record!()),
                "blr x1",
                "mrs x1, tpidr_el0",
                "add x0, x0, x1",
                out("x0") $at,
                $($clobbers)+,
                options(pure, readonly),
            );
        }
    };
}

/// The calling thread's words.
#[inline(always)]
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    let at: *const ThreadRecord;
    #[cfg(all(target_arch = "x86_64", not(feature = "dynamic_tls")))]
    // SAFETY: reads the offset of our own symbol and the thread pointer.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            concat!("add {0}, qword ptr [rip + ", record!(), "@GOTTPOFF]"),
            out(reg) at,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(all(target_arch = "aarch64", not(feature = "dynamic_tls")))]
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
    #[cfg(all(
        target_arch = "x86_64",
        feature = "dynamic_tls",
        target_feature = "avx512f"
    ))]
    by_descriptor!(at, clobber_abi("C"));
    #[cfg(all(
        target_arch = "x86_64",
        feature = "dynamic_tls",
        not(target_feature = "avx512f")
    ))]
    by_descriptor!(
        at,
        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
        out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _
    );
    #[cfg(all(
        target_arch = "aarch64",
        feature = "dynamic_tls",
        target_feature = "sve"
    ))]
    by_descriptor!(at, clobber_abi("C"));
    #[cfg(all(
        target_arch = "aarch64",
        feature = "dynamic_tls",
        not(target_feature = "sve")
    ))]
    by_descriptor!(at, out("x1") _, out("x30") _);
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
