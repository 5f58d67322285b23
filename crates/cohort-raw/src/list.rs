//! Lists of names in one text: a line for each thing, its printed name first, then other accepted
//! ones. A table of texts would be four times as long, and relocated in every process.

/// The parts of a text before and after the first such byte, if there is one.
#[inline(never)]
pub(crate) fn cut(text: &str, at: u8) -> (&str, Option<&str>) {
    debug_assert!(at.is_ascii());
    match text.bytes().position(|byte| byte == at) {
        Some(place) => (text.get(..place).unwrap_or_default(), text.get(place + 1..)),
        None => (text, None),
    }
}

/// The line of a name in a list.
#[cold]
#[inline(never)]
pub(crate) fn place(list: &str, name: &str) -> Option<usize> {
    let (mut place, mut lines) = (0, list);
    loop {
        let (line, below) = cut(lines, b'\n');
        let mut words = Some(line);
        while let Some(next) = words {
            let (word, behind) = cut(next, b' ');
            if word == name && !name.is_empty() {
                return Some(place);
            }
            words = behind;
        }
        place += 1;
        lines = below?;
    }
}

/// The printed name on a line of a list.
#[cold]
#[inline(never)]
pub(crate) fn printed(list: &'static str, place: usize) -> Option<&'static str> {
    let mut lines = list;
    for _ in 0..place {
        lines = cut(lines, b'\n').1?;
    }
    let name = cut(cut(lines, b'\n').0, b' ').0;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_lines() {
        const LIST: &str = "ticket tkt\nmcs\nhemlock hem hemlocked\n";
        for (name, line) in [
            ("ticket", 0),
            ("tkt", 0),
            ("mcs", 1),
            ("hem", 2),
            ("hemlocked", 2),
        ] {
            assert_eq!(place(LIST, name), Some(line), "{name}");
        }
        for name in ["", " ", "tick", "tkt\nmcs", "hemlock hem"] {
            assert_eq!(place(LIST, name), None, "{name}");
        }
        let all: [Option<&str>; 4] = core::array::from_fn(|line| printed(LIST, line));
        assert_eq!(all, [Some("ticket"), Some("mcs"), Some("hemlock"), None]);
    }
}
