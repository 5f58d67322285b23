//! What an acquisition comes to mostly: a thread that has a record takes a lock that is free, and
//! nothing about that is remarkable.
//!
//! These ways are apart from those in the other files so that they need no frame on the stack: an
//! atomic operation waits for each store before it.  They look first whether all is as usual and
//! leave everything as it was if not.

use super::own::{Form, Own, open_sample, own, tag, usual};
use super::profile::{count, mixed};
use crate::choice::is_plain_default;
use crate::layout::{Mutex, NORMAL, RECURSIVE, RwLock};
use crate::mutex::begin_known;
use cohort::records::{CLASSES, Hold, How, OBJECT, TALLIES, Tally, identity};
use core::ffi::c_int;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// How far a thread has come on the usual way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To its end.
    Done,
    /// It has begun to take the lock, and others hold it.
    Begun,
    /// This is not usual.
    Unusual,
}

/// Takes a mutex of that kind, plain or recursive; one of another is not usual.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn lock(form: Form, kind: c_int, mutex: *mut Mutex, returns_to: usize) -> Way {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*mutex) };
    if object.kind.load(Relaxed) != kind || !is_plain_default() {
        return Way::Unusual;
    }
    let begin = || begin_known(object, kind);
    match form {
        Form::Stuck => {
            if !begin() {
                return Way::Begun;
            }
            if kind == NORMAL {
                object.holder().take(tag(returns_to));
            }
            Way::Done
        }
        Form::Order if !own.is_free() => Way::Unusual,
        // Its user may have forgotten that it holds the mutex.
        Form::Owner if kind == NORMAL && own.find(mutex as usize).is_some() => Way::Unusual,
        Form::Owner | Form::Order => holding(&own, How::Mutex, mutex as usize, returns_to, begin),
        Form::Profiled | Form::Watched => {
            let known_as = (mutex as usize, class_in(object, kind));
            counting(&own, How::Mutex, known_as, returns_to, begin)
        }
    }
}

/// Where a mutex that the default lock serves has its class.
#[inline(always)]
pub fn class_in(mutex: &Mutex, kind: i32) -> &AtomicU32 {
    if kind == RECURSIVE {
        mutex.behind()
    } else {
        &mutex.count
    }
}

/// Takes an rwlock, as `how` says; it has begun to if `begin` says so.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn take(
    form: Form,
    lock: *mut RwLock,
    how: How,
    returns_to: usize,
    begin: impl FnOnce(&RwLock) -> Option<bool>,
) -> Way {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*lock) };
    if !object.is_plain() {
        return Way::Unusual;
    }
    let begin = || begin(object) == Some(true);
    match form {
        Form::Order if !own.is_free() => Way::Unusual,
        Form::Stuck | Form::Owner | Form::Order => {
            holding(&own, how, lock as usize, returns_to, begin)
        }
        Form::Profiled | Form::Watched => {
            let known_as = (lock as usize, &object.identity);
            counting(&own, how, known_as, returns_to, begin)
        }
    }
}

#[inline(always)]
fn holding(
    own: &Own,
    how: How,
    object: usize,
    returns_to: usize,
    begin: impl FnOnce() -> bool,
) -> Way {
    let held = own.thread.held.load(Relaxed) as usize;
    let Some(next) = own.thread.near.get(held) else {
        return Way::Unusual;
    };
    if !begin() {
        return Way::Begun;
    }
    own.lists(held, next, object, how, returns_to);
    Way::Done
}

/// The same where acquisitions are counted, of one that is not sampled.
#[inline(always)]
fn counting(
    own: &Own,
    how: How,
    (object, class): (usize, &AtomicU32),
    returns_to: usize,
    begin: impl FnOnce() -> bool,
) -> Way {
    let open = open_sample();
    let held = own.thread.held.load(Relaxed) as usize;
    let Some(next) = own.thread.near.get(held) else {
        return Way::Unusual;
    };
    if !open.is_far() || !is_followed(own) {
        return Way::Unusual;
    }
    if !begin() {
        return Way::Begun;
    }
    // Looked up only now: what is known before has to be kept meanwhile.
    open.pass();
    let class = class.load(Relaxed);
    let class = if class as usize > CLASSES { 0 } else { class };
    let lock = identity(object as u64, class);
    let site = Hold::pack(returns_to as u64, how);
    own.lists(held, next, lock as usize, how, returns_to);
    let tally = tally(own, lock, site);
    if tally.lock.load(Relaxed) != lock || tally.site.load(Relaxed) != site {
        return count_first(lock, site);
    }
    let Some(acquired) = tally.acquired.load(Relaxed).checked_add(1) else {
        return count_first(lock, site);
    };
    tally.acquired.store(acquired, Relaxed);
    Way::Done
}

/// Whether what the thread has written down is of the present watch: always, where that never ends.
#[inline(always)]
fn is_followed(own: &Own) -> bool {
    own.form == Form::Profiled || own.follows()
}

/// Counts what the thread has not counted last in its place, or has no number left for.
#[cold]
#[inline(never)]
fn count_first(lock: u64, site: u64) -> Way {
    if let Some(own) = own() {
        count(&own, lock, site, false);
    }
    Way::Done
}

/// Where the thread counts a lock and a site.
#[inline(always)]
pub fn tally(own: &Own, lock: u64, site: u64) -> &'static Tally {
    &own.thread.tallies[mixed(lock ^ site.rotate_left(24)) as usize % TALLIES]
}

/// Unlocks a mutex, and writes that down; none if this is not usual.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn unlock(
    form: Form,
    mutex: *mut Mutex,
    unlock: impl FnOnce() -> c_int,
) -> Option<c_int> {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*mutex) };
    let kind = object.kind.load(Relaxed);
    if !matches!(kind, NORMAL | RECURSIVE) || !is_plain_default() {
        return None;
    }
    match form {
        Form::Stuck if kind == NORMAL => Some(object.holder().let_go(unlock)),
        Form::Stuck => Some(unlock()),
        _ => letting_go(&own, mutex as usize).then(unlock),
    }
}

/// Writes down that the thread lets go of an rwlock; false if this is not usual.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn leave(form: Form, lock: *mut RwLock) -> bool {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*lock) };
    object.shared.load(Relaxed) == 0 && letting_go(&own, lock as usize)
}

/// Lets go of what the thread has taken last.
#[inline(always)]
fn letting_go(own: &Own, object: usize) -> bool {
    let held = own.thread.held.load(Relaxed) as usize;
    let Some(last) = held
        .checked_sub(1)
        .and_then(|last| own.thread.near.get(last))
    else {
        return false;
    };
    let mut other = last.object.load(Relaxed) ^ object as u64;
    if own.form.is_profiled() {
        if last.number.load(Relaxed) == open_sample().number() || !is_followed(own) {
            return false;
        }
        // What a thread holds has no other's class.
        other &= OBJECT;
    }
    if other != 0 {
        return false;
    }
    own.drop_last(held);
    true
}
