//! The converted text: edits of the original.

use super::extents::Exit;
use super::judge::Judge;
use super::lex;
use super::macros;
use super::objects::{Kind, Object, Objects, Use, arguments, renamed, type_of};
use super::sections::{Section, Taken};
use super::tree::{Function, Program, Shape, Source};
use clang_sys::{
    CXCursor_CaseStmt, CXCursor_DefaultStmt, CXCursor_LabelStmt, CXCursor_ParmDecl,
    CXCursor_VarDecl,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Piece of a text with its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let edit = Edit { from, to, text };
        if !self.0.contains(&edit) {
            self.0.push(edit);
        }
    }

    /// A piece of the text, with the edits within; of two replacements, the outer one is made.
    fn apply(&self, bytes: &[u8], from: usize, to: usize) -> Vec<u8> {
        let within = self
            .0
            .iter()
            .filter(|edit| from <= edit.from && edit.to <= to);
        let mut within: Vec<&Edit> = within.collect();
        // Insertions precede replacements at the same place.
        within.sort_by_key(|edit| (edit.from, edit.to != edit.from, std::cmp::Reverse(edit.to)));
        let (mut made, mut at) = (Vec::new(), from);
        for edit in within {
            if edit.from < at {
                continue;
            }
            made.extend_from_slice(&bytes[at..edit.from]);
            made.extend_from_slice(edit.text.as_bytes());
            at = edit.to;
        }
        made.extend_from_slice(&bytes[at..to]);
        made
    }

    /// The piece as text, as far as it is UTF-8.
    fn text(&self, source: &Source, from: usize, to: usize) -> String {
        String::from_utf8_lossy(&self.apply(&source.bytes, from, to)).into_owned()
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

/// The changed files, by their numbers.
pub fn converted(judge: &Judge<'_>, sections: &[Section]) -> BTreeMap<usize, Vec<u8>> {
    let (program, objects) = (judge.program, judge.objects);
    let mut single: BTreeMap<usize, Edits> = BTreeMap::new();
    for object in objects.all.iter().filter(|object| object.stays.is_none()) {
        declarations(program, &mut single, object);
        for one in object.uses.iter().filter(|one| one.via.is_none()) {
            let function = &program.functions[one.within];
            let file = function.nodes[one.call].file;
            let edits = single.entry(file).or_default();
            if one.is_in_macro {
                edits.put(one.from, one.to, macro_call(program, objects, one));
            } else {
                call(function, edits, one);
            }
        }
    }
    let wrapped: BTreeSet<usize> = objects
        .all
        .iter()
        .filter(|object| object.stays.is_none())
        .flat_map(|object| object.uses.iter().filter_map(|one| one.via))
        .collect();
    let wrappers: BTreeSet<usize> = sections.iter().filter_map(|one| one.locks.via).collect();
    let mut whole: BTreeMap<usize, Edits> = BTreeMap::new();
    for wrapper in wrappers {
        let function = &program.functions[wrapper];
        let file = function.place.file;
        // A critical section above has declared it.
        let is_declared = sections.iter().any(|one| {
            one.locks.via == Some(wrapper)
                && one.outline.file == file
                && one.outline.whole.start < function.place.at
        });
        let declared = if is_declared || function.is_static {
            String::new()
        } else {
            accessor(judge, wrapper, false)
        };
        let text = format!("\n\n{declared}{}", accessor(judge, wrapper, true));
        let edits = whole.entry(file).or_default();
        edits.put(function.to, function.to, text);
        single.entry(file).or_default();
    }
    // Their calls may all be gone.
    for (number, function) in program.functions.iter().enumerate() {
        let is_called = wrapped.contains(&number)
            || objects.is_alias(function.id)
                && objects.all.iter().any(|object| {
                    let is_by =
                        |one: &Use| program.functions[one.within].nodes[one.call].of == function.id;
                    object.stays.is_none() && object.uses.iter().any(is_by)
                });
        if function.is_function && function.is_static && is_called {
            let (file, at) = (function.place.file, function.place.at);
            let edits = single.entry(file).or_default();
            edits.put(at, at, "__attribute__((unused)) ");
        }
    }
    let mut made = BTreeMap::new();
    for (file, single) in &single {
        let source = &program.sources[*file];
        let mut edits = whole.remove(file).unwrap_or_default();
        let own = sections.iter().filter(|one| one.outline.file == *file);
        let mut declared = BTreeSet::new();
        for (number, section) in own.enumerate() {
            let function = &program.functions[section.outline.function];
            let name = format!("cohort_{}_{}", function.name, number + 1);
            let mut writer = Writer::new(judge, single, section, name);
            if let Some(wrapper) = section.locks.via {
                let defined = program.functions[wrapper].place;
                let is_above = defined.file == *file && defined.at < function.place.at;
                writer.declares = !is_above && declared.insert(wrapper);
            }
            let at = before(source, function.place.at);
            edits.put(at, at, writer.function());
            let outline = &section.outline;
            edits.put(outline.whole.start, outline.whole.end, writer.delegation());
        }
        edits.0.extend(single.0.iter().cloned());
        let Some(first) = edits.0.iter().map(|edit| edit.from).min() else {
            continue;
        };
        let (at, head) = beginning(source, first);
        edits.0.insert(
            0,
            Edit {
                from: at,
                to: at,
                text: head,
            },
        );
        made.insert(*file, edits.apply(&source.bytes, 0, source.bytes.len()));
    }
    made
}

/// Converts an object's declarations and initialisers.
fn declarations(program: &Program, edits: &mut BTreeMap<usize, Edits>, object: &Object) {
    for one in &object.declared {
        let source = &program.sources[one.place.file];
        let edits = edits.entry(one.place.file).or_default();
        if object.kind == Kind::Mutex {
            edits.put(one.place.at, one.place.at, "*");
        }
        if object.is_global() {
            // An unconverted file does not link if it uses the object.
            let mut end = one.place.at + object.name.len();
            let mut depth = 0_i32;
            for token in source.tokens_in(end..source.text.len()) {
                match token.text(&source.text) {
                    "[" => depth += 1,
                    "]" => {
                        depth -= 1;
                        end = token.to;
                    }
                    _ if depth == 0 => break,
                    _ => {}
                }
            }
            let label = format!(" __asm__(\"{}_is_delegated\")", object.name);
            edits.put(end, end, label);
        }
        if let Some((from, to)) = type_of(program, one) {
            let name = match object.kind {
                Kind::Mutex => "cohort_delegated_t",
                Kind::Condition => "cohort_cond_t",
            };
            edits.put(from, to, name);
        }
    }
    for (file, from, to) in &object.begun {
        let value = match object.kind {
            Kind::Mutex => "NULL",
            Kind::Condition => "COHORT_COND_INIT",
        };
        edits.entry(*file).or_default().put(*from, *to, value);
    }
}

/// Converts a call that stands in the text; its arguments may have other edits.
fn call(function: &Function, edits: &mut Edits, one: &Use) {
    let node = &function.nodes[one.call];
    let name = one.function.as_str();
    let renamed = renamed(name).unwrap_or(name);
    edits.put(node.from, node.from + node.name.len(), renamed);
    let at = |place: &usize| (function.nodes[*place].from, function.nodes[*place].to);
    let given = arguments(function, one.call);
    let mutex = match given {
        [first, second] if name.ends_with("_init") => {
            edits.put(at(first).1, at(second).1, "");
            None
        }
        [_, mutex, until] => {
            edits.put(at(until).0, at(until).0, "CLOCK_REALTIME, ");
            Some(mutex)
        }
        [_, mutex] => Some(mutex),
        [mutex] if name.ends_with("lock") => Some(mutex),
        _ => None,
    };
    if let Some(mutex) = mutex {
        edits.put(at(mutex).0, at(mutex).0, "cohort_delegated_at(");
        edits.put(at(mutex).1, at(mutex).1, ")");
    }
}

/// The converted text of a macro with calls.
fn macro_call(program: &Program, objects: &Objects, one: &Use) -> String {
    let function = &program.functions[one.within];
    let source = &program.sources[function.nodes[one.call].file];
    let given = |name: &str, all: &[String]| {
        let at = |mutex: &str| format!("cohort_delegated_at({mutex})");
        let all: Vec<String> = match all {
            [first, ..] if name.ends_with("_init") => vec![first.clone()],
            [condition, mutex, until] => vec![
                condition.clone(),
                at(mutex),
                "CLOCK_REALTIME".to_owned(),
                until.clone(),
            ],
            [condition, mutex] => vec![condition.clone(), at(mutex)],
            [mutex] if name.ends_with("lock") => vec![at(mutex)],
            _ => all.to_vec(),
        };
        format!("{}({})", renamed(name).unwrap_or(name), all.join(", "))
    };
    let calls = |word: &str| objects.is_locking(word);
    let text = source.piece(one.from, one.to);
    let words = program.macros.expanded(text, &calls).unwrap_or_default();
    let (mut made, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let is_call = calls(&words[at]) && words.get(at + 1).is_some_and(|next| next == "(");
        if is_call && let Some((all, end)) = macros::arguments(&words, at + 1) {
            let all: Vec<String> = all.iter().map(|words| macros::text(words)).collect();
            made.push(given(objects.meant(&words[at]), &all));
            at = end;
        } else {
            made.push(words[at].clone());
            at += 1;
        }
    }
    macros::text(&made)
}

/// The function that gives the lock of a wrapper, or its declaration.
fn accessor(judge: &Judge<'_>, wrapper: usize, is_whole: bool) -> String {
    let function = &judge.program.functions[wrapper];
    let parameters = function.nodes[0]
        .kids
        .iter()
        .map(|kid| &function.nodes[*kid]);
    let parameters: Vec<String> = parameters
        .filter(|node| node.kind == CXCursor_ParmDecl)
        .filter_map(|node| Some(node.variable.as_ref()?.shape.declare(&node.name)))
        .collect();
    let parameters = if parameters.is_empty() {
        "void".to_owned()
    } else {
        parameters.join(", ")
    };
    let linkage = if function.is_static {
        "__attribute__((unused)) static "
    } else {
        ""
    };
    let head = format!(
        "{linkage}cohort_delegated_t *cohort_lock_of_{}({parameters})",
        function.name
    );
    if !is_whole {
        return format!("{head};\n");
    }
    let uses = judge.objects.all.iter().flat_map(|object| &object.uses);
    let mut own = uses.filter(|one| one.within == wrapper && one.via.is_none());
    let argument = own.next().map_or("", |one| &*one.argument);
    format!("{head}\n{{\n    return cohort_delegated_at({argument});\n}}")
}

/// Writes one critical section.
struct Writer<'a> {
    judge: &'a Judge<'a>,
    single: &'a Edits,
    section: &'a Section,
    name: String,
    /// Whether it declares the function that gives its lock.
    declares: bool,
    /// The name of the argument: unused in its function.
    handle: String,
    function: &'a Function,
    source: &'a Source,
}

