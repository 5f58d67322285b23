//! The mutexes and conditions of a program, their uses, and the unconvertible ones: a mutex's
//! address may escape, and the mutex be locked elsewhere.

use super::lex;
use super::macros::{self, Locking};
use super::tree::{Declared, Function, Id, NONE, Place, Program};
use clang_sys::*;
use std::collections::{HashMap, HashSet};

/// Kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Mutex,
    Condition,
}

impl Kind {
    fn of(canonical: &str) -> Option<Self> {
        match canonical {
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

/// Whether a word is a function of mutexes and conditions.
pub fn is_call(word: &str) -> bool {
    word.starts_with("pthread_mutex_") || word.starts_with("pthread_cond_")
}

/// The converted name of a function with a mutex or a condition as its first argument.
pub fn renamed(function: &str) -> Option<&'static str> {
    Some(match function {
        "pthread_mutex_lock" => "cohort_delegated_lock",
        "pthread_mutex_trylock" => "cohort_delegated_lock_try",
        "pthread_mutex_unlock" => "cohort_delegated_unlock",
        "pthread_mutex_init" => "cohort_delegated_init",
        "pthread_mutex_destroy" => "cohort_delegated_destroy",
        "pthread_cond_wait" => "cohort_cond_wait_delegated",
        "pthread_cond_timedwait" => "cohort_cond_wait_delegated_until",
        "pthread_cond_signal" => "cohort_cond_signal",
        "pthread_cond_broadcast" => "cohort_cond_broadcast",
        "pthread_cond_init" => "cohort_cond_init",
        "pthread_cond_destroy" => "cohort_cond_destroy",
        _ => return None,
    })
}

/// Reason, with its place.
#[derive(Clone, Debug)]
pub struct Reason {
    pub place: Place,
    pub why: String,
}

impl Reason {
    pub fn new(place: Place, why: impl Into<String>) -> Self {
        Self {
            place,
            why: why.into(),
        }
    }
}

/// Call of a function with a mutex or a condition.
#[derive(Clone, Debug)]
pub struct Use {
    /// The function with the call, by its number.
    pub within: usize,
    pub call: usize,
    /// `pthread_mutex_lock`.
    pub function: String,
    /// `&list->lock`, without needless blanks; of a wrapper's call, what the wrapper locks.
    pub argument: String,
    /// The argument's node, or the call's of a wrapper.
    pub node: usize,
    /// The call, or the macro that makes it.
    pub from: usize,
    pub to: usize,
    pub is_in_macro: bool,
    /// Whether one macro makes both the lock and its unlock.
    pub is_pair: bool,
    /// The function that locks on behalf of the caller, by its number.
    pub via: Option<usize>,
}

/// Mutex or condition, or a field of a structure.
pub struct Object {
    pub kind: Kind,
    pub name: String,
    pub id: Id,
    pub declared: Vec<Declared>,
    /// Its constant initialisers.
    pub begun: Vec<(usize, usize, usize)>,
    pub uses: Vec<Use>,
    /// The reason why it cannot be converted, if any.
    pub stays: Option<Reason>,
    /// Whether locking it twice is an error in any case: it has no attributes and does not escape.
    pub is_plain: bool,
}

impl Object {
    fn stay(&mut self, place: Place, why: impl Into<String>) {
        self.is_plain = false;
        self.stays.get_or_insert_with(|| Reason::new(place, why));
    }

    pub fn place(&self) -> Place {
        self.declared[0].place
    }

    /// Whether other files could name it.
    pub fn is_global(&self) -> bool {
        let one = &self.declared[0];
        !one.is_field && !one.variable.is_static && (!one.is_inner || one.variable.is_extern)
    }
}

/// Lock call on a mutex that is no object of the program's: through a pointer, or in C++.
pub struct Stray {
    pub place: Place,
    pub name: String,
    pub why: String,
}

/// All objects.
#[derive(Default)]
pub struct Objects {
    pub all: Vec<Object>,
    pub of: HashMap<Id, usize>,
    /// The object and the use of a call, by function and node.
    pub calls: HashMap<(usize, usize), (usize, usize)>,
    pub strays: Vec<Stray>,
    /// Functions that pass their mutex on to a function of the C library: `lock(m)`.
    aliases: HashMap<Id, String>,
    alias_names: HashMap<String, String>,
    /// The condition and the mutex of each wait.
    waits: HashMap<(usize, usize), (Option<usize>, Option<usize>)>,
}

/// The expression without parentheses, casts and conversions.
pub fn stripped(function: &Function, mut node: usize) -> usize {
    loop {
        let here = &function.nodes[node];
        let inner = match here.kind {
            CXCursor_ParenExpr | CXCursor_UnexposedExpr if here.kids.len() == 1 => here.kids[0],
            // Before its operand stands a name of its type.
            CXCursor_CStyleCastExpr if !here.kids.is_empty() => here.kids[here.kids.len() - 1],
            _ => return node,
        };
        node = inner;
    }
}

/// The arguments of a call.
pub fn arguments(function: &Function, call: usize) -> &[usize] {
    function.nodes[call].kids.get(1..).unwrap_or_default()
}

/// A text without parentheses around all of it.
fn bare(text: &str) -> String {
    let text = lex::squeezed(text);
    let mut inner = text.as_str();
    while let Some(less) = inner
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let mut depth = 0_i32;
        let is_one = less.bytes().all(|byte| {
            depth += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            depth >= 0
        });
        if !is_one {
            break;
        }
        inner = less;
    }
    inner.to_owned()
}

impl Objects {
    pub fn find(program: &Program) -> Self {
        let mut objects = Self::default();
        objects.find_aliases(program);
        objects.declare(program);
        for number in 0..program.functions.len() {
            objects.look_at(program, number);
        }
        objects.look_at_initializers(program);
        objects.find_wrappers(program);
        objects.look_at_unparsed(program);
        for object in &mut objects.all {
            let is_defined = object
                .declared
                .iter()
                .any(|one| one.is_field || !one.variable.is_extern);
            if !is_defined {
                object.stay(object.place(), "is defined in none of these files");
            }
        }
        objects.settle();
        objects
    }

