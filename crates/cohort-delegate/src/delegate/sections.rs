//! Critical sections that can be functions, with the variables that they capture and declare for others.

use super::extents::{Outline, outline};
use super::judge::Judge;
use super::lex;
use super::objects::{Reason, Use};
use super::tree::{Function, Id, NONE, Place, Program, Variable};
use clang_sys::*;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// Captured variable.
#[derive(Debug)]
pub struct Taken {
    pub variable: Rc<Variable>,
    pub id: Id,
    /// Whether it is captured by value: it does not change until the critical section has run.
    pub is_copied: bool,
    /// Whether only some readings of the text use it.
    pub is_optional: bool,
}

/// Variable that a critical section declares for use behind it.
#[derive(Debug)]
pub struct Hoisted {
    pub name: String,
    pub variable: Rc<Variable>,
    pub id: Id,
    /// Where it is used: the numbers of exits; none for behind the end.
    pub used: HashSet<Option<usize>>,
}

/// Critical section that can be outlined.
#[derive(Debug)]
pub struct Section {
    pub outline: Outline,
    pub object: usize,
    pub locks: Use,
    pub taken: BTreeMap<String, Taken>,
    pub hoisted: Vec<Hoisted>,
    /// Offsets of names of variables passed by address.
    pub edited: BTreeMap<usize, String>,
}

impl Section {
    /// Adds what another reading of the same text needs; false if it is another critical section.
    pub fn join(&mut self, other: Self) -> bool {
        let exits = |one: &Self| -> Vec<_> {
            let exits = one.outline.exits.iter();
            exits
                .map(|exit| (exit.whole.clone(), exit.rest.clone()))
                .collect()
        };
        let hoisted = |one: &Self| -> BTreeMap<Id, Vec<Option<usize>>> {
            let all = one.hoisted.iter();
            all.map(|one| {
                let mut used: Vec<_> = one.used.iter().copied().collect();
                used.sort_unstable();
                (one.id, used)
            })
            .collect()
        };
        let (one, two) = (&self.outline, &other.outline);
        let is_same = (&one.whole, &one.body, one.is_closed)
            == (&two.whole, &two.body, two.is_closed)
            && self.object == other.object
            && exits(self) == exits(&other)
            && hoisted(self) == hoisted(&other);
        if !is_same {
            return false;
        }
        for (name, own) in &mut self.taken {
            own.is_optional |= !other.taken.contains_key(name);
        }
        for (name, theirs) in other.taken {
            match self.taken.get_mut(&name) {
                Some(own) => {
                    let is_same = (own.id, own.is_copied) == (theirs.id, theirs.is_copied);
                    if !is_same || own.variable != theirs.variable {
                        return false;
                    }
                }
                None => {
                    let optional = Taken {
                        is_optional: true,
                        ..theirs
                    };
                    self.taken.insert(name, optional);
                }
            }
        }
        for (at, name) in other.edited {
            self.edited.insert(at, name);
        }
        true
    }
}

