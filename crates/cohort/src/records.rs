//! What the observing library writes down of a process, in a file that it and the command map:
//! which thread holds which locks, what each waits for, what it did wrong, and in which order
//! locks were taken.  The file survives a process that hangs or is killed.
//!
//! At the level `stuck` a plain mutex has its holder in its own bytes instead, see [`TAG_BITS`].
//!
//! Each record but those of edges is written by one thread, and read by others while it changes:
//! what it waits for as a [`Wait`], and a finding is complete once its [`Finding::kind`] is not
//! zero.  Addresses are the process's own.
//!
//! For a profile it counts as well: each lock by the sites that take it, in [`Count`]s, and
//! it takes [`Samples`].  A lock is known there by its address and its
//! *class*, the call that initialised it, so that memory which is used again for a lock of
//! another sort is another lock.
//!
//! A process may be watched from its beginning to its end, or for a while as it runs: see [`Watch`].

mod awaited;
mod draws;
mod holder;
mod places;
mod samples;
mod standing;
mod watch;

pub use awaited::Wait;
pub use draws::{Chance, Draws};
pub use holder::Holder;
pub use places::{mixed, places};
pub use samples::{Samples, WORDS};
pub use standing::{COMING, NEW, Noted, STRIKING, STRUCK, Standing, is_settled};
pub use watch::{ALWAYS, Follows, PATIENCE, Watch};

use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// What records begin with; the last byte is the layout's version, after the digits a letter.
pub const MAGIC: [u8; 8] = *b"COHORTOB";

/// Threads that can be recorded at once.
pub const THREADS: usize = 10_240;
/// The bits of what a thread writes into a mutex that it takes, at the level `stuck`, that are the
/// site; above them is the place of its record, plus one.
pub const TAG_BITS: u32 = 48;
const _: () = assert!(THREADS < 1 << (u64::BITS - TAG_BITS));
/// Locks that a thread can hold at once and have listed.
pub const HOLDS: usize = 1_152;
/// How many of these stand in the thread's own record.
pub const NEAR: usize = 10;
/// Findings of one process.
pub const FINDINGS: usize = 256;
/// Edges of one process: one lock taken while another is held.
pub const EDGES: usize = 1 << 16;
/// Other locks that are held while an edge is made, and noted with it.
pub const GATES: usize = 6;
/// Threads that are noted with an edge: as many as wait in the longest cycle that is looked for.
pub const MAKERS: usize = 5;
/// Numbers of locks of which it is noted that they have ended.
pub const NUMBERS: usize = 1 << 20;
/// Bytes of a stack that are kept with a finding or an edge.
pub const STACK_BYTES: usize = 16 << 10;
/// Stacks that can be kept.
pub const STACKS: usize = 1024;
/// Bytes of the process's list of mappings that are kept.
pub const MAPS_BYTES: usize = 1 << 16;

/// Samples of a thread that nobody has read yet.
pub const SAMPLES: usize = 16;
/// Locks, each with a site, that a thread counts by itself.
pub const TALLIES: usize = 64;
/// Locks of one process, each as often as it has sites that take it, that are counted.
pub const COUNTS: usize = 1 << 20;
/// Calls that initialise locks, and are told apart.
pub const CLASSES: usize = 1 << 12;
/// Locks whose own bytes have no room for their class, and that have it listed.
pub const LISTED: usize = 1 << 16;
/// Stacks that are lent to samples at once.
pub const LENT: usize = 128;
/// Locks of which it is noted in which mode they are.
pub const MODES: usize = 1 << 12;
/// What [`Records::every`] is where no acquisition is to be sampled, and no stack kept.
pub const NO_SAMPLES: u32 = u32::MAX;

/// The bits of an identity that are the lock's address; above them is its class.
pub const OBJECT: u64 = (1 << 48) - 1;

/// A lock, by its address and its class; 0: nobody was seen to initialise it.
#[must_use]
pub const fn identity(object: u64, class: u32) -> u64 {
    (object & OBJECT) | (class as u64) << 48
}

/// Where in the program a call came from: enough to unwind its stack.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Place {
    /// The address to which the call returns.
    pub returns_to: AtomicU64,
    /// The stack pointer there.
    pub stack: AtomicU64,
    /// The frame pointer there.
    pub frame: AtomicU64,
}

