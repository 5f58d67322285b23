//! A lock's printed name is parsed as the same name. The message about a wrong name states the
//! mistake, and the word that may have been meant.

use cohort::catalogue::{self, LOCKS};
use cohort::compose::generated;
use cohort::name::{Assignment, Build, BypassPolicy, Lock, Mistake, Name, SYSTEM_LOCKS, Servable};
use cohort::recipe::{Basic, Bound, LEVELS, Level, Levels, Locks, Recipe, TREE_LEVELS};
use cohort::tree::{Abandonment, Tree, TreeKind};

/// The number of random names.
const NAMES: u64 = 20_000;

/// Pseudo-random numbers, the same in each run.
struct Chance(u64);

impl Chance {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Sometimes one of these.
    fn maybe<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (self.below(3) == 0).then(|| self.one(of))
    }

    fn bound(&mut self) -> Bound {
        let hand_offs = self.one(&[0, 1, 7, 128, 100_000, u32::MAX]);
        let nanoseconds = self.one(&[0, 1, 999, 1_000, 20_000, 1_500_000, 3_000_000_000, u64::MAX]);
        Bound {
            hand_offs,
            nanoseconds,
        }
    }

    /// A name with any refinements of its kind.
    fn name(&mut self) -> Name<'static> {
        let assignments = [
            Assignment::Random,
            Assignment::Balanced,
            Assignment::Pathological,
        ];
        let mut name = match self.below(7) {
            0 => return Name::of(Lock::System),
            6 => return self.tree(),
            1 => {
                let info = self.one(LOCKS);
                let mut name = Name::of(listed(info.name));
                if !is_cohort_lock(info.name) {
                    return name;
                }
                if !info.name.starts_with("a-") {
                    name.bypass = self.maybe(&[BypassPolicy::Always, BypassPolicy::Adaptive]);
                }
                name
            }
            2 => Name::of(Lock::Best {
                machine: self.maybe(&["epyc-7352x2", "kunpeng-920x2"]),
            }),
            3 => {
                let top = self.one(&Basic::ABORTABLE);
                Name {
                    abortable: true,
                    ..self.composed(&Basic::ABORTABLE, top)
                }
            }
            _ if self.below(2) == 0 => {
                let top = self.one(&Basic::STACKED);
                let mut name = self.composed(&Basic::STACKED, top);
                name.build = self.maybe(&[Build::Stacked]);
                name
            }
            _ => {
                let top = self.one(&Basic::TOPS);
                let mut name = self.composed(&Basic::ALL, top);
                name.build = self.maybe(&[Build::Compiled, Build::Stacked]);
                if top == Basic::Near {
                    name.build = Some(Build::Compiled);
                }
                name
            }
        };
        if self.below(2) == 0 {
            name.bound = Some(self.bound());
        }
        name.assignment = self.maybe(&assignments);
        name
    }

    /// `depth - 1` random levels below the system.
    fn levels(&mut self, depth: usize) -> Levels {
        let mut levels = Level::ALL.to_vec();
        while levels.len() >= depth {
            levels.remove(self.below(levels.len()));
        }
        Levels::of(&levels).expect("they are few")
    }

    /// A tree that is not in the catalogue.
    fn tree(&mut self) -> Name<'static> {
        let kind = self.one(&TreeKind::ALL);
        let depth = 1 + self.below(TREE_LEVELS);
        let abandonment = if kind.gives_up() {
            Abandonment {
                naive: self.below(2) == 0,
                pessimistic: self.below(2) == 0,
                peers: self.maybe(&[1, 8, u32::MAX]),
            }
        } else {
            Abandonment::default()
        };
        let tree = Tree {
            kind,
            depth: depth as u8,
            abandonment,
        };
        let levels = self.levels(depth);
        Name {
            levels: (self.below(2) == 0 && levels != tree.usual_levels()).then_some(levels),
            // A tree of the catalogue has neither.
            bound: Some(Bound::hand_offs(self.one(&[1, 64, u32::MAX]))),
            ..Name::of(Lock::Tree(tree))
        }
    }

    fn composed(&mut self, below: &[Basic], top: Basic) -> Name<'static> {
        let depth = 1 + self.below(LEVELS);
        let mut locks: Vec<Basic> = (1..depth).map(|_| self.one(below)).collect();
        locks.push(top);
        let levels = self.levels(depth);
        Name {
            levels: (self.below(2) == 0).then_some(levels),
            ..Name::of(Lock::Composed(Locks::of(&locks).expect("they are few")))
        }
    }
}

