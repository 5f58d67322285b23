//! The converted text: edits of the original.

use super::objects::{Kind, Object, Objects, Use};
use super::sections::{Section, Taken};
use super::source::{File, around, children, everything, line};
use std::fmt::Write;
use tree_sitter::Node;

/// Piece of a text with its replacement.
#[derive(Clone)]
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

/// Edits of one text.
#[derive(Clone, Default)]
struct Edits(Vec<Edit>);

impl Edits {
    fn put(&mut self, from: usize, to: usize, text: impl Into<String>) {
        let text = text.into();
        self.0.push(Edit { from, to, text });
    }

    fn replace(&mut self, node: Node<'_>, text: impl Into<String>) {
        self.put(node.start_byte(), node.end_byte(), text);
    }

    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.put(at, at, text);
    }

    /// A piece of the text, with the edits within.
    fn apply(&self, text: &str, from: usize, to: usize) -> String {
        let within = self
            .0
            .iter()
            .filter(|edit| from <= edit.from && edit.to <= to);
        let mut within: Vec<&Edit> = within.collect();
        // Insertions precede replacements at the same place.
        within.sort_by_key(|edit| (edit.from, edit.to));
        let (mut made, mut at) = (String::new(), from);
        for edit in within {
            made.push_str(&text[at..edit.from]);
            made.push_str(&edit.text);
            at = edit.to;
        }
        made.push_str(&text[at..to]);
        made
    }
}

/// The head of a converted file. Code that still uses a converted mutex as another type, as in an
/// unread branch of `#if`, does not compile, except through a cast or `void *`. The header does not
/// revert the pragma at its end: a file that includes a converted header may have no other change.
const HEAD: &str =
    "#include <cohort.h>\n#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n";

/// Replacement of an unread branch of `#if` in a critical section: its content could be bound to
/// its thread, or leave the critical section.
const UNREAD: &str = "\n#error \"cohort delegate ignored this branch\"\n";

/// The text of a file with its objects and these critical sections converted.
pub fn converted(
    number: usize,
    file: &File,
    objects: &Objects<'_>,
    sections: &[&Section<'_>],
) -> String {
    let mut single = Edits::default();
    for object in objects.all.iter().filter(|object| object.stays.is_none()) {
        declarations(&mut single, number, object);
        for one in object.uses.iter().filter(|one| one.file == number) {
            call(&mut single, object.kind, one);
        }
    }
    if single.0.is_empty() {
        return file.text.clone();
    }
    let mut whole = Edits::default();
    let first = single.0.iter().map(|edit| edit.from).min();
    let (at, head) = beginning(file, first.unwrap_or_default());
    whole.insert(at, head);
    for (index, section) in sections.iter().enumerate() {
        let name = format!("cohort_{}_{}", section.within, index + 1);
        let handle = handle(file, section);
        let function = function(file, &single, section, &name, &handle);
        whole.insert(before(file, section.function), function);
        let (from, to) = (section.first.start_byte(), section.last.end_byte());
        whole.put(from, to, delegation(file, section, &name, &handle));
    }
    let is_taken = |edit: &Edit| {
        sections.iter().any(|section| {
            section.first.start_byte() <= edit.from && edit.to <= section.last.end_byte()
        })
    };
    let left = single.0.into_iter().filter(|edit| !is_taken(edit));
    whole.0.extend(left);
    whole.apply(&file.text, 0, file.text.len())
}

/// Converts an object's declarations and initialisers.
fn declarations(edits: &mut Edits, number: usize, object: &Object<'_>) {
    for (_, one) in object
        .declared
        .iter()
        .filter(|(within, _)| *within == number)
    {
        if object.kind == Kind::Mutex {
            edits.insert(one.name.start_byte(), "*");
        }
        if object.is_global() {
            // An unconverted file does not link if it uses the object.
            let label = format!(" __asm__(\"{}_is_delegated\")", object.name);
            edits.insert(one.declarator.end_byte(), label);
        }
        let of_type = one.whole.child_by_field_name("type");
        // In a joint declaration, the first declarator has changed the type.
        let is_unchanged = |of_type: &Node<'_>| {
            let mut all = edits.0.iter();
            !all.any(|edit| edit.from == of_type.start_byte())
        };
        if let Some(of_type) = of_type.filter(is_unchanged) {
            edits.replace(
                of_type,
                match object.kind {
                    Kind::Mutex => "cohort_delegated_t",
                    Kind::Condition => "cohort_cond_t",
                },
            );
        }
    }
    for begun in object.begun.iter().filter(|at| at.file == number) {
        edits.replace(
            begun.node,
            match object.kind {
                Kind::Mutex => "NULL",
                Kind::Condition => "COHORT_COND_INIT",
            },
        );
    }
}

