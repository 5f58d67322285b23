//! Cohort's locks for C and C++: `cohort.h`, `cohort.hpp`.
//!
//! A mutex, a rwlock and a condition are a few words of the program's own, valid when all zero, and
//! need no destruction ([`mutex`], [`rwlock`], [`cond`]). Any address has a lock without
//! initialisation ([`gls`]), and any lock of the catalogue can be created by name ([`lock`],
//! [`shared`]). A token ends waits early ([`token`]). A delegated lock takes critical sections as
//! functions ([`delegate`]). Every function returns 0 or a value of `errno.h`, and changes `errno` itself
//! only where documented.
//!
//! `include/cohort.hpp` gives C++ programs the same as classes, on top of these functions.
//!
//! cbindgen generates `include/cohort.h` from these sources, below the text of `prelude.h`; `cargo
//! test -p cohort --test library` fails if it is stale.
//!
//! This library has thread records of its own, beside the preloaded library's. Both work in the
//! same process, independently.
#![no_std]

mod cond;
mod copies;
mod delegate;
mod gls;
mod libc;
mod lock;
mod mutex;
mod observed;
mod rwlock;
mod shared;
mod thread;
mod time;
mod token;
#[cfg(target_arch = "x86_64")]
mod valgrind;
mod version;

/// Reached only by a violated invariant or a system without memory.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    libc::say(format_args!("cohort: {}\n", info.message()));
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
