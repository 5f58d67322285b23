//! Imports for the files of `checks`: clients, bounds, locks.

pub use super::bounds::*;
pub use super::carrier::Little;
pub(crate) use super::models::models;
pub use super::models::{Model, deep, lighter, quick};
pub(crate) use super::mutants::looked_for_in;
pub use super::returned;
pub(crate) use crate::again_clients as again;
pub(crate) use crate::arrival_clients as arrivals;
pub(crate) use crate::checks::as_in;
pub use crate::checks::{ALL, CELL, Checked, Small, SmallAClof, Standard, Whole};
pub use crate::clients::condvar::{Looking, Queued};
pub use crate::clients::glk::{self, Backwards, Forwards, InAndOut, InMutex, ToAndFro};
pub use crate::clients::near_wrap::NearWrap;
pub use crate::clients::object::{Beginning, CROWDED, NAMED, NAMELESS};
pub use crate::clients::recipes::{ClhHemlock, HemlockTicket, McsClh, McsTicketClh, TicketMcs};
pub use crate::clients::service::Noted;
pub use crate::clients::{
    arena, barrier, condvar, destroy, gate, host, mutex, near, object, once, p_sim, rwlock,
    semaphore, service, waking, waking_shared,
};
pub(crate) use crate::delegate_clients::{
    self as delegate, Always, Apart, Boxed, Bringing, Chained, Combining, Growing, Hastily,
    Passing, Patiently, Places, Polling, Queueing, RidesFrom, Scarce, Seldom, Settling, Soon,
    Staying, Voting, Waiting,
};
pub(crate) use crate::fork_clients as fork;
pub(crate) use crate::guard_clients as guard;
pub use crate::locks::abortable::*;
pub use crate::locks::adaptive::*;
pub use crate::locks::baseline::*;
pub use crate::locks::basic::*;
pub use crate::locks::compose::*;
pub use crate::locks::delegation::sanl_plus::{IN_PLACE, QUEUE, Usual};
pub use crate::locks::delegation::*;
pub use crate::locks::door::{self, thread_id};
pub use crate::locks::host::Gate;
pub use crate::locks::numa::hmcs::{ByFastPath, Entry};
pub use crate::locks::numa::*;
pub use crate::locks::rwlock::{Abandoning, CohortRw, RawRwLock};
pub use crate::locks::tree::Abandonment;
pub use crate::locks::wait::{MayPark, SpinOnly};
pub(crate) use crate::migrating_clients::{self as migrating, Hesitant};
pub(crate) use crate::order_clients as order;
pub(crate) use crate::pair_clients::{self as pairs, AcquireBy, Free, Limit};
pub(crate) use crate::record_clients as records;
pub(crate) use crate::sample_clients as samples;
pub(crate) use crate::standing_clients as standing;
pub(crate) use crate::watch_clients as watch;

/// Ignores the lists for the simulated machine.
macro_rules! on_machine {
    ($($any:tt)*) => {};
}
pub(crate) use on_machine;

/// Runs a client of a lock without a queue in its mutex: the default lock's queues have models of their
/// own, and would multiply these.
pub fn by_word(client: impl FnOnce()) {
    FutexHmcs::never_queue();
    client();
}
