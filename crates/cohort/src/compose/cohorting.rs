//! The cohort locks of 000 §3, and 002's `c-mcs-mcs`, as compositions: one lock for each
//! NUMA node below one for all, named top lock first, which stay in a node for up to a
//! hundred acquisitions (000 §3.7).
//!
//! **Not for** machines of one node, where the lower lock is a lock too many.

use super::{Clof, Counted, Numa};
use crate::basic::{Bo, Mcs, Ptl, Ticket};

/// Hand-offs within a node after which another node has its turn (000 §3.7).
const HAND_OFFS: u32 = 100;

/// A cohort lock: `Local` in each node, `Global` above.
type Cohorts<Global, Local> = Clof<Local, Global, Numa, HAND_OFFS>;

/// `c-bo-bo` (000 §3.1).
pub type CBoBo = Cohorts<Bo, Counted<Bo>>;
/// `c-tkt-tkt` (000 §3.2).
pub type CTktTkt = Cohorts<Ticket, Ticket>;
/// `c-ptl-tkt` (000 §3.2).
pub type CPtlTkt = Cohorts<Ptl, Ticket>;
/// `c-bo-mcs` (000 §3.3).
pub type CBoMcs = Cohorts<Bo, Mcs>;
/// `c-tkt-mcs` (000 §3.5).
pub type CTktMcs = Cohorts<Ticket, Mcs>;
/// `c-mcs-mcs` (000 §3.4).
pub type CMcsMcs = Cohorts<Mcs, Mcs>;
