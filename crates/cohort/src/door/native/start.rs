//! Look-ups made at the program's start or the library's loading. Later, the result is worse: there
//! may be many threads, some bound to a CPU, and a held lock that waits for it.
//!
//! If a linker drops this, the first thread that needs a result looks it up.

use super::cpus::cpus;
use super::fences::register;
use super::system::find_clock;
use super::thread::thread;

// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls before `main` and after the C library's. This one calls the kernel, and at most the C
// library's registration of fork handlers.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        register();
        let _ = cpus();
        find_clock();
        // The generation needs a page, and none may be left when a thread has to wait. Where pages
        // are not wiped, the C library calls handlers in a child in the order of registration.
        thread().settle();
    }
    at_start
};
