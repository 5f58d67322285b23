//! Whether another thread may run a piece of a program, and if not, the reason.

use super::calls;
use super::conditions::Change;
use super::names::{Globals, declared, function_name, local, own_types};
use super::objects::{At, Objects, Reason};
use super::source::{
    File, all_words, around, children, everything, function_around, words_of_macro,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// Macro with its body; `None` without one.
type Macro<'p> = (usize, Node<'p>, Option<Node<'p>>);

/// Judges pieces of a program.
pub struct Judge<'a, 'p> {
    pub files: &'p [File],
    pub globals: &'a Globals<'p>,
    pub objects: &'a Objects<'p>,
    functions: HashMap<&'p str, Vec<(usize, Node<'p>)>>,
    macros: HashMap<&'p str, Vec<Macro<'p>>>,
    /// Names of types with their meanings; none for an array.
    types: HashMap<&'p str, Vec<Option<&'p str>>>,
    /// Names of unparsed functions, and all other words in their heads.
    unjudged: HashSet<&'p str>,
    /// Words possibly declared in unparsed parts of a file.
    unknown: HashSet<&'p str>,
    /// Results for functions by name; a function under examination counts as permitted.
    known: RefCell<HashMap<&'p str, Option<String>>>,
}

impl<'a, 'p> Judge<'a, 'p> {
    pub fn new(files: &'p [File], globals: &'a Globals<'p>, objects: &'a Objects<'p>) -> Self {
        let mut functions: HashMap<&str, Vec<_>> = HashMap::new();
        let mut macros: HashMap<&str, Vec<Macro<'_>>> = HashMap::new();
        let mut types: HashMap<&str, Vec<Option<&str>>> = HashMap::new();
        let mut unjudged = HashSet::new();
        for (file, source) in files.iter().enumerate() {
            for node in everything(source.root()) {
                match node.kind() {
                    "function_definition" if !source.is_unparsed(node) => {
                        let name = function_name(source, node);
                        functions.entry(name).or_default().push((file, node));
                    }
                    "function_definition" => {
                        let body = node.child_by_field_name("body");
                        let end = body.map_or(node.end_byte(), |body| body.start_byte());
                        unjudged.extend(all_words(&source.text[node.start_byte()..end]));
                    }
                    "type_definition" => {
                        let meant = node.child_by_field_name("type");
                        let meant = meant.map_or("", |meant| source.text(meant));
                        for one in declared(node) {
                            let shape = one.shape().kind();
                            // A pointer to an array is not an array.
                            if !matches!(shape, "pointer_declarator" | "function_declarator") {
                                let meant = (shape != "array_declarator").then_some(meant);
                                types.entry(source.text(one.name)).or_default().push(meant);
                            }
                        }
                    }
                    "preproc_def" | "preproc_function_def" => {
                        let name = node.child_by_field_name("name");
                        let name = name.map_or("", |name| source.text(name));
                        if source.is_alias(name) {
                            continue;
                        }
                        let body = node.child_by_field_name("value");
                        macros.entry(name).or_default().push((file, node, body));
                    }
                    _ => {}
                }
            }
        }
        Self {
            files,
            globals,
            objects,
            functions,
            macros,
            types,
            unjudged,
            unknown: files.iter().flat_map(File::unknown).collect(),
            known: RefCell::default(),
        }
    }

