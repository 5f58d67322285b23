//! Time, sleep, and other kernel services.

use super::super::{AtomicU32, Flaw, Level, Order, Slept};
use super::OfRun;
use cohort_machine::door;
use cohort_raw::Deadline;

/// As natively: quiet releases before a lock becomes quick, where that mode has been revoked.
const QUIET_RELEASES: u32 = 8192;

/// As natively: the same without revocations since the thread's last one.
const CALM_RELEASES: u32 = 256;

/// Under random schedules, one release in so many finds that its lock has long been quiet.
const QUIET_CHANCE: u64 = 4;

/// Nanoseconds on the only clock.
#[must_use]
pub fn now() -> u64 {
    door::now()
}

/// Random bits of the calling thread.
#[must_use]
pub fn random() -> u64 {
    door::random()
}

fn nanoseconds(deadline: &Deadline) -> u64 {
    let seconds = u64::try_from(deadline.seconds).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(deadline.nanoseconds))
}

/// Whether `deadline` has passed.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    door::expired(nanoseconds(deadline))
}

/// The cohort of the calling thread; 0 outside of a run. A machine without such a level has the
/// next larger one instead. A machine without NUMA nodes, packages and blades is a single node, as
/// the kernel reports it natively.
#[must_use]
pub fn cohort(level: Level) -> usize {
    door::cohort(levels(level))
}

/// How many cache groups the threads of the run may be in.
#[must_use]
pub fn cache_groups() -> usize {
    static GROUPS: OfRun<usize> = OfRun::new(|| door::cohorts(levels(Level::CacheGroup)));
    if cohort_machine::is_running() {
        *GROUPS.get()
    } else {
        1
    }
}

/// The levels that may replace a level, the best first.
#[must_use]
pub const fn levels(level: Level) -> &'static [&'static str] {
    match level {
        Level::Core => &["core", "cache", "numa", "package"],
        // No smaller one: CPUs without such a level share their last cache.
        Level::CacheGroup => &["cache", "numa", "package"],
        Level::Numa => NUMA,
        Level::Package => &["package", "numa"],
        Level::Blade => &["blade", "package", "numa"],
    }
}

/// The levels that may replace NUMA nodes, the best first.
const NUMA: &[&str] = &["numa", "package"];

/// The distance of two cohorts of [`Level::Numa`]: a number to compare with others, smallest for a
/// cohort and itself.
#[must_use]
pub fn distance(one: usize, other: usize) -> u8 {
    door::distance(NUMA, one, other)
}

/// Yields the CPU to another runnable thread, if there is one.
pub fn yield_now() {
    door::yield_now();
}

/// Sleeps while `word` holds `expected`, until woken through one of `bits` or the
/// deadline passes.
#[must_use]
pub fn sleep_on(word: &AtomicU32, expected: u32, bits: u32, deadline: Option<&Deadline>) -> Slept {
    let address = core::ptr::from_ref(word) as usize;
    // SAFETY: an atom is its value, and no other thread runs meanwhile.
    let read = || unsafe { core::ptr::read_volatile(address as *const u32) };
    match door::sleep(address, read, expected, bits, deadline.map(nanoseconds)) {
        door::Slept::Woken => Slept::Woken,
        door::Slept::Changed => Slept::Again,
        door::Slept::TimedOut => Slept::TimedOut,
    }
}

/// `None`: every thread runs at last here, and a bound would hide a lost wake-up.
#[must_use]
pub const fn unless_starved(_nanoseconds: u64) -> Option<Deadline> {
    None
}

/// Notes nothing.
pub const fn note(_object: *const AtomicU32, _time: u32) {}

/// `now`: a checker's backend has no table for objects to share by accident.
#[must_use]
pub const fn noted(_object: *const AtomicU32, now: u32) -> u32 {
    now
}

/// Sleeps for that many nanoseconds, or until a signal arrives.
pub fn nap(nanoseconds: u64) {
    let until = Deadline::monotonic(now() + nanoseconds);
    let _ = sleep_on(&AtomicU32::new(0), 0, 1, Some(&until));
}

/// [`sleep_on`], for a word that other processes map too; there are none here.
#[must_use]
pub fn sleep_on_shared(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    sleep_on(word, expected, bits, deadline)
}

/// Wakes up to `count` sleepers that share one of `bits`; returns how many.
pub fn wake(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    door::wake(word as usize, count, bits)
}

/// Moves one sleeper on `word`, if that holds `expected`, to `to`, behind all others there; returns
/// whether there was one.
#[must_use]
pub fn move_sleeper(word: &AtomicU32, expected: u32, to: *const AtomicU32) -> bool {
    let address = core::ptr::from_ref(word) as usize;
    // SAFETY: an atom is its value, and no other thread runs meanwhile.
    let read = || unsafe { core::ptr::read_volatile(address as *const u32) };
    door::move_sleeper(address, read, expected, to as usize)
}

/// [`wake`], for a word that other processes map too.
pub fn wake_shared(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    wake(word, count, bits)
}

/// How often the quick mode was revoked; it wraps.
#[must_use]
pub fn revocations() -> &'static AtomicU32 {
    static REVOCATIONS: OfRun<AtomicU32> = OfRun::new(|| AtomicU32::new(0));
    static OUTSIDE: AtomicU32 = AtomicU32::new(0);
    if cohort_machine::is_running() {
        REVOCATIONS.get()
    } else {
        &OUTSIDE
    }
}

/// The cheap side of a pair of fences: free, as natively.
pub fn fence_here(_agreement: Order) {}

/// The expensive side.
pub fn fence_everywhere(_agreement: Order) {
    door::barrier_everywhere();
}

/// The same: it never fails here.
pub fn fence_everywhere_for_certain(agreement: Order) {
    fence_everywhere(agreement);
}

/// Whether that is available.
#[must_use]
pub const fn has_barrier() -> bool {
    true
}

/// Whether the calling thread has released often enough without contention that the quick mode may
/// pay.
#[must_use]
pub fn is_long_quiet() -> bool {
    if door::chance(QUIET_CHANCE) {
        return true;
    }
    let thread = super::thread();
    let count = thread.quiet.get() + 1;
    thread.quiet.set(count);
    if count < QUIET_RELEASES {
        return false;
    }
    let revoked = revocations().load(Order::RELAXED);
    let calm = thread.revoked.replace(revoked) == revoked;
    let ahead = if calm {
        QUIET_RELEASES - CALM_RELEASES
    } else {
        0
    };
    thread.quiet.set(ahead);
    true
}

/// The process's generation: constant, without forks here.
#[must_use]
pub const fn generation() -> u32 {
    1
}

/// Whether a process may have been forked from another.
#[must_use]
pub const fn may_fork() -> bool {
    false
}

/// Whether the run's locks have that fault injected.
#[must_use]
pub fn mutant(flaw: Flaw) -> bool {
    door::has_flaw(flaw.0)
}
