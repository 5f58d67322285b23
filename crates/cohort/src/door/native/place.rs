//! The CPU, cohorts and NUMA distances of a thread, from the kernel's files or from a user's own
//! cohorts.

use super::super::cohorts::{self, Mistake};
use super::super::{Level, NODES};
use super::allowed::{Beyond, is_allowed};
use super::atoms::{AtomicU8, AtomicU16, AtomicU32, Ordering};
use super::kernel::{call, number};
use super::thread;

/// CPUs with places of their own; those above share.
const CPUS: usize = 1024;

const LEVELS: usize = Level::REPORTED.len();

/// Not looked up yet.
const UNKNOWN: u16 = 0;

/// Each CPU's cohort by level, plus one. The first thread that needs it looks it up; two threads at
/// once find the same.
static COHORTS: [[AtomicU16; CPUS]; LEVELS] =
    [const { [const { AtomicU16::new(UNKNOWN) }; CPUS] }; LEVELS];

/// The cohorts of each level.
static MET: [Met; LEVELS] = [const { Met::new() }; LEVELS];

/// The cohorts of a level, numbered in the order of first use, so that few low locks suffice.
struct Met {
    /// The number of the cohort with this lowest CPU, plus one.
    numbers: [AtomicU16; CPUS],
    /// How many numbers are assigned.
    given: AtomicU16,
    /// How many cohorts have a number: fewer, if threads at a new cohort each drew a number.
    count: AtomicU16,
}

impl Met {
    const fn new() -> Self {
        Self {
            numbers: [const { AtomicU16::new(UNKNOWN) }; CPUS],
            given: AtomicU16::new(0),
            count: AtomicU16::new(0),
        }
    }

    /// The number of the cohort with this lowest CPU, plus one.
    fn number(&self, lowest: usize) -> u16 {
        let place = &self.numbers[lowest % CPUS];
        let known = place.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let fresh = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        match place.compare_exchange(UNKNOWN, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.count.fetch_add(1, Ordering::Relaxed);
                fresh
            }
            Err(theirs) => {
                // Given back, unless another has been drawn since.
                let _ = self.given.compare_exchange(
                    fresh,
                    fresh - 1,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                theirs
            }
        }
    }

    /// Raises the count to that many cohorts, numbered elsewhere from one.
    fn told(&self, count: u16) {
        self.given.fetch_max(count, Ordering::Relaxed);
        self.count.fetch_max(count, Ordering::Relaxed);
    }
}

/// Look-ups for which a thread trusts the kernel's last answer, where the answer needs a system
/// call. Threads seldom move, and a composition is correct whatever the answer.
const BELIEVED: u32 = 256;

/// The cohort of the calling thread at that level.
///
/// A level that the kernel does not report has one cohort for each of the next larger level, and at
/// last one for all.
#[inline]
#[must_use]
pub fn cohort(level: Level) -> usize {
    let cpu = cpu() as usize % CPUS;
    let Some(cohorts) = COHORTS.get(level as usize) else {
        return 0;
    };
    let known = cohorts[cpu].load(Ordering::Relaxed);
    if known == UNKNOWN {
        return look_up(level, cpu);
    }
    usize::from(known) - 1
}

/// How many cache groups threads of this process have been seen in, by threads that looked up
/// theirs.
#[inline]
#[must_use]
pub fn cache_groups() -> usize {
    usize::from(
        MET[Level::CacheGroup as usize]
            .count
            .load(Ordering::Relaxed),
    )
}

#[cold]
fn look_up(level: Level, cpu: usize) -> usize {
    if !is_allowed(Beyond::Files) {
        return 0;
    }
    let number = MET[level as usize].number(lowest_of(level, cpu));
    COHORTS[level as usize][cpu].store(number, Ordering::Relaxed);
    usize::from(number) - 1
}

/// Distance of each pair of NUMA cohorts; 0: not looked up yet. Looked up and written as cohorts
/// are.
static DISTANCES: [[AtomicU8; NODES]; NODES] =
    [const { [const { AtomicU8::new(0) }; NODES] }; NODES];

/// A node's distance from itself, as kernels count.
const HERE: u8 = 10;

