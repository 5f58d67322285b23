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
use cohort::report::ServedKind;
use cohort::{Clock, Quick, QuickRelease, RawLock, RawTry};
use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// How long a caller waits, in the form that the C library's functions need.
#[derive(Clone, Copy)]
pub enum Wait {
    /// Not at all.
    No,
    /// As long as it takes.
    Endless,
    /// Until a time on a clock; checked only if the lock is taken, as the C library does.
    Until(Clock, *const Timespec),
}

impl Mutex {
    /// The kind, without the bits that Cohort ignores.
    fn kind(&self) -> c_int {
        match self.kind.load(Relaxed) {
            DESTROYED => DESTROYED,
            kind => kind & !NO_KIND,
        }
    }

    /// Whether it is of the kind without checks. A plain read compiles to one comparison; an atomic
    /// read takes two instructions.
    #[inline(always)]
    #[cfg(not(feature = "compositions"))]
    fn is_normal(&self) -> bool {
        // SAFETY: only `init` and `destroy` write the kind, and the program may not call those
        // concurrently with any other use of the mutex.
        unsafe { self.kind.as_ptr().read() == NORMAL }
    }

    /// Whether it is of the kind without checks, and has no individual lock. Its first user chooses
    /// the lock.
    #[inline(always)]
    #[cfg(feature = "compositions")]
    fn is_normal(&self) -> bool {
        self.kind.load(Relaxed) == NORMAL
    }

    /// Whether the C library serves it: robust, priority and process-shared mutexes, and destroyed
    /// ones, for which the C library returns the error.
    fn is_libcs(&self) -> bool {
        !matches!(self.kind(), NORMAL | RECURSIVE | ERRORCHECK | ADAPTIVE)
    }

    fn counted_as(&self) -> ServedKind {
        match self.kind() {
            NORMAL => ServedKind::Normal,
            RECURSIVE => ServedKind::Recursive,
            ERRORCHECK => ServedKind::ErrorCheck,
            ADAPTIVE => ServedKind::Adaptive,
            _ => ServedKind::Libc,
        }
    }
}

/// Lock and unlock functions of plain mutexes. The slow path before the choice, under the C
/// library, and while acquisitions are counted.
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

/// Makes that lock serve plain mutexes.
pub fn serve_by(service: &'static Service) {
    PLAIN.store(ptr::from_ref(&service.pair).cast_mut(), Relaxed);
}

#[inline(always)]
fn plain() -> &'static Pair {
    // SAFETY: set to constants only.
    unsafe { &*PLAIN.load(Relaxed) }
}

/// The server of the process's mutexes, and whether acquisitions are counted. For a mutex that the
/// C library does not serve, the server of that mutex.
#[inline(always)]
fn serving(mutex: &Mutex) -> (Choice, bool) {
    #[cfg(feature = "compositions")]
    if is_assigning() && !mutex.is_libcs() {
        return (Choice::Ours(by_mutex::serving(mutex)), choice().1);
    }
    let _ = mutex;
    choice()
}

/// Lock and unlock functions of a plain mutex with an individual lock, if acquisitions are not
/// counted.
#[inline(always)]
#[cfg(feature = "compositions")]
fn own_pair(mutex: &Mutex) -> Option<&'static Pair> {
    by_mutex::pair(mutex).filter(|_| !choice().1)
}

/// Body of a naked function that jumps to another one. It passes its own return address as the
/// second or third argument.
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

/// `pthread_mutex_lock` of a plain mutex on the slow path, possibly its first use. Callers jump to
/// it, so that the return address is the program's.
// SAFETY: it writes the next argument's register, which the caller does not preserve, and jumps
// with the stack unchanged; `lock_from` returns to the caller.
#[unsafe(naked)]
#[cfg(feature = "compositions")]
unsafe extern "C" fn lock_uninitialised(object: &Object) -> c_int {
    go_on_with_return_address!(second, lock_from)
}

