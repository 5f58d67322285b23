//! Loads for each lock, each run in a process of its own.

use crate::peers::{Origin, Peer};
use cohort_lab::workloads::address::{self, ByAddress};
use cohort_lab::workloads::{Exclusion, Outcome, handover, mutex, uncontended};
use std::ffi::CStr;

/// The prefix of the preload library's file name.
const LIBRARY: &str = "libcohort_preload";

/// A load.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Load {
    /// Lock and unlock an uncontended lock
    Alone(uncontended::Options),
    /// Two threads on two CPUs hand a lock to each other
    HandOver(handover::Options),
    /// Threads take one lock in turn
    Crowd(mutex::Load),
    /// Threads take locks that they find by addresses
    Keys(address::Load),
}

impl Load {
    /// Runs the load.  Blocks.
    pub fn under(&self, lock: &impl Exclusion) -> Result<Outcome, String> {
        match self {
            Self::Alone(options) => uncontended::under(lock, options),
            Self::HandOver(options) => handover::under(lock, options),
            Self::Crowd(options) => mutex::under(lock, options),
            Self::Keys(_) => Err("it is one lock, and found by nothing".to_owned()),
        }
    }

    /// Runs the load with locks found by address. Blocks.
    pub fn by_address(&self, locks: &impl ByAddress) -> Result<Outcome, String> {
        match self {
            Self::Keys(options) => address::under(locks, options),
            _ => Err("it is no single lock".to_owned()),
        }
    }

    /// Runs the load under `peer`, after checking the origin of this process's pthread functions. Blocks.
    pub fn run(&self, peer: &Peer) -> Result<Outcome, String> {
        let run = peer
            .run
            .ok_or("its library was not there when this was built")?;
        let provider = provider();
        let is_ours = provider.contains(LIBRARY);
        if is_ours != matches!(peer.from, Origin::Preloaded { .. }) {
            return Err(format!("pthread_mutex_lock is that of {provider}"));
        }
        run(self)
    }
}

/// The file of this process's `pthread_mutex_lock`.
fn provider() -> String {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let function = libc::pthread_mutex_lock as *const () as *const libc::c_void;
    // SAFETY: the address is a function's, and the place is writable.
    let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) } != 0;
    // SAFETY: all zeroes is a valid value too.
    let info = unsafe { info.assume_init() };
    if !found || info.dli_fname.is_null() {
        return "an unknown file".to_owned();
    }
    // SAFETY: the loader's names are strings that stay in place.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    name.to_string_lossy().into_owned()
}
