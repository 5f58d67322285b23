//! Files, functions and declared names of a program, as the compiler front end understands them.

use super::lex::{self, Token};
use super::macros::Macros;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Identity of a declared name: the same in all files for a global one.
pub type Id = u32;

/// No identity.
pub const NONE: Id = 0;

/// Place in a file, as an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Place {
    pub file: usize,
    pub at: usize,
}

/// File of the program or of the system.
pub struct Source {
    pub path: PathBuf,
    /// The text; bytes that are not UTF-8 are question marks.
    pub text: String,
    pub bytes: Vec<u8>,
    /// Whether it is a file of the program.
    pub is_own: bool,
    /// Macros that are expanded in it: from, to, name.
    pub expansions: BTreeMap<usize, (usize, Rc<str>)>,
    /// Branches of `#if` that no reading of the file takes.
    pub unread: Option<Vec<Range<usize>>>,
    tokens: OnceCell<Vec<Token>>,
}

impl Source {
    pub fn read(path: &Path, is_own: bool) -> Self {
        let bytes = if is_own {
            std::fs::read(path).unwrap_or_default()
        } else {
            Vec::new()
        };
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes
                .iter()
                .map(|byte| {
                    if byte.is_ascii() {
                        char::from(*byte)
                    } else {
                        '?'
                    }
                })
                .collect(),
        };
        Self {
            path: path.to_owned(),
            text,
            bytes,
            is_own,
            expansions: BTreeMap::new(),
            unread: None,
            tokens: OnceCell::new(),
        }
    }

    pub fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| lex::tokens(&self.text))
    }

    /// The tokens that begin in a piece of the text.
    pub fn tokens_in(&self, piece: Range<usize>) -> &[Token] {
        let all = self.tokens();
        let from = all.partition_point(|token| token.from < piece.start);
        let to = all.partition_point(|token| token.from < piece.end);
        all.get(from..to).unwrap_or_default()
    }

    /// The line of an offset, from one.
    pub fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// A piece of the text.
    pub fn piece(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The macro expanded there, with the end of its expansion.
    pub fn expansion(&self, at: usize) -> Option<(usize, &str)> {
        let (to, name) = self.expansions.get(&at)?;
        self.piece(at, at + name.len())
            .eq(&**name)
            .then_some((*to, &**name))
    }

    /// The expansion around an offset.
    pub fn expansion_around(&self, at: usize) -> Option<Range<usize>> {
        let all = self.expansions.range(..=at).rev().take(64);
        let mut found = None;
        for (from, (to, name)) in all {
            if at < *to && self.piece(*from, from + name.len()) == &**name {
                found = Some(*from..*to);
            }
        }
        found
    }
}

/// Type of a variable, as far as a declaration of it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Named(String),
    /// With the words behind `*`.
    Pointer(Box<Shape>, &'static str),
    Array(Box<Shape>, Option<i64>),
    Function(Box<Shape>, Vec<Shape>, bool),
    /// A type that has no name at the file's level, and what it is.
    Odd(String),
}

impl Shape {
    /// The declaration of a name, or of a pointer with that declarator.
    pub fn declare(&self, name: &str) -> String {
        match self {
            Self::Named(of) | Self::Odd(of) => format!("{of} {name}"),
            Self::Pointer(to, words) => {
                let blank = if words.is_empty() { "" } else { " " };
                let inner = format!("*{words}{blank}{name}");
                match **to {
                    Self::Array(..) | Self::Function(..) => to.declare(&format!("({inner})")),
                    _ => to.declare(&inner),
                }
            }
            Self::Array(of, size) => {
                let size = size.map_or_else(String::new, |size| size.to_string());
                of.declare(&format!("{name}[{size}]"))
            }
            Self::Function(result, given, is_open) => {
                let mut all: Vec<String> = given
                    .iter()
                    .map(|one| one.declare("").trim_end().to_owned())
                    .collect();
                if *is_open {
                    all.push("...".to_owned());
                } else if all.is_empty() {
                    all.push("void".to_owned());
                }
                result.declare(&format!("{name}({})", all.join(", ")))
            }
        }
    }

    /// The type of a variable of this type that may be assigned.
    pub fn assignable(&self) -> Self {
        match self {
            Self::Named(of) => Self::Named(of.strip_prefix("const ").unwrap_or(of).to_owned()),
            Self::Pointer(to, words) => {
                let words = if words.contains("volatile") {
                    "volatile"
                } else {
                    ""
                };
                Self::Pointer(to.clone(), words)
            }
            other => other.clone(),
        }
    }

