//! Basic locks.

mod anderson;
mod bo;
mod clh;
mod clh_published;
mod futex;
mod hemlock;
mod hemlock_ctr;
mod k42;
mod malthusian;
mod mcs;
mod ptl;
mod reciprocating;
mod tas;
mod ticket;
mod ticket_apart;
mod ticket_delay;
mod ttas;
