//! Scalable, NUMA-aware, abortable, adaptive locks.
//!
//! Most programs need [`Mutex`], [`RwLock`] and [`Condvar`]. The first two take any other lock as
//! their second parameter:
//!
//! ```
//! static TOTAL: cohort::Mutex<u64> = cohort::Mutex::new(0);
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| *TOTAL.lock() += 1);
//!     }
//! });
//! assert_eq!(*TOTAL.lock(), 4);
//! ```
//!
//! Some locks, such as queues, have a context per acquisition. They have guards, with the context
//! in a block of a pool, and closures, with the context in their frame. An unsupported operation
//! does not compile; the compiler's message names an alternative.
//!
//! # Coming from `std` or `parking_lot`
//!
//! All exports of `parking_lot` 0.12, whose types are those of `lock_api`; `std` has a part of
//! them. Without a remark, names and behaviour are the same here.
//!
//! | there | here |
//! |---|---|
//! | `Mutex::new`, `const_mutex`, `const_new` | [`Mutex::new`]; [`Mutex::from_raw`] for other locks |
//! | `lock`, `try_lock`, `try_lock_for`, `try_lock_until` | without `std`: [`Mutex::lock_within`] |
//! | `is_locked`, `get_mut`, `into_inner`, `force_unlock`, `data_ptr`, `raw` | |
//! | `make_guard_unchecked`, `make_read_guard_unchecked` | locks without contexts only |
//! | `make_write_guard_unchecked`, `make_upgradable_guard_unchecked` | locks without contexts only |
//! | `MutexGuard`, `MappedMutexGuard`, `map`, `try_map` | `try_map_or_err` is `try_map` |
//! | `unlocked`, `leak`, `mutex` | |
//! | `unlock_fair`, `unlocked_fair`, `bump`, `force_unlock_fair` | locks with [`ReleaseFairly`] |
//! | `FairMutex`, its guards, `const_fair_mutex` | or [`Mutex`] under any other FIFO lock |
//! | `RwLock::new`, `const_rwlock`, `read`, `write` | |
//! | `try_…`, `try_…_for`, `try_…_until`, `is_locked`, `is_locked_exclusive` | |
//! | `get_mut`, `into_inner`, `force_unlock_…`, `data_ptr`, `raw` | |
//! | `read_recursive`, `try_read_recursive`, `try_read_recursive_for` | see below for `read` |
//! | `RwLockReadGuard`, `RwLockWriteGuard` | [`ReadGuard`], [`WriteGuard`] |
//! | their mapped forms, `map`, `try_map`, `unlocked` | [`MappedReadGuard`], [`MappedWriteGuard`] |
//! | `RwLockWriteGuard::rwlock` | [`WriteGuard::rwlock`] |
//! | `RwLockReadGuard::rwlock` | none: threads may share the guard of data that is not `Send` |
//! | `upgradable_read`, `RwLockUpgradableReadGuard` | [`UpgradableGuard`], under the default lock |
//! | `upgrade`, `try_upgrade…`, `downgrade`, `unlocked` | under the default lock |
//! | `with_upgraded`, `try_with_upgraded` | under the default lock |
//! | `RwLockWriteGuard::downgrade`, `downgrade_to_upgradable` | under the default lock |
//! | `Condvar`, `WaitTimeoutResult`, `notify_one`, `notify_all` | any lock, and several mutexes at a time |
//! | `wait`, `wait_for`, `wait_until` | |
//! | `wait_while`, `wait_while_for`, `wait_while_until` | |
//! | `ReentrantMutex`, `const_reentrant_mutex`, `lock`, `try_…`, its guards | any lock |
//! | `is_owned_by_current_thread`, `data_ptr`, `raw`, `force_unlock` | |
//! | `map`, `try_map`, `unlocked`, `remutex` | |
//! | `Once`, `OnceState`, `call_once`, `call_once_force`, `state` | poisoning included |
//! | feature `arc_lock`: `lock_arc`, `try_lock_arc` | feature `std`, for [`Mutex`] and [`RwLock`] |
//! | `read_arc`, `write_arc`, `read_arc_recursive`, `try_…_arc`, `try_…_arc_for` | feature `std` |
//! | `…_arc_until`, `upgradable_read_arc` | in `compat::parking_lot` |
//! | `ReentrantMutex::lock_arc`, `into_arc` | in `compat::parking_lot` |
//! | `RawMutex`, `RawFairMutex`, `RawRwLock`, `RawThreadId`, `lock_api` | in `compat::parking_lot` |
//! | `Debug`, `Display`, `Default`, `From`; serde (feature `serde`) | |
//! | feature `deadlock_detection` | feature `observe` and `cohort debug` |
//! | features `owning_ref`, `nightly`, `hardware-lock-elision` | none |
//! | feature `send_guard` | none; guards of mutexes and writers can always be sent |
//! | the entire crate, by its own names | `compat::parking_lot` (feature `lock_api`) |
//! | its version 0.13 | `compat::parking_lot_013` (feature `lock_api_05`) |
//! | `lock_api::Mutex<R, T>` | feature `lock_api`: `R` is a lock of this crate without contexts |
//! | `lock_api::RwLock<R, T>` | feature `lock_api`: `R` is [`rwlock::RawRwLock`] |
//! | poisoning of locks (`std`) | none: a panic unlocks |
//!
//! `R` in `lock_api::Mutex<R, T>` is [`numa::FutexHmcs`], [`FairLock`], or a lock of [`basic`]
//! without contexts.
//!
//! Even without a fair release, the default lock goes to a thread that has waited for half a
//! millisecond. Waiters of a [`FairMutex`] with deadlines stand beside its queue.
//!
//! [`RwLock::read`] too passes a waiting writer, after 5 ms. After the first such case, it passes at
//! once in a thread that holds a read lock acquired since.
//!
//! A [`Mutex`] takes 8 bytes beside its data (`parking_lot`: 1, `std`: 5), a [`RwLock`] 16, a
//! [`Condvar`] 20 and a [`Once`] 4. Condition waiters are notified by real-time priority, FIFO
//! among equals.
//!
//! # Features
//!
//! - `std` (on): deadlines by [`std::time::Instant`][Instant], guards that own an `Arc`, async tasks
//!   that delegate critical sections ([`Posting`]), and panics that propagate from critical sections
//!   run by another thread.
//! - `named`: `AnyLock`, a lock chosen by its name at run time. Compiles all
//!   locks.
//! - `dynamic_tls`: for plug-ins, which share the loader's small reserve of static thread-local
//!   storage. A thread's first operation may call `malloc`.
//! - `lock_api`: the traits of that crate's version 0.4, for locks without contexts, and `compat`.
//! - `lock_api_05`: those of its version 0.5, for all locks and compositions. Needs Rust 1.95.
//! - `serde`: serialises the data behind a lock as if it were bare.
//! - `annotate`: for programs under Valgrind's race detectors; see docs/testing.md.
//! - `observe`: [`Mutex`], [`RwLock`], [`ReentrantMutex`], [`Condvar`] and [`Delegated`] report to
//!   `cohort debug`, `profile` and `top`.
//! - `portable`, `platform`: see below.
//! - `internals`: see below.
//!
//! [Instant]: https://doc.rust-lang.org/std/time/struct.Instant.html
//!
//! # Platforms
//!
//! On Linux on x86-64 and aarch64, locks make system calls. On every other target with the standard
//! library and 64-bit atomics, and under Miri, they use the standard library alone; that was
//! compiled for macOS and Windows, and run on Linux only, where the feature `portable` selects it.
//! There:
//!
//! - The CPUs are one group to NUMA-aware locks.
//! - No lock is biased towards readers, and none is released by a plain store.
//! - A child forked from a process of several threads must not use locks.
//! - Waiting allocates memory and locks mutexes of the standard library: neither a global allocator
//!   nor a signal handler can use locks.
//! - Waiters are woken in FIFO order, whatever their real-time priority.
//! - The features `annotate`, `dynamic_tls` and `observe` have no effect.
//! - Threads of WebAssembly need a target with threads and a clock, as `wasm32-wasip1-threads`.
//!
//! Without an operating system, turn `std` off and `platform` on, and call `set_platform` with a type of your
//! own that has time, waiting and places (`Platform`; `examples/platform.rs`). Its wrong answers cost time, never
//! exclusion. There:
//!
//! - There are [`Mutex`], by default under [`Ttas`](basic::Ttas), and the locks of [`abortable`], [`basic`],
//!   [`compose`] and [`numa`]; no [`numa::FutexHmcs`], rwlock, condition, `Once` or delegation. A lock that asks
//!   for its thread's number ends the program.
//! - Waiters poll. An interrupt handler may acquire only locks that the interrupted code neither holds, nor waits
//!   for, nor is releasing.
//! - Nodes are in pools of 128. A guard of a queue lock has one while it exists; `clh`, `k42`, `hmcs-t` and the
//!   non-blocking locks also take one for a closure ([`Mutex::locking`]); a tree or composition keeps one for
//!   each cohort that has used it, until it is dropped. A lock that finds no node polls for one for long, then ends
//!   the program.
//! - Checked by the example on Linux and by compilation for `x86_64-unknown-none` and `aarch64-unknown-none`.
//!
//! # Versions
//!
//! Until 1.0, a version that breaks programs, or needs a later Rust, increments the second number,
//! as in <https://semver.org>. This covers the crate's root, the features, the locks in their
//! modules, the guards, and the names of [`catalogue`]. It does not cover the size of a lock or its
//! memory orders. Other items of a lock's module, such as nodes and contexts, may change with any
//! version.
//!
//! The other packages of this project need exactly this version, with the feature `internals`. It
//! exports the platform layer (`door`), the adapters (`host`), the records and similar modules.
//! Programs leave it off: safe functions there are safe only as these packages call them.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`basic`] | the basic locks, one file each |
//! | [`baseline`] | the locks for comparisons |
//! | [`abortable`] | locks designed for waiters that give up |
//! | [`adaptive`] | locks that choose how to wait |
//! | [`compose`] | compositions of basic locks |
//! | [`numa`] | other NUMA-aware locks |
//! | [`delegation`] | locks that move the code to the data |
//! | [`rwlock`] | reader–writer locks |
//! | [`catalogue`] | the list of all locks |
#![no_std]
#![cfg_attr(
    world = "platform",
    allow(dead_code, reason = "what needs threads' numbers is not exported")
)]

