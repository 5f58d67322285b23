//! Records of the observing library about a process, in a file that the library and the command
//! map: which thread holds which locks, what each waits for, its errors, and the order of
//! acquisitions. The file survives a process that hangs or is killed.
//!
//! At the level `stuck` a plain mutex has its holder in its own bytes instead, see [`TAG_BITS`].
//!
//! Each record except edges is written by one thread and read by others while it changes: a wait as
//! a [`Wait`]; a finding is complete once its [`Finding::kind`] is not zero. Addresses are the
//! process's own.
//!
//! For a profile it also counts each lock by acquiring site, in [`Count`]s, and takes [`Samples`].
//! A lock's identity there is its address and its *class*, the call that initialised it: memory
//! reused for another sort of lock is another lock.
//!
//! A process may be watched from its beginning to its end, or for a while as it runs: see
//! [`Watch`].

mod awaited;
mod draws;
mod holder;
mod modules;
mod places;
mod samples;
mod segments;
mod standing;
mod traced;
mod watch;

pub use crate::door::recorder::{Doing, How};
pub use awaited::Wait;
pub use draws::{Beginnings, Draws, MOST_DOUBLED, Terms};
pub use holder::Holder;
pub use modules::Module;
pub use places::{mixed, places};
pub use samples::{Samples, WORDS};
pub use segments::{Segment, made_of, pair};
pub use standing::{COMING, NEW, Noted, STRIKING, STRUCK, Standing, is_settled};
pub use traced::{
    CHUNK, Chunk, Content, EVENT_WORDS, EVENTS, FILE as TRACE_FILE, HEAD as TRACE_HEAD, RawEvent,
    Sort, TraceHead, flag,
};
pub use watch::{ALWAYS, Follows, PATIENCE, Watch};

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The file's first bytes; the last byte is the layout's version: the digits, then letters.
pub const MAGIC: [u8; 8] = *b"COHORTOD";

/// Threads with a record at the same time.
pub const THREADS: usize = 10_240;
/// Bits of a site in the word that a thread writes into a mutex it acquires, at the level `stuck`.
/// Above them is the index of its record, plus one.
pub const TAG_BITS: u32 = 48;
const _: () = assert!(THREADS < 1 << (u64::BITS - TAG_BITS));
/// Locks that a thread can hold at once and have listed.
pub const HOLDS: usize = 1_152;
/// How many of these are in the thread's own record.
pub const NEAR: usize = 10;
/// Findings of one process.
pub const FINDINGS: usize = 256;
/// Edges of one process: one lock acquired while another is held.
pub const EDGES: usize = 1 << 16;
/// Other locks held while an edge is made, and noted with it.
pub const GATES: usize = 6;
/// Threads noted with an edge: as many as wait in the longest cycle that is looked for.
pub const MAKERS: usize = 5;
/// Numbers of locks that can be noted at their end.
pub const NUMBERS: usize = 1 << 20;
/// Segments of threads in one process; the first is none.
pub const SEGMENTS: usize = 1 << 18;
/// Pairs of locks, one entry for each segment that acquires the pair.
pub const MADE: usize = 1 << 18;
/// Bytes of a stack kept with a finding or an edge.
pub const STACK_BYTES: usize = 16 << 10;
/// Stacks that can be kept.
pub const STACKS: usize = 1024;
/// Bytes kept of the process's list of mappings.
pub const MAPS_BYTES: usize = 1 << 16;
/// Modules with listable code, before one of them is closed.
pub const MODULES: usize = 768;
/// Bytes of a module's path.
pub const PATH: usize = 220;

/// Unread samples of a thread.
pub const SAMPLES: usize = 32;
/// Pairs of a lock and a site that a thread counts by itself.
pub const TALLIES: usize = 64;
/// Counted locks of one process, one entry for each acquiring site.
pub const COUNTS: usize = 1 << 20;
/// Distinct calls that initialise locks.
pub const CLASSES: usize = 1 << 12;
/// Locks without room for their class in their own bytes, and therefore listed.
pub const LISTED: usize = 1 << 16;
/// Stacks lent to samples at once.
pub const LENT: usize = 128;
/// Locks with a noted mode.
pub const MODES: usize = 1 << 12;
/// The value of [`Records::spacing`] without timing and without stacks.
pub const NO_SAMPLES: u32 = u32::MAX;
/// The value without timing, and with stacks of waiting threads.
pub const STACKS_ONLY: u32 = u32::MAX - 1;

