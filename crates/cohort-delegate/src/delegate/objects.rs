//! The mutexes and conditions of a program, their uses, and the unconvertible ones: a
//! mutex's address may escape, and the mutex be locked outside these files.

use super::conditions;
use super::names::{Declared, Globals, declared, local};
use super::source::{File, around, children, everything, function_around, line, words_of_macro};
use super::structures::{Structures, designators, fields_of_type};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// Kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Mutex,
    Condition,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        match name {
            "pthread_mutex_t" => Some(Self::Mutex),
            "pthread_cond_t" => Some(Self::Condition),
            _ => None,
        }
    }

    const fn of_initializer(self) -> &'static str {
        match self {
            Self::Mutex => "PTHREAD_MUTEX_INITIALIZER",
            Self::Condition => "PTHREAD_COND_INITIALIZER",
        }
    }
}

/// Identity of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    /// Global in all files.
    Global(String),
    /// Local to a file.
    Static(usize, String),
    /// Local to a function, by its declaration.
    Inner(usize, usize),
    /// Field of a structure; of all structures with that field, without a known structure.
    Field(String, String),
}

/// Place in the files.
#[derive(Clone, Copy, Debug)]
pub struct At<'p> {
    pub file: usize,
    pub node: Node<'p>,
}

/// Reason, with its place.
#[derive(Clone, Debug)]
pub struct Reason {
    pub file: usize,
    pub line: usize,
    pub why: String,
}

impl Reason {
    pub fn new(at: At<'_>, why: impl Into<String>) -> Self {
        Self {
            file: at.file,
            line: line(at.node),
            why: why.into(),
        }
    }
}

/// Call of a C library function with a mutex or a condition.
#[derive(Clone, Copy, Debug)]
pub struct Use<'p> {
    pub file: usize,
    /// The function's name, `pthread_mutex_lock`.
    pub function: &'p str,
    pub call: Node<'p>,
    /// `&list->lock`.
    pub argument: Node<'p>,
    /// `list->lock`.
    pub object: Node<'p>,
}

impl<'p> Use<'p> {
    pub const fn at(&self) -> At<'p> {
        At {
            file: self.file,
            node: self.call,
        }
    }

    pub fn arguments(&self) -> Vec<Node<'p>> {
        arguments(self.call)
    }
}

/// The arguments of a call.
pub fn arguments(call: Node<'_>) -> Vec<Node<'_>> {
    let list = call.child_by_field_name("arguments");
    let mut all = list.map_or_else(Vec::new, children);
    all.retain(|part| part.is_named() && part.kind() != "comment");
    all
}

/// Mutex or condition, or a field of a structure: of all structures if uses do not identify one.
pub struct Object<'p> {
    pub kind: Kind,
    pub name: String,
    key: Key,
    /// Its declarations, each with its file.
    pub declared: Vec<(usize, Declared<'p>)>,
    /// Its constant initialisers.
    pub begun: Vec<At<'p>>,
    pub uses: Vec<Use<'p>>,
    /// The reason why it cannot be converted, if any.
    pub stays: Option<Reason>,
}

impl<'p> Object<'p> {
    fn stay(&mut self, at: At<'_>, why: impl Into<String>) {
        self.stays.get_or_insert_with(|| Reason::new(at, why));
    }

    /// Its first declaration.
    pub fn at(&self) -> At<'p> {
        let (file, one) = self.declared[0];
        At {
            file,
            node: one.name,
        }
    }

    /// Whether other files could name it.
    pub const fn is_global(&self) -> bool {
        matches!(self.key, Key::Global(_))
    }

    /// Its uses by that function.
    pub fn uses_by(&self, function: &str) -> impl Iterator<Item = &Use<'p>> {
        self.uses.iter().filter(move |one| one.function == function)
    }
}

/// Whether a value, or all values in a list, are the usual initialiser.
fn begins(source: &File, value: Node<'_>, kind: Kind) -> bool {
    // An array's index in a designator is irrelevant.
    let is_place = |part: Node<'_>| {
        let mut outer = around(part).take_while(|outer| *outer != value);
        outer.any(|outer| outer.kind().ends_with("_designator"))
    };
    let names = everything(value).into_iter();
    let mut names = names.filter(|part| part.kind() == "identifier" && !is_place(*part));
    let mut is_any = false;
    let all = names.all(|name| {
        is_any = true;
        source.text(name) == kind.of_initializer()
    });
    all && is_any
}