impl<'a> Writer<'a> {
    fn new(judge: &'a Judge<'_>, single: &'a Edits, section: &'a Section, name: String) -> Self {
        let function = &judge.program.functions[section.outline.function];
        let source = &judge.program.sources[section.outline.file];
        let words = source.tokens_in(function.place.at..function.to);
        let mut handle = "cohort".to_owned();
        while words.iter().any(|word| word.text(&source.text) == handle) {
            handle.push('_');
        }
        Self {
            judge,
            single,
            section,
            name,
            declares: false,
            handle,
            function,
            source,
        }
    }

    /// Whether the section tells by which exit it was left.
    fn has_exits(&self) -> bool {
        self.section
            .outline
            .exits
            .iter()
            .any(|exit| !self.rest(exit).is_empty())
    }

    /// The statements behind an unlock.
    fn rest(&self, exit: &Exit) -> String {
        let text = self
            .single
            .text(self.source, exit.rest.start, exit.rest.end);
        text.trim().to_owned()
    }

    fn has_argument(&self) -> bool {
        !self.section.taken.is_empty() || !self.section.hoisted.is_empty() || self.has_exits()
    }

    /// The declaration of a captured variable in the structure.
    fn member(name: &str, taken: &Taken) -> String {
        let shape = &taken.variable.shape;
        if taken.is_copied {
            // A constant member is initialised as any other.
            return shape.declare(name);
        }
        match shape {
            Shape::Array(..) | Shape::Function(..) => shape.declare(&format!("(*{name})")),
            _ => shape.declare(&format!("*{name}")),
        }
    }

