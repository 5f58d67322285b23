//! What the locks and their users share.

mod condvar;
mod records;
mod service;