/// Converts a call.
fn call(edits: &mut Edits, kind: Kind, one: &Use<'_>) {
    let name = match one.function {
        "pthread_mutex_lock" => "cohort_delegated_lock",
        "pthread_mutex_unlock" => "cohort_delegated_unlock",
        "pthread_mutex_init" => "cohort_delegated_init",
        "pthread_mutex_destroy" => "cohort_delegated_destroy",
        "pthread_cond_wait" => "cohort_cond_wait_delegated",
        "pthread_cond_timedwait" => "cohort_cond_wait_delegated_until",
        "pthread_cond_signal" => "cohort_cond_signal",
        "pthread_cond_broadcast" => "cohort_cond_broadcast",
        "pthread_cond_init" => "cohort_cond_init",
        _ => "cohort_cond_destroy",
    };
    let waits = one.function.ends_with("wait");
    let function = one.call.child_by_field_name("function");
    // A wait uses two objects.
    if let Some(function) = function.filter(|_| !waits || kind == Kind::Condition) {
        edits.replace(function, name);
    }
    if kind == Kind::Mutex && (waits || one.function.ends_with("lock")) {
        edits.insert(one.argument.start_byte(), "cohort_delegated_at(");
        edits.insert(one.argument.end_byte(), ")");
    }
    let arguments = one.arguments();
    match arguments[..] {
        [first, second] if one.function.ends_with("_init") => {
            edits.put(first.end_byte(), second.end_byte(), "");
        }
        [_, _, until] if kind == Kind::Condition => {
            edits.insert(until.start_byte(), "CLOCK_REALTIME, ");
        }
        _ => {}
    }
}

/// The name of a critical section's argument: unused in its function.
fn handle(file: &File, section: &Section<'_>) -> String {
    let mut name = "cohort".to_owned();
    let parts = || section.body.iter().flat_map(|part| everything(*part));
    while parts().any(|part| part.kind() == "identifier" && file.text(part) == name) {
        name.push('_');
    }
    name
}

/// The declaration of a captured variable in the structure.
fn member(file: &File, taken: &Taken<'_>) -> String {
    let one = &taken.one;
    let before = one.of_type().into_iter();
    let words: Vec<&str> = before.map(|part| file.text(part)).collect();
    let name = file.text(one.name);
    let mut edits = Edits::default();
    let shape = one.shape();
    if !taken.is_copied {
        let is_parameter = one.whole.kind() == "parameter_declaration";
        if is_parameter && shape.kind() == "array_declarator" {
            edits.replace(shape, format!("(**{name})"));
        } else if one.declarator == one.name {
            edits.replace(one.name, format!("*{name}"));
        } else {
            edits.replace(one.name, format!("(*{name})"));
        }
    }
    let (from, to) = (one.declarator.start_byte(), one.declarator.end_byte());
    format!("{} {}", words.join(" "), edits.apply(&file.text, from, to))
}

/// The outlined function of a critical section.
fn function(
    file: &File,
    single: &Edits,
    section: &Section<'_>,
    name: &str,
    handle: &str,
) -> String {
    let locked = file.text(section.locks.object);
    let mut text = format!(
        "/* Critical section of {}() under {locked}. */\n",
        section.within
    );
    if !section.taken.is_empty() {
        let _ = writeln!(text, "struct {name} {{");
        for taken in section.taken.values() {
            let _ = writeln!(text, "    {};", member(file, taken));
        }
        text.push_str("};\n\n");
    }
    let _ = writeln!(text, "static void {name}(void *{handle}_argument)\n{{");
    if section.taken.is_empty() {
        let _ = writeln!(text, "    (void){handle}_argument;");
    } else {
        let _ = writeln!(text, "    struct {name} *{handle} = {handle}_argument;\n");
    }
    let mut edits = single.clone();
    for node in section.body.iter().flat_map(|part| everything(*part)) {
        let Some(taken) = section.taken.get(file.text(node)) else {
            continue;
        };
        let meant = super::names::local(file, file.text(node), node);
        let is_it = meant.is_some_and(|one| one.name == taken.one.name);
        if node.kind() == "identifier" && is_it {
            let name = file.text(node);
            edits.replace(
                node,
                if taken.is_copied {
                    format!("{handle}->{name}")
                } else {
                    format!("(*{handle}->{name})")
                },
            );
        }
    }
    let (start, end) = (section.first.end_byte(), section.last.start_byte());
    let between = &file.text[start..end];
    let from = start + between.len() - between.trim_start().len();
    let to = from + between.trim().len();
    let unread = file.unread.iter();
    for branch in unread.filter(|branch| from <= branch.start && branch.end <= to) {
        edits.put(branch.start, branch.end, UNREAD);
    }
    let body = edits.apply(&file.text, from, to);
    let margin = margin(file, *section.body.first().unwrap_or(&section.first));
    // Text with continuation lines keeps its blanks.
    let is_broken = body.contains("\\\n");
    for (number, line) in body.lines().enumerate() {
        let inner = if number == 0 || is_broken {
            line
        } else {
            line.strip_prefix(margin).unwrap_or(line.trim_start())
        };
        let blank = if inner.is_empty() || (is_broken && number > 0) {
            ""
        } else {
            "    "
        };
        let _ = writeln!(text, "{blank}{inner}");
    }
    text.push_str("}\n\n");
    text
}