/// The examples of the package's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod abortable;
pub mod adaptive;
pub mod baseline;
pub mod basic;
pub mod catalogue;
pub mod compose;
#[cfg(not(world = "platform"))]
pub mod delegation;
#[cfg(world = "platform")]
#[allow(dead_code, unused_imports, reason = "it needs threads' numbers")]
mod delegation;
#[cfg_attr(not(internals), doc(hidden), allow(dead_code, unused_imports))]
pub mod door;
#[cfg(internals)]
pub mod host;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod host;
pub mod numa;
#[cfg(not(world = "platform"))]
pub mod rwlock;
#[cfg(world = "platform")]
#[allow(dead_code, unused_imports, reason = "it needs threads' numbers")]
mod rwlock;
#[cfg_attr(
    not(internals),
    allow(dead_code, unused_imports, reason = "other packages use it")
)]
mod support;
#[cfg_attr(
    world = "platform",
    allow(dead_code, unused_imports, reason = "most needs threads' numbers")
)]
mod sync;
#[cfg(internals)]
pub mod wait;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod wait;

pub use cohort_raw::*;
#[cfg(not(checker))]
pub use door::now;
#[cfg(world = "platform")]
pub use door::{Platform, PlatformIsSet, set_platform};
#[cfg(internals)]
pub use support::{condvar, context, made, records, report, service};
pub use sync::mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use sync::token::Token;
pub use wait::{MayPark, Parking, SpinOnly};

