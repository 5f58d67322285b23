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
use crate::mutex::begin_to_lock;
use cohort::records::{CLASSES, Count, HOLDS, Hold, How, TALLIES, identity};
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

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

/// Takes a mutex.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn lock(form: Form, mutex: *mut Mutex, returns_to: usize) -> Way {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*mutex) };
    let kind = object.kind.load(Relaxed);
    if !matches!(kind, NORMAL | RECURSIVE) || !is_plain_default() {
        return Way::Unusual;
    }
    // SAFETY: the caller's.
    let begin = || unsafe { begin_to_lock(mutex) == Some(true) };
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
        // Its user may have forgotten that it holds the mutex.
        Form::Owner if kind == NORMAL && own.find(mutex as usize).is_some() => Way::Unusual,
        Form::Owner => holding(&own, How::Mutex, mutex as usize, returns_to, begin),
        Form::Order => Way::Unusual,
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
        Form::Stuck | Form::Owner => holding(&own, how, lock as usize, returns_to, begin),
        Form::Order => Way::Unusual,
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
    if own.thread.held.load(Relaxed) as usize >= HOLDS {
        return Way::Unusual;
    }
    if !begin() {
        return Way::Begun;
    }
    own.holds_now(object, how, returns_to);
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
    if held >= HOLDS || !open.is_far() || !own.follows() {
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
    own.holds_now(lock as usize, how, returns_to);
    let tally = tally(own, lock, site);
    if tally.lock.load(Relaxed) != lock || tally.site.load(Relaxed) != site {
        return count_first(lock, site);
    }
    let add = |place: &AtomicU64| place.store(place.load(Relaxed) + 1, Relaxed);
    add(&tally.acquired);
    Way::Done
}

/// Counts what the thread has not counted last in its place.
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
pub fn tally(own: &Own, lock: u64, site: u64) -> &'static Count {
    &own.thread.tallies[mixed(lock ^ site.rotate_left(24)) as usize % TALLIES]
}

/// Unlocks a mutex that has its holder in it; none if this is not usual.
///
/// # Safety
/// It is one.
#[inline(always)]
pub unsafe fn unlock_tagged(mutex: *mut Mutex, unlock: impl FnOnce() -> c_int) -> Option<c_int> {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    match object.kind.load(Relaxed) {
        _ if !is_plain_default() => None,
        NORMAL => Some(object.holder().let_go(unlock)),
        RECURSIVE => Some(unlock()),
        _ => None,
    }
}

/// Writes down that the thread lets go of a mutex; false if this is not usual.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn unlock(form: Form, mutex: *mut Mutex) -> bool {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*mutex) };
    let kind = object.kind.load(Relaxed);
    if !matches!(kind, NORMAL | RECURSIVE) || !is_plain_default() {
        return false;
    }
    letting_go(&own, mutex as usize, class_in(object, kind))
}

/// The same of an rwlock.
///
/// # Safety
/// It is one, and the calling thread's record is known, in that form.
#[inline(always)]
pub unsafe fn leave(form: Form, lock: *mut RwLock) -> bool {
    // SAFETY: the caller's.
    let (own, object) = unsafe { (usual(form), &*lock) };
    object.shared.load(Relaxed) == 0 && letting_go(&own, lock as usize, &object.identity)
}

/// Lets go of what the thread has taken last.
#[inline(always)]
fn letting_go(own: &Own, object: usize, class: &AtomicU32) -> bool {
    let held = own.thread.held.load(Relaxed) as usize;
    if held == 0 || held > HOLDS {
        return false;
    }
    let last = &own.thread.holds[held - 1];
    let mut known = object as u64;
    if own.form.is_profiled() {
        known = identity(known, class.load(Relaxed));
        if last.number.load(Relaxed) == open_sample().number() || !own.follows() {
            return false;
        }
    }
    if last.object.load(Relaxed) != known {
        return false;
    }
    own.drop_last(held);
    true
}
