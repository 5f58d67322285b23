//! The calling thread's number and priority, from the C library: no system call, which the process
//! may have forbidden itself.

use super::allowed::{Beyond, is_allowed};
use super::atoms::{AtomicPtr, Ordering};
use super::kernel::{call, number};

/// The name of a thread that has drawn a number and has that id: the id at the first use, which the
/// kernel reuses for later threads, below the number.
#[inline(always)]
pub(super) const fn name_of(drawn: u32, id: u32) -> usize {
    (drawn as usize) << 32 | id as usize
}

/// The number drawn for that name.
#[inline(always)]
pub(super) const fn drawn_of(name: usize) -> u32 {
    (name >> 32) as u32
}

/// The calling thread's id, where a record has `known`; 0: none.
#[cold]
pub(super) fn find_id(known: u32) -> u32 {
    let told = told_by_libc();
    // In a child created past the C library, the library still takes the thread for the parent's.
    if told == known { ask() } else { told }
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
