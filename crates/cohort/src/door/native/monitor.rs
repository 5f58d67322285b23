//! A wait for a change of a word without polling: the CPU watches the word's cache line, and the
//! thread stands still until a write or the bound. The core's other hardware threads can use it
//! meanwhile, and the change is noticed at once, not after the rest of a pause.
//!
//! | [`Monitor`] | instructions | waits until |
//! |---|---|---|
//! | `Umwait` | UMONITOR, UMWAIT (x86-64 with `waitpkg`) | the deadline or the kernel's limit |
//! | `Wfet` | LDXR, WFET (aarch64 with `wfxt`) | the deadline |
//! | `Wfe` | LDXR, WFE (aarch64 with `evtstrm`) | the kernel's next event, within 100 µs |
//! | `Missing` | a pause | |
//!
//! Each may also return spuriously, so the caller looks again. This is for words with one waiter at
//! a time: many waiters at one line would all fetch it at each write, as spinners do, and gain
//! nothing.

use super::super::Monitor;
use super::AtomicU32;
use super::atoms::{AtomicU8, Ordering};
use core::arch::asm;

/// The result of [`monitor`], once known.
static MONITOR: AtomicU8 = AtomicU8::new(UNKNOWN);

const UNKNOWN: u8 = u8::MAX;

/// How this process's waiters let the CPU watch a word; detected at the first call.
#[must_use]
#[inline]
pub fn monitor() -> Monitor {
    const WAYS: [Monitor; 4] = [
        Monitor::Missing,
        Monitor::Umwait,
        Monitor::Wfet,
        Monitor::Wfe,
    ];
    let known = MONITOR.load(Ordering::Relaxed);
    WAYS.into_iter()
        .find(|way| *way as u8 == known)
        .unwrap_or_else(find)
}

/// Sets how every waiter of this process watches words. [`Monitor::Missing`] turns it off.
///
/// # Safety
/// The CPU has those instructions, or this process handles the signal raised otherwise.
pub unsafe fn set_monitor(way: Monitor) {
    MONITOR.store(way as u8, Ordering::Relaxed);
}

#[cold]
fn find() -> Monitor {
    let found = offered_monitor();
    MONITOR.store(found as u8, Ordering::Relaxed);
    found
}

/// The CPU's instructions, used or not.
#[must_use]
#[cfg(target_arch = "x86_64")]
pub fn offered_monitor() -> Monitor {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    const FEATURES: u32 = 7;
    const WAITPKG: u32 = 1 << 5;
    #[allow(unused_unsafe, reason = "to ask is safe from Rust 1.94 on")]
    let has = {
        // SAFETY: every CPU of this architecture has the instruction.
        let (most, features) = unsafe { (__cpuid(0).eax, __cpuid_count(FEATURES, 0).ecx) };
        most >= FEATURES && features & WAITPKG != 0
    };
    if has {
        Monitor::Umwait
    } else {
        Monitor::Missing
    }
}

/// The CPU's instructions by the kernel's report, used or not.
#[must_use]
#[cfg(target_arch = "aarch64")]
pub fn offered_monitor() -> Monitor {
    // SAFETY: so the C library declares it.
    unsafe extern "C" {
        fn getauxval(kind: usize) -> usize;
    }
    const AT_HWCAP: usize = 16;
    const AT_HWCAP2: usize = 26;
    const EVTSTRM: usize = 1 << 2;
    const WFXT: usize = 1 << 31;
    // SAFETY: reads the kernel's start-up report; the C library handles these two itself and leaves
    // `errno` alone.
    let (first, second) = unsafe { (getauxval(AT_HWCAP), getauxval(AT_HWCAP2)) };
    if second & WFXT != 0 {
        Monitor::Wfet
    } else if first & EVTSTRM != 0 {
        Monitor::Wfe
    } else {
        // Otherwise a wait for a word without writers would not end.
        Monitor::Missing
    }
}

/// Passes a little time of a wait until `word` is not `seen`: at most that many nanoseconds, but
/// see [`Monitor::Wfe`].
pub(super) fn wait(word: &AtomicU32, seen: u32, nanoseconds: u64) {
    match monitor() {
        #[cfg(target_arch = "x86_64")]
        Monitor::Umwait => umwait(word, seen, nanoseconds),
        #[cfg(target_arch = "aarch64")]
        Monitor::Wfet => wfet(word, seen, nanoseconds),
        // A parking waiter must keep its bound: the holder may wait for its CPU.
        #[cfg(target_arch = "aarch64")]
        Monitor::Wfe if super::policy::policy() == super::super::WaitPolicy::Spin => {
            wfe(word, seen)
        }
        _ => core::hint::spin_loop(),
    }
}

#[cfg(target_arch = "x86_64")]
fn umwait(word: &AtomicU32, seen: u32, nanoseconds: u64) {
    // SAFETY: only names the line.
    unsafe {
        asm!("umonitor {}", in(reg) word, options(readonly, nostack, preserves_flags));
    }
    // A change before this point wakes no waiter. The value itself is not used: the caller looks
    // again.
    if word.load(super::super::Order::RELAXED) != seen {
        return;
    }
    // SAFETY: reads a counter.
    let now = unsafe { core::arch::x86_64::_rdtsc() };
    // The counter ticks at least once per nanosecond wherever these instructions exist. So this is
    // never late, and the caller waits again for the rest.
    let until = now + nanoseconds;
    /// C0.1: a lighter sleep than C0.2 with an earlier wake-up, as fits so short a wait.
    const LIGHTLY: u32 = 1;
    // SAFETY: stands still and changes nothing but the flags.
    unsafe {
        asm!(
            "umwait {:e}",
            in(reg) LIGHTLY,
            in("eax") until as u32,
            in("edx") (until >> 32) as u32,
            options(nomem, nostack),
        );
    }
}

/// LDXR names the line; WFE waits for a later change of it. In one piece, so that no access of the
/// compiler intervenes.
#[cfg(target_arch = "aarch64")]
fn wfe(word: &AtomicU32, seen: u32) {
    // SAFETY: reads an aligned word that is alive, and stands still.
    unsafe {
        asm!(
            "ldxr {now:w}, [{word}]",
            "cmp {now:w}, {seen:w}",
            "b.ne 2f",
            "wfe",
            "2:",
            word = in(reg) word,
            seen = in(reg) seen,
            now = out(reg) _,
            options(readonly, nostack),
        );
    }
}

/// The same until a deadline, in ticks of the counter.
#[cfg(target_arch = "aarch64")]
fn wfet(word: &AtomicU32, seen: u32, nanoseconds: u64) {
    let (now, frequency): (u64, u64);
    // SAFETY: reads two counters readable by every program.
    unsafe {
        asm!(
            "mrs {}, cntvct_el0",
            "mrs {}, cntfrq_el0",
            out(reg) now,
            out(reg) frequency,
            options(nomem, nostack, preserves_flags),
        );
    }
    let until = now + nanoseconds * frequency / 1_000_000_000;
    // SAFETY: as in `wfe`; the instruction is written as a number because an assembler for
    // older CPUs does not know its name.
    unsafe {
        asm!(
            "ldxr {now:w}, [{word}]",
            "cmp {now:w}, {seen:w}",
            "b.ne 2f",
            ".inst 0xd5031009", // wfet x9
            "2:",
            word = in(reg) word,
            seen = in(reg) seen,
            now = out(reg) _,
            in("x9") until,
            options(readonly, nostack),
        );
    }
}
