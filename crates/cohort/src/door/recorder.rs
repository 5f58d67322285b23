//! Reports of lock operations to the library that observes the process.
//!
//! `cohort debug`, `cohort profile` and `cohort run --observe` preload a library that records the
//! program's pthread locks. It exports a [`Recorder`]. Locks in `libcohort` or in the program find
//! it there and pass their operations to it, so one wait-for graph has all locks of a process.

use super::{call_site, caught, may_be_observed, panic_on, recorder};
use core::ffi::{CStr, c_void};
use core::ptr;

/// The exported recorder's name.
pub const NAME: &CStr = c"cohort_recorder";

/// The layout of a [`Recorder`] and of what it takes. Another version's is not used.
pub const VERSION: u32 = 1;

/// The operation that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    /// No wait.
    Nothing = 0,
    /// Locking a mutex.
    Lock = 1,
    /// Taking a read lock.
    Read = 2,
    /// Taking a write lock.
    Write = 3,
    /// Waiting for another thread's end.
    Join = 4,
    /// Waiting at a condition.
    Condition = 5,
    /// One of these, with a deadline.
    Timed = 6,
    /// A read lock of a kind that lets waiting writers first.
    ReadBehind = 7,
    /// Waiting for a semaphore.
    Semaphore = 8,
    /// Waiting at a barrier.
    Barrier = 9,
    /// Acquiring an upgradable read lock: one thread at a time holds it, beside other readers.
    ReadUpgradably = 10,
    /// Making it a write lock.
    Upgrade = 11,
}

impl Doing {
    /// Decodes a recorded number.
    #[must_use]
    pub const fn of(raw: u32) -> Self {
        match raw {
            1 => Self::Lock,
            2 => Self::Read,
            3 => Self::Write,
            4 => Self::Join,
            5 => Self::Condition,
            6 => Self::Timed,
            7 => Self::ReadBehind,
            8 => Self::Semaphore,
            9 => Self::Barrier,
            10 => Self::ReadUpgradably,
            11 => Self::Upgrade,
            _ => Self::Nothing,
        }
    }

    /// Whether it waits for a lock, without a deadline.
    #[must_use]
    pub const fn is_for_lock(self) -> bool {
        matches!(
            self,
            Self::Lock
                | Self::Read
                | Self::Write
                | Self::ReadBehind
                | Self::ReadUpgradably
                | Self::Upgrade
        )
    }
}

/// A sort of lock, and how a thread holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum How {
    /// A pthread mutex.
    Mutex = 1,
    /// A pthread rwlock, for reading.
    Read = 2,
    /// A pthread rwlock, for writing.
    Write = 3,
    /// Not at all: a condition, at which the thread waits.
    Condition = 4,
    /// A mutex of Cohort's interface for C, C++ or Rust.
    Own = 5,
    /// Such a rwlock, for reading.
    OwnRead = 6,
    /// Such a rwlock, for writing.
    OwnWrite = 7,
    /// The lock of an address.
    Key = 8,
    /// Delegated data: the thread runs a critical section on it.
    Section = 9,
    /// A pthread spin lock.
    Spin = 10,
    /// A rwlock of Cohort's, for reading, and upgradable.
    OwnUpgradable = 11,
}

impl How {
    /// Decodes a recorded number.
    #[must_use]
    pub const fn of(raw: u32) -> Self {
        match raw {
            2 => Self::Read,
            3 => Self::Write,
            4 => Self::Condition,
            5 => Self::Own,
            6 => Self::OwnRead,
            7 => Self::OwnWrite,
            8 => Self::Key,
            9 => Self::Section,
            10 => Self::Spin,
            11 => Self::OwnUpgradable,
            _ => Self::Mutex,
        }
    }

    /// Whether one thread at a time holds such a lock, and no other way of holding it exists.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        matches!(
            self,
            Self::Mutex | Self::Own | Self::Key | Self::Section | Self::Spin
        )
    }

    /// Whether it is a rwlock, for reading.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::OwnRead | Self::OwnUpgradable)
    }

    /// Whether it is a rwlock, for writing.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::OwnWrite)
    }

    /// The sort's name in reports.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Read | Self::Write => "rwlock",
            Self::Condition => "condition",
            Self::Own => "cohort mutex",
            Self::OwnRead | Self::OwnWrite | Self::OwnUpgradable => "cohort rwlock",
            Self::Key => "key",
            Self::Section => "delegated lock",
            Self::Spin => "spin lock",
        }
    }
}

/// A place in the program that calls a lock operation: enough to unwind its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CallSite {
    /// The address to which the call returns.
    pub returns_to: usize,
    /// The stack pointer there.
    pub stack: usize,
    /// The frame pointer there.
    pub frame: usize,
}

/// A lock operation.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Call {
    /// The operation; [`Doing::Nothing`] if it never waits.
    pub doing: Doing,
    /// How the lock is held afterwards.
    pub how: How,
    /// Whether another thread held it just before.
    pub is_held: bool,
    /// Whether any thread may release the lock.
    pub is_lent: bool,
    /// The lock's address, or the key.
    pub object: usize,
    /// In a wait at a condition, its address.
    pub condition: usize,
    /// Where the program called.
    pub site: CallSite,
}