/// The critical section that begins there.
///
/// # Errors
/// The reason why it cannot be outlined.
pub fn section(judge: &Judge<'_>, place: usize, locks: &Use) -> Result<Section, Reason> {
    let (program, objects) = (judge.program, judge.objects);
    let function = &program.functions[locks.within];
    let object = &objects.all[place];
    let outline = outline(program, objects, object, locks)?;
    let source = &program.sources[outline.file];
    let because = |node: usize, why: String| Err(Reason::new(function.nodes[node].place(), why));
    if function.is_old {
        return because(
            0,
            "is in a function with old-style parameter declarations".to_owned(),
        );
    }
    let is_empty = outline
        .nodes
        .iter()
        .all(|at| function.nodes[*at].kind == CXCursor_NullStmt);
    if is_empty {
        return because(outline.first, "is empty".to_owned());
    }
    let here = function.everything(locks.node);
    for at in &here {
        let node = &function.nodes[*at];
        let text = source.piece(node.from, node.to);
        let is_call = node.kind == CXCursor_CallExpr && locks.via.is_none_or(|_| *at != locks.call);
        let is_change = node.kind == CXCursor_CompoundAssignOperator
            || node.kind == CXCursor_UnaryOperator && (text.contains("++") || text.contains("--"))
            || node.kind == CXCursor_BinaryOperator && is_assignment(program, function, *at);
        if is_call || is_change {
            return because(*at, "computes the address of its mutex".to_owned());
        }
    }
    let text = source.tokens_in(outline.body.clone());
    let body = |token: &&lex::Token| {
        !outline
            .exits
            .iter()
            .any(|exit| exit.whole.contains(&token.from))
    };
    for token in text.iter().filter(body) {
        let word = token.text(&source.text);
        if token.kind == lex::Kind::Directive {
            let name = lex::directive_words(word)
                .first()
                .copied()
                .unwrap_or_default();
            if !["if", "ifdef", "ifndef", "else", "elif", "endif"].contains(&name) {
                let place = Place {
                    file: outline.file,
                    at: token.from,
                };
                return Err(Reason::new(place, format!("contains a `#{name}`")));
            }
        }
        if token.kind == lex::Kind::Word {
            const OF_PLACE: [&str; 3] = ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"];
            let behind = program.macros.behind(word);
            if behind.contains("cleanup") || behind.contains("__cleanup__") {
                let place = Place {
                    file: outline.file,
                    at: token.from,
                };
                return Err(Reason::new(place, "declares a variable with a cleanup"));
            }
            if let Some(of) = OF_PLACE.iter().find(|of| behind.contains(**of)) {
                let place = Place {
                    file: outline.file,
                    at: token.from,
                };
                let why = format!("depends on its function's name by {of}");
                return Err(Reason::new(place, why));
            }
        }
    }
    changed_macros(program, function, &outline)?;
    for at in &outline.nodes {
        if let Some(why) = judge.binds(locks.within, *at, true) {
            return because(*at, why);
        }
        // A lock inside is unlocked inside.
        if let Some((other, one)) = objects.calls.get(&(locks.within, *at)) {
            let of = &objects.all[*other];
            let one = &of.uses[*one];
            if one.is_pair {
                continue;
            }
            if one.function == "pthread_mutex_lock" {
                let inner = self::outline(program, objects, of, one)?;
                let inside: HashSet<usize> = outline.nodes.iter().copied().collect();
                if !inner.unlocks.iter().all(|unlock| inside.contains(unlock)) {
                    return because(
                        *at,
                        "is not properly nested with another critical section".to_owned(),
                    );
                }
            } else if one.function == "pthread_mutex_unlock" {
                let is_inside = |lock: &&Use| {
                    let inner = self::outline(program, objects, of, lock);
                    outline.nodes.contains(&lock.call)
                        && inner.is_ok_and(|inner| inner.unlocks.contains(at))
                };
                let mut all = of.uses.iter().filter(|other| {
                    other.within == locks.within && other.function == "pthread_mutex_lock"
                });
                if !all.any(|lock| is_inside(&lock)) {
                    return because(
                        *at,
                        "is not properly nested with another critical section".to_owned(),
                    );
                }
            }
        }
    }
    let mut made = Section {
        outline,
        object: place,
        locks: locks.clone(),
        taken: BTreeMap::new(),
        hoisted: Vec::new(),
        edited: BTreeMap::new(),
    };
    take(judge, &mut made)?;
    hoist(judge, &mut made)?;
    Ok(made)
}

