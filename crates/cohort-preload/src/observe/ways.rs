//! The observing library's code paths ("ways") for the most frequent calls; one set for each
//! [`Form`].
//!
//! Before a process has its records, and under another lock than the default, mutexes take the
//! general slow path.

use super::entries::{
    leave_unusual, lock_begun, lock_unusual, read_begun, read_unusual, unlock_unusual, write_begun,
    write_unusual,
};
use super::own::Form;
use super::quick::{self, Took, Way, count_first, draw_first, took_marked};
use crate::choice::{choice, is_plain_default};
use crate::layout::{Mutex, NORMAL, RECURSIVE, RwLock};
use crate::rwlock;
use cohort::records::How;
use core::ffi::c_int;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// Path for a lock, a call's return address, and the present watch.
type To<T> = unsafe extern "C" fn(*mut T, usize, u32) -> c_int;

/// The path of `pthread_mutex_lock`.
pub static LOCK: AtomicPtr<()> = AtomicPtr::new(lock_unusual as To<Mutex> as *mut ());
/// The path of `pthread_mutex_unlock`.
pub static UNLOCK: AtomicPtr<()> = AtomicPtr::new(unlock_unusual as To<Mutex> as *mut ());
/// The path of `pthread_rwlock_rdlock`.
pub static READ: AtomicPtr<()> = AtomicPtr::new(read_unusual as To<RwLock> as *mut ());
/// The path of `pthread_rwlock_wrlock`.
pub static WRITE: AtomicPtr<()> = AtomicPtr::new(write_unusual as To<RwLock> as *mut ());
/// The path of `pthread_rwlock_unlock`.
pub static LEAVE: AtomicPtr<()> = AtomicPtr::new(leave_unusual as To<RwLock> as *mut ());

/// The paths of a form.
struct Ways {
    lock: To<Mutex>,
    unlock: To<Mutex>,
    read: To<RwLock>,
    write: To<RwLock>,
    leave: To<RwLock>,
}

/// Switches the process's calls to the paths of that form. A thread that has not seen the switch
/// takes the slow path, or its parent's path, which does not find the parent's watch.
pub fn go(form: Form) {
    let ways = match form {
        Form::Stuck => &stuck::WAYS,
        Form::Owner => &owner::WAYS,
        Form::Order => &order::WAYS,
        Form::Profiled => &profiled::WAYS,
        Form::Watched => &watched::WAYS,
    };
    // The first use decides which lock serves, permanently.
    let _ = choice();
    if is_plain_default() {
        LOCK.store(ways.lock as *mut (), Relaxed);
        UNLOCK.store(ways.unlock as *mut (), Relaxed);
    }
    READ.store(ways.read as *mut (), Relaxed);
    WRITE.store(ways.write as *mut (), Relaxed);
    LEAVE.store(ways.leave as *mut (), Relaxed);
}

