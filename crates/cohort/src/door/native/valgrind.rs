//! Requests to Valgrind's race detectors, helgrind and drd.
//!
//! They know neither atomic loads and stores nor futexes, and report both. A request is a sequence
//! of instructions without effect outside Valgrind, and under other tools such as memcheck.

use core::arch::asm;

/// The request numbers of `valgrind.h`, `helgrind.h` and `drd.h`.
mod request {
    /// Helgrind's requests; drd supports some of them.
    const HELGRIND: usize = ((b'H' as usize) << 24) | ((b'G' as usize) << 16);
    const DRD: usize = ((b'D' as usize) << 24) | ((b'R' as usize) << 16);

    pub const CHANGE_ERROR_REPORTS: usize = 0x1801;
    pub const HELGRIND_SEND: usize = HELGRIND + 256 + 33;
    pub const HELGRIND_RECEIVE: usize = HELGRIND + 256 + 34;
    pub const HELGRIND_FORGET: usize = HELGRIND + 256 + 35;
    pub const HELGRIND_GET_ADDRESSABLE: usize = HELGRIND + 256 + 46;
    pub const HELGRIND_UNTRACK: usize = HELGRIND + 256 + 39;
    pub const DRD_GET_THREAD: usize = DRD + 1;
    pub const DRD_UNTRACK: usize = DRD + 2;
}

/// Sends a request; returns `default` without Valgrind, and under a tool that does not know it.
fn ask(default: usize, request: usize, first: usize, second: usize, third: usize) -> usize {
    let asked = [request, first, second, third, 0, 0];
    let mut answer = default;
    // SAFETY: the rotations together leave the register as it was; Valgrind reads the array.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") asked.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Whether the tool is a race detector.
#[must_use]
pub fn is_race_detector() -> bool {
    const UNKNOWN: usize = usize::MAX;
    let byte = 0u8;
    let place = (&raw const byte).addr();
    ask(0, request::DRD_GET_THREAD, 0, 0, 0) != 0
        || ask(UNKNOWN, request::HELGRIND_GET_ADDRESSABLE, place, 0, 1) != UNKNOWN
}

/// Orders what happened so far before later [`receive`]s at that place.
pub fn send(place: usize) {
    ask(0, request::HELGRIND_SEND, place, 0, 0);
}

/// Orders what follows after earlier [`send`]s at that place.
pub fn receive(place: usize) {
    ask(0, request::HELGRIND_RECEIVE, place, 0, 0);
}

/// Ends the orders of a place, where another lock may begin.
pub fn forget(place: usize) {
    ask(0, request::HELGRIND_FORGET, place, 0, 0);
}

/// Excludes so many bytes from race detection until their memory is reused.
pub fn untrack(place: usize, size: usize) {
    ask(0, request::HELGRIND_UNTRACK, place, size, 0);
    ask(0, request::DRD_UNTRACK, place, size, 0);
}

/// Switches the tool's reports about the calling thread; calls nest.
pub fn report(reports: bool) {
    let more = if reports { usize::MAX } else { 1 };
    ask(0, request::CHANGE_ERROR_REPORTS, more, 0, 0);
}
