//! Locks that sections are brought to.

mod cc_synch;
mod request;
mod roster;
mod sanl;
