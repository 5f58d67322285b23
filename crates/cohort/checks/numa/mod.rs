//! NUMA-aware locks.

mod ahmcs;
mod cna;
mod fc_mcs;
mod fc_mcs_published;
mod fissile;
mod futex_hmcs;
mod hbo;
mod hclh;
mod hmcs;
pub mod hmcs_t;
mod hmcs_t_published;
mod near;
mod shfl;