    pub fn is_locking(&self, word: &str) -> bool {
        is_call(word) || self.alias_names.contains_key(word)
    }

    /// Whether a function passes its mutex on to a function of the C library.
    pub fn is_alias(&self, function: Id) -> bool {
        self.aliases.contains_key(&function)
    }

    /// The function of the C library behind a name.
    pub fn meant<'s>(&'s self, name: &'s str) -> &'s str {
        self.alias_names.get(name).map_or(name, String::as_str)
    }

    /// The function of the C library that a call reaches, if of mutexes and conditions.
    pub fn called<'s>(&'s self, function: &'s Function, call: usize) -> Option<&'s str> {
        let node = &function.nodes[call];
        if let Some(meant) = self.aliases.get(&node.of) {
            return Some(meant);
        }
        is_call(&node.name).then_some(&*node.name)
    }

    /// The only statement of a function, if that locks or unlocks.
    fn only_locks(&self, program: &Program, function: &Function) -> Option<Locking> {
        let body = function.body()?;
        let [statement] = function.nodes[body].kids[..] else {
            return None;
        };
        let text = function.text(&program.sources, statement);
        let calls = |word: &str| self.is_locking(word);
        let words = program.macros.expanded(text, &calls)?;
        macros::locking(&words, &calls)
    }

    /// Finds functions that pass their parameter on to a function of the C library.
    fn find_aliases(&mut self, program: &Program) {
        for function in program.functions.iter().filter(|one| one.is_function) {
            let is_void = function
                .result
                .as_ref()
                .is_some_and(|of| of.declare("").trim() == "void");
            if function.is_cpp || !is_void {
                continue;
            }
            let Some(locking) = self.only_locks(program, function) else {
                continue;
            };
            let parameters = function.nodes[0]
                .kids
                .iter()
                .map(|kid| &function.nodes[*kid]);
            let parameters: Vec<&str> = parameters
                .filter(|node| node.kind == CXCursor_ParmDecl)
                .map(|node| &*node.name)
                .collect();
            let [given] = &locking.arguments[..] else {
                continue;
            };
            let is_known = matches!(
                &*locking.function,
                "pthread_mutex_lock" | "pthread_mutex_unlock"
            );
            // A static function of another file may have the name.
            let is_other = self
                .alias_names
                .get(&*function.name)
                .is_some_and(|other| *other != locking.function);
            if is_known
                && !is_other
                && parameters.len() == 1
                && bare(&macros::text(given)) == parameters[0]
            {
                self.aliases.insert(function.id, locking.function.clone());
                self.alias_names
                    .insert(function.name.to_string(), locking.function);
            }
        }
    }

