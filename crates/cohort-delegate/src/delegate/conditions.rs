//! Conditional compilation: the branches of `#if` that a compiler takes with given `-D` and `-U`.

use std::ops::Range;

/// Names known to be macros, and names known not to be.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub defined: Vec<String>,
    pub undefined: Vec<String>,
}

impl Known {
    fn is_defined(&self, name: &str) -> Option<bool> {
        if self.defined.iter().any(|known| known == name) {
            Some(true)
        } else if self.undefined.iter().any(|known| known == name) {
            Some(false)
        } else {
            None
        }
    }

    /// The text with blanks instead of uncompiled branches and their directives; all bytes keep
    /// their offsets. Undecided conditions stay.
    pub fn blanked(&self, text: &str) -> Blanked {
        let mut unread = Vec::new();
        let mut made = text.as_bytes().to_vec();
        let is_any = !self.defined.is_empty() || !self.undefined.is_empty();
        for chain in chains(text).filter(|_| is_any).unwrap_or_default() {
            let Some(branches) = self.unread(&chain) else {
                continue;
            };
            let lines = chain.iter().map(|directive| directive.from..directive.to);
            for at in lines.chain(branches.iter().cloned()).flatten() {
                if made[at] != b'\n' {
                    made[at] = b' ';
                }
            }
            unread.extend(branches);
        }
        let all = unread.clone();
        let is_within = |one: &Range<usize>, other: &Range<usize>| {
            one != other && other.start <= one.start && one.end <= other.end
        };
        unread.retain(|one| {
            let has_text = !without_comments(&text[one.clone()]).trim().is_empty();
            has_text && !all.iter().any(|other| is_within(one, other))
        });
        Blanked {
            text: String::from_utf8(made).unwrap_or_else(|_| text.to_owned()),
            unread,
        }
    }

    /// The uncompiled branches from an `#if` to its `#endif`, if decided.
    fn unread(&self, chain: &[Directive]) -> Option<Vec<Range<usize>>> {
        let mut taken = None;
        for (place, directive) in chain.iter().enumerate() {
            let rest = &directive.rest;
            let holds = match &*directive.word {
                "ifdef" | "elifdef" => self.is_defined(first_word(rest)),
                "ifndef" | "elifndef" => self.is_defined(first_word(rest)).map(|is| !is),
                "if" | "elif" => self.holds(rest),
                "else" => Some(true),
                _ => break,
            };
            if holds? {
                taken = Some(place);
                break;
            }
        }
        let branches = chain.windows(2).enumerate();
        let unread = branches.filter(|(place, _)| taken != Some(*place));
        Some(unread.map(|(_, pair)| pair[0].to..pair[1].from).collect())
    }

    /// A directive in the compiled text that contradicts one of these names: the offset, the
    /// directive, and the name.
    pub fn contradicted(&self, text: &str) -> Option<(usize, &'static str, String)> {
        directives(text).into_iter().find_map(|directive| {
            let (word, names) = match &*directive.word {
                "define" => ("#define", &self.undefined),
                "undef" => ("#undef", &self.defined),
                _ => return None,
            };
            let name = first_word(&directive.rest).to_owned();
            let is_known = names.contains(&name);
            is_known.then_some((directive.from, word, name))
        })
    }

    /// Whether the condition of an `#if` holds; none if undecided.
    fn holds(&self, condition: &str) -> Option<bool> {
        let mut reader = Reader {
            known: self,
            words: words(condition),
            at: 0,
        };
        let value = reader.any();
        if reader.at == reader.words.len() {
            value
        } else {
            None
        }
    }
}

/// Text as compiled.
#[derive(Debug)]
pub struct Blanked {
    pub text: String,
    /// Nonempty uncompiled branches of `#if`, without their directives.
    pub unread: Vec<Range<usize>>,
}

/// Line `#word rest`, with its offsets.
#[derive(Clone, Debug)]
struct Directive {
    from: usize,
    to: usize,
    word: String,
    rest: String,
}

/// Whether all `#if`, `#else` and `#endif` in a text are balanced.
pub fn are_whole(text: &str) -> bool {
    chains(text).is_some()
}

/// Directive that changes a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its offset in the text.
    pub at: usize,
    /// The macro; none for an include, which may change any.
    pub name: Option<String>,
}

/// The directives in a piece of a text that change macros, in order.
pub fn changes(text: &str, piece: Range<usize>) -> Vec<Change> {
    let name = |directive: &Directive| match &*directive.word {
        "define" | "undef" => Some(Some(first_word(&directive.rest).to_owned())),
        "pragma" if directive.rest.contains("pop_macro") => {
            let is_name =
                |word: &&str| word.starts_with(|first: char| first == '_' || first.is_alphabetic());
            Some(
                words(&directive.rest)
                    .into_iter()
                    .rfind(is_name)
                    .map(str::to_owned),
            )
        }
        "include" | "import" => Some(None),
        _ => None,
    };
    let all = directives(&text[piece.clone()]).into_iter();
    let changes = all.filter_map(|directive| {
        Some(Change {
            at: piece.start + directive.from,
            name: name(&directive)?,
        })
    });
    changes.collect()
}

