//! What serves a program's rwlocks: the values of `--rwlock`.

use serde::Deserialize;

/// What serves a program's rwlocks.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(try_from = "String")]
pub enum Rwlocks {
    /// One word that all readers write
    #[default]
    Rwlock,
    /// Readers counted where they share a cache, writers take the lock of `--lock`;
    /// neither preferred
    #[value(name = "c-rw-np")]
    Neutral,
    /// The same; writers are preferred for up to 5 ms
    #[value(name = "c-rw-wp")]
    WritersFirst,
    /// The C library's own
    #[value(alias = "posix")]
    System,
}

impl Rwlocks {
    const ALL: [Self; 4] = [
        Self::Rwlock,
        Self::Neutral,
        Self::WritersFirst,
        Self::System,
    ];

    /// The word that the library understands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rwlock => "rwlock",
            Self::Neutral => "c-rw-np",
            Self::WritersFirst => "c-rw-wp",
            Self::System => "system",
        }
    }

    /// Whether only the library with the compositions has it.
    pub fn is_composed(self) -> bool {
        matches!(self, Self::Neutral | Self::WritersFirst)
    }
}

impl TryFrom<String> for Rwlocks {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let name = if name == "posix" {
            "system"
        } else {
            name.as_str()
        };
        let found = Self::ALL.into_iter().find(|rwlocks| rwlocks.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join("`, `");
            format!("found `{name}`, expected one of `{names}`")
        })
    }
}
