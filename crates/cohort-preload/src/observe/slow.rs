//! The slow path of lock operations: they record what the thread waits for and holds, and report
//! misuse.

use super::own::{Caller, Form, Own, any, own, tag};
use super::quick::SlowPath;
use super::segments::{gets, waited};
use super::taken::{self, is_locked};
use super::wrong::{all_are_certain, found, holder};
use super::{edges, marks, profile, trace};
use crate::layout::{ADAPTIVE, DESTROYED, ELISION, KINDS, Mutex, NORMAL, RwLock, Spin};
use crate::libc::{Cleanup, EBUSY};
use crate::mutex::Wait;
use crate::next::{_pthread_cleanup_pop, _pthread_cleanup_push};
use crate::owner::NOBODY;
use crate::{mutex, rwlock, spin};
use cohort::records::{self, Doing, How, Wrong};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// Runs a pthread lock's operation as [`acquiring`] does.
#[inline(always)]
pub fn locking(
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    look: impl FnOnce(&Own),
    begin: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    // SAFETY: the program's, which is about to lock it.
    let is_taken = || unsafe { taken::is_taken(how, object) };
    acquiring(doing, how, object, caller, look, begin, is_taken, lock)
}

/// Runs a lock operation, and records a wait and, after success, the hold; `look` first checks for
/// misuse. It `begin`s as an unobserved operation does, and continues with `lock`. `is_taken` says
/// whether the lock is held, if known.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three steps of one operation")]
pub fn acquiring(
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    look: impl FnOnce(&Own),
    begin: impl FnOnce() -> Option<bool>,
    is_taken: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    let Some(own) = own() else { return lock(None) };
    if own.form == Form::Traced {
        return trace::locking(doing, how, object, caller, begin, is_taken, lock);
    }
    if own.form.is_profiled() {
        return profile::locking(&own, doing, how, object, caller, begin, is_taken, lock);
    }
    if own.form >= Form::Owner {
        look(&own);
    }
    // A thread that waits with a deadline, or only tries, can still release what it holds.
    if own.form == Form::Order && !matches!(doing, Doing::Nothing | Doing::Timed) {
        edges::takes(&own, object, how, caller);
    }
    let result = match begin() {
        Some(true) => 0,
        begun if doing == Doing::Nothing => lock(begun),
        begun => {
            own.begins(doing, how, object, 0, caller);
            let result = lock(begun);
            own.ends();
            result
        }
    };
    if is_locked(result) {
        if own.form == Form::Order {
            gets(&own, object);
        }
        match holder_of(&own, how, object) {
            Holder::Tagged(holder) => holder.take(tag(caller.returns_to)),
            Holder::Owned => {}
            Holder::Listed => own.holds_now(object, how, caller.returns_to),
        }
    }
    result
}