    /// What makes the type unusable elsewhere, if anything does.
    pub fn odd(&self) -> Option<&str> {
        match self {
            Self::Odd(what) => Some(what),
            Self::Named(_) => None,
            Self::Pointer(to, _) | Self::Array(to, _) => to.odd(),
            Self::Function(result, given, _) => {
                result.odd().or_else(|| given.iter().find_map(Self::odd))
            }
        }
    }
}

/// Variable, parameter or field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub shape: Shape,
    /// The type behind all names of types, without an array's sizes.
    pub canonical: String,
    pub is_array: bool,
    /// A number, an enumeration or a pointer, not volatile.
    pub is_scalar: bool,
    pub is_of_thread: bool,
    pub is_static: bool,
    pub is_extern: bool,
    pub is_register: bool,
    /// Whether it cannot be assigned though its declaration does not say so: `const` is in its type's.
    pub is_fixed: bool,
}

/// Part of the program's tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The kind as libclang numbers them.
    pub kind: i32,
    pub file: usize,
    pub from: usize,
    pub to: usize,
    /// The declared or meant name.
    pub of: Id,
    pub name: Rc<str>,
    pub parent: usize,
    pub kids: Vec<usize>,
    pub variable: Option<Rc<Variable>>,
    /// Whether its type is a pointer's or an array's.
    pub is_pointer: bool,
    pub is_array: bool,
}

impl Node {
    /// Its beginning.
    pub fn place(&self) -> Place {
        Place {
            file: self.file,
            at: self.from,
        }
    }
}

/// Function or initialised variable, with its tree; the first node is the whole.
pub struct Function {
    pub name: Rc<str>,
    pub id: Id,
    pub place: Place,
    pub to: usize,
    pub nodes: Vec<Node>,
    pub is_function: bool,
    pub is_static: bool,
    pub is_cpp: bool,
    pub result: Option<Shape>,
    /// Whether it has old-style parameter declarations.
    pub is_old: bool,
}

impl Function {
    pub fn text<'s>(&self, sources: &'s [Source], node: usize) -> &'s str {
        let node = &self.nodes[node];
        sources[node.file].piece(node.from, node.to)
    }

    /// The node's ancestors, innermost first.
    pub fn around(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |at| {
            let parent = self.nodes[*at].parent;
            (parent != *at).then_some(parent)
        })
        .skip(1)
    }

    pub fn is_within(&self, node: usize, outer: usize) -> bool {
        node == outer || self.around(node).any(|at| at == outer)
    }

    /// A node and all its descendants.
    pub fn everything(&self, node: usize) -> Vec<usize> {
        let (mut all, mut waiting) = (Vec::new(), vec![node]);
        while let Some(at) = waiting.pop() {
            all.push(at);
            waiting.extend(self.nodes[at].kids.iter().rev());
        }
        all
    }

    pub fn body(&self) -> Option<usize> {
        let last = *self.nodes.first()?.kids.last()?;
        (self.nodes[last].kind == clang_sys::CXCursor_CompoundStmt).then_some(last)
    }
}

/// Declaration of a global variable or a field.
#[derive(Clone, Debug)]
pub struct Declared {
    pub place: Place,
    pub from: usize,
    pub to: usize,
    pub variable: Rc<Variable>,
    pub is_field: bool,
    pub is_in_union: bool,
    /// The function, of a variable inside one.
    pub is_inner: bool,
    pub is_cpp: bool,
}

/// Declared name.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    pub name: String,
    pub is_function: bool,
    pub is_of_thread: bool,
    pub is_defined: bool,
    /// Its first declaration.
    pub place: Option<Place>,
    pub declared: Vec<Declared>,
}

/// The whole program.
#[derive(Default)]
pub struct Program {
    pub sources: Vec<Source>,
    pub paths: HashMap<PathBuf, usize>,
    pub functions: Vec<Function>,
    /// The functions that begin there.
    pub begun: HashMap<Place, Vec<usize>>,
    pub entities: Vec<Entity>,
    pub ids: HashMap<String, Id>,
    pub macros: Macros,
    /// Fields of a structure in order.
    pub fields: HashMap<Id, Vec<Id>>,
    /// The structure that a field is, or consists of.
    pub structures: HashMap<Id, Id>,
    /// Files that do not parse, left as they are.
    pub unparsed: Vec<usize>,
}

impl Program {
    pub fn entity(&self, id: Id) -> &Entity {
        &self.entities[id as usize]
    }

    /// Where a place is, `file:line`.
    pub fn line(&self, place: Place) -> usize {
        self.sources[place.file].line(place.at)
    }
}
