//! Scalable, NUMA-aware, abortable, adaptive locks.
//!
//! [`Mutex`], [`RwLock`] and [`Condvar`] are what most programs want; the first two take any
//! other lock as their second parameter:
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
//! A lock that carries a context with each acquisition, as a queue does, has guards like any
//! other, whose context is in a block of a pool, and closures, which have it in their frame.
//! What a lock cannot do does not compile, and the compiler says what to use instead.
//!
//! # Coming from `std` or `parking_lot`
//!
//! All that `parking_lot` 0.12 exports, its types being those of `lock_api`; `std` has a part of it.
//!
//! | there | here |
//! |---|---|
//! | `Mutex::new`, `const_mutex`, `const_new` | [`Mutex::new`] is `const`; [`Mutex::from_raw`] for a static under another lock than the default |
//! | `lock`, `try_lock`, `try_lock_for`, `try_lock_until`, `is_locked`, `get_mut`, `into_inner`, `force_unlock`, `data_ptr`, `raw` | the same; [`Mutex::lock_within`] where there is no `std` |
//! | `make_guard_unchecked`, `make_read_guard_unchecked`, `make_write_guard_unchecked`, `make_upgradable_guard_unchecked` | the same; of mutexes under locks without contexts, since a guard has the context by which it holds the lock |
//! | `MutexGuard`, `MappedMutexGuard`, `map`, `try_map`, `unlocked`, `leak`, `mutex` | the same; `try_map_or_err` is `try_map` |
//! | `unlock_fair`, `unlocked_fair`, `bump`, `force_unlock_fair`, of any lock | the same; of mutexes under a lock that has a [fair release](ReleaseFairly). Without it, a thread that has waited for half a millisecond has the default lock next |
//! | `FairMutex`, its guards, `const_fair_mutex` | the same, and its waiters with deadlines stand beside the queue; or [`Mutex`] under any other lock that serves in order |
//! | `RwLock::new`, `const_rwlock`, `read`, `write`, `try_…`, `try_…_for`, `try_…_until`, `is_locked`, `is_locked_exclusive`, `get_mut`, `into_inner`, `force_unlock_…`, `data_ptr`, `raw` | the same |
//! | `read_recursive`, `try_read_recursive`, `try_read_recursive_for` | the same; `read` passes a waiting writer too, after 5 ms; once one had to, at once in a thread that has taken a read lock since |
//! | `RwLockReadGuard`, `RwLockWriteGuard`, their mapped forms, `map`, `try_map`, `unlocked` | [`ReadGuard`], [`WriteGuard`], [`MappedReadGuard`], [`MappedWriteGuard`], the same |
//! | `RwLockWriteGuard::rwlock`, `RwLockReadGuard::rwlock` | [`WriteGuard::rwlock`]; not of readers: threads may share their guards to which the data may not go |
//! | `upgradable_read`, `RwLockUpgradableReadGuard`, `upgrade`, `try_upgrade…`, `with_upgraded`, `try_with_upgraded`, `unlocked`, `downgrade`, `RwLockWriteGuard::downgrade`, `downgrade_to_upgradable` | the same, [`UpgradableGuard`], under the default lock |
//! | `Condvar`, `wait`, `wait_for`, `wait_until`, `wait_while`, `wait_while_for`, `wait_while_until`, `notify_one`, `notify_all`, `WaitTimeoutResult` | the same, under every lock, also with several mutexes |
//! | `ReentrantMutex`, `const_reentrant_mutex`, `lock`, `try_…`, `is_owned_by_current_thread`, `data_ptr`, `raw`, `force_unlock`, its guards, `map`, `try_map`, `unlocked`, `remutex` | the same, under every lock |
//! | `Once`, `OnceState`, `call_once`, `call_once_force`, `state` | the same, poisoning included |
//! | `lock_arc`, `try_lock_arc`, `read_arc`, `write_arc`, `read_arc_recursive`, `try_…_arc`, `try_…_arc_for` (feature `arc_lock`) | the same (feature `std`) of [`Mutex`] and [`RwLock`] |
//! | `…_arc_until`, `upgradable_read_arc`, `ReentrantMutex::lock_arc`, `into_arc` | by `compat::parking_lot` |
//! | `RawMutex`, `RawFairMutex`, `RawRwLock`, `RawThreadId`, `lock_api` | by `compat::parking_lot`, of these locks |
//! | `Debug`, `Display`, `Default`, `From`; serde (feature `serde`) | the same |
//! | feature `deadlock_detection` | none; `cohort debug` finds deadlocks of C programs |
//! | features `owning_ref`, `nightly`, `hardware-lock-elision`, `send_guard` | none; guards of mutexes and writers may always go to another thread |
//! | the whole crate, by its own names | `compat::parking_lot` (feature `lock_api`) |
//! | `lock_api::Mutex<R, T>`, `lock_api::RwLock<R, T>` | feature `lock_api`: `R` is [`numa::FutexHmcs`], [`FairLock`], or one of [`basic`] that needs no context; [`rwlock::RawRwLock`] |
//! | poisoning of locks (`std`) | none: a panic unlocks |
//!
//! A [`Mutex`] takes 8 bytes beside its data (`parking_lot`: 1, `std`: 5), a [`RwLock`] 16, a
//! [`Condvar`] 20 and a [`Once`] 4. Waiters of a condition go in the order in which they came.
//!
//! # Features
//!
//! `std` (on): deadlines by [`std::time::Instant`](https://doc.rust-lang.org/std/time/struct.Instant.html),
//! panics that come back from sections which another thread has run, sections that tasks bring
//! ([`Posting`]), guards that own an `Arc`. `lock_api`: the traits of that crate, and `compat`. `serde`: data behind
//! a lock is written and read as if there were none. `annotate`: for programs under Valgrind's race detectors, see
//! docs/testing.md. `internals`: see below.
//!
//! # Versions
//!
//! Until 1.0, a version that breaks programs, or asks for a later Rust, raises the second number,
//! as <https://semver.org> has it. That is promised of what is at the root, of the features, of
//! the locks in their rooms and of the guards, and of what [`catalogue`] says of names; bytes that
//! a lock takes, and its orders, are no part of it. What is beside a lock in its own module, its nodes
//! and contexts, may change with any version.
//!
//! The other packages of this project need this very version, with the feature `internals`: it opens the
//! platform layer (`door`), the hosts, the records and their like. Programs leave it off. Safe
//! functions below it are safe only as these packages call them.
//!
//! # Rooms
//!
//! [`basic`] holds one file per basic lock, [`baseline`] what they are compared
//! with, [`abortable`] those made to give up, [`adaptive`] those that choose how to wait,
//! [`compose`] what is made of them, [`numa`] the locks that know where their waiters run and are
//! not made so, [`delegation`] those that take the code to the data, [`rwlock`] those that readers
//! share, and [`catalogue`] lists what there is.
#![no_std]

