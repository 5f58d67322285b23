//! The order of lock acquisitions: an edge for each lock acquired while another is held.
//!
//! The table of edges is bounded. Edges of ended locks are replaced, and so are edges covered by
//! another. If that does not suffice, edges go that can be in no cycle so far: those from a lock
//! only acquired first, and those to a lock only acquired last. If that changes later, it is
//! counted as a lost edge.

use super::bits::{Bits, mixed};
use super::own::{Caller, Own};
use super::{given, segments};
use crate::layout::{ADAPTIVE, Mutex, NO_KIND, NORMAL, RwLock};
use crate::libc::alone;
use cohort::records::{
    EDGES, Edge, GATES, Hold, How, MAKERS, NEW, Noted, STRIKING, STRUCK, is_settled, pair,
};
use core::ptr::{self, with_exposed_provenance};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Entries that an edge may have. Edges of two locks under various gates form a row of a few dozen
/// entries, and two such rows may be adjacent.
const PROBES: usize = 128;

/// Addresses of locks that may have edges.
static HAVE_EDGES: Bits = Bits::new();

/// Addresses of locks without a number that may have edges.
static UNNUMBERED: Bits = Bits::new();

/// Locks acquired while others are held.
static INNER: Bits = Bits::new();

/// Locks held while others are acquired.
static OUTER: Bits = Bits::new();

/// Locks that were not [inner](INNER) when an edge from them was left out.
static LEFT_OUTER: Bits = Bits::new();

/// Locks that were not [outer](OUTER) when an edge to them was left out.
static LEFT_INNER: Bits = Bits::new();

/// Combines a lock's address and number in a word.
fn known_as(object: u64, number: u32) -> u64 {
    object ^ mixed(u64::from(number))
}

/// The next lock's number.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The word for a lock's number in its own bytes; the number distinguishes successive locks at one
/// address. Initialisation sets it to zero.
///
/// # Safety
/// There is memory for a lock of that sort.
#[inline(always)]
unsafe fn room<'a>(how: How, object: usize) -> Option<&'a AtomicU32> {
    // SAFETY: the caller's.
    unsafe {
        match how {
            How::Mutex => {
                let mutex = &*with_exposed_provenance::<Mutex>(object);
                let kind = mutex.kind.load(Relaxed) & !NO_KIND;
                matches!(kind, NORMAL | ADAPTIVE).then_some(&mutex.count)
            }
            How::Read | How::Write => {
                let lock = &*with_exposed_provenance::<RwLock>(object);
                lock.is_word().then_some(&lock.identity)
            }
            _ => None,
        }
    }
}

/// The number of a lock, newly assigned if it has none; 0 if there is no room for it.
///
/// # Safety
/// The lock is valid, of that sort, and alive.
unsafe fn identity(object: u64, how: How) -> u32 {
    // SAFETY: the caller's.
    let Some(place) = (unsafe { room(how, object as usize) }) else {
        return 0;
    };
    match place.load(Relaxed) {
        0 => {
            let fresh = NEXT.fetch_add(1, Relaxed);
            place
                .compare_exchange(0, fresh, Relaxed, Relaxed)
                .map_or_else(|theirs| theirs, |_| fresh)
        }
        known => known,
    }
}

/// How a lock is waited for. A reader that lets writers first waits for writers, and so for other
/// readers: it counts as a writer.
///
/// # Safety
/// The lock is valid, of that sort, and alive.
unsafe fn as_awaited(object: u64, how: How) -> How {
    // SAFETY: the caller's.
    let lets_writers_first =
        || unsafe { &*with_exposed_provenance::<RwLock>(object as usize) }.lets_writers_first();
    match how {
        How::Read if lets_writers_first() => How::Write,
        how => how,
    }
}

/// The number of the latest lock at an address where another begins or it ends; 0: none.
///
/// # Safety
/// There is memory for a lock of that sort.
#[inline(always)]
pub unsafe fn number(how: How, object: usize) -> u32 {
    // SAFETY: the caller's.
    unsafe { room(how, object) }.map_or(0, |place| place.load(Relaxed))
}

