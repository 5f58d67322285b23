//! Operations of locks outside this library, which those report to the process's [`Recorder`].
//!
//! Such a lock has no room for a number, a class or a tag in its bytes: its holder is in the
//! thread's record at every level, and memory reused for another lock is another lock only after a
//! reported beginning or end, or if the thread itself acquires it while it is free.

use super::own::{Form, Own, own};
use super::slow::{acquiring, at_once, initialising, look_again, unlocking, waiting};
use super::taken::is_locked;
use super::wrong::{found, holder};
use super::{edges, profile};
use crate::libc::EBUSY;
use cohort::door::recorder::{Step, VERSION};
use cohort::door::{Call, Recorder};
use cohort::records::{Doing, Wrong};
use core::ffi::{c_int, c_void};

/// What locks outside this library call.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub static cohort_recorder: Recorder = Recorder {
    version: VERSION,
    lock,
    unlock,
    wait,
    delegate,
    serve,
    begin,
    end,
};

/// A step as a function with the results of pthread functions.
///
/// # Safety
/// The step may run with the data, once.
unsafe fn taking(step: Step, data: *mut c_void) -> impl FnOnce() -> c_int {
    // SAFETY: the caller's.
    move || if unsafe { step(data) } { 0 } else { EBUSY }
}

/// The lock as records name it.
fn identity(own: &Own, call: &Call) -> usize {
    if own.form.is_profiled() {
        // SAFETY: the bytes of such locks are not read.
        unsafe { profile::identify(own, call.how, call.object) }
    } else {
        call.object
    }
}

/// Ends holds of an earlier lock at that address, which the thread never released: a guard can be
/// forgotten, and the lock's memory reused without a report.
fn forget_earlier(call: &Call) {
    let is_alone = call.how.is_exclusive() || call.how.is_write();
    if call.is_held || !is_alone {
        return;
    }
    if let Some(own) = own() {
        while own.lets_go(identity(&own, call)) {}
    }
}

unsafe extern "C" fn lock(call: &Call, step: Step, data: *mut c_void) -> bool {
    forget_earlier(call);
    // SAFETY: the caller's.
    let lock = unsafe { taking(step, data) };
    let look = |own: &Own| {
        let is_alone = call.doing == Doing::Lock && call.how.is_exclusive();
        if is_alone || call.doing == Doing::Write {
            look_again(own, call.object, &call.site);
        }
    };
    let result = acquiring(
        call.doing,
        call.how,
        call.object,
        &call.site,
        look,
        at_once,
        || Some(call.is_held),
        |_| lock(),
    );
    is_locked(result)
}

unsafe extern "C" fn unlock(call: &Call, step: Step, data: *mut c_void) -> bool {
    if let Some(own) = own()
        && call.is_lent
        && own.find(identity(&own, call)).is_none()
    {
        // Another thread has acquired it, and lists it.
        let _ = holder(&own, identity(&own, call), true);
    }
    // SAFETY: the caller's.
    let unlock = unsafe { taking(step, data) };
    // The release of a lent lock by another thread is no misuse.
    let is_free = || !call.is_lent && !call.is_held;
    is_locked(unlocking(
        call.how,
        call.object,
        &call.site,
        is_free,
        unlock,
    ))
}

unsafe extern "C" fn wait(call: &Call, step: Step, data: *mut c_void) -> bool {
    // SAFETY: the caller's.
    let wait = unsafe { taking(step, data) };
    is_locked(waiting(
        call.doing,
        call.condition,
        call.how,
        call.object,
        &call.site,
        wait,
    ))
}

unsafe extern "C" fn delegate(call: &Call, step: Step, data: *mut c_void) -> bool {
    let own = own();
    if let Some(own) = &own {
        if own.form == Form::Order {
            edges::takes(own, call.object, call.how, &call.site);
        }
        own.begins(call.doing, call.how, identity(own, call), 0, &call.site);
    }
    // SAFETY: the caller's.
    let result = unsafe { step(data) };
    if let Some(own) = &own {
        own.ends();
    }
    result
}

unsafe extern "C" fn serve(call: &Call, step: Step, data: *mut c_void) -> bool {
    let Some(own) = own() else {
        // SAFETY: the caller's.
        return unsafe { step(data) };
    };
    // A thread that runs a section does not wait, although its own section may not have run.
    let interrupted = own.thread.wait.read();
    own.ends();
    let returns_to = call.site.returns_to;
    if own.form.is_profiled() {
        profile::has_taken(&own, call.how, call.object, returns_to);
    } else {
        own.holds_now(call.object, call.how, returns_to);
    }
    // SAFETY: the caller's.
    let result = unsafe { step(data) };
    if own.form.is_profiled() {
        profile::unlocking(&own, call.how, call.object, || 0);
    } else {
        own.lets_go(call.object);
    }
    if let Some((_, words)) = interrupted {
        own.thread.wait.begin(words);
    }
    result
}

unsafe extern "C" fn begin(call: &Call) {
    // SAFETY: the bytes of such locks are not read.
    unsafe { initialising(call.how, call.object, &call.site, || 0) };
}

unsafe extern "C" fn end(call: &Call) {
    let Some(own) = own().filter(|own| !own.form.is_profiled()) else {
        return;
    };
    if !call.is_held {
        own.begins_free(call.object);
        if own.form == Form::Order {
            edges::forget(&own, call.object, 0);
        }
    } else if own.form >= Form::Owner {
        let holder = holder(&own, call.object, false);
        found(&own, Wrong::DestroyUsed, call.object, &call.site, holder);
    }
}
