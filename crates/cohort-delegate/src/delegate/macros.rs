//! Macros, expanded as far as they lead to calls of `pthread_` functions.

use super::lex::{self, Kind, tokens};
use std::collections::{HashMap, HashSet};

/// Definition of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// The parameters of a function-like one.
    pub parameters: Option<Vec<String>>,
    pub body: Vec<String>,
}

impl Macro {
    /// Reads `NAME(x) body`, the text behind `#define`.
    pub fn read(text: &str) -> Option<Self> {
        let all = tokens(text);
        let name = all.first()?;
        let mut at = 1;
        let mut parameters = None;
        if all
            .get(1)
            .is_some_and(|next| next.from == name.to && next.text(text) == "(")
        {
            let mut named = Vec::new();
            at = 2;
            while let Some(token) = all.get(at) {
                at += 1;
                match token.text(text) {
                    ")" => break,
                    "," => {}
                    word => named.push(word.to_owned()),
                }
            }
            parameters = Some(named);
        }
        let body = all.get(at..).unwrap_or_default();
        let body = body.iter().map(|token| token.text(text).to_owned());
        Some(Self {
            parameters,
            body: body.collect(),
        })
    }

    /// Whether the body is ordinary text with the parameters in it.
    fn is_plain(&self) -> bool {
        let is_odd = |word: &String| word.starts_with('#') || word == "__VA_ARGS__";
        let parameters = self.parameters.iter().flatten();
        !self.body.iter().any(is_odd) && !parameters.clone().any(|one| one == "...")
    }
}

/// The definitions of each name, in all files.
#[derive(Default, Debug)]
pub struct Macros(HashMap<String, Vec<Macro>>);

impl Macros {
    pub fn add(&mut self, name: &str, one: Macro) {
        let all = self.0.entry(name.to_owned()).or_default();
        if !all.contains(&one) {
            all.push(one);
        }
    }