/// [`lock_uninitialised`], with the call's return address.
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

/// [`lock_uninitialised`] with a service's signature.
///
/// # Safety
/// The object is a mutex.
#[cfg(feature = "compositions")]
unsafe fn lock_first(object: &Object) -> i32 {
    // SAFETY: passed on.
    unsafe { lock_uninitialised(object) }
}

/// Locks with the process's lock; 0, `EBUSY`, `ETIMEDOUT` or `EINVAL`.
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

/// `pthread_mutex_lock` without its fast path.
#[cold]
#[inline(never)]
unsafe fn lock_endless(mutex: *mut Mutex) -> c_int {
    // SAFETY: passed on.
    unsafe { lock(mutex, Wait::Endless) }
}

/// All ways to lock, without the fast path.
///
/// # Safety
/// The mutex is valid; a time, if any, is readable.
pub unsafe fn lock(mutex: *mut Mutex, wait: Wait) -> c_int {
    // SAFETY: passed on.
    unsafe { lock_as(mutex, wait, false) }
}

/// The C library's count of a mutex's users, behind its owner: the holder, and the threads that
/// will lock the mutex after their waits at conditions. Only the holder writes it.
fn users(mutex: &Mutex) -> &AtomicU32 {
    // SAFETY: the upper half of that word is an atomic too; the C library serves the mutex, so the
    // owner is not Cohort's.
    unsafe { &*ptr::from_ref(&mutex.owner).cast::<AtomicU32>().add(1) }
}

/// Whether the C library refuses to destroy a mutex of its own while it has users: all but robust
/// ones.
fn minds_users(mutex: &Mutex) -> bool {
    const ROBUST: c_int = 16;
    mutex.kind() & ROBUST == 0
}

/// Locks for a thread that returns from a condition; `adopted` if the mutex requeued it. See
/// [`Service::adopt`].
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
        // The caller may owe an acknowledgement of its wake-up, and a try would not send it.
        waiting(counting, || object.futex.acquire_adopted());
        if counting {
            count(object.counted_as(), true);
            note_needs(service);
        }
        0
    // A try ahead of a strict queue would break its order.
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

/// Locks a recursive mutex once more, for its owner.
fn again(mutex: &Mutex, counting: bool) -> c_int {
    let Some(more) = mutex.count.load(Relaxed).checked_add(1) else {
        return EAGAIN;
    };
    mutex.count.store(more, Relaxed);
    if counting {
        count(ServedKind::Recursive, false);
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
        count(ServedKind::Libc, false);
    }
    result
}

/// All ways to unlock, without the fast path.
///
/// # Safety
/// The mutex is valid.
#[cold]
#[inline(never)]
pub unsafe fn unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: passed on.
    unsafe { unlock_for(mutex, false) }
}

/// [`unlock`] by a thread about to wait at a condition with the mutex. The mutex cannot be
/// destroyed until the thread has [locked it again](relock).
///
/// # Safety
/// The mutex is valid.
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
    // Unlocking a normal mutex that is not locked is undefined; like the C library, Cohort
    // tolerates it. SAFETY: the process's lock serves all its mutexes; the program unlocks what it
    // locked.
    unsafe { (service.pair.unlock)(object.served()) }
}

/// Whether the mutex stays locked during the caller's condition wait: recursive, with a depth above
/// one.
///
/// # Safety
/// The mutex is valid.
pub unsafe fn is_locked_again(mutex: *const Mutex) -> bool {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    !is_libcs(object)
        && object.kind() == RECURSIVE
        && object.owner.load(Relaxed) == owner::me()
        && object.count.load(Relaxed) > 1
}

/// Requeues a condition's waiter at the mutex; see [`Service::adopt`].
///
/// # Safety
/// The mutex is valid, and outlives the call.
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

/// Whether a condition needs the C library's functions to release and acquire the mutex.
pub fn is_libcs(mutex: &Mutex) -> bool {
    is_system() || mutex.is_libcs()
}

