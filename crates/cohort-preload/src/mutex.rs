//! `pthread_mutex_*`.

#[cfg(feature = "compositions")]
use crate::by_mutex;
#[cfg(feature = "compositions")]
use crate::choice::is_assigning;
use crate::choice::{Choice, choice, default_service, is_plain_default, is_system};
use crate::count::{count, note_needs, waiting};
use crate::layout::{
    ADAPTIVE, Attr, DESTROYED, ERRORCHECK, Mutex, NO_KIND, NORMAL, RECURSIVE, clear,
};
use crate::libc::{
    CLOCK_MONOTONIC, EAGAIN, EBUSY, EDEADLK, EPERM, ETIMEDOUT, PTHREAD_MUTEX_STALLED,
    PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE, Timespec, alone, attribute,
};
use crate::next::{
    pthread_mutexattr_getprotocol, pthread_mutexattr_getpshared, pthread_mutexattr_getrobust,
    pthread_mutexattr_gettype,
};
use crate::owner::{self, NOBODY};
use crate::{next, time};
use cohort::door::{AtomicU32 as Word, keep_off};
use cohort::host::Generation;
#[cfg(feature = "observe")]
use cohort::host::assigned;
#[cfg(feature = "compositions")]
use cohort::host::served::Object;
use cohort::host::served::{Pair, Service, done};
use cohort::numa::FutexHmcs;
use cohort::report::Kind;
use cohort::{Clock, Quick, QuickRelease, RawLock, RawTry};
use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// How long a caller waits, and what the C library's function needs to wait as
/// long.
#[derive(Clone, Copy)]
pub enum Wait {
    /// Not at all.
    No,
    /// As long as it takes.
    Endless,
    /// Until a time on a clock; checked when it matters, as the C library does.
    Until(Clock, *const Timespec),
}

impl Mutex {
    /// The kind, without what says nothing to us.
    fn kind(&self) -> c_int {
        match self.kind.load(Relaxed) {
            DESTROYED => DESTROYED,
            kind => kind & !NO_KIND,
        }
    }

    /// Whether it is of the kind without a check.  Read plainly, which compiles to one
    /// comparison where an atomic read takes two instructions.
    #[inline(always)]
    #[cfg(not(feature = "compositions"))]
    fn is_normal(&self) -> bool {
        // SAFETY: only `init` and `destroy` write the kind, and the program may not call
        // those beside any other use of the mutex.
        unsafe { self.kind.as_ptr().read() == NORMAL }
    }

    /// The same, and that no lock of its own has been chosen for it, which its first user does.
    #[inline(always)]
    #[cfg(feature = "compositions")]
    fn is_normal(&self) -> bool {
        self.kind.load(Relaxed) == NORMAL
    }

    /// Whether the C library serves it: robust, priority, process-shared, and
    /// destroyed ones, for which it has the error.
    fn is_libcs(&self) -> bool {
        !matches!(self.kind(), NORMAL | RECURSIVE | ERRORCHECK | ADAPTIVE)
    }

    fn counted_as(&self) -> Kind {
        match self.kind() {
            NORMAL => Kind::Normal,
            RECURSIVE => Kind::Recursive,
            ERRORCHECK => Kind::ErrorCheck,
            ADAPTIVE => Kind::Adaptive,
            _ => Kind::Libc,
        }
    }
}

/// How plain mutexes are locked without further questions; the long way until that is
/// decided, and if the C library serves them or acquisitions are counted.
static PLAIN: AtomicPtr<Pair> = AtomicPtr::new((&raw const THE_LONG_WAY).cast_mut());

static THE_LONG_WAY: Pair = Pair {
    #[cfg(feature = "compositions")]
    lock: lock_first,
    // SAFETY: passed on.
    #[cfg(not(feature = "compositions"))]
    lock: |object| unsafe { lock(ptr::from_ref(object).cast_mut().cast(), Wait::Endless) },
    // SAFETY: passed on.
    unlock: |object| unsafe { unlock(ptr::from_ref(object).cast_mut().cast()) },
};

/// From here on that lock serves plain mutexes.
pub fn serve_by(service: &'static Service) {
    PLAIN.store(ptr::from_ref(&service.pair).cast_mut(), Relaxed);
}