/// Records that the thread acquires `object`, and may wait for it, while it holds what its record
/// lists.
#[inline]
pub fn takes(own: &Own, object: usize, how: How, caller: &Caller) {
    let held = own.thread.held.load(Relaxed) as usize;
    // A single-threaded process cannot deadlock.
    if own.is_free() || alone() {
        return;
    }
    note(own, held, object as u64, how, caller);
}

/// Edge that a thread makes.
struct New {
    held: u64,
    taken: u64,
    held_identity: u32,
    taken_identity: u32,
    /// How the first is held, and the second taken.
    hows: [How; 2],
    thread: u32,
    /// The other locks that it holds, and how; then zeroes.
    gates: [u64; GATES],
}

impl New {
    /// Hash of the locks and how each is held or acquired.
    fn pair(&self) -> u64 {
        let numbers = [self.held_identity, self.taken_identity];
        pair([self.held, self.taken], numbers, self.hows)
    }

    /// That hash, and a hash of the pair with its gates.
    fn keys(&self) -> [u64; 2] {
        let pair = self.pair();
        let gates = self.gates.iter().take_while(|gate| **gate != 0);
        [pair, gates.fold(pair, |key, gate| mixed(key ^ gate)) | 1]
    }

    /// Whether a known edge is of the same two locks, held and acquired alike.
    fn is_like(&self, edge: &Edge) -> bool {
        edge.held.load(Acquire) == self.held
            && edge.taken.load(Relaxed) == self.taken
            && edge.held_identity.load(Relaxed) == self.held_identity
            && edge.taken_identity.load(Relaxed) == self.taken_identity
            && edge.hows() == self.hows
    }

    /// Whether that edge, which has the key `known`, covers this one: the same thread made it, with
    /// a subset of the gates held here.
    fn is_covered_by(&self, edge: &Edge, known: u64) -> bool {
        let is_held = |gate: u64| gate == 0 || self.gates.contains(&gate);
        edge.standing.says(known, |makers| {
            // Other threads in all entries suffice: they are as many as can wait at once.
            let is_known = makers.contains(&self.thread) || makers.iter().copied().all(is_settled);
            is_known && gates(edge).all(is_held)
        })
    }

    /// Whether this edge, made by the threads `known`, covers `edge`.
    fn covers(&self, known: &[u32], edge: &Edge) -> bool {
        let mut own = self.gates.iter().filter(|gate| **gate != 0);
        own.all(|gate| gates(edge).any(|known| known == *gate))
            && are_among(&edge.standing.makers(), known)
    }

    /// Whether it may be in a cycle, as far as is known.
    fn matters(&self) -> bool {
        can_turn(self.outer(), self.inner())
    }

    fn outer(&self) -> u64 {
        known_as(self.held, self.held_identity)
    }

    fn inner(&self) -> u64 {
        known_as(self.taken, self.taken_identity)
    }
}

/// Whether all of an edge's threads are among `known`.
fn are_among(makers: &[u32; MAKERS], known: &[u32]) -> bool {
    let mut makers = makers.iter();
    makers.all(|maker| *maker == 0 || known.contains(maker))
}

fn gates(edge: &Edge) -> impl Iterator<Item = u64> {
    edge.gates.iter().map(|gate| gate.load(Relaxed))
}

/// Whether an edge from `outer` to `inner` may be in a cycle: there are edges to `outer`, and from
/// `inner`.
fn can_turn(outer: u64, inner: u64) -> bool {
    INNER.has(outer) && OUTER.has(inner)
}

/// The locks of a known edge.
fn locks(edge: &Edge) -> [u64; 2] {
    let of =
        |lock: &AtomicU64, number: &AtomicU32| known_as(lock.load(Relaxed), number.load(Relaxed));
    [
        of(&edge.held, &edge.held_identity),
        of(&edge.taken, &edge.taken_identity),
    ]
}

