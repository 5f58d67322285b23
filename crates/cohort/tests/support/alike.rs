//! The locks that the quick tier leaves out of tests of compiled code.

use std::any::type_name;

macro_rules! types {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        [$((stringify!($name), type_name::<$lock>())),+]
    };
}

/// Whether this is the full tier.
pub fn full() -> bool {
    std::env::var("COHORT_TIER").as_deref() == Ok("full")
}

/// Whether an earlier lock of the catalogue is the same type with other parameters, and so has the
/// same code: the quick tier tests the first only.
pub fn is_like_another(name: &str) -> bool {
    let types = cohort::for_each_lock!(types);
    let kind = |name: &'static str| name.split('<').next().unwrap_or(name);
    let place = types.iter().position(|(other, _)| *other == name);
    let place = place.expect("a lock of the catalogue");
    let (_, own) = types[place];
    types[..place]
        .iter()
        .any(|(_, other)| kind(other) == kind(own))
}

/// Prints, past the test runner's capture, that the quick tier has left out those locks and `more`.
pub fn tell_what_is_left(more: &str) {
    use std::io::Write as _;
    if full() {
        return;
    }
    let names = cohort::for_each_lock!(types).map(|(name, _)| name);
    let left = names.iter().filter(|name| is_like_another(name)).count();
    assert!(left > 0 && left < names.len(), "{left} of {names:?}");
    let said = format!(
        "left to the full tier (COHORT_TIER=full): {left} locks that are others with other \
         parameters, {more}\n"
    );
    std::io::stderr()
        .write_all(said.as_bytes())
        .expect("stderr is there");
}