/// Whether a text has any directive.
pub fn are_in(text: &str) -> bool {
    !directives(text).is_empty()
}

/// The chains of directives, from each `#if` to its `#endif`; none if unbalanced.
fn chains(text: &str) -> Option<Vec<Vec<Directive>>> {
    let (mut open, mut whole): (Vec<Vec<Directive>>, Vec<_>) = (Vec::new(), Vec::new());
    for directive in directives(text) {
        match &*directive.word {
            "if" | "ifdef" | "ifndef" => open.push(vec![directive]),
            "else" | "elif" | "elifdef" | "elifndef" => open.last_mut()?.push(directive),
            "endif" => {
                let mut chain = open.pop()?;
                chain.push(directive);
                whole.push(chain);
            }
            _ => {}
        }
    }
    open.is_empty().then_some(whole)
}

/// All directives outside of comments. A line ending in `\` or inside a comment continues in the
/// next.
fn directives(text: &str) -> Vec<Directive> {
    let bare = without_comments(text);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bare.len() {
        let mut end = at;
        loop {
            end = bare[end..].find('\n').map_or(bare.len(), |line| end + line);
            if end < bare.len() && bare[at..end].trim_end_matches('\r').ends_with('\\') {
                end += 1;
            } else {
                break;
            }
        }
        let line = &bare[at..end];
        if let Some(after) = line.trim_start().strip_prefix('#') {
            let from = end - after.len() - 1;
            let after = after.trim_start();
            let length = after
                .find(|letter: char| !letter.is_ascii_alphabetic())
                .unwrap_or(after.len());
            let (word, rest) = after.split_at(length);
            found.push(Directive {
                from,
                to: end,
                word: word.to_owned(),
                rest: rest.to_owned(),
            });
        }
        at = end + 1;
    }
    found
}

/// The text with blanks instead of comments, line ends included: to the compiler, a comment is one
/// blank. All bytes keep their offsets.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut made, mut at, mut kept, mut quote) = (String::new(), 0, 0, None);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let comment = if quote.is_some() {
            None
        } else if rest.starts_with(b"/*") {
            let end = text[at + 2..].find("*/");
            Some(end.map_or(rest.len(), |end| end + 4))
        } else if rest.starts_with(b"//") {
            Some(length_of_line(&text[at..]))
        } else {
            None
        };
        if let Some(length) = comment {
            made.push_str(&text[kept..at]);
            made.extend(std::iter::repeat_n(' ', length));
            at += length;
            kept = at;
            continue;
        }
        match (bytes[at], quote) {
            (b'\\', _) if rest.starts_with(b"\\\r\n") => at += 2,
            (b'\\', _) => at += 1,
            // An unmatched quote, as in a branch of prose, ends with its line.
            (b'\n', _) => quote = None,
            (byte, Some(sign)) if byte == sign => quote = None,
            (b'"' | b'\'', None) => quote = Some(bytes[at]),
            _ => {}
        }
        at += 1;
    }
    made.push_str(&text[kept..]);
    made
}

/// The length of a line, including continuations after `\`.
fn length_of_line(text: &str) -> usize {
    let ends = text.match_indices('\n').map(|(at, _)| at);
    let mut ends = ends.filter(|at| !text[..*at].trim_end_matches('\r').ends_with('\\'));
    ends.next().unwrap_or(text.len())
}

fn first_word(rest: &str) -> &str {
    words(rest).first().copied().unwrap_or_default()
}

/// Names, numbers and operators of a condition.
fn words(condition: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = condition.trim_start_matches(is_between);
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let length = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else if rest.starts_with("&&") || rest.starts_with("||") {
            2
        } else {
            first.len_utf8()
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start_matches(is_between);
    }
    found
}

fn is_between(letter: char) -> bool {
    letter.is_whitespace() || letter == '\\'
}

/// Evaluates a condition; unknown operands make the result unknown.
struct Reader<'k, 't> {
    known: &'k Known,
    words: Vec<&'t str>,
    at: usize,
}

