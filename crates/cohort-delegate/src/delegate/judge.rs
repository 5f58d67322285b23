//! Whether another thread may run a piece of a program, and if not, the reason.

use super::calls;
use super::extents::outline;
use super::objects::{Objects, arguments, stripped};
use super::tree::{Function, Id, NONE, Program};
use clang_sys::*;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// What a pointer to functions may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    Function(Id),
    From(Id),
    Unknown,
}

/// Judges pieces of a program.
pub struct Judge<'a> {
    pub program: &'a Program,
    pub objects: &'a Objects,
    defined: HashMap<Id, Vec<usize>>,
    flows: HashMap<Id, Vec<Flow>>,
    /// Results for functions; a function under examination counts as permitted.
    known: RefCell<HashMap<Id, Option<String>>>,
    /// Unlocks that belong to a lock of their function, by function.
    ended: RefCell<HashMap<usize, HashSet<usize>>>,
}

impl<'a> Judge<'a> {
    pub fn new(program: &'a Program, objects: &'a Objects) -> Self {
        let mut defined: HashMap<Id, Vec<usize>> = HashMap::new();
        for (number, function) in program.functions.iter().enumerate() {
            if function.is_function {
                defined.entry(function.id).or_default().push(number);
            }
        }
        let mut judge = Self {
            program,
            objects,
            defined,
            flows: HashMap::new(),
            known: RefCell::default(),
            ended: RefCell::default(),
        };
        judge.flow();
        judge
    }

    fn parameters(&self, id: Id) -> impl Iterator<Item = Vec<Id>> {
        let all = self.defined.get(&id).into_iter().flatten();
        all.map(|number| {
            let function = &self.program.functions[*number];
            let kids = function.nodes[0]
                .kids
                .iter()
                .map(|kid| &function.nodes[*kid]);
            kids.filter(|kid| kid.kind == CXCursor_ParmDecl)
                .map(|kid| kid.of)
                .collect()
        })
    }

    /// Finds what pointers to functions may hold.
    fn flow(&mut self) {
        let program = self.program;
        let mut found: Vec<(Id, Vec<Flow>)> = Vec::new();
        for function in &program.functions {
            for (number, node) in function.nodes.iter().enumerate() {
                match node.kind {
                    CXCursor_VarDecl => {
                        // The last part is the initial value, unless it is a part of the type.
                        let value = node.kids.last();
                        if let Some(value) =
                            value.filter(|kid| function.nodes[**kid].kind >= CXCursor_UnexposedExpr)
                        {
                            found.push((node.of, self.values(function, *value)));
                        }
                    }
                    CXCursor_BinaryOperator if node.kids.len() == 2 => {
                        let to = &function.nodes[stripped(function, node.kids[0])];
                        if matches!(to.kind, CXCursor_DeclRefExpr | CXCursor_MemberRefExpr) {
                            found.push((to.of, self.values(function, node.kids[1])));
                        }
                    }
                    CXCursor_UnaryOperator if node.kids.len() == 1 => {
                        let to = &function.nodes[stripped(function, node.kids[0])];
                        let source = &program.sources[node.file];
                        let is_call = matches!(source.piece(node.from, node.from + 1), "*" | "!");
                        let is_entity = to.of != NONE && !program.entity(to.of).is_function;
                        if is_entity && !is_call {
                            found.push((to.of, vec![Flow::Unknown]));
                        }
                    }
                    CXCursor_CallExpr => {
                        let given = arguments(function, number);
                        for parameters in self.parameters(node.of) {
                            for (parameter, given) in parameters.iter().zip(given) {
                                found.push((*parameter, self.values(function, *given)));
                            }
                        }
                    }
                    CXCursor_DeclRefExpr if program.entity(node.of).is_function => {
                        let is_called = function.around(number).find(|outer| {
                            let kind = function.nodes[*outer].kind;
                            !matches!(kind, CXCursor_ParenExpr | CXCursor_UnexposedExpr)
                        });
                        let is_called = is_called.is_some_and(|outer| {
                            let outer = &function.nodes[outer];
                            outer.kind == CXCursor_CallExpr && outer.of == node.of
                        });
                        if !is_called {
                            for parameter in self.parameters(node.of).flatten() {
                                found.push((parameter, vec![Flow::Unknown]));
                            }
                        }
                    }
                    CXCursor_InitListExpr => self.flow_list(function, number, &mut found),
                    CXCursor_UnexposedExpr => {
                        let field = node.kids.iter().rev().map(|kid| &function.nodes[*kid]);
                        let mut field = field.filter(|kid| kid.kind == CXCursor_MemberRef);
                        if let (Some(field), Some(value)) = (field.next(), node.kids.last()) {
                            found.push((field.of, self.values(function, *value)));
                        }
                    }
                    _ => {}
                }
            }
        }
        for (id, flows) in found {
            self.flows.entry(id).or_default().extend(flows);
        }
    }