/// Fields of these types that are used or declared somewhere without a known structure.
fn merged<'p>(
    files: &'p [File],
    globals: &Globals<'p>,
    structures: &Structures<'p>,
) -> HashSet<&'p str> {
    let types = ["pthread_mutex_t", "pthread_cond_t"];
    let names = files.iter().flat_map(|file| fields_of_type(file, &types));
    let names: HashSet<&str> = names.collect();
    let mut merged = HashSet::new();
    for (file, source) in files.iter().enumerate() {
        for node in source.parsed() {
            let name = source.text(node);
            if node.kind() == "field_identifier"
                && names.contains(name)
                && structures.of_field(file, node, globals).is_none()
            {
                merged.insert(name);
            }
        }
    }
    merged
}

/// All objects.
pub struct Objects<'p> {
    files: &'p [File],
    structures: Structures<'p>,
    /// Fields used without a known structure: all fields of that name are one object.
    merged: HashSet<&'p str>,
    pub all: Vec<Object<'p>>,
    places: HashMap<Key, usize>,
    /// The condition and the mutex of each wait, by the call's place.
    waits: HashMap<(usize, usize), (Option<usize>, Option<usize>)>,
}

impl<'p> Objects<'p> {
    pub fn find(files: &'p [File], globals: &Globals<'p>) -> Self {
        let structures = Structures::of(files);
        let mut objects = Self {
            files,
            merged: merged(files, globals, &structures),
            structures,
            all: Vec::new(),
            places: HashMap::new(),
            waits: HashMap::new(),
        };
        for (file, source) in files.iter().enumerate() {
            for node in source.parsed() {
                objects.declare(file, node, globals);
            }
        }
        for file in 0..files.len() {
            objects.look_at_uses(file, globals);
        }
        objects.look_at_macros();
        objects.look_at_unparsed();
        for object in &mut objects.all {
            let is_defined = object
                .declared
                .iter()
                .any(|(file, one)| !(one.is(&files[*file], &["extern"]) && one.value.is_none()));
            if !is_defined {
                object.stay(object.at(), "is defined in another file");
            }
        }
        objects.settle();
        objects
    }

