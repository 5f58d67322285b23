//! Locks made for waiters that can give up; others can as they are: `tas`, `ttas` and
//! `bo` in [`basic`](crate::basic), `hbo` and `hmcs-t` in [`numa`](crate::numa).

pub mod bo;
pub mod clh;

pub use bo::ABo;
pub use clh::AClh;