    /// Whether one of the files defines a macro of that name.
    pub fn is_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name)
    }

    /// The words in the bodies of the macros of that name.
    fn words_behind(&self, name: &str) -> Vec<&'p str> {
        let found = self.macros.get(name).into_iter().flatten();
        let bodies = found.filter_map(|(file, _, body)| Some(self.files[*file].text((*body)?)));
        let words = bodies.flat_map(words_of_macro);
        words.map(|(word, _)| word).collect()
    }

    /// Whether a type is known to be an array: a parameter of it is a pointer.
    pub fn is_array(&self, name: &'p str) -> bool {
        const ARRAYS: [&str; 5] = [
            "va_list",
            "__builtin_va_list",
            "__gnuc_va_list",
            "jmp_buf",
            "sigjmp_buf",
        ];
        let (mut seen, mut waiting) = (HashSet::new(), vec![name]);
        while let Some(name) = waiting.pop() {
            let meant = self.types.get(name).into_iter().flatten();
            if ARRAYS.contains(&name) || meant.clone().any(Option::is_none) {
                return true;
            }
            if seen.insert(name) {
                waiting.extend(meant.flatten());
                waiting.extend(self.words_behind(name));
            }
        }
        false
    }

    /// A word of a function with another meaning above the function, where the outlined critical
    /// section goes, and the reason: the function changes that macro or a macro in its expansion.
    pub fn means_another(
        &self,
        file: usize,
        part: Node<'p>,
        changes: &[Change],
    ) -> Option<(Node<'p>, String)> {
        let source = &self.files[file];
        let is_word = |node: &Node<'_>| {
            let is_quoted = matches!(node.kind(), "comment" | "string_content" | "character");
            node.child_count() == 0 && !is_quoted
        };
        let mut words = everything(part).into_iter().filter(is_word);
        words.find_map(|node| {
            let used = source.text(node);
            let (name, at) = self.changed(used, changes)?;
            let line = source.line_of(at);
            let by = if name == used {
                String::new()
            } else {
                format!(" (by {name})")
            };
            let why =
                format!("uses the macro {used}{by}, redefined in its function in line {line}");
            Some((node, why))
        })
    }

    /// The changed macro that a word leads to, and the place of its last change.
    fn changed<'c>(&self, used: &'p str, changes: &'c [Change]) -> Option<(&'c str, usize)> {
        let (mut seen, mut waiting) = (HashSet::from([used]), vec![used]);
        while let Some(word) = waiting.pop() {
            let change = changes.iter().rev().find_map(|change| {
                let name = change.name.as_deref()?;
                (name == word).then_some((name, change.at))
            });
            if change.is_some() {
                return change;
            }
            let behind = self.words_behind(word).into_iter();
            waiting.extend(behind.filter(|word| seen.insert(*word)));
        }
        None
    }

    /// The reason why another thread may not run these parts of a function.
    pub fn forbids(&self, file: usize, parts: &[Node<'p>]) -> Option<Reason> {
        let source = &self.files[file];
        let own = parts.first().and_then(|part| function_around(*part))?;
        if has_old_parameters(own) {
            let at = At { file, node: own };
            return Some(Reason::new(
                at,
                "is in a function with old-style parameter declarations",
            ));
        }
        let types = own_types(source, own);
        for node in parts.iter().flat_map(|part| everything(*part)) {
            let why = self.leaves(source, node, parts).or_else(|| {
                let name = source.text(node);
                let is_name = matches!(node.kind(), "identifier" | "type_identifier");
                if is_name && node.kind() == "identifier" && name == function_name(source, own) {
                    return Some(format!("names its own function, {name}"));
                }
                let is_inside = |at: Node<'_>| {
                    parts
                        .iter()
                        .any(|part| part.byte_range().contains(&at.start_byte()))
                };
                if is_name
                    && types
                        .iter()
                        .any(|(own, at)| *own == name && !is_inside(*at))
                {
                    return Some(format!("uses {name}, a local type of its function"));
                }
                self.binds(file, node).or_else(|| {
                    let is_elsewhere = counterpart(source, node).is_some_and(|at| !is_inside(at));
                    is_elsewhere
                        .then(|| "is not properly nested with another critical section".to_owned())
                })
            });
            if let Some(why) = why {
                return Some(Reason::new(At { file, node }, why));
            }
        }
        None
    }

    /// Whether a node leaves these parts other than at their end.
    fn leaves(&self, source: &File, node: Node<'p>, parts: &[Node<'p>]) -> Option<String> {
        let within = |kinds: &[&str]| {
            let outer = around(node).take_while(|outer| {
                parts
                    .iter()
                    .any(|part| part.byte_range().contains(&outer.start_byte()))
            });
            let mut outer = outer;
            outer.any(|outer| kinds.contains(&outer.kind()))
        };
        let what = match node.kind() {
            "return_statement" => "is left by `return`",
            "goto_statement" => "is left by `goto`",
            "labeled_statement" => "contains a label",
            "break_statement" if !within(&LOOPS) && !within(&["switch_statement"]) => {
                "is left by `break`"
            }
            "continue_statement" if !within(&LOOPS) => "is left by `continue`",
            "case_statement" if !within(&["switch_statement"]) => {
                "contains a `case` of an outer `switch`"
            }
            kind if kind.starts_with("preproc_") && !IN_LINES.contains(&kind) => {
                let directive = source.text(node).lines().next().unwrap_or_default();
                let directive = directive.split_whitespace().next().unwrap_or_default();
                return Some(format!("contains a `{directive}`"));
            }
            _ => return None,
        };
        Some(what.to_owned())
    }

    /// Whether a node is bound to its thread, wherever it is.
    fn binds(&self, file: usize, node: Node<'p>) -> Option<String> {
        let source = &self.files[file];
        match node.kind() {
            "identifier" => {
                let is_called = node.parent().is_some_and(|call| {
                    call.kind() == "call_expression"
                        && call.child_by_field_name("function") == Some(node)
                });
                // A variable may share its name with a function-like macro.
                let name = source.text(node);
                let name = if is_called { source.alias(name) } else { name };
                let inner = local(source, name, node);
                let of_thread = inner.map_or_else(
                    || self.globals.is_of_thread(self.files, name),
                    |inner| inner.is_of_thread(source),
                );
                if of_thread {
                    return Some(format!("uses {name}, which is thread-local"));
                }
                if inner.is_some_and(|inner| !inner.is_function()) {
                    return is_called.then(|| through_pointer(name));
                }
                self.binds_word(name, is_called, file).or_else(|| {
                    is_called
                        .then(|| self.locks(file, node.parent()?))
                        .flatten()
                })
            }
            "call_expression" => {
                let called = node.child_by_field_name("function")?;
                (called.kind() != "identifier").then(|| through_pointer(source.text(called)))
            }
            "gnu_asm_expression" => Some("contains assembly".to_owned()),
            "function_definition" => Some("contains a nested function".to_owned()),
            _ => None,
        }
    }

    /// [`binds`](Self::binds) for a word that its function does not declare.
    fn binds_word(&self, name: &'p str, is_called: bool, file: usize) -> Option<String> {
        const OF_PLACE: [&str; 3] = ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"];
        const OF_THREAD: [&str; 2] = ["CLOCK_THREAD_CPUTIME_ID", "RUSAGE_THREAD"];
        if OF_PLACE.contains(&name) {
            return Some(format!("depends on its function's name by {name}"));
        }
        if OF_THREAD.contains(&name) {
            return Some(format!("depends on its position by {name}"));
        }
        if self.unknown.contains(name) {
            return Some(format!("uses {name}, declared in unparsable text"));
        }
        if let Some((&name, found)) = self.macros.get_key_value(name) {
            return self.memo(name, || self.binds_macro(found));
        }
        if !is_called {
            return None;
        }
        if self.unjudged.contains(name) {
            return Some(format!("calls {name}(), which cannot be parsed"));
        }
        if let Some((&name, found)) = self.functions.get_key_value(name) {
            let why = self.memo(name, || {
                found.iter().find_map(|(file, whole)| {
                    let body = whole.child_by_field_name("body")?;
                    let mut parts = everything(body).into_iter();
                    parts.find_map(|node| self.binds(*file, node))
                })
            });
            return why.map(|why| format!("calls {name}(), which {why}"));
        }
        if name == "pthread_mutex_lock" || name == "pthread_mutex_unlock" {
            return None;
        }
        if let Some(why) = calls::forbidden(name) {
            return Some(format!("calls {name}(), which {why}"));
        }
        if calls::harmless(name) {
            return None;
        }
        match self.globals.get(file, name) {
            Some(one) if !one.is_function() => Some(through_pointer(name)),
            _ => Some(format!("calls {name}(), which is in none of these files")),
        }
    }

    /// Whether a call acquires a lock that its executing thread may hold.
    fn locks(&self, file: usize, call: Node<'p>) -> Option<String> {
        let source = &self.files[file];
        let function = source.called(call.child_by_field_name("function")?);
        if function != "pthread_mutex_lock" && function != "pthread_mutex_unlock" {
            return None;
        }
        let converted = self.objects.mutex_of_call(file, call);
        let is_converted =
            converted.is_some_and(|(place, _)| self.objects.all[place].stays.is_none());
        if !is_converted {
            let argument = super::objects::arguments(call);
            let argument = argument.first().map_or("", |node| source.text(*node));
            let locked = argument.trim_start_matches('&');
            return Some(format!("locks {locked}, which may be recursive"));
        }
        if counterpart(source, call).is_some() {
            return None;
        }
        Some("locks and unlocks in different blocks".to_owned())
    }

    fn binds_macro(&self, found: &[Macro<'p>]) -> Option<String> {
        found.iter().find_map(|(file, whole, body)| {
            let source = &self.files[*file];
            let name = source.text(whole.child_by_field_name("name")?);
            let text = source.text((*body)?);
            if text.contains('#') {
                return Some(format!("uses the macro {name}, which contains `#`"));
            }
            words_of_macro(text)
                .into_iter()
                .find_map(|(word, is_called)| {
                    const JUMPS: [&str; 6] = ["return", "goto", "break", "continue", "case", "asm"];
                    let word = source.alias(word);
                    let is_structured = is_called
                        && matches!(
                            word,
                            "while" | "if" | "for" | "switch" | "sizeof" | "return"
                        );
                    if JUMPS.contains(&word) {
                        return Some(format!("uses the macro {name}, which contains `{word}`"));
                    }
                    if word == "pthread_mutex_lock" || word == "pthread_mutex_unlock" {
                        return Some(format!("uses the macro {name}, which locks"));
                    }
                    if self.globals.is_of_thread(self.files, word) {
                        return Some(format!(
                            "uses the macro {name}, which uses thread-local data"
                        ));
                    }
                    let why = self.binds_word(word, is_called && !is_structured, *file)?;
                    Some(format!("uses the macro {name}, which {why}"))
                })
        })
    }

    fn memo(&self, name: &'p str, find: impl FnOnce() -> Option<String>) -> Option<String> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        self.known.borrow_mut().insert(name, None);
        let found = find();
        self.known.borrow_mut().insert(name, found.clone());
        found
    }

    /// Whether a macro's body contains a local name of a function, which is indistinguishable from
    /// an argument.
    pub fn macro_that_names(&self, used: &str, name: &str) -> bool {
        self.macros.get(used).is_some_and(|found| {
            found.iter().any(|(file, whole, body)| {
                let source = &self.files[*file];
                let parameters = whole.child_by_field_name("parameters");
                let own = parameters.is_some_and(|list| {
                    children(list)
                        .into_iter()
                        .any(|one| source.text(one) == name)
                });
                let text = body.map_or("", |body| source.text(body));
                !own && words_of_macro(text).iter().any(|(word, _)| *word == name)
            })
        })
    }
}

