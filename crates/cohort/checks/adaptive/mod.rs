//! Locks that choose how their waiters wait.

mod glk;
