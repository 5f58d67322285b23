//! Flaws that change nothing, each with the argument why.

/// Name of the mutant and why no execution can tell it from the original.
pub static EQUIVALENT: &[(&str, &str)] = &[];