/// What a thread is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    /// Nothing that waits.
    Nothing = 0,
    /// Locking a mutex.
    Lock = 1,
    /// Taking a read lock.
    Read = 2,
    /// Taking a write lock.
    Write = 3,
    /// Waiting for another thread's end.
    Join = 4,
    /// Waiting at a condition.
    Condition = 5,
    /// One of these, with a deadline.
    Timed = 6,
}

impl Doing {
    /// What a recorded number means.
    #[must_use]
    pub const fn of(raw: u32) -> Self {
        match raw {
            1 => Self::Lock,
            2 => Self::Read,
            3 => Self::Write,
            4 => Self::Join,
            5 => Self::Condition,
            6 => Self::Timed,
            _ => Self::Nothing,
        }
    }
}

/// How a lock is held, above the address of a [`Hold`]'s site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum How {
    /// A mutex.
    Mutex = 1,
    /// For reading.
    Read = 2,
    /// For writing.
    Write = 3,
    /// Not at all: a condition, which is waited at.
    Condition = 4,
}

/// The bits of a hold's site that are its address.
const ADDRESS: u64 = (1 << 56) - 1;

/// One lock that a thread holds.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Hold {
    /// The lock's address; 0: another thread has released it meanwhile.
    pub object: AtomicU64,
    /// Where it was taken, and [`How`] in the uppermost byte.
    pub site: AtomicU64,
    /// The number of the acquisition among the thread's.  Of a process that is profiled, only that of a
    /// sampled one is of use: another may have 0, or that of what was listed here before.
    pub number: AtomicU64,
}

impl Hold {
    /// A site in the form in which it is recorded.
    #[must_use]
    pub const fn pack(site: u64, how: How) -> u64 {
        (site & ADDRESS) | (how as u64) << 56
    }

    /// The site and how the lock is held.
    #[must_use]
    pub const fn unpack(raw: u64) -> (u64, How) {
        let how = match raw >> 56 {
            2 => How::Read,
            3 => How::Write,
            4 => How::Condition,
            _ => How::Mutex,
        };
        (raw & ADDRESS, how)
    }
}

/// The words of a wait.
pub const WAIT_WORDS: usize = 6;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What it is in the middle of.
    pub doing: Doing,
    /// A lock, a condition, or another thread's `pthread`.
    pub object: u64,
    /// Where it waits at a condition, the mutex.
    pub mutex: u64,
    /// Where it began: the address to which the call returns, the stack pointer and the frame pointer
    /// there.
    pub place: [u64; 3],
}

impl Waiting {
    /// As it is written down.
    #[must_use]
    pub const fn to_words(self) -> [u64; WAIT_WORDS] {
        let [returns_to, stack, frame] = self.place;
        [
            self.doing as u64,
            self.object,
            self.mutex,
            returns_to,
            stack,
            frame,
        ]
    }

    /// What was written down.
    #[must_use]
    pub const fn of_words(words: [u64; WAIT_WORDS]) -> Self {
        let [doing, object, mutex, returns_to, stack, frame] = words;
        Self {
            doing: Doing::of(doing as u32),
            object,
            mutex,
            place: [returns_to, stack, frame],
        }
    }
}

/// One thread.
///
/// Records stand close together, since there may be many: what most threads have no use for stands
/// elsewhere, in pages that nobody touches.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Thread {
    /// The kernel's number; 0: the record is nobody's.  What it is listed to hold then was held while
    /// the process was forked, by a thread that the child does not have.
    pub id: AtomicU32,
    /// How many locks it is listed to hold.
    pub held: AtomicU32,
    /// How many more are held than fit.
    pub beyond: AtomicU32,
    /// Whether the thread may hold what is not listed: the process was forked beside the
    /// library.
    pub uncertain: AtomicU32,
    /// Of which watch all this is.
    pub follows: Follows,
    /// The C library's name of the thread.
    pub pthread: AtomicU64,
    /// What names it in a mutex that has an owner.
    pub owner: AtomicU64,
    /// What it waits for, in [`Waiting`]'s words.
    pub wait: Wait<WAIT_WORDS>,
    /// Acquisitions so far.
    pub acquired: AtomicU64,
    /// How often it has counted a lock and a site in the place of others.
    pub turned_over: AtomicU64,
    /// Acquisitions that were sampled, and what came behind them, in [`Drawn`]'s words.
    pub samples: Samples<SAMPLES>,
    /// What the thread has counted and not added to [`Records::counts`] yet, by a hash; behind these, what it
    /// adds there next.
    pub tallies: [Tally; TALLIES + 1],
    /// What it holds, in the order in which it was taken; the rest is in [`Records::far`], and
    /// [`Records::hold`] finds either.
    pub near: [Hold; NEAR],
}

