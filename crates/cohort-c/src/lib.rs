//! Cohort's locks for C and C++: `cohort.h`, `cohort.hpp`.
//!
//! A mutex, a rwlock and a condition are a few words of the program's own, which are good when
//! they are all zero and need nothing to be destroyed ([`mutex`], [`rwlock`], [`cond`]); any
//! address has a lock without more ado ([`gls`]), and any lock of the catalogue is made by its
//! name ([`lock`]).  A word ends waits before their time ([`token`]).  To one kind sections are brought as functions ([`delegate`]).  Every function returns 0 or a value
//! of `errno.h`, and touches `errno` itself nowhere but where it says so.
//!
//! `include/cohort.hpp` gives C++ programs the same as classes, by these functions alone.
//!
//! `include/cohort.h` is made from these sources by cbindgen, below what stands in
//! `prelude.h`; `cargo test -p cohort --test library` says when it is stale.
//!
//! Beside the preloaded library this one has its own threads' records, and so works in the
//! same process; neither knows of the other.
#![no_std]

mod cond;
mod copies;
mod delegate;
mod gls;
mod libc;
mod lock;
mod mutex;
mod rwlock;
mod thread;
mod time;
mod token;
#[cfg(target_arch = "x86_64")]
mod valgrind;
mod version;

/// Only a violated invariant or a system without memory gets here.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    libc::say(format_args!("cohort: {}\n", info.message()));
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
