//! Whether a program and this library fit together.

use crate::libc::ENOTSUP;
use core::ffi::c_int;

/// What `COHORT_VERSION` of a header says that fits this library: its first two numbers.
const VERSION: u32 = 0x00_01_00;

/// Tells whether this library serves programs that were compiled with that `COHORT_VERSION`:
/// 0, or `ENOTSUP`.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_check_version(version: u32) -> c_int {
    if version >> 8 == VERSION >> 8 {
        0
    } else {
        ENOTSUP
    }
}