/// The bits of a lock's address in an identity; above them is its class.
pub const OBJECT: u64 = (1 << 48) - 1;

/// A lock's identity, by its address and its class; class 0: no initialisation was seen.
#[must_use]
pub const fn identity(object: u64, class: u32) -> u64 {
    (object & OBJECT) | (class as u64) << 48
}

/// A place in the program from which a call came: enough to unwind its stack.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RecordedSite {
    /// The address to which the call returns.
    pub returns_to: AtomicU64,
    /// The stack pointer there.
    pub stack: AtomicU64,
    /// The frame pointer there.
    pub frame: AtomicU64,
}

/// The bits of a hold's site for its address.
const ADDRESS: u64 = (1 << 56) - 1;

/// One lock that a thread holds.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Hold {
    /// The lock's address; 0: another thread has released it meanwhile.
    pub object: AtomicU64,
    /// The acquiring site, and [`How`] in the uppermost byte.
    pub site: AtomicU64,
    /// The acquisition's number in its thread. In a profiled process, the words of a [`Timed`]
    /// acquisition instead; 0: not timed.
    pub number: AtomicU64,
}

impl Hold {
    /// Packs a site for a record.
    #[must_use]
    pub const fn pack(site: u64, how: How) -> u64 {
        (site & ADDRESS) | (how as u64) << 56
    }

    /// The site and how the lock is held.
    #[must_use]
    pub const fn unpack(raw: u64) -> (u64, How) {
        (raw & ADDRESS, How::of((raw >> 56) as u32))
    }
}

/// An acquisition with a timed release, in one nonzero word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The time of the grant, in nanoseconds.
    pub since: u64,
    /// The sampling probability: one in two to this power.
    pub doubled: u8,
    /// Whether the lock was held at the arrival.
    pub contended: bool,
}

impl Timed {
    /// Encodes it for a [`Hold`].
    #[must_use]
    pub const fn to_word(self) -> u64 {
        // There is room for nine years of nanoseconds.
        self.since << 6 | (self.doubled as u64) << 1 | self.contended as u64
    }

    /// Decodes the word of a hold.
    #[must_use]
    pub const fn of_word(word: u64) -> Self {
        Self {
            since: word >> 6,
            doubled: (word >> 1 & 31) as u8,
            contended: word & 1 != 0,
        }
    }
}

/// The words of a wait.
pub const WAIT_WORDS: usize = 6;

/// A thread's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The operation.
    pub doing: Doing,
    /// How the lock is held afterwards; of a join, any.
    pub how: How,
    /// A lock, a condition, or another thread's `pthread`.
    pub object: u64,
    /// In a wait at a condition, the mutex: listed as held, though released meanwhile.
    pub mutex: u64,
    /// Where the wait began: return address, stack pointer and frame pointer.
    pub place: [u64; 3],
}

impl Waiting {
    /// Encodes it for a record.
    #[must_use]
    pub const fn to_words(self) -> [u64; WAIT_WORDS] {
        let [returns_to, stack, frame] = self.place;
        [
            self.doing as u64 | (self.how as u64) << 32,
            self.object,
            self.mutex,
            returns_to,
            stack,
            frame,
        ]
    }

    /// Decodes a record.
    #[must_use]
    pub const fn of_words(words: [u64; WAIT_WORDS]) -> Self {
        let [doing, object, mutex, returns_to, stack, frame] = words;
        Self {
            doing: Doing::of(doing as u32),
            how: How::of((doing >> 32) as u32),
            object,
            mutex,
            place: [returns_to, stack, frame],
        }
    }
}

