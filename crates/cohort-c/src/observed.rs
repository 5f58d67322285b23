//! Reports of this library's operations to the library that observes the process, if there is one.
//!
//! A function of C's interface first asks [`may_be_observed`], and then continues in [`from_here`]
//! as its last call: the stack is still as at the program's call, and the report needs its place.
#![expect(
    improper_ctypes_definitions,
    reason = "caller and callee are in this file"
)]

pub use cohort::door::may_be_observed;
use cohort::door::{Call, CallSite, Doing, How, Recorder, call_site, recorder};
use core::ffi::c_int;

/// A call of the program: its place, and the recorder of the process.
pub struct At {
    site: CallSite,
    recorder: Option<&'static Recorder>,
}

/// An operation behind a function, for the words of its arguments.
pub type Operation = unsafe fn(&At, usize, usize, usize) -> c_int;

/// Runs an operation with the place of the program's call.
///
/// # Safety
/// As that of the operation for these words.
// SAFETY: it writes registers of further arguments, and jumps.
#[unsafe(naked)]
pub unsafe extern "C" fn from_here(
    first: usize,
    second: usize,
    third: usize,
    operation: Operation,
) -> c_int {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "lea r8, [rsp + 8]",
        "mov r9, rbp",
        "jmp {at}",
        at = sym at,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "mov x4, sp",
        "mov x5, x29",
        "mov x6, x30",
        "b {at}",
        at = sym at,
    );
}

/// # Safety
/// Called by [`from_here`].
unsafe extern "C" fn at(
    first: usize,
    second: usize,
    third: usize,
    operation: Operation,
    stack: usize,
    frame: usize,
    link: usize,
) -> c_int {
    // SAFETY: a call leaves its return address below the caller's stack pointer.
    #[cfg(target_arch = "x86_64")]
    let returns_to = unsafe { core::ptr::with_exposed_provenance::<usize>(stack - 8).read() };
    #[cfg(target_arch = "aarch64")]
    let returns_to = link;
    let _ = link;
    let at = At {
        site: CallSite {
            returns_to,
            stack,
            frame,
        },
        recorder: recorder(),
    };
    // SAFETY: the caller's.
    unsafe { operation(&at, first, second, third) }
}

impl At {
    /// The calling function's own place, a frame inside the program's: for operations with more
    /// arguments than [`from_here`] passes on.
    #[inline(always)]
    pub fn inside() -> Self {
        Self {
            site: call_site(),
            recorder: recorder(),
        }
    }

    fn call(&self, doing: Doing, how: How, object: usize, is_held: bool) -> Call {
        Call {
            doing,
            how,
            is_held,
            is_lent: false,
            object,
            condition: 0,
            site: self.site,
        }
    }

    /// Acquires a lock, which another thread holds or not.
    pub fn lock(
        &self,
        doing: Doing,
        how: How,
        object: usize,
        is_held: bool,
        lock: impl FnOnce() -> c_int,
    ) -> c_int {
        let Some(recorder) = self.recorder else {
            return lock();
        };
        let mut result = 0;
        let step = || {
            result = lock();
            result == 0
        };
        self.call(doing, how, object, is_held)
            .run(recorder.lock, step);
        result
    }

    /// Releases a lock, which is held or not.
    pub fn unlock(
        &self,
        how: How,
        object: usize,
        is_held: bool,
        unlock: impl FnOnce() -> c_int,
    ) -> c_int {
        let Some(recorder) = self.recorder else {
            return unlock();
        };
        let mut result = 0;
        let step = || {
            result = unlock();
            result == 0
        };
        let call = self.call(Doing::Nothing, how, object, is_held);
        call.run(recorder.unlock, step);
        result
    }

    /// Waits at a condition with a lock that the thread holds.
    pub fn wait(
        &self,
        doing: Doing,
        condition: usize,
        how: How,
        object: usize,
        wait: impl FnOnce() -> c_int,
    ) -> c_int {
        let Some(recorder) = self.recorder else {
            return wait();
        };
        let mut result = 0;
        let step = || {
            result = wait();
            result == 0
        };
        let call = Call {
            condition,
            ..self.call(doing, how, object, true)
        };
        call.run(recorder.wait, step);
        result
    }

    /// Waits until `run` has run a section that it passes on. The section reports itself by
    /// [`serve`].
    pub fn delegate(&self, object: usize, run: impl FnOnce(Option<Served>)) {
        let Some(recorder) = self.recorder else {
            return run(None);
        };
        let call = self.call(Doing::Lock, How::Section, object, false);
        call.run(recorder.delegate, || {
            run(Some(Served { call, recorder }));
            true
        });
    }

    /// A lock begins at that address.
    pub fn begin(&self, how: How, object: usize) {
        if let Some(recorder) = self.recorder {
            // SAFETY: the recorder reads the call alone.
            unsafe { (recorder.begin)(&self.call(Doing::Nothing, how, object, false)) };
        }
    }

    /// The lock at that address ends, unless it is held.
    pub fn end(&self, how: How, object: usize, is_held: bool) {
        if let Some(recorder) = self.recorder {
            // SAFETY: the recorder reads the call alone.
            unsafe { (recorder.end)(&self.call(Doing::Nothing, how, object, is_held)) };
        }
    }
}

/// A section on its way to the thread that runs it.
#[derive(Clone, Copy)]
pub struct Served {
    call: Call,
    recorder: &'static Recorder,
}

impl Served {
    /// Runs the section in this thread.
    pub fn run(&self, section: impl FnOnce()) {
        self.call.run(self.recorder.serve, || {
            section();
            true
        });
    }
}