#[inline(always)]
fn plain() -> &'static Pair {
    // SAFETY: only ever set to constants.
    unsafe { &*PLAIN.load(Relaxed) }
}

/// What serves the process's mutexes, and whether acquisitions are counted; of a mutex that is
/// not the C library's, what serves that one.
#[inline(always)]
fn serving(mutex: &Mutex) -> (Choice, bool) {
    #[cfg(feature = "compositions")]
    if is_assigning() && !mutex.is_libcs() {
        return (Choice::Ours(by_mutex::serving(mutex)), choice().1);
    }
    let _ = mutex;
    choice()
}

/// How a plain mutex that has a lock of its own is locked and unlocked, where nobody counts.
#[inline(always)]
#[cfg(feature = "compositions")]
fn own_pair(mutex: &Mutex) -> Option<&'static Pair> {
    by_mutex::pair(mutex).filter(|_| !choice().1)
}

/// The body of a naked function that goes on in another one, to which it hands the address that
/// its call returns to as the second or third argument.
#[cfg(all(feature = "compositions", target_arch = "x86_64"))]
macro_rules! go_on_with_return_address {
    (second, $inner:ident) => {
        core::arch::naked_asm!("mov rsi, [rsp]", "jmp {inner}", inner = sym $inner)
    };
    (third, $inner:ident) => {
        core::arch::naked_asm!("mov rdx, [rsp]", "jmp {inner}", inner = sym $inner)
    };
}
#[cfg(all(feature = "compositions", target_arch = "aarch64"))]
macro_rules! go_on_with_return_address {
    (second, $inner:ident) => {
        core::arch::naked_asm!("mov x1, x30", "b {inner}", inner = sym $inner)
    };
    (third, $inner:ident) => {
        core::arch::naked_asm!("mov x2, x30", "b {inner}", inner = sym $inner)
    };
}

/// `pthread_mutex_lock` of a plain mutex by the long way, which may be its first use: it is
/// jumped to, so that the return address is the program's.
// SAFETY: it writes the next argument's register, which the caller does not keep, and jumps with
// the stack as it was called; `lock_from` returns to the caller.
#[unsafe(naked)]
#[cfg(feature = "compositions")]
unsafe extern "C" fn lock_perhaps_first(object: &Object) -> c_int {
    go_on_with_return_address!(second, lock_from)
}

/// The same, knowing the call.
#[cfg(feature = "compositions")]
unsafe extern "C" fn lock_from(mutex: *mut Mutex, returns_to: usize) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if is_assigning() && !object.is_libcs() {
        by_mutex::assign(object, returns_to);
    }
    // SAFETY: passed on.
    unsafe { lock(mutex, Wait::Endless) }
}

/// [`lock_perhaps_first`] as a service has it.
///
/// # Safety
/// The object is a mutex.
#[cfg(feature = "compositions")]
unsafe fn lock_first(object: &Object) -> i32 {
    // SAFETY: passed on.
    unsafe { lock_perhaps_first(object) }
}

/// Locks by the process's lock; 0, `EBUSY`, `ETIMEDOUT` or `EINVAL`.
unsafe fn acquire(service: &Service, counting: bool, mutex: &Mutex, wait: Wait) -> c_int {
    // SAFETY: the process's lock serves all its mutexes.
    let at_once = unsafe { (service.try_lock)(mutex.served()) };
    let result = match wait {
        _ if at_once => 0,
        Wait::No => EBUSY,
        Wait::Endless => {
            // SAFETY: as above.
            waiting(counting, || unsafe { (service.pair.lock)(mutex.served()) })
        }
        // SAFETY: the caller's time is readable.
        Wait::Until(clock, at) => match unsafe { time::until(clock, at) } {
            Err(error) => error,
            Ok(patience) => {
                // SAFETY: as above.
                let lock = || unsafe { (service.lock_within)(mutex.served(), &patience) };
                if waiting(counting, lock) {
                    0
                } else {
                    ETIMEDOUT
                }
            }
        },
    };
    if result == 0 {
        mutex.served().hold();
        if counting {
            count(mutex.counted_as(), !at_once);
            note_needs(service);
        }
    }
    result
}

