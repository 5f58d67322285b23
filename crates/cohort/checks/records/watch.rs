//! Checks of watches that come and go while a thread writes down what it does.

use crate::runner::prelude::*;

models![quick("watch::come_and_go", SPIN_5, || watch::come_and_go(
    2
)),];
