//! A lock for any address (GLS; Antić et al. 2016 §4), without declaration, choice or destruction.
//!
//! ```
//! use cohort_service::gls;
//!
//! static ACCOUNTS: [std::sync::atomic::AtomicU64; 2] = [const { std::sync::atomic::AtomicU64::new(50) }; 2];
//!
//! let held = gls::lock(&ACCOUNTS[0]);
//!  // Another thread that locks that account waits here; the other account has its own lock.
//! drop(held);
//! ```
//!
//! Locks are [`glk`](cohort::adaptive::Glk), and adapt to their use. A lock takes 64 bytes from its
//! key's first use until the key is [freed](gls::free), and its table entry 32 to 64 more. All
//! memory is pages from the kernel, never an allocator's; freed locks serve other keys.
//! For the C library, an address can have a lock of another [algorithm](kind::Algorithm).
//!
//! **Not for** a lock with memory of its own: [`cohort::Mutex`] saves the look-up.
#![no_std]

pub mod gls;
pub mod kind;
mod lock;
mod reported;
mod rooms;
mod table;