/// A node's distance from all others, where the kernel reports none.
const ELSEWHERE: u8 = 20;

/// The distance of two cohorts of [`Level::Numa`]: a number to compare with others, smallest for a
/// cohort and itself.
///
/// Where the kernel reports none, all others are equally far. A user's own cohorts are where their
/// first CPUs are.
#[inline]
#[must_use]
pub fn distance(one: usize, other: usize) -> u8 {
    let (one, other) = (one % NODES, other % NODES);
    match DISTANCES[one][other].load(Ordering::Relaxed) {
        0 => measure(one, other),
        known => known,
    }
}

#[cold]
fn measure(one: usize, other: usize) -> u8 {
    let told = || {
        let cpu = |cohort| {
            let number = cohort as u16 + 1;
            let mut cpus = COHORTS[Level::Numa as usize].iter();
            cpus.position(|known| known.load(Ordering::Relaxed) == number)
        };
        let (from, to) = (node(cpu(one)?)?, node(cpu(other)?)?);
        // A row has one number for each existing node.
        let distances = |node| Path::new("node/node#/distance", &[node]);
        let is_there = |node: &usize| distances(*node).is_some_and(|file| file.exists());
        let column = (0..to).filter(is_there).count();
        let mut text = [0u8; 4 * NODES];
        let row = distances(from)?.read(&mut text)?;
        let mut numbers = row.split(|byte| *byte == b' ');
        numbers.nth(column).and_then(leading)
    };
    let distance = if one == other {
        HERE
    } else {
        let far = told().unwrap_or(usize::from(ELSEWHERE));
        far.clamp(usize::from(HERE) + 1, 255) as u8
    };
    DISTANCES[one][other].store(distance, Ordering::Relaxed);
    distance
}

/// The CPU of the calling thread; where that needs a system call, as of the last call.
#[inline]
#[must_use]
pub fn cpu() -> u32 {
    let registered = rseq_cpu();
    if registered >= 0 {
        return registered as u32;
    }
    believed_cpu()
}

/// The CPU of the calling thread as of the last look-up.
#[cold]
#[inline(never)]
fn believed_cpu() -> u32 {
    let thread = thread();
    let left = thread.believed.get();
    if left == 0 {
        thread.cpu.set(ask());
        thread.believed.set(BELIEVED);
    } else {
        thread.believed.set(left - 1);
    }
    thread.cpu.get()
}

/// The CPU in the thread's area for restartable sequences; negative if it has none.
#[inline(always)]
fn rseq_cpu() -> i32 {
    /// After `cpu_id_start`.
    const CPU_ID: usize = 4;
    let Some(area) = rseq_area() else {
        return -1;
    };
    // SAFETY: the area lives as long as its thread; `cpu_id` is as old as the area itself, and
    // negative until the area is registered.
    unsafe { (*area.add(CPU_ID).cast::<AtomicU32>()).load(Ordering::Relaxed) as i32 }
}

