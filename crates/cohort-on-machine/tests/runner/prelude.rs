//! Imports for the files of `checks`: clients and locks. This runner has no models.

pub use super::bounds::{
    hands_few_waits_on, keeps_to_its_hand_offs, keeps_to_its_steps, passes_few_over,
    serves_claims_soon, serves_the_queue_between_claims,
};
pub use super::clients::few;
pub(crate) use super::flaws::on_machine;
pub use super::world::Client;
pub(crate) use crate::checks::as_in;
pub use crate::checks::{ALL, Checked, SmallAClof, Standard, Whole};
pub use crate::clients::condvar::{self, Queued};
pub use crate::clients::mutex;
pub use crate::clients::object::{Beginning, NAMED, NAMELESS};
pub use crate::clients::{gate, once, p_sim};
pub(crate) use crate::delegate_clients::Voting;
pub use crate::locks::abortable::*;
pub use crate::locks::adaptive::*;
pub use crate::locks::baseline::*;
pub use crate::locks::basic::*;
pub use crate::locks::compose::*;
pub use crate::locks::delegation::*;
pub use crate::locks::door::thread_id;
pub use crate::locks::numa::hmcs::{ByFastPath, Entry};
pub use crate::locks::numa::*;
pub use crate::locks::rwlock::{Abandoning, CohortRw};
pub use crate::locks::tree::Abandonment;
pub use crate::locks::wait::{MayPark, SpinOnly};
pub(crate) use crate::record_clients as records;
pub(crate) use crate::standing_clients as standing;

/// Ignores models, which are for loom.
macro_rules! models {
    ($($any:tt)*) => {};
}
pub(crate) use models;

/// Ignores lists of models.
macro_rules! looked_for_in {
    ($($any:tt)*) => {};
}
pub(crate) use looked_for_in;
