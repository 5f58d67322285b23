//! In which order locks are taken: an edge for each lock that is taken while another is held.

use super::own::{Caller, Own};
use crate::layout::{ADAPTIVE, Mutex, NO_KIND, NORMAL, RwLock};
use crate::libc::alone;
use cohort::records::{EDGES, Edge, GATES, Hold, How};
use core::ptr::with_exposed_provenance;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// How many places an edge may have.
const PROBES: usize = 32;

/// Bits by locks' addresses: whether an edge may have the lock.
static HAVE_EDGES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 29
}

fn bit(object: u64) -> (&'static AtomicU64, u64) {
    let hash = mixed(object);
    let word = (hash >> 6) as usize % HAVE_EDGES.len();
    (&HAVE_EDGES[word], 1 << (hash & 63))
}

/// The next lock's number.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Which lock it is, of all that were at its address: a number in its own bytes, which the
/// maker of another there sets to zero.
///
/// # Safety
/// The lock is one, of that sort, and not gone.
unsafe fn identity(object: u64, how: How) -> u32 {
    let object = object as usize;
    // SAFETY: the caller's.
    let place = unsafe {
        match how {
            How::Mutex => {
                let mutex = &*with_exposed_provenance::<Mutex>(object);
                match mutex.kind.load(Relaxed) & !NO_KIND {
                    NORMAL | ADAPTIVE => &mutex.count,
                    _ => return 0,
                }
            }
            How::Read | How::Write => {
                let lock = &*with_exposed_provenance::<RwLock>(object);
                if !lock.is_word() {
                    return 0;
                }
                &lock.identity
            }
            How::Condition => return 0,
        }
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

/// Notes that the thread, which holds what its record says, takes `object` and may wait for it.
#[inline]
pub fn takes(own: &Own, object: usize, how: How, caller: &Caller) {
    let held = own.thread.held.load(Relaxed) as usize;
    // A process of one thread cannot be in its own way.
    if held == 0 || alone() {
        return;
    }
    note(own, held, object as u64, how, caller);
}

#[inline(never)]
fn note(own: &Own, held: usize, taken: u64, how: How, caller: &Caller) {
    let holds = &own.thread.holds[..held];
    let is_again = |hold: &Hold| hold.object.load(Relaxed) == taken;
    if holds.iter().any(is_again) {
        return;
    }
    // SAFETY: the program's, which is about to take it.
    let taken_identity = unsafe { identity(taken, how) };
    // Of many locks, those that were taken last.
    for (place, hold) in holds.iter().enumerate().rev().take(GATES + 1) {
        let object = hold.object.load(Relaxed);
        let site = hold.site.load(Relaxed);
        // SAFETY: the thread holds it.
        let held_identity = unsafe { identity(object, Hold::unpack(site).1) };
        let gates = holds.iter().enumerate().rev().take(GATES + 1);
        let gates = gates.filter(|(other, _)| *other != place);
        let id = u64::from(own.thread.id.load(Relaxed));
        let which = u64::from(held_identity) << 32 | u64::from(taken_identity);
        let mut key = mixed(object ^ mixed(taken ^ mixed(id ^ mixed(which))));
        for (_, gate) in gates.clone() {
            key = mixed(key ^ gate.object.load(Relaxed));
        }
        let key = key | 1;
        let Some(edge) = free_place(own, key) else {
            continue;
        };
        bit(object).0.fetch_or(bit(object).1, Relaxed);
        bit(taken).0.fetch_or(bit(taken).1, Relaxed);
        edge.taken.store(taken, Relaxed);
        edge.held_identity.store(held_identity, Relaxed);
        edge.taken_identity.store(taken_identity, Relaxed);
        edge.held_site.store(site, Relaxed);
        edge.thread.store(id as u32, Relaxed);
        for (slot, (_, gate)) in edge.gates.iter().zip(gates) {
            slot.store(gate.object.load(Relaxed), Relaxed);
        }
        own.note(&edge.place, caller);
        edge.stack.store(own.keep_stack(caller), Relaxed);
        edge.held.store(object, Release);
    }
}

/// Where an edge that is new goes; none if it is known, or there is no room.
fn free_place(own: &Own, key: u64) -> Option<&'static Edge> {
    let first = key as usize % EDGES;
    for probe in 0..PROBES {
        let edge = &own.records().edges[(first + probe) % EDGES];
        match edge.key.load(Acquire) {
            0 => match edge.key.compare_exchange(0, key, AcqRel, Acquire) {
                Ok(_) => return Some(edge),
                Err(theirs) if theirs == key => return None,
                Err(_) => {}
            },
            known if known == key => return None,
            _ => {}
        }
    }
    own.records().lost_edges.fetch_add(1, Relaxed);
    None
}

/// A lock begins or ends at an address: what is known of another that was there is over.
#[inline]
pub fn forget(own: &Own, object: usize) {
    let (word, bit) = bit(object as u64);
    if word.load(Relaxed) & bit != 0 {
        strike(own, object as u64);
    }
}

#[cold]
fn strike(own: &Own, object: u64) {
    for edge in &own.records().edges {
        let has = |lock: &AtomicU64| lock.load(Acquire) == object;
        if has(&edge.held) || has(&edge.taken) {
            edge.taken.store(0, Relaxed);
        }
    }
}