/// One thread.
///
/// Records lie close together, since there may be many. Fields that few threads use lie elsewhere,
/// in pages that stay untouched.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Thread {
    /// The kernel's thread number; 0: the record is free. Holds listed in a free record were held
    /// at a fork, by a thread that the child does not have.
    pub id: AtomicU32,
    /// How many holds are listed.
    pub held: AtomicU32,
    /// How many more holds do not fit.
    pub beyond: AtomicU32,
    /// Whether the thread may hold unlisted locks: the process was forked past the library.
    pub uncertain: AtomicU32,
    /// The watch that the record belongs to.
    pub follows: Follows,
    /// The C library's name of the thread.
    pub pthread: AtomicU64,
    /// The thread's name in a mutex that records its owner.
    pub owner: AtomicU64,
    /// Its wait, in [`Waiting`]'s words.
    pub wait: Wait<WAIT_WORDS>,
    /// When a thread waiting at a condition was notified and became a waiter of its mutex, in
    /// nanoseconds; 0: it was not.
    pub told: AtomicU64,
    /// Acquisitions so far.
    pub acquired: AtomicU64,
    /// How often it has evicted the counter of another lock and site.
    pub turned_over: AtomicU64,
    /// Sampled acquisitions and their successors, in [`Drawn`]'s words.
    pub samples: Samples<SAMPLES>,
    /// The thread's counters that are not yet in [`Records::counts`], by a hash; after them, its
    /// next addition there.
    pub tallies: [Tally; TALLIES + 1],
    /// Its holds in order of acquisition. The rest is in [`Records::far`]; [`Records::hold`] finds
    /// either.
    pub near: [Hold; NEAR],
}

/// Greatest size of the records of a program with 1,000,000 locks and 10,000 threads, in bytes.
pub const MEMORY: usize = 68_000_000;

impl Thread {
    /// The number of the thread's wait and its object; `None` if the thread does not wait, or went
    /// on meanwhile. A thread notified at a condition waits for the mutex, which is then the object
    /// too.
    pub fn waiting(&self) -> Option<(u32, Waiting)> {
        let (turn, words) = self.wait.read()?;
        let mut waiting = Waiting::of_words(words);
        if waiting.mutex != 0 && self.told.load(Acquire) != 0 {
            // It may have begun to wait elsewhere, and have been notified there.
            if self.wait.read()?.0 != turn {
                return None;
            }
            waiting.doing = Doing::Lock;
            waiting.object = waiting.mutex;
        }
        Some((turn, waiting))
    }
}

/// A misuse of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Wrong {
    /// Unlocked a free lock.
    UnlockFree = 1,
    /// Unlocked a lock that another thread held.
    UnlockOthers = 2,
    /// Destroyed a held or awaited lock.
    DestroyUsed = 3,
    /// Used a lock after its destruction.
    UseDestroyed = 4,
    /// Waited at a condition without its mutex.
    WaitUnlocked = 5,
    /// Locked a mutex that the thread held, of a non-recursive kind.
    LockTwice = 6,
    /// Locked memory with neither zeroes nor an initialiser's bytes.
    Uninitialised = 7,
    /// Locked zeroes, in a program that marks what its initialisers write.
    Unmarked = 8,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::UnlockFree,
        Self::UnlockOthers,
        Self::DestroyUsed,
        Self::UseDestroyed,
        Self::WaitUnlocked,
        Self::LockTwice,
        Self::Uninitialised,
        Self::Unmarked,
    ];
}

/// One misuse.
#[derive(Debug)]
#[repr(C)]
pub struct Finding {
    /// [`Wrong`], written last; 0: not yet.
    pub kind: AtomicU32,
    /// The thread.
    pub thread: AtomicU32,
    /// The lock's holder, if it has one.
    pub other: AtomicU32,
    /// The number of the kept stack, plus one; 0: none is left.
    pub stack: AtomicU32,
    /// The lock.
    pub object: AtomicU64,
    /// Where the holder acquired it.
    pub other_site: AtomicU64,
    /// Where it was done.
    pub place: RecordedSite,
}