/// Macros that a function changes before a critical section: the outlined function stands above.
fn changed_macros(program: &Program, function: &Function, outline: &Outline) -> Result<(), Reason> {
    let source = &program.sources[outline.file];
    let before = source.tokens_in(function.place.at..outline.whole.start);
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    for token in before
        .iter()
        .filter(|token| token.kind == lex::Kind::Directive)
    {
        let words = lex::directive_words(token.text(&source.text));
        match words[..] {
            ["include" | "include_next" | "import", ..] => {
                let why = format!(
                    "follows an `#include` in its function, in line {}",
                    source.line(token.from)
                );
                let place = Place {
                    file: outline.file,
                    at: outline.whole.start,
                };
                return Err(Reason::new(place, why));
            }
            ["define" | "undef", name, ..] => {
                changed.insert(name, token.from);
            }
            _ => {}
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    for token in source.tokens_in(outline.body.clone()) {
        let used = token.text(&source.text);
        let behind = program.macros.behind(used);
        if token.kind == lex::Kind::Word
            && let Some((name, at)) = changed.iter().find(|(name, _)| behind.contains(**name))
        {
            let by = if *name == used {
                String::new()
            } else {
                format!(" (by {name})")
            };
            let why = format!(
                "uses the macro {used}{by}, redefined in its function in line {}",
                source.line(*at)
            );
            let place = Place {
                file: outline.file,
                at: token.from,
            };
            return Err(Reason::new(place, why));
        }
    }
    Ok(())
}

/// Whether a binary operator assigns; of constants in macros, it may.
fn is_assignment(program: &Program, function: &Function, at: usize) -> bool {
    let node = &function.nodes[at];
    let [mut left, right] = node.kids[..] else {
        return true;
    };
    let source = &program.sources[node.file];
    let from = function.nodes[left].to;
    while function.nodes[left].kind == CXCursor_ParenExpr
        && let Some(inner) = function.nodes[left].kids.first()
    {
        left = *inner;
    }
    // Elsewhere the value is read, by a node of its own.
    let is_place = matches!(
        function.nodes[left].kind,
        CXCursor_DeclRefExpr
            | CXCursor_MemberRefExpr
            | CXCursor_ArraySubscriptExpr
            | CXCursor_UnaryOperator
            | CXCursor_CompoundLiteralExpr
    );
    if !is_place || source.expansion_around(node.from).is_some() {
        return is_place;
    }
    let between = source.tokens_in(from..function.nodes[right].from).iter();
    let mut between = between.filter(|token| token.text(&source.text) != ")");
    between.next().is_none_or(|token| {
        let is_macro = token.kind == lex::Kind::Word;
        is_macro || token.text(&source.text) == "="
    })
}

/// How an expression uses a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
    TakesAddress,
}

fn access(program: &Program, function: &Function, node: usize) -> Access {
    let mut inner = node;
    for outer in function.around(node) {
        let here = &function.nodes[outer];
        let is_first = here.kids.first() == Some(&inner);
        match here.kind {
            CXCursor_ParenExpr | CXCursor_UnexposedExpr => inner = outer,
            CXCursor_CompoundAssignOperator if is_first => return Access::Writes,
            CXCursor_BinaryOperator if is_first && is_assignment(program, function, outer) => {
                return Access::Writes;
            }
            CXCursor_UnaryOperator => {
                let source = &program.sources[here.file];
                let text = source.piece(here.from, here.to);
                let is_known = source.expansion(here.from).is_none();
                return match text.as_bytes() {
                    [b'&', ..] => Access::TakesAddress,
                    [b'+', b'+', ..] | [b'-', b'-', ..] => Access::Writes,
                    [.., b'+', b'+'] | [.., b'-', b'-'] => Access::Writes,
                    [b'*' | b'!' | b'-' | b'~' | b'+', ..] if is_known => Access::Reads,
                    _ => Access::TakesAddress,
                };
            }
            _ => return Access::Reads,
        }
    }
    Access::Reads
}

/// The macro around a name that makes text or other names of its arguments, if any does.
fn made_text(program: &Program, file: usize, at: usize) -> Option<&str> {
    let source = &program.sources[file];
    let around = source.expansion_around(at)?;
    let mut words = source.tokens_in(around.start..at).iter();
    words.find_map(|token| {
        let word = token.text(&source.text);
        let behind = program.macros.behind(word);
        behind
            .iter()
            .any(|one| one.starts_with('#'))
            .then_some(word)
    })
}

/// Finds the captured variables, and whether they can be passed.
fn take(judge: &Judge<'_>, section: &mut Section) -> Result<(), Reason> {
    let program = judge.program;
    let function = &program.functions[section.outline.function];
    let outline = &section.outline;
    let source = &program.sources[outline.file];
    let because = |node: usize, why: String| Err(Reason::new(function.nodes[node].place(), why));
    let is_of_function = |place: Place| {
        place.file == function.place.file && (function.place.at..function.to).contains(&place.at)
    };
    let is_inside = |place: Place| place.file == outline.file && outline.body.contains(&place.at);
    let variable = |id: Id| {
        let mut nodes = function.nodes.iter();
        nodes
            .find(|node| node.of == id && node.variable.is_some())
            .and_then(|node| node.variable.clone())
    };
    for at in &outline.nodes {
        let node = &function.nodes[*at];
        if !matches!(node.kind, CXCursor_DeclRefExpr | CXCursor_TypeRef) {
            continue;
        }
        let entity = program.entity(node.of);
        if node.of == function.id {
            return because(*at, format!("names its own function, {}", node.name));
        }
        let variable = variable(node.of);
        let Some(place) = entity.place else { continue };
        // A declaration inside of an outer name is found by its own node.
        let is_local = is_of_function(place) || variable.as_ref().is_some_and(|one| one.is_extern);
        if !is_local || is_inside(place) {
            continue;
        }
        let name = node.name.to_string();
        let Some(variable) = variable else {
            let what = if node.kind == CXCursor_TypeRef {
                "a local type of its function"
            } else {
                "declared in its function"
            };
            return because(*at, format!("uses {name}, {what}"));
        };
        if let Some(odd) = variable.shape.odd() {
            return because(*at, format!("uses {name}, {odd}"));
        }
        if name == "cohort_exit" {
            return because(*at, format!("uses {name}, a name of the function's own"));
        }
        if variable.is_register {
            return because(*at, format!("uses {name}, a register variable"));
        }
        if !section.taken.contains_key(&name) {
            let uses = function.nodes.iter().enumerate();
            let mut uses =
                uses.filter(|(_, one)| one.kind == CXCursor_DeclRefExpr && one.of == node.of);
            let is_steady = uses.all(|(number, one)| {
                let how = access(program, function, number);
                let is_here = outline.body.contains(&one.from);
                how == Access::Reads || how == Access::Writes && !is_here
            });
            let is_copied =
                variable.is_scalar && is_steady && !variable.is_static && !variable.is_extern;
            section.taken.insert(
                name.clone(),
                Taken {
                    variable,
                    id: node.of,
                    is_copied,
                    is_optional: false,
                },
            );
        }
        let taken = &section.taken[&name];
        if taken.id != node.of {
            return because(*at, format!("uses two variables with the name {name}"));
        }
        if !taken.is_copied {
            if source.piece(node.from, node.from + name.len()) != name || node.file != outline.file
            {
                let word = source.expansion(node.from).map_or("", |(_, word)| word);
                return because(*at, format!("uses the macro {word}, which names {name}"));
            }
            if let Some(word) = made_text(program, outline.file, node.from) {
                let why = format!("passes {name} to the macro {word}, which uses it as text");
                return because(*at, why);
            }
            section.edited.insert(node.from, name);
        }
    }
    // A macro's text is written anew, as it stands.
    for at in &outline.nodes {
        let Some((other, one)) = judge.objects.calls.get(&(section.outline.function, *at)) else {
            continue;
        };
        let one = &judge.objects.all[*other].uses[*one];
        let inside = section.edited.range(one.from..one.to).next();
        if let Some((_, name)) = inside.filter(|_| one.is_in_macro) {
            return because(*at, format!("passes {name} to a macro that locks"));
        }
    }
    for at in function.everything(section.locks.node) {
        let node = &function.nodes[at];
        if node.kind != CXCursor_DeclRefExpr {
            continue;
        }
        for inner in &outline.nodes {
            let other = &function.nodes[*inner];
            let is_changed = other.kind == CXCursor_DeclRefExpr
                && other.of == node.of
                && access(program, function, *inner) != Access::Reads;
            if is_changed {
                let why = format!("changes {}, part of the mutex expression", node.name);
                return because(*inner, why);
            }
        }
    }
    Ok(())
}

/// Finds the variables that the critical section declares for use behind it.
fn hoist(judge: &Judge<'_>, section: &mut Section) -> Result<(), Reason> {
    let program = judge.program;
    let function = &program.functions[section.outline.function];
    let outline = &section.outline;
    let exits = outline.exits.iter().enumerate().map(|(number, exit)| {
        let nodes = exit.nodes.clone();
        (Some(number), nodes)
    });
    let behind: Vec<(Option<usize>, Vec<usize>)> =
        exits.chain([(None, outline.after.clone())]).collect();
    let declared: BTreeMap<Id, usize> = outline
        .nodes
        .iter()
        .filter(|at| function.nodes[**at].kind == CXCursor_VarDecl)
        .map(|at| (function.nodes[*at].of, *at))
        .collect();
    let source = &program.sources[outline.file];
    if let Some(reason) = outlived(judge, section) {
        return Err(reason);
    }
    for (place, nodes) in behind {
        for at in nodes.iter().flat_map(|at| function.everything(*at)) {
            let node = &function.nodes[at];
            if !matches!(node.kind, CXCursor_DeclRefExpr | CXCursor_TypeRef) {
                continue;
            }
            let entity_place = program.entity(node.of).place;
            let is_inner = entity_place.is_some_and(|place| {
                place.file == outline.file && outline.body.contains(&place.at)
            });
            if !is_inner {
                continue;
            }
            let here = node.place();
            let Some(declaration) = declared.get(&node.of) else {
                // Declared by an exit itself.
                if node.kind == CXCursor_DeclRefExpr
                    && entity_place.is_some_and(|place| {
                        outline
                            .exits
                            .iter()
                            .any(|exit| exit.rest.contains(&place.at))
                    })
                {
                    continue;
                }
                let why = format!("declares {} for use after the critical section", node.name);
                return Err(Reason::new(here, why));
            };
            let Some(variable) = function.nodes[*declaration].variable.clone() else {
                continue;
            };
            let line = source.line(function.nodes[*declaration].from);
            let mut uses = function.nodes.iter().enumerate();
            let escapes = uses.any(|(number, one)| {
                one.kind == CXCursor_DeclRefExpr
                    && one.of == node.of
                    && access(program, function, number) == Access::TakesAddress
            });
            let is_odd = variable.shape.odd().is_some();
            if variable.is_array || variable.is_static || variable.is_fixed || escapes || is_odd {
                let why = format!(
                    "declares {} in line {line} for use after the critical section",
                    node.name
                );
                return Err(Reason::new(here, why));
            }
            let known = section.hoisted.iter_mut().find(|one| one.id == node.of);
            if let Some(known) = known {
                known.used.insert(place);
                continue;
            }
            let name = node.name.to_string();
            if section.taken.contains_key(&name)
                || section.hoisted.iter().any(|one| one.name == name)
            {
                let why = format!("uses two variables with the name {name}");
                return Err(Reason::new(here, why));
            }
            section.hoisted.push(Hoisted {
                name,
                variable,
                id: node.of,
                used: HashSet::from([place]),
            });
        }
    }
    // A copy that an exit changes would not be that behind the end.
    for one in &section.hoisted {
        let is_both = one.used.contains(&None)
            && one
                .used
                .iter()
                .flatten()
                .any(|exit| outline.exits[*exit].falls);
        let labels = outline.after.iter().flat_map(|at| function.everything(*at));
        let labels: HashSet<Id> = labels
            .filter(|at| function.nodes[*at].kind == CXCursor_LabelStmt)
            .map(|at| function.nodes[at].of)
            .collect();
        // An exit that jumps to behind the end jumps over the copy there.
        let mut jumps = outline.exits.iter().flat_map(|exit| &exit.nodes);
        let jumps_over = one.used.contains(&None)
            && jumps.any(|at| {
                function.everything(*at).into_iter().any(|at| {
                    let node = &function.nodes[at];
                    let to = node
                        .kids
                        .first()
                        .map_or(NONE, |kid| function.nodes[*kid].of);
                    node.kind == CXCursor_GotoStmt && labels.contains(&to)
                })
            });
        if is_both || jumps_over {
            let node = &function.nodes[outline.first];
            let here = node.place();
            let why = format!("declares {} for use at an exit and behind it", one.name);
            return Err(Reason::new(here, why));
        }
    }
    // In their order, since a name may hide a type.
    section
        .hoisted
        .sort_by_key(|one| program.entity(one.id).place);
    Ok(())
}

/// Whether the address of an object named there may be kept, or be a part of a longer life.
fn exposes(program: &Program, function: &Function, object: usize) -> bool {
    let (mut inner, mut is_address) = (object, false);
    for outer in function.around(object) {
        let (here, own) = (&function.nodes[outer], &function.nodes[inner]);
        let is_first = here.kids.first() == Some(&inner);
        match here.kind {
            CXCursor_ParenExpr => {}
            CXCursor_UnexposedExpr if is_address && here.kids.len() == 1 => {}
            // An array becomes an address; of all else, the value is read.
            CXCursor_UnexposedExpr if own.is_array && here.is_pointer => is_address = true,
            CXCursor_UnexposedExpr => return is_address || own.is_array,
            CXCursor_MemberRefExpr => is_address = false,
            CXCursor_ArraySubscriptExpr if is_address => is_address = false,
            CXCursor_UnaryOperator => {
                let source = &program.sources[here.file];
                let sign = source.piece(here.from, here.from + 1);
                let is_known = source.expansion_around(here.from).is_none();
                if is_address {
                    if sign == "!" {
                        return false;
                    }
                    is_address = false;
                } else if sign == "&" || !is_known && here.is_pointer {
                    is_address = true;
                } else {
                    return false;
                }
            }
            CXCursor_CStyleCastExpr if is_address => {}
            CXCursor_CallExpr if is_address => {
                if super::calls::keeps(&here.name) || !super::calls::harmless(&here.name) {
                    return true;
                }
                if !here.is_pointer {
                    return false;
                }
            }
            // `p + 1`; all else with an address on its left gives a number.
            CXCursor_BinaryOperator if is_address && is_first => {
                if !here.is_pointer {
                    return false;
                }
            }
            CXCursor_UnaryExpr
            | CXCursor_CompoundStmt
            | CXCursor_IfStmt
            | CXCursor_WhileStmt
            | CXCursor_DoStmt
            | CXCursor_ForStmt
            | CXCursor_LabelStmt
            | CXCursor_CaseStmt
            | CXCursor_DefaultStmt => return false,
            _ => return is_address || own.is_array,
        }
        inner = outer;
    }
    false
}

/// A variable at the level of the critical section that may be used behind it by its address: it would
/// not live so long in another function.
fn outlived(judge: &Judge<'_>, section: &Section) -> Option<Reason> {
    let program = judge.program;
    let function = &program.functions[section.outline.function];
    let outline = &section.outline;
    let rests = outline.exits.iter().flat_map(|exit| &exit.nodes);
    let behind = outline.after.iter().chain(rests);
    let mut behind = behind.flat_map(|at| function.everything(*at));
    let uses_memory = behind.any(|at| {
        matches!(
            function.nodes[at].kind,
            CXCursor_CallExpr
                | CXCursor_UnaryOperator
                | CXCursor_MemberRefExpr
                | CXCursor_ArraySubscriptExpr
        )
    });
    if !uses_memory {
        return None;
    }
    let block = function
        .around(outline.first)
        .find(|outer| function.nodes[*outer].kind == CXCursor_CompoundStmt)?;
    // An exit sees the variables of all blocks around it.
    let exits = outline.exits.iter().filter_map(|exit| exit.nodes.first());
    let mut blocks: HashSet<usize> = exits.flat_map(|exit| function.around(*exit)).collect();
    blocks.insert(block);
    for at in &outline.nodes {
        let node = &function.nodes[*at];
        let place = node.place();
        let is_literal =
            node.kind == CXCursor_CompoundLiteralExpr && exposes(program, function, *at);
        if is_literal {
            return Some(Reason::new(
                place,
                "takes the address of a compound literal",
            ));
        }
        let outer = function.nodes[node.parent].parent;
        let Some(variable) = node.variable.as_ref().filter(|_| blocks.contains(&outer)) else {
            continue;
        };
        if variable.is_static || variable.is_extern {
            continue;
        }
        let mut uses = function.nodes.iter().enumerate();
        let escapes = uses.any(|(number, one)| {
            one.kind == CXCursor_DeclRefExpr
                && one.of == node.of
                && exposes(program, function, number)
        });
        if escapes {
            let why = format!(
                "declares {} with an address that may be used after the critical section",
                node.name
            );
            return Some(Reason::new(place, why));
        }
    }
    None
}
