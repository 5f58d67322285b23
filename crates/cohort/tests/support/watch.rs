//! Emulates the instructions by which a CPU watches a word. On a CPU without them the kernel sends
//! a signal. The handler checks the operands, stands still as the instruction would, and resumes
//! the thread behind it.

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use std::cell::Cell;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, compiler_fence};

/// The only cache line that may be named, if the test knows it; 0 for any.
static LINE: AtomicUsize = AtomicUsize::new(0);
const LINE_BYTES: usize = 64;

/// Ticks that a thread stands still without a wake-up; longer than its deadline, which the
/// handler's own time may exceed.
static PATIENCE: AtomicU64 = AtomicU64::new(0);

/// The longest deadline in ticks, counted from the instruction.
static BOUND: AtomicU64 = AtomicU64::new(0);

static NAMED: AtomicU32 = AtomicU32::new(0);
static STOOD: AtomicU32 = AtomicU32::new(0);
static WOKEN: AtomicU32 = AtomicU32::new(0);

/// The ticks, at the instruction, to or past the nearest deadline.
static NEAREST: AtomicU64 = AtomicU64::new(u64::MAX);

/// A thread stands still at present.
static STANDS: AtomicBool = AtomicBool::new(false);

/// The first mistake: an index into [`MISTAKES`] plus one.
static MISTAKE: AtomicU32 = AtomicU32::new(0);

const MISTAKES: [&str; 4] = [
    "another line than that of the waited cell was named",
    "no line was named before the wait",
    "the wait was not to be a light one",
    "the deadline was beyond the bound",
];

thread_local! {
    /// The word that this thread has named, and its value then.
    static WORD: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// How often a line was named, how often a thread stood still and was woken by a change, and the
/// nearest deadline.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub named: u32,
    pub stood: u32,
    pub woken: u32,
    pub nearest: u64,
}

/// Restarts the counts; threads without a wake-up stand still for `patience` ticks.
pub fn begin(patience: u64, bound: u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler makes only async-signal-safe calls.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = refused as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGILL, &action, ptr::null_mut()), 0);
        }
    });
    LINE.store(0, SeqCst);
    PATIENCE.store(patience, SeqCst);
    BOUND.store(bound, SeqCst);
    NEAREST.store(u64::MAX, SeqCst);
    for count in [&NAMED, &STOOD, &WOKEN, &MISTAKE] {
        count.store(0, SeqCst);
    }
}

/// Restricts the named lines to this word's.
pub fn expect<T>(word: &T) {
    LINE.store(ptr::from_ref(word) as usize / LINE_BYTES, SeqCst);
}

/// Whether a thread stands still at present.
pub fn stands() -> bool {
    STANDS.load(SeqCst)
}

/// The counts.
///
/// # Panics
/// If an operand was wrong.
pub fn counts() -> Counts {
    let mistake = MISTAKE.load(SeqCst) as usize;
    assert!(mistake == 0, "{}", MISTAKES[mistake - 1]);
    Counts {
        named: NAMED.load(SeqCst),
        stood: STOOD.load(SeqCst),
        woken: WOKEN.load(SeqCst),
        nearest: NEAREST.load(SeqCst),
    }
}

fn mistake(number: u32) {
    let _ = MISTAKE.compare_exchange(0, number, SeqCst, SeqCst);
}

fn name(address: usize) {
    NAMED.fetch_add(1, SeqCst);
    let line = LINE.load(SeqCst);
    if line != 0 && line != address / LINE_BYTES {
        mistake(1);
    }
    WORD.set((address, look(address)));
}

fn look(address: usize) -> u32 {
    // SAFETY: the interrupted thread waits for this word, so it is alive.
    unsafe { ptr::with_exposed_provenance::<AtomicU32>(address).as_ref() }
        .map_or(0, |word| word.load(SeqCst))
}

