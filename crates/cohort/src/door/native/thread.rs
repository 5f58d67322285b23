//! A thread's record: a few words of initial-exec thread-local storage, all zero at first, without
//! destructor. So they are valid before the first constructor and after the last destructor.
//!
//! Stable Rust's `thread_local!` needs `std`; the words are declared in assembly.

use super::super::{Cache, ID_BITS, Shown};
use super::allowed::{Beyond, is_allowed};
use super::atoms::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence};
use super::generation::{generation, generation_so_far};
use super::kernel::{call, number};
use super::spin_budget::SpinBudget;
use core::cell::Cell;

/// How many arenas may keep a cache in each thread: a power of two. In a process with several locks
/// for its objects, each further lock has four more.
pub const CACHES: usize = if cfg!(feature = "several") { 32 } else { 16 };

/// The words of one thread.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadRecord {
    /// The process in which `id` and the caches are valid; 0 at first.
    generation: Cell<u32>,
    id: Cell<u32>,
    /// How many [counted](counts_reads) read locks of `RwLock` the thread holds.
    pub reading: Cell<u32>,
    /// The cohort that counts it meanwhile.
    pub row: Cell<u32>,
    /// Counts reads of locks that others read; see [`finds_readers`].
    found: Cell<u32>,
    /// The biased lock that the thread reads by its slot, for `RwLock`; 0: none.
    pub announced: Cell<usize>,
    /// The lock that it last found biased.
    pub biased: Cell<usize>,
    /// The index of its slot.
    pub slot: Cell<u32>,
    /// The process in which it has that slot, plus 1; 0: none.
    pub slot_of: Cell<u32>,
    /// Its `id` there.
    pub slot_owner: Cell<u32>,
    /// How often it has found no slot.
    pub slot_tries: Cell<u32>,
    /// Releases since the last positive [`super::is_long_quiet`].
    pub(super) quiet: Cell<u32>,
    /// The count of [revocations](super::revocations) at that time.
    pub(super) revoked: Cell<u32>,
    /// Calls of [`super::is_worth_a_try`].
    pub(super) tries: Cell<u32>,
    /// Random state of [`super::is_counted`].
    pub(super) lots: Cell<u32>,
    /// The CPU it ran on when [`super::cohort`] last asked the kernel.
    pub(super) cpu: Cell<u32>,
    /// How many more times that is trusted.
    pub(super) believed: Cell<u32>,
    /// Consecutive untaken turns that it has yielded.
    pub(super) untaken: Cell<u8>,
    /// Consecutive turns taken by others.
    pub(super) taken: Cell<u8>,
    /// Whether the last one took as long as a time slice.
    pub(super) slice: Cell<bool>,
    /// How many of its waits in a row did not end by spinning, up to a few.
    pub(super) vain: Cell<u8>,
    /// Whether it [looks](super::spin_before_sleep) before it sleeps.
    pub(super) spin_budget: SpinBudget,
    /// When waiting writers first refused it a read lock in a try, for `RwLock`; 0: never.
    pub refused: Cell<u64>,
    /// When it last ended a wait, as set by [`super::has_waited`].
    pub(super) waited: Cell<u64>,
    /// Which of its last waits began soon after the previous one, a bit each.
    pub(super) gaps: Cell<u8>,
    /// Whether its waits may [keep a contended CPU](super::keep_cpu).
    pub(super) keeps_cpu: Cell<bool>,
    /// Whether such a wait has [lost it](super::has_lost_cpu).
    pub(super) lost_cpu: Cell<bool>,
    /// Whether its present wait is at a `Gate`, or admitted by one.
    pub gated: Cell<bool>,
    /// The flag by which its present wait shows that it has yielded its CPU.
    pub shown: Shown,
    /// The address of the thread's last mutex, if it is still locked, or 0; only a named lock's
    /// host and the mutexes of `cohort.h` maintain it.
    pub holds: Cell<usize>,
    /// Which of its held locks the thread acquired by a queue, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// How many delegated sections the thread is in.
    pub inside: Cell<u32>,
    /// The thread's [name](Self::name); 0 before its first use.
    name: Cell<usize>,
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
    /// The state of its generator, 0 at first; see [`super::chaos`].
    #[cfg(feature = "chaos")]
    pub(super) chaos: Cell<u64>,
}

/// The number of names drawn so far.
static NAMES: AtomicU32 = AtomicU32::new(0);

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

static READS_COUNTED: AtomicBool = AtomicBool::new(false);

/// Whether threads of this process count their read locks, in [`ThreadRecord::reading`]: off until
/// a lock [requires it](count_reads).
#[inline(always)]
#[must_use]
pub fn counts_reads() -> bool {
    READS_COUNTED.load(Ordering::Relaxed)
}