/// The operation itself, for that data; whether it succeeded.
pub type Step = unsafe extern "C" fn(*mut c_void) -> bool;

/// A function that records a [`Call`] and runs its step; returns what the step returned.
pub type Around = unsafe extern "C" fn(&Call, Step, *mut c_void) -> bool;

/// The functions of the observing library.
#[derive(Debug)]
#[repr(C)]
pub struct Recorder {
    /// [`VERSION`].
    pub version: u32,
    /// Acquires a lock.
    pub lock: Around,
    /// Releases a lock.
    pub unlock: Around,
    /// Waits at a condition; the thread holds the lock before and after.
    pub wait: Around,
    /// Waits until a section has been run, by any thread.
    pub delegate: Around,
    /// Runs a section. The call is that of the thread that waits for it.
    pub serve: Around,
    /// A lock begins at that address.
    pub begin: unsafe extern "C" fn(&Call),
    /// The lock at that address ends, unless it is held.
    pub end: unsafe extern "C" fn(&Call),
}

impl Call {
    /// Runs a step as one of the recorder's functions records it. A panic passes by the recorder,
    /// for which the step has then failed.
    #[inline(always)]
    pub fn run<F: FnOnce() -> bool>(&self, around: Around, step: F) -> bool {
        let mut panic = None;
        let is_done = self.run_to_its_end(around, || match caught(step) {
            Ok(is_done) => is_done,
            Err(reason) => {
                panic = Some(reason);
                false
            }
        });
        if let Some(reason) = panic {
            panic_on(reason);
        }
        is_done
    }

    #[inline(always)]
    fn run_to_its_end<F: FnOnce() -> bool>(&self, around: Around, step: F) -> bool {
        /// # Safety
        /// The data is a step that has not run, and that no one else accesses.
        unsafe extern "C" fn steps<F: FnOnce() -> bool>(data: *mut c_void) -> bool {
            // SAFETY: the caller's.
            let step = unsafe { (*data.cast::<Option<F>>()).take() };
            step.is_some_and(|step| step())
        }
        let mut step = Some(step);
        // SAFETY: the recorder runs the step once, during the call.
        unsafe { around(self, steps::<F>, ptr::from_mut(&mut step).cast()) }
    }
}

/// A lock of the interface for Rust; its guards may move to another thread.
#[inline(always)]
fn call(doing: Doing, how: How, object: usize, is_held: bool) -> Call {
    Call {
        doing,
        how,
        is_held,
        is_lent: true,
        object,
        condition: 0,
        site: call_site(),
    }
}

/// Acquires a lock as `acquire` does, and reports it.
#[inline(always)]
pub fn acquiring(
    doing: Doing,
    how: How,
    object: usize,
    is_held: impl FnOnce() -> bool,
    acquire: impl FnOnce() -> bool,
) -> bool {
    if may_be_observed()
        && let Some(recorder) = recorder()
    {
        return call(doing, how, object, is_held()).run(recorder.lock, acquire);
    }
    acquire()
}

/// Releases a lock as `release` does, and reports it.
#[inline(always)]
pub fn releasing(how: How, object: usize, release: impl FnOnce()) {
    if may_be_observed()
        && let Some(recorder) = recorder()
    {
        let step = || {
            release();
            true
        };
        call(Doing::Nothing, how, object, true).run(recorder.unlock, step);
    } else {
        release();
    }
}

/// Reports that the lock at that address has ended, unless it is held.
#[inline(always)]
pub fn ending(how: How, object: usize, is_held: bool) {
    if may_be_observed()
        && let Some(recorder) = recorder()
    {
        // SAFETY: the recorder reads the call alone.
        unsafe { (recorder.end)(&call(Doing::Nothing, how, object, is_held)) };
    }
}

/// Waits at a condition as `wait` does, with a lock that the thread holds, and reports it.
#[inline(always)]
pub fn waiting(doing: Doing, how: How, condition: usize, object: usize, wait: impl FnOnce()) {
    if may_be_observed()
        && let Some(recorder) = recorder()
    {
        let call = Call {
            condition,
            ..call(doing, how, object, true)
        };
        let step = || {
            wait();
            true
        };
        call.run(recorder.wait, step);
    } else {
        wait();
    }
}

/// Passes on a section as `bring` does, and reports the wait for it. The section runs by
/// [`serving`], with what `bring` is given.
#[inline(always)]
pub fn delegating(doing: Doing, object: usize, bring: impl FnOnce(Option<Call>) -> bool) -> bool {
    if may_be_observed()
        && let Some(recorder) = recorder()
    {
        let call = call(doing, How::Section, object, false);
        return call.run(recorder.delegate, || bring(Some(call)));
    }
    bring(None)
}

/// Runs a section in this thread, and reports it with the call of the thread that waits for it.
#[inline(always)]
pub fn serving(call: Option<&Call>, section: impl FnOnce()) {
    if let Some(call) = call
        && let Some(recorder) = recorder()
    {
        call.run(recorder.serve, || {
            section();
            true
        });
    } else {
        section();
    }
}