fn listed(name: &str) -> Lock<'static> {
    let place = catalogue::place(name).expect("it is in the catalogue");
    Lock::Listed {
        place,
        name: catalogue::name(place).expect("it is there"),
    }
}

fn is_cohort_lock(name: &str) -> bool {
    name.starts_with("c-") || name.starts_with("a-c-")
}

fn is_tree(name: &str) -> bool {
    name.starts_with("hmcs-") || name.starts_with("ahmcs-")
}

fn said(text: &str) -> String {
    match catalogue::read(text) {
        Ok(name) => name.to_string(),
        Err(why) => why.to_string(),
    }
}

#[test]
fn every_name_of_the_catalogue_is_read_and_printed() {
    for info in LOCKS {
        for text in info.aliases.iter().chain([&info.name]) {
            let name = catalogue::read(text).expect("the catalogue has it");
            assert_eq!(name, Name::of(listed(info.name)), "{text}");
            assert_eq!(name.to_string(), info.name);
        }
        // Compositions and trees have a bound.
        let bounded = catalogue::read(&format!("{}/7", info.name)).is_ok();
        let can_be = is_cohort_lock(info.name) || is_tree(info.name);
        assert_eq!(bounded, can_be, "{}", info.name);
    }
    for text in SYSTEM_LOCKS {
        assert_eq!(catalogue::read(text), Ok(Name::of(Lock::System)));
    }
}

#[test]
fn every_composition_is_read_and_printed() {
    let mut count = 0;
    for locks in generated::all() {
        let name = Name::of(Lock::Composed(locks));
        assert_eq!(catalogue::read(&name.to_string()), Ok(name));
        count += 1;
    }
    assert_eq!(count, 4 + 16 + 64 + 256);
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    let mut chance = Chance(1);
    let mut refined = 0;
    for _ in 0..NAMES {
        let name = chance.name();
        let text = name.to_string();
        assert_eq!(catalogue::read(&text), Ok(name), "{text}");
        // The refinements may be in any order.
        let (base, rest) = text.split_once('/').unwrap_or((&text, ""));
        let mut parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        refined += usize::from(parts.len() > 1);
        parts.reverse();
        parts.insert(0, base);
        assert_eq!(catalogue::read(&parts.join("/")), Ok(name), "{parts:?}");
    }
    assert!(refined > 1_000, "chance makes too little: {refined}");
}

#[test]
fn recipes_are_kept_in_words_and_in_names() {
    let mut chance = Chance(2);
    let mut recipes = 0;
    for _ in 0..NAMES {
        let name = chance.name();
        let recipe = match name.servable() {
            Ok(
                Servable::Stacked(recipe)
                | Servable::Compiled(recipe)
                | Servable::Abortable(recipe),
            ) => recipe,
            _ => continue,
        };
        recipes += 1;
        assert_eq!(Recipe::of_words(recipe.to_words()), recipe, "{name}");
        let whole = Name {
            build: name.build,
            abortable: name.abortable,
            ..Name::from(&recipe)
        };
        assert_eq!(whole.servable(), name.servable(), "{name} {whole}");
        assert_eq!(catalogue::read(&whole.to_string()), Ok(whole));
    }
    assert!(recipes > 1_000, "chance makes too few: {recipes}");
}