/// One lock acquired while another was held. Once one of the two has ended, another edge may reuse
/// the entry.
#[derive(Debug)]
#[repr(C)]
pub struct Edge {
    /// The lock that was held; written last, and 0 before.
    pub held: AtomicU64,
    /// The acquired lock; 0 once one of the two has ended.
    pub taken: AtomicU64,
    /// The number of the first lock: memory reused for another lock gets another number. 0: only
    /// the address is known.
    pub held_identity: AtomicU32,
    /// The same of the second.
    pub taken_identity: AtomicU32,
    /// Where the first was acquired, as in a [`Hold`].
    pub held_site: AtomicU64,
    /// Whether the edge stands, by a hash of the two and the gates; and the threads that make it,
    /// as a rule the stack's thread first.
    pub standing: Standing<MAKERS>,
    /// The number of the kept stack, plus one; 0: none is left.
    pub stack: AtomicU32,
    /// [`How`] the second was acquired: to read only where a waiting writer lets readers pass.
    pub taken_how: AtomicU32,
    /// Other locks held, encoded like a site by [`Hold::pack`]: as many as fit, then zeroes.
    pub gates: [AtomicU64; GATES],
    /// Where the second was acquired.
    pub place: RecordedSite,
}

impl Edge {
    /// The hash of its [`pair`] of locks.
    #[must_use]
    pub fn pair(&self) -> u64 {
        pair(
            [&self.held, &self.taken].map(|lock| lock.load(Relaxed)),
            [&self.held_identity, &self.taken_identity].map(|number| number.load(Relaxed)),
            self.hows(),
        )
    }

    /// How the first is held, and how the second was taken.
    #[must_use]
    pub fn hows(&self) -> [How; 2] {
        let (_, held) = Hold::unpack(self.held_site.load(Relaxed));
        [held, How::of(self.taken_how.load(Relaxed))]
    }
}

impl Records {
    /// Finds a hold of a thread by its index.
    #[inline]
    #[must_use]
    pub fn hold<'a>(&'a self, thread: &'a Thread, place: usize) -> Option<&'a Hold> {
        match place.checked_sub(NEAR) {
            None => thread.near.get(place),
            Some(place) => self.far_of(thread).get(place),
        }
    }

    /// The first `held` holds, or all of them.
    pub fn holds<'a>(
        &'a self,
        thread: &'a Thread,
        held: usize,
    ) -> impl DoubleEndedIterator<Item = &'a Hold> {
        let far = match held.checked_sub(NEAR) {
            None | Some(0) => &[],
            Some(far) => &self.far_of(thread)[..far.min(HOLDS - NEAR)],
        };
        thread.near[..held.min(NEAR)].iter().chain(far)
    }

    /// The holds outside the thread's own record.
    #[cold]
    fn far_of(&self, thread: &Thread) -> &[Hold] {
        let first = self.threads.as_ptr().addr();
        let slot = ptr::from_ref(thread).addr().wrapping_sub(first) / size_of::<Thread>();
        self.far.get(slot).map_or(&[], |far| &far[..])
    }

    /// Notes that the lock of that number has ended; false if there is no room for that.
    pub fn end(&self, number: u32) -> bool {
        let word = self.ended.get(number as usize / 64);
        word.is_some_and(|word| {
            word.fetch_or(1 << (number % 64), Relaxed);
            true
        })
    }

    /// Whether the lock of that number is noted as ended.
    #[must_use]
    pub fn has_ended(&self, number: u32) -> bool {
        let word = self.ended.get(number as usize / 64);
        word.is_some_and(|word| word.load(Relaxed) & 1 << (number % 64) != 0)
    }
}

/// A thread's counter for one lock and site. The thread adds it to the [`Count`]s when it needs the
/// entry, or before a number overflows.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// As in a [`Count`].
    pub site: AtomicU64,
    /// Acquisitions; of a condition, waits.
    pub acquired: AtomicU32,
    /// Acquisitions that found the lock held, of `acquired`.
    pub contended: AtomicU32,
}

impl Tally {
    /// Continues the count of a lock and a site: acquisitions, and contended ones.
    pub fn go_on(&self, [lock, site]: [u64; 2], [acquired, contended]: [u32; 2]) {
        // If the process ends here, a count lost is better than a count doubled.
        self.lock.store(0, Release);
        self.acquired.store(acquired, Relaxed);
        self.contended.store(contended, Relaxed);
        self.site.store(site, Relaxed);
        self.lock.store(lock, Release);
    }

