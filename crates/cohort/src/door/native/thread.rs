//! What each thread keeps: a few words of initial-exec thread-local storage,
//! all zero at first, with no destructor, so that they are good before the first
//! constructor and after the last destructor.
//!
//! Stable Rust's `thread_local!` needs `std`; the words are declared in assembly.

use super::super::{Bed, Cache, Shown};
use super::allowed::{Beyond, is_allowed};
use super::generation::{generation, generation_so_far};
use super::hope::Hope;
use super::system::{call, number};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// How many arenas may keep a cache in each thread: a power of two.  Where a process serves its
/// objects by several locks, each of the others has four more.
pub const CACHES: usize = if cfg!(feature = "several") { 32 } else { 16 };

/// The words of one thread.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadRecord {
    /// The process in which `id` and the caches are valid; 0 at first.
    generation: Cell<u32>,
    id: Cell<u32>,
    /// How many read locks the thread holds, for `RwLock`: of those that are
    /// [counted](counts_reads).
    pub reading: Cell<u32>,
    /// The cohort in which it is counted while it does.
    pub row: Cell<u32>,
    /// Releases since the last [`super::is_long_quiet`] that said yes.
    pub(super) quiet: Cell<u32>,
    /// Questions to [`super::is_worth_a_try`].
    pub(super) tries: Cell<u32>,
    /// What decides in [`super::is_counted`].
    pub(super) lots: Cell<u32>,
    /// The CPU it ran on when [`super::cohort`] last asked the kernel.
    pub(super) cpu: Cell<u32>,
    /// How often that is still believed.
    pub(super) believed: Cell<u32>,
    /// How many turns in a row it has given away that nobody took.
    pub(super) untaken: Cell<u8>,
    /// How many in a row that others took.
    pub(super) taken: Cell<u8>,
    /// Whether the last one took as long as a time slice.
    pub(super) slice: Cell<bool>,
    /// How many of its waits in a row did not end by spinning, up to a few.
    pub(super) vain: Cell<u8>,
    /// Whether it [looks](super::watch_in_hope) before it sleeps.
    pub(super) hope: Hope,
    /// Since when waiting writers have refused it a read lock that it tried to take, for `RwLock`; 0:
    /// they have not.
    pub refused: Cell<u64>,
    /// When it last ended a wait, as [`super::has_waited`] was told.
    pub(super) waited: Cell<u64>,
    /// Which of its last waits began soon after the one before, a bit each.
    pub(super) gaps: Cell<u8>,
    /// Whether its waits may [keep its CPU](super::keep_cpu) all the same.
    pub(super) keeps_cpu: Cell<bool>,
    /// Whether such a wait has [lost it](super::has_lost_cpu).
    pub(super) lost_cpu: Cell<bool>,
    /// Whether its present wait is one at a gate or inside of one, for `Gate`.
    pub gated: Cell<bool>,
    /// Where its present wait shows that it has given its CPU away.
    pub shown: Shown,
    /// Its place among the sleepers that another thread may wake by its word.
    pub bed: Bed,
    /// The address of the mutex that the thread has locked last and not unlocked since, or
    /// 0; only a named lock's host and the mutexes of `cohort.h` keep it.
    pub holds: Cell<usize>,
    /// Where the thread came by a queue to locks that it holds, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// How many sections of delegates the thread is in.
    pub inside: Cell<u32>,
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
}

impl ThreadRecord {
    /// Where the kernel's number of the thread is, for an onlooker that reads the memory of a
    /// process.
    pub const ID: usize = core::mem::offset_of!(Self, id);
}

core::arch::global_asm!(
    ".section .tbss.cohort_thread_record,\"awT\",@nobits",
    ".balign 8",
    ".hidden cohort_thread_record",
    ".globl cohort_thread_record",
    ".type cohort_thread_record,%object",
    ".size cohort_thread_record,{size}",
    "cohort_thread_record:",
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
            "add {0}, qword ptr [rip + cohort_thread_record@GOTTPOFF]",
            out(reg) at,
            options(pure, readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the offset of our own symbol and the thread pointer.
    unsafe {
        core::arch::asm!(
            "adrp {1}, :gottprel:cohort_thread_record",
            "ldr {1}, [{1}, :gottprel_lo12:cohort_thread_record]",
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

static READS_COUNTED: AtomicBool = AtomicBool::new(false);

/// Whether threads of this process count their read locks, in [`ThreadRecord::reading`]: a lock
/// may do without until it [asks for it](count_reads).
#[inline(always)]
#[must_use]
pub fn counts_reads() -> bool {
    READS_COUNTED.load(Ordering::Relaxed)
}

/// From here on they do.
#[cold]
pub fn count_reads() {
    READS_COUNTED.store(true, Ordering::Relaxed);
}

impl ThreadRecord {
    /// Forgets what was true in the parent process; called before `id` or the
    /// caches are used.  Nodes that the caches held are found again by
    /// [`is_gone`], because the old id names no thread of this process.
    #[inline(always)]
    pub fn settle(&self) {
        if !self.is_settled() {
            self.start_over();
        }
    }

    /// Whether nothing was to be forgotten.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        let here = generation_so_far();
        here != 0 && self.generation.get() == here
    }

    /// The kernel's number of the thread; good once [settled](Self::settle).
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    #[cold]
    fn start_over(&self) {
        let known = self.id.get();
        let told = told_by_libc();
        // The C library does not know of a child that was made past it, whose thread it still
        // takes for the parent's.
        self.id.set(if told == known { ask() } else { told });
        self.caches.iter().for_each(Cache::forget);
        // Last: a handler that comes before finds all to be done, and does it.  What it leaves
        // in the caches is forgotten then, until this thread ends.
        compiler_fence(Ordering::SeqCst);
        self.generation.set(generation());
    }
}

/// The kernel's number of the calling thread.
#[inline(always)]
#[must_use]
pub fn thread_id() -> u32 {
    let me = thread();
    me.settle();
    me.id()
}

/// The kernel's number of the calling thread, as the C library keeps it: it says so without a
/// system call, which the process may have forbidden itself, by naming the thread's clock.
fn told_by_libc() -> u32 {
    unsafe extern "C" {
        safe fn pthread_self() -> usize;
        fn pthread_getcpuclockid(thread: usize, clock: *mut i32) -> i32;
    }
    let mut clock = 0;
    // SAFETY: the calling thread lives, and the clock's name is writable.
    if unsafe { pthread_getcpuclockid(pthread_self(), &raw mut clock) } != 0 {
        return ask();
    }
    // The kernel's names of threads' clocks have the number, inverted, above three bits.
    !(clock >> 3) as u32
}

/// The same, as the kernel says.
#[cold]
fn ask() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { call(number::GETTID, [0; 6]) as u32 }
}

/// Whether no thread of this process has that number any more.
///
/// One that does not find itself knows nothing of the others: it runs in a child of `vfork`,
/// which has its parent's memory.
#[must_use]
pub fn is_gone(id: u32) -> bool {
    const ESRCH: isize = -3;
    if !is_allowed(Beyond::Search) {
        return false;
    }
    // SAFETY: signal 0 asks and delivers nothing.
    unsafe {
        let process = call(number::GETPID, [0; 6]) as usize;
        let asks = |id: u32| call(number::TGKILL, [process, id as usize, 0, 0, 0, 0]);
        asks(id) == ESRCH && asks(thread_id()) == 0
    }
}