    fn declare(&mut self, program: &Program) {
        for (number, entity) in program.entities.iter().enumerate() {
            let kinds = entity.declared.iter();
            let Some(kind) = kinds
                .filter_map(|one| Kind::of(&one.variable.canonical))
                .next()
            else {
                continue;
            };
            let id = u32::try_from(number).unwrap_or(NONE);
            let mut object = Object {
                kind,
                name: entity.name.clone(),
                id,
                declared: entity.declared.clone(),
                begun: Vec::new(),
                uses: Vec::new(),
                stays: None,
                is_plain: true,
            };
            for one in &entity.declared {
                self.declare_one(program, &mut object, one);
            }
            self.of.insert(id, self.all.len());
            self.all.push(object);
        }
    }

    fn declare_one(&self, program: &Program, object: &mut Object, one: &Declared) {
        let source = &program.sources[one.place.file];
        let at = one.place;
        if Kind::of(&one.variable.canonical) != Some(object.kind) {
            object.stay(at, "is declared with two types");
        }
        if one.is_cpp {
            object.stay(at, "is in a C++ file");
        }
        if source.piece(at.at, at.at + object.name.len()) != object.name
            || type_of(program, one).is_none()
        {
            object.stay(at, "is declared by a macro");
        }
        if one.is_inner && !one.variable.is_static && !one.variable.is_extern {
            object.stay(at, "is local to a function");
        }
        let is_header = source.path.extension().is_none_or(|ending| ending != "c");
        if is_header && one.variable.is_static && !one.is_field {
            object.stay(at, "is static in a header");
        }
        if one.is_in_union {
            object.stay(at, "is in a union");
        }
        // The initial value consists of the usual initialiser.
        if one.is_field {
            return;
        }
        let tokens = source.tokens_in(at.at..one.to);
        let Some(equals) = tokens
            .iter()
            .position(|token| token.text(&source.text) == "=")
        else {
            return;
        };
        let mut depth = 0_i32;
        for token in &tokens[equals..] {
            match token.text(&source.text) {
                "[" => depth += 1,
                "]" => depth -= 1,
                word if token.kind == lex::Kind::Word && depth == 0 => {
                    if word == object.kind.of_initializer() {
                        object.begun.push((at.file, token.from, token.to));
                    } else {
                        return object.stay(at, "has an unknown initialiser");
                    }
                }
                _ => {}
            }
        }
        if object.begun.is_empty() {
            object.stay(at, "has an unknown initialiser");
        }
    }

    fn look_at(&mut self, program: &Program, number: usize) {
        let function = &program.functions[number];
        for node in 0..function.nodes.len() {
            let here = &function.nodes[node];
            let place = Place {
                file: here.file,
                at: here.from,
            };
            if matches!(
                here.kind,
                CXCursor_DeclRefExpr | CXCursor_MemberRefExpr | CXCursor_MemberRef
            ) && let Some(object) = self.of.get(&here.of).copied()
            {
                self.look_at_use(program, number, node, object);
            } else if here.kind == CXCursor_CallExpr {
                let locks = matches!(
                    self.called(function, node),
                    Some(
                        "pthread_mutex_lock" | "pthread_mutex_trylock" | "pthread_mutex_timedlock"
                    )
                );
                if locks {
                    self.look_at_stray(program, number, node);
                }
            } else if function.is_cpp && here.kind == CXCursor_VarDecl {
                let of = here.variable.as_ref().map_or("", |one| &*one.canonical);
                let is_guard = ["lock_guard<", "unique_lock<", "scoped_lock<"]
                    .iter()
                    .any(|guard| of.contains(guard));
                if is_guard {
                    self.strays.push(Stray {
                        place,
                        name: here.name.to_string(),
                        why: "is in a C++ file; `cohort::delegated` takes the section as a lambda"
                            .to_owned(),
                    });
                }
            }
        }
    }