/// Declares the paths of each form. Each is a separate function: a common one, or one for all kinds
/// of mutexes, would need a frame for the most complex case.
macro_rules! ways {
    ($($name:ident: $form:ident)+) => {
        $(mod $name {
            use super::*;

            pub static WAYS: Ways = Ways {
                lock,
                unlock,
                read,
                write,
                leave,
            };

            ways! {
                fn lock(mutex: *mut Mutex, returns_to, watch) {
                    if (*mutex).kind.load(Relaxed) != NORMAL {
                        return lock_recursive(mutex, returns_to, watch);
                    }
                    match quick::lock(Form::$form, NORMAL, mutex, returns_to, watch) {
                        Took::Lock => 0,
                        Took::Uncounted(lock, site) => count_first(lock, site),
                        Took::Due(lock, site) => draw_first(lock, site),
                        Took::Marked => took_marked(How::Mutex, mutex as usize, returns_to),
                        Took::Nothing(Way::Begun) => lock_begun(mutex, returns_to, watch),
                        Took::Nothing(Way::Unusual) => lock_unusual(mutex, returns_to, watch),
                    }
                }
                fn lock_recursive(mutex: *mut Mutex, returns_to, watch) {
                    if (*mutex).kind.load(Relaxed) != RECURSIVE {
                        return lock_unusual(mutex, returns_to, watch);
                    }
                    match quick::lock(Form::$form, RECURSIVE, mutex, returns_to, watch) {
                        Took::Lock => 0,
                        Took::Uncounted(lock, site) => count_first(lock, site),
                        Took::Due(lock, site) => draw_first(lock, site),
                        Took::Marked => took_marked(How::Mutex, mutex as usize, returns_to),
                        Took::Nothing(Way::Begun) => lock_begun(mutex, returns_to, watch),
                        Took::Nothing(Way::Unusual) => lock_unusual(mutex, returns_to, watch),
                    }
                }
                fn unlock(mutex: *mut Mutex, returns_to, watch) {
                    if (*mutex).kind.load(Relaxed) != NORMAL {
                        return unlock_recursive(mutex, returns_to, watch);
                    }
                    match quick::unlock(Form::$form, NORMAL, mutex, watch) {
                        Some(result) => result,
                        None => unlock_unusual(mutex, returns_to, watch),
                    }
                }
                fn unlock_recursive(mutex: *mut Mutex, returns_to, watch) {
                    if (*mutex).kind.load(Relaxed) != RECURSIVE {
                        return unlock_unusual(mutex, returns_to, watch);
                    }
                    match quick::unlock(Form::$form, RECURSIVE, mutex, watch) {
                        Some(result) => result,
                        None => unlock_unusual(mutex, returns_to, watch),
                    }
                }
                fn read(lock: *mut RwLock, returns_to, watch) {
                    let come = (returns_to, watch);
                    match quick::take(Form::$form, lock, How::Read, come, RwLock::begin_to_read) {
                        Took::Lock => 0,
                        Took::Uncounted(lock, site) => count_first(lock, site),
                        Took::Due(lock, site) => draw_first(lock, site),
                        Took::Marked => took_marked(How::Read, lock as usize, returns_to),
                        Took::Nothing(Way::Begun) => read_begun(lock, returns_to, watch),
                        Took::Nothing(Way::Unusual) => read_unusual(lock, returns_to, watch),
                    }
                }
                fn write(lock: *mut RwLock, returns_to, watch) {
                    let come = (returns_to, watch);
                    match quick::take(Form::$form, lock, How::Write, come, RwLock::begin_to_write) {
                        Took::Lock => 0,
                        Took::Uncounted(lock, site) => count_first(lock, site),
                        Took::Due(lock, site) => draw_first(lock, site),
                        Took::Marked => took_marked(How::Write, lock as usize, returns_to),
                        Took::Nothing(Way::Begun) => write_begun(lock, returns_to, watch),
                        Took::Nothing(Way::Unusual) => write_unusual(lock, returns_to, watch),
                    }
                }
                fn leave(lock: *mut RwLock, returns_to, watch) {
                    if quick::leave(Form::$form, lock, watch) {
                        rwlock::pthread_rwlock_unlock(lock)
                    } else {
                        leave_unusual(lock, returns_to, watch)
                    }
                }
            }
        })+
    };
    ($(fn $way:ident(
        $lock:ident: $type:ty, $returns_to:ident, $watch:ident
    ) $body:block)+) => {
        $(#[inline(never)]
        unsafe extern "C" fn $way(
            $lock: $type,
            $returns_to: usize,
            $watch: u32,
        ) -> c_int {
            // SAFETY: the program's; `go` set this path since the default lock serves mutexes, and
            // the mutex's kind has been checked.
            unsafe { $body }
        })+
    };
}

ways! {
    stuck: Stuck
    owner: Owner
    order: Order
    profiled: Profiled
    watched: Watched
}
