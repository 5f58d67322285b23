//! Arrivals at a fat lock, counted per cache group, each group on its own cache line. An arrival
//! writes no line of another group and no line of the object.
//!
//! An arriving thread registers in its group's word (*here*). It then checks that the object still
//! has this fat lock, and commits (*come*): it will hold the lock. Both steps are additions, which
//! never fail. With exchanges, all concurrent arrivals would retry for each success. A thread that
//! finds the object without this fat lock deregisters; this changes nothing that a holder reads.
//!
//! The holder looks for *awaited* threads: committed waiters that have not been granted the lock.
//! If it finds none, it bars the object's word and then adds zero to each group's word. The
//! addition sees every earlier arrival, and every later arrival sees the bar. A registered,
//! uncommitted thread may have checked the object before the bar. The holder therefore *closes*
//! that group's word, and the thread's commitment fails. No holder counts it; it deregisters and
//! starts again at the object. Until all threads registered at the closing have left, the fat lock
//! is not reused for an object; another one is taken.
//!
//! So no thread waits for an arriving thread. That thread may be preempted between two steps, or be
//! interrupted there by a signal handler that acquires or releases such a lock.
//!
//! | group's word | event | becomes |
//! |---|---|---|
//! | open | a thread registers, commits or deregisters; a holder reads the committed count | open |
//! | open | a holder that barred the object's word finds a registered thread and no new commitment | closed |
//! | closed | the holder finds a commitment from before it closed this word or the next | open |
//! | closed | a commitment fails; a registered thread leaves | closed |
//! | closed, no registered thread | a thread takes the fat lock for an object | open |
//!
//! Invariants:
//! - A holder learns once of each commitment to an open word, and of no other. All failed
//!   commitments fall between a closing and the next opening, which skips them.
//! - While a word is open, no thread between its check of the object and its commitment made that
//!   check in an earlier session. Such a thread was registered when that session ended, so the word
//!   was closed. It was not opened before that thread had left.
//! - Unless a holder is deciding, a word is closed only if the fat lock belongs to no object;
//!   `known.closed` lists the closed words.
//!
//! A thread stays registered until it releases the lock. From this count, arrivals know whether to
//! stop at the group's gate. It costs a third addition, which is omitted once a group has been
//! *calm* for a while. At each look by a holder, a calm group has no more new commitments and no
//! more registered threads than CPUs. All threads stay registered while CPUs are oversubscribed,
//! and at a lock that adapts to its number of waiters.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `holder` | the holder | its record's number and [`Admission`]; 0: no critical section has begun |
//! | `known.awaited` | the holder | known pending waiters |
//! | `known.closed` | the last holder; the thread that takes the fat lock | the closed groups, a bit each |
//! | `known.calm` | the holder | successive looks that found groups calm |
//! | `known.come` | the holder | per group, commitments seen, with failed ones; wraps |
//! | `comers` | arrivals; a closing holder; the thread that takes the fat lock | the group's word |
//! | `gate` | threads that arrive while as many are registered as the group has CPUs | see [`Gate`] |
//!
//! The counts continue from one object to the next. A holder reads its own group first, and learns
//! of all its waiters at once. So under contention few holders read a line that arrivals write.

use super::Gate;
use crate::door::{
    AtomicU64, CALM_LOOKS, Cell, FAT_GROUPS, Level, Order, cohort, flaws, mutant, orders,
};
use crate::support::padded::{CachePadded, LinePadded};

orders! {
    /// A thread that arrives after the holder's look at the group sees the holder's earlier writes:
    /// the barred word of the object.
    COMERS_LOOK = Acquire;
    /// The holder's side of `COMERS_LOOK`.
    COMERS_ASK = Release;
}

flaws! {
    /// A group with a registered, uncommitted thread stays open.
    LEAVE_OPEN = "comers.leave-open";
    /// A group is opened for another object while threads of the last one are still registered.
    OPEN_EARLY = "comers.open-early";
    /// Failed commitments are counted.
    COUNT_VAIN = "comers.count-vain";
    /// A closed group is not opened, though the object keeps the fat lock.
    KEEP_CLOSED = "comers.keep-closed";
    /// The lock is granted more often than there are committed waiters.
    KEEP_TURN = "comers.keep-turn";
}