/// Where a lock's holder is recorded.
#[derive(Clone, Copy)]
enum Holder {
    /// In the thread's record.
    Listed,
    /// In the lock's own bytes: a plain mutex, at the level `stuck`.
    Tagged(&'static records::Holder),
    /// In the lock's own bytes, by the mutex itself, which has an owner.
    Owned,
}

/// Where the holder of a lock in use is recorded.
#[inline(always)]
fn holder_of(own: &Own, how: How, object: usize) -> Holder {
    if own.form != Form::Stuck || how != How::Mutex {
        return Holder::Listed;
    }
    // SAFETY: the program's.
    let mutex = unsafe { &*ptr::with_exposed_provenance::<Mutex>(object) };
    if mutex::has_room_for_owner(mutex) {
        Holder::Tagged(mutex.holder())
    } else if mutex::has_owner(mutex) {
        Holder::Owned
    } else {
        Holder::Listed
    }
}

/// Tries and timed operations have no separate fast path.
pub fn at_once() -> Option<bool> {
    None
}

/// Reports a misuse of a mutex about to be locked.
fn look(own: &Own, mutex: *mut Mutex, caller: &Caller) {
    // SAFETY: the program's.
    let kind = mutex::kind_without_lock(unsafe { &*mutex });
    if kind == DESTROYED {
        found(own, Wrong::UseDestroyed, mutex as usize, caller, None);
    } else if kind & !KINDS != 0 {
        found(own, Wrong::Uninitialised, mutex as usize, caller, None);
    } else if matches!(kind & !ELISION, NORMAL | ADAPTIVE) {
        look_again(own, mutex as usize, caller);
        // SAFETY: the program's.
        marks::look(own, unsafe { &*mutex }, caller);
    }
}

/// Reports a thread that is about to lock a lock that it holds and cannot hold twice.
pub fn look_again(own: &Own, object: usize, caller: &Caller) {
    if let Some(place) = own.find(object) {
        let site = own.hold(place).site.load(Relaxed);
        let (site, _) = cohort::records::Hold::unpack(site);
        let id = own.thread.id.load(Relaxed);
        found(own, Wrong::LockTwice, object, caller, Some((id, site)));
    }
}

/// Unlocks a lock that the thread holds; otherwise reports misuse.
#[inline(always)]
pub fn unlocking(
    how: How,
    object: usize,
    caller: &Caller,
    is_free: impl FnOnce() -> bool,
    unlock: impl FnOnce() -> c_int,
) -> c_int {
    let Some(own) = own() else { return unlock() };
    if own.form == Form::Traced {
        return trace::unlocking(object, unlock);
    }
    if own.form.is_profiled() {
        return profile::unlocking(&own, how, object, unlock);
    }
    match holder_of(&own, how, object) {
        Holder::Tagged(holder) => return holder.let_go(unlock),
        Holder::Owned => {}
        Holder::Listed if own.lets_go(object) || own.form == Form::Stuck => {}
        Holder::Listed => unlocks_others(&own, object, caller, is_free),
    }
    unlock()
}

/// Initialises a lock: a new lock is now at that address. Recorded even while no command observes,
/// since a later command could not detect it.
///
/// # Safety
/// There is memory for a lock at that address.
#[inline(always)]
pub unsafe fn initialising(
    how: How,
    object: usize,
    caller: &Caller,
    init: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let before = unsafe { edges::number(how, object) };
    let result = init();
    if result == 0 {
        // SAFETY: the caller's; just initialised.
        unsafe { marks::mark(how, object) };
    }
    if let (Some(own), 0) = (any(), result) {
        if own.form == Form::Traced {
            trace::initialised(how, object, caller);
        } else if own.form.is_profiled() {
            profile::initialised(&own, how, object, caller);
        } else {
            own.begins_free(object);
            if own.form == Form::Order {
                edges::forget(&own, object, before);
            }
        }
    }
    result
}

#[cold]
fn unlocks_others(own: &Own, object: usize, caller: &Caller, is_free: impl FnOnce() -> bool) {
    if !own.is_certain() {
        return;
    }
    if let Some(other) = holder(own, object, true) {
        // A child may release what a parent's thread held.
        if other.0 != 0 {
            found(own, Wrong::UnlockOthers, object, caller, Some(other));
        }
    } else if all_are_certain(own) && is_free() {
        found(own, Wrong::UnlockFree, object, caller, None);
    }
}

/// Whether one of Cohort's locks serves the mutex and shows it free.
fn is_free(mutex: *mut Mutex) -> bool {
    // SAFETY: the program's.
    mutex::is_taken(unsafe { &*mutex }) == Some(false)
}

/// Destroys a mutex or rwlock, and reports it if it was in use.
///
/// # Safety
/// The lock is valid.
#[inline(always)]
pub unsafe fn destroying(
    how: How,
    object: usize,
    caller: &Caller,
    destroy: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let number = unsafe { edges::number(how, object) };
    let result = destroy();
    if let Some(own) = own().filter(|own| matches!(own.form, Form::Owner | Form::Order)) {
        if result == EBUSY {
            found(
                &own,
                Wrong::DestroyUsed,
                object,
                caller,
                holder(&own, object, false),
            );
        } else if own.form == Form::Order {
            edges::forget(&own, object, number);
        }
    }
    result
}

/// Waits at a condition. The mutex stays in the thread's list, for a cancelled wait. If the program
/// releases and acquires it by functions of its own, it is unknown, and the condition instead of it.
#[inline(always)]
pub fn waiting(
    doing: Doing,
    cond: usize,
    how: How,
    mutex: usize,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let Some(own) = own() else { return wait() };
    if own.form == Form::Traced {
        let wait = || cancellable(None, 0, wait);
        return trace::waiting(&own, doing, cond, how, mutex, caller, wait);
    }
    if own.form.is_profiled() {
        let wait = || cancellable(None, 0, wait);
        return profile::waiting(&own, doing, cond, how, mutex, caller, wait);
    }
    let tagged = match holder_of(&own, how, mutex) {
        Holder::Tagged(holder) if holder.tag() != NOBODY => Some(holder),
        _ => None,
    };
    let knows_mutex = how != How::Condition;
    if own.form >= Form::Owner && knows_mutex && own.find(mutex).is_none() && own.is_certain() {
        let holder = holder(&own, mutex, false);
        found(&own, Wrong::WaitUnlocked, mutex, caller, holder);
    }
    if own.form == Form::Order {
        // The thread locks the mutex again, whatever else it holds.
        retakes(&own, mutex, caller);
    }
    let tag = tag(caller.returns_to);
    let waits = || {
        own.begins(doing, how, cond, mutex, caller);
        let result = cancellable(tagged, tag, wait);
        own.ends();
        result
    };
    let Some(holder) = tagged else {
        let result = waits();
        if own.form == Form::Order {
            waited(&own, cond, mutex, result == 0);
        }
        return result;
    };
    let result = holder.let_go(waits);
    holder.take(tag);
    result
}

/// Restores the record of a cancelled wait's mutex, which the thread holds again.
struct Cancelled {
    holder: Option<&'static records::Holder>,
    tag: usize,
}

/// Calls a function that is a cancellation point.  A cancellation ends the recorded wait before the
/// program's own handlers run, and notes the mutex that the function has locked again for them.
#[inline(always)]
fn cancellable(
    holder: Option<&'static records::Holder>,
    tag: usize,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let cancelled = Cancelled { holder, tag };
    let mut cleanup = Cleanup::EMPTY;
    // SAFETY: the buffer and its target outlive the pop, or a cancellation unwinds this frame and
    // runs the routine first.
    unsafe {
        let argument = (&raw const cancelled).cast_mut().cast();
        _pthread_cleanup_push(&raw mut cleanup, ends_cancelled, argument);
        let result = wait();
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        result
    }
}

/// Runs when the calling thread is cancelled in [`cancellable`].
unsafe extern "C" fn ends_cancelled(argument: *mut c_void) {
    // SAFETY: pushed by `cancellable`, in a frame that still exists.
    let cancelled = unsafe { &*argument.cast::<Cancelled>() };
    if let Some(own) = own() {
        own.ends();
    }
    if let Some(holder) = cancelled.holder {
        holder.take(cancelled.tag);
    }
}

/// Waits for another thread's end, or for an event without a holder.
pub fn sleeping(
    doing: Doing,
    object: usize,
    caller: &Caller,
    sleep: impl FnOnce() -> c_int,
) -> c_int {
    let Some(own) = own() else { return sleep() };
    if own.form == Form::Traced {
        return trace::sleeping(doing, object, sleep);
    }
    if own.form.is_profiled() {
        return sleep();
    }
    own.begins(doing, How::Mutex, object, 0, caller);
    let result = cancellable(None, 0, sleep);
    own.ends();
    result
}

/// Acquires a spin lock.
pub fn spinning(
    doing: Doing,
    lock: *mut Spin,
    caller: &Caller,
    acquire: impl FnOnce() -> c_int,
) -> c_int {
    let object = lock as usize;
    let look = |own: &Own| {
        if doing == Doing::Lock {
            look_again(own, object, caller);
        }
    };
    // SAFETY: the program's.
    let is_held = || Some(spin::is_held(unsafe { &*lock }));
    acquiring(
        doing,
        How::Spin,
        object,
        caller,
        look,
        at_once,
        is_held,
        |_| acquire(),
    )
}

/// Records that the thread relocks a mutex that it holds, after the other locks that it holds.
#[cold]
fn retakes(own: &Own, mutex: usize, caller: &Caller) {
    let Some(place) = own.find(mutex) else { return };
    let (site, how) = cohort::records::Hold::unpack(own.hold(place).site.load(Relaxed));
    own.remove(place);
    edges::takes(own, mutex, how, caller);
    own.holds_now(mutex, how, site as usize);
}

/// Declares the slow paths behind the entries. They take the call site word by word, so that the
/// fast path needs no memory for it.
macro_rules! behind {
    ($(fn $name:ident($object:ident: $type:ty $(, $way:ident)?) |$caller:ident| $body:block)+) => {
        $(#[inline(never)]
        pub unsafe extern "C" fn $name(
            $object: $type,
            returns_to: usize,
            stack: usize,
            frame: usize,
            $($way: SlowPath,)?
        ) -> c_int {
            let $caller = &Caller {
                returns_to,
                stack,
                frame,
            };
            // SAFETY: the program's.
            unsafe { $body }
        })+
    };
}

/// How an operation begins: a fast path that has already begun is not repeated.
#[inline(always)]
fn beginning(way: SlowPath, begin: impl FnOnce() -> Option<bool>) -> Option<bool> {
    if way == SlowPath::Begun {
        Some(false)
    } else {
        begin()
    }
}

/// Declares the jump from a fast path to a slow path. The stack is as at the program's call, so the
/// call site can be recovered.
macro_rules! goes_on {
    ($($name:ident: $type:ty => $behind:ident, $way:ident;)+) => {
        $(
            /// Continues with the function behind it, which gets the call site.
            ///
            /// # Safety
            /// As that of the function behind it; it is the last call of the fast path.
            // SAFETY: it writes registers of further arguments, and jumps.
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name(
                object: *mut $type,
                returns_to: usize,
                watch: u32,
            ) -> c_int {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "lea rdx, [rsp + 8]",
                    "mov rcx, rbp",
                    "mov r8d, {way}",
                    "jmp {behind}",
                    way = const SlowPath::$way as u32,
                    behind = sym $behind,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "mov x2, sp",
                    "mov x3, x29",
                    "mov w4, {way}",
                    "b {behind}",
                    way = const SlowPath::$way as u32,
                    behind = sym $behind,
                );
            }
        )+
    };
}

