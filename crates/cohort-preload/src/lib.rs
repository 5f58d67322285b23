//! The interposer: the pthread locks of an unchanged program, served by Cohort.
//!
//! Preloaded, this library's `pthread_mutex_*`, `pthread_cond_*`, `pthread_rwlock_*`,
//! `pthread_spin_*`, `mtx_*` and `cnd_*` take precedence over the C library's. State lives in the
//! program's own objects ([`layout`]). Objects are valid as the static initialisers leave them;
//! init and destroy functions are optional.
//!
//! The server of each mutex, alone and with a condition:
//!
//! | mutex | alone | with a private condition | with a shared condition |
//! |---|---|---|---|
//! | plain, adaptive | the chosen lock | ours | the C library's, in slices: it wakes spuriously every few milliseconds |
//! | recursive, error-checking | the chosen lock, and its owner | ours | the same |
//! | process-shared, robust, priority-inheriting or -protecting | the C library | ours; the mutex stays the C library's | the C library's |
//!
//! The library exports `prctl` and `syscall` too, to detect filters that forbid the locks' system
//! calls.
//!
//! Nothing here allocates, prints on standard output, depends on a constructor or runs at a
//! thread's exit, except that a traced thread's end is an event.
#![no_std]

#[cfg(feature = "compositions")]
mod by_cohort;
#[cfg(feature = "compositions")]
mod by_mutex;
mod c11;
mod choice;
#[cfg(feature = "compositions")]
mod compiled;
mod condvar;
mod count;
mod filter;
mod flags;
mod layout;
mod libc;
mod load;
#[cfg(feature = "compositions")]
mod mapped;
mod mutex;
mod next;
#[cfg(feature = "observe")]
mod observe;
mod owner;
mod rwlock;
mod serve;
mod spin;
mod time;
#[cfg(feature = "compositions")]
mod variable;

/// Reached only by a violated invariant or a system without memory.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    libc::say(format_args!("cohort: {}\n", info.message()));
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