/// Types that need the calling thread's identity, themselves or for their locks: not with a program's own
/// platform.
#[cfg(not(world = "platform"))]
mod by_threads {
    pub use crate::sync::barrier::{Barrier, BarrierWaitResult};
    pub use crate::sync::condvar::{Condvar, WaitTimeoutResult};
    pub use crate::sync::delegated::Delegated;
    pub use crate::sync::fair::{FairLock, FairMutex, FairMutexGuard, MappedFairMutexGuard};
    pub use crate::sync::fair_release::ReleaseFairly;
    #[cfg(not(checker))]
    #[allow(unused_imports, reason = "without features there is nothing")]
    pub use crate::sync::interop::*;
    pub use crate::sync::lazy_lock::LazyLock;
    pub use crate::sync::once::{Once, OnceState};
    pub use crate::sync::once_lock::OnceLock;
    pub use crate::sync::pausing::Pausing;
    #[cfg(feature = "std")]
    pub use crate::sync::posting::{Posting, RunAsync};
    pub use crate::sync::reentrant::{
        MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard,
    };
    pub use crate::sync::rwlock::{
        MappedReadGuard, MappedWriteGuard, ReadGuard, RwLock, UpgradableGuard, WriteGuard,
    };
    pub use crate::sync::semaphore::{Semaphore, SemaphorePermit};
    pub use crate::sync::waking::shared::{ReadAsync, TaskReadGuard, TaskWriteGuard, WriteAsync};
    pub use crate::sync::waking::{LockAsync, Waking};
}
#[cfg(not(world = "platform"))]
pub use by_threads::*;