    /// A lock call on a mutex that is not declared as such.
    fn look_at_stray(&mut self, program: &Program, number: usize, call: usize) {
        let function = &program.functions[number];
        let here = &function.nodes[call];
        let Some(given) = arguments(function, call).first() else {
            return;
        };
        let inner = function.everything(*given);
        let is_object = inner.iter().any(|node| {
            let node = &function.nodes[*node];
            node.kind != CXCursor_TypeRef && self.of.contains_key(&node.of)
        });
        if is_object {
            return;
        }
        let given = &function.nodes[stripped(function, *given)];
        let name = lex::squeezed(program.sources[given.file].piece(given.from, given.to));
        let name = if name.is_empty() {
            here.name.to_string()
        } else {
            name
        };
        let is_parameter = function.nodes[0].kids.iter().any(|kid| {
            let kid = &function.nodes[*kid];
            kid.kind == CXCursor_ParmDecl && kid.of == given.of
        });
        let why = if function.is_cpp {
            "is in a C++ file; `cohort::delegated` takes the section as a lambda".to_owned()
        } else if self.aliases.contains_key(&function.id) {
            format!("only locks what the callers of {}() pass", function.name)
        } else if is_parameter {
            format!("locks a mutex passed to {}() as a pointer", function.name)
        } else if function.nodes[inner[0]].kind == CXCursor_UnaryOperator
            && given.kind == CXCursor_UnaryOperator
            && given.kids.iter().any(|kid| {
                let kind = function.nodes[stripped(function, *kid)].kind;
                kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr
            })
        {
            "locks a mutex of a type that no file of the program declares outside of functions"
                .to_owned()
        } else {
            "locks a mutex through a pointer".to_owned()
        };
        self.strays.push(Stray {
            place: Place {
                file: here.file,
                at: here.from,
            },
            name: name.trim_start_matches('&').to_owned(),
            why,
        });
    }

    fn look_at_use(&mut self, program: &Program, number: usize, node: usize, place: usize) {
        let function = &program.functions[number];
        let here = &function.nodes[node];
        let at = Place {
            file: here.file,
            at: here.from,
        };
        let parent = |node: usize| {
            let parent = function.nodes[node].parent;
            (parent != node).then_some(parent)
        };
        if function.is_cpp {
            return self.all[place].stay(at, "is used in a C++ file");
        }
        if here.kind == CXCursor_MemberRef {
            // A designated initialiser is looked at as such.
            let outer = parent(node).map(|outer| &function.nodes[outer]);
            let is_designator = outer.is_some_and(|outer| {
                let is_last = outer.kids.last() == Some(&node);
                outer.kind == CXCursor_UnexposedExpr && !is_last
            });
            if !is_designator {
                self.all[place].stay(at, "is used by `offsetof`");
            }
            return;
        }
        let is_array = self.all[place]
            .declared
            .iter()
            .any(|one| one.variable.is_array);
        let mut object = node;
        let mut is_element = !is_array;
        let argument = loop {
            let Some(outer) = parent(object) else {
                return self.all[place].stay(at, "is used by value");
            };
            let kind = function.nodes[outer].kind;
            let is_first = function.nodes[outer].kids.first() == Some(&object);
            match kind {
                CXCursor_ParenExpr | CXCursor_UnexposedExpr => object = outer,
                CXCursor_ArraySubscriptExpr if is_array && is_first => {
                    is_element = true;
                    object = outer;
                }
                CXCursor_UnaryOperator if is_element => break outer,
                _ => {
                    let why = if is_array && !is_element {
                        "is used as an array"
                    } else {
                        "is used by value"
                    };
                    return self.all[place].stay(at, why);
                }
            }
        };
        let mut outer = argument;
        let call = loop {
            let inner = outer;
            match parent(inner) {
                Some(up) => outer = up,
                None => return self.all[place].stay(at, "has its address taken"),
            }
            match function.nodes[outer].kind {
                CXCursor_ParenExpr | CXCursor_UnexposedExpr => {}
                CXCursor_CallExpr if function.nodes[outer].kids.first() != Some(&inner) => {
                    break (outer, inner);
                }
                _ => return self.all[place].stay(at, "has its address taken"),
            }
        };
        let (call, given) = call;
        let position = arguments(function, call)
            .iter()
            .position(|one| *one == given);
        let name = self.called(function, call).unwrap_or_default().to_owned();
        let is_mutex = self.all[place].kind == Kind::Mutex;
        let is_wait = matches!(&*name, "pthread_cond_wait" | "pthread_cond_timedwait");
        let expected = usize::from(is_wait && is_mutex);
        let is_of_kind = is_wait || name.starts_with("pthread_mutex_") == is_mutex;
        if renamed(&name).is_none() || !is_of_kind || position != Some(expected) {
            let called = &function.nodes[call].name;
            let why = if name.starts_with("pthread_") {
                format!("is passed to {called}(), which delegation locks do not support")
            } else if called.is_empty() {
                "has its address passed through a pointer to a function".to_owned()
            } else {
                format!("has its address passed to {called}()")
            };
            let object = &mut self.all[place];
            object.is_plain = false;
            object.stays.get_or_insert_with(|| Reason::new(at, why));
            return;
        }
        if is_wait {
            let waits = self.waits.entry((number, call)).or_insert((None, None));
            if is_mutex {
                waits.1 = Some(place);
            } else {
                waits.0 = Some(place);
            }
        }
        match self.understood(program, number, call, given, &name) {
            Ok(one) => {
                let object = &mut self.all[place];
                self.calls
                    .insert((number, call), (place, object.uses.len()));
                object.uses.push(one);
            }
            Err(why) => {
                let object = &mut self.all[place];
                object.is_plain &= !why.contains("attributes");
                object.stays.get_or_insert_with(|| Reason::new(at, why));
            }
        }
    }