/// A registered thread: arriving, or registered until its release. These bits can count all threads
/// of a machine; Linux numbers threads with 22.
const HERE: u64 = 1;
const HERE_BITS: u64 = CLOSED - 1;
/// Commitments fail.
const CLOSED: u64 = 1 << 30;
/// The group has a CPU for each of its arrivals.
const CALM: u64 = 1 << 31;
/// A commitment; the topmost field, so its overflow changes no other.
const COME: u64 = 1 << 32;

/// A fat lock's holder, and the arrivals of all cache groups.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    turn: CachePadded<Turn>,
    groups: [LinePadded<Group>; FAT_GROUPS],
}

/// The line of the holder.
#[derive(Debug, Default)]
#[repr(C)]
struct Turn {
    holder: AtomicU64,
    known: Cell<Known>,
}

/// What each holder passes on to the next.
#[derive(Debug, Default)]
#[repr(C)]
struct Known {
    awaited: u32,
    closed: u32,
    calm: u32,
    come: [u32; FAT_GROUPS],
}

const _: () = assert!(FAT_GROUPS <= u32::BITS as usize);

/// A cache group's arrivals, and their gate.
#[derive(Debug, Default)]
struct Group {
    comers: AtomicU64,
    gate: Gate,
}

/// A group's word, as a thread read it or found it before its change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen(u64);

impl Seen {
    /// The number of registered threads.
    pub(super) const fn here(self) -> u32 {
        (self.0 & HERE_BITS) as u32
    }

    /// The number of commitments, which wraps.
    const fn come(self) -> u32 {
        (self.0 / COME) as u32
    }

    /// Whether the group has a CPU for each of its arrivals.
    pub(super) const fn is_calm(self) -> bool {
        self.0 & CALM != 0
    }
}

/// The way of a holder's arrival, which its release undoes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Admission(u32);

/// Registered until the release.
const STAYS: u32 = 1 << 16;
/// Through its group's gate.
const GATED: u32 = 1 << 17;
/// Barged past the waiters, through no gate.
const PAST: u32 = 1 << 18;

impl Admission {
    /// A thread of that group; `stays`: registered until its release.
    pub(super) const fn of(group: usize, stays: bool) -> Self {
        Self((group as u32 + 1) | if stays { STAYS } else { 0 })
    }

    /// The same, through the group's gate.
    pub(super) const fn by_gate(self, group: usize) -> Self {
        Self(Self::of(group, false).0 | (self.0 & STAYS) | GATED)
    }

    /// Barged past the waiters, uncounted.
    pub(super) const fn past() -> Self {
        Self(PAST)
    }

    /// Whether the thread barged. The lock was granted to a waiter before, and is again by its
    /// release; therefore its release changes no count.
    pub(super) const fn is_past(self) -> bool {
        self.0 & PAST != 0
    }

    /// The cache group, if the thread was counted in one.
    pub(super) fn group(self) -> Option<usize> {
        ((self.0 & (STAYS - 1)) as usize).checked_sub(1)
    }

    /// The group of the word in which the thread is still registered.
    pub(super) fn stays_in(self) -> Option<usize> {
        self.group().filter(|_| self.0 & STAYS != 0)
    }

    /// The group of the gate that the thread passed.
    pub(super) fn gate(self) -> Option<usize> {
        self.group().filter(|_| self.0 & GATED != 0)
    }
}

/// A thread that holds the fat lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    /// Its record's number.
    pub(super) record: u32,
    pub(super) way: Admission,
}

impl Turn {
    /// The number of known pending waiters. Only the holder calls functions that read or change
    /// `known`.
    #[inline]
    fn awaited(&self) -> u32 {
        // SAFETY: only the holder calls this, and the lock orders successive holders.
        self.known.with(|known| unsafe { (*known).awaited })
    }

