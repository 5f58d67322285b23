//! A lock of its own for a mutex, as `COHORT_MUTEXES` says; only in the library with the
//! compositions, since processes of the other one are not to pay for it.
//!
//! A line for each place, words parted by spaces:
//!
//! ```text
//! mcs name 4040-4068 /usr/bin/memcached
//! ticket site 1a2b-1a2c /usr/lib/x86_64-linux-gnu/libkyotocabinet.so.16
//! ```
//!
//! That is a lock, what the addresses are of (mutexes; or the calls that initialise them, else
//! lock them first), from and to, counted from where the file is mapped, and the file.  `cohort
//! run` has found the addresses by names and lines.
//!
//! Which lock serves a mutex stands in bits of its kind from its first use on; see
//! [`assigned`].

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

/// The locks of a process beside its own.
const OTHERS: usize = 4;

/// The services: in place 0 the process's own lock's, then theirs.  All null in a process without
/// lines.
static SERVICES: [AtomicPtr<Service>; 1 + OTHERS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; 1 + OTHERS];

/// How many of a thread's caches the own lock's pools and all others' stand before those of
/// place 1, and how many each place takes.
const CACHES: [u32; 2] = [16, 4];

/// Addresses, and the place of the lock that they are for.
struct Line {
    from: AtomicUsize,
    to: AtomicUsize,
    /// The place; [`SITE`] too if they are of calls.
    lock: AtomicU32,
}

const SITE: u32 = 1 << 8;

const LINES: usize = 256;

/// Written before the process's choice is published.
static TABLE: [Line; LINES] = [const {
    Line {
        from: AtomicUsize::new(0),
        to: AtomicUsize::new(0),
        lock: AtomicU32::new(0),
    }
}; LINES];

static USED: AtomicUsize = AtomicUsize::new(0);

/// A lock as the process's choice has it, and its service.
pub type Known = (u8, &'static Service);

/// Reads the lines, for a process with `own` as its own lock; `lock` knows locks by their names.
/// Whether any line is of a file that is mapped here.  Threads that do so at once do the same.
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

/// Calls `each` with every file that is mapped, and where.
fn each_mapped(mut each: impl FnMut(&[u8], usize)) {
    let mut last = (0, 0);
    each_piece(|piece| {
        // The pieces of a file stand together, the lowest first.
        let name = (piece.path.len(), checksum(piece.path));
        if name != last {
            last = name;
            each(piece.path, piece.from);
        }
    });
}

/// What tells a path from the one before it.
fn checksum(path: &[u8]) -> u32 {
    path.iter().fold(0, |sum: u32, byte| {
        sum.wrapping_mul(16_777_619) ^ u32::from(*byte)
    })
}

/// The place of the lock that the lines want for a mutex, which that call initialises or is the
/// first to lock; 0 for a call that is not known.
fn wanted(mutex: &Mutex, returns_to: usize) -> u32 {
    let address = ptr::from_ref(mutex).addr();
    for line in &TABLE[..USED.load(Relaxed).min(LINES)] {
        let lock = line.lock.load(Relaxed);
        let at = if lock & SITE == 0 {
            address
        } else {
            // The call stands before that.
            returns_to.wrapping_sub(1)
        };
        if (line.from.load(Relaxed)..line.to.load(Relaxed)).contains(&at) {
            return lock & !SITE;
        }
    }
    0
}

/// The lock in that place; the process's own where memory that is no mutex names another.
fn service(place: u32) -> &'static Service {
    let other = SERVICES[place as usize % SERVICES.len()].load(Relaxed);
    // SAFETY: null or a service; the first was set before the choice was published.
    unsafe { other.as_ref().unwrap_or(&*SERVICES[0].load(Relaxed)) }
}

/// What all mutexes needed so far, in a process in which `one` serves some.
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
        // Each counts the locks' own pools.
        all.bytes += needs.bytes.saturating_sub(own_pool_bytes());
        all.inflated += needs.inflated;
    }
    all
}

/// The mutex's kind, as a word.
fn word(mutex: &Mutex) -> &Word {
    // SAFETY: an atom of the same size, as the library `cohort` has it.
    unsafe { &*ptr::from_ref(&mutex.kind).cast() }
}

/// What serves a mutex that is ours to serve; chooses, if the caller is its first user.
pub fn serving(mutex: &Mutex) -> &'static Service {
    service(assigned::assign(word(mutex), || wanted(mutex, 0)))
}

/// What serves a mutex that is ours to serve; none if nobody has used it.
#[cfg(feature = "observe")]
pub fn assigned_to(mutex: &Mutex) -> Option<&'static Service> {
    assigned::place(mutex.kind.load(Relaxed) as u32).map(service)
}

/// Chooses what serves a mutex, if the caller, which locks it by that call, is its first user.
pub fn assign(mutex: &Mutex, returns_to: usize) {
    assigned::assign(word(mutex), || wanted(mutex, returns_to));
}

/// The bits of a mutex's kind that say what serves it, for one that is being initialised by
/// that call.
pub fn bits(mutex: &Mutex, returns_to: usize) -> c_int {
    assigned::bits(wanted(mutex, returns_to)) as c_int
}

/// How a plain mutex with a chosen lock is locked and unlocked.
#[inline(always)]
pub fn pair(mutex: &Mutex) -> Option<&'static Pair> {
    let kind = mutex.kind.load(Relaxed);
    if kind == DESTROYED || kind & !(assigned::BITS as c_int | ELISION) != NORMAL {
        return None;
    }
    Some(&service(assigned::place(kind as u32)?).pair)
}
