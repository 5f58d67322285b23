//! Parsed C files, and their traversal.

use super::conditions::Known;
use cohort_cli::problem::Problem;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser, Tree};

/// C file.
pub struct File {
    pub path: PathBuf,
    pub text: String,
    tree: Tree,
    /// Pieces that the grammar does not accept.
    unparsed: Vec<Piece>,
    /// Nonempty uncompiled branches of `#if`.
    pub unread: Vec<Range<usize>>,
    /// Macros that rename functions, with those functions.
    pub aliases: HashMap<String, String>,
    /// Words for thread-local storage, including macros with such words.
    pub of_thread: HashSet<String>,
}

/// Piece of a text that the grammar does not accept.
struct Piece {
    range: Range<usize>,
    /// Whether it is a function, or a part of one, without declarations for other code.
    is_function: bool,
}

/// How to read files.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The known macros in conditions.
    pub known: Known,
    /// Whether to accept a file that cannot be parsed completely.
    pub leaves_unparsed: bool,
}

/// A word unknown to the grammar, and a known one of the same length.
const SPELLINGS: [(&str, &str); 2] = [
    ("_Thread_local", "__thread     "),
    ("__extension__", "             "),
];

/// Keywords, which need no declaration.
const KEYWORDS: [&str; 20] = [
    "char", "const", "double", "enum", "extern", "float", "int", "long", "register", "return",
    "short", "signed", "sizeof", "static", "struct", "typedef", "union", "unsigned", "void",
    "volatile",
];

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or parsed; the message has the line.
    pub fn read(path: &Path, how: &Reading) -> Result<Self, Problem> {
        let shown = path.display();
        let bytes = std::fs::read(path)
            .map_err(|error| Problem::usage(format!("cannot read {shown}: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Problem::usage(format!("{shown}: not UTF-8 text")))?;
        Self::parse(path, text, how)
    }

    fn parse(path: &Path, text: String, how: &Reading) -> Result<Self, Problem> {
        let blanked = how.known.blanked(&text);
        if let Some((at, directive, name)) = how.known.contradicted(&blanked.text) {
            let option = if directive == "#undef" { "-D" } else { "-U" };
            return Err(Problem::usage(format!(
                "{}:{}: `{directive} {name}` contradicts {option} {name}; leave the option out to \
                 read all branches",
                path.display(),
                line_at(&text, at)
            )));
        }
        let spelled = SPELLINGS
            .iter()
            .fold(blanked.text, |text, (from, to)| text.replace(from, to));
        let mut parser = Parser::new();
        let tree = parser
            .set_language(&tree_sitter_c::LANGUAGE.into())
            .ok()
            .and_then(|()| parser.parse(&spelled, None));
        let Some(tree) = tree else {
            return Err(Problem::refused(
                "the grammar of C does not fit its parser".to_owned(),
            ));
        };
        let unparsed = unparsed(tree.root_node());
        let file = Self {
            path: path.to_owned(),
            text,
            tree,
            unparsed,
            unread: blanked.unread,
            aliases: HashMap::new(),
            of_thread: HashSet::new(),
        };
        match file.mistake().filter(|_| !how.leaves_unparsed) {
            None => Ok(file),
            Some(mistake) => Err(Problem::usage(mistake)),
        }
    }

    /// The function that a name calls, possibly through a renaming macro.
    pub fn alias<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// The function called there.
    pub fn called(&self, node: Node<'_>) -> &str {
        self.alias(self.text(node))
    }

    /// Whether a macro renames a function.
    pub fn is_alias(&self, name: &str) -> bool {
        self.aliases.contains_key(name)
    }

    /// Whether a word before a variable makes it thread-local.
    pub fn is_of_thread(&self, word: &str) -> bool {
        self.of_thread.contains(word)
    }

    /// All nodes except unparsed ones.
    pub fn parsed(&self) -> Vec<Node<'_>> {
        let mut all = everything(self.root());
        all.retain(|node| !self.is_unparsed(*node));
        all
    }

    /// Whether a node is in an unparsed piece.
    pub fn is_unparsed(&self, node: Node<'_>) -> bool {
        let (from, to) = (node.start_byte(), node.end_byte());
        let mut pieces = self.unparsed.iter();
        pieces.any(|piece| piece.range.start <= from && to <= piece.range.end)
    }

    /// The words of unparsed pieces, each with its piece's offset.
    pub fn unparsed_words(&self) -> impl Iterator<Item = (&str, usize)> {
        self.unparsed.iter().flat_map(|piece| {
            let words = all_words(&self.text[piece.range.clone()]);
            words.map(|word| (word, piece.range.start))
        })
    }

    /// Words in unparsed pieces outside of functions, which may declare anything.
    pub fn unknown(&self) -> HashSet<&str> {
        let pieces = self.unparsed.iter().filter(|piece| !piece.is_function);
        let words = pieces.flat_map(|piece| all_words(&self.text[piece.range.clone()]));
        words.filter(|word| !KEYWORDS.contains(word)).collect()
    }

    /// The line of an offset in the text, from one.
    pub fn line_of(&self, at: usize) -> usize {
        line_at(&self.text, at)
    }

    /// The parse error in words, if any.
    fn mistake(&self) -> Option<String> {
        let mut node = self.root();
        if !node.has_error() {
            return None;
        }
        // The innermost error is nearest to the mistake.
        while let Some(inner) = children(node).into_iter().find(|inner| inner.has_error()) {
            node = inner;
        }
        let missing = children(node).into_iter().find(Node::is_missing);
        let node = missing.unwrap_or(node);
        let (shown, place) = (self.path.display(), node.start_position());
        let what = if node.is_missing() {
            format!("missing `{}`", node.kind())
        } else {
            let line = self.text(node).lines().next().unwrap_or_default().trim();
            format!("cannot parse as C from `{line}`")
        };
        Some(format!(
            "{shown}:{}:{}: {what}; no file was written",
            place.row + 1,
            place.column + 1
        ))
    }

    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of a node.
    pub fn text(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// The text without blanks, for comparisons of expressions.
    pub fn words(&self, node: Node<'_>) -> String {
        self.text(node).split_whitespace().collect()
    }

    /// Whether this is a header.
    pub fn is_header(&self) -> bool {
        self.path.extension().is_none_or(|ending| ending != "c")
    }
}

/// Pieces that the grammar does not accept: each function and each declaration of variables with an
/// error, each statement outside of functions, and otherwise, in types, the erroneous pieces. The
/// arguments of a call outside of functions are meaningful only to its macro, which may declare
/// names.
fn unparsed(root: Node<'_>) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut add = |node: Node<'_>, is_function| {
        let range = node.byte_range();
        found.push(Piece { range, is_function });
    };
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        for part in children(node) {
            let is_strayed = part.kind().ends_with("_statement")
                && part.kind() != "expression_statement"
                || part.kind() == "compound_statement";
            if part.is_error() || is_strayed {
                add(part, is_strayed);
            } else if part.kind() == "expression_statement" {
                let call = part.named_child(0);
                let given = call.and_then(|call| call.child_by_field_name("arguments"));
                add(given.unwrap_or(part), false);
            } else if part.kind().starts_with("preproc_")
                || matches!(part.kind(), "linkage_specification" | "declaration_list")
            {
                waiting.push(part);
            } else if part.has_error() {
                match part.kind() {
                    "function_definition" => add(part, true),
                    // An unknown word may be a specifier of the variable.
                    "declaration" => add(part, false),
                    _ => {
                        let errors = everything(part).into_iter().filter(Node::is_error);
                        errors.for_each(|error| add(error, false));
                    }
                }
            }
        }
    }
    found
}

/// The line of an offset in a text, from one.
fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The line of a node, from one.
pub fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// The parts of a node.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// A node and all its descendants, in the order of the text.
pub fn everything(node: Node<'_>) -> Vec<Node<'_>> {
    let mut all = Vec::new();
    let mut cursor = node.walk();
    loop {
        all.push(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return all;
            }
        }
    }
}

/// The ancestors of a node, innermost first.
pub fn around(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), Node::parent)
}

