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
mod modules;
mod places;
mod samples;
mod segments;
mod standing;
mod watch;

pub use awaited::Wait;
pub use draws::{Beginnings, Draws, MOST_DOUBLED, Terms};
pub use holder::Holder;
pub use modules::Module;
pub use places::{mixed, places};
pub use samples::{Samples, WORDS};
pub use segments::{Segment, made_of, pair};
pub use standing::{COMING, NEW, Noted, STRIKING, STRUCK, Standing, is_settled};
pub use watch::{ALWAYS, Follows, PATIENCE, Watch};

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// What records begin with; the last byte is the layout's version, after the digits a letter.
pub const MAGIC: [u8; 8] = *b"COHORTOC";

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
/// Segments of threads in one process; the first is none.
pub const SEGMENTS: usize = 1 << 18;
/// Pairs of locks, each as often as it was taken in another segment.
pub const MADE: usize = 1 << 18;
/// Bytes of a stack that are kept with a finding or an edge.
pub const STACK_BYTES: usize = 16 << 10;
/// Stacks that can be kept.
pub const STACKS: usize = 1024;
/// Bytes of the process's list of mappings that are kept.
pub const MAPS_BYTES: usize = 1 << 16;
/// Modules whose code is listed before one of them is closed.
pub const MODULES: usize = 768;
/// Bytes of a module's path.
pub const PATH: usize = 220;

/// Samples of a thread that nobody has read yet.
pub const SAMPLES: usize = 32;
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
/// What [`Records::spacing`] is where no acquisition is timed, and no stack kept.
pub const NO_SAMPLES: u32 = u32::MAX;
/// What it is where none is timed, and stacks of waiting threads are kept.
pub const STACKS_ONLY: u32 = u32::MAX - 1;

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
    /// Taking a read lock of a kind that lets waiting writers first.
    ReadBehind = 7,
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
            7 => Self::ReadBehind,
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
    /// The number of the acquisition among the thread's.  Of a process that is profiled, the words of a
    /// [`Timed`] acquisition instead; 0: it is not timed.
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
        (raw & ADDRESS, How::of((raw >> 56) as u32))
    }
}

/// An acquisition whose release is to be timed, in one word that is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// When it was granted, in nanoseconds.
    pub since: u64,
    /// The power of two of which it is one.
    pub doubled: u8,
    /// Whether others held the lock when the thread came.
    pub contended: bool,
}

impl Timed {
    /// As a [`Hold`] has it.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        // Nine years of nanoseconds have room.
        self.since << 6 | (self.doubled as u64) << 1 | self.contended as u64
    }

    /// What a hold has.
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

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What it is in the middle of.
    pub doing: Doing,
    /// A lock, a condition, or another thread's `pthread`.
    pub object: u64,
    /// Where it waits at a condition, the mutex, which it does not hold meanwhile though it is listed to.
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
    /// When it was signalled and became a waiter of its mutex, of a thread that waits at a condition; 0: it
    /// was not.  In nanoseconds.
    pub told: AtomicU64,
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
pub const MEMORY: usize = 68_000_000;

impl Thread {
    /// The number of the thread's wait, and what it waits for; none if it does not wait, or went on
    /// meanwhile.  A thread that was signalled at a condition waits for the mutex, which is the object too then.
    pub fn waiting(&self) -> Option<(u32, Waiting)> {
        let (turn, words) = self.wait.read()?;
        let mut waiting = Waiting::of_words(words);
        if waiting.mutex != 0 && self.told.load(Acquire) != 0 {
            // It may have begun to wait elsewhere, and have been signalled there.
            if self.wait.read()?.0 != turn {
                return None;
            }
            waiting.doing = Doing::Lock;
            waiting.object = waiting.mutex;
        }
        Some((turn, waiting))
    }
}

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
    /// [`How`] the second was taken: to read only where a waiting writer lets readers pass.
    pub taken_how: AtomicU32,
    /// Other locks that were held, as [`Hold::pack`] has a site: as many as fit, then zeroes.
    pub gates: [AtomicU64; GATES],
    /// Where the second was taken.
    pub place: Place,
}

impl How {
    /// What a recorded number means.
    #[must_use]
    pub const fn of(raw: u32) -> Self {
        match raw {
            2 => Self::Read,
            3 => Self::Write,
            4 => Self::Condition,
            _ => Self::Mutex,
        }
    }
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

/// What a sample says of an acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// For how long the thread waited.
    #[default]
    Wait,
    /// For how long it held the lock.
    Hold,
}

/// One duration of an acquisition that was timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The lock's [`identity`].
    pub lock: u64,
    /// Where it was taken, and how, as a [`Hold`] has it.
    pub site: u64,
    /// Which duration.
    pub what: What,
    /// Nanoseconds of that.
    pub lasted: u64,
    /// The power of two of which this acquisition was one; none: it was not drawn, and only has a stack.
    pub doubled: Option<u8>,
    /// Nanoseconds that went into the stack.
    pub spent_on_stack: u32,
    /// The number of the lent stack, plus one; 0: there is none.
    pub stack: u16,
    /// How many other locks the thread held.
    pub nested: u8,
    /// Whether others held the lock when the thread came.
    pub contended: bool,
    /// The lowest bits of the number of the watch that it is of.
    pub watch: u8,
}

/// The bits of a watch's number that a sample has.
pub const WATCH_BITS: u32 = 0x7f;

impl Sample {
    /// What stands where the power of two would that there is not.
    const NOT_DRAWN: u8 = 31;
    /// What [`spent_on_stack`](Self::spent_on_stack) is at most.
    const MOST_SPENT: u32 = (1 << 26) - 1;

    /// For how many acquisitions it stands.
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

/// What an acquisition that is counted or timed takes: of a plain mutex that nobody else wants, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtHand {
    /// [`AT_HAND`] acquisitions and releases in a row.
    pub counted: u32,
    /// As many where nobody counts.
    pub plain: u32,
    /// One that is timed, by code that was not at hand.
    pub timed: u32,
    /// For how long the mutex was held then, as its sample says: what the records themselves take.
    pub empty: u16,
    /// What a read of the clock takes.
    pub read: u16,
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

/// What others have where a hand-over has its lock, at which there is none.
const IS_AT_HAND: u64 = 0;
const IS_TURN_OVER: u64 = 1;

impl AtHand {
    /// What [`timed`](Self::timed) is at most.
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
    /// How many segments have begun.
    pub segmented: AtomicU32,
    /// Whether `made` had no room.
    pub lost_made: AtomicU32,
    /// How many bytes of `maps` are kept.
    pub maps_length: AtomicU32,
    /// How many of `modules` are used.
    pub listed_modules: AtomicU32,
    /// How many nanoseconds a thread's samples of a lock at a place lie apart, as the reader says; 0: it has
    /// not said yet; [`NO_SAMPLES`]; [`STACKS_ONLY`].
    pub spacing: AtomicU32,
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
    /// The code that was mapped whenever a module was about to be closed.
    pub modules: [Module; MODULES],
    /// The findings.
    pub findings: [Finding; FINDINGS],
    /// The edges, by a hash.
    pub edges: [Edge; EDGES],
    /// A bit for each number of a lock in an edge, once that lock has ended.
    pub ended: [AtomicU64; NUMBERS / 64],
    /// The segments of each thread: in the lower half the present one, in the upper one its first; 0: it
    /// has none yet.
    pub segment_of: [AtomicU64; THREADS],
    /// Segments, by their numbers.
    pub segments: [Segment; SEGMENTS],
    /// In which segments pairs of locks were taken, by a hash; 0: free.
    pub made: [AtomicU64; MADE],
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
