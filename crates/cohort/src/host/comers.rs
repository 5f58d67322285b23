//! Arrivals at a fat lock: counted by cache group, each on a line of its own, so that an arrival
//! moves no line of another group's, and writes none of the object's.
//!
//! A thread that arrives counts itself *here* in its group's word, looks once more whether the object
//! still has this fat lock, and counts itself as *come*: it will hold the lock.  Both are additions, which
//! no other thread's arrival makes fail; with exchanges that fail where others have come meanwhile, as many
//! as arrive at once try in vain for each that comes.  A thread that finds the object without this fat
//! lock counts itself out again, and has changed nothing that a holder asks for.
//!
//! The holder asks whether somebody is *awaited*: has come, and has not been left the lock yet.  If nobody
//! seems to be, it bars the object's word, and then asks each group by an addition of nothing: an arrival
//! before that is seen, one after it sees the bar.  A thread that is here then and has not come may have
//! looked before the bar.  The holder *closes* its group's word, which tells that thread, as it counts itself
//! as come, that it has not: no holder ever learns of it, it counts itself out, and asks the object anew.
//! Until all are gone that were here when a group was closed, no thread takes the fat lock for an object;
//! it takes another one.
//!
//! So nobody waits for a thread that is arriving.  It may have lost its CPU between two steps, and may have
//! been interrupted there by a signal handler, which takes or releases such a lock itself.
//!
//! | group's word | event | becomes |
//! |---|---|---|
//! | open | a thread arrives, comes, counts itself out; a holder learns how many have come | open |
//! | open | a holder that has barred the object's word finds somebody here, and nobody new | closed |
//! | closed | it finds that somebody new has come after all, before it closed this word or the next | open |
//! | closed | a thread comes in vain; each one that is here counts itself out | closed |
//! | closed, nobody here | the thread that takes the fat lock for an object | open |
//!
//! What holds:
//! - A thread that has come while the word was open is learnt of by a holder, once, and nobody else is.  All
//!   that came in vain did so between a closing and the next opening, which leaves them out.
//! - Where a word is open, no thread is between its look at the object and its coming that has looked in an
//!   earlier session: at the end of that session it was here, so the word was closed, and it was not opened
//!   before that thread had gone.
//! - A word is closed, while no holder is about to decide, only if the fat lock is no object's; `known.closed`
//!   says which.
//!
//! A thread stays here until it releases the lock, so that those that arrive know by the count whether they
//! are to stop at the group's gate.  That is a third addition, which is spared once a group has been *calm*
//! for a while: whenever a holder asked it, no more had come since the last time, and no more were here,
//! than the group has CPUs.  Where CPUs are scarce, and at a lock that adapts to how many want it, all stay.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `holder` | the holder | its record's number, and above it the [`Way`] by which it came; 0: nobody's section has begun |
//! | `known.awaited` | the holder | how many are known to be awaited |
//! | `known.closed` | the holder that leaves the object; the thread that takes the fat lock | the groups with a closed word, a bit each |
//! | `known.calm` | the holder | how often in a row it has found groups calm |
//! | `known.come` | the holder | of each group, how many are known to have come, or to have come in vain; it wraps |
//! | `comers` | threads of the group; a holder that closes it; the thread that takes the fat lock | how many have come in all, which wraps; whether the group is calm; whether it is closed; how many are here |
//! | `gate` | those of them that come when as many are here as have CPUs | see [`Gate`] |
//!
//! The counts go on from one object to the next.  A holder asks its own group first, and learns of
//! all that wait there at once; so while many wait, few holders look at a line that arrivals write.

use super::Gate;
use crate::door::{
    AtomicU64, CALM_LOOKS, Cell, FAT_GROUPS, Level, Order, cohort, flaws, mutant, orders,
};
use crate::padded::{CachePadded, LinePadded};

orders! {
    /// A thread that arrives after the holder has asked the group sees what the holder did before
    /// that: it has barred the object's word.
    COMERS_LOOK = Acquire;
    /// The same, from the holder's side.
    COMERS_ASK = Release;
}

flaws! {
    /// A group stays open that somebody has come to in vain.
    LEAVE_OPEN = "comers.leave-open";
    /// A group is opened for another object while somebody is here from the last one.
    OPEN_EARLY = "comers.open-early";
    /// A thread that has come in vain counts.
    COUNT_VAIN = "comers.count-vain";
    /// A group that was closed is not opened, though the object is not left.
    KEEP_CLOSED = "comers.keep-closed";
    /// The lock is left to somebody more often than to each.
    KEEP_TURN = "comers.keep-turn";
}

/// One that is here: arrives, or stays here until it releases the lock.  Fewer bits than these count all
/// threads of a machine (Linux numbers them by 22).
const HERE: u64 = 1;
const HERE_BITS: u64 = CLOSED - 1;
/// Nobody comes.
const CLOSED: u64 = 1 << 30;
/// There are CPUs for all that come.
const CALM: u64 = 1 << 31;
/// One that has come; above them nothing changes when they wrap.
const COME: u64 = 1 << 32;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Comers {
    turn: CachePadded<Turn>,
    groups: [LinePadded<Group>; FAT_GROUPS],
}

/// The holder's.
#[derive(Debug, Default)]
#[repr(C)]
struct Turn {
    holder: AtomicU64,
    known: Cell<Known>,
}

/// The part of it that goes from holder to holder.
#[derive(Debug, Default)]
#[repr(C)]
struct Known {
    awaited: u32,
    closed: u32,
    calm: u32,
    come: [u32; FAT_GROUPS],
}

const _: () = assert!(FAT_GROUPS <= u32::BITS as usize);

/// Those of a cache group.
#[derive(Debug, Default)]
struct Group {
    comers: AtomicU64,
    gate: Gate,
}

