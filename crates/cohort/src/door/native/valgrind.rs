//! What Valgrind's race detectors, helgrind and drd, are told.
//!
//! They know neither atomic loads and stores nor futexes, and report both.  A request is a sequence of
//! instructions that does nothing without Valgrind; under other tools, such as memcheck, it does nothing
//! either.

use core::arch::asm;

/// What Valgrind and its tools are asked for: the numbers of `valgrind.h`, `helgrind.h`, `drd.h`.
mod request {
    /// Those of helgrind; drd serves some of them.
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

/// Asks Valgrind; `default` without it, and under a tool that does not know the request.
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

/// Whether the tool looks for races.
#[must_use]
pub fn is_race_detector() -> bool {
    const UNKNOWN: usize = usize::MAX;
    let byte = 0u8;
    let place = (&raw const byte).addr();
    ask(0, request::DRD_GET_THREAD, 0, 0, 0) != 0
        || ask(UNKNOWN, request::HELGRIND_GET_ADDRESSABLE, place, 0, 1) != UNKNOWN
}

/// What happens before a later [`receive`] at that place.
pub fn send(place: usize) {
    ask(0, request::HELGRIND_SEND, place, 0, 0);
}

/// What happens after every [`send`] at that place.
pub fn receive(place: usize) {
    ask(0, request::HELGRIND_RECEIVE, place, 0, 0);
}

/// Ends the orders of a place, where another lock may begin.
pub fn forget(place: usize) {
    ask(0, request::HELGRIND_FORGET, place, 0, 0);
}

/// Leaves so many bytes out of the search for races, until their memory is used anew.
pub fn untrack(place: usize, size: usize) {
    ask(0, request::HELGRIND_UNTRACK, place, size, 0);
    ask(0, request::DRD_UNTRACK, place, size, 0);
}

/// Has the tool report what the calling thread does, or not; as often as the other before.
pub fn report(reports: bool) {
    let more = if reports { usize::MAX } else { 1 };
    ask(0, request::CHANGE_ERROR_REPORTS, more, 0, 0);
}