    /// Takes the count out, in the form of [`go_on`](Self::go_on); `None` if empty.
    pub fn take(&self) -> Option<([u64; 2], [u32; 2])> {
        let lock = self.lock.load(Relaxed);
        self.lock.store(0, Release);
        let site = self.site.load(Relaxed);
        let counted = [&self.acquired, &self.contended].map(|count| count.load(Relaxed));
        (lock != 0).then_some(([lock, site], counted))
    }
}

/// The count of one lock and site; a lock may have two such records of one site.
#[derive(Debug)]
#[repr(C)]
pub struct Count {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// The site and how the lock was acquired, as in a [`Hold`]; 0: not written yet.
    pub site: AtomicU64,
    /// Acquisitions; of a condition, waits.
    pub acquired: AtomicU64,
    /// Acquisitions that found the lock held.
    pub contended: AtomicU64,
}

/// The duration in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// The time from arrival to grant.
    #[default]
    Wait,
    /// The time from grant to release.
    Hold,
}

/// One duration of a timed acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The lock's [`identity`].
    pub lock: u64,
    /// The site and how the lock was acquired, as in a [`Hold`].
    pub site: u64,
    /// Which duration.
    pub what: What,
    /// The duration in nanoseconds.
    pub lasted: u64,
    /// The sampling probability, one in two to this power; `None`: the acquisition has a stack
    /// only.
    pub doubled: Option<u8>,
    /// Nanoseconds spent on the stack.
    pub spent_on_stack: u32,
    /// The number of the lent stack, plus one; 0: there is none.
    pub stack: u16,
    /// How many other locks the thread held.
    pub nested: u8,
    /// Whether the lock was held at the arrival.
    pub contended: bool,
    /// The lowest bits of its watch's number.
    pub watch: u8,
}

/// The bits of a watch's number in a sample.
pub const WATCH_BITS: u32 = 0x7f;

impl Sample {
    /// Encodes the absence of a probability.
    const NOT_DRAWN: u8 = 31;
    /// Greatest value of [`spent_on_stack`](Self::spent_on_stack).
    const MOST_SPENT: u32 = (1 << 26) - 1;

    /// How many acquisitions it stands for.
    #[must_use]
    pub fn of(&self) -> u32 {
        self.doubled.map_or(0, |doubled| 1 << doubled)
    }

    const fn to_words(self) -> [u64; WORDS] {
        let doubled = match self.doubled {
            Some(doubled) => doubled,
            None => Self::NOT_DRAWN,
        };
        let spent = if self.spent_on_stack < Self::MOST_SPENT {
            self.spent_on_stack
        } else {
            Self::MOST_SPENT
        };
        let flags = (self.stack as u64)
            | (self.nested as u64) << 16
            | (self.contended as u64) << 24
            | (self.watch as u64) << 25
            | (matches!(self.what, What::Hold) as u64) << 32
            | (doubled as u64) << 33
            | (spent as u64) << 38;
        [self.lock, self.site, self.lasted, flags]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [lock, site, lasted, flags] = words;
        let doubled = (flags >> 33 & 31) as u8;
        Self {
            lock,
            site,
            what: if flags >> 32 & 1 != 0 {
                What::Hold
            } else {
                What::Wait
            },
            lasted,
            doubled: if doubled == Self::NOT_DRAWN {
                None
            } else {
                Some(doubled)
            },
            spent_on_stack: (flags >> 38) as u32,
            stack: flags as u16,
            nested: (flags >> 16) as u8,
            contended: flags >> 24 & 1 != 0,
            watch: (flags >> 25) as u8 & WATCH_BITS as u8,
        }
    }
}

/// The next acquisition after a sampled one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// The lock's [`identity`].
    pub lock: u64,
    /// The CPU of the release.
    pub from: u32,
    /// The CPU on which the next holder saw the grant.
    pub to: u32,
    /// Whether the next holder is the previous one.
    pub is_own: bool,
    /// How many acquisitions this one stands for.
    pub of: u32,
    /// The lowest bits of its watch's number.
    pub watch: u8,
}

/// Cost of a counted or timed acquisition of an uncontended plain mutex, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtHand {
    /// [`AT_HAND`] acquisitions and releases in a row.
    pub counted: u32,
    /// As many without counting.
    pub plain: u32,
    /// A timed one, by code out of the cache.
    pub timed: u32,
    /// How long the mutex was held then, by its sample: the cost of the records themselves.
    pub empty: u16,
    /// The cost of a clock read.
    pub read: u16,
    /// The lowest bits of its watch's number.
    pub watch: u8,
}