    /// The outlined function.
    fn function(&self) -> String {
        let (section, name, handle) = (self.section, &self.name, &self.handle);
        let outline = &section.outline;
        let mut text = String::new();
        if let Some(wrapper) = section.locks.via.filter(|_| self.declares) {
            text.push_str(&accessor(self.judge, wrapper, false));
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "/* Critical section of {}() under {}. */",
            self.function.name,
            section.locks.argument.trim_start_matches('&')
        );
        if self.has_argument() {
            let _ = writeln!(text, "struct {name} {{");
            for (name, taken) in &section.taken {
                let _ = writeln!(text, "    {};", Self::member(name, taken));
            }
            for one in &section.hoisted {
                let declared = one.variable.shape.assignable().declare(&one.name);
                let _ = writeln!(text, "    {declared};");
            }
            if self.has_exits() {
                text.push_str("    int cohort_exit;\n");
            }
            text.push_str("};\n\n");
        }
        let _ = writeln!(text, "static void {name}(void *{handle}_argument)\n{{");
        if self.has_argument() {
            let _ = writeln!(text, "    struct {name} *{handle} = {handle}_argument;");
        } else {
            let _ = writeln!(text, "    (void){handle}_argument;");
        }
        // In their order, since a name may hide a type.
        let mut copied: Vec<(&String, &Taken)> = section
            .taken
            .iter()
            .filter(|(_, taken)| taken.is_copied)
            .collect();
        copied.sort_by_key(|(_, taken)| self.judge.program.entity(taken.id).place);
        for (name, taken) in copied {
            let declared = taken.variable.shape.declare(name);
            let unused = if taken.is_optional {
                "__attribute__((unused)) "
            } else {
                ""
            };
            let _ = writeln!(text, "    {unused}{declared} = {handle}->{name};");
        }
        text.push('\n');
        // A name may be declared anew at the top of the section.
        let is_anew = outline.nodes.iter().any(|at| {
            let node = &self.function.nodes[*at];
            node.kind == CXCursor_VarDecl
                && section
                    .taken
                    .get(&*node.name)
                    .is_some_and(|taken| taken.is_copied)
        });
        if is_anew {
            text.push_str("    {\n");
        }
        self.body(&mut text);
        if is_anew {
            text.push_str("    }\n");
        }
        text.push_str("}\n\n");
        text
    }