/// A typing error results in another name or in a message: never in a panic, nor in a name that is
/// printed differently.
#[test]
fn slips_are_read_or_refused() {
    let mut chance = Chance(3);
    let letters: Vec<char> = "abcmstx-@/,:017ué".chars().collect();
    let (mut read, mut refused) = (0, 0);
    for _ in 0..NAMES {
        let mut text: Vec<char> = chance.name().to_string().chars().collect();
        for _ in 0..=chance.below(3) {
            let place = chance.below(text.len());
            match chance.below(3) {
                0 if text.len() > 1 => drop(text.remove(place)),
                1 => text.insert(place, chance.one(&letters)),
                _ => text[place] = chance.one(&letters),
            }
        }
        let text: String = text.into_iter().collect();
        match catalogue::read(&text) {
            Ok(name) => {
                read += 1;
                assert_eq!(catalogue::read(&name.to_string()), Ok(name), "{text}");
            }
            Err(why) => {
                refused += 1;
                assert!(!why.to_string().is_empty(), "{text}");
            }
        }
    }
    assert!(read > 100 && refused > 1_000, "{read} {refused}");
}

#[test]
fn one_name_is_printed() {
    for (typed, printed) in [
        ("clof:tkt-clh-hem", "clof:ticket-clh-hemlock"),
        ("clof:hemlock-ctr-mcs", "clof:hemlock_ctr-mcs"),
        (
            "clof:mcs-hemlock-hemlock-ctr",
            "clof:mcs-hemlock-hemlock_ctr",
        ),
        ("clof:ticket-mcs@numa,system", "clof:ticket-mcs@numa,system"),
        ("clof:mcs@system", "clof:mcs@system"),
        ("clof:best@epyc-7352x2/64", "clof:best@epyc-7352x2/64"),
        ("hmcs", "hmcs-2"),
        ("hticket/7", "c-tkt-tkt/7"),
        ("posix", "system"),
        ("hmcs-1", "hmcs-1"),
        ("hmcs-1@system/64", "hmcs-1/64"),
        ("hmcs/64", "hmcs-2/64"),
        ("hmcs-3@core,numa,system", "hmcs-3"),
        ("hmcs-3@core,numa,system/64", "hmcs-3/64"),
        ("hmcs-4-package/9", "hmcs-4@cache,numa,package,system/9"),
        ("hmcs-t-3@numa,blade,system", "hmcs-t-3@numa,blade,system"),
        ("ahmcs-t-4/peers-8/naive/64", "ahmcs-t-4/64/naive/peers-8"),
        ("hmcs-t/pessimistic", "hmcs-t-2/pessimistic"),
        ("c-tkt-tkt/1000", "c-tkt-tkt/1000"),
        ("c-bo-mcs/random/bypass", "c-bo-mcs/bypass/random"),
        ("c-bo-mcs/adaptive/9", "c-bo-mcs/9/adaptive"),
        ("c-tkt-tkt/20us/random", "c-tkt-tkt/20us/random"),
        ("c-tkt-tkt/20000ns", "c-tkt-tkt/20us"),
        ("c-tkt-tkt/20us/7", "c-tkt-tkt/7/20us"),
        ("c-tkt-mcs/endless", "c-tkt-mcs/endless"),
        ("c-tkt-mcs/4294967295", "c-tkt-mcs/endless"),
        ("c-tkt-mcs/7/20us/endless", "c-tkt-mcs/20us"),
        ("clof:mcs-mcs/random/endless", "clof:mcs-mcs/endless/random"),
        (
            "clof:clh-bo-mcs@cache,numa,system/abortable/64",
            "clof:clh-bo-mcs@cache,numa,system/64/abortable",
        ),
    ] {
        assert_eq!(said(typed), printed);
    }
}

