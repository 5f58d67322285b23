//! Injected faults, switched on in a checker's build.

/// An injected fault by name: a step that the code could have forgotten. The mutation suite
/// switches it on and requires a checker to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw(pub &'static str);

/// A file's faults: its module, and their names.
#[cfg(checker)]
#[linkme::distributed_slice]
pub static FLAWS: [(&str, &[Flaw])];

/// Declares the faults of one file as constants in `flaw`, for [`mutant`](super::mutant) beside the
/// code that they break, and lists them for the mutation suite.
macro_rules! flaws {
    ($($(#[doc = $what:literal])* $name:ident = $text:literal;)+) => {
        pub(crate) mod flaw {
            $($(#[doc = $what])*
            pub(crate) const $name: $crate::door::Flaw = $crate::door::Flaw($text);)+

            #[cfg(checker)]
            #[linkme::distributed_slice($crate::door::FLAWS)]
            static HERE: (&str, &[$crate::door::Flaw]) =
                (module_path!().split_at(module_path!().len() - "::flaw".len()).0, &[$($name),+]);
        }
    };
}
pub(crate) use flaws;

/// Every file's policies.
#[cfg(world = "machine")]
#[linkme::distributed_slice]
pub static POLICIES: [&[Flaw]];

/// Declares the policies of one file as constants in `policy`, like [`flaws!`];
/// [`mutant`](super::mutant) switches one off. Locks still exclude then, and no model fails; a test
/// in virtual time must.
macro_rules! policies {
    ($($(#[doc = $what:literal])* $name:ident = $text:literal;)+) => {
        pub(crate) mod policy {
            $($(#[doc = $what])*
            pub(crate) const $name: $crate::door::Flaw = $crate::door::Flaw($text);)+

            #[cfg(world = "machine")]
            #[linkme::distributed_slice($crate::door::POLICIES)]
            static HERE: &[$crate::door::Flaw] = &[$($name),+];
        }
    };
}
pub(crate) use policies;
