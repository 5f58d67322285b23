//! Names of trees of queues beyond the catalogue's: with levels, a bound on a cohort's consecutive
//! acquisitions, and a way to time out.
//!
//! The interposer without compositions has no such trees, and omits this code.

use super::catalogue::Catalogue;
use super::levels::read_levels;
use super::mistake::Mistake;
use super::said::{Lock, Name};
use super::words::{ENDLESS, NAIVE, PEERS, PESSIMISTIC};
use crate::list::cut;
use crate::recipe::{Bound, TREE_LEVELS};
use crate::tree::{Abandonment, Tree, TreeKind};

impl Catalogue {
    /// The tree of that name, before any `/`; `None` if it is no tree's name.
    pub(super) fn tree<'a>(base: &'a str) -> Option<Result<Name<'a>, Mistake<'a>>> {
        let (head, at) = cut(base, b'@');
        let (kind, depth) = TreeKind::ALL.into_iter().find_map(|kind| {
            let depth = head.strip_prefix(kind.name())?.strip_prefix('-')?;
            let is_number = !depth.is_empty() && depth.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some((kind, depth))
        })?;
        let depth = match depth.parse() {
            Ok(depth) if (1..=TREE_LEVELS as u8).contains(&depth) => depth,
            _ => return Some(Err(Mistake::TreeDepth(kind))),
        };
        let tree = Tree {
            kind,
            depth,
            abandonment: Abandonment::default(),
        };
        let mut name = Name::of(Lock::Tree(tree));
        if let Some(levels) = at {
            match read_levels(levels) {
                Ok(levels) => name.levels = Some(levels),
                Err(why) => return Some(Err(why)),
            }
        }
        Some(Ok(name))
    }

    /// The tree of the catalogue's lock at that index: one of its other names spells it out.
    pub(super) fn listed_tree(&self, place: usize) -> Option<Name<'static>> {
        let mut words = self.line(place)?.split(' ');
        words.find_map(|word| word.contains('@').then(|| Self::tree(word)?.ok())?)
    }

    /// The same name, if all parts of it fit together: the catalogue's, if it says nothing else.
    pub(super) fn as_listed<'a>(&self, mut name: Name<'a>) -> Result<Name<'a>, Mistake<'a>> {
        let Lock::Tree(tree) = name.lock else {
            return Ok(name);
        };
        if let Some(levels) = name.levels {
            if levels.len() + 1 != usize::from(tree.depth) {
                return Err(Mistake::TreeLevels(tree.depth));
            }
            if !levels.are_ordered() {
                return Err(Mistake::LevelOrder);
            }
        }
        if name.levels == Some(tree.usual_levels()) {
            name.levels = None;
        }
        let plain = |mut other: Name<'static>| {
            if let Lock::Tree(tree) = other.lock
                && other.levels == Some(tree.usual_levels())
            {
                other.levels = None;
            }
            other
        };
        let mut places = 0..self.names.lines().count();
        let same = places.find(|place| {
            let listed = self.listed_tree(*place).map(plain);
            listed.is_some_and(|listed| listed == name)
        });
        let listed = same.and_then(|place| Some((place, self.name(place)?)));
        Ok(listed.map_or(name, |(place, name)| Name::of(Lock::Listed { place, name })))
    }
}

/// A refinement after a `/`, for a tree.
pub(super) fn refine<'a>(
    name: &mut Name<'_>,
    tree: Tree,
    part: &'a str,
) -> Result<(), Mistake<'a>> {
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_number.then(|| digits.parse::<u32>().ok())?;
        number.filter(|number| *number > 0)
    };
    let wrong = Mistake::NoTreeRefinement(part);
    if let Some(times) = number(part) {
        name.bound = Some(Bound::hand_offs(times));
        return Ok(());
    }
    let abandonment = match part {
        ENDLESS => {
            name.bound = Some(Bound::ENDLESS);
            return Ok(());
        }
        NAIVE => Abandonment {
            naive: true,
            ..tree.abandonment
        },
        PESSIMISTIC => Abandonment {
            pessimistic: true,
            ..tree.abandonment
        },
        _ => Abandonment {
            peers: Some(part.strip_prefix(PEERS).and_then(number).ok_or(wrong)?),
            ..tree.abandonment
        },
    };
    if !tree.kind.gives_up() {
        return Err(Mistake::NoAbandonment(tree.kind, part));
    }
    name.lock = Lock::Tree(Tree {
        abandonment,
        ..tree
    });
    Ok(())
}
