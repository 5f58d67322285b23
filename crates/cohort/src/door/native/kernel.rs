//! System calls, made directly: the C library's wrappers write `errno`, which a lock under an
//! unchanged program must never touch.

use core::arch::asm;

#[cfg(target_arch = "x86_64")]
pub(super) mod number {
    pub const READ: usize = 0;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const SCHED_YIELD: usize = 24;
    pub const MADVISE: usize = 28;
    pub const GETPID: usize = 39;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const CLOCK_GETTIME: usize = 228;
    pub const PRCTL: usize = 157;
    pub const SCHED_GETAFFINITY: usize = 204;
    pub const TGKILL: usize = 234;
    pub const OPENAT: usize = 257;
    pub const GETCPU: usize = 309;
    pub const MBIND: usize = 237;
    pub const MEMBARRIER: usize = 324;
    pub const RSEQ_SLICE_YIELD: usize = 471;
    #[cfg(feature = "chaos")]
    pub const WRITE: usize = 1;
    #[cfg(feature = "chaos")]
    pub const EXIT_GROUP: usize = 231;
}

#[cfg(target_arch = "aarch64")]
pub(super) mod number {
    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const READ: usize = 63;
    pub const MUNMAP: usize = 215;
    pub const MMAP: usize = 222;
    pub const SCHED_YIELD: usize = 124;
    pub const MADVISE: usize = 233;
    pub const GETPID: usize = 172;
    pub const GETTID: usize = 178;
    pub const FUTEX: usize = 98;
    pub const CLOCK_GETTIME: usize = 113;
    pub const SCHED_GETAFFINITY: usize = 123;
    pub const TGKILL: usize = 131;
    pub const GETCPU: usize = 168;
    pub const MBIND: usize = 235;
    pub const MEMBARRIER: usize = 283;
    pub const PRCTL: usize = 167;
    pub const RSEQ_SLICE_YIELD: usize = 471;
    #[cfg(feature = "chaos")]
    pub const WRITE: usize = 64;
    #[cfg(feature = "chaos")]
    pub const EXIT_GROUP: usize = 94;
}

/// Makes a system call; returns what the kernel returned, negative for an error.
///
/// # Safety
/// The call must be sound with these arguments.
#[inline]
pub unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel preserves every register but these three; the caller
    // vouches for the call itself.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel preserves every register but x0; the caller vouches for
    // the call itself.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] as isize => result,
            in("x1") args[1], in("x2") args[2], in("x3") args[3],
            in("x4") args[4], in("x5") args[5],
            options(nostack),
        );
    }
    result
}
