//! `glk` for its sensitivity analysis (Antić et al. 2016 §3.1): fixed in a mode, or brought to
//! `mcs` at once, so that no run waits for the transition.

/// Stays in the mode `ticket`, without sampling its queue.
pub const IN_TICKET: &str = "glk/ticket";

/// Stays in the mode `mcs`.
pub const IN_MCS: &str = "glk/mcs";

/// Is in the mode `mcs` from its second critical section on, and adapts from there.
pub const FROM_MCS: &str = "glk/from-mcs";
