//! The observing library's exported functions.
//!
//! Each is a few instructions that pass its call site on, beside the arguments; a compiled function
//! has no access to its own call site.

use super::own::{Caller, Form, LOOK, Own, any, own, tag};
use super::quick::Way;
use super::segments::{creating, gets, joined, meeting, pending, posting, signalling, waited};
use super::ways;
use super::wrong::{all_are_certain, found, holder};
use super::{edges, profile};
use crate::c11::{self, thrd};
use crate::layout::{ADAPTIVE, Attr, Cond, DESTROYED, ELISION, KINDS, Mutex, NORMAL, RwLock, Spin};
use crate::libc::{Cleanup, EBUSY, Timespec};
use crate::mutex::Wait;
use crate::next::{_pthread_cleanup_pop, _pthread_cleanup_push, observed};
use crate::owner::NOBODY;
use crate::{condvar, mutex, rwlock, spin};
use cohort::records::{self, Doing, How, Wrong};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// A robust mutex whose owner has died is locked too.
const EOWNERDEAD: c_int = 130;

pub fn is_locked(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}

/// Declares entries: their names; the inner function with the program's arguments and the unused
/// argument registers; and, if any, the unobserved function, called while nothing is recorded.
macro_rules! entries {
    ($($name:ident $(, $alias:ident)* =>
        fn $inner:ident($($argument:ident: $type:ty),+; $($nothing:ident),*) $(or $plain:path)?,
        |$caller:ident| $body:block)+) => {
        $(
            unsafe extern "C" fn $inner(
                $($argument: $type,)+
                $($nothing: usize,)*
                stack: usize,
                frame: usize,
                link: usize,
            ) -> c_int {
                let _ = ($($nothing),*);
                // SAFETY: passed on by the entries below; the program's arguments.
                unsafe {
                    let $caller = &caller(stack, frame, link);
                    $body
                }
            }
            entries!(@each [$name $(, $alias)*], $inner $(, $plain)?);
        )+
    };
    (@each [], $($to:tt)*) => {};
    (@each [$name:ident $(, $other:ident)*], $($to:tt)*) => {
        entries!(@entry $name, $($to)*);
        entries!(@each [$($other),*], $($to)*);
    };
    (@entry $name:ident, $inner:ident) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "lea r8, [rsp + 8]",
                "mov r9, rbp",
                "jmp {inner}",
                inner = sym $inner,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "mov x4, sp",
                "mov x5, x29",
                "mov x6, x30",
                "b {inner}",
                inner = sym $inner,
            );
        }
    };
    (@entry $name:ident, $inner:ident, $plain:path) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "mov rax, qword ptr [rip + {look}]",
                "cmp dword ptr [rax], 0",
                "je {plain}",
                "lea r8, [rsp + 8]",
                "mov r9, rbp",
                "jmp {inner}",
                look = sym LOOK,
                plain = sym $plain,
                inner = sym $inner,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x16, {look}",
                "ldr x16, [x16, :lo12:{look}]",
                "ldr w16, [x16]",
                "cbnz w16, 2f",
                "b {plain}",
                "2:",
                "mov x4, sp",
                "mov x5, x29",
                "mov x6, x30",
                "b {inner}",
                look = sym LOOK,
                plain = sym $plain,
                inner = sym $inner,
            );
        }
    };
}

/// Declares the entries of the most frequent calls. Each jumps to one of this process's [ways],
/// with the return address and the present watch.
macro_rules! usual_entries {
    ($($name:ident, $alias:ident => $way:ident or $plain:path;)+) => {
        $(
            usual_entries!(@entry $name, $way, $plain);
            usual_entries!(@entry $alias, $way, $plain);
        )+
    };
    (@entry $name:ident, $way:ident, $plain:path) => {
        /// The program's entry; see the page of that function.
        ///
        /// # Safety
        /// As that page asks.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "mov rax, qword ptr [rip + {look}]",
                "cmp dword ptr [rax], 0",
                "je {plain}",
                // 0 if the watch has just ended: nobody reads what is written then.
                "mov edx, dword ptr [rax]",
                "mov rsi, qword ptr [rsp]",
                "jmp qword ptr [rip + {way}]",
                look = sym LOOK,
                plain = sym $plain,
                way = sym ways::$way,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x16, {look}",
                "ldr x16, [x16, :lo12:{look}]",
                "ldr w2, [x16]",
                "cbnz w2, 2f",
                "b {plain}",
                "2:",
                "adrp x16, {way}",
                "ldr x16, [x16, :lo12:{way}]",
                "mov x1, x30",
                "br x16",
                look = sym LOOK,
                plain = sym $plain,
                way = sym ways::$way,
            );
        }
    };
}

