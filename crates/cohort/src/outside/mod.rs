//! What only programs of this machine have: the standard library's time, and other crates'
//! traits.  No lock uses it, and no checker's world has it.

#[cfg(feature = "std")]
mod instant;
#[cfg(feature = "lock_api")]
mod lock_api;
