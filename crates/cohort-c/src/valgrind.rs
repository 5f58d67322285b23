//! Annotations for Valgrind's race detectors, helgrind and drd.
//!
//! Valgrind replaces a function by a wrapper with a name of a certain form
//! (`_vgw00000ZZ_OBJECT_FUNCTION`), in any object with such a wrapper. So the library's own
//! functions have no annotation and no test for Valgrind. Without Valgrind, the wrappers here are
//! unused; Valgrind calls them for the shared and the static library alike.
//!
//! A wrapper passes all arguments on, and adds two things. It reports the lock's ordering to the
//! tool: a release happens before each later acquisition. And it suppresses the tool's reports
//! while the library runs, since the tools understand neither atomic loads and stores nor futexes.
//! Under other tools, such as memcheck, it adds nothing.
//!
//! The ordering is that of a lock without an owner: any thread may release a lock that another has
//! acquired. Readers are ordered after writers, and writers after all; readers are not ordered
//! among themselves.

use crate::libc::ECANCELED;
use crate::rwlock::cohort_rwlock_is_written;
use crate::shared::cohort_shared_is_written;
use cohort::door::valgrind;
use core::arch::asm;
use core::ffi::{c_int, c_void};

/// Whether the program's pointer is null, or the place of a null lock's readers: drd aborts on it.
const fn is_none(place: usize) -> bool {
    place <= readers(0)
}

/// Reports that what precedes happens before a later [`receive`] at that place.
fn send(place: usize) {
    if is_none(place) {
        return;
    }
    valgrind::send(place);
}

/// Reports that what follows happens after every [`send`] at that place.
fn receive(place: usize) {
    if is_none(place) {
        return;
    }
    valgrind::receive(place);
}

/// Ends the ordering of a place, where another lock may begin.
fn forget(place: usize) {
    if is_none(place) {
        return;
    }
    valgrind::forget(place);
    valgrind::forget(readers(place));
}

/// The place for a reader–writer lock's readers: a byte of the lock that no other lock has.
const fn readers(place: usize) -> usize {
    place + 1
}

/// Guard that suppresses the tool's reports for the calling thread.
struct Unreported;

impl Unreported {
    fn new() -> Self {
        valgrind::report(false);
        Self
    }
}

impl Drop for Unreported {
    fn drop(&mut self) {
        valgrind::report(true);
    }
}

/// Arguments of a function of the library: six at most.
type Arguments = [usize; 6];

/// Function that a wrapper wraps.
#[derive(Clone, Copy)]
struct Wrapped(usize);

impl Wrapped {
    /// The wrapped function. Valid before the wrapper calls any other function of the library.
    #[inline(always)]
    fn now() -> Self {
        let address;
        // SAFETY: as above; only Valgrind calls a wrapper.
        unsafe {
            asm!(
                "rol rdi, 3",
                "rol rdi, 13",
                "rol rdi, 61",
                "rol rdi, 51",
                "xchg rcx, rcx",
                out("rax") address,
                options(nostack),
            );
        }
        Self(address)
    }

    fn call(self, arguments: &Arguments) -> usize {
        let [
            mut first,
            mut second,
            mut third,
            mut fourth,
            mut fifth,
            mut sixth,
        ] = *arguments;
        let result;
        // SAFETY: a function of C, called with the program's arguments.
        unsafe {
            asm!(
                "rol rdi, 3",
                "rol rdi, 13",
                "rol rdi, 61",
                "rol rdi, 51",
                // Calls the function in rax.
                "xchg rdx, rdx",
                inout("rax") self.0 => result,
                inout("rdi") first,
                inout("rsi") second,
                inout("rdx") third,
                inout("rcx") fourth,
                inout("r8") fifth,
                inout("r9") sixth,
                clobber_abi("C"),
            );
        }
        let _ = (first, second, third, fourth, fifth, sixth);
        result
    }

    fn call_unreported(self, arguments: &Arguments) -> usize {
        let _unreported = Unreported::new();
        self.call(arguments)
    }
}

/// Whether a result is `errno.h`'s 0.
fn is_done(result: usize) -> bool {
    result as c_int == 0
}