/// How many acquisitions an [`AtHand`] measures together.
pub const AT_HAND: u32 = 32;

/// Cost of evicting a counter for another lock and site, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnOver {
    /// The eviction and one clock read.
    pub spent: u32,
    /// The cost of a clock read.
    pub read: u32,
    /// How many evictions, in [`Thread::turned_over`], it stands for.
    pub of: u32,
    /// The lowest bits of its watch's number.
    pub watch: u8,
}

/// An entry among a thread's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// An acquisition, or its stack alone.
    Sample(Sample),
    /// The next acquisition after a sampled one.
    HandOver(HandOver),
    /// The least cost of an acquisition's records.
    AtHand(AtHand),
    /// The additional cost of evictions.
    TurnOver(TurnOver),
}

impl Drawn {
    /// Encodes it for a record.
    #[must_use]
    pub const fn to_words(self) -> [u64; WORDS] {
        match self {
            Self::Sample(sample) => sample.to_words(),
            Self::HandOver(hand_over) => hand_over.to_words(),
            Self::AtHand(at_hand) => at_hand.to_words(),
            Self::TurnOver(turn_over) => turn_over.to_words(),
        }
    }

    /// Decodes a record.
    #[must_use]
    pub const fn of_words(words: [u64; WORDS]) -> Self {
        match [words[0], words[1]] {
            [IS_AT_HAND, NO_SITE] => Self::AtHand(AtHand::of_words(words)),
            [IS_TURN_OVER, NO_SITE] => Self::TurnOver(TurnOver::of_words(words)),
            [_, NO_SITE] => Self::HandOver(HandOver::of_words(words)),
            _ => Self::Sample(Sample::of_words(words)),
        }
    }

    /// The lowest bits of its watch's number.
    #[must_use]
    pub const fn watch(self) -> u8 {
        match self {
            Self::Sample(sample) => sample.watch,
            Self::HandOver(hand_over) => hand_over.watch,
            Self::AtHand(at_hand) => at_hand.watch,
            Self::TurnOver(turn_over) => turn_over.watch,
        }
    }
}

/// A hand-over's entry in the place of a site. A sample's site is never 0, since it includes how
/// the lock was acquired.
const NO_SITE: u64 = 0;

impl HandOver {
    const fn to_words(self) -> [u64; WORDS] {
        [
            self.lock,
            NO_SITE,
            self.from as u64 | (self.to as u64) << 32,
            self.of as u64 | (self.is_own as u64) << 32 | (self.watch as u64) << 33,
        ]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [lock, _, cpus, flags] = words;
        Self {
            lock,
            from: cpus as u32,
            to: (cpus >> 32) as u32,
            is_own: flags >> 32 & 1 != 0,
            of: flags as u32,
            watch: (flags >> 33) as u8,
        }
    }
}

/// The other kinds' values in the place of a hand-over's lock, which is never at these addresses.
const IS_AT_HAND: u64 = 0;
const IS_TURN_OVER: u64 = 1;

impl AtHand {
    /// Greatest value of [`timed`](Self::timed).
    const MOST_TIMED: u32 = (1 << 24) - 1;

    const fn to_words(self) -> [u64; WORDS] {
        let pairs = self.counted as u64 | (self.plain as u64) << 32;
        let timed = if self.timed < Self::MOST_TIMED {
            self.timed
        } else {
            Self::MOST_TIMED
        };
        let rest = timed as u64
            | (self.empty as u64) << 24
            | (self.read as u64) << 40
            | (self.watch as u64) << 56;
        [IS_AT_HAND, NO_SITE, pairs, rest]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [_, _, pairs, rest] = words;
        Self {
            counted: pairs as u32,
            plain: (pairs >> 32) as u32,
            timed: rest as u32 & Self::MOST_TIMED,
            empty: (rest >> 24) as u16,
            read: (rest >> 40) as u16,
            watch: (rest >> 56) as u8,
        }
    }
}

