//! `prctl` and `syscall`, which install filters of system calls. The locks stop making the calls
//! that a filter would kill for, just before it is installed. They also stop extending time slices
//! just before the program enables that for itself.
//!
//! Both functions continue in the C library. Cohort interprets the filter, as the kernel would, for
//! each system call of the locks; a filter that refuses with an error is harmless. A filter
//! installed another way, such as by the program's own instructions, is not seen. Strict mode,
//! which has no filter, kills a waiting thread under the C library too.

use crate::next;
use cohort::door::{Beyond, PAGE, forbid, leave_extensions, system_call};
use core::ffi::{c_int, c_long, c_ulong};
#[cfg(feature = "observe")]
use core::sync::atomic::Ordering::Relaxed;

/// The constants of `prctl`, and of the separate system call.
const PR_SET_SECCOMP: c_int = 22;
const PR_RSEQ_SLICE_EXTENSION: c_int = 79;
const MODE_FILTER: c_ulong = 2;
const SET_MODE_FILTER: usize = 1;

#[cfg(target_arch = "x86_64")]
mod number {
    pub const RT_SIGPROCMASK: usize = 14;
    pub const PRCTL: usize = 157;
    pub const SECCOMP: usize = 317;
    pub const MEMBARRIER: u32 = 324;
    pub const SCHED_YIELD: u32 = 24;
    pub const SCHED_GETPARAM: u32 = 143;
    pub const SCHED_GETSCHEDULER: u32 = 145;
    pub const TGKILL: u32 = 234;
    pub const GETPID: u32 = 39;
    pub const OPENAT: u32 = 257;
    pub const RSEQ_SLICE_YIELD: u32 = 471;
    pub const AUDIT_ARCH: u32 = 0xc000_003e;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const RT_SIGPROCMASK: usize = 135;
    pub const PRCTL: usize = 167;
    pub const SECCOMP: usize = 277;
    pub const MEMBARRIER: u32 = 283;
    pub const SCHED_GETSCHEDULER: u32 = 120;
    pub const SCHED_GETPARAM: u32 = 121;
    pub const SCHED_YIELD: u32 = 124;
    pub const TGKILL: u32 = 131;
    pub const GETPID: u32 = 172;
    pub const OPENAT: u32 = 56;
    pub const RSEQ_SLICE_YIELD: u32 = 471;
    pub const AUDIT_ARCH: u32 = 0xc000_00b7;
}

/// The first arguments of a system call.
type Arguments = [u32; 3];

/// Arguments that a filter is not expected to look at.
const ANY: Arguments = [0; 3];

/// To enable extensions of a thread's time slice.
const ENABLE: Arguments = [PR_RSEQ_SLICE_EXTENSION as u32, 2, 1];

/// Operations of the locks that a filter may kill for, with their system calls.
const CALLS: [(Beyond, u32, Arguments); 9] = [
    (Beyond::Barrier, number::MEMBARRIER, ANY),
    (Beyond::Yield, number::SCHED_YIELD, ANY),
    (Beyond::Search, number::TGKILL, ANY),
    (Beyond::Search, number::GETPID, ANY),
    (Beyond::Files, number::OPENAT, ANY),
    (Beyond::Priority, number::SCHED_GETSCHEDULER, ANY),
    (Beyond::Priority, number::SCHED_GETPARAM, ANY),
    (Beyond::Slice, number::PRCTL as u32, ENABLE),
    (Beyond::Slice, number::RSEQ_SLICE_YIELD, ANY),
];

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u16,
    yes: u8,
    no: u8,
    k: u32,
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

/// The kernel's limit of instructions.
const LONGEST: u16 = 4096;

/// Whether the process, or an ancestor that it was forked from, has a filter.
#[cfg(feature = "observe")]
static IS_THERE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// Whether a filter has been seen.
#[cfg(feature = "observe")]
pub fn is_there() -> bool {
    IS_THERE.load(Relaxed)
}

/// Whether the program can read that many bytes there.
fn is_readable(at: *const u8, bytes: usize) -> bool {
    const EFAULT: isize = -14;
    /// Size of the call's argument, a signal set.
    const SET: usize = 8;
    let can_read = |at: usize| {
        // The kernel reads the set, then refuses the invalid operation on the signal mask.
        let arguments = [usize::MAX, at & !(SET - 1), 0, SET, 0, 0];
        // SAFETY: the call therefore changes nothing.
        unsafe { system_call(number::RT_SIGPROCMASK, arguments) != EFAULT }
    };
    let first = at as usize;
    let Some(last) = first.checked_add(bytes.saturating_sub(1)) else {
        return false;
    };
    (first..last).step_by(PAGE).all(can_read) && can_read(last)
}

