//! The stack that functions of the preload libraries take.

#[path = "../../../cohort/tests/support/frames.rs"]
mod of;

use cohort_cli::library::{self, Library};

/// The libraries, as the build script built them.
static LIBRARIES: [(&str, &Library); 3] = [
    ("usual", &library::USUAL),
    ("with compositions", &library::COMPOSITIONS),
    ("observing", &library::OBSERVING),
];

/// Compositions have hundreds of kilobytes, and are made where they are to lie.
#[test]
fn no_function_has_a_large_frame() {
    for (name, library) in LIBRARIES {
        let largest = of::largest(&library.bytes);
        assert!(largest < of::MOST, "{name}: {largest} bytes");
    }
}