/// Turns that on.
#[cold]
pub fn count_reads() {
    READS_COUNTED.store(true, Ordering::Relaxed);
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

impl ThreadRecord {
    /// Forgets the parent process's state; called before `id` or the caches are used. [`is_gone`]
    /// makes the caches' former nodes available again, since the old id names no thread of this
    /// process.
    #[inline(always)]
    pub fn settle(&self) {
        if !self.is_settled() {
            self.start_over();
        }
    }

    /// Whether there is nothing to forget.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        let here = generation_so_far();
        here != 0 && self.generation.get() == here
    }

    /// The kernel's thread number; valid once [settled](Self::settle).
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    /// The thread's name in the objects that it owns: at least 1, different from the name of every
    /// other thread of the process, ended threads included, and unchanged in a forked child.
    ///
    /// The lower half is the kernel's number at the first use, which the kernel reuses for later
    /// threads. The upper half is a number drawn at the first use.
    #[inline(always)]
    pub fn name(&self) -> usize {
        match self.name.get() {
            0 => self.draw_name(),
            name => name,
        }
    }

    #[cold]
    #[inline(never)]
    fn draw_name(&self) -> usize {
        self.settle();
        let drawn = NAMES.fetch_add(1, Ordering::Relaxed);
        let name = (drawn as usize) << 32 | self.id() as usize;
        // A signal handler may have drawn a name, and own objects by it.
        if self.name.get() == 0 {
            self.name.set(name);
        }
        self.name.get()
    }

    #[cold]
    fn start_over(&self) {
        let known = self.id.get();
        let told = told_by_libc();
        // In a child created past the C library, the library still takes the thread for the
        // parent's.
        self.id.set(if told == known { ask() } else { told });
        self.caches.iter().for_each(Cache::forget);
        // Last: an earlier handler finds the whole task undone, and does it. Nodes that it leaves
        // in the caches are then lost until this thread ends.
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

/// A number of the calling thread that is unique in the process, whereas the kernel reuses its
/// numbers: the number drawn for its [name](ThreadRecord::name), above the kernel's.
#[inline(always)]
#[must_use]
pub fn thread_number() -> u64 {
    let me = thread();
    me.settle();
    let drawn = me.name() as u64 >> 32;
    drawn << ID_BITS | u64::from(me.id())
}

/// `pthread_self`.
pub type PthreadSelf = unsafe extern "C" fn() -> usize;
/// `pthread_getcpuclockid`.
pub type PthreadGetcpuclockid = unsafe extern "C" fn(thread: usize, clock: *mut i32) -> i32;
/// `pthread_getschedparam`.
pub type PthreadGetschedparam =
    unsafe extern "C" fn(thread: usize, policy: *mut i32, priority: *mut SchedParam) -> i32;

/// `struct sched_param`: a priority, and musl's reserved part.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SchedParam {
    priority: i32,
    _reserved: [u64; 5],
}

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getcpuclockid(thread: usize, clock: *mut i32) -> i32;
    fn pthread_getschedparam(thread: usize, policy: *mut i32, priority: *mut SchedParam) -> i32;
}

/// The functions in use; other libraries may define them too.
static PTHREAD_SELF: AtomicPtr<()> = AtomicPtr::new(pthread_self as *mut ());
static PTHREAD_GETCPUCLOCKID: AtomicPtr<()> = AtomicPtr::new(pthread_getcpuclockid as *mut ());
static PTHREAD_GETSCHEDPARAM: AtomicPtr<()> = AtomicPtr::new(pthread_getschedparam as *mut ());

/// Uses these definitions from here on.
///
/// # Safety
/// They are the C library's.
pub unsafe fn set_libc(
    pthread_self: PthreadSelf,
    pthread_getcpuclockid: PthreadGetcpuclockid,
    pthread_getschedparam: PthreadGetschedparam,
) {
    PTHREAD_SELF.store(pthread_self as *mut (), Ordering::Relaxed);
    PTHREAD_GETCPUCLOCKID.store(pthread_getcpuclockid as *mut (), Ordering::Relaxed);
    PTHREAD_GETSCHEDPARAM.store(pthread_getschedparam as *mut (), Ordering::Relaxed);
}

/// The calling thread's priority under a real-time policy; 0 under every other.
///
/// The C library caches it per thread, so a change by a raw system call has no effect here.
#[must_use]
pub fn priority() -> u32 {
    const FIFO: i32 = 1;
    const ROUND_ROBIN: i32 = 2;
    if !is_allowed(Beyond::Priority) {
        return 0;
    }
    let mut policy = 0;
    let mut parameters = SchedParam::default();
    // SAFETY: the C library's functions, of these types; the calling thread lives, and both places
    // are writable.
    let failed = unsafe {
        let pthread_self: PthreadSelf = core::mem::transmute(PTHREAD_SELF.load(Ordering::Relaxed));
        let pthread_getschedparam: PthreadGetschedparam =
            core::mem::transmute(PTHREAD_GETSCHEDPARAM.load(Ordering::Relaxed));
        pthread_getschedparam(pthread_self(), &raw mut policy, &raw mut parameters)
    };
    if failed == 0 && [FIFO, ROUND_ROBIN].contains(&policy) {
        parameters.priority.unsigned_abs()
    } else {
        0
    }
}

/// The kernel's number of the calling thread, from the C library: the name of the thread's clock
/// contains it. No system call, which the process may have forbidden itself.
fn told_by_libc() -> u32 {
    let mut clock = 0;
    // SAFETY: the C library's functions, of these types; the calling thread lives, and the clock's
    // name is writable.
    let failed = unsafe {
        let pthread_self: PthreadSelf = core::mem::transmute(PTHREAD_SELF.load(Ordering::Relaxed));
        let pthread_getcpuclockid: PthreadGetcpuclockid =
            core::mem::transmute(PTHREAD_GETCPUCLOCKID.load(Ordering::Relaxed));
        pthread_getcpuclockid(pthread_self(), &raw mut clock)
    };
    if failed != 0 {
        return ask();
    }
    // The kernel's names of threads' clocks contain the number, inverted, above three bits.
    !(clock >> 3) as u32
}

/// The same, from the kernel.
#[cold]
fn ask() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { call(number::GETTID, [0; 6]) as u32 }
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