    /// Counts a group's new commitments, and returns their number.
    #[inline(never)]
    fn learn(&self, group: usize, seen: Seen) -> u32 {
        self.known.with_mut(|known| {
            // SAFETY: as above.
            let known = unsafe { &mut *known };
            let new = seen.come().wrapping_sub(known.come[group]);
            known.come[group] = seen.come();
            known.awaited += new;
            new
        })
    }

    /// Records whether a group is calm; returns whether groups have been for `CALM_LOOKS` looks.
    fn note_calm(&self, calm: bool) -> bool {
        self.known.with_mut(|known| {
            // SAFETY: as above.
            let known = unsafe { &mut *known };
            known.calm = if calm {
                known.calm.saturating_add(1)
            } else {
                0
            };
            known.calm >= CALM_LOOKS
        })
    }

    /// The closed groups.
    #[inline]
    fn closed(&self) -> u32 {
        // SAFETY: as above.
        self.known.with(|known| unsafe { (*known).closed })
    }

    fn set_closed(&self, closed: u32) {
        // SAFETY: as above.
        self.known
            .with_mut(|known| unsafe { (*known).closed = closed });
    }
}

/// The indices of the set bits.
fn each(mut groups: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = groups.trailing_zeros() as usize;
        groups &= groups.wrapping_sub(1);
        (first < FAT_GROUPS).then_some(first)
    })
}

impl Arrivals {
    /// The calling thread's group.
    #[inline]
    pub(super) fn of_thread() -> usize {
        cohort(Level::CacheGroup) % FAT_GROUPS
    }

    /// That group's gate.
    pub(super) fn gate(&self, group: usize) -> &Gate {
        &self.groups[group].0.gate
    }

    fn word(&self, group: usize) -> &AtomicU64 {
        &self.groups[group].0.comers
    }

    /// Registers the caller in its group, before its check of the object; returns the word before.
    #[inline]
    pub(super) fn arrive(&self, group: usize) -> Seen {
        Seen(self.word(group).fetch_add(HERE, COMERS_LOOK))
    }

    /// Commits the registered caller, which has found this fat lock at the object. Returns true if
    /// it will hold the lock; `stays` keeps it registered until its release. Otherwise the caller
    /// is deregistered.
    #[inline]
    pub(super) fn come(&self, group: usize, stays: bool) -> bool {
        let change = if stays { COME } else { COME - HERE };
        let seen = self.word(group).fetch_add(change, Order::RELAXED);
        let came = seen & CLOSED == 0;
        if !came && stays {
            self.depart(group);
        }
        came
    }

    /// Deregisters the caller.
    #[inline]
    pub(super) fn depart(&self, group: usize) {
        self.word(group).fetch_sub(HERE, Order::RELAXED);
    }

    /// The number of threads registered in those groups.
    pub(super) fn are_here(&self, groups: u64) -> u32 {
        let here = |group: usize| Seen(self.word(group).load(Order::RELAXED)).here();
        each(groups).map(here).sum()
    }

    /// The lock's holder, if a critical section has begun; for the holder, or a thread with
    /// exclusive access.
    #[inline]
    pub(super) fn holder(&self) -> Option<Holder> {
        let holder = self.turn.0.holder.load(Order::RELAXED);
        (holder != 0).then_some(Holder {
            record: holder as u32,
            way: Admission((holder >> u32::BITS) as u32),
        })
    }

    /// Records the caller as the holder.
    #[inline]
    pub(super) fn hold(&self, record: u32, way: Admission) {
        let holder = u64::from(record) | (u64::from(way.0) << u32::BITS);
        self.turn.0.holder.store(holder, Order::RELAXED);
    }

    /// Records that no critical section has begun; for the holder, as all functions below.
    #[inline]
    pub(super) fn let_go(&self) {
        self.turn.0.holder.store(0, Order::RELAXED);
    }

    /// Whether any of these groups has a pending waiter; may miss one unless the word is barred.
    /// The `first` group is read before the others.
    #[inline]
    pub(super) fn is_awaited(&self, groups: u64, first: usize) -> bool {
        self.turn.0.awaited() != 0 || self.asks(groups, first)
    }