/// The replacement of the critical section.
fn delegation(file: &File, section: &Section<'_>, name: &str, handle: &str) -> String {
    let margin = margin(file, section.first);
    let lock = format!("cohort_delegated_at({})", file.text(section.locks.argument));
    if section.taken.is_empty() {
        return format!("cohort_delegate({lock}, {name}, NULL);");
    }
    let inner = if margin.starts_with('\t') {
        "\t"
    } else {
        "    "
    };
    let values = section.taken.iter().map(|(name, taken)| {
        let address = if taken.is_copied { "" } else { "&" };
        format!("{address}{name}")
    });
    let values: Vec<String> = values.collect();
    format!(
        "{{\n{margin}{inner}struct {name} {handle}_section = {{ {} }};\n\n\
         {margin}{inner}cohort_delegate({lock}, {name}, &{handle}_section);\n{margin}}}",
        values.join(", ")
    )
}

/// The indentation of a node's line.
fn margin<'p>(file: &'p File, node: Node<'_>) -> &'p str {
    let line = file.text.lines().nth(line(node) - 1).unwrap_or_default();
    let text = line.trim_start();
    &line[..line.len() - text.len()]
}

/// The place for text before a function: above its comment, and above words that the grammar
/// misparsed, which may be specifiers of the function.
fn before<'p>(file: &File, function: Node<'p>) -> usize {
    let above = |node: Node<'p>| std::iter::successors(node.prev_sibling(), Node::prev_sibling);
    let is_unended = |node: &Node<'_>| {
        let is_open = matches!(node.kind(), "declaration" | "expression_statement");
        (node.is_error() || is_open) && !file.text(*node).ends_with([';', '}'])
    };
    let mut at = function;
    while let Some(words) = above(at)
        .find(|node| node.kind() != "comment")
        .filter(is_unended)
    {
        at = words;
    }
    while let Some(above) = at.prev_sibling()
        && above.kind() == "comment"
        && above.end_position().row + 1 == at.start_position().row
    {
        at = above;
    }
    at.start_byte()
}

/// The place and text of the library's include before a file's first change: after the last include
/// before that change, since macros before an include may affect it.
fn beginning(file: &File, change: usize) -> (usize, String) {
    let guarded = |node: &Node<'_>| node.kind() == "preproc_ifdef" && around(*node).count() == 1;
    let parts = children(file.root()).into_iter();
    let parts = parts.flat_map(|part| {
        let inner = guarded(&part) && part.byte_range().len() * 2 > file.text.len();
        if inner { children(part) } else { vec![part] }
    });
    let parts: Vec<Node<'_>> = parts.filter(|part| part.start_byte() <= change).collect();
    let includes = parts
        .iter()
        .rfind(|part| part.kind() == "preproc_include" && part.end_byte() <= change);
    if let Some(last) = includes {
        let at = last.end_byte();
        let is_line = file.text[..at].ends_with('\n');
        let line = if is_line { "" } else { "\n" };
        return (at, format!("{line}{HEAD}"));
    }
    let declares = |part: &&Node<'_>| {
        let kind = part.kind();
        let endings = ["declaration", "definition", "_specifier"];
        endings.iter().any(|ending| kind.ends_with(ending)) || part.end_byte() > change
    };
    let first = parts.iter().find(declares);
    (first.map_or(0, |part| before(file, *part)), HEAD.to_owned())
}
