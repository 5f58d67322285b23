//! Individual locks for mutexes, from `COHORT_MUTEXES`. Only in the library with the compositions:
//! processes under the other one do not pay for it.
//!
//! One line for each range of addresses, its words separated by spaces:
//!
//! ```text
//! mcs name 4040-4068 /usr/bin/memcached
//! ticket site 1a2b-1a2c /usr/lib/x86_64-linux-gnu/libkyotocabinet.so.16
//! ```
//!
//! The words are: the lock; the kind of address; the range, relative to the file's mapping; the
//! file. The kind is `name` for the mutexes themselves, or `site` for the calls that initialise
//! them (or lock them first). `cohort run` has resolved names and lines to addresses.
//!
//! From a mutex's first use on, bits of its kind identify its lock; see [`assigned`].

use crate::layout::{DESTROYED, ELISION, Mutex, NORMAL};
use crate::mapped::each_piece;
use cohort::catalogue::own_pool_bytes;
use cohort::door::AtomicU32 as Word;
use cohort::host::assigned;
use cohort::host::served::{Needs, Pair, Service};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

/// Locks of a process beside its own.
const OTHERS: usize = 4;

/// The services: the process's own lock's at index 0, then the others'. All null in a process
/// without lines.
static SERVICES: [AtomicPtr<Service>; 1 + OTHERS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; 1 + OTHERS];

/// Caches of a thread before those of index 1 (the own lock's and all others' pools), and caches
/// for each further index.
const CACHES: [u32; 2] = [16, 4];

/// Range of addresses, and the index of its lock in [`SERVICES`].
struct AddressRange {
    from: AtomicUsize,
    to: AtomicUsize,
    /// The index; [`SITE`] is set too if the addresses are calls.
    lock: AtomicU32,
}

const SITE: u32 = 1 << 8;

const LINES: usize = 256;

/// Written before the process's choice is published.
static TABLE: [AddressRange; LINES] = [const {
    AddressRange {
        from: AtomicUsize::new(0),
        to: AtomicUsize::new(0),
        lock: AtomicU32::new(0),
    }
}; LINES];

static USED: AtomicUsize = AtomicUsize::new(0);

/// Lock as the process's choice encodes it, and its service.
pub type Known = (u8, &'static Service);

/// Reads the lines for a process with `own` as its own lock; `lock` looks up locks by name. Returns
/// whether any line is for a file mapped here. Threads that do so concurrently write the same
/// values.
pub fn read_lines(text: &str, own: Known, lock: impl Fn(&str) -> Option<Known>) -> bool {
    let mut raw = [own.0; 1 + OTHERS];
    let mut locks = 1;
    let mut used = 0;
    each_mapped(|path, base| {
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            let (Some(name), Some(what), Some(range), Some(file)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let hex = |text| usize::from_str_radix(text, 16).ok();
            let range = range.split_once('-');
            let Some((Some(from), Some(to))) = range.map(|(from, to)| (hex(from), hex(to))) else {
                continue;
            };
            if file.as_bytes() != path || used == LINES {
                continue;
            }
            let Some((chosen, service)) = lock(name) else {
                continue;
            };
            let known = raw[..locks].iter().position(|known| *known == chosen);
            let place = match known {
                Some(place) => place,
                None if locks == raw.len() => continue,
                None => {
                    raw[locks] = chosen;
                    let [first, each] = CACHES;
                    (service.move_caches)(first + each * (locks as u32 - 1));
                    SERVICES[locks].store(ptr::from_ref(service).cast_mut(), Relaxed);
                    locks += 1;
                    locks - 1
                }
            };
            let entry = &TABLE[used];
            entry.from.store(base + from, Relaxed);
            entry.to.store(base + to, Relaxed);
            let what = if what == "site" { SITE } else { 0 };
            entry.lock.store(place as u32 | what, Relaxed);
            used += 1;
        }
    });
    SERVICES[0].store(ptr::from_ref(own.1).cast_mut(), Relaxed);
    USED.store(used, Relaxed);
    used > 0
}

/// Calls `each` with every mapped file and its address.
fn each_mapped(mut each: impl FnMut(&[u8], usize)) {
    let mut last = (0, 0);
    each_piece(|piece| {
        // The pieces of a file are adjacent, the lowest first.
        let name = (piece.path.len(), checksum(piece.path));
        if name != last {
            last = name;
            each(piece.path, piece.from);
        }
    });
}

/// Distinguishes a path from the one before it.
fn checksum(path: &[u8]) -> u32 {
    path.iter().fold(0, |sum: u32, byte| {
        sum.wrapping_mul(16_777_619) ^ u32::from(*byte)
    })
}

/// The index of the lock that the lines give a mutex, initialised or first locked by that call; 0
/// for an unknown call.
fn wanted(mutex: &Mutex, returns_to: usize) -> u32 {
    let address = ptr::from_ref(mutex).addr();
    for line in &TABLE[..USED.load(Relaxed).min(LINES)] {
        let lock = line.lock.load(Relaxed);
        let at = if lock & SITE == 0 {
            address
        } else {
            // The return address is behind the call.
            returns_to.wrapping_sub(1)
        };
        if (line.from.load(Relaxed)..line.to.load(Relaxed)).contains(&at) {
            return lock & !SITE;
        }
    }
    0
}

/// The lock at that index; the process's own for an invalid index, as in memory that is no mutex.
fn service(place: u32) -> &'static Service {
    let other = SERVICES[place as usize % SERVICES.len()].load(Relaxed);
    // SAFETY: null or a service; the first was set before the choice was published.
    unsafe { other.as_ref().unwrap_or(&*SERVICES[0].load(Relaxed)) }
}