/// Handles a filter that is about to be installed.
///
/// # Safety
/// The program is a filter, or the kernel cannot read it.
#[cold]
#[inline(never)]
unsafe fn honour(program: *const Program) {
    if !is_readable(program.cast(), size_of::<Program>()) {
        return;
    }
    // SAFETY: the caller's, and readable.
    let program = unsafe { &*program };
    let bytes = usize::from(program.length) * size_of::<Instruction>();
    if program.length > LONGEST || !is_readable(program.instructions.cast(), bytes) {
        return;
    }
    #[cfg(feature = "observe")]
    IS_THERE.store(true, Relaxed);
    // SAFETY: the caller's, and readable.
    let instructions =
        unsafe { core::slice::from_raw_parts(program.instructions, program.length.into()) };
    for (what, call, arguments) in CALLS {
        if !spares(instructions, call, arguments) {
            forbid(what);
        }
    }
}

/// Whether a filter lets a process survive that call. Further arguments and the instruction pointer
/// count as zero.
fn spares(program: &[Instruction], call: u32, arguments: Arguments) -> bool {
    const ALLOW: u32 = 0x7fff_0000;
    const LOG: u32 = 0x7ffc_0000;
    const ERRNO: u32 = 0x0005_0000;
    let verdict = run(program, call, arguments).unwrap_or(0);
    matches!(verdict & 0xffff_0000, ALLOW | LOG | ERRNO)
}

/// A filter's verdict on that call; none for a filter that the kernel would not take.
fn run(program: &[Instruction], call: u32, arguments: Arguments) -> Option<u32> {
    let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; 16]);
    let mut at = 0usize;
    loop {
        let Instruction { code, yes, no, k } = *program.get(at)?;
        at += 1;
        // The kernel's names: BPF_K or BPF_X.
        let operand = if code & 0x08 == 0 { k } else { x };
        match (code & 0x07, code & 0xf0, code & 0xe0) {
            // BPF_LD: from the call, a constant, memory, the length.
            (0, _, 0x20) => {
                a = match k {
                    0 => call,
                    4 => number::AUDIT_ARCH,
                    16 => arguments[0],
                    24 => arguments[1],
                    32 => arguments[2],
                    _ => 0,
                }
            }
            (0, _, 0x00) => a = k,
            (0, _, 0x60) => a = *memory.get(k as usize)?,
            (0, _, 0x80) => a = DATA_BYTES,
            // BPF_LDX.
            (1, _, 0x00) => x = k,
            (1, _, 0x60) => x = *memory.get(k as usize)?,
            (1, _, 0x80) => x = DATA_BYTES,
            // BPF_ST, BPF_STX.
            (2, ..) => *memory.get_mut(k as usize)? = a,
            (3, ..) => *memory.get_mut(k as usize)? = x,
            // BPF_ALU.
            (4, operation, _) => {
                a = match operation {
                    0x00 => a.wrapping_add(operand),
                    0x10 => a.wrapping_sub(operand),
                    0x20 => a.wrapping_mul(operand),
                    0x30 => a.checked_div(operand)?,
                    0x40 => a | operand,
                    0x50 => a & operand,
                    0x60 => a.checked_shl(operand)?,
                    0x70 => a.checked_shr(operand)?,
                    0x80 => a.wrapping_neg(),
                    0xa0 => a ^ operand,
                    _ => return None,
                }
            }
            // BPF_JMP.
            (5, 0x00, _) => at = at.checked_add(k as usize)?,
            (5, operation, _) => {
                let holds = match operation {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    0x40 => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if holds { yes } else { no });
            }
            // BPF_RET: of a constant, or of A.
            (6, ..) => return Some(if code & 0x18 == 0x10 { a } else { k }),
            // BPF_MISC.
            (7, ..) if code & 0x80 == 0 => x = a,
            (7, ..) => a = x,
            _ => return None,
        }
    }
}

/// Bytes of a filter's input.
const DATA_BYTES: u32 = 64;

/// Handles a `prctl` that is about to run.
///
/// # Safety
/// As the kernel asks.
#[inline(always)]
unsafe fn before_prctl(option: c_int, mode: c_ulong, program: c_ulong) {
    if option == PR_RSEQ_SLICE_EXTENSION {
        leave_extensions();
    } else if option == PR_SET_SECCOMP && mode == MODE_FILTER {
        // SAFETY: the caller's.
        unsafe { honour(program as *const Program) };
    }
}

/// See `prctl(2)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    // SAFETY: the program's.
    unsafe {
        before_prctl(option, second, third);
        next::prctl(option, second, third, fourth, fifth)
    }
}

/// See `syscall(2)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    // SAFETY: the program's.
    unsafe {
        match number as usize {
            number::SECCOMP if first == SET_MODE_FILTER => honour(third as *const Program),
            number::PRCTL => before_prctl(first as c_int, second as c_ulong, third as c_ulong),
            _ => {}
        }
        next::syscall(number, first, second, third, fourth, fifth, sixth)
    }
}
