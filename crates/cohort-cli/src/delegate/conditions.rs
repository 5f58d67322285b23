//! Conditional compilation: which branches of `#if` a compiler takes that is given `-D` and `-U`.

/// Names that are known to be macros, and names that are known to be none.
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

    /// The text with blanks instead of each branch that is not taken, and instead of the directives
    /// around; every byte stays in its place. A condition that these names do not decide stays.
    pub fn blanked(&self, text: &str) -> String {
        if self.defined.is_empty() && self.undefined.is_empty() {
            return text.to_owned();
        }
        let mut made = text.as_bytes().to_vec();
        for chain in chains(text) {
            for (from, to) in self.skipped(&chain) {
                for byte in &mut made[from..to] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
            }
        }
        String::from_utf8(made).unwrap_or_else(|_| text.to_owned())
    }

    /// What of an `#if` up to its `#endif` is not compiled, if that is known.
    fn skipped(&self, chain: &[Directive<'_>]) -> Vec<(usize, usize)> {
        let mut taken = None;
        for (place, directive) in chain.iter().enumerate() {
            let holds = match directive.word {
                "ifdef" | "elifdef" => self.is_defined(first_word(directive.rest)),
                "ifndef" | "elifndef" => self.is_defined(first_word(directive.rest)).map(|is| !is),
                "if" | "elif" => self.holds(directive.rest),
                "else" => Some(true),
                _ => break,
            };
            match holds {
                Some(true) => {
                    taken = Some(place);
                    break;
                }
                Some(false) => {}
                None => return Vec::new(),
            }
        }
        let mut skipped = Vec::new();
        for (place, pair) in chain.windows(2).enumerate() {
            let to = if taken == Some(place) {
                pair[0].to
            } else {
                pair[1].from
            };
            skipped.push((pair[0].from, to));
        }
        skipped.extend(chain.last().map(|last| (last.from, last.to)));
        skipped
    }

    /// Whether the condition of an `#if` holds, as far as that is known.
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

/// A line `#word rest`, and where it stands in the text.
#[derive(Clone, Copy, Debug)]
struct Directive<'t> {
    from: usize,
    to: usize,
    word: &'t str,
    rest: &'t str,
}

/// The directives that belong together, from each `#if` to its `#endif`.
fn chains(text: &str) -> Vec<Vec<Directive<'_>>> {
    let (mut open, mut whole): (Vec<Vec<Directive<'_>>>, Vec<_>) = (Vec::new(), Vec::new());
    for directive in directives(text) {
        match directive.word {
            "if" | "ifdef" | "ifndef" => open.push(vec![directive]),
            "else" | "elif" | "elifdef" | "elifndef" => {
                if let Some(chain) = open.last_mut() {
                    chain.push(directive);
                }
            }
            "endif" => {
                if let Some(mut chain) = open.pop() {
                    chain.push(directive);
                    whole.push(chain);
                }
            }
            _ => {}
        }
    }
    whole
}

/// All directives outside of comments; a line that ends in `\` goes on in the next.
fn directives(text: &str) -> Vec<Directive<'_>> {
    let (mut found, mut in_comment, mut at) = (Vec::new(), false, 0);
    while at < text.len() {
        let mut end = at;
        loop {
            end = text[end..].find('\n').map_or(text.len(), |line| end + line);
            if end < text.len() && text[at..end].trim_end_matches('\r').ends_with('\\') {
                end += 1;
            } else {
                break;
            }
        }
        let line = &text[at..end];
        let began_in_comment = in_comment;
        let bare = without_comments(line, &mut in_comment);
        if let Some(after) = line.trim_start().strip_prefix('#')
            && !began_in_comment
        {
            let after = after.trim_start();
            let length = after
                .find(|letter: char| !letter.is_ascii_alphabetic())
                .unwrap_or(after.len());
            let (word, rest) = after.split_at(length);
            found.push(Directive {
                from: at,
                to: at + bare.trim_end().len(),
                word,
                rest: &rest[..rest.len().min(bare_length(rest))],
            });
        }
        at = end + 1;
    }
    found
}

/// How much of a line stands before its comment.
fn bare_length(line: &str) -> usize {
    let comments = ["/*", "//"].into_iter();
    let first = comments.filter_map(|begins| line.find(begins)).min();
    first.unwrap_or(line.len())
}

/// A line up to the comment that goes on below it, and whether one does.
fn without_comments<'t>(line: &'t str, in_comment: &mut bool) -> &'t str {
    let bytes = line.as_bytes();
    let (mut at, mut quote, mut began) = (0, None, 0);
    while at < bytes.len() {
        let two = bytes.get(at..at + 2).unwrap_or_default();
        if *in_comment {
            if two == b"*/" {
                *in_comment = false;
                at += 1;
            }
        } else if let Some(sign) = quote {
            match bytes[at] {
                b'\\' => at += 1,
                byte if byte == sign => quote = None,
                _ => {}
            }
        } else if two == b"/*" {
            *in_comment = true;
            began = at;
            at += 1;
        } else if two == b"//" {
            break;
        } else if matches!(bytes[at], b'"' | b'\'') {
            quote = Some(bytes[at]);
        }
        at += 1;
    }
    if *in_comment { &line[..began] } else { line }
}

fn first_word(rest: &str) -> &str {
    words(rest).first().copied().unwrap_or_default()
}

/// Names, numbers and signs of a condition.
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

/// Reads a condition; what is not known makes unknown what depends on it.
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

    /// `!a`, `(a)`, `defined(A)`, `A`, `1`; a comparison ends the reading and leaves words behind.
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
            // One that is defined may be defined as 0.
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
        let blanked = known().blanked(text);
        assert_eq!(blanked.len(), text.len());
        let left: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(
            left.join(" "),
            "a b #ifdef X f #endif /* #ifdef N */ g i \"ä\""
        );
        for (at, letter) in text.char_indices().filter(|(_, letter)| *letter == '\n') {
            assert_eq!(blanked[at..].chars().next(), Some(letter));
        }
        assert_eq!(Known::default().blanked(text), text);
    }
}