    /// A list without designators may initialise any field of its structure, and of the structures in it.
    fn flow_list(&self, function: &Function, list: usize, found: &mut Vec<(Id, Vec<Flow>)>) {
        let node = &function.nodes[list];
        let mut fields: Vec<Id> = self
            .program
            .fields
            .get(&node.of)
            .cloned()
            .unwrap_or_default();
        let values: Vec<Flow> = node
            .kids
            .iter()
            .flat_map(|kid| self.values(function, *kid))
            .filter(|flow| *flow != Flow::Unknown)
            .collect();
        if values.is_empty() {
            return;
        }
        let mut seen = HashSet::new();
        while let Some(field) = fields.pop() {
            if seen.insert(field) {
                found.push((field, values.clone()));
                let inner = self.program.structures.get(&field);
                let inner = inner.and_then(|of| self.program.fields.get(of));
                fields.extend(inner.into_iter().flatten());
            }
        }
    }

    /// The functions that an expression may be.
    fn values(&self, function: &Function, node: usize) -> Vec<Flow> {
        let node = stripped(function, node);
        let here = &function.nodes[node];
        match here.kind {
            CXCursor_DeclRefExpr | CXCursor_MemberRefExpr => {
                if self.program.entity(here.of).is_function {
                    vec![Flow::Function(here.of)]
                } else {
                    vec![Flow::From(here.of)]
                }
            }
            CXCursor_UnaryOperator if here.kids.len() == 1 => {
                let inner = self.values(function, here.kids[0]);
                match inner[..] {
                    [Flow::Function(_)] => inner,
                    _ => vec![Flow::Unknown],
                }
            }
            CXCursor_IntegerLiteral => Vec::new(),
            CXCursor_ConditionalOperator if here.kids.len() == 3 => {
                let mut both = self.values(function, here.kids[1]);
                both.extend(self.values(function, here.kids[2]));
                both
            }
            _ => vec![Flow::Unknown],
        }
    }

