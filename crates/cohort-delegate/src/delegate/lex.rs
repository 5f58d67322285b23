//! Tokens of C text before macros are expanded, with their places.

/// Kind of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Word,
    Number,
    /// A string or a character.
    Quoted,
    Mark,
    /// A whole directive, with its continuation lines.
    Directive,
}

/// Token of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub from: usize,
    pub to: usize,
}

impl Token {
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.from..self.to]
    }
}

fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn is_of_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit()
}

/// Marks of several characters.
const MARKS: [&str; 23] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##",
];

/// The end of a comment that begins there, if one does.
fn comment(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at..].starts_with(b"/*") {
        let end = bytes[at + 2..].windows(2).position(|pair| pair == b"*/");
        return Some(end.map_or(bytes.len(), |end| at + 2 + end + 2));
    }
    if !bytes[at..].starts_with(b"//") {
        return None;
    }
    let mut end = at;
    while end < bytes.len() && !(bytes[end] == b'\n' && bytes[end - 1] != b'\\') {
        end += 1;
    }
    Some(end)
}

/// The end of a directive: a line that ends in `\` or inside a comment continues in the next.
fn directive(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        if let Some(end) = comment(bytes, at) {
            at = end;
        } else if bytes[at] == b'\n' && bytes[at - 1] != b'\\' {
            return at;
        } else {
            at += 1;
        }
    }
    at
}

fn quoted(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() && bytes[at] != bytes[from] && bytes[at] != b'\n' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// All tokens of a text, without comments.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut all, mut at, mut is_line_begun) = (Vec::new(), 0, false);
    while at < bytes.len() {
        let (byte, from) = (bytes[at], at);
        if byte.is_ascii_whitespace() || byte == b'\\' {
            is_line_begun &= byte != b'\n';
            at += 1;
            continue;
        }
        if let Some(end) = comment(bytes, at) {
            at = end;
            continue;
        }
        let kind = if byte == b'#' && !is_line_begun {
            at = directive(bytes, at);
            Kind::Directive
        } else if begins_word(byte) {
            while at < bytes.len() && is_of_word(bytes[at]) {
                at += 1;
            }
            Kind::Word
        } else if byte.is_ascii_digit() {
            while at < bytes.len() && (is_of_word(bytes[at]) || bytes[at] == b'.') {
                at += 1;
            }
            Kind::Number
        } else if byte == b'"' || byte == b'\'' {
            at = quoted(bytes, at);
            Kind::Quoted
        } else {
            let known = MARKS
                .iter()
                .find(|mark| bytes[at..].starts_with(mark.as_bytes()));
            at += known.map_or(1, |mark| mark.len());
            Kind::Mark
        };
        is_line_begun = true;
        all.push(Token { kind, from, to: at });
    }
    all
}

/// The words of a directive, `#` excluded: its name, and the rest.
pub fn directive_words(text: &str) -> Vec<&str> {
    let rest = text.trim_start_matches('#');
    tokens(rest).iter().map(|token| token.text(rest)).collect()
}

/// The tokens of a text as one line, for comparisons of expressions.
pub fn squeezed(text: &str) -> String {
    join(tokens(text).iter().map(|token| token.text(text)))
}

/// Tokens as text: a blank only between two words or two operators.
pub fn join<'t>(all: impl Iterator<Item = &'t str>) -> String {
    let mut made = String::new();
    for token in all {
        let is_word = |byte: u8| is_of_word(byte);
        let is_operator = |byte: u8| b"+-&|<>=*/%!^#.".contains(&byte);
        if let (Some(last), Some(first)) = (made.as_bytes().last(), token.as_bytes().first())
            && (is_word(*last) && is_word(*first) || is_operator(*last) && is_operator(*first))
        {
            made.push(' ');
        }
        made.push_str(token);
    }
    made
}

/// Whether all `#if` and `#endif` of a text are balanced.
pub fn are_whole(text: &str) -> bool {
    let mut depth = 0_usize;
    for token in tokens(text)
        .iter()
        .filter(|token| token.kind == Kind::Directive)
    {
        match directive_words(token.text(text)).first() {
            Some(&("if" | "ifdef" | "ifndef")) => depth += 1,
            Some(&("else" | "elif" | "elifdef" | "elifndef")) if depth == 0 => return false,
            Some(&"endif") => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_directives_are_told_apart() {
        let text =
            "/* don't */ #define A(x) \\\n  x /* over\n lines */ 1\nf(\"a\\\"//\", 'b') // c\n->g";
        let all = tokens(text);
        let words: Vec<&str> = all.iter().map(|token| token.text(text)).collect();
        assert_eq!(all[0].kind, Kind::Directive);
        assert!(words[0].ends_with("lines */ 1"), "{words:?}");
        assert_eq!(
            words[1..],
            ["f", "(", "\"a\\\"//\"", ",", "'b'", ")", "->", "g"]
        );
        assert_eq!(squeezed("& x -> y /* z */"), "&x->y");
        assert_eq!(squeezed("sizeof  x"), "sizeof x");
        assert_eq!(squeezed("a - -b & &c"), "a- -b& &c");
    }

    #[test]
    fn a_part_of_a_condition_is_not_whole() {
        for (text, is) in [
            ("#if A\nx;\n#else\ny;\n#endif", true),
            ("#if A\nx;", false),
            ("x;\n#else\ny;", false),
            ("x;\n#endif\n", false),
        ] {
            assert_eq!(are_whole(text), is, "{text}");
        }
    }
}
