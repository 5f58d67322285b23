//! A lock for any address (GLS; Antić et al. 2016 §4): nobody
//! has to declare one, to choose one or to free one.
//!
//! ```
//! use cohort_service::gls;
//!
//! static ACCOUNTS: [std::sync::atomic::AtomicU64; 2] = [const { std::sync::atomic::AtomicU64::new(50) }; 2];
//!
//! let held = gls::lock(&ACCOUNTS[0]);
//! // Another thread that locks that account waits here; the other account has a lock of its own.
//! drop(held);
//! ```
//!
//! Locks are [`glk`](cohort::adaptive::Glk): each adapts to how it is used.  A lock takes 64 bytes from
//! its key's first use until that is [freed](gls::free), and its place in the table 32 to 64 more; all
//! come in pages from the kernel, never from an allocator, and locks go to other keys then.
//! An address can have a lock of another [kind](kind::Kind) instead, for the library for C.
//!
//! **Not for** a lock that has a place of its own: [`cohort::Mutex`] saves the search.
#![no_std]

pub mod gls;
pub mod kind;