/// Bytes that the records of a program of 1,000,000 locks and 10,000 threads take at most.
pub const MEMORY: usize = 64_000_000;

/// What a thread did that a lock does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Wrong {
    /// Unlocked a lock that nobody held.
    UnlockFree = 1,
    /// Unlocked a lock that another thread held.
    UnlockOthers = 2,
    /// Destroyed a lock that was held or awaited.
    DestroyUsed = 3,
    /// Used a lock after it was destroyed.
    UseDestroyed = 4,
    /// Waited at a condition without its mutex.
    WaitUnlocked = 5,
    /// Locked a mutex that it held, of a kind that cannot be locked twice.
    LockTwice = 6,
    /// Locked what holds neither zeroes nor what an initialiser writes.
    Uninitialised = 7,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::UnlockFree,
        Self::UnlockOthers,
        Self::DestroyUsed,
        Self::UseDestroyed,
        Self::WaitUnlocked,
        Self::LockTwice,
        Self::Uninitialised,
    ];
}

/// One such deed.
#[derive(Debug)]
#[repr(C)]
pub struct Finding {
    /// [`Wrong`], written last; 0: not yet.
    pub kind: AtomicU32,
    /// The thread.
    pub thread: AtomicU32,
    /// The thread that holds the lock, if one does.
    pub other: AtomicU32,
    /// The number of the kept stack, plus one; 0: none is left.
    pub stack: AtomicU32,
    /// The lock.
    pub object: AtomicU64,
    /// Where the other thread took it.
    pub other_site: AtomicU64,
    /// Where it was done.
    pub place: Place,
}

/// One lock taken while another was held.  Once one of the two has ended, another edge may take its
/// place.
#[derive(Debug)]
#[repr(C)]
pub struct Edge {
    /// The lock that was held; written last, and 0 before.
    pub held: AtomicU64,
    /// The lock that was taken; 0 once one of the two has ended.
    pub taken: AtomicU64,
    /// Which lock at its address the first is: memory that is used again holds another lock, and
    /// has another number.  0: only the address is known.
    pub held_identity: AtomicU32,
    /// The same of the second.
    pub taken_identity: AtomicU32,
    /// Where the first was taken, as a [`Hold`] has it.
    pub held_site: AtomicU64,
    /// Whether it stands, by a hash of the two and the gates, and the threads that do so, the one
    /// with the stack first as a rule.
    pub standing: Standing<MAKERS>,
    /// The number of the kept stack, plus one; 0: none is left.
    pub stack: AtomicU32,
    /// Other locks that were held: as many as fit, then zeroes.
    pub gates: [AtomicU64; GATES],
    /// Where the second was taken.
    pub place: Place,
}

impl Records {
    /// The place in the list of what a thread of these records holds; none if there is none.
    #[inline]
    #[must_use]
    pub fn hold<'a>(&'a self, thread: &'a Thread, place: usize) -> Option<&'a Hold> {
        match place.checked_sub(NEAR) {
            None => thread.near.get(place),
            Some(place) => self.far_of(thread).get(place),
        }
    }

    /// The first so many of these places, or all that there are.
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

    /// The places that are not in the thread's own record.
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

    /// Whether the lock of that number has ended, as far as is noted.
    #[must_use]
    pub fn has_ended(&self, number: u32) -> bool {
        let word = self.ended.get(number as usize / 64);
        word.is_some_and(|word| word.load(Relaxed) & 1 << (number % 64) != 0)
    }
}

/// How often one thread took one lock at one site, since it added what it had to all threads'
/// [`Count`]s.  It does that when it needs the place or a number is at its end.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// As in a [`Count`].
    pub site: AtomicU64,
    /// How often it was taken; a condition, how often it was waited at.
    pub acquired: AtomicU32,
    /// How often it was held by others when the thread came: not more often.
    pub contended: AtomicU32,
}

