//! What an acquisition comes to mostly: a thread that has a record takes a lock that is free, and
//! nothing about that is remarkable.
//!
//! These ways are apart from those in the other files so that they need no frame on the stack: an
//! atomic operation waits for each store before it.  They look first whether all is as usual and
//! leave everything as it was if not.

use super::own::{Form, Own, drawing, own, tag, usual};
use super::profile::{has_listed, has_taken, hashed};
use super::segments::is_given;
use crate::layout::{Mutex, NORMAL, RECURSIVE, RwLock};
use crate::mutex::{begin_known, unlock_known};
use cohort::records::{CLASSES, Hold, How, OBJECT, TALLIES, Tally, identity};
use core::ffi::c_int;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// How far a thread has come on the usual way that goes on by another.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Way {
    /// It has begun to take the lock, and others hold it.
    Begun,
    /// This is not usual.
    Unusual,
}

/// What the usual way came to.
#[derive(Clone, Copy)]
pub enum Took {
    /// Its end.
    Lock,
    /// Its end, but that the acquisition of that lock by that site is not counted.
    Uncounted(u64, u64),
    /// Its end, but that its hold may have to be timed.
    Due(u64, u64),
    /// The lock is the thread's, and has no class: what comes of that has to be seen.
    Marked,
    /// It goes on from there.
    Nothing(Way),
}

