//! Suggestions for a misspelt name, without allocation.

/// Letters of a word that are compared; there is no longer name.
const LONGEST: usize = 48;

/// Greatest number of suggestions.
pub(super) const OFFERED: usize = 3;

/// Names that are close to a word, the closest first.
#[derive(Debug, Default)]
pub(super) struct Nearest<'a> {
    found: [Option<(usize, &'a str)>; OFFERED],
}

impl<'a> Nearest<'a> {
    /// An empty list.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Suggests `printed` if its name `accepted` is close to `word`: some letters apart, or
    /// beginning with `word`.
    pub(super) fn consider(&mut self, word: &str, accepted: &str, printed: &'a str) {
        let Some(distance) = distance(word, accepted) else {
            return;
        };
        let tolerated = (word.len() / 3).max(2);
        // A distance of the whole length: no letter in common.
        let is_close = distance < accepted.len() && distance <= tolerated;
        if !is_close && (word.is_empty() || !begins(accepted, word)) {
            return;
        }
        let next = (distance, printed);
        let known = |one: &Option<(usize, &str)>| one.is_some_and(|(_, name)| name == printed);
        let from = match self.found.iter().position(known) {
            Some(place) if self.found[place] <= Some(next) => return,
            Some(place) => place,
            None => OFFERED - 1,
        };
        let is_later = |one: &Option<(usize, &str)>| one.is_none_or(|one| one > next);
        let Some(to) = self.found[..=from].iter().position(is_later) else {
            return;
        };
        self.found[to..=from].rotate_right(1);
        self.found[to] = Some(next);
    }

    /// The names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.found.iter().flatten().map(|(_, name)| *name)
    }
}

fn begins(name: &str, word: &str) -> bool {
    let start = name.as_bytes().get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// The edit distance, with swaps of neighbouring letters and regardless of case; `None` if a word
/// is too long for a name.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() > LONGEST || other.len() > LONGEST {
        return None;
    }
    // The distances of a prefix of `one` to all prefixes of `other`: of this prefix, and of the
    // prefixes one and two letters shorter.
    let mut row: [usize; LONGEST + 1] = core::array::from_fn(|place| place);
    let mut shorter = row;
    for (i, letter) in one.iter().enumerate() {
        let before = shorter;
        shorter = row;
        row[0] = i + 1;
        for (j, wanted) in other.iter().enumerate() {
            let same = letter.eq_ignore_ascii_case(wanted);
            let mut least = (shorter[j] + usize::from(!same))
                .min(shorter[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0
                && j > 0
                && letter.eq_ignore_ascii_case(&other[j - 1])
                && one[i - 1].eq_ignore_ascii_case(wanted)
            {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
    }
    Some(row[other.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (one, other, letters) in [
            ("", "", 0),
            ("mcs", "mcs", 0),
            ("MCS", "mcs", 0),
            ("", "mcs", 3),
            ("mc", "mcs", 1),
            ("msc", "mcs", 1),
            ("nuam", "numa", 1),
            ("systme", "system", 1),
            ("tickt", "ticket", 1),
            ("clh", "tas", 3),
        ] {
            assert_eq!(distance(one, other), Some(letters), "{one} {other}");
            assert_eq!(distance(other, one), Some(letters), "{other} {one}");
        }
        let long = core::str::from_utf8(&[b'a'; LONGEST + 1]).expect("letters");
        assert_eq!(distance(long, "mcs"), None);
    }

    #[test]
    fn the_closest_come_first_and_each_once() {
        let near = |word: &str| -> [Option<&str>; OFFERED] {
            let mut nearest = Nearest::new();
            for name in ["hmcs-2", "hmcs-3", "hmcs-4", "mcs", "tas"] {
                nearest.consider(word, name, name);
            }
            nearest.consider(word, "tatas", "tas");
            nearest.consider(word, "hmcs", "hmcs-2");
            let mut names = nearest.names();
            core::array::from_fn(|_| names.next())
        };
        assert_eq!(near("hmcs"), [Some("hmcs-2"), Some("mcs"), Some("hmcs-3")]);
        assert_eq!(near("mcs"), [Some("mcs"), Some("hmcs-2"), Some("tas")]);
        assert_eq!(near("tatsa"), [Some("tas"), None, None]);
        assert_eq!(near("qqqqqq"), [None; OFFERED]);
    }
}
