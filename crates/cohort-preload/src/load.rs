//! Initialisation at load time. Optional: the first call decides the choice, even from a
//! constructor that runs before this library's.

use crate::choice::{Choice, choice};
use crate::mutex;

/// Makes the choice, so that a program without locks is counted as served too. Then lets plain
/// mutexes skip the check.
// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls; this one has no prerequisites.
#[used]
#[unsafe(link_section = ".init_array")]
static ANNOUNCE: extern "C" fn() = {
    extern "C" fn announce() {
        // Individual locks are looked up per mutex.
        #[cfg(feature = "compositions")]
        let all_alike = !crate::choice::is_assigning();
        #[cfg(not(feature = "compositions"))]
        let all_alike = true;
        if let (Choice::Ours(service), false) = choice()
            && all_alike
        {
            mutex::serve_by(service);
        }
        crate::count::follow_forks();
        #[cfg(feature = "observe")]
        crate::observe::prepare();
    }
    announce
};