/// Takes a mutex of that kind, plain or recursive, under the watch that is there.
///
/// # Safety
/// It is one, of that kind, and the default lock serves it.
#[inline(always)]
pub unsafe fn lock(
    form: Form,
    kind: c_int,
    mutex: *mut Mutex,
    returns_to: usize,
    watch: u32,
) -> Took {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    let Some(own) = usual(form, watch) else {
        return Took::Nothing(Way::Unusual);
    };
    let begin = || begin_known(object, kind);
    match form {
        Form::Stuck => {
            if !begin() {
                return Took::Nothing(Way::Begun);
            }
            // One that is not plain has an owner, by which its record is known.
            if kind == NORMAL {
                object.holder().take(tag(returns_to));
            }
            Took::Lock
        }
        Form::Order if !own.is_free() || is_given(mutex as usize) => Took::Nothing(Way::Unusual),
        // Its user may have forgotten that it holds the mutex.
        Form::Owner if kind == NORMAL && own.find(mutex as usize).is_some() => {
            Took::Nothing(Way::Unusual)
        }
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
/// It is one.
#[inline(always)]
pub unsafe fn take(
    form: Form,
    lock: *mut RwLock,
    how: How,
    (returns_to, watch): (usize, u32),
    begin: impl FnOnce(&RwLock) -> Option<bool>,
) -> Took {
    // SAFETY: the caller's.
    let object = unsafe { &*lock };
    let Some(own) = usual(form, watch).filter(|_| object.is_plain()) else {
        return Took::Nothing(Way::Unusual);
    };
    let begin = || begin(object) == Some(true);
    match form {
        Form::Order if !own.is_free() => Took::Nothing(Way::Unusual),
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
) -> Took {
    let held = own.thread.held.load(Relaxed) as usize;
    let Some(next) = own.thread.near.get(held) else {
        return Took::Nothing(Way::Unusual);
    };
    if !begin() {
        return Took::Nothing(Way::Begun);
    }
    own.lists(held, next, object, how, returns_to);
    Took::Lock
}

/// The same where acquisitions are counted.
#[inline(always)]
fn counting(
    own: &Own,
    how: How,
    (object, class): (usize, &AtomicU32),
    returns_to: usize,
    begin: impl FnOnce() -> bool,
) -> Took {
    let thread = own.thread;
    let held = thread.held.load(Relaxed) as usize;
    let Some(next) = thread.near.get(held) else {
        return Took::Nothing(Way::Unusual);
    };
    if !begin() {
        return Took::Nothing(Way::Begun);
    }
    // Its last holder may have marked it up to its end.
    let class = class.load(Relaxed);
    if class as usize > CLASSES {
        return Took::Marked;
    }
    let lock = identity(object as u64, class);
    let site = Hold::pack(returns_to as u64, how);
    // What no hold is listed in has no number, as one has that is not timed.
    next.site.store(site, Relaxed);
    next.object.store(lock, Release);
    thread.held.store(held as u32 + 1, Release);
    let acquired = &thread.acquired;
    acquired.store(acquired.load(Relaxed).wrapping_add(1), Relaxed);
    let place = place(lock, site);
    let tally = tally(own, place);
    if tally.lock.load(Relaxed) != lock || tally.site.load(Relaxed) != site {
        return Took::Uncounted(lock, site);
    }
    let Some(acquired) = tally.acquired.load(Relaxed).checked_add(1) else {
        return Took::Uncounted(lock, site);
    };
    tally.acquired.store(acquired, Relaxed);
    if drawing().is_due(place, acquired) {
        return Took::Due(lock, site);
    }
    Took::Lock
}

/// Counts what the thread has not counted last in its place, or has no number left for; 0, which the
/// way returns.
#[cold]
#[inline(never)]
pub fn count_first(lock: u64, site: u64) -> c_int {
    if let Some(own) = own() {
        has_listed(&own, lock, site, false);
    }
    0
}

/// Draws whether the hold is timed that the thread has listed last; 0, which the way returns.
#[cold]
#[inline(never)]
pub fn draw_first(lock: u64, site: u64) -> c_int {
    if let Some(own) = own() {
        has_listed(&own, lock, site, true);
    }
    0
}

/// Goes on where the thread has taken a lock that has no class; 0, which the way returns.
#[cold]
#[inline(never)]
pub fn took_marked(how: How, object: usize, returns_to: usize) -> c_int {
    if let Some(own) = own() {
        has_taken(&own, how, object, returns_to);
    }
    0
}

/// The place of the tally in which a thread counts a lock and a site.
#[inline(always)]
pub fn place(lock: u64, site: u64) -> usize {
    hashed(lock, site) as usize % TALLIES
}

/// The tally in that place.
#[inline(always)]
pub fn tally(own: &Own, place: usize) -> &'static Tally {
    &own.thread.tallies[place]
}

/// Unlocks a mutex of that kind, plain or recursive, and writes that down, under the watch that is
/// there; none if this is not usual.
///
/// # Safety
/// It is one, of that kind, and the default lock serves it.
#[inline(always)]
pub unsafe fn unlock(form: Form, kind: c_int, mutex: *mut Mutex, watch: u32) -> Option<c_int> {
    if form != Form::Stuck {
        let own = usual(form, watch)?;
        // Not by a closure, which all forms and kinds would share.
        return if letting_go(&own, mutex as usize) {
            // SAFETY: the caller's.
            Some(unsafe { unlock_known(mutex, kind) })
        } else {
            None
        };
    }
    // Nothing of it is in the thread's record.
    if kind != NORMAL {
        // SAFETY: the caller's.
        return Some(unsafe { unlock_known(mutex, kind) });
    }
    // SAFETY: the caller's.
    let holder = unsafe { &*mutex }.holder();
    // SAFETY: the caller's.
    Some(holder.let_go(|| unsafe { unlock_known(mutex, NORMAL) }))
}

/// Writes down that the thread lets go of an rwlock; false if this is not usual.
///
/// # Safety
/// It is one.
#[inline(always)]
pub unsafe fn leave(form: Form, lock: *mut RwLock, watch: u32) -> bool {
    // SAFETY: the caller's.
    let object = unsafe { &*lock };
    object.shared.load(Relaxed) == 0
        && usual(form, watch).is_some_and(|own| letting_go(&own, lock as usize))
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
        if last.number.load(Relaxed) != 0 {
            // It is timed.
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