    /// The functions that a pointer may hold, if all are known: the users of a library, and of what the
    /// system declares, are not here.
    fn targets(&self, pointer: Id) -> Option<Vec<Id>> {
        let functions = &self.program.functions;
        let is_program = functions
            .iter()
            .any(|function| function.is_function && &*function.name == "main");
        let is_own = |id: Id| {
            let place = self.program.entity(id).place;
            place.is_some_and(|place| self.program.sources[place.file].is_own)
        };
        if !is_program || !is_own(pointer) {
            return None;
        }
        let (mut seen, mut waiting) = (HashSet::from([pointer]), vec![pointer]);
        let mut found = Vec::new();
        while let Some(id) = waiting.pop() {
            // Another member of the union may be written.
            let mut declared = self.program.entity(id).declared.iter();
            if declared.any(|one| one.is_in_union) {
                return None;
            }
            for flow in self.flows.get(&id)? {
                match flow {
                    Flow::Unknown => return None,
                    Flow::Function(target) if !found.contains(target) => found.push(*target),
                    Flow::Function(_) => {}
                    Flow::From(other) => {
                        if !is_own(*other) {
                            return None;
                        }
                        if seen.insert(*other) {
                            waiting.push(*other);
                        }
                    }
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Whether a part of a function is bound to its thread, wherever it is.
    pub fn binds(&self, number: usize, node: usize, is_direct: bool) -> Option<String> {
        let function = &self.program.functions[number];
        let here = &function.nodes[node];
        match here.kind {
            CXCursor_DeclRefExpr => {
                let entity = self.program.entity(here.of);
                if entity.is_of_thread {
                    return Some(format!("uses {}, which is thread-local", entity.name));
                }
                let name = here.name.as_ref();
                if ["CLOCK_THREAD_CPUTIME_ID", "RUSAGE_THREAD"].contains(&name) {
                    return Some(format!("depends on its position by {name}"));
                }
                let is_given = entity.is_function && {
                    let outer = function.around(node).find(|outer| {
                        let kind = function.nodes[*outer].kind;
                        !matches!(
                            kind,
                            CXCursor_ParenExpr
                                | CXCursor_UnexposedExpr
                                | CXCursor_CStyleCastExpr
                                | CXCursor_UnaryOperator
                        )
                    });
                    outer.is_some_and(|outer| {
                        let outer = &function.nodes[outer];
                        outer.kind == CXCursor_CallExpr && outer.of != here.of
                    })
                };
                if is_given && self.defined.contains_key(&here.of) {
                    let why = self.forbids(here.of)?;
                    return Some(format!("passes {name}() on, which {why}"));
                }
                None
            }
            CXCursor_CallExpr => self.binds_call(number, node, is_direct),
            CXCursor_AsmStmt | CXCursor_MSAsmStmt => Some("contains assembly".to_owned()),
            CXCursor_IndirectGotoStmt | CXCursor_AddrLabelExpr => {
                Some("computes the address of a label".to_owned())
            }
            _ => None,
        }
    }

    fn binds_call(&self, number: usize, call: usize, is_direct: bool) -> Option<String> {
        let function = &self.program.functions[number];
        let here = &function.nodes[call];
        if let Some((object, one)) = self.objects.calls.get(&(number, call)) {
            let one = &self.objects.all[*object].uses[*one];
            if one.function == "pthread_mutex_lock" || one.function == "pthread_mutex_unlock" {
                if one.is_pair && self.objects.all[*object].is_plain {
                    return None;
                }
                return self.locks(number, call, *object);
            }
        }
        if here.of == NONE || !self.program.entity(here.of).is_function {
            let through = here.kids.first().map(|kid| stripped(function, *kid));
            let mut through = through.map(|kid| &function.nodes[kid]);
            if let Some(node) = through
                && node.kind == CXCursor_UnaryOperator
                && let Some(kid) = node.kids.first()
            {
                through = Some(&function.nodes[stripped(function, *kid)]);
            }
            let pointer = through.filter(|node| node.of != NONE);
            let name = pointer.map_or_else(
                || {
                    function
                        .text(&self.program.sources, call)
                        .split('(')
                        .next()
                        .unwrap_or_default()
                        .to_owned()
                },
                |node| node.name.to_string(),
            );
            let Some(targets) = pointer.and_then(|node| self.targets(node.of)) else {
                return Some(format!("calls through the pointer {name}"));
            };
            return targets.iter().find_map(|target| {
                let why = self.forbids(*target)?;
                let target = &self.program.entity(*target).name;
                Some(format!(
                    "calls {target}() through the pointer {name}, which {why}"
                ))
            });
        }
        if self.is_last(function, call) {
            return None;
        }
        if here.name.starts_with("clock_") {
            let source = &self.program.sources[here.file];
            let mut words = source.tokens_in(here.from..here.to).iter();
            let is_own = words.any(|token| {
                let behind = self.program.macros.behind(token.text(&source.text));
                behind.contains("CLOCK_THREAD_CPUTIME_ID")
            });
            if is_own {
                return Some(format!("calls {}() for its thread's clock", here.name));
            }
        }
        if is_direct && calls::uses_frame(&here.name) {
            return Some(format!("calls {}(), which uses the stack frame", here.name));
        }
        let why = self.forbids(here.of)?;
        Some(format!("calls {}(), which {why}", here.name))
    }

    /// Whether the process ends with a call: `(panic(), __builtin_unreachable())`.
    fn is_last(&self, function: &Function, call: usize) -> bool {
        let mut inner = call;
        for outer in function.around(call) {
            let node = &function.nodes[outer];
            match node.kind {
                CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                    inner = outer
                }
                CXCursor_BinaryOperator if node.kids.len() == 2 && node.kids[0] == inner => {
                    // Behind a comma; a value is not behind one without.
                    return self.is_unreachable(function, node.kids[1]);
                }
                _ => break,
            }
        }
        false
    }

    /// Whether an expression always ends the process.
    fn finishes(&self, function: &Function, node: usize) -> bool {
        let here = &function.nodes[node];
        match here.kind {
            CXCursor_CallExpr => calls::ends(&here.name),
            CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                here.kids.iter().any(|kid| self.finishes(function, *kid))
            }
            CXCursor_BinaryOperator if here.kids.len() == 2 => {
                // Of `a && b`, only the first part is certain.
                let source = &self.program.sources[here.file];
                let (one, other) = (&function.nodes[here.kids[0]], &function.nodes[here.kids[1]]);
                let between = source.piece(one.to, other.from);
                let is_both = !between.contains("&&") && !between.contains("||");
                let is_known = source.expansion(here.from).is_none()
                    || self.is_unreachable(function, here.kids[1]);
                self.finishes(function, here.kids[0])
                    || is_both && is_known && self.finishes(function, here.kids[1])
            }
            _ => false,
        }
    }

    /// Whether this is the compiler's mark of what is never reached: only a comma precedes it.
    fn is_unreachable(&self, function: &Function, node: usize) -> bool {
        let node = &function.nodes[stripped(function, node)];
        node.kind == CXCursor_CallExpr && &*node.name == "__builtin_unreachable"
    }

    /// Why no other thread may call a function, if so.
    fn forbids(&self, id: Id) -> Option<String> {
        if let Some(known) = self.known.borrow().get(&id) {
            return known.clone();
        }
        self.known.borrow_mut().insert(id, None);
        let entity = self.program.entity(id);
        let name = entity.name.as_str();
        let found = if calls::is_allocator(name) {
            None
        } else if let Some(all) = self.defined.get(&id) {
            all.iter().find_map(|number| {
                let function = &self.program.functions[*number];
                let body = function.body()?;
                // What ends the process does not come back to another thread.
                let mut statements = function.nodes[body].kids.iter();
                let returns = || {
                    let mut parts = function.everything(body).into_iter();
                    parts.any(|part| function.nodes[part].kind == CXCursor_ReturnStmt)
                };
                if statements.any(|statement| self.finishes(function, *statement)) && !returns() {
                    return None;
                }
                let mut parts = function.everything(body).into_iter();
                parts.find_map(|node| self.binds(*number, node, false))
            })
        } else if matches!(name, "pthread_mutex_lock" | "pthread_mutex_unlock") {
            Some("locks a mutex that may be recursive".to_owned())
        } else if calls::uses_frame(name) {
            // The frame is that function's own.
            None
        } else if let Some(why) = calls::forbidden(name) {
            Some(why.to_owned())
        } else if calls::harmless(name) {
            None
        } else {
            Some("is in none of these files".to_owned())
        };
        self.known.borrow_mut().insert(id, found.clone());
        found
    }

    /// Whether a call acquires a lock that its executing thread may hold, or only a half of a pair.
    fn locks(&self, number: usize, call: usize, object: usize) -> Option<String> {
        let of = &self.objects.all[object];
        if of.stays.is_some() && !of.is_plain {
            return Some(format!("locks {}, which may be recursive", of.name));
        }
        let is_whole = self.is_ended(number, call);
        (!is_whole).then(|| "locks and unlocks in different blocks".to_owned())
    }

    /// Whether a lock is unlocked in its function, or an unlock belongs to such a lock.
    fn is_ended(&self, number: usize, call: usize) -> bool {
        if let Some(known) = self.ended.borrow().get(&number) {
            return known.contains(&call);
        }
        let mut ended = HashSet::new();
        for object in &self.objects.all {
            for one in object.uses.iter().filter(|one| one.within == number) {
                if one.function == "pthread_mutex_lock"
                    && let Ok(outline) = outline(self.program, self.objects, object, one)
                {
                    ended.insert(one.call);
                    ended.extend(outline.unlocks);
                }
            }
        }
        let is = ended.contains(&call);
        self.ended.borrow_mut().insert(number, ended);
        is
    }
}