    /// The statements that pass values on at an exit, or at the end.
    fn passes(&self, place: Option<usize>, falls: bool) -> Vec<String> {
        let used = self
            .section
            .hoisted
            .iter()
            .filter(|one| one.used.contains(&place) || falls && one.used.contains(&None));
        used.map(|one| format!("{}->{} = {};", self.handle, one.name, one.name))
            .collect()
    }

    fn body(&self, text: &mut String) {
        let (source, outline) = (self.source, &self.section.outline);
        let mut edits = self.single.clone();
        for (at, name) in &self.section.edited {
            edits.put(*at, at + name.len(), format!("(*{}->{name})", self.handle));
        }
        for (number, exit) in outline.exits.iter().enumerate() {
            let inner = margin(source, exit.whole.start);
            let mut all = self.passes(Some(number), exit.falls);
            if !self.rest(exit).is_empty() {
                all.push(format!("{}->cohort_exit = {};", self.handle, number + 1));
            }
            all.push("return;".to_owned());
            let all = all.join(&format!("\n{inner}"));
            edits.put(exit.whole.start, exit.whole.end, all);
        }
        let between = source.piece(outline.body.start, outline.body.end);
        let from = outline.body.start + between.len() - between.trim_start().len();
        let to = from + between.trim().len();
        for branch in source.unread.iter().flatten() {
            // From the directive's line to the next directive's.
            let inner = source.piece(branch.start, branch.end);
            let start = inner.find('\n').map(|at| branch.start + at);
            let end = inner.rfind('\n').map(|at| branch.start + at + 1);
            if let (Some(start), Some(end)) = (start, end)
                && from <= start
                && end <= to
                && start + 1 < end
                && !lex::tokens(source.piece(start, end)).is_empty()
            {
                edits.put(start, end, UNREAD);
            }
        }
        let mut body = edits.text(source, from, to);
        if body.ends_with(':') {
            body.push(';');
        }
        if !outline.is_closed {
            for line in self.passes(None, true) {
                body.push('\n');
                body.push_str(margin(source, from));
                body.push_str(&line);
            }
        }
        let margin = margin(source, from);
        // Text with continuation lines keeps its blanks.
        let is_broken = body.contains("\\\n");
        for (number, line) in body.lines().enumerate() {
            let inner = if number == 0 || is_broken {
                line
            } else {
                line.strip_prefix(margin).unwrap_or(line.trim_start())
            };
            let is_directive = inner.trim_start().starts_with('#');
            let blank = if inner.is_empty() || is_directive || (is_broken && number > 0) {
                ""
            } else {
                "    "
            };
            let _ = writeln!(text, "{blank}{inner}");
        }
    }

