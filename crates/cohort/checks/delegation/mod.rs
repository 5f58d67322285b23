//! Delegation locks.

mod cc_synch;
mod fc;
mod h_synch;
mod oyama;
mod p_sim;
mod qd;
mod rcl;
mod request;
mod roster;
mod sanl;
mod sanl_plus;
mod thin;
mod told;
