//! Locks made for waiters that can give up.

mod bo;
mod clh;
