//! What is asked when the program starts, or the library is loaded, because the answer is worse
//! later: by then there may be many threads, some of them bound to a CPU, and a lock held that
//! has to wait for the answer.
//!
//! Should a linker leave this out, whoever needs an answer first asks for it.

use super::fences::register;
use super::spinner::cpus;

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        register();
        let _ = cpus();
    }
    at_start
};