/// `pthread_mutex_lock` but for its fast path.
#[cold]
#[inline(never)]
unsafe fn lock_endless(mutex: *mut Mutex) -> c_int {
    // SAFETY: passed on.
    unsafe { lock(mutex, Wait::Endless) }
}

/// Every way to lock, but for the fast path.
///
/// # Safety
/// The mutex is one; a time, if there is one, is readable.
pub unsafe fn lock(mutex: *mut Mutex, wait: Wait) -> c_int {
    // SAFETY: passed on.
    unsafe { lock_as(mutex, wait, false) }
}

/// The C library's count of a mutex's users, behind its owner: the holder, and the threads that
/// will lock the mutex when their waits at conditions end.  Only the holder writes it.
fn users(mutex: &Mutex) -> &AtomicU32 {
    // SAFETY: the upper half of that word is an atom too; of a mutex that the C library serves,
    // the owner is not ours.
    unsafe { &*ptr::from_ref(&mutex.owner).cast::<AtomicU32>().add(1) }
}

/// Whether the C library refuses to destroy a mutex of its own while it has users: not if it is
/// robust.
fn minds_users(mutex: &Mutex) -> bool {
    const ROBUST: c_int = 16;
    mutex.kind() & ROBUST == 0
}

/// Locks for a thread that comes back from a condition, and that the mutex has `adopted`
/// or not; see [`Service::adopt`].
///
/// # Safety
/// The caller unlocked the mutex by [`unlock_to_wait`].
#[inline(never)]
pub unsafe fn relock(mutex: *mut Mutex, adopted: bool) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let error = lock_as(mutex, Wait::Endless, adopted);
        let object = &*mutex;
        match serving(object).0 {
            Choice::Ours(service) if !object.is_libcs() => {
                service.returning(object.served()).come_back();
            }
            _ if error == 0 && minds_users(object) => {
                users(object).fetch_sub(1, Relaxed);
            }
            _ => {}
        }
        error
    }
}

unsafe fn lock_as(mutex: *mut Mutex, wait: Wait, adopted: bool) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    let (choice, counting) = serving(object);
    let service = match choice {
        Choice::Ours(service) if !object.is_libcs() => service,
        // SAFETY: passed on.
        _ => return unsafe { lock_by_libc(mutex, wait, counting) },
    };
    let me = owner::me();
    let kind = object.kind();
    let owned = matches!(kind, RECURSIVE | ERRORCHECK);
    if owned && object.owner.load(Relaxed) == me {
        return match (kind, wait) {
            (RECURSIVE, _) => again(object, counting),
            (_, Wait::No) => EBUSY,
            _ => EDEADLK,
        };
    }
    let result = if adopted && service.is_word() {
        // It may owe an answer to its wake-up, which a try would not give.
        waiting(counting, || object.futex.acquire_adopted());
        if counting {
            count(object.counted_as(), true);
            note_needs(service);
        }
        0
    // Strict queues cannot be tried first without losing their order.
    } else if matches!(wait, Wait::Endless) && !counting {
        // SAFETY: the process's lock serves all its mutexes.
        unsafe { (service.pair.lock)(object.served()) }
    } else {
        // SAFETY: passed on.
        unsafe { acquire(service, counting, object, wait) }
    };
    if result == 0 && owned {
        object.owner.store(me, Relaxed);
        object.count.store(1, Relaxed);
    }
    result
}

/// The owner of a recursive mutex locks it once more.
fn again(mutex: &Mutex, counting: bool) -> c_int {
    let Some(more) = mutex.count.load(Relaxed).checked_add(1) else {
        return EAGAIN;
    };
    mutex.count.store(more, Relaxed);
    if counting {
        count(Kind::Recursive, false);
    }
    0
}

unsafe fn lock_by_libc(mutex: *mut Mutex, wait: Wait, counting: bool) -> c_int {
    // SAFETY: the C library's mutex, and the caller's time.
    let result = unsafe {
        match wait {
            Wait::No => next::pthread_mutex_trylock(mutex),
            Wait::Endless => next::pthread_mutex_lock(mutex),
            Wait::Until(Clock::Realtime, at) => next::pthread_mutex_timedlock(mutex, at),
            Wait::Until(Clock::Monotonic, at) => {
                next::pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, at)
            }
        }
    };
    if counting && result == 0 {
        count(Kind::Libc, false);
    }
    result
}

