//! What happens when the library is loaded.  No caller relies on it: whichever call comes first
//! decides what serves the process, be it from a constructor that runs before ours.

use crate::choice::{Choice, choice};
use crate::mutex;

/// Decides, so that a program that never locks is proved to be served too, and from here on
/// spares plain mutexes the question.
// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls; this one needs nothing to have run before it.
#[used]
#[unsafe(link_section = ".init_array")]
static ANNOUNCE: extern "C" fn() = {
    extern "C" fn announce() {
        // Where mutexes have locks of their own, each is asked.
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