/// The function around a node.
pub fn function_around(node: Node<'_>) -> Option<Node<'_>> {
    around(node)
        .filter(|node| node.kind() == "function_definition")
        .last()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

/// All words of unparsed text, including comments and quotes, since their limits are unknown.
pub fn all_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter| !is_of_word(letter));
    words.filter(|word| !word.is_empty() && !word.starts_with(|first: char| first.is_ascii_digit()))
}

/// The words of a macro's body, which is not parsed: each with whether a parenthesis follows.
pub fn words_of_macro(body: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        if first == '"' || first == '\'' {
            let mut is_escaped = false;
            let end = rest[1..].find(|letter| {
                let ends = letter == first && !is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                ends
            });
            rest = end.map_or("", |end| &rest[end + 2..]);
        } else if is_of_word(first) {
            let end = rest.find(|letter| !is_of_word(letter));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            if !first.is_ascii_digit() {
                found.push((word, after.trim_start().starts_with('(')));
            }
            rest = after;
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let wrong = |text: &str| {
            let problem = File::parse(Path::new("a.c"), text.to_owned(), &Reading::default()).err();
            problem.expect("it is wrong").to_string()
        };
        let said = wrong("int a;\nint f(void) {\n  return 1 +;\n}\n");
        assert!(said.starts_with("a.c:3:"), "{said}");
        let said = wrong("int f(void) {\n  int a = 1\n  return a;\n}\n");
        assert!(said.starts_with("a.c:2:") && said.contains("`;`"), "{said}");
        let right = "static _Thread_local int mine;\n__extension__ int a;\n";
        assert!(File::parse(Path::new("a.c"), right.to_owned(), &Reading::default()).is_ok());
    }

    #[test]
    fn words_in_a_text_are_none_of_a_macro() {
        let words = words_of_macro("do { f (x); puts(\"g(\\\"y\"); 2u; } while (0)");
        let calls: Vec<&str> = words
            .iter()
            .filter(|word| word.1)
            .map(|word| word.0)
            .collect();
        assert_eq!(calls, ["f", "puts", "while"]);
        assert!(words.contains(&("x", false)) && !words.iter().any(|word| word.0 == "g"));
    }

    #[test]
    fn no_quote_hides_a_word_where_nothing_is_parsed() {
        let words: Vec<&str> = all_words("/* don't */ f(\"g\", größe, a$b, 2u)").collect();
        assert_eq!(words, ["don", "t", "f", "g", "größe", "a$b"]);
        assert_eq!(
            words_of_macro("a$b + größe"),
            [("a$b", false), ("größe", false)]
        );
    }
}
