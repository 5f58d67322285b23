//! Locks made for waiters that can give up.  Other locks that support it: `tas`, `ttas` and `bo` in
//! [`basic`](crate::basic), `hbo` and `hmcs-t` in [`numa`](crate::numa).

pub mod bo;
pub mod clh;
pub mod clh_nb;
pub mod clh_try;
pub mod mcs;
pub mod mcs_nb;
pub mod mcs_try;
#[cfg(internals)]
pub mod swept;
#[cfg(not(internals))]
mod swept;

pub use bo::ABo;
pub use clh::AClh;
pub use clh_nb::ClhNb;
pub use clh_try::ClhTry;
pub use mcs::AMcs;
pub use mcs_nb::McsNb;
pub use mcs_try::McsTry;
