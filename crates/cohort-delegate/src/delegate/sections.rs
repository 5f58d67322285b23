//! Critical sections of mutexes: from a lock to its unlock, if both are in one block; and the
//! variables that such a piece captures.

use super::conditions::{self, Change};
use super::judge::{Judge, following, locked, statement};
use super::names::{Declared, function_name, local};
use super::objects::{At, Reason, Use};
use super::source::{around, everything, function_around, line};
use std::collections::BTreeMap;
use tree_sitter::Node;

/// Captured variable.
#[derive(Debug)]
pub struct Taken<'p> {
    pub one: Declared<'p>,
    /// Whether it is captured by value: it does not change until the critical section has run.
    pub is_copied: bool,
}

/// Critical section that can be outlined.
#[derive(Debug)]
pub struct Section<'p> {
    pub file: usize,
    /// The name of its function.
    pub within: &'p str,
    pub function: Node<'p>,
    pub locks: Use<'p>,
    pub first: Node<'p>,
    pub last: Node<'p>,
    /// The statements between lock and unlock.
    pub body: Vec<Node<'p>>,
    pub taken: BTreeMap<String, Taken<'p>>,
}

impl Section<'_> {
    pub fn contains(&self, node: Node<'_>) -> bool {
        self.first.end_byte() <= node.start_byte() && node.end_byte() <= self.last.start_byte()
    }
}

/// The critical section that begins there.
///
/// # Errors
/// The reason why it cannot be outlined.
pub fn section<'p>(
    judge: &Judge<'_, 'p>,
    place: usize,
    locks: Use<'p>,
) -> Result<Section<'p>, Reason> {
    let source = &judge.files[locks.file];
    let because = |node: Node<'_>, why: &str| {
        let file = locks.file;
        Err(Reason::new(At { file, node }, why))
    };
    let Some(first) = statement(source, locks.call) else {
        return because(locks.call, "uses the result of pthread_mutex_lock()");
    };
    let in_block = first
        .parent()
        .is_some_and(|block| matches!(block.kind(), "compound_statement" | "case_statement"));
    let Some(function) = function_around(first).filter(|_| in_block) else {
        return because(locks.call, "does not begin as a statement of a block");
    };
    let object = source.words(locks.argument);
    let mut body = Vec::new();
    let mut last = None;
    for next in following(first) {
        if locked(source, next, "pthread_mutex_unlock").as_ref() == Some(&object) {
            last = Some(next);
            break;
        }
        body.push(next);
    }
    let own = |node: &Node<'p>| {
        let uses = judge.objects.all[place].uses.iter();
        let mut here = uses.filter(|one| one.file == locks.file && one.call == *node);
        here.any(|one| source.words(one.argument) == object || one.function.contains("wait"))
    };
    let all: Vec<Node<'p>> = body.iter().flat_map(|part| everything(*part)).collect();
    if let Some(inner) = all.iter().find(|node| own(node)) {
        let called = inner.child_by_field_name("function");
        let why = match called.map_or("", |called| source.called(called)) {
            "pthread_mutex_lock" => "is locked again",
            "pthread_mutex_unlock" => "is left in more than one place",
            _ => "waits for a condition",
        };
        return because(*inner, why);
    }
    let Some(last) = last else {
        return because(locks.call, "ends in another block than it begins");
    };
    // Decided directives are in the text and in no tree.
    let between = &source.text[first.end_byte()..last.start_byte()];
    if !conditions::are_whole(between) {
        return because(locks.call, "contains a part of an `#if`");
    }
    body.retain(|part| !(part.kind() == "comment" && part.start_byte() > last.end_byte()));
    if body.iter().all(|part| part.kind() == "comment") {
        return because(locks.call, "is empty");
    }
    if let Some(reason) = judge.forbids(locks.file, &body) {
        return Err(reason);
    }
    // The outlined function precedes its function, and so precedes the directives in its function.
    let before = function.start_byte()..first.end_byte();
    let changes = conditions::changes(&source.text, before);
    if let Some(any) = changes.iter().find(|change| change.name.is_none()) {
        let line = source.line_of(any.at);
        let why = format!("follows an `#include` in its function, in line {line}");
        return because(locks.call, &why);
    }
    let mut parts = body.iter();
    if let Some((node, why)) =
        parts.find_map(|part| judge.means_another(locks.file, *part, &changes))
    {
        return because(node, &why);
    }
    if let Some(node) = everything(locks.object)
        .into_iter()
        .find(|node| !is_steady(node.kind()))
    {
        return because(node, "computes the address of its mutex");
    }
    let mut made = Section {
        file: locks.file,
        within: function_name(source, function),
        function,
        locks,
        first,
        last,
        body,
        taken: BTreeMap::new(),
    };
    take(judge, &mut made, &all, &changes)?;
    Ok(made)
}

