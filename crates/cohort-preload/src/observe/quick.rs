//! The fast path: a thread with a record acquires a free lock, and nothing else has to be recorded.
//!
//! These functions are separate from the other files' so that they need no stack frame: an atomic
//! operation waits for all earlier stores. They check all conditions first, and change nothing
//! unless they hold.

use super::given::is_given;
use super::marks;
use super::own::{Form, Own, drawing, own, tag, usual};
use super::profile::{has_listed, has_taken};
use super::tallies::{place, tally};
use crate::layout::{Mutex, NORMAL, RECURSIVE, RwLock};
use crate::mutex::{begin_known, unlock_known};
use cohort::records::{CLASSES, Hold, How, OBJECT, identity};
use core::ffi::c_int;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// Where the fast path continues on the slow path.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SlowPath {
    /// The acquisition has begun, and the lock is held.
    Begun,
    /// Nothing has been done: the conditions do not hold.
    Unusual,
}

/// Result of the fast path.
#[derive(Clone, Copy)]
pub enum Took {
    /// Acquired and recorded.
    Lock,
    /// Acquired, but not counted for that lock and site.
    Uncounted(u64, u64),
    /// Acquired, and due for a draw.
    Due(u64, u64),
    /// Acquired; the lock's word has a mark instead of a class.
    Marked,
    /// Not acquired.
    Nothing(SlowPath),
}

/// Locks a plain or recursive mutex, of that kind, under that watch.
///
/// # Safety
/// The mutex is valid and of that kind, and the default lock serves it.
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
        return Took::Nothing(SlowPath::Unusual);
    };
    let begin = || begin_known(object, kind);
    match form {
        Form::Stuck => {
            if !begin() {
                return Took::Nothing(SlowPath::Begun);
            }
            // A recursive mutex has an owner, which identifies the record.
            if kind == NORMAL {
                object.holder().take(tag(returns_to));
            }
            Took::Lock
        }
        Form::Order if !own.is_free() || is_given(mutex as usize) => {
            Took::Nothing(SlowPath::Unusual)
        }
        // The slow path looks for the mark.
        Form::Owner | Form::Order if kind == NORMAL && marks::are_there() => {
            Took::Nothing(SlowPath::Unusual)
        }
        // A relock of a held plain mutex is misuse, which the slow path reports.
        Form::Owner if kind == NORMAL && own.find(mutex as usize).is_some() => {
            Took::Nothing(SlowPath::Unusual)
        }
        Form::Owner | Form::Order => holding(&own, How::Mutex, mutex as usize, returns_to, begin),
        Form::Profiled | Form::Watched => {
            let known_as = (mutex as usize, class_in(object, kind));
            counting(&own, How::Mutex, known_as, returns_to, begin)
        }
        Form::Traced => Took::Nothing(SlowPath::Unusual),
    }
}

/// The word for the class of a mutex under the default lock.
#[inline(always)]
pub fn class_in(mutex: &Mutex, kind: i32) -> &AtomicU32 {
    if kind == RECURSIVE {
        mutex.behind()
    } else {
        &mutex.count
    }
}

/// Acquires an rwlock, for reading or writing as `how` says, by `begin`.
///
/// # Safety
/// The lock is valid.
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
        return Took::Nothing(SlowPath::Unusual);
    };
    let begin = || begin(object) == Some(true);
    match form {
        Form::Order if !own.is_free() => Took::Nothing(SlowPath::Unusual),
        Form::Owner | Form::Order if marks::are_there() => Took::Nothing(SlowPath::Unusual),
        Form::Stuck | Form::Owner | Form::Order => {
            holding(&own, how, lock as usize, returns_to, begin)
        }
        Form::Profiled | Form::Watched => {
            let known_as = (lock as usize, &object.identity);
            counting(&own, how, known_as, returns_to, begin)
        }
        Form::Traced => Took::Nothing(SlowPath::Unusual),
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
        return Took::Nothing(SlowPath::Unusual);
    };
    if !begin() {
        return Took::Nothing(SlowPath::Begun);
    }
    own.lists(held, next, object, how, returns_to);
    Took::Lock
}

/// [`holding`] with counting.
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
        return Took::Nothing(SlowPath::Unusual);
    };
    if !begin() {
        return Took::Nothing(SlowPath::Begun);
    }
    // The last holder may have left its mark.
    let class = class.load(Relaxed);
    if class as usize > CLASSES {
        return Took::Marked;
    }
    let lock = identity(object as u64, class);
    let site = Hold::pack(returns_to as u64, how);
    // Entries without a hold have the number 0, and so do untimed holds.
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

/// Counts a pair other than the tally's latest, or one with a full counter. Returns 0, the path's
/// result.
#[cold]
#[inline(never)]
pub fn count_first(lock: u64, site: u64) -> c_int {
    if let Some(own) = own() {
        has_listed(&own, lock, site, false);
    }
    0
}

/// Draws whether to time the thread's last listed hold. Returns 0, the path's result.
#[cold]
#[inline(never)]
pub fn draw_first(lock: u64, site: u64) -> c_int {
    if let Some(own) = own() {
        has_listed(&own, lock, site, true);
    }
    0
}

/// Continues after the acquisition of a marked lock. Returns 0, the path's result.
#[cold]
#[inline(never)]
pub fn took_marked(how: How, object: usize, returns_to: usize) -> c_int {
    if let Some(own) = own() {
        has_taken(&own, how, object, returns_to);
    }
    0
}

/// Unlocks a plain or recursive mutex, of that kind, and records it, under that watch; none if the
/// fast path does not apply.
///
/// # Safety
/// The mutex is valid and of that kind, and the default lock serves it.
#[inline(always)]
pub unsafe fn unlock(form: Form, kind: c_int, mutex: *mut Mutex, watch: u32) -> Option<c_int> {
    if form != Form::Stuck {
        let own = usual(form, watch)?;
        // Without a closure, which the compiler would share between all forms and kinds.
        return if letting_go(&own, mutex as usize) {
            // SAFETY: the caller's.
            Some(unsafe { unlock_known(mutex, kind) })
        } else {
            None
        };
    }
    // The thread's record has no hold of it.
    if kind != NORMAL {
        // SAFETY: the caller's.
        return Some(unsafe { unlock_known(mutex, kind) });
    }
    // SAFETY: the caller's.
    let holder = unsafe { &*mutex }.holder();
    // SAFETY: the caller's.
    Some(holder.let_go(|| unsafe { unlock_known(mutex, NORMAL) }))
}

/// Records that the thread releases an rwlock; false if the fast path does not apply.
///
/// # Safety
/// The lock is valid.
#[inline(always)]
pub unsafe fn leave(form: Form, lock: *mut RwLock, watch: u32) -> bool {
    // SAFETY: the caller's.
    let object = unsafe { &*lock };
    object.shared.load(Relaxed) == 0
        && usual(form, watch).is_some_and(|own| letting_go(&own, lock as usize))
}

/// Removes the thread's last hold, if it is of that lock and not timed.
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
        // The thread holds no other lock at that address, so the class is irrelevant.
        other &= OBJECT;
    }
    if other != 0 {
        return false;
    }
    own.drop_last(held);
    true
}