/// Every way to unlock, but for the fast path.
///
/// # Safety
/// The mutex is one.
#[cold]
#[inline(never)]
pub unsafe fn unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: passed on.
    unsafe { unlock_for(mutex, false) }
}

/// [`unlock`], by a thread that goes to wait at a condition with the mutex: until it has
/// [locked the mutex again](relock), nobody can destroy it.
///
/// # Safety
/// The mutex is one.
pub unsafe fn unlock_to_wait(mutex: *mut Mutex) -> c_int {
    // SAFETY: passed on.
    unsafe { unlock_for(mutex, true) }
}

#[inline(never)]
unsafe fn unlock_for(mutex: *mut Mutex, waits: bool) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    let service = match serving(object).0 {
        Choice::Ours(service) if !object.is_libcs() => service,
        _ => {
            let stays = waits && minds_users(object);
            if stays {
                users(object).fetch_add(1, Relaxed);
            }
            // SAFETY: the C library's mutex.
            let error = unsafe { next::pthread_mutex_unlock(mutex) };
            if stays && error != 0 {
                users(object).fetch_sub(1, Relaxed);
            }
            return error;
        }
    };
    let owned = matches!(object.kind(), RECURSIVE | ERRORCHECK);
    if owned && object.owner.load(Relaxed) != owner::me() {
        return EPERM;
    }
    if waits {
        // SAFETY: the process's lock serves all its mutexes.
        unsafe { service.returning(object.served()) }.go();
    }
    if owned && !is_last(object) {
        return 0;
    }
    // Unlocking a normal mutex that nobody locked is undefined; like the C
    // library's it is let pass.
    // SAFETY: the process's lock serves all its mutexes; the program unlocks what it
    // locked.
    unsafe { (service.pair.unlock)(object.served()) }
}

/// Whether the caller, which goes to wait at a condition, will hold the mutex there: it locked a
/// recursive one twice.
///
/// # Safety
/// The mutex is one.
pub unsafe fn is_locked_again(mutex: *const Mutex) -> bool {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    !is_libcs(object)
        && object.kind() == RECURSIVE
        && object.owner.load(Relaxed) == owner::me()
        && object.count.load(Relaxed) > 1
}

/// Makes the mutex adopt a thread that waits at a condition; see [`Service::adopt`].
///
/// # Safety
/// The mutex is one, and outlives the call.
pub unsafe fn adopt(mutex: *const Mutex, place: &Word, seen: u32) -> bool {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    match serving(object).0 {
        // SAFETY: the process's lock serves all its mutexes.
        Choice::Ours(service) if !object.is_libcs() => unsafe {
            service.adopt(object.served(), place, seen)
        },
        _ => false,
    }
}

/// Whether a condition of ours can release and take it by itself: the C library's
/// mutexes need its functions.
pub fn is_libcs(mutex: &Mutex) -> bool {
    is_system() || mutex.is_libcs()
}

/// Whether the default lock serves this plain mutex; in one comparison each.
#[inline(always)]
fn is_fast(mutex: &Mutex) -> bool {
    mutex.is_normal() && is_plain_default()
}

/// Takes a mutex that the default lock is known to serve, if it is free.
#[inline(always)]
fn try_known(mutex: &Mutex) -> bool {
    // SAFETY: the lock has no contexts, and the program leaves a mutex that is in use where it is;
    // the process has one thread where it is alone.
    unsafe { alone() && mutex.futex.acquire_alone() || mutex.futex.try_acquire(&()) }
}

/// Locks a recursive or error-checking mutex that is free and the default lock's, or a recursive one
/// of the caller's; false if it takes longer.
#[inline(always)]
fn lock_owned(mutex: &Mutex) -> bool {
    let kind = mutex.kind.load(Relaxed);
    matches!(kind, RECURSIVE | ERRORCHECK) && is_plain_default() && lock_known_owned(mutex, kind)
}

