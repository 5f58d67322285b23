//! The names of the baselines: locks of a simulated machine outside the catalogue.

/// Whether a simulated machine has an additional lock of that name, outside the catalogue.
#[must_use]
pub fn is_baseline(name: &str) -> bool {
    BASELINES.contains(&baseline(name).as_str())
}

/// The identifier of a baseline, or of its alias.
pub fn baseline(name: &str) -> String {
    match name {
        "system" => "posix".to_owned(),
        name => name.replace('-', "_"),
    }
}

macro_rules! names {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        /// The identifiers of the baselines.
        const BASELINES: &[&str] = &[$(stringify!($name)),+];
    };
}
cohort_on_machine::for_each_baseline!(names);
