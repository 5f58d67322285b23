//! Resolves names to declarations, by the scopes of C.

use super::source::{File, all_words, around, children, everything};
use std::collections::HashMap;
use tree_sitter::Node;

/// Name in a declaration.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'p> {
    /// The whole declaration.
    pub whole: Node<'p>,
    /// The name's part of it, without its initial value.
    pub declarator: Node<'p>,
    pub name: Node<'p>,
    pub value: Option<Node<'p>>,
}

impl<'p> Declared<'p> {
    /// The innermost declarator around the name: an array, a pointer, a function; the declarator
    /// itself without any.
    pub fn shape(&self) -> Node<'p> {
        let mut shape = self.name;
        while shape != self.declarator {
            let Some(outer) = shape.parent() else { break };
            shape = outer;
            if !matches!(
                shape.kind(),
                "parenthesized_declarator" | "attributed_declarator"
            ) {
                break;
            }
        }
        shape
    }

    /// The specifiers before the name, common to the declaration: the type, and words such as
    /// `const`.
    pub fn of_type(&self) -> Vec<Node<'p>> {
        let of_type = self.whole.child_by_field_name("type");
        let mut parts = children(self.whole);
        parts.retain(|part| {
            let is_said = part.kind() == "type_qualifier" || of_type == Some(*part);
            is_said && part.start_byte() < self.declarator.start_byte()
        });
        parts
    }

    /// Whether the declaration has one of these words before its type.
    pub fn is(&self, file: &File, storage: &[&str]) -> bool {
        children(self.whole).into_iter().any(|part| {
            part.kind() == "storage_class_specifier" && storage.contains(&file.text(part))
                || part.kind() == "type_qualifier" && storage.contains(&file.text(part))
        })
    }

    pub fn is_of_thread(&self, file: &File) -> bool {
        let words = &file.text[self.whole.start_byte()..self.declarator.start_byte()];
        all_words(words).any(|word| file.is_of_thread(word))
    }

    pub fn is_function(&self) -> bool {
        self.shape().kind() == "function_declarator"
    }
}

/// The innermost part of a declarator.
fn innermost(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut inner = declarator;
    loop {
        match inner.kind() {
            "identifier" | "field_identifier" | "type_identifier" => return Some(inner),
            _ => {
                let parts = children(inner);
                let named = |part: &Node<'_>| {
                    part.kind().ends_with("declarator") || part.kind() == "identifier"
                };
                inner = inner
                    .child_by_field_name("declarator")
                    .or_else(|| parts.into_iter().find(named))?;
            }
        }
    }
}

/// The names in a declaration, a parameter or a field.
pub fn declared(whole: Node<'_>) -> Vec<Declared<'_>> {
    let parts: Vec<Node<'_>> = whole
        .children_by_field_name("declarator", &mut whole.walk())
        .collect();
    let each = parts.into_iter().filter_map(|part| {
        let is_begun = part.kind() == "init_declarator";
        let declarator = if is_begun {
            part.child_by_field_name("declarator")?
        } else {
            part
        };
        let value = is_begun
            .then(|| part.child_by_field_name("value"))
            .flatten();
        let name = innermost(declarator)?;
        Some(Declared {
            whole,
            declarator,
            name,
            value,
        })
    });
    each.collect()
}

/// The declarations in a scope, including those within `#if`.
fn declarations<'p>(scope: Node<'p>, found: &mut Vec<Node<'p>>) {
    for part in children(scope) {
        match part.kind() {
            "declaration" => found.push(part),
            "linkage_specification" | "declaration_list" => declarations(part, found),
            kind if kind.starts_with("preproc_") => declarations(part, found),
            _ => {}
        }
    }
}

/// The parameters of a function.
pub fn parameters(function: Node<'_>) -> Vec<Node<'_>> {
    let mut declarator = function.child_by_field_name("declarator");
    while let Some(part) = declarator {
        if part.kind() == "function_declarator" {
            let list = part.child_by_field_name("parameters");
            let mut all = list.map_or_else(Vec::new, children);
            all.retain(|part| part.kind() == "parameter_declaration");
            return all;
        }
        declarator = part.child_by_field_name("declarator");
    }
    Vec::new()
}

/// The name of a function.
pub fn function_name<'p>(file: &'p File, function: Node<'p>) -> &'p str {
    let declarator = function.child_by_field_name("declarator");
    let name = declarator.and_then(innermost);
    name.map_or("", |name| file.text(name))
}

/// Declarations outside of functions, by file.
pub struct Globals<'p>(Vec<HashMap<&'p str, Vec<Declared<'p>>>>);

impl<'p> Globals<'p> {
    pub fn of(files: &'p [File]) -> Self {
        let each = files.iter().map(|file| {
            let mut found = Vec::new();
            declarations(file.root(), &mut found);
            let mut names: HashMap<&str, Vec<Declared<'_>>> = HashMap::new();
            for one in found.into_iter().flat_map(declared) {
                names.entry(file.text(one.name)).or_default().push(one);
            }
            names
        });
        Self(each.collect())
    }

    /// The declaration of a name outside of functions, in that file or another.
    pub fn get(&self, file: usize, name: &str) -> Option<Declared<'p>> {
        self.found(file, name).map(|(_, one)| one)
    }

    /// That declaration, with its file.
    pub fn found(&self, file: usize, name: &str) -> Option<(usize, Declared<'p>)> {
        let all = std::iter::once(file).chain(0..self.0.len());
        let mut found = all.filter_map(|file| Some((file, self.in_file(file, name)?)));
        found.next()
    }

    /// That declaration in one file.
    pub fn in_file(&self, file: usize, name: &str) -> Option<Declared<'p>> {
        self.0[file].get(name)?.first().copied()
    }

    /// Whether any file declares that name thread-local.
    pub fn is_of_thread(&self, files: &[File], name: &str) -> bool {
        let mut all = self.0.iter().zip(files);
        all.any(|(names, file)| {
            let found = names.get(name);
            found.is_some_and(|found| found.iter().any(|one| one.is_of_thread(file)))
        })
    }
}

/// The declaration of a name at a place, if within the enclosing function.
pub fn local<'p>(file: &File, name: &str, at: Node<'p>) -> Option<Declared<'p>> {
    for scope in around(at) {
        let mut found = Vec::new();
        match scope.kind() {
            "translation_unit" => return None,
            "function_definition" => found = parameters(scope),
            "compound_statement" | "case_statement" => declarations(scope, &mut found),
            "for_statement" => found.extend(scope.child_by_field_name("initializer")),
            _ => continue,
        }
        let before = found
            .into_iter()
            .flat_map(declared)
            .filter(|one| one.name.start_byte() <= at.start_byte());
        let mut named = before.filter(|one| file.text(one.name) == name);
        if let Some(last) = named.next_back() {
            return Some(last);
        }
    }
    None
}

/// The types and constants local to a function, by name.
pub fn own_types<'p>(file: &'p File, function: Node<'p>) -> Vec<(&'p str, Node<'p>)> {
    let mut found = Vec::new();
    for node in everything(function) {
        let has_body = node.child_by_field_name("body").is_some();
        match node.kind() {
            "struct_specifier" | "union_specifier" | "enum_specifier" if has_body => {
                found.extend(node.child_by_field_name("name"));
            }
            "type_definition" => {
                let mut cursor = node.walk();
                let names = node.children_by_field_name("declarator", &mut cursor);
                found.extend(names.filter_map(innermost));
            }
            "enumerator" => found.extend(node.child_by_field_name("name")),
            _ => {}
        }
    }
    found
        .into_iter()
        .map(|node| (file.text(node), node))
        .collect()
}
