//! Locks with timed waiters.

mod bo;
mod clh;
mod clh_nb;
mod clh_try;
mod mcs;
mod mcs_nb;
mod mcs_try;
mod swept;
