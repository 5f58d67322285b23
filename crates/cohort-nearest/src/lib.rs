//! Suggestions for misspelt names.

/// `; did you mean …?` for the closest of `names`, or nothing if none is close.
#[must_use]
pub fn hint<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The closest of `names` that is close or extends `found`; the first of several.
#[must_use]
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let tolerated = (found.chars().count() / 3).max(2);
    names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::osa_distance(&found, &lower);
            // A distance of the whole length means no common letter.
            let shares = distance < name.chars().count();
            let extends = !found.is_empty() && lower.starts_with(&found);
            (shares && distance <= tolerated || extends).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_neighbour_and_nonsense_does_not() {
        assert_eq!(nearest("chache", ["core", "cache"]), Some("cache"));
        assert_eq!(nearest("pack", ["core", "package"]), Some("package"));
        assert_eq!(nearest("qqqqqq", ["core", "cache"]), None);
        assert_eq!(hint("nuam", ["numa"]), "; did you mean `numa`?");
    }
}