impl TurnOver {
    const fn to_words(self) -> [u64; WORDS] {
        let took = self.spent as u64 | (self.read as u64) << 32;
        let flags = self.of as u64 | (self.watch as u64) << 32;
        [IS_TURN_OVER, NO_SITE, took, flags]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [_, _, took, flags] = words;
        Self {
            spent: took as u32,
            read: (took >> 32) as u32,
            of: flags as u32,
            watch: (flags >> 32) as u8,
        }
    }
}

/// An adaptive lock's reported mode, and how often it has changed.
#[derive(Debug)]
#[repr(C)]
pub struct Told {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// A number of [`Mode::ALL`](crate::door::Mode::ALL), plus one; 0: not written yet.
    pub mode: AtomicU32,
    /// Mode changes while they were recorded.
    pub changes: AtomicU32,
}

/// A process's records.
#[derive(Debug)]
#[repr(C)]
pub struct Records {
    /// [`MAGIC`].
    pub magic: [AtomicU8; 8],
    /// The process's own number.
    pub process: AtomicU32,
    /// Its place among the processes forked from each other.
    pub generation: AtomicU32,
    /// Whether the process is watched.
    pub watch: Watch,
    /// How many of `threads` are used.
    pub used: AtomicU32,
    /// How many of `findings` were begun; more than their number if some did not fit.
    pub found: AtomicU32,
    /// How many of `stacks` were begun.
    pub stacked: AtomicU32,
    /// Threads that did not fit.
    pub lost_threads: AtomicU32,
    /// Edges that did not fit.
    pub lost_edges: AtomicU32,
    /// How many segments have begun.
    pub segmented: AtomicU32,
    /// Whether `made` had no room.
    pub lost_made: AtomicU32,
    /// How many bytes of `maps` are kept.
    pub maps_length: AtomicU32,
    /// How many of `modules` are used.
    pub listed_modules: AtomicU32,
    /// Nanoseconds between a thread's samples of a lock at a site, as the reader sets it; 0: not
    /// set yet; [`NO_SAMPLES`]; [`STACKS_ONLY`].
    pub spacing: AtomicU32,
    /// How many counts were begun, by threads for themselves and in `counts`.
    pub counted: AtomicU32,
    /// Acquisitions without room for a count of their lock.
    pub lost_counts: AtomicU32,
    /// Samples that were not read in time.
    pub lost_samples: AtomicU32,
    /// The process's mappings as listed by the kernel, updated at the first, second, fourth … kept
    /// stack or begun count: for addresses of a process that has ended.
    pub maps: [AtomicU8; MAPS_BYTES],
    /// The code mapped whenever a module was about to be closed.
    pub modules: [Module; MODULES],
    /// The findings.
    pub findings: [Finding; FINDINGS],
    /// The edges, by a hash.
    pub edges: [Edge; EDGES],
    /// A bit for each number of a lock in an edge, once that lock has ended.
    pub ended: [AtomicU64; NUMBERS / 64],
    /// The segments of each thread: the present one in the lower half, the first in the upper half;
    /// 0: none yet.
    pub segment_of: [AtomicU64; THREADS],
    /// Segments, by their numbers.
    pub segments: [Segment; SEGMENTS],
    /// The segments in which pairs of locks were acquired, by a hash; 0: free.
    pub made: [AtomicU64; MADE],
    /// The threads.
    pub threads: [Thread; THREADS],
    /// Their further holds.
    pub far: [[Hold; HOLDS - NEAR]; THREADS],
    /// Kept stacks, from their stack pointers upwards.
    pub stacks: [Stack; STACKS],
    /// Stacks lent to samples; the reader gives them back.
    pub lent: [Stack; LENT],
    /// The calls that initialise locks, by return address: class 1 first.
    pub classes: [AtomicU64; CLASSES],
    /// The identities of locks without room for their class.
    pub listed: [AtomicU64; LISTED],
    /// The modes of adaptive locks, by a hash.
    pub modes: [Told; MODES],
    /// The counts of locks by site, each at one of its [`places`].
    pub counts: [Count; COUNTS],
}

/// A lent stack is free.
pub const FREE: u32 = 0;
/// It is being written.
pub const WRITTEN: u32 = 1;
/// It is complete, to be read and then given back.
pub const WHOLE: u32 = 2;