/// Memory used so far by all mutexes of a process; `one` serves some.
pub fn needs(one: &Service) -> Needs {
    if SERVICES[0].load(Relaxed).is_null() {
        return (one.needs)();
    }
    let mut all = (service(0).needs)();
    for other in &SERVICES[1..] {
        // SAFETY: null, or a service.
        let Some(other) = (unsafe { other.load(Relaxed).as_ref() }) else {
            break;
        };
        let needs = (other.needs)();
        // Each count includes the locks' own pools.
        all.bytes += needs.bytes.saturating_sub(own_pool_bytes());
        all.inflated += needs.inflated;
    }
    all
}

/// The mutex's kind, as a word.
fn word(mutex: &Mutex) -> &Word {
    // SAFETY: an atomic of the same size, in the type of the library `cohort`.
    unsafe { &*ptr::from_ref(&mutex.kind).cast() }
}

/// The service of a mutex that Cohort serves; chosen here if the caller is its first user.
pub fn serving(mutex: &Mutex) -> &'static Service {
    service(assigned::assign(word(mutex), || wanted(mutex, 0)))
}

/// The service of a mutex that Cohort serves; none before its first use.
#[cfg(feature = "observe")]
pub fn assigned_to(mutex: &Mutex) -> Option<&'static Service> {
    assigned::place(mutex.kind.load(Relaxed) as u32).map(service)
}

/// Chooses a mutex's service if the caller, locking it by that call, is its first user.
pub fn assign(mutex: &Mutex, returns_to: usize) {
    assigned::assign(word(mutex), || wanted(mutex, returns_to));
}

/// The bits of a mutex's kind that identify its service, for a mutex that this call initialises.
pub fn bits(mutex: &Mutex, returns_to: usize) -> c_int {
    assigned::bits(wanted(mutex, returns_to)) as c_int
}

/// The lock and unlock functions of a plain mutex with a chosen lock.
#[inline(always)]
pub fn pair(mutex: &Mutex) -> Option<&'static Pair> {
    let kind = mutex.kind.load(Relaxed);
    if kind == DESTROYED || kind & !(assigned::BITS as c_int | ELISION) != NORMAL {
        return None;
    }
    Some(&service(assigned::place(kind as u32)?).pair)
}