    /// The replacement of the critical section.
    fn delegation(&self) -> String {
        let (section, name, handle) = (self.section, &self.name, &self.handle);
        let outline = &section.outline;
        let lock = match section.locks.via {
            Some(wrapper) => {
                let text = self
                    .function
                    .text(&self.judge.program.sources, section.locks.call);
                let given = text.find('(').map_or("()", |at| &text[at..]);
                format!(
                    "cohort_lock_of_{}{given}",
                    self.judge.program.functions[wrapper].name
                )
            }
            None => format!("cohort_delegated_at({})", section.locks.argument),
        };
        if !self.has_argument() {
            return format!("cohort_delegate({lock}, {name}, NULL);");
        }
        let outer = margin(self.source, outline.whole.start);
        let step = if outer.starts_with('\t') {
            "\t"
        } else {
            "    "
        };
        let is_behind = section.hoisted.iter().any(|one| one.used.contains(&None));
        let (own, inner) = if is_behind {
            (format!("{name}_section"), outer.to_owned())
        } else {
            (format!("{handle}_section"), format!("{outer}{step}"))
        };
        let values = section.taken.iter().map(|(name, taken)| {
            let address = if taken.is_copied { "" } else { "&" };
            format!(".{name} = {address}{name}")
        });
        let mut values: Vec<String> = values.collect();
        if self.has_exits() {
            values.push(".cohort_exit = 0".to_owned());
        } else if values.is_empty() {
            values.push("0".to_owned());
        }
        let mut text = String::new();
        if is_behind {
            let parent = self.function.nodes[outline.first].parent;
            let kind = self.function.nodes[parent].kind;
            if matches!(
                kind,
                CXCursor_LabelStmt | CXCursor_CaseStmt | CXCursor_DefaultStmt
            ) {
                let _ = write!(text, ";\n{outer}");
            }
        } else {
            let _ = write!(text, "{{\n{inner}");
        }
        let _ = write!(
            text,
            "struct {name} {own} = {{ {} }};\n\n{inner}cohort_delegate({lock}, {name}, &{own});",
            values.join(", ")
        );
        let exits: Vec<(usize, String)> = outline
            .exits
            .iter()
            .enumerate()
            .map(|(number, exit)| (number, self.rest(exit)))
            .filter(|(_, rest)| !rest.is_empty())
            .collect();
        let is_all = outline.is_closed && exits.len() == outline.exits.len();
        for (place, (number, rest)) in exits.iter().enumerate() {
            let is_last = is_all && place + 1 == exits.len();
            let _ = match (place, is_last) {
                (0, true) => writeln!(text, "\n{inner}{{"),
                (_, true) => writeln!(text, " else {{"),
                (0, false) => {
                    writeln!(text, "\n{inner}if ({own}.cohort_exit == {}) {{", number + 1)
                }
                (_, false) => writeln!(text, " else if ({own}.cohort_exit == {}) {{", number + 1),
            };
            let within = section.hoisted.iter();
            for one in within.filter(|one| one.used.contains(&Some(*number))) {
                let declared = one.variable.shape.declare(&one.name);
                let _ = writeln!(text, "{inner}{step}{declared} = {own}.{};", one.name);
            }
            let old = margin(self.source, outline.exits[*number].whole.start);
            for (place, line) in rest.lines().enumerate() {
                let line = if place == 0 {
                    line
                } else {
                    line.strip_prefix(old).unwrap_or(line.trim_start())
                };
                let is_directive = line.trim_start().starts_with('#');
                let blank = if line.is_empty() || is_directive {
                    String::new()
                } else {
                    format!("{inner}{step}")
                };
                let _ = writeln!(text, "{blank}{line}");
            }
            let _ = write!(text, "{inner}}}");
        }
        let behind = section
            .hoisted
            .iter()
            .filter(|one| one.used.contains(&None));
        for one in behind {
            let declared = one.variable.shape.declare(&one.name);
            let _ = write!(text, "\n{inner}{declared} = {own}.{};", one.name);
        }
        if !is_behind {
            let _ = write!(text, "\n{outer}}}");
        }
        text
    }
}