/// Whether the default lock serves this plain mutex; two comparisons.
#[inline(always)]
fn is_fast(mutex: &Mutex) -> bool {
    mutex.is_normal() && is_plain_default()
}

/// Acquires a mutex under the default lock, if it is free.
#[inline(always)]
fn try_known(mutex: &Mutex) -> bool {
    // SAFETY: the lock has no contexts, and the program does not move a mutex in use; `alone` means
    // one thread.
    unsafe { alone() && mutex.futex.acquire_alone() || mutex.futex.try_acquire(&()) }
}

/// Locks a recursive or error-checking mutex under the default lock, if it is free or a recursive
/// one of the caller's. False if that fails.
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

/// Unlocks the caller's recursive or error-checking mutex under the default lock; false for another
/// mutex.
#[inline(always)]
fn unlock_owned(mutex: &Mutex) -> bool {
    let kind = mutex.kind.load(Relaxed);
    matches!(kind, RECURSIVE | ERRORCHECK) && is_plain_default() && unlock_known_owned(mutex)
}

/// [`unlock_owned`] of a mutex under the default lock.
#[inline(always)]
fn unlock_known_owned(mutex: &Mutex) -> bool {
    let mine = mutex.owner.load(Relaxed) == owner::me();
    if mine && is_last(mutex) {
        // SAFETY: the caller's, as its owner shows; `alone` means one thread.
        unsafe {
            if !alone() || !mutex.futex.release_alone() {
                mutex.futex.release(&());
            }
        }
    }
    mine
}

/// Counts one unlock by the owner. True if it was the last, which frees the mutex.
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
    // Calls of other functions are tail calls, so this function needs no frame.
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

/// Fast path of locking a plain mutex under the default lock.
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

/// Fast path of locking any mutex, and whether it acquired the mutex; none if the mutex has no fast
/// path.
///
/// # Safety
/// The mutex is valid.
#[inline(always)]
#[cfg(feature = "observe")]
pub unsafe fn begin_to_lock(mutex: *mut Mutex) -> Option<bool> {
    // SAFETY: the caller's.
    let object = unsafe { &*mutex };
    let kind = object.kind.load(Relaxed);
    let has = matches!(kind, NORMAL | RECURSIVE) && is_plain_default();
    has.then(|| begin_known(object, kind))
}

/// [`begin_to_lock`] of a plain or recursive mutex of that kind under the default lock.
#[inline(always)]
#[cfg(feature = "observe")]
pub fn begin_known(mutex: &Mutex, kind: c_int) -> bool {
    if kind == NORMAL {
        lock_untouched(mutex)
    } else {
        lock_known_owned(mutex, kind)
    }
}

/// Unlocks a plain or recursive mutex of that kind under the default lock.
///
/// # Safety
/// The mutex is valid.
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

/// Locks a mutex after [`begin_to_lock`] failed, for a call with that return address.
///
/// # Safety
/// The mutex is valid.
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

/// Whether a mutex is held, as far as its lock shows. Does not choose the mutex's lock.
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

/// The bits of a mutex's kind that the C library defines.
#[cfg(feature = "observe")]
pub fn kind_without_lock(mutex: &Mutex) -> c_int {
    let kind = mutex.kind.load(Relaxed);
    if kind != DESTROYED && is_assigning() {
        kind & !(assigned::BITS as c_int)
    } else {
        kind
    }
}

/// Whether a mutex of Cohort's has an unused owner field: a plain one.
#[cfg(feature = "observe")]
pub fn has_room_for_owner(mutex: &Mutex) -> bool {
    !is_system() && mutex.kind() == NORMAL
}

/// Whether the mutex stores its owner.
#[cfg(feature = "observe")]
pub fn has_owner(mutex: &Mutex) -> bool {
    !is_system() && matches!(mutex.kind(), RECURSIVE | ERRORCHECK)
}