    /// The use that a call is.
    fn understood(
        &self,
        program: &Program,
        number: usize,
        call: usize,
        given: usize,
        name: &str,
    ) -> Result<Use, String> {
        let function = &program.functions[number];
        let node = &function.nodes[call];
        let source = &program.sources[node.file];
        if !source.is_own {
            return Err("is used in a file outside of the program".to_owned());
        }
        let plain = source.piece(node.from, node.from + node.name.len()) == &*node.name;
        let (mut from, mut to) = (node.from, node.to);
        if !plain {
            let Some((end, _)) = source.expansion(node.from) else {
                return Err("is used in a way that no macro of these files explains".to_owned());
            };
            (from, to) = (node.from, end.max(node.to));
        }
        let text = source.piece(from, to);
        if lex::tokens(text)
            .iter()
            .any(|one| one.kind == lex::Kind::Directive)
        {
            return Err("is used in a call that contains a directive".to_owned());
        }
        let calls = |word: &str| self.is_locking(word);
        let unknown = || {
            let word = lex::tokens(text)
                .first()
                .map_or("", |word| word.text(text))
                .to_owned();
            format!("is used through the macro {word}, which is not understood")
        };
        let words = program.macros.expanded(text, &calls).ok_or_else(unknown)?;
        let places: Vec<usize> = (0..words.len())
            .filter(|place| {
                calls(&words[*place]) && words.get(place + 1).is_some_and(|next| next == "(")
            })
            .collect();
        // A macro's calls have one place in the file.
        let same: Vec<usize> = (0..function.nodes.len())
            .filter(|other| {
                let other_node = &function.nodes[*other];
                let is_here = (other_node.file, other_node.from) == (node.file, node.from);
                *other == call
                    || !plain
                        && is_here
                        && other_node.kind == CXCursor_CallExpr
                        && self.called(function, *other).is_some()
            })
            .collect();
        let number_here = same.iter().position(|other| *other == call).unwrap_or(0);
        let is_pair = match places[..] {
            [_] => false,
            [one, other] => {
                let given = |place: usize| macros::arguments(&words, place + 1).map(|all| all.0);
                self.meant(&words[one]) == "pthread_mutex_lock"
                    && self.meant(&words[other]) == "pthread_mutex_unlock"
                    && given(one) == given(other)
            }
            _ => return Err(unknown()),
        };
        if places.len() != same.len() || places.len() == 2 && !is_pair {
            return Err(unknown());
        }
        let place = places[number_here];
        let all = macros::arguments(&words, place + 1).ok_or_else(unknown)?.0;
        if self.meant(&words[place]) != name {
            return Err(unknown());
        }
        if name.ends_with("_init") {
            let attributes = all.get(1).map(|words| bare(&macros::text(words)));
            if !matches!(attributes.as_deref(), Some("NULL" | "0" | "(void*)0")) {
                return Err("is initialised with attributes".to_owned());
            }
        }
        let position = arguments(function, call)
            .iter()
            .position(|one| *one == given);
        let argument = position.and_then(|position| all.get(position));
        let argument = argument.map(|words| bare(&macros::text(words)));
        Ok(Use {
            within: number,
            call,
            function: name.to_owned(),
            argument: argument.ok_or_else(unknown)?,
            node: given,
            from,
            to,
            is_in_macro: !plain,
            is_pair,
            via: None,
        })
    }