/// Orders a wait that a token has ended after the cancellation.
fn receive_cancellation(result: usize, token: usize) {
    if result as c_int == ECANCELED {
        receive(token);
    }
}

fn acquire(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let result = wrapped.call_unreported(arguments);
    if is_done(result) {
        receive(arguments[0]);
    }
    receive_cancellation(result, arguments[1]);
    result
}

fn acquire_to_write(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let result = acquire(wrapped, arguments);
    if is_done(result) {
        receive(readers(arguments[0]));
    }
    result
}

fn release(wrapped: Wrapped, arguments: &Arguments) -> usize {
    send(arguments[0]);
    wrapped.call_unreported(arguments)
}

fn release_rwlock(wrapped: Wrapped, arguments: &Arguments) -> usize {
    // SAFETY: the caller's: null, or a lock.
    let is_written = |lock| unsafe { cohort_rwlock_is_written(lock as *const _) };
    release_held(wrapped, arguments, is_written)
}

fn release_shared(wrapped: Wrapped, arguments: &Arguments) -> usize {
    // SAFETY: the caller's: null, or a lock.
    let is_written = |lock| unsafe { cohort_shared_is_written(lock as *const _) };
    release_held(wrapped, arguments, is_written)
}

/// Releases a lock held for writing, if `is_written` of it is not 0, or else for reading.
fn release_held(
    wrapped: Wrapped,
    arguments: &Arguments,
    is_written: impl FnOnce(usize) -> c_int,
) -> usize {
    let place = arguments[0];
    let is_written = {
        let _unreported = Unreported::new();
        is_written(place)
    };
    send(if is_written == 0 {
        readers(place)
    } else {
        place
    });
    wrapped.call_unreported(arguments)
}

/// Waits at a condition with a lock of the library.
fn wait(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let [cond, lock, token, ..] = *arguments;
    send(lock);
    let result = wrapped.call_unreported(arguments);
    receive(lock);
    if is_done(result) {
        receive(cond);
    }
    receive_cancellation(result, token);
    result
}

fn is_cancelled(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let result = wrapped.call_unreported(arguments);
    if !is_done(result) {
        receive(arguments[0]);
    }
    result
}

/// Initialises or destroys a lock's memory.
fn begin_or_end(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let result = wrapped.call_unreported(arguments);
    if is_done(result) {
        forget(arguments[0]);
    }
    result
}

fn make(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let made = wrapped.call_unreported(arguments);
    forget(made);
    made
}

/// The program clears the word itself, and threads other than the owner read it.
fn set_owner(wrapped: Wrapped, arguments: &Arguments) -> usize {
    valgrind::untrack(arguments[0], size_of::<u64>());
    wrapped.call_unreported(arguments)
}

fn other(wrapped: Wrapped, arguments: &Arguments) -> usize {
    wrapped.call_unreported(arguments)
}

/// Critical section passed to the thread that runs it.
struct Brought {
    lock: usize,
    run: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

/// Runs a critical section of the program, with reports enabled.
///
/// # Safety
/// As `cohort_delegate`; the argument is a [`Brought`].
unsafe extern "C" fn run_brought(brought: *mut c_void) {
    // SAFETY: the caller's, which waits.
    let brought = unsafe { &*brought.cast::<Brought>() };
    receive(brought.lock);
    valgrind::report(true);
    // SAFETY: the caller's.
    unsafe { (brought.run)(brought.argument) };
    valgrind::report(false);
    send(brought.lock);
}

fn delegate(wrapped: Wrapped, arguments: &Arguments) -> usize {
    let [lock, run, argument, ..] = *arguments;
    if lock == 0 || run == 0 {
        return wrapped.call(arguments);
    }
    let brought = Brought {
        lock,
        // SAFETY: the caller's: a function, since it is not null.
        run: unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(run) },
        argument: argument as *mut c_void,
    };
    send(lock);
    let place = (&raw const brought).expose_provenance();
    let run = (run_brought as *const ()).expose_provenance();
    let result = wrapped.call_unreported(&[lock, run, place, 0, 0, 0]);
    receive(lock);
    result
}

