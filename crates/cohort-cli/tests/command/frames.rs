//! The stack that functions of the preload libraries take.

#[path = "../../../cohort/tests/support/frames.rs"]
mod of;

/// The libraries, as the build script built them.
const LIBRARIES: [(&str, &[u8]); 3] = [
    (
        "preload",
        include_bytes!(concat!(env!("OUT_DIR"), "/libcohort_preload.so")),
    ),
    (
        "compositions",
        include_bytes!(concat!(env!("OUT_DIR"), "/libcohort_compositions.so")),
    ),
    (
        "observe",
        include_bytes!(concat!(env!("OUT_DIR"), "/libcohort_observe.so")),
    ),
];

/// Compositions have hundreds of kilobytes, and are made where they are to lie.
#[test]
fn no_function_has_a_large_frame() {
    for (name, library) in LIBRARIES {
        let largest = of::largest(library);
        assert!(largest < of::MOST, "{name}: {largest} bytes");
    }
}