/// How a group's word stood when a thread changed it or looked at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen(u64);

impl Seen {
    /// How many were here.
    pub(super) const fn here(self) -> u32 {
        (self.0 & HERE_BITS) as u32
    }

    /// How many had come in all.
    const fn come(self) -> u32 {
        (self.0 / COME) as u32
    }

    /// Whether there are CPUs for all that come.
    pub(super) const fn is_calm(self) -> bool {
        self.0 & CALM != 0
    }
}

/// By which way a waiter has come, which it leaves when it releases the lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way(u32);

/// It stays here.
const STAYS: u32 = 1 << 16;
/// By its group's gate.
const GATED: u32 = 1 << 17;
/// Past those that wait, by none.
const PAST: u32 = 1 << 18;

impl Way {
    /// As one of that group, which stays here or does not.
    pub(super) const fn of(group: usize, stays: bool) -> Self {
        Self((group as u32 + 1) | if stays { STAYS } else { 0 })
    }

    /// The same, by the group's gate.
    pub(super) const fn by_gate(self, group: usize) -> Self {
        Self(Self::of(group, false).0 | (self.0 & STAYS) | GATED)
    }

    /// Past those that wait, and counted nowhere.
    pub(super) const fn past() -> Self {
        Self(PAST)
    }

    /// Whether it came past those that wait, one of which the lock was left to and is left to again: it
    /// leaves all that is counted as it is.
    pub(super) const fn is_past(self) -> bool {
        self.0 & PAST != 0
    }

    /// The group, if it is one's.
    pub(super) fn group(self) -> Option<usize> {
        ((self.0 & (STAYS - 1)) as usize).checked_sub(1)
    }

    /// The group of the word in which it is here.
    pub(super) fn stays_in(self) -> Option<usize> {
        self.group().filter(|_| self.0 & STAYS != 0)
    }

    /// The group of the gate that it came by.
    pub(super) fn gate(self) -> Option<usize> {
        self.group().filter(|_| self.0 & GATED != 0)
    }
}

/// A thread that holds the fat lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    /// Its record's number.
    pub(super) record: u32,
    pub(super) way: Way,
}

impl Turn {
    /// How many are known to be awaited; for the holder, as all that asks or changes what is known.
    #[inline]
    fn awaited(&self) -> u32 {
        // SAFETY: only the holder comes here, and the lock orders one after the other.
        self.known.with(|known| unsafe { (*known).awaited })
    }

    /// Learns of those that have come of a group; how many are new.
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

    /// Notes whether a group was found calm; whether groups have been for a while.
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

    /// Which groups are closed.
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

/// Those of so many groups of which a bit is set.
fn each(mut groups: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = groups.trailing_zeros() as usize;
        groups &= groups.wrapping_sub(1);
        (first < FAT_GROUPS).then_some(first)
    })
}

impl Comers {
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

    /// The caller, of that group, is here, and will look at the object next; how the word stood.
    #[inline]
    pub(super) fn arrive(&self, group: usize) -> Seen {
        Seen(self.word(group).fetch_add(HERE, COMERS_LOOK))
    }

    /// The caller, which is here and has found the object with this fat lock, has come, and will hold the
    /// lock; it stays here, or does not.  Otherwise it has come in vain, and is here no more.
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

    /// The caller is here no more.
    #[inline]
    pub(super) fn depart(&self, group: usize) {
        self.word(group).fetch_sub(HERE, Order::RELAXED);
    }

    /// How many of those groups are here.
    pub(super) fn are_here(&self, groups: u64) -> u32 {
        let here = |group: usize| Seen(self.word(group).load(Order::RELAXED)).here();
        each(groups).map(here).sum()
    }

    /// The lock's holder, if somebody's section has begun; for that thread, or one that is alone.
    #[inline]
    pub(super) fn holder(&self) -> Option<Holder> {
        let holder = self.turn.0.holder.load(Order::RELAXED);
        (holder != 0).then_some(Holder {
            record: holder as u32,
            way: Way((holder >> u32::BITS) as u32),
        })
    }

    /// Notes its holder, which is the caller.
    #[inline]
    pub(super) fn hold(&self, record: u32, way: Way) {
        let holder = u64::from(record) | (u64::from(way.0) << u32::BITS);
        self.turn.0.holder.store(holder, Order::RELAXED);
    }

    /// Nobody's section has begun; the caller holds the lock, and so below.
    #[inline]
    pub(super) fn let_go(&self) {
        self.turn.0.holder.store(0, Order::RELAXED);
    }

    /// Whether somebody of those groups is awaited, as far as can be seen without barring the word; the
    /// `first` group is asked before the others.
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

    /// Marks a group as calm, or not, by how many have come since it was asked last; those are few, though
    /// many are here, if others were left the lock in their place meanwhile.
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

    /// Asks those groups, and closes those at which somebody is, after the word has been barred; whether
    /// somebody of them is awaited.  If nobody is, nobody comes any more; otherwise all are open.  A
    /// caller that is here itself says in which group.
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

    /// Opens a closed group: those that have come meanwhile have come in vain.
    #[cold]
    #[inline(never)]
    fn open(&self, group: usize) {
        let seen = Seen(self.word(group).fetch_and(!CLOSED, Order::RELAXED));
        if mutant(flaw::COUNT_VAIN) {
            return;
        }
        // SAFETY: the caller holds the lock, or has it to itself.
        self.turn
            .0
            .known
            .with_mut(|known| unsafe { (*known).come[group] = seen.come() });
    }

    /// Opens all groups, for a thread that has the fat lock to itself and may give it to an object;
    /// false if a thread is still here that may come in vain.
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

    /// The lock is about to be left to one that is awaited.
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

    /// In a forked child, forgets everybody; for a thread that has the fat lock to itself.
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