/// Declares wrappers: each for the functions of its pattern, with its action. In a pattern, `Za`
/// stands for any text and `Zu` for an underscore; patterns do not overlap.
macro_rules! wrappers {
    ($($name:ident: $act:ident($pattern:literal);)+) => {
        $(
            #[unsafe(export_name = concat!("_vgw00000ZZ_Za_cohortZu", $pattern))]
            extern "C" fn $name(
                first: usize,
                second: usize,
                third: usize,
                fourth: usize,
                fifth: usize,
                sixth: usize,
            ) -> usize {
                let wrapped = Wrapped::now();
                let arguments = [first, second, third, fourth, fifth, sixth];
                if valgrind::is_race_detector() {
                    $act(wrapped, &arguments)
                } else {
                    wrapped.call(&arguments)
                }
            }
        )+
    };
}

wrappers! {
    mutex_lock: acquire("mutexZulockZa");
    mutex_unlock: release("mutexZuunlock");
    mutex_init: begin_or_end("mutexZuinit");
    mutex_destroy: begin_or_end("mutexZudestroy");
    mutex_is: other("mutexZuisZa");
    rwlock_read: acquire("rwlockZureadZa");
    rwlock_write: acquire_to_write("rwlockZuwriteZa");
    rwlock_unlock: release_rwlock("rwlockZuunlockZa");
    rwlock_upgrade: acquire_to_write("rwlockZuupgradeZa");
    rwlock_downgrade: release("rwlockZudowngradeZa");
    rwlock_end_upgradable: other("rwlockZuendZa");
    rwlock_is: other("rwlockZuisZa");
    rwlock_init: begin_or_end("rwlockZuinit");
    rwlock_destroy: begin_or_end("rwlockZudestroy");
    shared_new: make("sharedZunew");
    shared_free: other("sharedZufree");
    shared_read: acquire("sharedZureadZa");
    shared_write: acquire_to_write("sharedZuwriteZa");
    shared_unlock: release_shared("sharedZuunlock");
    shared_is: other("sharedZuisZa");
    cond_wait: wait("condZuwait");
    cond_wait_until: wait("condZuwaitZuuntil");
    cond_wait_for: wait("condZuwaitZufor");
    cond_wait_unless: wait("condZuwaitZuunless");
    cond_wait_lock: wait("condZuwaitZulockZa");
    cond_wait_delegated: wait("condZuwaitZudelegatedZa");
    cond_wait_between: acquire("condZuwaitZubetweenZa");
    cond_signal: release("condZusignal");
    cond_broadcast: release("condZubroadcast");
    cond_init: begin_or_end("condZuinit");
    cond_destroy: begin_or_end("condZudestroy");
    gls_lock: acquire("glsZaZulock");
    gls_lock_try: acquire("glsZulockZutry");
    gls_lock_until: acquire("glsZulockZuuntil");
    gls_lock_for: acquire("glsZulockZufor");
    gls_lock_unless: acquire("glsZulockZuunless");
    gls_trylock: acquire("glsZaZutrylock");
    gls_timedlock: acquire("glsZaZutimedlock");
    gls_clocklock: acquire("glsZaZuclocklock");
    gls_unlock: release("glsZaZuunlock");
    gls_free: begin_or_end("glsZufree");
    gls_init: other("glsZuinit");
    gls_destroy: other("glsZudestroy");
    lock_acquire: acquire("lockZuacquireZa");
    lock_release: release("lockZureleaseZa");
    lock_new: make("lockZunew");
    lock_free: other("lockZufree");
    lock_explain: other("lockZuexplain");
    lock_is: other("lockZuisZa");
    delegate_section: delegate("delegate");
    delegated_lock: acquire("delegatedZulockZa");
    delegated_unlock: release("delegatedZuunlock");
    delegated_new: make("delegatedZunew");
    delegated_new_named: make("delegatedZunewZunamed");
    delegated_free: other("delegatedZufree");
    delegated_at: other("delegatedZuat");
    delegated_init: other("delegatedZuinit");
    delegated_destroy: other("delegatedZudestroy");
    token_init: begin_or_end("tokenZuinit");
    token_cancel: release("tokenZucancel");
    token_is_cancelled: is_cancelled("tokenZuisZucancelled");
    check_version: other("checkZuversion");
    thread_name: other("threadZuname");
    thread_is_owner: other("threadZuisZuowner");
    thread_set_owner: set_owner("threadZusetZuowner");
}