impl<'t> Reader<'_, 't> {
    fn next_is(&mut self, word: &str) -> bool {
        let is_it = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_it);
        is_it
    }

    fn word(&mut self) -> Option<&'t str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    /// `a || b`
    fn any(&mut self) -> Option<bool> {
        let mut value = self.all();
        while self.next_is("||") {
            value = match (value, self.all()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), other) => other,
                _ => None,
            };
        }
        value
    }

    /// `a && b`
    fn all(&mut self) -> Option<bool> {
        let mut value = self.one();
        while self.next_is("&&") {
            value = match (value, self.one()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), other) => other,
                _ => None,
            };
        }
        value
    }

    /// `!a`, `(a)`, `defined(A)`, `A`, `1`; a comparison ends the evaluation with words left.
    fn one(&mut self) -> Option<bool> {
        if self.next_is("!") {
            return self.one().map(|value| !value);
        }
        if self.next_is("(") {
            let value = self.any();
            return if self.next_is(")") { value } else { None };
        }
        if self.next_is("defined") {
            let is_within = self.next_is("(");
            let name = self.word()?;
            return if !is_within || self.next_is(")") {
                self.known.is_defined(name)
            } else {
                None
            };
        }
        let word = self.word()?;
        match word.parse::<u64>() {
            Ok(number) => Some(number != 0),
            // A defined macro may be defined as 0.
            Err(_) => self.known.is_defined(word).filter(|is| !is),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Known {
            defined: names(&["A", "B"]),
            undefined: names(&["N"]),
        }
    }

    #[test]
    fn a_condition_is_decided_by_what_is_known_and_by_nothing_else() {
        for (condition, value) in [
            ("defined(A)", Some(true)),
            (" defined A && !defined(N)", Some(true)),
            ("defined(N) || defined(X)", None),
            ("defined(A) || defined(X)", Some(true)),
            ("defined(N) && defined(X)", Some(false)),
            ("defined(X) && N", Some(false)),
            ("A", None),
            ("0", Some(false)),
            ("(1)", Some(true)),
            ("A > 3", None),
            ("N > 3", None),
            ("defined(A) \\\n && (defined B)", Some(true)),
        ] {
            assert_eq!(known().holds(condition), value, "{condition}");
        }
    }

    #[test]
    fn what_is_not_compiled_is_blank_and_all_else_stays_in_its_place() {
        let text = "a\n#ifdef A /* yes */\nb\n#elif defined(X)\nc\n#else\nd\n#endif // A\n\
                    #ifdef X\n# ifndef A\ne\n# endif\nf\n#endif\n/*\n#ifdef N\n*/\ng\n\
                    #ifdef N /* it\ngoes on */\nh\n#endif\ni \"ä\"\n";
        let blanked = known().blanked(text).text;
        assert_eq!(blanked.len(), text.len());
        let left: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(
            left.join(" "),
            "a b #ifdef X f #endif /* #ifdef N */ g i \"ä\""
        );
        for (at, letter) in text.char_indices().filter(|(_, letter)| *letter == '\n') {
            assert_eq!(blanked[at..].chars().next(), Some(letter));
        }
        assert_eq!(Known::default().blanked(text).text, text);
    }

    #[test]
    fn a_comment_in_a_directive_or_before_it_is_a_blank() {
        for (text, left) in [
            ("#if defined(A) /* x */ && defined(N)\na\n#endif\nb", "b"),
            ("#if defined(A) /* x\n*/ && defined(N)\na\n#endif\nb", "b"),
            ("#if defined(A) // && defined(N)\na\n#endif\nb", "a b"),
            (
                "#if defined(A) // x \\\n && defined(N)\na\n#endif\nb",
                "a b",
            ),
            ("/* c */ #ifdef N\na\n/* d\n*/ #endif\nb", "/* c */ b"),
            ("x; /* c\n*/ #ifdef N\na", "x; /* c */ #ifdef N a"),
            (
                "'\"'; \"/*\"; \"\\\"/*\"\n#ifdef N\na\n#endif",
                "'\"'; \"/*\"; \"\\\"/*\"",
            ),
            ("#ifdef N\ndon't /*\n*/\n#endif\nb", "b"),
        ] {
            let blanked = known().blanked(text).text;
            let words: Vec<&str> = blanked.split_whitespace().collect();
            assert_eq!(words.join(" "), left, "{text}");
        }
    }

    #[test]
    fn nothing_is_blank_where_a_directive_has_no_other() {
        for text in [
            "#ifdef N\na\n#endif\n#endif\n",
            "#else\n#ifdef N\na\n#endif\n",
            "#ifdef X\n#ifdef N\na\n#endif\n",
        ] {
            assert_eq!(known().blanked(text).text, text);
            assert!(!are_whole(text), "{text}");
        }
        assert!(are_whole("a\n#ifdef N\n#else\n#endif\n"));
    }

    #[test]
    fn directives_that_change_macros_are_told_from_others() {
        let text = "a\n#define A 1\n# undef B /* c */\n#ifdef C\n#endif\n/*\n#define D\n*/\n\
                    #pragma once\n#pragma pop_macro(\"E\")\n#include \"f.h\"\n#define G(x) \\\n H\n";
        let changes = changes(text, 1..text.len());
        let names: Vec<&str> = changes
            .iter()
            .map(|change| change.name.as_deref().unwrap_or("any"))
            .collect();
        assert_eq!(names, ["A", "B", "E", "any", "G"]);
        for change in changes {
            assert!(text[change.at..].starts_with('#'), "{change:?}");
        }
    }

    #[test]
    fn branches_that_are_not_read_are_told_if_they_have_something_in_them() {
        let text = "#ifdef A\na\n#elif defined X\n#ifdef N\nb\n#endif\n#else\n/* c */\n#endif\n";
        let unread = known().blanked(text).unread;
        let unread: Vec<&str> = unread.into_iter().map(|one| &text[one]).collect();
        assert_eq!(unread, ["\n#ifdef N\nb\n#endif\n"]);
    }
}