/// [`lock_owned`] of a mutex of that kind under the default lock.
#[inline(always)]
fn lock_known_owned(mutex: &Mutex, kind: c_int) -> bool {
    let me = owner::me();
    if mutex.owner.load(Relaxed) == me {
        return kind == RECURSIVE && again(mutex, false) == 0;
    }
    let free = try_known(mutex);
    if free {
        mutex.owner.store(me, Relaxed);
        mutex.count.store(1, Relaxed);
    }
    free
}

/// Unlocks a recursive or error-checking mutex that is the caller's and the default lock's; false if
/// it is not.
#[inline(always)]
fn unlock_owned(mutex: &Mutex) -> bool {
    let kind = mutex.kind.load(Relaxed);
    matches!(kind, RECURSIVE | ERRORCHECK) && is_plain_default() && unlock_known_owned(mutex)
}

/// The same of one that the default lock is known to serve.
#[inline(always)]
fn unlock_known_owned(mutex: &Mutex) -> bool {
    let mine = mutex.owner.load(Relaxed) == owner::me();
    if mine && is_last(mutex) {
        // SAFETY: the caller's, as its owner says; the process has one thread where it is alone.
        unsafe {
            if !alone() || !mutex.futex.release_alone() {
                mutex.futex.release(&());
            }
        }
    }
    mine
}

/// Counts one unlock by the owner; whether it was the last, and nobody owns it now.
#[inline(always)]
fn is_last(mutex: &Mutex) -> bool {
    let count = mutex.count.load(Relaxed);
    if count > 1 {
        mutex.count.store(count - 1, Relaxed);
        return false;
    }
    mutex.count.store(0, Relaxed);
    mutex.owner.store(NOBODY, Relaxed);
    true
}

/// See `pthread_mutex_lock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    // Whatever calls another function does so last: then this one needs no frame.
    if !object.is_normal() {
        // SAFETY: passed on.
        return unsafe { lock_other_kind(mutex) };
    }
    if !is_plain_default() {
        // SAFETY: the process's lock serves all its mutexes.
        return unsafe { (plain().lock)(object.served()) };
    }
    if lock_untouched(object) {
        0
    } else {
        lock_contended(object)
    }
}

/// What a lock of a plain mutex that the default lock serves begins with.
#[inline(always)]
fn lock_untouched(mutex: &Mutex) -> bool {
    if alone() {
        // SAFETY: the process has one thread.
        unsafe { mutex.futex.acquire_alone() }
    } else {
        keep_off();
        mutex.futex.acquire_untouched()
    }
}

/// What a lock of any mutex begins with, and whether that was enough; none if it has no such
/// beginning.
///
/// # Safety
/// It is one.
#[inline(always)]
#[cfg(feature = "observe")]
pub unsafe fn begin_to_lock(mutex: *mut Mutex) -> Option<bool> {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    let kind = object.kind.load(Relaxed);
    let has = matches!(kind, NORMAL | RECURSIVE) && is_plain_default();
    has.then(|| begin_known(object, kind))
}

/// The same of a mutex of that kind, plain or recursive, that the default lock serves.
#[inline(always)]
#[cfg(feature = "observe")]
pub fn begin_known(mutex: &Mutex, kind: c_int) -> bool {
    if kind == NORMAL {
        lock_untouched(mutex)
    } else {
        lock_known_owned(mutex, kind)
    }
}

/// Unlocks a mutex of that kind, plain or recursive, that the default lock serves.
///
/// # Safety
/// It is one.
#[inline(always)]
#[cfg(feature = "observe")]
pub unsafe fn unlock_known(mutex: *mut Mutex, kind: c_int) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    if kind == NORMAL {
        unlock_plain(object)
    } else if unlock_known_owned(object) {
        0
    } else {
        // SAFETY: the caller's.
        unsafe { unlock(mutex) }
    }
}