    /// Finds the objects of constant initialisers.
    fn look_at_initializers(&mut self, program: &Program) {
        // Fields with a designator, by the place of the value.
        let mut of_field: HashMap<Place, Id> = HashMap::new();
        for function in &program.functions {
            for node in &function.nodes {
                if node.kind != CXCursor_UnexposedExpr {
                    continue;
                }
                let field = node.kids.iter().rev().map(|kid| &function.nodes[*kid]);
                let field = field
                    .filter(|kid| kid.kind == CXCursor_MemberRef)
                    .map(|kid| kid.of);
                if let (Some(field), Some(value)) = (field.into_iter().next(), node.kids.last()) {
                    let value = &function.nodes[*value];
                    let place = Place {
                        file: value.file,
                        at: value.from,
                    };
                    of_field.insert(place, field);
                    if let Some(object) = self.of.get(&field) {
                        let source = &program.sources[value.file];
                        let object = &mut self.all[*object];
                        let is_usual =
                            source.piece(value.from, value.to) == object.kind.of_initializer();
                        if !is_usual {
                            object.stay(place, "has an unknown initialiser");
                        }
                    }
                }
            }
        }
        for (file, source) in program.sources.iter().enumerate() {
            for (from, (to, name)) in &source.expansions {
                // What stands in a definition counts where its macro is expanded.
                let line = source.tokens();
                let before = line.partition_point(|token| token.to <= *from);
                let is_defining = line
                    .get(before)
                    .is_some_and(|token| token.kind == lex::Kind::Directive && token.from < *from);
                let behind = program.macros.behind(name);
                let of = |kind: &Kind| behind.contains(kind.of_initializer());
                let kinds = [Kind::Mutex, Kind::Condition];
                let Some(kind) = kinds.into_iter().find(of).filter(|_| !is_defining) else {
                    continue;
                };
                let is_variable = |object: &Object| {
                    object.declared.iter().any(|one| {
                        let is_around = one.from <= *from && *to <= one.to;
                        one.place.file == file && !one.is_field && is_around
                    })
                };
                if self.all.iter().any(is_variable) {
                    continue;
                }
                let here = (file, *from, *to);
                if self.all.iter().any(|object| object.begun.contains(&here)) {
                    continue;
                }
                let place = Place { file, at: *from };
                if let Some(object) = of_field.get(&place).and_then(|field| self.of.get(field)) {
                    self.all[*object].begun.push(here);
                    continue;
                }
                for object in &mut self.all {
                    if object.declared[0].is_field && object.kind == kind {
                        object.stay(place, "may be initialised here without its field name");
                    }
                }
            }
        }
    }

    /// Finds functions that only lock or unlock a known mutex; their calls are uses of it.
    fn find_wrappers(&mut self, program: &Program) {
        let mut wrappers: HashMap<Id, (usize, usize, Locking)> = HashMap::new();
        for (number, function) in program.functions.iter().enumerate() {
            let is_alone = program
                .begun
                .get(&function.place)
                .is_some_and(|all| all.len() == 1);
            if !function.is_function || function.is_cpp || !is_alone {
                continue;
            }
            let mut uses = self
                .calls
                .iter()
                .filter(|((within, _), _)| *within == number);
            let (Some((_, (object, _))), None) = (uses.next(), uses.next()) else {
                continue;
            };
            if let Some(locking) = self.only_locks(program, function)
                && matches!(
                    self.meant(&locking.function),
                    "pthread_mutex_lock" | "pthread_mutex_unlock"
                )
            {
                wrappers.insert(function.id, (number, *object, locking));
            }
        }
        for (within, function) in program.functions.iter().enumerate() {
            for (call, node) in function.nodes.iter().enumerate() {
                let known = wrappers
                    .get(&node.of)
                    .filter(|_| node.kind == CXCursor_CallExpr);
                let Some((via, object, locking)) = known else {
                    continue;
                };
                let source = &program.sources[node.file];
                let text = source.piece(node.from, node.to);
                let words: Vec<String> = lex::tokens(text)
                    .iter()
                    .map(|token| token.text(text).to_owned())
                    .collect();
                let is_plain = words.first().is_some_and(|word| **word == *node.name);
                let Some((given, _)) = macros::arguments(&words, 1).filter(|_| is_plain) else {
                    continue;
                };
                let wrapper = &program.functions[*via];
                let parameters: Vec<&str> = wrapper.nodes[0]
                    .kids
                    .iter()
                    .map(|kid| &wrapper.nodes[*kid])
                    .filter(|kid| kid.kind == CXCursor_ParmDecl)
                    .map(|kid| &*kid.name)
                    .collect();
                let put = locking.arguments[0].iter().flat_map(|word| {
                    let place = parameters.iter().position(|one| one == word);
                    match place.and_then(|place| given.get(place)) {
                        Some(given) => {
                            let mut all = vec!["(".to_owned()];
                            all.extend(given.iter().cloned());
                            all.push(")".to_owned());
                            all
                        }
                        None => vec![word.clone()],
                    }
                });
                let put: Vec<String> = put.collect();
                let argument = bare(&macros::text(&put));
                let function = self.meant(&locking.function).to_owned();
                let uses = &mut self.all[*object].uses;
                self.calls.insert((within, call), (*object, uses.len()));
                uses.push(Use {
                    within,
                    call,
                    function,
                    argument,
                    node: call,
                    from: node.from,
                    to: node.to,
                    is_in_macro: false,
                    is_pair: false,
                    via: Some(*via),
                });
            }
        }
    }