/// The indentation of an offset's line.
fn margin(source: &Source, at: usize) -> &str {
    let start = source.piece(0, at).rfind('\n').map_or(0, |end| end + 1);
    let line = source.piece(start, source.text.len());
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..blank]
}

/// The place for text before what begins there: above its specifiers and its comment.
fn before(source: &Source, at: usize) -> usize {
    let tokens = source.tokens_in(0..at);
    let is_end = |token: &&lex::Token| {
        token.kind == lex::Kind::Directive || matches!(token.text(&source.text), ";" | "}" | "{")
    };
    let ended = tokens.iter().rev().find(is_end).map_or(0, |token| token.to);
    let next = source.tokens_in(ended..at + 1).first();
    let mut place = next.map_or(at, |next| next.from);
    // Comments right above.
    loop {
        let above = source.piece(ended, place);
        let trimmed = above.trim_end();
        let lines = above[trimmed.len()..].matches('\n').count();
        if trimmed.is_empty() || lines > 1 {
            return place;
        }
        let comments = comments(trimmed);
        let Some(last) = comments.last() else {
            return place;
        };
        let from = ended + last;
        // A comment in the line of what precedes is of that.
        let is_beside = ended > 0 && !source.piece(ended, from).contains('\n');
        if is_beside || from >= place {
            return place;
        }
        place = from;
    }
}

/// Where the comments of a text without tokens begin.
fn comments(text: &str) -> Vec<usize> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(next) = text[at..].find('/') {
        let from = at + next;
        let rest = &text[from..];
        let end = match rest.strip_prefix("/*") {
            Some(inner) => inner.find("*/").map(|end| end + 4),
            None => rest.find('\n'),
        };
        all.push(from);
        at = from + end.unwrap_or(rest.len());
    }
    all
}

/// The place and text of the library's include before a file's first change: after the last include
/// before that change, since macros before an include may affect it.
fn beginning(source: &Source, change: usize) -> (usize, String) {
    let text = &source.text;
    let tokens = source.tokens();
    let word = |token: &lex::Token| {
        let words = lex::directive_words(token.text(text));
        words
            .first()
            .map(|word| (*word).to_owned())
            .unwrap_or_default()
    };
    let is_directive = |token: &lex::Token| token.kind == lex::Kind::Directive;
    // The guard of a header is around everything.
    let mut open = 0_i32;
    let closes = tokens.iter().position(|token| {
        if is_directive(token) {
            match &*word(token) {
                "if" | "ifdef" | "ifndef" => open += 1,
                "endif" => open -= 1,
                _ => {}
            }
        }
        open == 0
    });
    let is_guarded = closes.is_some_and(|last| last > 0 && last + 1 == tokens.len());
    let base = i32::from(is_guarded);
    let (mut depth, mut braces, mut include, mut first) = (0_i32, 0_i32, None, None);
    let (mut is_language, mut begun, mut is_ended) = (false, None, true);
    for token in tokens.iter().take_while(|token| token.from < change) {
        if is_directive(token) {
            match &*word(token) {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" => depth -= 1,
                "include" if depth == base && braces == 0 => include = Some(token.to),
                _ => {}
            }
            is_ended |= braces == 0;
            continue;
        }
        if is_ended {
            begun = Some(token.from);
        }
        if first.is_none() && depth == base {
            first = Some(token.from);
        }
        match token.text(text) {
            "extern" => is_language = true,
            "{" if is_language => is_language = false,
            "{" => braces += 1,
            "}" => braces = (braces - 1).max(0),
            "\"C\"" => {}
            _ => is_language = false,
        }
        is_ended = braces == 0 && matches!(token.text(text), ";" | "}" | "{");
    }
    if let Some(at) = include {
        return (at, format!("\n{}", HEAD.trim_end()));
    }
    let first = first.or(begun).unwrap_or(change);
    (before(source, first), HEAD.to_owned())
}