/// Records that an edge is left out.
#[cold]
fn leave_out(own: &Own, [outer, inner]: [u64; 2]) {
    LEFT_OUTER.set(outer);
    LEFT_INNER.set(inner);
    if can_turn(outer, inner) {
        own.records().lost_edges.fetch_add(1, Relaxed);
    }
}

/// Removes the edges covered by an edge that the calling thread has just written or joined.
/// [`Standing`](cohort::records::Standing) handles concurrent changes.
fn strike_covered(own: &Own, new: &New, by: &Edge) {
    let [pair, key] = new.keys();
    for edge in window(own, pair) {
        let known = edge.standing.key();
        if known == NEW {
            return;
        }
        let stays = ptr::eq(edge, by) || [STRIKING, STRUCK].contains(&known);
        if stays || !new.is_like(edge) || !new.covers(&by.standing.makers(), edge) {
            continue;
        }
        let covers = |makers: &[u32; MAKERS]| new.covers(makers, edge);
        let by = (&by.standing, key);
        edge.standing
            .strike(known, by, covers, || edge.held.store(0, Release));
    }
}

/// The entries that an edge with that hash may have.
fn window(own: &Own, pair: u64) -> impl Iterator<Item = &'static Edge> {
    let edges = &own.records().edges;
    let first = pair as usize % EDGES;
    (0..PROBES).map(move |probe| &edges[(first + probe) % EDGES])
}

/// The holds to examine, of a thread with `held` holds: all, or the first (possible gates) and the
/// last.
fn noted(held: usize) -> impl Iterator<Item = usize> + Clone {
    const FIRST: usize = GATES / 2;
    const LAST: usize = GATES + 1 - FIRST;
    let last = held.saturating_sub(LAST).max(FIRST.min(held));
    (0..FIRST.min(held)).chain(last..held)
}

#[inline(never)]
fn note(own: &Own, held: usize, taken: u64, how: How, caller: &Caller) {
    let is_again = |hold: &Hold| hold.object.load(Relaxed) == taken;
    if own.holds().any(is_again) {
        return;
    }
    // SAFETY: the program's, which is about to acquire it.
    let taken_identity = unsafe { identity(taken, how) };
    // SAFETY: the same.
    let taken_how = unsafe { as_awaited(taken, how) };
    for place in noted(held) {
        let hold = own.hold(place);
        let object = hold.object.load(Relaxed);
        // Another thread has unlocked it.
        if object == 0 {
            continue;
        }
        let site = hold.site.load(Relaxed);
        let held_how = Hold::unpack(site).1;
        // SAFETY: the thread holds it.
        let held_identity = unsafe { identity(object, held_how) };
        let mut gates = [0; GATES];
        let others = noted(held).filter(|other| *other != place);
        for (gate, other) in gates.iter_mut().zip(others) {
            let other = own.hold(other);
            *gate = match other.object.load(Relaxed) {
                0 => 0,
                lock => Hold::pack(lock, Hold::unpack(other.site.load(Relaxed)).1),
            };
        }
        let new = New {
            held: object,
            taken,
            held_identity,
            taken_identity,
            hows: [held_how, taken_how],
            thread: own.thread.id.load(Relaxed),
            gates,
        };
        segments::note_made(own, new.pair());
        let Some((edge, stack)) = free_place(own, &new) else {
            continue;
        };
        for (lock, number) in [(object, held_identity), (taken, taken_identity)] {
            HAVE_EDGES.set(lock);
            if number == 0 {
                UNNUMBERED.set(lock);
            }
        }
        edge.taken.store(taken, Relaxed);
        edge.held_identity.store(held_identity, Relaxed);
        edge.taken_identity.store(taken_identity, Relaxed);
        edge.held_site.store(site, Relaxed);
        edge.taken_how.store(taken_how as u32, Relaxed);
        for (place, gate) in edge.gates.iter().zip(gates) {
            place.store(gate, Relaxed);
        }
        own.note(&edge.place, caller);
        edge.stack.store(own.keep_stack_in(stack, caller), Relaxed);
        edge.held.store(object, Release);
        strike_covered(own, &new, edge);
    }
}

