//! Lock names: the one notation by which people, programs and measurements name locks.
//!
//! ```text
//! mcs  default  hmcs-2@numa,system    a lock of the catalogue, or another name for it
//! system  posix                       the C library's own
//! clof:tkt-clh-tkt                    basic locks, smallest cohort first, at the levels that suit
//! clof:tkt-clh-tkt@cache,numa,system  at these levels
//! clof:best  clof:best@epyc-7352x2    the best by tuning, for this machine or for another
//! c-tkt-tkt/1000  c-tkt-tkt/20us      with another bound: hand-offs in a row, or time
//! c-tkt-mcs/endless                   with no bound: a cohort keeps the lock while it has waiters
//! c-tkt-mcs/bypass                    threads try the top lock first
//! c-tkt-mcs/adaptive                  and more rarely after failures
//! clof:tkt-mcs/stacked                built at run time, as for a preloaded program
//! clof:tkt-mcs/compiled               built by the compiler
//! clof:clh-bo-mcs/abortable           of the abortable forms of these locks,
//!                                     built by the compiler
//! c-ptl-tkt/random                    with threads in random cohorts, regardless of memory
//! hmcs-3@numa,blade,system            a tree of queues at these levels
//! hmcs-t-2/64  ahmcs-t-4              with a bound on a cohort's consecutive acquisitions
//! hmcs-t-3/naive  /pessimistic        with another way to time out
//! hmcs-t-3/peers-8                    holders skip that many nodes before they look higher
//! ```
//!
//! [`Catalogue::read`] is the only parser and the `Display` of [`Name`] the only printer: a printed
//! name reads back as the same name. Neither allocates, since the interposer reads a name before
//! its program has an allocator.

mod catalogue;
mod levels;
mod mistake;
mod nearest;
mod read;
mod said;
mod trees;
mod words;

pub use catalogue::Catalogue;
pub use mistake::Mistake;
pub use said::{Lock, Name, Servable};
pub use words::{Assignment, Build, BypassPolicy, PREFIX, SYSTEM, SYSTEM_LOCKS};