/// Locks a mutex for which [`begin_to_lock`] was not enough, for a call that returns there.
///
/// # Safety
/// It is one.
#[inline(always)]
#[cfg(feature = "observe")]
pub unsafe fn go_on_to_lock(mutex: *mut Mutex, begun: Option<bool>, returns_to: usize) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    if begun.is_some() && object.is_normal() {
        return lock_contended(object);
    }
    if is_assigning() && !object.is_libcs() {
        by_mutex::assign(object, returns_to);
    }
    // SAFETY: the caller's.
    unsafe { pthread_mutex_lock(mutex) }
}

/// Whether others hold a mutex, as far as the lock that serves it can tell; that is not chosen
/// here.
#[cfg(feature = "observe")]
pub fn is_taken(mutex: &Mutex) -> Option<bool> {
    if mutex.is_libcs() {
        return None;
    }
    let service = if is_assigning() {
        let Some(service) = by_mutex::assigned_to(mutex) else {
            return Some(false);
        };
        service
    } else {
        match choice().0 {
            Choice::Ours(service) => service,
            Choice::System => return None,
        }
    };
    // SAFETY: that lock alone serves the mutex.
    Some(unsafe { (service.is_locked)(mutex.served()) })
}

/// What of a mutex's kind the C library knows.
#[cfg(feature = "observe")]
pub fn kind_without_lock(mutex: &Mutex) -> c_int {
    let kind = mutex.kind.load(Relaxed);
    if kind != DESTROYED && is_assigning() {
        kind & !(assigned::BITS as c_int)
    } else {
        kind
    }
}

/// Where a mutex of ours has no owner of its own, and nothing in that place: a plain one.
#[cfg(feature = "observe")]
pub fn has_room_for_owner(mutex: &Mutex) -> bool {
    !is_system() && mutex.kind() == NORMAL
}

/// Whether it has its owner in it.
#[cfg(feature = "observe")]
pub fn has_owner(mutex: &Mutex) -> bool {
    !is_system() && matches!(mutex.kind(), RECURSIVE | ERRORCHECK)
}

/// [`pthread_mutex_lock`] for a plain mutex that the default lock serves.
#[cold]
#[inline(never)]
fn lock_contended(mutex: &Mutex) -> c_int {
    // Sleepers' marks do not keep it from being free.
    // SAFETY: the lock has no contexts, and the program leaves a mutex that is in use where it is.
    unsafe {
        if !mutex.futex.try_acquire(&()) {
            mutex.futex.acquire(&());
        }
    }
    done()
}

/// [`pthread_mutex_lock`] for kinds that are not plain.
#[inline(never)]
unsafe fn lock_other_kind(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if lock_owned(object) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { lock_unusual_kind(mutex) }
}

/// Locks a mutex without an owner, or under another lock; see [`unlock_unusual_kind`].
#[cfg_attr(feature = "compositions", inline(never))]
unsafe fn lock_unusual_kind(mutex: *mut Mutex) -> c_int {
    #[cfg(feature = "compositions")]
    {
        // SAFETY: the program's.
        let object = unsafe { &*mutex };
        if let Some(pair) = own_pair(object) {
            // SAFETY: that lock alone serves the mutex.
            return unsafe { (pair.lock)(object.served()) };
        } else if is_assigning() {
            // SAFETY: passed on.
            return unsafe { lock_first(object.served()) };
        }
    }
    // SAFETY: passed on.
    unsafe { lock_endless(mutex) }
}

/// See `pthread_mutex_trylock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if is_fast(object) {
        return if try_known(object) { 0 } else { EBUSY };
    }
    // SAFETY: passed on.
    unsafe { lock(mutex, Wait::No) }
}

/// See `pthread_mutex_unlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if !object.is_normal() {
        // SAFETY: passed on.
        return unsafe { unlock_other_kind(mutex) };
    }
    if !is_plain_default() {
        // SAFETY: the process's lock serves all its mutexes; the program unlocks what it
        // locked.
        return unsafe { (plain().unlock)(object.served()) };
    }
    unlock_plain(object)
}

/// [`pthread_mutex_unlock`] of a plain mutex that the default lock serves.
#[inline(always)]
fn unlock_plain(mutex: &Mutex) -> c_int {
    if alone() {
        return unlock_alone(mutex);
    }
    // SAFETY: the program unlocks what it locked.
    match unsafe { mutex.futex.release_quickly(&()) } {
        Quick::Released => 0,
        Quick::MarkLost => answer_lost_mark(mutex),
        Quick::Refused => unlock_attentively(mutex),
    }
}

