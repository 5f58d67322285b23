//! The cohort command.
fn main() {}
