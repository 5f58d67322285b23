//! Mistakes in a lock's name, with messages that say what to write instead.

use super::catalogue::Catalogue;
use super::nearest::Nearest;
use super::words::{
    ABORTABLE, Assignment, Build, BypassPolicy, NAIVE, PEERS, PESSIMISTIC, PREFIX, Refinement,
    SYSTEM,
};
use crate::recipe::{Basic, LEVELS, Level, TREE_LEVELS};
use crate::tree::TreeKind;
use core::fmt::{self, Formatter};

/// A mistake in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake<'a> {
    /// The catalogue has no lock of that name.
    Unknown(&'a str, &'static Catalogue),
    /// No basic lock for compositions has that name.
    NoBasic(&'a str),
    /// A composition has too many locks.
    TooDeep,
    /// A lock for the top stands below it.
    BelowTop,
    /// The levels do not end with the system's.
    NoSystem,
    /// No level has that name.
    NoLevel(&'a str),
    /// That many locks need another number of levels.
    Depth(usize),
    /// A level stands below one with smaller cohorts.
    LevelOrder,
    /// Kernels do not report that level.
    Untold(Level),
    /// Trees of that kind have another number of levels.
    TreeDepth(TreeKind),
    /// A tree with that many levels has other levels, or another number of them.
    TreeLevels(u8),
    /// This refinement cannot follow the name of a tree.
    NoTreeRefinement(&'a str),
    /// The waiters of such a tree cannot time out in that way.
    NoAbandonment(TreeKind, &'a str),
    /// No refinement can follow this name.
    NothingToRefine(&'a str, &'static Catalogue),
    /// This refinement cannot follow the name.
    NoRefinement(&'a str),
    /// Threads of that cohort lock always go through their cohort.
    NoBypass(&'static str, BypassPolicy),
    /// `abortable` for a name that is no composition.
    OnlyCompositionsAbort,
    /// The waiters of that lock cannot time out.
    Stays(Basic),
    /// The composition cannot be built at run time.
    NotStacked,
    /// The composition is not built by the compiler.
    NotCompiled,
    /// Only a simulated machine assigns threads to cohorts like that.
    Assigned(Assignment),
    /// A tree for comparisons only.
    Published(TreeKind),
    /// The result of tuning has not been looked up.
    Tuned,
}

impl fmt::Display for Mistake<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown(word, catalogue) => {
                write!(f, "unknown lock `{word}`")?;
                hint(f, &catalogue.nearest(word))
            }
            Self::NoBasic("bo") => write!(
                f,
                "`bo` detects waiters only if they have timeouts: add /{ABORTABLE}, or use c-bo-bo \
                 or c-bo-mcs"
            ),
            Self::NoBasic("ptl") => f.write_str(
                "`ptl` takes ten cache lines, too much for a lock of each cohort: use ticket, or \
                 c-ptl-tkt, with ptl at the top",
            ),
            Self::NoBasic(word) => {
                write!(f, "unknown basic lock `{word}`, expected one of ")?;
                list(f, Basic::STACKED.into_iter().map(Basic::name))?;
                f.write_str(", or near at the top")?;
                let known = Basic::TOPS.into_iter().chain(Basic::STACKED);
                close(f, word, known.map(Basic::name))
            }
            Self::TooDeep => write!(
                f,
                "a composition has at most {LEVELS} levels, a tree {TREE_LEVELS}"
            ),
            Self::BelowTop => {
                f.write_str("the locks below the top are ")?;
                list(f, Basic::ALL.into_iter().map(Basic::name))?;
                f.write_str(" only")
            }
            Self::NoSystem => write!(f, "its last level is `{SYSTEM}`"),
            Self::NoLevel(word) => {
                write!(f, "unknown level `{word}`, expected one of ")?;
                list(f, Level::ALL.into_iter().map(Level::name))?;
                write!(f, " and {SYSTEM}")?;
                close(f, word, Level::ALL.into_iter().map(Level::name))
            }
            Self::Depth(locks) => write!(f, "{locks} locks need {locks} levels"),
            Self::LevelOrder => f.write_str("levels go from the smallest cohort to the largest"),
            Self::Untold(level) => write!(
                f,
                "the level `{}` exists on simulated machines only (--on)",
                level.name()
            ),
            Self::TreeDepth(kind) => write!(
                f,
                "a tree has 1 to {TREE_LEVELS} levels: `{0}-1` to `{0}-{TREE_LEVELS}`",
                kind.name()
            ),
            Self::TreeLevels(depth) => write!(
                f,
                "a tree of depth {depth} needs {depth} levels, with `{SYSTEM}` last"
            ),
            Self::NoTreeRefinement(word) => {
                write!(
                    f,
                    "found `/{word}`, expected a hand-off bound (/64) or, with timed waiters, /{NAIVE}, \
                     /{PESSIMISTIC} or /{PEERS}8"
                )?;
                close(f, word, [NAIVE, PESSIMISTIC, "peers-8"].into_iter())
            }
            Self::NoAbandonment(kind, word) => write!(
                f,
                "waiters of {0}-… have no timeout: /{word} is for {1}-… and a{1}-…",
                kind.name(),
                TreeKind::HmcsT.name()
            ),
            Self::NothingToRefine(word, catalogue) => {
                write!(
                    f,
                    "`{word}` accepts no `/`; it is for {PREFIX}…, trees ({}-…) and ",
                    TreeKind::Hmcs.name()
                )?;
                let abortable = catalogue.abortable_cohort_locks.lines();
                list(f, catalogue.cohort_locks.lines().chain(abortable))
            }
            Self::NoRefinement(word) => {
                write!(
                    f,
                    "found `/{word}`, expected a number of hand-offs (/100), a time (/20us), /endless, \
                     /random, /balanced or /pathological; for cohort locks also /bypass and \
                     /adaptive, for {PREFIX}… /stacked, /compiled and /{ABORTABLE}"
                )?;
                close(f, word, Refinement::ALL.into_iter().map(Refinement::name))
            }
            Self::NoBypass(name, policy) => {
                write!(
                    f,
                    "{name} has no /{policy}, since its waiters have timeouts"
                )
            }
            Self::OnlyCompositionsAbort => write!(
                f,
                "`/{ABORTABLE}` is for {PREFIX}…; `cohort list` shows other locks with timeouts"
            ),
            Self::Stays(lock) => {
                write!(f, "waiters of `{}` have no timeout: use ", lock.name())?;
                list(f, Basic::ABORTABLE.into_iter().map(Basic::name))
            }
            Self::NotStacked => write!(
                f,
                "near needs a static composition: add /{}",
                Build::Compiled
            ),
            Self::NotCompiled => {
                write!(f, "/{} is for compositions of ", Build::Compiled)?;
                list(f, Basic::ALL.into_iter().map(Basic::name))
            }
            Self::Assigned(assignment) => write!(
                f,
                "/{assignment} is for simulated machines; on this one, use a cohort file (--cohorts)"
            ),
            Self::Published(kind) => write!(
                f,
                "{}-… is for comparisons in `bench`; programs use {}-…",
                kind.name(),
                TreeKind::HmcsT.name()
            ),
            Self::Tuned => f.write_str("only the command `cohort` resolves tuned locks"),
        }
    }
}

impl core::error::Error for Mistake<'_> {}

fn list<'a>(f: &mut Formatter<'_>, words: impl Iterator<Item = &'a str>) -> fmt::Result {
    for (place, word) in words.enumerate() {
        let separator = if place > 0 { ", " } else { "" };
        write!(f, "{separator}{word}")?;
    }
    Ok(())
}

/// The word that may have been meant, if one of `words` is close.
fn close<'a>(
    f: &mut Formatter<'_>,
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    let mut nearest = Nearest::new();
    // A known word in the wrong place: no other was meant.
    for known in words.filter(|known| *known != word) {
        nearest.consider(word, known, known);
    }
    hint(f, &nearest)
}

fn hint(f: &mut Formatter<'_>, nearest: &Nearest<'_>) -> fmt::Result {
    let last = nearest.names().count().saturating_sub(1);
    for (place, name) in nearest.names().enumerate() {
        let before = match place {
            0 => "; did you mean ",
            _ if place == last => " or ",
            _ => ", ",
        };
        write!(f, "{before}`{name}`")?;
    }
    if nearest.names().next().is_some() {
        f.write_str("?")?;
    }
    Ok(())
}