    #[inline(never)]
    fn asks(&self, groups: u64, first: usize) -> bool {
        let first = 1 << first;
        each(groups & first)
            .chain(each(groups & !first))
            .any(|group| {
                let seen = Seen(self.word(group).load(Order::RELAXED));
                let new = self.turn.0.learn(group, seen);
                if new != 0 {
                    self.mark(group, seen, new);
                }
                new != 0
            })
    }

    /// Marks a group calm or not, by the new commitments and registered threads. Commitments can be
    /// few while many threads are registered, if other groups were granted the lock meanwhile.
    #[inline]
    fn mark(&self, group: usize, seen: Seen, new: u32) {
        let calm = self
            .turn
            .0
            .note_calm(new.max(seen.here()) <= Gate::room_of_group());
        if calm != seen.is_calm() {
            if calm {
                self.word(group).fetch_or(CALM, Order::RELAXED);
            } else {
                self.word(group).fetch_and(!CALM, Order::RELAXED);
            }
        }
    }

    /// Looks at those groups after the word is barred, and closes the groups with registered
    /// threads. Returns whether they have a pending waiter. If so, all groups are open; otherwise
    /// no further commitment succeeds. A registered caller passes its `own` group.
    #[cold]
    pub(super) fn close(&self, groups: u64, own: Option<usize>) -> bool {
        let mut present = 0_u32;
        for group in each(groups) {
            let seen = Seen(self.word(group).fetch_add(0, COMERS_ASK));
            if self.turn.0.learn(group, seen) != 0 {
                return true;
            }
            if seen.here() > u32::from(own == Some(group)) {
                present |= 1 << group;
            }
        }
        let mut closed = 0;
        for group in each(u64::from(present)) {
            if mutant(flaw::LEAVE_OPEN) {
                continue;
            }
            let seen = Seen(self.word(group).fetch_or(CLOSED, Order::RELAXED));
            closed |= 1 << group;
            if self.turn.0.learn(group, seen) != 0 {
                if !mutant(flaw::KEEP_CLOSED) {
                    each(u64::from(closed)).for_each(|group| self.open(group));
                }
                return true;
            }
        }
        if closed != 0 {
            self.turn.0.set_closed(closed);
        }
        false
    }

    /// Opens a closed group, and skips the commitments that failed meanwhile.
    #[cold]
    #[inline(never)]
    fn open(&self, group: usize) {
        let seen = Seen(self.word(group).fetch_and(!CLOSED, Order::RELAXED));
        if mutant(flaw::COUNT_VAIN) {
            return;
        }
        // SAFETY: the caller holds the lock, or has exclusive access.
        self.turn
            .0
            .known
            .with_mut(|known| unsafe { (*known).come[group] = seen.come() });
    }

    /// Opens all groups, for a thread with exclusive access that will give the fat lock to an
    /// object. False if a thread is still registered and its commitment must fail.
    #[inline]
    pub(super) fn opens(&self) -> bool {
        let closed = self.turn.0.closed();
        closed == 0 || self.open_all(closed)
    }

    #[cold]
    #[inline(never)]
    fn open_all(&self, closed: u32) -> bool {
        let are_gone = self.are_here(u64::from(closed)) == 0;
        if !are_gone && !mutant(flaw::OPEN_EARLY) {
            return false;
        }
        each(u64::from(closed)).for_each(|group| self.open(group));
        self.turn.0.set_closed(0);
        true
    }

    /// Counts one pending waiter less: the holder is about to release the lock to it.
    #[inline]
    pub(super) fn pass_turn(&self) {
        if mutant(flaw::KEEP_TURN) {
            return;
        }
        // SAFETY: the caller holds the lock.
        self.turn
            .0
            .known
            .with_mut(|known| unsafe { (*known).awaited -= 1 });
    }

    /// Forgets all threads, in a forked child; for a thread with exclusive access to the fat lock.
    #[cold]
    pub(super) fn forget(&self) {
        self.let_go();
        // SAFETY: the caller's.
        self.turn
            .0
            .known
            .with_mut(|known| unsafe { *known = Known::default() });
        for LinePadded(group) in &self.groups {
            group.comers.store(0, Order::RELAXED);
            group.gate.reset();
        }
    }
}
