//! The lock that a load runs under.

use super::pthread::{Mutex, MutexKind};
use super::{Actor, CachePadded, Exclusion, Outcome, Raw};
use cohort::Delegated;

/// Options that choose a lock.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Choice {
    /// Kind of pthread mutex
    #[arg(long, value_enum, default_value_t, conflicts_with = "raw")]
    pub kind: MutexKind,
    /// Instead of a pthread mutex, use `parking_lot`, a raw lock of `cohort list`, data under a lock of
    /// `cohort list --delegates`, or `actor`, a thread that receives the critical sections
    #[arg(long, value_name = "NAME")]
    pub raw: Option<String>,
}

/// Load for any lock.
pub trait Load {
    /// Runs the load under `lock`.  Blocks.
    ///
    /// # Errors
    /// Missing prerequisites of the load, or misbehaviour of the lock.
    fn under(&self, lock: &impl Exclusion) -> Result<Outcome, String>;
}

impl Choice {
    /// Runs `load` under the lock of this choice.  Blocks.
    ///
    /// # Errors
    /// An unknown lock, a failed creation of a mutex, or an error of the load.
    pub fn run(&self, load: &impl Load) -> Result<Outcome, String> {
        let Some(name) = &self.raw else {
            let mutex =
                Mutex::new(self.kind).map_err(|error| format!("cannot create a mutex: {error}"))?;
            return load.under(&mutex);
        };
        if name == "parking_lot" {
            return load.under(&CachePadded(parking_lot::Mutex::new(())));
        }
        if name == "actor" {
            return load.under(&Actor::new()?);
        }
        if let Some(found) = cohort::catalogue::find_delegate(name) {
            macro_rules! dispatch {
                ($($name:ident, $delegate:ty, $about:literal, $source:literal, $can:tt;)+) => {
                    match found.identifier {
                        $(stringify!($name) => {
                            load.under(&CachePadded(Delegated::<(), $delegate>::from(())))
                        })+
                        other => Err(format!("`{other}` cannot be used by itself")),
                    }
                };
            }
            return cohort::for_each_delegate!(dispatch);
        }
        let found = cohort::catalogue::find(name).ok_or_else(|| {
            format!("unknown lock `{name}`; use `parking_lot`, `actor`, or a name of `cohort list` or `cohort list --delegates`")
        })?;
        macro_rules! dispatch {
            ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
               $source:literal, [$($capability:ident),*];)+) => {
                match found.identifier {
                    $(stringify!($name) => load.under(&CachePadded(Raw(<$lock>::default()))),)+
                    other => Err(format!("`{other}` cannot be used by itself")),
                }
            };
        }
        cohort::for_each_lock!(dispatch)
    }
}