/// Whether one of an edge's locks has ended; false while the edge is being written.
fn is_over(own: &Own, edge: &Edge) -> bool {
    let has_ended = |number: &AtomicU32| own.records().has_ended(number.load(Relaxed));
    edge.held.load(Acquire) != 0
        && (edge.taken.load(Relaxed) == 0
            || has_ended(&edge.held_identity)
            || has_ended(&edge.taken_identity))
}

/// The entry for a new edge, and the number of its replaced stack, plus one, or 0. None if the edge
/// is known, or there is no room.
fn free_place(own: &Own, new: &New) -> Option<(&'static Edge, u32)> {
    const TIMES: usize = 4;
    let [pair, key] = new.keys();
    'again: for _ in 0..TIMES {
        let mut free = None;
        let mut idle = None;
        let mut covered = None;
        for edge in window(own, pair) {
            let known = edge.standing.key();
            if known == NEW {
                free = free.or(Some((edge, known)));
                break;
            }
            if known == STRIKING {
                continue;
            }
            let is_written = edge.held.load(Acquire) != 0;
            if known == STRUCK || is_over(own, edge) {
                free = free.or(Some((edge, known)));
            } else if known == key {
                match edge.standing.add(key, new.thread) {
                    Noted::Before => {}
                    Noted::Now => strike_covered(own, new, edge),
                    Noted::Nowhere => continue 'again,
                }
                return None;
            } else if is_written && new.is_like(edge) {
                if new.is_covered_by(edge, known) {
                    return None;
                }
                if covered.is_none() && new.covers(&[new.thread], edge) {
                    covered = Some((edge, known));
                }
            } else if is_written && idle.is_none() {
                let [outer, inner] = locks(edge);
                idle = (!can_turn(outer, inner)).then_some((edge, known));
            }
        }
        // The edge is new: record that the two locks are connected.
        for (now, left, lock) in [
            (&INNER, &LEFT_OUTER, new.inner()),
            (&OUTER, &LEFT_INNER, new.outer()),
        ] {
            if now.set(lock) && left.has(lock) {
                own.records().lost_edges.fetch_add(1, Relaxed);
            }
        }
        let goes = free.is_none() && covered.is_none();
        let idle = idle.filter(|_| goes && new.matters());
        // The new edge removes the edges that it covers, unless it takes a covered edge's entry.
        let Some((edge, known)) = free.or(covered).or(idle) else {
            break;
        };
        let before = locks(edge);
        // A replaced edge must not be one that another thread could still join unnoticed.
        let may =
            |makers: &[u32; MAKERS]| free.is_some() || goes || are_among(makers, &[new.thread]);
        let empty = || edge.held.store(0, Release);
        if !edge.standing.take(known, key, new.thread, may, empty) {
            // Another thread was first, perhaps with the same edge.
            continue;
        }
        if known == NEW {
            return Some((edge, 0));
        }
        if goes {
            leave_out(own, before);
        }
        return Some((edge, edge.stack.load(Relaxed)));
    }
    leave_out(own, [new.outer(), new.inner()]);
    None
}

/// Ends the lock of that number at an address, where another lock begins or this one is destroyed.
#[inline]
pub fn forget(own: &Own, object: usize, number: u32) {
    given::forget(object);
    let object = object as u64;
    if number != 0 && HAVE_EDGES.has(object) && own.records().end(number) {
        return;
    }
    if UNNUMBERED.has(object) {
        strike(own, object);
    }
}

/// Removes the edges of a lock without a number.
#[cold]
fn strike(own: &Own, object: u64) {
    for edge in &own.records().edges {
        let is_it = |lock: &AtomicU64, number: &AtomicU32| {
            lock.load(Acquire) == object && number.load(Relaxed) == 0
        };
        if is_it(&edge.held, &edge.held_identity) || is_it(&edge.taken, &edge.taken_identity) {
            edge.taken.store(0, Relaxed);
        }
    }
}
