//! Files of C, parsed, and ways through their trees.

use crate::problem::Problem;
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser, Tree};

/// A file of C.
pub struct File {
    pub path: PathBuf,
    pub text: String,
    tree: Tree,
}

/// A word that the grammar does not know, and one as long that it does.
const SPELLINGS: [(&str, &str); 2] = [
    ("_Thread_local", "__thread     "),
    ("__extension__", "             "),
];

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or not be parsed: the line where that shows is in the message.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let shown = path.display();
        let bytes = std::fs::read(path)
            .map_err(|error| Problem::usage(format!("cannot read {shown}: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Problem::usage(format!("{shown}: not a text in UTF-8")))?;
        Self::parse(path, text)
    }

    fn parse(path: &Path, text: String) -> Result<Self, Problem> {
        let spelled = SPELLINGS
            .iter()
            .fold(text.clone(), |text, (from, to)| text.replace(from, to));
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
        let file = Self {
            path: path.to_owned(),
            text,
            tree,
        };
        match file.mistake() {
            None => Ok(file),
            Some(mistake) => Err(Problem::usage(mistake)),
        }
    }

    /// What cannot be parsed, in words, if anything.
    fn mistake(&self) -> Option<String> {
        let mut node = self.root();
        if !node.has_error() {
            return None;
        }
        // The innermost that is wrong is nearest to the mistake.
        while let Some(inner) = children(node).into_iter().find(|inner| inner.has_error()) {
            node = inner;
        }
        let missing = children(node).into_iter().find(Node::is_missing);
        let node = missing.unwrap_or(node);
        let (shown, place) = (self.path.display(), node.start_position());
        let what = if node.is_missing() {
            format!("`{}` is missing here", node.kind())
        } else {
            let line = self.text(node).lines().next().unwrap_or_default().trim();
            format!("cannot be parsed as C from `{line}` on")
        };
        Some(format!(
            "{shown}:{}:{}: {what}; nothing was written",
            place.row + 1,
            place.column + 1
        ))
    }

    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// What is written there.
    pub fn text(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// The same without blanks, by which two expressions are compared.
    pub fn words(&self, node: Node<'_>) -> String {
        self.text(node).split_whitespace().collect()
    }

    /// Whether this is a file that others include.
    pub fn is_header(&self) -> bool {
        self.path.extension().is_none_or(|ending| ending != "c")
    }
}

/// The line of a node, counted from one.
pub fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// The parts of a node.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// A node and all that is in it, in the order of the text.
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

/// What a node is in, the innermost first.
pub fn around(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), Node::parent)
}

/// The function that a node is in.
pub fn function_around(node: Node<'_>) -> Option<Node<'_>> {
    around(node)
        .filter(|node| node.kind() == "function_definition")
        .last()
}

/// The words of the body of a macro, which no grammar parses: each with whether a parenthesis
/// follows.
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
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
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
            let problem = File::parse(Path::new("a.c"), text.to_owned()).err();
            problem.expect("it is wrong").to_string()
        };
        let said = wrong("int a;\nint f(void) {\n  return 1 +;\n}\n");
        assert!(said.starts_with("a.c:3:"), "{said}");
        let said = wrong("int f(void) {\n  int a = 1\n  return a;\n}\n");
        assert!(said.starts_with("a.c:2:") && said.contains("`;`"), "{said}");
        let right = "static _Thread_local int mine;\n__extension__ int a;\n";
        assert!(File::parse(Path::new("a.c"), right.to_owned()).is_ok());
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
}
