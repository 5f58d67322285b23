//! Statics and constructors, where atoms are `const`.

/// Declares a constructor, `const` where the backend's atoms allow it.
macro_rules! constructor {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}
pub(crate) use constructor;

/// An array of equal elements.
macro_rules! repeated {
    ($make:expr, $count:expr) => {
        [const { $make }; $count]
    };
}
pub(crate) use repeated;

/// Declares a static pool of nodes of one type.
macro_rules! pool {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, cache $cache:expr) => {
        $(#[$meta])* $vis static $name: $crate::host::Often<$node, $cache> = $crate::host::Often::new();
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, placed) => {
        $(#[$meta])* $vis static $name: $crate::host::Placed<$node> = $crate::host::Placed::new();
    };
}
pub(crate) use pool;

/// Declares a static.
macro_rules! process_wide {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $of:ty = $make:path) => {
        $(#[$meta])* $vis static $name: $crate::door::OfProcess<$of> =
            $crate::door::OfProcess::new($make());
    };
}
pub(crate) use process_wide;