pub mod abortable;
pub mod adaptive;
pub mod baseline;
pub mod basic;
pub mod catalogue;
pub mod compose;
mod condition;
#[cfg(internals)]
pub mod condvar;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod condvar;
#[cfg(internals)]
pub mod context;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod context;
mod defer;
mod delegated;
pub mod delegation;
#[cfg_attr(not(internals), doc(hidden), allow(dead_code, unused_imports))]
pub mod door;
mod fair;
mod fairly;
mod heed;
#[cfg(internals)]
pub mod host;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod host;
#[cfg(internals)]
pub mod made;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod made;
mod mutex;
pub mod numa;
mod once;
#[cfg(world = "native")]
mod outside;
mod padded;
#[cfg(feature = "std")]
mod posting;
#[cfg(internals)]
pub mod records;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod records;
mod reentrant;
#[cfg(internals)]
pub mod report;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod report;
pub mod rwlock;
#[cfg(internals)]
pub mod service;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod service;
mod token;
#[cfg(internals)]
pub mod wait;
#[cfg(not(internals))]
#[allow(dead_code, unused_imports, reason = "other packages use it")]
mod wait;
mod waking;

pub use cohort_raw::*;
pub use condition::{Condvar, WaitTimeoutResult};
pub use delegated::Delegated;
#[cfg(world = "native")]
pub use door::now;
pub use fair::{FairLock, FairMutex, FairMutexGuard, MappedFairMutexGuard};
pub use fairly::ReleaseFairly;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use once::{Once, OnceState};
#[cfg(world = "native")]
#[allow(unused_imports, reason = "without features there is nothing")]
pub use outside::*;
#[cfg(feature = "std")]
pub use posting::{Posting, RunAsync};
pub use reentrant::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
pub use rwlock::{
    MappedReadGuard, MappedWriteGuard, ReadGuard, RwLock, UpgradableGuard, WriteGuard,
};
pub use token::Token;
pub use wait::{MayPark, Parking, SpinOnly};
pub use waking::{LockAsync, Waking};