const LOOPS: [&str; 3] = ["for_statement", "while_statement", "do_statement"];

/// Parts of directives, identified by their prefixes.
const IN_LINES: [&str; 3] = ["preproc_arg", "preproc_directive", "preproc_params"];

fn through_pointer(name: &str) -> String {
    format!("calls through the pointer {name}")
}

/// Whether a function has old-style parameter declarations.
fn has_old_parameters(function: Node<'_>) -> bool {
    children(function)
        .into_iter()
        .any(|part| part.kind() == "declaration")
}

/// The statement consisting of a call, possibly cast to void.
pub fn statement<'p>(source: &File, call: Node<'p>) -> Option<Node<'p>> {
    let mut outer = call.parent()?;
    if outer.kind() == "cast_expression" {
        let of_type = outer.child_by_field_name("type")?;
        if source.text(of_type) != "void" {
            return None;
        }
        outer = outer.parent()?;
    }
    (outer.kind() == "expression_statement").then_some(outer)
}

/// The statements after a statement in its block.
pub fn following(statement: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(statement.next_named_sibling(), Node::next_named_sibling)
}

/// The argument of a lone call to lock or unlock, without blanks.
pub fn locked(source: &File, statement: Node<'_>, function: &str) -> Option<String> {
    let mut call = statement.named_child(0)?;
    if call.kind() == "cast_expression" {
        call = call.child_by_field_name("value")?;
    }
    let called = call.child_by_field_name("function")?;
    if statement.kind() != "expression_statement" || source.called(called) != function {
        return None;
    }
    let argument = super::objects::arguments(call);
    Some(source.words(*argument.first()?))
}

/// The matching unlock or lock of a call in the same block.
fn counterpart<'p>(source: &File, call: Node<'p>) -> Option<Node<'p>> {
    if call.kind() != "call_expression" {
        return None;
    }
    let statement = statement(source, call)?;
    let (lock, unlock) = ("pthread_mutex_lock", "pthread_mutex_unlock");
    if let Some(object) = locked(source, statement, lock) {
        let is_it = |at: &Node<'_>| locked(source, *at, unlock).as_ref() == Some(&object);
        following(statement).find(is_it)
    } else {
        let object = locked(source, statement, unlock)?;
        let is_it = |at: &Node<'_>| locked(source, *at, lock).as_ref() == Some(&object);
        std::iter::successors(statement.prev_named_sibling(), Node::prev_named_sibling).find(is_it)
    }
}
