//! The basic locks, one file each, under their papers' names.

pub mod anderson;
pub mod clh;
pub mod futex;
pub mod mcs;
pub mod ticket;

pub use anderson::Anderson;
pub use clh::Clh;
pub use futex::Futex;
pub use mcs::Mcs;
pub use ticket::Ticket;