    /// Objects named in files that do not parse may be used there in any way.
    fn look_at_unparsed(&mut self, program: &Program) {
        for file in &program.unparsed {
            let source = &program.sources[*file];
            for token in source.tokens() {
                let text = token.text(&source.text);
                let words: HashSet<&str> = if token.kind == lex::Kind::Directive {
                    lex::directive_words(text).into_iter().collect()
                } else {
                    HashSet::from([text])
                };
                for object in &mut self.all {
                    if words.contains(object.name.as_str()) {
                        let place = Place {
                            file: *file,
                            at: token.from,
                        };
                        object.stay(place, "is named in a file that does not parse");
                    }
                }
            }
        }
    }

    /// Propagates the unconvertible objects to dependent ones, until nothing changes.
    pub fn settle(&mut self) {
        loop {
            let mut found: Vec<(usize, Reason)> = Vec::new();
            for (key, (condition, mutex)) in &self.waits {
                let stays = |place: &Option<usize>| {
                    place.is_none_or(|place| self.all[place].stays.is_some())
                };
                for (one, other) in [(condition, mutex), (mutex, condition)] {
                    let Some(place) = one else { continue };
                    if self.all[*place].stays.is_none() && stays(other) {
                        let what = match self.all[*place].kind {
                            Kind::Mutex => "is used with an unconverted condition",
                            Kind::Condition => "is used with an unconverted mutex",
                        };
                        let _ = key;
                        found.push((*place, Reason::new(self.all[*place].place(), what)));
                    }
                }
            }
            for (number, object) in self.all.iter().enumerate() {
                if object.stays.is_some() {
                    continue;
                }
                for other in self.all.iter().filter(|other| other.stays.is_some()) {
                    let together = object.declared.iter().find(|own| {
                        other.declared.iter().any(|theirs| {
                            (own.place.file, own.from) == (theirs.place.file, theirs.from)
                        })
                    });
                    if let Some(one) = together {
                        let why =
                            format!("is declared together with the unconverted {}", other.name);
                        found.push((number, Reason::new(one.place, why)));
                    }
                }
                let waits = |one: &Use| one.function.ends_with("wait");
                if object.kind == Kind::Condition && !object.uses.iter().any(waits) {
                    found.push((
                        number,
                        Reason::new(object.place(), "has no waiter in these files"),
                    ));
                }
            }
            if found.is_empty() {
                return;
            }
            found.sort_by_key(|(number, reason)| (*number, reason.place));
            for (number, reason) in found {
                self.all[number].stays.get_or_insert(reason);
            }
        }
    }
}

/// The place of a declaration's type, if it is a single word.
pub fn type_of(program: &Program, one: &Declared) -> Option<(usize, usize)> {
    const OTHER: [&str; 7] = [
        "static",
        "extern",
        "const",
        "volatile",
        "register",
        "__extension__",
        "inline",
    ];
    let source = &program.sources[one.place.file];
    let tokens = source.tokens_in(one.from..one.place.at);
    let words = tokens.iter().filter(|token| token.kind == lex::Kind::Word);
    let mut words = words.filter(|token| !OTHER.contains(&token.text(&source.text)));
    let first = words.next()?;
    let is_odd = matches!(
        first.text(&source.text),
        "struct" | "union" | "typeof" | "__typeof__"
    );
    // A macro with arguments.
    let next = source.tokens_in(first.to..first.to + 64).first()?;
    (!is_odd && next.text(&source.text) != "(").then_some((first.from, first.to))
}
