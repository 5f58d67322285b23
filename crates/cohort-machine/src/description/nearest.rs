//! The names that a person may have meant.

/// ` (did you mean …?)` for the closest of `names`, or nothing where none is
/// close.
#[must_use]
pub fn hint<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The closest of `names` that is close at all; the first of several.
#[must_use]
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let tolerated = (found.chars().count() / 3).max(2);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&found, &name.to_lowercase()), name))
        // A distance of the whole length shares no letter at all.
        .filter(|(distance, name)| *distance <= tolerated && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_neighbour_and_nonsense_does_not() {
        assert_eq!(nearest("chache", ["core", "cache"]), Some("cache"));
        assert_eq!(nearest("qqqqqq", ["core", "cache"]), None);
        assert_eq!(hint("nuam", ["numa"]), "; did you mean `numa`?");
    }
}
