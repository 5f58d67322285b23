//! Levels of models.

use crate::runner::prelude::*;

/// A level with one cohort.
#[derive(Default)]
pub struct Whole;

impl StaticLevel for Whole {
    fn cohort() -> usize {
        0
    }
}
