//! The basic locks, one file each, under their papers' names.

pub mod anderson;
pub mod bo;
pub mod clh;
pub mod clh_published;
mod forms;
pub mod futex;
pub mod hemlock;
pub mod hemlock_ctr;
pub mod k42;
pub mod malthusian;
pub mod mcs;
pub mod ptl;
pub mod reciprocating;
pub mod tas;
pub mod ticket;
pub mod ticket_apart;
pub mod ticket_delay;
pub mod ttas;

pub use anderson::Anderson;
pub use bo::Bo;
pub use clh::Clh;
pub use clh_published::ClhPublished;
pub use futex::Futex;
pub use hemlock::Hemlock;
pub use hemlock_ctr::HemlockCtr;
pub use k42::K42;
pub use malthusian::Malthusian;
pub use mcs::Mcs;
pub use ptl::Ptl;
pub use reciprocating::Reciprocating;
pub use tas::Tas;
pub use ticket::Ticket;
pub use ticket_apart::TicketApart;
pub use ticket_delay::TicketDelay;
pub use ttas::Ttas;