pub(super) use goes_on;

goes_on! {
    lock_begun: Mutex => lock_from, Begun;
    lock_unusual: Mutex => lock_from, Unusual;
    unlock_unusual: Mutex => unlock_from, Unusual;
    read_begun: RwLock => read_from, Begun;
    read_unusual: RwLock => read_from, Unusual;
    write_begun: RwLock => write_from, Begun;
    write_unusual: RwLock => write_from, Unusual;
    leave_unusual: RwLock => leave_from, Unusual;
}

behind! {
    fn lock_from(mutex: *mut Mutex, way) |caller| {
        locking(
            Doing::Lock,
            How::Mutex,
            mutex as usize,
            caller,
            |own: &Own| look(own, mutex, caller),
            || beginning(way, || mutex::begin_to_lock(mutex)),
            |begun| mutex::go_on_to_lock(mutex, begun, caller.returns_to),
        )
    }
    fn unlock_from(mutex: *mut Mutex) |caller| {
        let is_free = || is_free(mutex);
        unlocking(How::Mutex, mutex as usize, caller, is_free, || {
            mutex::pthread_mutex_unlock(mutex)
        })
    }
    fn read_from(lock: *mut RwLock, way) |caller| {
        let doing = if (*lock).lets_writers_first() {
            Doing::ReadBehind
        } else {
            Doing::Read
        };
        locking(
            doing,
            How::Read,
            lock as usize,
            caller,
            |own| marks::look_at_rwlock(own, lock, caller),
            || beginning(way, || (*lock).begin_to_read()),
            |_| rwlock::read(lock, Wait::Endless),
        )
    }
    fn write_from(lock: *mut RwLock, way) |caller| {
        locking(
            Doing::Write,
            How::Write,
            lock as usize,
            caller,
            |own| {
                look_again(own, lock as usize, caller);
                marks::look_at_rwlock(own, lock, caller);
            },
            || beginning(way, || (*lock).begin_to_write()),
            |_| rwlock::write(lock, Wait::Endless),
        )
    }
    fn leave_from(lock: *mut RwLock) |caller| {
        // An rwlock has no test for being free, so only one known to be held by others is reported.
        unlocking(How::Read, lock as usize, caller, || false, || {
            rwlock::pthread_rwlock_unlock(lock)
        })
    }
}
