//! Statics and constructors, as natively, but for pools.

/// Declares a constructor.
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
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, $($_how:tt)+) => {
        $(#[$meta])* $vis static $name: $crate::door::Fixed<$node> = $crate::door::Fixed::new();
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