/// Kinds of expressions with the same value each time they are evaluated.
fn is_steady(kind: &str) -> bool {
    const STEADY: [&str; 14] = [
        "identifier",
        "field_identifier",
        "field_expression",
        "subscript_expression",
        "pointer_expression",
        "parenthesized_expression",
        "binary_expression",
        "number_literal",
        "cast_expression",
        "type_descriptor",
        "abstract_pointer_declarator",
        "type_identifier",
        "primitive_type",
        "comment",
    ];
    // Operators are kinds of their own.
    STEADY.contains(&kind) || !kind.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Finds the captured variables, and whether they can be passed.
fn take<'p>(
    judge: &Judge<'_, 'p>,
    section: &mut Section<'p>,
    all: &[Node<'p>],
    changes: &[Change],
) -> Result<(), Reason> {
    let file = section.file;
    let source = &judge.files[file];
    let names = all.iter().filter(|node| node.kind() == "identifier");
    for node in names {
        let name = source.text(*node);
        let Some(one) = local(source, name, *node) else {
            continue;
        };
        if section.contains(one.name) {
            continue;
        }
        let why = untakable(judge, file, &one).or_else(|| {
            let mut parts = one.of_type().into_iter().chain([one.declarator]);
            let (_, why) = parts.find_map(|part| judge.means_another(file, part, changes))?;
            Some(format!("uses {name}: its declaration {why}"))
        });
        if let Some(why) = why {
            return Err(Reason::new(At { file, node: *node }, why));
        }
        let is_copied = is_simple(judge, file, &one) && !is_changed(judge, section, &one, all);
        section
            .taken
            .insert(name.to_owned(), Taken { one, is_copied });
    }
    for node in all.iter().filter(|node| node.kind() == "identifier") {
        let used = source.text(*node);
        // Any local of the function, captured or not.
        let locals = everything(section.function).into_iter();
        let declared =
            locals.filter(|part| matches!(part.kind(), "declaration" | "parameter_declaration"));
        let mut declared = declared.flat_map(super::names::declared);
        if judge.is_macro(used)
            && let Some(one) =
                declared.find(|one| judge.macro_that_names(used, source.text(one.name)))
        {
            let name = source.text(one.name);
            let why = format!("uses the macro {used}, which names {name}");
            return Err(Reason::new(At { file, node: *node }, why));
        }
    }
    let after = following(section.last).flat_map(everything);
    let after = after.filter(|node| node.kind() == "identifier");
    for node in after {
        let name = source.text(node);
        let inside = local(source, name, node).filter(|one| section.contains(one.name));
        if let Some(one) = inside {
            let line = line(one.name);
            let why = format!("declares {name} in line {line} for use after the critical section");
            return Err(Reason::new(At { file, node }, why));
        }
    }
    let roots = everything(section.locks.object).into_iter();
    for node in roots.filter(|node| node.kind() == "identifier") {
        let name = source.text(node);
        let changed = all
            .iter()
            .find(|inner| source.text(**inner) == name && is_written(**inner));
        if let Some(inner) = changed {
            let why = format!("changes {name}, part of the mutex expression");
            return Err(Reason::new(At { file, node: *inner }, why));
        }
    }
    Ok(())
}

/// The reason why a variable cannot be passed to another function.
fn untakable<'p>(judge: &Judge<'_, 'p>, file: usize, one: &Declared<'p>) -> Option<String> {
    let source = &judge.files[file];
    let name = source.text(one.name);
    if one.is_function() {
        return Some(format!("uses {name}, a nested function"));
    }
    if one.is(source, &["register"]) {
        return Some(format!("uses {name}, a register variable"));
    }
    let of_type = one.whole.child_by_field_name("type")?;
    let is_own = everything(of_type)
        .into_iter()
        .any(|part| part.child_by_field_name("body").is_some());
    let text = source.text(of_type);
    if is_own || text.contains("typeof") || text == "__auto_type" {
        return Some(format!("uses {name}, of an unnamed type"));
    }
    let is_parameter = one.whole.kind() == "parameter_declaration";
    let is_bare = !matches!(
        one.shape().kind(),
        "pointer_declarator" | "array_declarator"
    );
    // The address of such a parameter is not that of an array.
    if is_parameter && is_bare && judge.is_array(text) {
        return Some(format!("uses {name}, a parameter of the array type {text}"));
    }
    let function = function_around(one.whole)?;
    let own = super::names::own_types(source, function);
    if let Some((of, _)) = own.iter().find(|(own, _)| {
        everything(of_type)
            .iter()
            .any(|part| source.text(*part) == *own)
    }) {
        return Some(format!("uses {name}, of the local type {of}"));
    }
    let sizes = everything(one.declarator).into_iter();
    for size in sizes.filter_map(|part| part.child_by_field_name("size")) {
        for part in everything(size) {
            let is_name = part.kind() == "identifier";
            let of_function = is_name && local(source, source.text(part), part).is_some();
            let of_types = own.iter().any(|(own, _)| source.text(part) == *own);
            // A parameter's outermost size is irrelevant.
            let is_outermost =
                is_parameter && one.shape().child_by_field_name("size") == Some(size);
            if (of_function || of_types) && !is_outermost {
                return Some(format!("uses {name}, of variable size"));
            }
        }
    }
    None
}