#[test]
fn mistakes_are_named() {
    for (name, word) in [
        ("mcz", "did you mean `mcs`"),
        ("futex-hcms", "`futex-hmcs`"),
        ("systme", "`system`"),
        ("glk++", "`glk-plus`"),
        ("clof:", "``"),
        ("clof:mcs-", "``"),
        ("clof:tkt-xyz", "xyz"),
        ("clof:tickt-mcs", "did you mean `ticket`?"),
        ("clof:near-mcs", "below the top"),
        ("clof:bo-mcs", "add /abortable"),
        ("clof:mcs-ptl", "or c-ptl-tkt"),
        ("clof:ticket-ctr", "`ctr`"),
        ("clof:mcs-near/stacked", "near"),
        ("clof:k42-near", "below the top"),
        ("clof:k42-mcs/compiled", "/compiled is for"),
        ("clof:mcs-mcs-mcs-mcs-mcs", "at most 4"),
        ("clof:mcs-mcs@numa", "`system`"),
        ("clof:mcs-mcs@numasystem", "`system`"),
        ("clof:mcs-mcs@core,numa,system", "2 levels"),
        ("clof:mcs-mcs@system", "2 levels"),
        ("clof:mcs-mcs-mcs@numa,core,system", "smallest"),
        ("clof:mcs-mcs-mcs@numa,numa,system", "smallest"),
        ("clof:mcs-mcs@node,system", "node"),
        ("clof:mcs-mcs@nuam,system", "did you mean `numa`?"),
        ("clof:mcs-mcs@,system", "``"),
        ("mcs/100", "accepts no `/`"),
        ("hmcs-6", "1 to 5 levels"),
        ("hmcs-t-0", "`hmcs-t-1`"),
        ("hmcs-t-99999", "1 to 5"),
        ("hmcs-t-2@core,numa,system", "2 levels"),
        ("hmcs-t-3@numa,core,system", "smallest"),
        ("hmcs-t-3@numa,blad,system", "did you mean `blade`?"),
        ("hmcs-t-3@numa,blade", "`system`"),
        ("hmcs-t-2/0", "/0"),
        ("hmcs-t-2/20us", "/20us"),
        ("hmcs-t-2/naiv", "did you mean `naive`?"),
        ("hmcs-t-2/peers-0", "/peers-8"),
        ("hmcs-2/naive", "for hmcs-t-"),
        ("hmcs-2/random", "/64"),
        ("hmcz-t-2", "did you mean `hmcs-t-2`"),
        ("system/100", "accepts no `/`"),
        ("c-tkt-tkt/soon", "/soon"),
        ("c-tkt-tkt/randm", "did you mean `random`?"),
        ("c-tkt-mcs/endles", "did you mean `endless`?"),
        ("mcs/endless", "accepts no `/`"),
        ("clof:mcs/compild", "did you mean `compiled`?"),
        ("clof:mcs/-1", "/-1"),
        ("clof:mcs/4294967296", "/4294967296"),
        ("clof:mcs/99999999999999999us", "us"),
        ("clof:mcs/", "`/`"),
        ("clof:ticket-bo/abortable", "ticket"),
        ("clof:clh-bo/abortable/compiled", "/compiled"),
        ("c-bo-bo/abortable", "clof:"),
        ("mcs/abortable", "clof:"),
        ("clof:clh-bo/abortable/bypass", "/bypass"),
        ("a-c-bo-bo/bypass", "its waiters have timeouts"),
    ] {
        let why = catalogue::read(name).expect_err(name).to_string();
        assert!(why.contains(word), "{name}: {why}");
    }
    let why = said("qqqqqqqqqqqq");
    assert!(!why.contains("did you mean"), "{why}");
}

#[test]
fn what_no_program_can_have_is_refused() {
    for (name, why) in [
        ("clof:mcs-near", Mistake::NotStacked),
        ("clof:mcs-mcs/random", Mistake::Assigned(Assignment::Random)),
        (
            "clof:clh-bo/abortable/random",
            Mistake::Assigned(Assignment::Random),
        ),
        ("clof:best", Mistake::Tuned),
        (
            "hmcs-t-published-2",
            Mistake::Published(TreeKind::HmcsTPublished),
        ),
    ] {
        let read = catalogue::read(name).expect(name);
        assert_eq!(read.servable(), Err(why), "{name}");
    }
    // The interposer without compositions has no such trees.
    for name in ["hmcs-1", "hmcs-t-2/64", "hmcs-3@numa,blade,system"] {
        assert!(catalogue::read_served(name).is_err(), "{name}");
    }
    for info in LOCKS {
        for name in info.aliases.iter().chain([&info.name]) {
            assert_eq!(
                catalogue::read_served(name),
                catalogue::read(name),
                "{name}"
            );
        }
    }
}
