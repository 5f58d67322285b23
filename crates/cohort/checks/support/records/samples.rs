//! Checks of samples that are collected while others are added.

use crate::runner::prelude::*;

models![
    quick("samples::one_place", SPIN, || samples::come_whole::<1>(3)),
    quick("samples::two_places", SPIN, || samples::come_whole::<2>(3)),
];