/// Stands still until the named word changes or `PATIENCE` runs out; returns whether it changed.
fn stand(deadline: u64) -> bool {
    let began = ticks();
    let left = deadline.wrapping_sub(began).cast_signed();
    if left > BOUND.load(SeqCst).cast_signed() {
        mistake(4);
    }
    NEAREST.fetch_min(left.unsigned_abs(), SeqCst);
    let (address, before) = WORD.replace((0, 0));
    if address == 0 {
        mistake(2);
        return false;
    }
    STANDS.store(true, SeqCst);
    let changed = loop {
        if look(address) != before {
            break true;
        }
        if ticks() - began > PATIENCE.load(SeqCst) {
            break false;
        }
        core::hint::spin_loop();
    };
    STANDS.store(false, SeqCst);
    // In this order, so that a reader that sees the count sees its cause.
    compiler_fence(SeqCst);
    WOKEN.fetch_add(u32::from(changed), SeqCst);
    STOOD.fetch_add(1, SeqCst);
    changed
}

extern "C" fn refused(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted thread's registers, which this handler may read and
    // write.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    if !instead(context) {
        // Another instruction: it traps again, which ends the process.
        // SAFETY: async-signal-safe.
        unsafe { libc::signal(libc::SIGILL, libc::SIG_DFL) };
    }
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Emulates the trapped instruction: UMONITOR is F3 0F AE /6 of a register, UMWAIT the same with
/// F2, each with 41 after its first byte for registers from R8.
#[cfg(target_arch = "x86_64")]
fn instead(context: &mut ucontext_t) -> bool {
    /// Registers by number.
    const NUMBERED: [c_int; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    const CARRY: i64 = 1;
    let registers = &mut context.uc_mcontext.gregs;
    let at = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: the thread was about to execute these bytes; both instructions are followed by more
    // code of the function.
    let code = unsafe { *ptr::with_exposed_provenance::<[u8; 5]>(at) };
    let (first, high, rest) = match code {
        [first, 0x41, a, b, c] => (first, 8, [a, b, c]),
        [first, a, b, c, _] => (first, 0, [a, b, c]),
    };
    let [0x0f, 0xae, operand @ 0xf0..=0xf7] = rest else {
        return false;
    };
    let number = usize::from(operand & 7) + high;
    let value = registers[NUMBERED[number] as usize];
    match first {
        0xf3 => name(value as usize),
        0xf2 => {
            if value as u32 != 1 {
                mistake(3);
            }
            let half = |register: c_int| u64::from(registers[register as usize] as u32);
            let deadline = half(libc::REG_RDX) << 32 | half(libc::REG_RAX);
            let woken = stand(deadline);
            // As if the kernel's limit had ended half of the waits without a change.
            let limited = !woken && STOOD.load(SeqCst).is_multiple_of(2);
            let flags = &mut registers[libc::REG_EFL as usize];
            *flags = (*flags & !CARRY) | (i64::from(limited) * CARRY);
        }
        _ => return false,
    }
    registers[libc::REG_RIP as usize] = (at + 4 + high / 8) as i64;
    true
}

#[cfg(target_arch = "aarch64")]
fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks) };
    ticks
}

/// Emulates the trapped instruction if it is WFET. The preceding LDXR, which every CPU has, is
/// decoded: its second operand's register still holds the address.
#[cfg(target_arch = "aarch64")]
fn instead(context: &mut ucontext_t) -> bool {
    const WFET: u32 = 0xd503_1000;
    const LDXR: u32 = 0x885f_7c00;
    const BYTES: u64 = 4;
    let registers = &mut context.uc_mcontext;
    // SAFETY: the thread was about to execute this code, after LDXR, CMP and B.NE.
    let code =
        unsafe { *ptr::with_exposed_provenance::<[u32; 4]>((registers.pc - 3 * BYTES) as usize) };
    let [load, _, _, wait] = code;
    if wait & !31 != WFET || load & !0x3ff != LDXR {
        return false;
    }
    name(registers.regs[(load >> 5 & 31) as usize] as usize);
    stand(registers.regs[(wait & 31) as usize]);
    registers.pc += BYTES;
    true
}