/// The thread's area for restartable sequences, if the C library has one (glibc 2.35).
#[inline(always)]
pub(super) fn rseq_area() -> Option<*const u8> {
    let (area, offset): (*const u8, *const isize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread pointer, and the address of a symbol that may be missing.
    unsafe {
        core::arch::asm!(
            ".weak __rseq_offset",
            "mov {0}, qword ptr fs:[0]",
            "mov {1}, qword ptr [rip + __rseq_offset@GOTPCREL]",
            out(reg) area,
            out(reg) offset,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            ".weak __rseq_offset",
            "mrs {0}, tpidr_el0",
            "adrp {1}, :got:__rseq_offset",
            "ldr {1}, [{1}, :got_lo12:__rseq_offset]",
            out(reg) area,
            out(reg) offset,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: the C library gives the area's address.
    (!offset.is_null()).then(|| unsafe { area.offset(*offset) })
}

/// The bytes of that area that the kernel uses; 0 if it is not registered.
pub(super) fn rseq_size() -> usize {
    let size: *const u32;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the address of a symbol that may be missing.
    unsafe {
        core::arch::asm!(
            ".weak __rseq_size",
            "mov {0}, qword ptr [rip + __rseq_size@GOTPCREL]",
            out(reg) size,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            ".weak __rseq_size",
            "adrp {0}, :got:__rseq_size",
            "ldr {0}, [{0}, :got_lo12:__rseq_size]",
            out(reg) size,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: the C library's constant, if it exists.
    unsafe { size.as_ref() }.map_or(0, |size| *size as usize)
}

/// Asks the kernel; 0 if it does not answer.
#[cold]
fn ask() -> u32 {
    let mut cpu = 0u32;
    // SAFETY: the kernel writes only the number, which is writable.
    let result = unsafe { call(number::GETCPU, [&raw mut cpu as usize, 0, 0, 0, 0, 0]) };
    if result == 0 { cpu } else { 0 }
}

/// The lowest CPU of a CPU's cohort at that level.
#[must_use]
pub fn lowest_of(level: Level, cpu: usize) -> usize {
    let told = match level {
        Level::Core => first("cpu/cpu#/topology/thread_siblings_list", &[cpu]),
        Level::CacheGroup => (0..8)
            .rev()
            .find_map(|index| first("cpu/cpu#/cache/index#/shared_cpu_list", &[cpu, index])),
        Level::Numa => node(cpu).and_then(|node| first("node/node#/cpulist", &[node])),
        Level::Package => first("cpu/cpu#/topology/package_cpus_list", &[cpu])
            .or_else(|| first("cpu/cpu#/topology/core_siblings_list", &[cpu])),
        Level::Blade => None,
    };
    told.unwrap_or_else(|| {
        let larger = Level::REPORTED.get(level as usize + 1);
        larger.map_or(0, |larger| lowest_of(*larger, cpu))
    })
}

/// The node of a CPU, which is an entry of the CPU's folder.
fn node(cpu: usize) -> Option<usize> {
    (0..CPUS).find(|node| {
        let entry = Path::new("cpu/cpu#/node#/cpulist", &[cpu, *node]);
        entry.is_some_and(|entry| entry.exists())
    })
}

/// The first number of a list such as `0-3,8` in a file below the system's devices, named as for
/// [`Path::new`].
fn first(file: &str, numbers: &[usize]) -> Option<usize> {
    leading(Path::new(file, numbers)?.read(&mut [0u8; 16])?)
}

/// The beginning of a file, as far as it fits.
pub(super) fn file_of<'a>(file: &str, text: &'a mut [u8]) -> Option<&'a [u8]> {
    Path::anywhere(file)?.read(text)
}

/// The number at the beginning of a text.
pub(super) fn leading(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let count = digits.clone().count();
    let value = digits.fold(0, |value, digit| value * 10 + usize::from(digit - b'0'));
    (count > 0).then_some(value)
}

fn close(file: usize) {
    // SAFETY: the caller opened it and does not use it afterwards.
    unsafe { call(number::CLOSE, [file, 0, 0, 0, 0, 0]) };
}

/// A file's name, built without an allocator, since locks serve allocators. Also without the
/// standard library's formatting, which would take a hundredth of the interposer.
struct Path {
    /// Terminated by a zero.
    bytes: [u8; 96],
    length: usize,
}

impl Path {
    /// The name of a file below the system's devices, with each `#` replaced by one of the numbers.
    fn new(file: &str, numbers: &[usize]) -> Option<Self> {
        let mut path = Self::anywhere("/sys/devices/system/")?;
        path.add(file, numbers)?;
        Some(path)
    }

    fn anywhere(file: &str) -> Option<Self> {
        let mut path = Self {
            bytes: [0; 96],
            length: 0,
        };
        path.add(file, &[])?;
        Some(path)
    }

    /// Adds a text; `None` if it does not fit, or has more places than there are numbers.
    fn add(&mut self, text: &str, numbers: &[usize]) -> Option<()> {
        let mut numbers = numbers.iter();
        for byte in text.bytes() {
            if byte == b'#' {
                self.add_number(*numbers.next()?)?;
            } else {
                self.add_byte(byte)?;
            }
        }
        Some(())
    }

    fn add_number(&mut self, number: usize) -> Option<()> {
        if number > 9 {
            self.add_number(number / 10)?;
        }
        self.add_byte(b'0' + (number % 10) as u8)
    }

    fn add_byte(&mut self, byte: u8) -> Option<()> {
        // The terminating zero stays.
        let last = self.bytes.len() - 1;
        *self.bytes[..last].get_mut(self.length)? = byte;
        self.length += 1;
        Some(())
    }

    /// Opens it to be read.
    fn open(&self) -> Option<usize> {
        const AT_FDCWD: usize = -100isize as usize;
        const O_CLOEXEC: usize = 0o2_000_000;
        let name = self.bytes.as_ptr() as usize;
        // SAFETY: the name ends with a zero, and reading such a file changes nothing.
        let file = unsafe { call(number::OPENAT, [AT_FDCWD, name, O_CLOEXEC, 0, 0, 0]) };
        usize::try_from(file).ok()
    }

    fn exists(&self) -> bool {
        self.open().inspect(|file| close(*file)).is_some()
    }

    /// The beginning of the file, as far as it fits.
    fn read<'a>(&self, text: &'a mut [u8]) -> Option<&'a [u8]> {
        let file = self.open()?;
        // SAFETY: the kernel writes at most the given size into the text.
        let read = unsafe {
            call(
                number::READ,
                [file, text.as_mut_ptr() as usize, text.len(), 0, 0, 0],
            )
        };
        close(file);
        text.get(..usize::try_from(read).ok()?)
    }
}

/// Replaces the machine's cohorts from here on; for the text, see [`cohorts`]. Levels that it does
/// not name, and all levels if it is empty, are the machine's. A lock that is held meanwhile stays
/// correct. A used lock may keep the upper levels of its former cohorts until their bounds are used
/// up.
///
/// # Errors
/// The text's first mistake; nothing changes then.
#[cold]
#[inline(never)]
pub fn set_cohorts(text: &str) -> Result<(), Mistake> {
    let mut counts = [0u16; LEVELS];
    cohorts::read(text, &mut |level, cohort, _| {
        counts[level as usize] = cohort as u16 + 1
    })?;
    for (places, count) in COHORTS.iter().zip(counts) {
        // The CPUs that a named level leaves out form one more cohort.
        let rest = if count > 0 { count + 1 } else { UNKNOWN };
        for place in places {
            place.store(rest, Ordering::Relaxed);
        }
    }
    let result = cohorts::read(text, &mut |level, cohort, cpu| {
        COHORTS[level as usize][cpu % CPUS].store(cohort as u16 + 1, Ordering::Relaxed);
    });
    for (met, count) in MET.iter().zip(counts) {
        met.told(count);
    }
    for distance in DISTANCES.iter().flatten() {
        distance.store(0, Ordering::Relaxed);
    }
    result
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::String;
    use std::sync::Barrier;
    use std::vec::Vec;

    #[test]
    fn names_of_files_have_their_numbers_and_end_with_a_zero() {
        let name = |file: &str, numbers: &[usize]| -> Option<String> {
            let path = Path::new(file, numbers)?;
            assert_eq!(path.bytes[path.length], 0);
            Some(String::from_utf8_lossy(&path.bytes[..path.length]).into_owned())
        };
        assert_eq!(
            name("cpu/cpu#/node#/cpulist", &[1023, 0]).as_deref(),
            Some("/sys/devices/system/cpu/cpu1023/node0/cpulist")
        );
        let of_bytes = |bytes| "n".repeat(bytes - "/sys/devices/system/".len());
        assert!(name(&of_bytes(95), &[]).is_some());
        assert!(name(&of_bytes(96), &[]).is_none());
        assert!(name("cpu#", &[]).is_none());
    }

    #[test]
    fn a_cohort_that_threads_meet_at_once_is_counted_once() {
        const THREADS: usize = 4;
        let all: Vec<Met> = (0..2000).map(|_| Met::new()).collect();
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for met in &all {
                        barrier.wait();
                        met.number(7);
                    }
                });
            }
        });
        for met in &all {
            assert_eq!(met.count.load(Ordering::Relaxed), 1);
            met.number(9);
            assert_eq!(met.count.load(Ordering::Relaxed), 2);
        }
    }
}
