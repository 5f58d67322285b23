//! Locks made for waiters that can give up.

mod bo;
mod clh;
mod clh_nb;
mod mcs;
mod mcs_nb;
mod swept;