/// [`pthread_mutex_unlock`] in a process of one thread.
#[inline(always)]
fn unlock_alone(mutex: &Mutex) -> c_int {
    // SAFETY: the process has one thread, and unlocks what it has locked.
    if unsafe { mutex.futex.release_alone() } {
        0
    } else {
        unlock_attentively(mutex)
    }
}

/// [`pthread_mutex_unlock`] for a plain mutex that the default lock serves, when a plain
/// store will not do.
#[inline(never)]
fn unlock_attentively(mutex: &Mutex) -> c_int {
    // SAFETY: the program unlocks what it has locked.
    unsafe { mutex.futex.release_attentive() };
    done()
}

/// What is owed after a quick release; the mutex may be gone.
#[cold]
#[inline(never)]
fn answer_lost_mark(mutex: *const Mutex) -> c_int {
    let futex = mutex.wrapping_byte_add(offset_of!(Mutex, futex));
    FutexHmcs::wake_everybody(futex.cast());
    done()
}

/// [`pthread_mutex_unlock`] for kinds that are not plain.
#[inline(never)]
unsafe fn unlock_other_kind(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if unlock_owned(object) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { unlock_unusual_kind(mutex) }
}

/// Unlocks a mutex without an owner, or under another lock, which needs a frame.
#[cfg_attr(feature = "compositions", inline(never))]
unsafe fn unlock_unusual_kind(mutex: *mut Mutex) -> c_int {
    #[cfg(feature = "compositions")]
    // SAFETY: the program's.
    if let Some(pair) = own_pair(unsafe { &*mutex }) {
        // SAFETY: that lock alone serves the mutex, and the program unlocks what it locked.
        return unsafe { (pair.unlock)((*mutex).served()) };
    }
    // SAFETY: passed on.
    unsafe { unlock(mutex) }
}

/// See `pthread_mutex_timedlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const Timespec) -> c_int {
    // SAFETY: passed on.
    unsafe { lock_until(mutex, Clock::Realtime, at) }
}

/// See `pthread_mutex_clocklock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut Mutex,
    clock: c_int,
    at: *const Timespec,
) -> c_int {
    match time::clock(clock) {
        Err(error) => error,
        // SAFETY: passed on.
        Ok(clock) => unsafe { lock_until(mutex, clock, at) },
    }
}

/// Locks with a deadline, which nobody asks for where the mutex is free.
///
/// # Safety
/// The mutex is one; the time is readable.
#[inline(always)]
unsafe fn lock_until(mutex: *mut Mutex, clock: Clock, at: *const Timespec) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    if object.is_normal() && is_plain_default() && lock_untouched(object) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { lock(mutex, Wait::Until(clock, at)) }
}

/// See `pthread_mutex_init(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
#[cfg(not(feature = "compositions"))]
pub unsafe extern "C" fn pthread_mutex_init(mutex: *mut Mutex, attributes: Attr) -> c_int {
    // SAFETY: passed on.
    unsafe { init(mutex, attributes, 0) }
}

/// See `pthread_mutex_init(3)`; hands on where the call returns to, since a line may say what
/// serves the mutexes of that place.
///
/// # Safety
/// As that page asks.
// SAFETY: as `lock_perhaps_first`, on to `init`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[cfg(all(feature = "compositions", not(feature = "observe")))]
pub unsafe extern "C" fn pthread_mutex_init(mutex: *mut Mutex, attributes: Attr) -> c_int {
    go_on_with_return_address!(third, init)
}

/// [`pthread_mutex_init`], by a call that returns there, where that is asked for.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "compositions"), inline(always))]
pub unsafe extern "C" fn init(mutex: *mut Mutex, attributes: Attr, returns_to: usize) -> c_int {
    if is_plain_default() && attributes.is_null() {
        // SAFETY: the program gives memory for an unused mutex.
        unsafe {
            clear(mutex);
            FutexHmcs::begin_at(&raw const (*mutex).futex);
        }
        return 0;
    }
    // SAFETY: passed on.
    unsafe { init_other(mutex, attributes, returns_to) }
}