/// The program's call site.
#[inline(always)]
unsafe fn caller(stack: usize, frame: usize, link: usize) -> Caller {
    // SAFETY: a call leaves its return address below the caller's stack pointer.
    #[cfg(target_arch = "x86_64")]
    let returns_to = unsafe { ptr::with_exposed_provenance::<usize>(stack - 8).read() };
    #[cfg(target_arch = "aarch64")]
    let returns_to = link;
    let _ = link;
    Caller {
        returns_to,
        stack,
        frame,
    }
}

/// Runs a pthread lock's operation as [`acquiring`] does.
#[inline(always)]
fn locking(
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    look: impl FnOnce(&Own),
    begin: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    // SAFETY: the program's, which is about to lock it.
    let is_taken = || unsafe { profile::is_taken(how, object) };
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
    if let (Some(own), 0) = (any(), result) {
        if own.form.is_profiled() {
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
unsafe fn destroying(
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
fn sleeping(doing: Doing, object: usize, caller: &Caller, sleep: impl FnOnce() -> c_int) -> c_int {
    let Some(own) = own().filter(|own| !own.form.is_profiled()) else {
        return sleep();
    };
    own.begins(doing, How::Mutex, object, 0, caller);
    let result = cancellable(None, 0, sleep);
    own.ends();
    result
}

/// Acquires a spin lock.
fn spinning(
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

type Time = *const Timespec;

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
            $($way: Way,)?
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
fn beginning(way: Way, begin: impl FnOnce() -> Option<bool>) -> Option<bool> {
    if way == Way::Begun {
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
            /// Continues on the slow path; see [`ways`].
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
                    way = const Way::$way as u32,
                    behind = sym $behind,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "mov x2, sp",
                    "mov x3, x29",
                    "mov w4, {way}",
                    "b {behind}",
                    way = const Way::$way as u32,
                    behind = sym $behind,
                );
            }
        )+
    };
}

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
            |_| {},
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
            |own| look_again(own, lock as usize, caller),
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

usual_entries! {
    pthread_mutex_lock, __pthread_mutex_lock => LOCK or mutex::pthread_mutex_lock;
    pthread_mutex_unlock, __pthread_mutex_unlock => UNLOCK or mutex::pthread_mutex_unlock;
    pthread_rwlock_rdlock, __pthread_rwlock_rdlock => READ or rwlock::pthread_rwlock_rdlock;
    pthread_rwlock_wrlock, __pthread_rwlock_wrlock => WRITE or rwlock::pthread_rwlock_wrlock;
    pthread_rwlock_unlock, __pthread_rwlock_unlock => LEAVE or rwlock::pthread_rwlock_unlock;
}

entries! {
    pthread_mutex_trylock, __pthread_mutex_trylock =>
    fn trylock(mutex: *mut Mutex; _b, _c, _d) or mutex::pthread_mutex_trylock,
    |caller| {
        locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_trylock(mutex)
        })
    }
    pthread_mutex_timedlock => fn timedlock(mutex: *mut Mutex, at: Time; _c, _d) or mutex::pthread_mutex_timedlock,
    |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_timedlock(mutex, at)
        })
    }
    pthread_mutex_clocklock =>
    fn clocklock(mutex: *mut Mutex, clock: c_int, at: Time; _d) or mutex::pthread_mutex_clocklock,
    |caller| {
        locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_clocklock(mutex, clock, at)
        })
    }
    pthread_mutex_init, __pthread_mutex_init =>
    fn init(mutex: *mut Mutex, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Mutex, mutex as usize, caller, || {
            mutex::init(mutex, attributes, caller.returns_to)
        })
    }
    pthread_mutex_destroy, __pthread_mutex_destroy =>
    fn destroy(mutex: *mut Mutex; _b, _c, _d),
    |caller| {
        destroying(How::Mutex, mutex as usize, caller, || mutex::pthread_mutex_destroy(mutex))
    }
    mtx_lock => fn c11_lock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_lock,
    |caller| {
        let Caller { returns_to, stack, frame } = *caller;
        thrd(lock_from(mutex, returns_to, stack, frame, Way::Unusual))
    }
    mtx_trylock => fn c11_trylock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_trylock,
    |caller| {
        thrd(locking(Doing::Nothing, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_trylock(mutex)
        }))
    }
    mtx_timedlock => fn c11_timedlock(mutex: *mut Mutex, at: Time; _c, _d) or c11::mtx_timedlock,
    |caller| {
        thrd(locking(Doing::Timed, How::Mutex, mutex as usize, caller, |_| {}, at_once, |_| {
            mutex::pthread_mutex_timedlock(mutex, at)
        }))
    }
    mtx_unlock => fn c11_unlock(mutex: *mut Mutex; _b, _c, _d) or c11::mtx_unlock,
    |caller| {
        thrd(unlock_from(mutex, caller.returns_to, caller.stack, caller.frame))
    }
    pthread_cond_init => fn cond_init(cond: *mut Cond, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Condition, cond as usize, caller, || {
            condvar::pthread_cond_init(cond, attributes)
        })
    }
    pthread_cond_wait => fn cond_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) or condvar::pthread_cond_wait,
    |caller| {
        waiting(Doing::Condition, cond as usize, How::Mutex, mutex as usize, caller, || condvar::pthread_cond_wait(cond, mutex))
    }
    pthread_cond_timedwait =>
    fn cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) or condvar::pthread_cond_timedwait,
    |caller| {
        waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        })
    }
    pthread_cond_clockwait =>
    fn cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: c_int, at: Time;) or condvar::pthread_cond_clockwait,
    |caller| {
        waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_clockwait(cond, mutex, clock, at)
        })
    }
    cnd_wait => fn c11_wait(cond: *mut Cond, mutex: *mut Mutex; _c, _d) or c11::cnd_wait,
    |caller| {
        thrd(waiting(Doing::Condition, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_wait(cond, mutex)
        }))
    }
    cnd_timedwait => fn c11_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: Time; _d) or c11::cnd_timedwait,
    |caller| {
        thrd(waiting(Doing::Timed, cond as usize, How::Mutex, mutex as usize, caller, || {
            condvar::pthread_cond_timedwait(cond, mutex, at)
        }))
    }
    pthread_cond_signal => fn cond_signal(cond: *mut Cond; _b, _c, _d) or condvar::pthread_cond_signal,
    |_caller| { signalling(cond as usize, || condvar::pthread_cond_signal(cond)) }
    pthread_cond_broadcast => fn cond_broadcast(cond: *mut Cond; _b, _c, _d) or condvar::pthread_cond_broadcast,
    |_caller| { signalling(cond as usize, || condvar::pthread_cond_broadcast(cond)) }
    cnd_signal => fn c11_signal(cond: *mut Cond; _b, _c, _d) or c11::cnd_signal,
    |_caller| { thrd(signalling(cond as usize, || condvar::pthread_cond_signal(cond))) }
    cnd_broadcast => fn c11_broadcast(cond: *mut Cond; _b, _c, _d) or c11::cnd_broadcast,
    |_caller| { thrd(signalling(cond as usize, || condvar::pthread_cond_broadcast(cond))) }
    sem_post => fn post(semaphore: usize; _b, _c, _d) or observed::sem_post,
    |_caller| { posting(semaphore, || observed::sem_post(semaphore)) }
    sem_wait => fn sem_waiting(semaphore: usize; _b, _c, _d) or observed::sem_wait,
    |caller| {
        pending(semaphore, || {
            sleeping(Doing::Semaphore, semaphore, caller, || observed::sem_wait(semaphore))
        })
    }
    sem_trywait => fn sem_trying(semaphore: usize; _b, _c, _d) or observed::sem_trywait,
    |_caller| { pending(semaphore, || observed::sem_trywait(semaphore)) }
    sem_timedwait => fn sem_timed(semaphore: usize, at: Time; _c, _d) or observed::sem_timedwait,
    |_caller| { pending(semaphore, || observed::sem_timedwait(semaphore, at)) }
    sem_clockwait => fn sem_clock(semaphore: usize, clock: c_int, at: Time; _d) or observed::sem_clockwait,
    |_caller| { pending(semaphore, || observed::sem_clockwait(semaphore, clock, at)) }
    pthread_barrier_wait => fn barrier(barrier: usize; _b, _c, _d) or observed::pthread_barrier_wait,
    |caller| {
        meeting(barrier, || {
            sleeping(Doing::Barrier, barrier, caller, || observed::pthread_barrier_wait(barrier))
        })
    }
    pthread_spin_init => fn spin_init(lock: *mut Spin, shared: c_int; _c, _d),
    |caller| {
        initialising(How::Spin, lock as usize, caller, || spin::pthread_spin_init(lock, shared))
    }
    pthread_spin_destroy => fn spin_destroy(lock: *mut Spin; _b, _c, _d),
    |caller| {
        destroying(How::Spin, lock as usize, caller, || spin::pthread_spin_destroy(lock))
    }
    pthread_spin_lock => fn spin_lock(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_lock,
    |caller| { spinning(Doing::Lock, lock, caller, || spin::pthread_spin_lock(lock)) }
    pthread_spin_trylock => fn spin_try(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_trylock,
    |caller| { spinning(Doing::Nothing, lock, caller, || spin::pthread_spin_trylock(lock)) }
    pthread_spin_unlock => fn spin_unlock(lock: *mut Spin; _b, _c, _d) or spin::pthread_spin_unlock,
    |caller| {
        let is_free = || !spin::is_held(&*lock);
        unlocking(How::Spin, lock as usize, caller, is_free, || spin::pthread_spin_unlock(lock))
    }
    pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock =>
    fn tryrdlock(lock: *mut RwLock; _b, _c, _d) or rwlock::pthread_rwlock_tryrdlock,
    |caller| {
        locking(Doing::Nothing, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_tryrdlock(lock)
        })
    }
    pthread_rwlock_timedrdlock => fn timedrdlock(lock: *mut RwLock, at: Time; _c, _d) or rwlock::pthread_rwlock_timedrdlock,
    |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_timedrdlock(lock, at)
        })
    }
    pthread_rwlock_clockrdlock =>
    fn clockrdlock(lock: *mut RwLock, clock: c_int, at: Time; _d) or rwlock::pthread_rwlock_clockrdlock,
    |caller| {
        locking(Doing::Timed, How::Read, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_clockrdlock(lock, clock, at)
        })
    }
    pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock =>
    fn trywrlock(lock: *mut RwLock; _b, _c, _d) or rwlock::pthread_rwlock_trywrlock,
    |caller| {
        locking(Doing::Nothing, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_trywrlock(lock)
        })
    }
    pthread_rwlock_timedwrlock => fn timedwrlock(lock: *mut RwLock, at: Time; _c, _d) or rwlock::pthread_rwlock_timedwrlock,
    |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_timedwrlock(lock, at)
        })
    }
    pthread_rwlock_clockwrlock =>
    fn clockwrlock(lock: *mut RwLock, clock: c_int, at: Time; _d) or rwlock::pthread_rwlock_clockwrlock,
    |caller| {
        locking(Doing::Timed, How::Write, lock as usize, caller, |_| {}, at_once, |_| {
            rwlock::pthread_rwlock_clockwrlock(lock, clock, at)
        })
    }
    pthread_rwlock_init, __pthread_rwlock_init =>
    fn rwinit(lock: *mut RwLock, attributes: Attr; _c, _d),
    |caller| {
        initialising(How::Read, lock as usize, caller, || {
            rwlock::pthread_rwlock_init(lock, attributes)
        })
    }
    pthread_rwlock_destroy, __pthread_rwlock_destroy =>
    fn rwdestroy(lock: *mut RwLock; _b, _c, _d),
    |caller| {
        destroying(How::Read, lock as usize, caller, || rwlock::pthread_rwlock_destroy(lock))
    }
    pthread_create => fn create(thread: *mut usize, attributes: Attr, routine: usize, argument: usize;),
    |_caller| {
        creating(routine, argument, |routine, argument| {
            observed::pthread_create(thread, attributes, routine, argument)
        })
    }
    thrd_create => fn c11_create(thread: *mut usize, routine: usize, argument: usize; _d),
    |_caller| {
        creating(routine, argument, |routine, argument| {
            observed::thrd_create(thread, routine, argument)
        })
    }
    pthread_tryjoin_np => fn try_join(thread: usize, value: *mut *mut c_void; _c, _d),
    |_caller| {
        joined(thread, || observed::pthread_tryjoin_np(thread, value))
    }
    pthread_timedjoin_np =>
    fn timed_join(thread: usize, value: *mut *mut c_void, at: Time; _d),
    |_caller| {
        joined(thread, || observed::pthread_timedjoin_np(thread, value, at))
    }
    pthread_clockjoin_np =>
    fn clock_join(thread: usize, value: *mut *mut c_void, clock: c_int, at: Time;),
    |_caller| {
        joined(thread, || observed::pthread_clockjoin_np(thread, value, clock, at))
    }
    pthread_join => fn join(thread: usize, value: *mut *mut c_void; _c, _d),
    |caller| {
        joined(thread, || {
            sleeping(Doing::Join, thread, caller, || observed::pthread_join(thread, value))
        })
    }
    thrd_join => fn c11_join(thread: usize, value: *mut c_int; _c, _d),
    |caller| {
        joined(thread, || {
            sleeping(Doing::Join, thread, caller, || observed::thrd_join(thread, value))
        })
    }
}
