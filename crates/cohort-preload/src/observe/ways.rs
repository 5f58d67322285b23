//! The observing library's code paths ("ways") for the most frequent calls; one set for each
//! [`Form`].
//!
//! The first call in a process gives it its records, and switches the calls to the paths of their
//! form. Under another lock than the default, mutexes take the general slow path.

use super::own::{Form, any};
use super::quick::{self, SlowPath, Took, count_first, draw_first, took_marked};
use super::slow::{
    goes_on, leave_from, leave_unusual, lock_begun, lock_from, lock_unusual, read_begun, read_from,
    read_unusual, unlock_from, unlock_unusual, write_begun, write_from, write_unusual,
};
use crate::choice::is_plain_default;
use crate::layout::{Mutex, NORMAL, RECURSIVE, RwLock};
use crate::libc::__register_atfork;
use crate::rwlock;
use cohort::records::How;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// Path for a lock, a call's return address, and the present watch.
type To<T> = unsafe extern "C" fn(*mut T, usize, u32) -> c_int;

/// The path of `pthread_mutex_lock`.
pub static LOCK: AtomicPtr<()> = AtomicPtr::new(lock_first as To<Mutex> as *mut ());
/// The path of `pthread_mutex_unlock`.
pub static UNLOCK: AtomicPtr<()> = AtomicPtr::new(unlock_first as To<Mutex> as *mut ());
/// The path of `pthread_rwlock_rdlock`.
pub static READ: AtomicPtr<()> = AtomicPtr::new(read_first as To<RwLock> as *mut ());
/// The path of `pthread_rwlock_wrlock`.
pub static WRITE: AtomicPtr<()> = AtomicPtr::new(write_first as To<RwLock> as *mut ());
/// The path of `pthread_rwlock_unlock`.
pub static LEAVE: AtomicPtr<()> = AtomicPtr::new(leave_first as To<RwLock> as *mut ());

/// The paths of a form.
struct Ways {
    lock: To<Mutex>,
    unlock: To<Mutex>,
    read: To<RwLock>,
    write: To<RwLock>,
    leave: To<RwLock>,
}

/// The paths of a process without records.
static FIRST: Ways = Ways {
    lock: lock_first,
    unlock: unlock_first,
    read: read_first,
    write: write_first,
    leave: leave_first,
};

/// The paths of a traced process: each event takes longer than the fast path saves.
static TRACED: Ways = Ways {
    lock: lock_unusual,
    unlock: unlock_unusual,
    read: read_unusual,
    write: write_unusual,
    leave: leave_unusual,
};

impl Ways {
    /// Switches the process's calls to these paths.
    fn take(&self) {
        LOCK.store(self.lock as *mut (), Relaxed);
        UNLOCK.store(self.unlock as *mut (), Relaxed);
        READ.store(self.read as *mut (), Relaxed);
        WRITE.store(self.write as *mut (), Relaxed);
        LEAVE.store(self.leave as *mut (), Relaxed);
    }
}

/// Gives the process its records, and switches its calls to the paths of their form. A thread that
/// has not seen the switch does the same.
fn begin() {
    // Without records, the word that each call reads first stays zero.
    let Some(own) = any() else { return };
    let ways = match own.form {
        Form::Stuck => &stuck::WAYS,
        Form::Owner => &owner::WAYS,
        Form::Order => &order::WAYS,
        Form::Profiled => &profiled::WAYS,
        Form::Watched => &watched::WAYS,
        Form::Traced => &TRACED,
    };
    if is_plain_default() {
        ways.take();
    } else {
        let (lock, unlock): (To<Mutex>, To<Mutex>) = (lock_unusual, unlock_unusual);
        Ways {
            lock,
            unlock,
            ..*ways
        }
        .take();
    }
}

/// Lets a forked child begin with its own records, which may have another form.
extern "C" fn in_child() {
    FIRST.take();
}

/// Registers the handler of forks.
pub fn mind_forks() {
    // SAFETY: the function lives as long as the program.
    unsafe { __register_atfork(None, None, Some(in_child), ptr::null_mut()) };
}

/// Declares the first paths.
macro_rules! first {
    ($($name:ident: $type:ty => $slow:ident $(, $way:ident)?;)+) => {
        $(#[cold]
        unsafe extern "C" fn $name(
            object: *mut $type,
            returns_to: usize,
            stack: usize,
            frame: usize,
            $($way: SlowPath,)?
        ) -> c_int {
            begin();
            // SAFETY: the program's.
            unsafe { $slow(object, returns_to, stack, frame $(, $way)?) }
        })+
    };
}

first! {
    lock_at_first: Mutex => lock_from, way;
    unlock_at_first: Mutex => unlock_from;
    read_at_first: RwLock => read_from, way;
    write_at_first: RwLock => write_from, way;
    leave_at_first: RwLock => leave_from;
}

goes_on! {
    lock_first: Mutex => lock_at_first, Unusual;
    unlock_first: Mutex => unlock_at_first, Unusual;
    read_first: RwLock => read_at_first, Unusual;
    write_first: RwLock => write_at_first, Unusual;
    leave_first: RwLock => leave_at_first, Unusual;
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
                        Took::Nothing(SlowPath::Begun) => lock_begun(mutex, returns_to, watch),
                        Took::Nothing(SlowPath::Unusual) => lock_unusual(mutex, returns_to, watch),
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
                        Took::Nothing(SlowPath::Begun) => lock_begun(mutex, returns_to, watch),
                        Took::Nothing(SlowPath::Unusual) => lock_unusual(mutex, returns_to, watch),
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
                        Took::Nothing(SlowPath::Begun) => read_begun(lock, returns_to, watch),
                        Took::Nothing(SlowPath::Unusual) => read_unusual(lock, returns_to, watch),
                    }
                }
                fn write(lock: *mut RwLock, returns_to, watch) {
                    let come = (returns_to, watch);
                    match quick::take(Form::$form, lock, How::Write, come, RwLock::begin_to_write) {
                        Took::Lock => 0,
                        Took::Uncounted(lock, site) => count_first(lock, site),
                        Took::Due(lock, site) => draw_first(lock, site),
                        Took::Marked => took_marked(How::Write, lock as usize, returns_to),
                        Took::Nothing(SlowPath::Begun) => write_begun(lock, returns_to, watch),
                        Took::Nothing(SlowPath::Unusual) => write_unusual(lock, returns_to, watch),
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