    /// Adds the objects that a node declares, if of these types.
    fn declare(&mut self, file: usize, node: Node<'p>, globals: &Globals<'p>) {
        if !matches!(node.kind(), "declaration" | "field_declaration") {
            return;
        }
        let source = &self.files[file];
        let of_type = node.child_by_field_name("type");
        let kind = of_type.and_then(|of_type| Kind::of(source.text(of_type)));
        let Some(kind) = kind else { return };
        for one in declared(node) {
            let shape = one.shape();
            let is_plain = shape == one.name && one.declarator == one.name;
            let is_array = shape.kind() == "array_declarator" && shape == one.declarator;
            if !is_plain && !is_array {
                continue;
            }
            let name = source.text(one.name).to_owned();
            let is_static = one.is(source, &["static"]);
            let inner = function_around(node).is_some();
            let key = if node.kind() == "field_declaration" {
                self.field(file, one.name, globals)
            } else if inner && !one.is(source, &["extern"]) {
                Key::Inner(file, one.name.start_byte())
            } else if is_static {
                Key::Static(file, name.clone())
            } else {
                Key::Global(name.clone())
            };
            let place = *self.places.entry(key.clone()).or_insert_with(|| {
                self.all.push(Object {
                    kind,
                    name,
                    key: key.clone(),
                    declared: Vec::new(),
                    begun: Vec::new(),
                    uses: Vec::new(),
                    stays: None,
                });
                self.all.len() - 1
            });
            let object = &mut self.all[place];
            object.declared.push((file, one));
            let at = At {
                file,
                node: one.name,
            };
            if object.kind != kind {
                object.stay(at, "is declared both as a mutex and as a condition");
            }
            if one.value.is_some_and(|value| !begins(source, value, kind)) {
                object.stay(at, "has an unknown initialiser");
            }
            if matches!(key, Key::Inner(..)) && !is_static {
                object.stay(at, "is local to a function");
            }
            if is_static && source.is_header() && matches!(key, Key::Static(..)) {
                object.stay(at, "is static in a header");
            }
            let is_in_union = |node: Node<'_>| {
                node.parent()
                    .and_then(|list| list.parent())
                    .is_some_and(|whole| whole.kind() == "union_specifier")
            };
            if is_in_union(node) {
                object.stay(at, "is in a union");
            }
        }
    }

    fn look_at_uses(&mut self, file: usize, globals: &Globals<'p>) {
        let source = &self.files[file];
        for node in source.parsed() {
            let text = match node.kind() {
                "identifier" | "field_identifier" => source.text(node),
                _ => continue,
            };
            for kind in [Kind::Mutex, Kind::Condition] {
                if text == kind.of_initializer() {
                    self.look_at_initializer(file, node, kind, globals);
                }
            }
            let Some(place) = self.meant(file, node, globals) else {
                continue;
            };
            let is_declaring = |object: &Object<'_>| {
                object
                    .declared
                    .iter()
                    .any(|(within, one)| *within == file && one.name == node)
            };
            if !is_declaring(&self.all[place]) {
                self.look_at_use(file, node, place);
            }
        }
    }

    /// The identity of a field, at its declaration or use.
    fn field(&self, file: usize, node: Node<'p>, globals: &Globals<'p>) -> Key {
        let name = self.files[file].text(node);
        let whole = if self.merged.contains(name) {
            None
        } else {
            self.structures.of_field(file, node, globals)
        };
        Key::Field(
            whole.map_or_else(String::new, |whole| whole.key),
            name.to_owned(),
        )
    }

    /// The object that a name refers to at its place.
    fn meant(&self, file: usize, node: Node<'p>, globals: &Globals<'p>) -> Option<usize> {
        let source = &self.files[file];
        let name = source.text(node);
        let get = |key: Key| self.places.get(&key).copied();
        if node.kind() == "field_identifier" {
            return get(self.field(file, node, globals));
        }
        if let Some(inner) = local(source, name, node) {
            let as_extern = || inner.is(source, &["extern"]).then(|| name.to_owned());
            return get(Key::Inner(file, inner.name.start_byte()))
                .or_else(|| get(Key::Global(as_extern()?)));
        }
        get(Key::Static(file, name.to_owned())).or_else(|| {
            let others = globals.in_file(file, name);
            let is_it = others.is_none_or(|other| {
                let of_type = other.whole.child_by_field_name("type");
                of_type.is_some_and(|of_type| Kind::of(source.text(of_type)).is_some())
            });
            is_it.then(|| get(Key::Global(name.to_owned()))).flatten()
        })
    }

    fn look_at_use(&mut self, file: usize, node: Node<'p>, place: usize) {
        let source = &self.files[file];
        let at = At { file, node };
        let parent = node.parent();
        let Some(parent) = parent else { return };
        let mut object = node;
        if node.kind() == "field_identifier" {
            match parent.kind() {
                "field_expression" => object = parent,
                "field_designator" => {
                    let value = parent
                        .parent()
                        .and_then(|pair| pair.child_by_field_name("value"));
                    let kind = self.all[place].kind;
                    if !value.is_some_and(|value| begins(source, value, kind)) {
                        self.all[place].stay(at, "has an unknown initialiser");
                    }
                    return;
                }
                "offsetof_expression" => {
                    return self.all[place].stay(at, "is used by `offsetof`");
                }
                _ => return self.all[place].stay(at, "has the name of another structure's field"),
            }
        }
        let is_array = |(_, one): &(usize, Declared<'_>)| one.declarator != one.name;
        if self.all[place].declared.iter().any(is_array) {
            let element = object.parent().filter(|outer| {
                outer.kind() == "subscript_expression"
                    && outer.child_by_field_name("argument") == Some(object)
            });
            match element {
                Some(element) => object = element,
                None => return self.all[place].stay(at, "is used as an array"),
            }
        }
        while let Some(outer) = object.parent()
            && outer.kind() == "parenthesized_expression"
        {
            object = outer;
        }
        let address = object.parent().filter(|outer| {
            outer.kind() == "pointer_expression" && source.text(*outer).starts_with('&')
        });
        let Some(argument) = address else {
            return self.all[place].stay(at, "is used by value");
        };
        let call = argument.parent().and_then(|list| list.parent());
        let call = call.filter(|call| call.kind() == "call_expression");
        let called = call.and_then(|call| call.child_by_field_name("function"));
        let (Some(call), Some(called)) = (call, called) else {
            return self.all[place].stay(at, "has its address taken");
        };
        if conditions::are_in(source.text(call)) {
            return self.all[place].stay(at, "is used in a call that contains a directive");
        }
        let function = source.called(called);
        let position = arguments(call).iter().position(|one| *one == argument);
        let is_mutex = self.all[place].kind == Kind::Mutex;
        let is_understood = match function {
            "pthread_mutex_lock"
            | "pthread_mutex_unlock"
            | "pthread_mutex_init"
            | "pthread_mutex_destroy" => is_mutex && position == Some(0),
            "pthread_cond_signal"
            | "pthread_cond_broadcast"
            | "pthread_cond_init"
            | "pthread_cond_destroy" => !is_mutex && position == Some(0),
            "pthread_cond_wait" | "pthread_cond_timedwait" => {
                let waits = self
                    .waits
                    .entry((file, call.start_byte()))
                    .or_insert((None, None));
                if is_mutex {
                    waits.1 = Some(place);
                } else {
                    waits.0 = Some(place);
                }
                position == Some(usize::from(is_mutex))
            }
            _ => false,
        };
        let object_of = &mut self.all[place];
        if !is_understood {
            let why = if function.starts_with("pthread_") {
                format!("is passed to {function}(), which delegation locks do not support")
            } else {
                format!("has its address passed to {function}()")
            };
            return object_of.stay(at, why);
        }
        let attributes = arguments(call).get(1).map(|node| source.words(*node));
        if function.ends_with("_init")
            && !attributes.is_some_and(|text| matches!(&*text, "NULL" | "0" | "(void*)0"))
        {
            return object_of.stay(at, "is initialised with attributes");
        }
        object_of.uses.push(Use {
            file,
            function,
            call,
            argument,
            object,
        });
    }

    /// Finds the object of a constant initialiser.
    fn look_at_initializer(
        &mut self,
        file: usize,
        node: Node<'p>,
        kind: Kind,
        globals: &Globals<'p>,
    ) {
        let at = At { file, node };
        let pair = around(node).find(|outer| outer.kind() == "initializer_pair");
        let field = pair
            .and_then(|pair| {
                let mut all = designators(pair).into_iter();
                all.rfind(|one| one.kind() == "field_designator")
            })
            .and_then(|designator| designator.named_child(0));
        if let Some(field) = field {
            let key = self.field(file, field, globals);
            if let Some(place) = self.places.get(&key) {
                self.all[*place].begun.push(at);
            }
            return;
        }
        for object in &mut self.all {
            let within = |(of, one): &(usize, Declared<'_>)| {
                let value = one.value.filter(|_| *of == file);
                value.is_some_and(|value| value.byte_range().contains(&node.start_byte()))
            };
            if object.declared.iter().any(within) {
                return object.begun.push(at);
            }
        }
        let is_assigned = around(node).any(|outer| outer.kind() == "assignment_expression");
        for object in &mut self.all {
            if matches!(object.key, Key::Field(..)) && object.kind == kind && !is_assigned {
                object.stay(at, "may be initialised here without its field name");
            }
        }
    }

    /// Objects named in a macro may be used wherever the macro is.
    fn look_at_macros(&mut self) {
        for (file, source) in self.files.iter().enumerate() {
            for node in everything(source.root()) {
                if !matches!(node.kind(), "preproc_def" | "preproc_function_def") {
                    continue;
                }
                let Some(body) = node.child_by_field_name("value") else {
                    continue;
                };
                let name = node.child_by_field_name("name");
                let name = name.map_or("", |name| source.text(name));
                if source.is_alias(name) {
                    continue;
                }
                // The macro redefines these calls.
                if name.starts_with("pthread_mutex_") || name.starts_with("pthread_cond_") {
                    for object in &mut self.all {
                        object.stay(
                            At { file, node },
                            format!("has {name} redefined as a macro"),
                        );
                    }
                }
                let words = words_of_macro(source.text(body));
                for object in &mut self.all {
                    if words.iter().any(|(word, _)| *word == object.name) {
                        let why = format!("is named by the macro {name}");
                        object.stay(At { file, node }, why);
                    }
                }
            }
        }
    }

    /// Objects named in unparsed text may be used there in any way.
    fn look_at_unparsed(&mut self) {
        for (file, source) in self.files.iter().enumerate() {
            for (word, at) in source.unparsed_words() {
                for object in &mut self.all {
                    let is_elsewhere = match object.key {
                        Key::Static(own, _) | Key::Inner(own, _) => own != file,
                        Key::Global(_) | Key::Field(..) => false,
                    };
                    if object.name == word && !is_elsewhere {
                        object.stays.get_or_insert_with(|| Reason {
                            file,
                            line: source.line_of(at),
                            why: "is named in unparsable text".to_owned(),
                        });
                    }
                }
            }
        }
    }

    /// Propagates the unconvertible objects to dependent ones, until nothing changes.
    pub fn settle(&mut self) {
        loop {
            let mut found: Vec<(usize, Reason)> = Vec::new();
            for ((file, start), (condition, mutex)) in &self.waits {
                let stays = |place: &Option<usize>| {
                    place.is_none_or(|place| self.all[place].stays.is_some())
                };
                let both = [(condition, mutex), (mutex, condition)];
                for (one, other) in both {
                    let Some(place) = one else { continue };
                    if self.all[*place].stays.is_none() && stays(other) {
                        let uses = &self.all[*place].uses;
                        let call = uses
                            .iter()
                            .find(|one| one.file == *file && one.call.start_byte() == *start);
                        let Some(call) = call else { continue };
                        let what = match self.all[*place].kind {
                            Kind::Mutex => "is used with an unconverted condition",
                            Kind::Condition => "is used with an unconverted mutex",
                        };
                        found.push((*place, Reason::new(call.at(), what)));
                    }
                }
            }
            for (place, object) in self.all.iter().enumerate() {
                if object.stays.is_some() {
                    continue;
                }
                let beside = self.all.iter().filter(|other| other.stays.is_some());
                let beside =
                    beside.flat_map(|other| other.declared.iter().map(move |one| (other, one)));
                for (other, (file, theirs)) in beside {
                    let mut own = object.declared.iter();
                    if let Some((file, one)) =
                        own.find(|(within, one)| within == file && one.whole == theirs.whole)
                    {
                        let at = At {
                            file: *file,
                            node: one.name,
                        };
                        let why =
                            format!("is declared together with the unconverted {}", other.name);
                        found.push((place, Reason::new(at, why)));
                    }
                }
            }
            // A condition without waits or signals beside a converted mutex is left alone too.
            for (place, object) in self.all.iter().enumerate() {
                let waits = |one: &Use<'_>| one.function.ends_with("wait");
                if object.kind == Kind::Condition
                    && object.stays.is_none()
                    && !object.uses.iter().any(waits)
                {
                    found.push((
                        place,
                        Reason::new(object.at(), "has no waiter in these files"),
                    ));
                }
            }
            if found.is_empty() {
                return;
            }
            found.sort_by_key(|(place, reason)| (*place, reason.file, reason.line));
            for (place, reason) in found {
                self.all[place].stays.get_or_insert(reason);
            }
        }
    }

    /// The mutex argument of a call, if it is one of these.
    pub fn mutex_of_call(&self, file: usize, call: Node<'_>) -> Option<(usize, &Use<'p>)> {
        self.all.iter().enumerate().find_map(|(place, object)| {
            let mut uses = object.uses.iter().filter(|_| object.kind == Kind::Mutex);
            let one = uses.find(|one| one.file == file && one.call == call)?;
            Some((place, one))
        })
    }
}
