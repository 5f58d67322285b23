//! What is asked when the program starts, or the library is loaded, because the answer is worse
//! later: by then there may be many threads, some of them bound to a CPU, and a lock held that
//! has to wait for the answer.
//!
//! Should a linker leave this out, the thread that needs an answer first asks for it.

use super::fences::register;
use super::spinner::cpus;
use super::system::find_clock;
use super::thread::thread;

// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls before `main`, and after it has begun those of the C library; this one calls the
// kernel, and at most that library's registration of fork handlers.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        register();
        let _ = cpus();
        find_clock();
        // Which process this is needs a page, and there may be none left when somebody waits;
        // and where a page is not wiped, the C library tells a child in the order in which it
        // was asked to.
        thread().settle();
    }
    at_start
};