/// Whether a variable is one number or address in its function's frame.
fn is_simple(judge: &Judge<'_, '_>, file: usize, one: &Declared<'_>) -> bool {
    let source = &judge.files[file];
    let of_type = one.whole.child_by_field_name("type");
    let is_number = of_type
        .is_some_and(|of_type| matches!(of_type.kind(), "primitive_type" | "sized_type_specifier"));
    let is_pointer =
        one.shape().kind() == "pointer_declarator" && one.shape() == innermost_pointer(one);
    let is_plain = one.declarator == one.name && is_number;
    (is_plain || is_pointer) && !one.is(source, &["static", "extern", "volatile"])
}

/// The declarator itself, if it consists of pointers only.
fn innermost_pointer<'p>(one: &Declared<'p>) -> Node<'p> {
    let odd = everything(one.declarator)
        .into_iter()
        .find(|part| part.kind().ends_with("declarator") && part.kind() != "pointer_declarator");
    odd.unwrap_or_else(|| one.shape())
}

/// Whether a name is assigned, or its address taken.
fn is_written(node: Node<'_>) -> bool {
    let mut inner = node;
    while let Some(outer) = inner.parent() {
        match outer.kind() {
            "parenthesized_expression" => inner = outer,
            "assignment_expression" => return outer.child_by_field_name("left") == Some(inner),
            "update_expression" => return true,
            "pointer_expression" => {
                let operator = outer.child_by_field_name("operator");
                return operator.is_some_and(|operator| operator.kind() == "&");
            }
            _ => return false,
        }
    }
    false
}

/// Whether a variable may change between its critical section's posting and its end: the critical
/// section assigns it, or another thread may have its address.
fn is_changed<'p>(
    judge: &Judge<'_, 'p>,
    section: &Section<'p>,
    one: &Declared<'p>,
    all: &[Node<'p>],
) -> bool {
    let source = &judge.files[section.file];
    let name = source.text(one.name);
    let is_it = |node: &Node<'p>| node.kind() == "identifier" && source.text(*node) == name;
    let in_macro = |node: Node<'p>| {
        around(node).any(|call| {
            let called = call.child_by_field_name("function");
            call.kind() == "call_expression"
                && called.is_some_and(|called| judge.is_macro(source.text(called)))
        })
    };
    let mut inside = all.iter().filter(|node| is_it(node));
    if inside.any(|node| is_written(*node) || in_macro(*node)) {
        return true;
    }
    everything(section.function)
        .iter()
        .filter(|node| is_it(node))
        .any(|node| {
            let address = node.parent().is_some_and(|outer| {
                let operator = outer.child_by_field_name("operator");
                outer.kind() == "pointer_expression"
                    && operator.is_some_and(|operator| operator.kind() == "&")
            });
            address || in_macro(*node)
        })
}