/// [`pthread_mutex_lock`] for a plain mutex that the default lock serves.
#[cold]
#[inline(never)]
fn lock_contended(mutex: &Mutex) -> c_int {
    // A free lock may still have marks of sleepers. SAFETY: the lock has no contexts, and the
    // program does not move a mutex in use.
    unsafe {
        if mutex.futex.try_acquire(&()) {
            mutex.futex.extend_slice();
        } else {
            mutex.futex.acquire(&());
        }
    }
    done()
}

/// [`pthread_mutex_lock`] for kinds other than plain.
#[inline(never)]
unsafe fn lock_other_kind(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if lock_owned(object) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { lock_fallback(mutex) }
}

/// Locks a mutex without an owner, or under another lock; see [`unlock_fallback`].
#[cfg_attr(feature = "compositions", inline(never))]
unsafe fn lock_fallback(mutex: *mut Mutex) -> c_int {
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
        return unlock_single_threaded(mutex);
    }
    // SAFETY: the program unlocks what it locked.
    match unsafe { mutex.futex.release_quickly(&()) } {
        Quick::Released => 0,
        Quick::MarkLost => answer_lost_mark(mutex),
        Quick::Refused => unlock_attentive(mutex),
    }
}

/// [`pthread_mutex_unlock`] in a process of one thread.
#[inline(always)]
fn unlock_single_threaded(mutex: &Mutex) -> c_int {
    // SAFETY: the process has one thread, and unlocks what it has locked.
    if unsafe { mutex.futex.release_alone() } {
        0
    } else {
        unlock_attentive(mutex)
    }
}

/// [`pthread_mutex_unlock`] for a plain mutex under the default lock, by a read-modify-write.
#[inline(never)]
fn unlock_attentive(mutex: &Mutex) -> c_int {
    // SAFETY: the program unlocks what it locked.
    unsafe { mutex.futex.release_attentive() };
    done()
}

/// Wakes the sleepers after a quick release overwrote their mark; the mutex may be gone.
#[cold]
#[inline(never)]
fn answer_lost_mark(mutex: *const Mutex) -> c_int {
    let futex = mutex.wrapping_byte_add(offset_of!(Mutex, futex));
    FutexHmcs::wake_everybody(futex.cast());
    done()
}

/// [`pthread_mutex_unlock`] for kinds other than plain.
#[inline(never)]
unsafe fn unlock_other_kind(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*mutex };
    if unlock_owned(object) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { unlock_fallback(mutex) }
}

/// Unlocks a mutex without an owner, or under another lock. Separate, because it needs a frame.
#[cfg_attr(feature = "compositions", inline(never))]
unsafe fn unlock_fallback(mutex: *mut Mutex) -> c_int {
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

/// Locks with a deadline, which is not read if the mutex is free.
///
/// # Safety
/// The mutex is valid; the time is readable.
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

/// See `pthread_mutex_init(3)`. Passes the return address on, since a line may give mutexes of that
/// call a lock.
///
/// # Safety
/// As that page asks.
// SAFETY: as `lock_uninitialised`, with `init`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[cfg(all(feature = "compositions", not(feature = "observe")))]
pub unsafe extern "C" fn pthread_mutex_init(mutex: *mut Mutex, attributes: Attr) -> c_int {
    go_on_with_return_address!(third, init)
}

/// [`pthread_mutex_init`], with the call's return address where that is needed.
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

/// [`init`] with attributes, or under another lock.
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

/// Initialises a fresh mutex's generation, to save its first user a compare-and-exchange.
///
/// # Safety
/// The mutex is all zero except for its kind, and exclusively the caller's.
unsafe fn begin_generation(mutex: &Mutex) {
    if let Choice::Ours(service) = serving(mutex).0
        && let Some(at) = service.generation
    {
        let body = mutex.body.get();
        // SAFETY: the lock's generation lies there, in bytes inside a cell.
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

/// Exports the same functions under the names that old programs use.
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