    pub fn is_any(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The only definition of a name.
    fn only(&self, name: &str) -> Option<&Macro> {
        match self.0.get(name)?.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The words that these words lead to, themselves included.
    pub fn behind<'t>(&'t self, word: &'t str) -> HashSet<&'t str> {
        let (mut seen, mut waiting) = (HashSet::from([word]), vec![word]);
        while let Some(word) = waiting.pop() {
            let bodies = self.0.get(word).into_iter().flatten();
            for next in bodies.flat_map(|one| &one.body) {
                if seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
        seen
    }

    /// Whether a macro leads to a call of one of these functions.
    pub fn leads(&self, name: &str, calls: &dyn Fn(&str) -> bool) -> bool {
        self.is_any(name) && self.behind(name).iter().any(|word| calls(word))
    }

    /// The tokens of a text, with the macros expanded that lead to such calls; none if one of these
    /// is not understood.
    pub fn expanded(&self, text: &str, calls: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
        let words = tokens(text).into_iter();
        let words = words.filter(|token| token.kind != Kind::Directive);
        let words: Vec<String> = words.map(|token| token.text(text).to_owned()).collect();
        self.expand(words, calls, &mut Vec::new())
    }

    fn expand(
        &self,
        words: Vec<String>,
        calls: &dyn Fn(&str) -> bool,
        within: &mut Vec<String>,
    ) -> Option<Vec<String>> {
        let mut made = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            at += 1;
            if !self.leads(word, calls) || within.contains(word) {
                made.push(word.clone());
                continue;
            }
            let one = self.only(word).filter(|one| one.is_plain())?;
            let mut body = one.body.clone();
            if let Some(parameters) = &one.parameters {
                if words.get(at).is_none_or(|next| next != "(") {
                    made.push(word.clone());
                    continue;
                }
                let (given, end) = arguments(&words, at)?;
                let is_empty = parameters.is_empty() && given.len() == 1 && given[0].is_empty();
                if given.len() != parameters.len() && !is_empty {
                    return None;
                }
                at = end;
                let put = |word: &String| {
                    let place = parameters.iter().position(|one| one == word);
                    place.map_or_else(|| vec![word.clone()], |place| given[place].clone())
                };
                body = body.iter().flat_map(put).collect();
            }
            within.push(word.clone());
            made.extend(self.expand(body, calls, within)?);
            within.pop();
        }
        Some(made)
    }
}

/// The arguments of a call with its parenthesis there, and the place behind them.
pub fn arguments(words: &[String], open: usize) -> Option<(Vec<Vec<String>>, usize)> {
    let (mut given, mut depth) = (vec![Vec::new()], 0_usize);
    for (place, word) in words.iter().enumerate().skip(open) {
        match word.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some((given, place + 1));
        }
        let is_opening = place == open;
        if depth == 1 && word == "," {
            given.push(Vec::new());
        } else if !is_opening {
            given.last_mut()?.push(word.clone());
        }
    }
    None
}

/// Tokens as text.
pub fn text(words: &[String]) -> String {
    lex::join(words.iter().map(String::as_str))
}

/// The single locking call that a statement makes.
#[derive(Debug, PartialEq, Eq)]
pub struct Locking {
    pub function: String,
    pub arguments: Vec<Vec<String>>,
}

/// A statement that does nothing but call one of these functions, if the call returns 0: `f(x);`,
/// `if (f(x) != 0) fail();`, `do { if (f(x)) fail(); } while (0)`.
pub fn locking(words: &[String], calls: &dyn Fn(&str) -> bool) -> Option<Locking> {
    let is = |place: usize, word: &str| words.get(place).is_some_and(|one| one == word);
    let mut places = (0..words.len()).filter(|place| calls(&words[*place]) && is(place + 1, "("));
    let place = places.next()?;
    if places.next().is_some() {
        return None;
    }
    let (given, end) = arguments(words, place + 1)?;
    let made = Locking {
        function: words[place].clone(),
        arguments: given,
    };
    let mut rest: Vec<&str> = words[..place].iter().map(String::as_str).collect();
    rest.push("0");
    rest.extend(words[end..].iter().map(String::as_str));
    let mut rest = rest.as_slice();
    loop {
        rest = match rest {
            [inner @ .., ";"] => inner,
            ["{", inner @ .., "}"] => inner,
            ["do", "{", inner @ .., "}", "while", "(", "0", ")"] => inner,
            ["(", "void", ")", inner @ ..] => inner,
            ["if", "(", inner @ ..] => {
                let mut depth = 1_usize;
                let end = inner.iter().position(|word| {
                    match *word {
                        "(" => depth += 1,
                        ")" => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                })?;
                let is_else = inner[end..].contains(&"else");
                return (value(&inner[..end]) == Some(false)
                    && !is_else
                    && is_one(&inner[end + 1..]))
                .then_some(made);
            }
            _ => return value(rest).is_some().then_some(made),
        };
    }
}

/// Whether these are one statement.
fn is_one(words: &[&str]) -> bool {
    let mut depth = 0_usize;
    for (place, word) in words.iter().enumerate() {
        match *word {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (*word == ";" || *word == "}") {
            return place + 1 == words.len();
        }
    }
    true
}

/// The truth of a condition of zeros.
fn value(words: &[&str]) -> Option<bool> {
    match words {
        ["0"] => Some(false),
        ["(", inner @ .., ")"] if is_bracketed(words) => value(inner),
        ["!", inner @ ..] if is_single(inner) => value(inner).map(|is| !is),
        [left @ .., "!=", "0"] | ["0", "!=", left @ ..] => value(left),
        [left @ .., "==", "0"] | ["0", "==", left @ ..] => value(left).map(|is| !is),
        [left @ .., "<" | ">", "0"] if !value(left)? => Some(false),
        _ => None,
    }
}

/// Whether the first parenthesis closes at the end.
fn is_bracketed(words: &[&str]) -> bool {
    let mut depth = 0_i32;
    for (place, word) in words.iter().enumerate() {
        depth += match *word {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        if depth == 0 {
            return place + 1 == words.len();
        }
    }
    false
}

/// Whether this is one operand.
fn is_single(words: &[&str]) -> bool {
    match words {
        ["0"] => true,
        ["!", inner @ ..] => is_single(inner),
        _ => is_bracketed(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(word: &str) -> bool {
        word.starts_with("pthread_")
    }

    fn read(macros: &[&str]) -> Macros {
        let mut all = Macros::default();
        for text in macros {
            let name: String = text
                .chars()
                .take_while(|one| one.is_alphanumeric() || *one == '_')
                .collect();
            all.add(&name, Macro::read(text).expect("a macro"));
        }
        all
    }

    #[test]
    fn a_macro_that_locks_is_expanded_and_no_other() {
        let all = read(&[
            "TRY(m) (!(pthread_mutex_lock((m))))",
            "LOCK(m) do { if (! TRY(m)) { PANIC(1); } } while (0)",
            "PANIC(x) die(#x)",
            "ODD(x) pthread_mutex_lock(x##lock)",
        ]);
        let made = all.expanded("LOCK (&a->b);", &calls).expect("understood");
        let locking = locking(&made, &calls).expect("it locks");
        assert_eq!(locking.function, "pthread_mutex_lock");
        assert_eq!(text(&locking.arguments[0]), "(&a->b)");
        assert!(all.expanded("ODD(a);", &calls).is_none());
    }

    #[test]
    fn a_condition_is_dead_only_if_success_does_not_meet_it() {
        for (text, is) in [
            ("if (pthread_mutex_lock(&m) != 0) { fail(); }", true),
            ("if (pthread_mutex_lock(&m)) fail();", true),
            ("if (!pthread_mutex_lock(&m)) go();", false),
            ("if (pthread_mutex_lock(&m) == 0) go();", false),
            ("if (pthread_mutex_lock(&m)) fail(); else go();", false),
            ("if (pthread_mutex_lock(&m)) fail(); go();", false),
            ("x = pthread_mutex_lock(&m);", false),
            ("(void)pthread_mutex_lock(&m);", true),
            ("assert(pthread_mutex_lock(&m) == 0);", false),
            ("if (a && pthread_mutex_lock(&m)) fail();", false),
            ("pthread_mutex_lock(&m), go();", false),
        ] {
            let words = Macros::default().expanded(text, &calls).expect("text");
            assert_eq!(locking(&words, &calls).is_some(), is, "{text}");
        }
    }
}