impl Tally {
    /// Goes on with a lock and a site, which its thread has counted so often elsewhere: taken, and found held.
    pub fn go_on(&self, [lock, site]: [u64; 2], [acquired, contended]: [u32; 2]) {
        // What is counted twice would be worse than what is not counted, if the process ends here.
        self.lock.store(0, Release);
        self.acquired.store(acquired, Relaxed);
        self.contended.store(contended, Relaxed);
        self.site.store(site, Relaxed);
        self.lock.store(lock, Release);
    }

    /// Takes out what is here, as [`go_on`](Self::go_on) has it; none if there is nothing.
    pub fn take(&self) -> Option<([u64; 2], [u32; 2])> {
        let lock = self.lock.load(Relaxed);
        self.lock.store(0, Release);
        let site = self.site.load(Relaxed);
        let counted = [&self.acquired, &self.contended].map(|count| count.load(Relaxed));
        (lock != 0).then_some(([lock, site], counted))
    }
}

/// How often one site took one lock; a lock may have two such records of one site.
#[derive(Debug)]
#[repr(C)]
pub struct Count {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// The site and how the lock was taken, as a [`Hold`] has it; 0: not written yet.
    pub site: AtomicU64,
    /// How often it was taken; a condition, how often it was waited at.
    pub acquired: AtomicU64,
    /// How often it was held by others when the thread came.
    pub contended: AtomicU64,
}

/// One acquisition that was sampled, from its beginning to its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The lock's [`identity`].
    pub lock: u64,
    /// Where it was taken, and how, as a [`Hold`] has it.
    pub site: u64,
    /// Nanoseconds for which the thread waited.
    pub waited: u64,
    /// Nanoseconds for which it held the lock.
    pub held: u64,
    /// Nanoseconds that went into the records, with [`READS_WITHIN`] reads of the clock; 0: that was not
    /// measured.
    pub spent: u32,
    /// The same, for the stack.
    pub spent_on_stack: u32,
    /// Of how many acquisitions this one was sampled; 0: it was not, and only has a stack and
    /// for how long it waited.
    pub of: u32,
    /// The number of the lent stack, plus one; 0: there is none.
    pub stack: u16,
    /// How many other locks the thread held.
    pub nested: u8,
    /// Whether others held the lock when the thread came.
    pub contended: bool,
    /// The lowest bits of the number of the watch that it is of.
    pub watch: u8,
}

/// What [`Sample::of`] is at most.
pub const MOST_OF: u32 = 1 << 24;

/// How often the clock is read within what [`Sample::spent`] counts.
pub const READS_WITHIN: u32 = 4;
/// How often it is read for a sample that was drawn, the draw included.
pub const READS: u32 = 9;

/// The bits of a watch's number that a sample has.
pub const WATCH_BITS: u32 = 0x7f;

impl Sample {
    const fn to_words(self) -> [u64; WORDS] {
        let flags = (self.of as u64)
            | (self.stack as u64) << 32
            | (self.nested as u64) << 48
            | (self.contended as u64) << 56
            | (self.watch as u64) << 57;
        [
            self.lock,
            self.site,
            self.waited,
            self.held,
            self.spent as u64 | (self.spent_on_stack as u64) << 32,
            flags,
        ]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [lock, site, waited, held, spent, flags] = words;
        Self {
            lock,
            site,
            waited,
            held,
            spent: spent as u32,
            spent_on_stack: (spent >> 32) as u32,
            of: flags as u32,
            stack: (flags >> 32) as u16,
            nested: (flags >> 48) as u8,
            contended: flags >> 56 & 1 != 0,
            watch: (flags >> 57) as u8,
        }
    }
}

/// A lock that a sampled acquisition held, and that a thread has taken next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// The lock's [`identity`].
    pub lock: u64,
    /// The CPU on which the lock was let go of.
    pub from: u32,
    /// The CPU on which the next holder found that it has the lock.
    pub to: u32,
    /// Whether it is the thread that had the lock before.
    pub is_own: bool,
    /// Of how many acquisitions one was sampled then.
    pub of: u32,
    /// The lowest bits of the number of the watch that it is of.
    pub watch: u8,
}

/// What an acquisition that is counted takes, where all that it needs is at hand: of a plain mutex that
/// nobody else wants, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtHand {
    /// [`AT_HAND`] acquisitions and releases in a row.
    pub counted: u32,
    /// As many where nobody counts.
    pub plain: u32,
    /// The lowest bits of the number of the watch that it is of.
    pub watch: u8,
}

