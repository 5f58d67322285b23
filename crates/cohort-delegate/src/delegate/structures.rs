//! Resolves expressions to structures, to distinguish fields of the same name.

use super::names::{Declared, Globals, declared, function_name, local};
use super::source::{File, around, children};
use std::collections::HashMap;
use tree_sitter::Node;

/// Part of a file that names a type.
type Typed<'p> = (usize, Node<'p>);

/// Structure or union.
#[derive(Clone, Debug)]
pub struct Structure<'p> {
    /// Its name, or its place without one.
    pub key: String,
    file: usize,
    fields: Node<'p>,
}

/// All types that the files define.
pub struct Structures<'p> {
    files: &'p [File],
    tagged: HashMap<&'p str, Vec<Typed<'p>>>,
    named: HashMap<&'p str, Vec<Typed<'p>>>,
    returned: HashMap<&'p str, Vec<Typed<'p>>>,
}

impl<'p> Structures<'p> {
    pub fn of(files: &'p [File]) -> Self {
        let mut found = Self {
            files,
            tagged: HashMap::new(),
            named: HashMap::new(),
            returned: HashMap::new(),
        };
        for (file, source) in files.iter().enumerate() {
            for node in source.parsed() {
                let of_type = node.child_by_field_name("type");
                match node.kind() {
                    "struct_specifier" | "union_specifier" => {
                        if let (Some(name), Some(_)) = (
                            node.child_by_field_name("name"),
                            node.child_by_field_name("body"),
                        ) {
                            let tag = source.text(name);
                            found.tagged.entry(tag).or_default().push((file, node));
                        }
                    }
                    "type_definition" => {
                        for one in declared(node) {
                            let name = source.text(one.name);
                            let types = found.named.entry(name).or_default();
                            types.extend(of_type.map(|of_type| (file, of_type)));
                        }
                    }
                    "function_definition" => {
                        let name = function_name(source, node);
                        let types = found.returned.entry(name).or_default();
                        types.extend(of_type.map(|of_type| (file, of_type)));
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// The structure with the field of that name, at its use or initialiser.
    pub fn of_field(
        &self,
        file: usize,
        name: Node<'p>,
        globals: &Globals<'p>,
    ) -> Option<Structure<'p>> {
        let outer = name.parent()?;
        match outer.kind() {
            "field_expression" => {
                let of_type =
                    self.expression(file, outer.child_by_field_name("argument")?, globals)?;
                self.structure(of_type, 0)
            }
            "offsetof_expression" => {
                let of_type = outer.child_by_field_name("type")?;
                self.structure((file, of_type.child_by_field_name("type")?), 0)
            }
            "field_designator" => self.designated(file, outer.parent()?, Some(outer)),
            _ => self.around(file, name),
        }
    }

    /// The structure that declares a field.
    pub fn around(&self, file: usize, field: Node<'p>) -> Option<Structure<'p>> {
        let mut outer = around(field)
            .filter(|outer| matches!(outer.kind(), "struct_specifier" | "union_specifier"));
        // An anonymous structure inside another one belongs to it.
        let own = outer.find(|outer| {
            let is_part = outer.parent().is_some_and(|whole| {
                whole.kind() == "field_declaration"
                    && whole.child_by_field_name("declarator").is_none()
            });
            outer.child_by_field_name("name").is_some() || !is_part
        })?;
        self.structure((file, own), 0)
    }

    /// The structure that a list in braces initialises.
    fn begun(&self, file: usize, list: Node<'p>) -> Option<Structure<'p>> {
        let outer = list.parent()?;
        match outer.kind() {
            "init_declarator" => {
                let of_type = outer.parent()?.child_by_field_name("type")?;
                self.structure((file, of_type), 0)
            }
            "compound_literal_expression" => {
                self.structure((file, outer.child_by_field_name("type")?), 0)
            }
            "initializer_pair" => self.designated(file, outer, None),
            // An array's element, if no designator names a field.
            "initializer_list" => {
                let is_array = outer.parent().is_some_and(|begun| {
                    let declarator = begun.child_by_field_name("declarator");
                    declarator.is_some_and(|one| one.kind() == "array_declarator")
                });
                is_array.then(|| self.begun(file, outer)).flatten()
            }
            _ => None,
        }
    }

    /// The structure that `.inner.own = …` initialises: that of a designated field or, without
    /// designators, of the innermost field.
    fn designated(
        &self,
        file: usize,
        pair: Node<'p>,
        until: Option<Node<'p>>,
    ) -> Option<Structure<'p>> {
        let mut whole = self.begun(file, pair.parent()?)?;
        for part in designators(pair) {
            if Some(part) == until {
                break;
            }
            let name = match part.kind() {
                "field_designator" => part.named_child(0)?,
                // `own: …`, the old syntax.
                "field_identifier" => part,
                _ => continue,
            };
            let of_type = self.field(&whole, self.files[file].text(name))?;
            whole = self.structure(of_type, 0)?;
        }
        Some(whole)
    }

    /// The type of an expression, without pointers and arrays.
    fn expression(&self, file: usize, node: Node<'p>, globals: &Globals<'p>) -> Option<Typed<'p>> {
        let source = &self.files[file];
        match node.kind() {
            "identifier" => {
                let name = source.text(node);
                let (file, one) = match local(source, name, node) {
                    Some(one) => (file, one),
                    None => globals.found(file, name)?,
                };
                Some((file, one.whole.child_by_field_name("type")?))
            }
            "field_expression" => {
                let argument = node.child_by_field_name("argument")?;
                let of_type = self.expression(file, argument, globals)?;
                let whole = self.structure(of_type, 0)?;
                self.field(&whole, source.text(node.child_by_field_name("field")?))
            }
            "subscript_expression" | "pointer_expression" => {
                self.expression(file, node.child_by_field_name("argument")?, globals)
            }
            "parenthesized_expression" => self.expression(file, node.named_child(0)?, globals),
            "cast_expression" => {
                let of_type = node.child_by_field_name("type")?;
                Some((file, of_type.child_by_field_name("type")?))
            }
            "call_expression" => {
                let name = source.text(node.child_by_field_name("function")?);
                let one = match globals.found(file, name) {
                    Some((file, one)) => {
                        let is_function = one.is_function();
                        let of_type = one.whole.child_by_field_name("type");
                        of_type.filter(|_| is_function).map(|node| (file, node))
                    }
                    None => None,
                };
                one.or_else(|| only(self.returned.get(name)?))
            }
            _ => None,
        }
    }

    /// The type of a structure's field.
    fn field(&self, whole: &Structure<'p>, name: &str) -> Option<Typed<'p>> {
        let source = &self.files[whole.file];
        let found = fields(whole.fields)
            .into_iter()
            .find(|one| source.text(one.name) == name)?;
        Some((whole.file, found.whole.child_by_field_name("type")?))
    }

    /// The structure of a type; none for an ambiguous name.
    fn structure(&self, (file, of_type): Typed<'p>, depth: usize) -> Option<Structure<'p>> {
        const DEEPEST: usize = 8;
        let source = &self.files[file];
        match of_type.kind() {
            "struct_specifier" | "union_specifier" => {
                let name = of_type.child_by_field_name("name");
                match (of_type.child_by_field_name("body"), name) {
                    (Some(fields), name) => Some(Structure {
                        key: name.map_or_else(
                            || format!("{file}:{}", of_type.start_byte()),
                            |name| source.text(name).to_owned(),
                        ),
                        file,
                        fields,
                    }),
                    (None, Some(name)) if depth < DEEPEST => {
                        self.structure(only(self.tagged.get(source.text(name))?)?, depth + 1)
                    }
                    _ => None,
                }
            }
            "type_identifier" if depth < DEEPEST => {
                let types = self.named.get(source.text(of_type))?;
                let mut all = types.iter();
                let first = self.structure(*all.next()?, depth + 1)?;
                let is_same = |one: &Typed<'p>| {
                    let other = self.structure(*one, depth + 1);
                    other.is_some_and(|other| other.key == first.key)
                };
                all.all(is_same).then_some(first)
            }
            _ => None,
        }
    }
}

/// The designators of an initialiser: `.inner`, `[2]`, `.own`.
pub fn designators(pair: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = pair.walk();
    pair.children_by_field_name("designator", &mut cursor)
        .collect()
}

fn only<'p>(types: &[Typed<'p>]) -> Option<Typed<'p>> {
    match types[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// The fields that a list declares, including those of anonymous structures.
fn fields(list: Node<'_>) -> Vec<Declared<'_>> {
    let mut found = Vec::new();
    for part in children(list) {
        if part.kind() == "field_declaration" {
            let own = declared(part);
            let lends = own.is_empty().then(|| part.child_by_field_name("type"));
            let body = lends
                .flatten()
                .and_then(|of_type| of_type.child_by_field_name("body"));
            found.extend(own);
            found.extend(body.into_iter().flat_map(fields));
        } else if part.kind().starts_with("preproc_") {
            found.extend(fields(part));
        }
    }
    found
}

/// The names of the fields of these types, wherever declared.
pub fn fields_of_type<'p>(source: &'p File, types: &[&str]) -> Vec<&'p str> {
    let mut found = Vec::new();
    for node in source.parsed() {
        let of_type = node.child_by_field_name("type");
        let is_it = of_type.is_some_and(|of_type| types.contains(&source.text(of_type)));
        if node.kind() == "field_declaration" && is_it {
            found.extend(declared(node).iter().map(|one| source.text(one.name)));
        }
    }
    found
}