/// The upper end of a stack.
#[derive(Debug)]
#[repr(C)]
pub struct Stack {
    /// How many bytes are kept.
    pub length: AtomicU32,
    /// [`FREE`], [`WRITTEN`] or [`WHOLE`]; of a lent stack only.
    pub state: AtomicU32,
    /// Where it was copied; of a lent stack only.
    pub place: RecordedSite,
    /// The bytes.
    pub bytes: [AtomicU8; STACK_BYTES],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_among_samples_is_told_from_a_sample() {
        let sample = Drawn::Sample(Sample {
            lock: 1 << 48 | 64,
            site: Hold::pack(0, How::Mutex),
            what: What::Hold,
            lasted: u64::MAX,
            doubled: Some(MOST_DOUBLED),
            spent_on_stack: Sample::MOST_SPENT,
            stack: u16::MAX,
            nested: u8::MAX,
            contended: true,
            watch: 77,
        });
        let stack_alone = Drawn::Sample(Sample {
            site: Hold::pack(5, How::Read),
            watch: 76,
            ..Sample::default()
        });
        let hand_over = Drawn::HandOver(HandOver {
            lock: 2 << 48 | 64,
            from: 1_000,
            to: u32::MAX,
            is_own: true,
            of: 1 << MOST_DOUBLED,
            watch: 78,
        });
        let at_hand = Drawn::AtHand(AtHand {
            counted: 900,
            plain: u32::MAX,
            timed: AtHand::MOST_TIMED,
            empty: u16::MAX,
            read: 22,
            watch: 79,
        });
        let turn_over = Drawn::TurnOver(TurnOver {
            spent: 140,
            read: 22,
            of: 1_024,
            watch: 80,
        });
        for (drawn, watch) in [
            (sample, 77),
            (stack_alone, 76),
            (hand_over, 78),
            (at_hand, 79),
            (turn_over, 80),
        ] {
            let read = Drawn::of_words(drawn.to_words());
            assert_eq!((read, read.watch()), (drawn, watch));
        }
    }

    #[test]
    fn a_timed_acquisition_goes_into_a_word() {
        let timed = Timed {
            since: (1 << 58) - 1,
            doubled: MOST_DOUBLED,
            contended: true,
        };
        assert_eq!(Timed::of_word(timed.to_word()), timed);
    }

    #[test]
    fn what_was_counted_goes_from_one_place_to_another() {
        let [one, other] = [Tally::default(), Tally::default()];
        assert_eq!(one.take(), None);
        one.go_on([1 << 48 | 64, 7], [5, 2]);
        let taken = one.take().expect("it was put there");
        assert_eq!((taken, one.take()), (([1 << 48 | 64, 7], [5, 2]), None));
        other.go_on(taken.0, taken.1);
        one.go_on([8, 9], [0, 0]);
        assert_eq!(other.take(), Some(taken));
        assert_eq!(one.take(), Some(([8, 9], [0, 0])));
    }

    /// Greatest size of the parts that exist once, and of those for samples and lock names.
    const ONCE: usize = 3_000_000;

    #[test]
    fn records_of_many_locks_and_threads_fit() {
        let threads = 10_000 * size_of::<Thread>();
        let profiled = size_of::<[Count; COUNTS]>() + threads + ONCE;
        assert!(profiled <= MEMORY, "{profiled}");
        let debugged = threads
            + size_of::<[Finding; FINDINGS]>()
            + size_of::<[Edge; EDGES]>()
            + size_of::<[AtomicU64; NUMBERS / 64]>()
            + size_of::<[Segment; SEGMENTS]>()
            + size_of::<[AtomicU64; MADE]>()
            + size_of::<[Stack; STACKS]>()
            + size_of::<[Module; MODULES]>()
            + MAPS_BYTES;
        assert!(debugged <= MEMORY, "{debugged}");
        let once = size_of::<[Stack; LENT]>()
            + size_of::<[AtomicU64; CLASSES]>()
            + size_of::<[AtomicU64; LISTED]>()
            + size_of::<[Told; MODES]>()
            + size_of::<[Module; MODULES]>()
            + MAPS_BYTES;
        assert!(once <= ONCE, "{once}");
    }
}
