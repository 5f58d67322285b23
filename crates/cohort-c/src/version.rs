//! Compatibility of a program with this library.

use crate::libc::ENOTSUP;
use core::ffi::c_int;

/// The first two numbers of a compatible `COHORT_VERSION`.
const VERSION: u32 = 0x00_01_00;

/// Checks whether this library serves programs compiled with that `COHORT_VERSION`: 0, or
/// `ENOTSUP`.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_check_version(version: u32) -> c_int {
    if version >> 8 == VERSION >> 8 {
        0
    } else {
        ENOTSUP
    }
}