/// How many acquisitions are measured together as [`AtHand`].
pub const AT_HAND: u32 = 32;

/// How long a thread took to count a lock and a site in the place of others, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnOver {
    /// That, and one read of the clock.
    pub spent: u32,
    /// What a read of the clock took.
    pub read: u32,
    /// For how many of [`Thread::turned_over`] it stands.
    pub of: u32,
    /// The lowest bits of the number of the watch that it is of.
    pub watch: u8,
}

/// What a thread puts among its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// An acquisition, or its stack alone.
    Sample(Sample),
    /// What came behind one.
    HandOver(HandOver),
    /// What the records of one take at least.
    AtHand(AtHand),
    /// What comes to that where the thread takes ever other locks.
    TurnOver(TurnOver),
}

impl Drawn {
    /// As it is recorded.
    #[must_use]
    pub const fn to_words(self) -> [u64; WORDS] {
        match self {
            Self::Sample(sample) => sample.to_words(),
            Self::HandOver(hand_over) => hand_over.to_words(),
            Self::AtHand(at_hand) => at_hand.to_words(),
            Self::TurnOver(turn_over) => turn_over.to_words(),
        }
    }

    /// What was recorded.
    #[must_use]
    pub const fn of_words(words: [u64; WORDS]) -> Self {
        match [words[0], words[1]] {
            [IS_AT_HAND, NO_SITE] => Self::AtHand(AtHand::of_words(words)),
            [IS_TURN_OVER, NO_SITE] => Self::TurnOver(TurnOver::of_words(words)),
            [_, NO_SITE] => Self::HandOver(HandOver::of_words(words)),
            _ => Self::Sample(Sample::of_words(words)),
        }
    }

    /// The lowest bits of the number of the watch that it is of.
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

/// What a hand-over has where a sample has its site, which is never this: that says how the lock was
/// taken, too.
const NO_SITE: u64 = 0;

impl HandOver {
    const fn to_words(self) -> [u64; WORDS] {
        [
            self.lock,
            NO_SITE,
            self.from as u64 | (self.to as u64) << 32,
            self.is_own as u64,
            self.of as u64,
            self.watch as u64,
        ]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [lock, _, cpus, is_own, of, watch] = words;
        Self {
            lock,
            from: cpus as u32,
            to: (cpus >> 32) as u32,
            is_own: is_own != 0,
            of: of as u32,
            watch: watch as u8,
        }
    }
}

/// What others have where a hand-over has its lock, at which there is none.
const IS_AT_HAND: u64 = 0;
const IS_TURN_OVER: u64 = 1;

impl AtHand {
    const fn to_words(self) -> [u64; WORDS] {
        let pairs = self.counted as u64 | (self.plain as u64) << 32;
        [IS_AT_HAND, NO_SITE, pairs, self.watch as u64, 0, 0]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [_, _, pairs, watch, ..] = words;
        Self {
            counted: pairs as u32,
            plain: (pairs >> 32) as u32,
            watch: watch as u8,
        }
    }
}

impl TurnOver {
    const fn to_words(self) -> [u64; WORDS] {
        let took = self.spent as u64 | (self.read as u64) << 32;
        let flags = self.of as u64 | (self.watch as u64) << 32;
        [IS_TURN_OVER, NO_SITE, took, flags, 0, 0]
    }

