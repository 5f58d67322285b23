//! Creates the locks of one build of `cohort`. The world that includes this file, once for each
//! build, names its build `locks`, and keeps the words of a run's composition in `text`.

mod cohort_rw;
pub mod compositions;
pub mod delegates;
pub mod in_mode;
pub mod listed;
pub mod served;
pub mod shared;
pub mod trees;

use super::{locks, text};
use cohort::Patience;

/// How threads poll under this build: until `look` succeeds, or patience runs out. Blocks.
pub fn poll(look: &mut dyn FnMut() -> bool, patience: &Patience) -> bool {
    let mut spinner = locks::door::Spinner::new();
    loop {
        if look() {
            return true;
        }
        if locks::door::runs_out(patience) {
            return false;
        }
        spinner.turn();
    }
}