/// The same with attributes, or where the default lock does not serve.
#[inline(never)]
unsafe fn init_other(mutex: *mut Mutex, attributes: Attr, returns_to: usize) -> c_int {
    if is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_mutex_init(mutex, attributes) };
    }
    let mut kind = NORMAL;
    if !attributes.is_null() {
        // SAFETY: the program's attributes are initialised.
        unsafe {
            if attribute(attributes, pthread_mutexattr_getpshared) != PTHREAD_PROCESS_PRIVATE
                || attribute(attributes, pthread_mutexattr_getprotocol) != PTHREAD_PRIO_NONE
                || attribute(attributes, pthread_mutexattr_getrobust) != PTHREAD_MUTEX_STALLED
            {
                return next::pthread_mutex_init(mutex, attributes);
            }
            kind = attribute(attributes, pthread_mutexattr_gettype);
        }
    }
    // SAFETY: the program gives memory for an unused mutex.
    unsafe {
        clear(mutex);
        FutexHmcs::begin_at(&raw const (*mutex).futex);
        #[cfg(feature = "compositions")]
        let kind = if is_assigning() {
            kind | by_mutex::bits(&*mutex, returns_to)
        } else {
            kind
        };
        let _ = returns_to;
        (*mutex).kind.store(kind, Relaxed);
        if !is_plain_default() {
            begin_generation(&*mutex);
        }
    }
    0
}

/// Saves a fresh mutex's first user an exchange.
///
/// # Safety
/// The mutex is all zero but for its kind, and nobody else's.
unsafe fn begin_generation(mutex: &Mutex) {
    if let Choice::Ours(service) = serving(mutex).0
        && let Some(at) = service.generation
    {
        let body = mutex.body.get();
        // SAFETY: the lock has that there, in bytes that are in a cell.
        unsafe { &*body.byte_add(at as usize).cast::<Generation>() }.begin();
    }
}

/// See `pthread_mutex_destroy(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if !is_fast(object) {
        // SAFETY: passed on.
        return unsafe { destroy_other(mutex) };
    }
    // SAFETY: the default lock serves it.
    let returning = unsafe { default_service().returning(object.served()) };
    destroy_unless(object.futex.is_locked() || !returning.is_empty(), object)
}

/// Destroys a mutex of another kind, or under another lock.
#[inline(never)]
unsafe fn destroy_other(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    let service = match serving(object).0 {
        Choice::Ours(service) if !object.is_libcs() => service,
        // SAFETY: passed on.
        _ => return unsafe { next::pthread_mutex_destroy(mutex) },
    };
    // SAFETY: the process's lock serves all its mutexes.
    let used = unsafe {
        (service.is_locked)(object.served()) || !service.returning(object.served()).is_empty()
    };
    destroy_unless(used, object)
}

#[inline(always)]
fn destroy_unless(used: bool, mutex: &Mutex) -> c_int {
    if used {
        return EBUSY;
    }
    mutex.kind.store(DESTROYED, Relaxed);
    0
}

/// Names under which old programs know the same functions.
#[cfg(not(feature = "observe"))]
macro_rules! also {
    ($($alias:ident = $name:ident($($argument:ident: $type:ty),*);)+) => {
        $(/// The same as the function without underscores.
        ///
        /// # Safety
        /// As that function's page asks.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($argument: $type),*) -> c_int {
            // SAFETY: passed on.
            unsafe { $name($($argument),*) }
        })+
    };
}
#[cfg(not(feature = "observe"))]
pub(crate) use also;

#[cfg(not(feature = "observe"))]
also! {
    __pthread_mutex_init = pthread_mutex_init(mutex: *mut Mutex, attributes: Attr);
    __pthread_mutex_destroy = pthread_mutex_destroy(mutex: *mut Mutex);
    __pthread_mutex_lock = pthread_mutex_lock(mutex: *mut Mutex);
    __pthread_mutex_trylock = pthread_mutex_trylock(mutex: *mut Mutex);
    __pthread_mutex_unlock = pthread_mutex_unlock(mutex: *mut Mutex);
}