    const fn of_words(words: [u64; WORDS]) -> Self {
        let [_, _, took, flags, ..] = words;
        Self {
            spent: took as u32,
            read: (took >> 32) as u32,
            of: flags as u32,
            watch: (flags >> 32) as u8,
        }
    }
}

/// What a lock that adapts has told: in which mode it is, and how often it has changed that.
#[derive(Debug)]
#[repr(C)]
pub struct Told {
    /// The lock's [`identity`]; 0: none yet.
    pub lock: AtomicU64,
    /// A number of [`Mode::ALL`](crate::door::Mode::ALL), plus one; 0: not written yet.
    pub mode: AtomicU32,
    /// How often it went on in another mode, while that was written down.
    pub changes: AtomicU32,
}

/// A process's records.
#[derive(Debug)]
#[repr(C)]
pub struct Records {
    /// [`MAGIC`].
    pub magic: [AtomicU8; 8],
    /// The process's number, as it knows it.
    pub process: AtomicU32,
    /// Which of the processes that were forked from each other it is.
    pub generation: AtomicU32,
    /// Whether anybody watches.
    pub watch: Watch,
    /// How many of `threads` have been used.
    pub used: AtomicU32,
    /// How many of `findings` have been begun; more than there are, if some did not fit.
    pub found: AtomicU32,
    /// How many of `stacks` have been begun.
    pub stacked: AtomicU32,
    /// Threads that did not fit.
    pub lost_threads: AtomicU32,
    /// Edges that did not fit.
    pub lost_edges: AtomicU32,
    /// How many bytes of `maps` are kept.
    pub maps_length: AtomicU32,
    /// Of how many acquisitions one is sampled, as the reader says; 0: it has not said yet;
    /// [`NO_SAMPLES`].
    pub every: AtomicU32,
    /// How many counts have been begun, by threads for themselves and in `counts`.
    pub counted: AtomicU32,
    /// Acquisitions that could not be counted by their locks.
    pub lost_counts: AtomicU32,
    /// Samples that nobody took in time.
    pub lost_samples: AtomicU32,
    /// The process's mappings, as the kernel lists them, when a stack was last kept, or a count
    /// begun, that was the first, the second, the fourth, and so on: for a process that is gone
    /// when its addresses are looked at.
    pub maps: [AtomicU8; MAPS_BYTES],
    /// The findings.
    pub findings: [Finding; FINDINGS],
    /// The edges, by a hash.
    pub edges: [Edge; EDGES],
    /// A bit for each number of a lock in an edge, once that lock has ended.
    pub ended: [AtomicU64; NUMBERS / 64],
    /// The threads.
    pub threads: [Thread; THREADS],
    /// What else they hold.
    pub far: [[Hold; HOLDS - NEAR]; THREADS],
    /// Kept stacks, from their stack pointers upwards.
    pub stacks: [Stack; STACKS],
    /// Stacks that samples have, and that the reader gives back.
    pub lent: [Stack; LENT],
    /// The calls that initialise locks, by where they return: class 1 first.
    pub classes: [AtomicU64; CLASSES],
    /// The identities of locks that have no room for their class.
    pub listed: [AtomicU64; LISTED],
    /// The modes of locks that adapt, by a hash.
    pub modes: [Told; MODES],
    /// How often each site took each lock, each at one of its [`places`].
    pub counts: [Count; COUNTS],
}

/// A lent stack may be taken.
pub const FREE: u32 = 0;
/// It is being written.
pub const WRITTEN: u32 = 1;
/// It can be read, and then given back.
pub const WHOLE: u32 = 2;

/// A stack's upper end.
#[derive(Debug)]
#[repr(C)]
pub struct Stack {
    /// How many bytes are kept.
    pub length: AtomicU32,
    /// [`FREE`], [`WRITTEN`] or [`WHOLE`]; only of one that is lent.
    pub state: AtomicU32,
    /// Where it was copied; only of one that is lent.
    pub place: Place,
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
            waited: 5,
            of: MOST_OF,
            watch: 77,
            ..Sample::default()
        });
        let hand_over = Drawn::HandOver(HandOver {
            lock: 2 << 48 | 64,
            from: 1_000,
            to: u32::MAX,
            is_own: true,
            of: MOST_OF,
            watch: 78,
        });
        let at_hand = Drawn::AtHand(AtHand {
            counted: 900,
            plain: u32::MAX,
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
            (hand_over, 78),
            (at_hand, 79),
            (turn_over, 80),
        ] {
            let read = Drawn::of_words(drawn.to_words());
            assert_eq!((read, read.watch()), (drawn, watch));
        }
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

    /// What there is one of, and what samples and lock names need, is less than this together.
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
            + size_of::<[Stack; STACKS]>()
            + MAPS_BYTES;
        assert!(debugged <= MEMORY, "{debugged}");
        let once = size_of::<[Stack; LENT]>()
            + size_of::<[AtomicU64; CLASSES]>()
            + size_of::<[AtomicU64; LISTED]>()
            + size_of::<[Told; MODES]>()
            + MAPS_BYTES;
        assert!(once <= ONCE, "{once}");
    }
}
