//! Extents of critical sections: from a lock to its unlocks, with their exits.

use super::lex;
use super::macros;
use super::objects::{Object, Objects, Reason, Use};
use super::tree::{Function, NONE, Program};
use clang_sys::*;
use std::collections::HashSet;
use std::ops::Range;

/// Unlock in the middle of a critical section, with the statements behind it, which leave.
#[derive(Clone, Debug)]
pub struct Exit {
    /// From the unlock to the end of the statements.
    pub whole: Range<usize>,
    /// The statements behind the unlock.
    pub rest: Range<usize>,
    pub nodes: Vec<usize>,
    /// Whether what follows the critical section follows it too.
    pub falls: bool,
}

/// Extent of a critical section.
#[derive(Debug)]
pub struct Outline {
    pub function: usize,
    pub file: usize,
    /// The lock's statement.
    pub first: usize,
    /// The text that the call of the outlined function replaces.
    pub whole: Range<usize>,
    /// The text of the outlined function.
    pub body: Range<usize>,
    pub exits: Vec<Exit>,
    /// Whether the critical section is left by its exits only.
    pub is_closed: bool,
    /// Its parts, without exits and unlocks.
    pub nodes: Vec<usize>,
    /// The calls of its unlocks.
    pub unlocks: Vec<usize>,
    /// The part of the block behind it.
    pub after: Vec<usize>,
}

/// The end of a statement, with its semicolon.
pub fn end(program: &Program, function: &Function, statement: usize) -> usize {
    let node = &function.nodes[statement];
    let source = &program.sources[node.file];
    let next = source.tokens_in(node.to..source.text.len()).first();
    next.filter(|next| next.text(&source.text) == ";")
        .map_or(node.to, |next| next.to)
}

/// The statement behind its labels, and whether one is a `case`.
fn unlabelled(function: &Function, mut statement: usize) -> (usize, Vec<usize>, bool) {
    let (mut labels, mut is_case) = (Vec::new(), false);
    loop {
        let node = &function.nodes[statement];
        match node.kind {
            CXCursor_LabelStmt => labels.push(statement),
            CXCursor_CaseStmt | CXCursor_DefaultStmt => is_case = true,
            _ => return (statement, labels, is_case),
        }
        match node.kids.last() {
            Some(inner) => statement = *inner,
            None => return (statement, labels, is_case),
        }
    }
}

/// The statement around a call in a block, below labels, if the call is all that it does.
fn statement(
    program: &Program,
    objects: &Objects,
    function: &Function,
    one: &Use,
) -> Result<(usize, usize), &'static str> {
    let mut at = one.call;
    let block = loop {
        let parent = function.nodes[at].parent;
        if parent == at {
            return Err("does not begin as a statement of a block");
        }
        let is_of_macro = {
            // A block that a macro opens.
            let node = &function.nodes[parent];
            one.is_in_macro && node.from == one.from && node.to <= one.to
        };
        match function.nodes[parent].kind {
            CXCursor_CompoundStmt if !is_of_macro => break parent,
            CXCursor_LabelStmt | CXCursor_CaseStmt | CXCursor_DefaultStmt => {
                let is_statement = function.nodes[parent].kids.last() == Some(&at);
                if !is_statement {
                    return Err("does not begin as a statement of a block");
                }
                let outer = function
                    .around(at)
                    .find(|outer| function.nodes[*outer].kind == CXCursor_CompoundStmt);
                match outer {
                    Some(outer) => break outer,
                    None => return Err("does not begin as a statement of a block"),
                }
            }
            _ => at = parent,
        }
    };
    let node = &function.nodes[at];
    let source = &program.sources[node.file];
    if one.via.is_some() {
        return if at == one.call {
            Ok((at, block))
        } else {
            Err("does not begin as a statement of a block")
        };
    }
    let calls = |word: &str| objects.is_locking(word);
    let text = source.piece(node.from, end(program, function, at));
    let words = program.macros.expanded(text, &calls);
    match words.and_then(|words| macros::locking(&words, &calls)) {
        Some(_) => Ok((at, block)),
        None => {
            let is_one = matches!(
                node.kind,
                CXCursor_IfStmt
                    | CXCursor_WhileStmt
                    | CXCursor_ForStmt
                    | CXCursor_DoStmt
                    | CXCursor_SwitchStmt
            );
            let is_condition = is_one
                && node
                    .kids
                    .last()
                    .is_some_and(|last| function.is_within(one.call, *last));
            Err(if is_condition {
                "does not begin as a statement of a block"
            } else {
                "uses the result of its lock call"
            })
        }
    }
}

/// Whether a statement never reaches the next one.
fn jumps(function: &Function, statement: usize) -> bool {
    let node = &function.nodes[statement];
    match node.kind {
        CXCursor_ReturnStmt | CXCursor_GotoStmt | CXCursor_BreakStmt | CXCursor_ContinueStmt => {
            true
        }
        CXCursor_CallExpr => matches!(&*node.name, "exit" | "_exit" | "abort"),
        _ => false,
    }
}

/// Finds an outline.
struct Finder<'a> {
    program: &'a Program,
    objects: &'a Objects,
    function: &'a Function,
    number: usize,
    object: &'a Object,
    locks: &'a Use,
}

impl Finder<'_> {
    fn because<T>(&self, node: usize, why: impl Into<String>) -> Result<T, Reason> {
        Err(Reason::new(self.function.nodes[node].place(), why))
    }

    /// Whether a statement unlocks the same mutex, and the call.
    fn unlocks(&self, at: usize) -> Option<usize> {
        let all = self.object.uses.iter().filter(|one| {
            one.within == self.number
                && one.function == "pthread_mutex_unlock"
                && one.argument == self.locks.argument
        });
        let mut found = all.filter(|one| self.function.is_within(one.call, at));
        let one = found.next()?;
        let (found, _) = statement(self.program, self.objects, self.function, one).ok()?;
        (found == at).then_some(one.call)
    }

    /// Whether a statement unlocks on all its ways, as its last part that needs the lock.
    fn closes(&self, at: usize, tails: &mut Vec<usize>) -> bool {
        let node = &self.function.nodes[at];
        match node.kind {
            CXCursor_CompoundStmt => {
                let closes = node.kids.iter().any(|kid| {
                    let (inner, labels, is_case) = unlabelled(self.function, *kid);
                    labels.is_empty() && !is_case && self.unlocks(inner).is_some()
                });
                let last = node.kids.last().copied();
                if closes {
                    tails.push(at);
                    true
                } else {
                    last.is_some_and(|last| self.closes(last, tails))
                }
            }
            CXCursor_IfStmt if node.kids.len() == 3 => {
                self.closes(node.kids[1], tails) && self.closes(node.kids[2], tails)
            }
            _ => false,
        }
    }

    fn find(&self) -> Result<Outline, Reason> {
        let (function, program) = (self.function, self.program);
        let (first, block) = match statement(program, self.objects, function, self.locks) {
            Ok(found) => found,
            Err(why) => return self.because(self.locks.call, why),
        };
        let items = &function.nodes[block].kids;
        let Some(place) = items
            .iter()
            .position(|item| function.is_within(first, *item))
        else {
            return self.because(first, "does not begin as a statement of a block");
        };
        let (file, from) = (function.nodes[first].file, function.nodes[first].from);
        let start = end(program, function, first);
        let mut body = Vec::new();
        let (mut tails, mut finish) = (Vec::new(), None);
        let mut last_labels = Vec::new();
        for (number, item) in items.iter().enumerate().skip(place + 1) {
            let (inner, labels, is_case) = unlabelled(function, *item);
            if is_case {
                break;
            }
            if let Some(call) = self.unlocks(inner) {
                last_labels = labels;
                finish = Some((number, inner, Some(call)));
                break;
            }
            body.push(*item);
            if self.closes(inner, &mut tails) {
                finish = Some((number, inner, None));
                break;
            }
            tails.clear();
        }
        let Some((number, last, unlock)) = finish else {
            return self.unfinished(&items[place + 1..]);
        };
        let after = items[number + 1..].to_vec();
        let stop = end(program, function, last);
        let node = &function.nodes[last];
        let body_to = if unlock.is_some() { node.from } else { stop };
        if node.file != file || body_to < start {
            return self.because(first, "spans files or macros");
        }
        let mut outline = Outline {
            function: self.number,
            file,
            first,
            whole: from..stop,
            body: start..body_to,
            exits: Vec::new(),
            is_closed: unlock.is_none(),
            nodes: Vec::new(),
            unlocks: unlock.into_iter().collect(),
            after,
        };
        let mut waiting: Vec<usize> = body.iter().rev().copied().collect();
        let mut gone = HashSet::new();
        while let Some(at) = waiting.pop() {
            if gone.contains(&at) {
                continue;
            }
            if let Some(call) = self.unlocks(at) {
                outline.unlocks.push(call);
                let exit = self.exit(at, &tails, &mut gone)?;
                outline.exits.push(exit);
                continue;
            }
            outline.nodes.push(at);
            waiting.extend(function.nodes[at].kids.iter().rev());
        }
        outline.exits.sort_by_key(|exit| exit.whole.start);
        self.check(&outline, &last_labels)?;
        Ok(outline)
    }

    /// Why no end is found in the block.
    fn unfinished(&self, items: &[usize]) -> Result<Outline, Reason> {
        let function = self.function;
        let inner = items.iter().flat_map(|item| function.everything(*item));
        for at in inner {
            if let Some((object, one)) = self.objects.calls.get(&(self.number, at)) {
                let one = &self.objects.all[*object].uses[*one];
                let is_own = self.objects.all[*object].id == self.object.id;
                if is_own && one.function.contains("wait") {
                    return self.because(at, "waits for a condition");
                }
            }
        }
        self.because(self.locks.call, "ends in another block than it begins")
    }

    /// The exit that an unlock in the middle begins.
    fn exit(&self, at: usize, tails: &[usize], gone: &mut HashSet<usize>) -> Result<Exit, Reason> {
        let (function, program) = (self.function, self.program);
        let outer = function.around(at).find(|outer| {
            let kind = function.nodes[*outer].kind;
            !matches!(
                kind,
                CXCursor_CaseStmt | CXCursor_DefaultStmt | CXCursor_LabelStmt
            )
        });
        let block = outer.filter(|outer| function.nodes[*outer].kind == CXCursor_CompoundStmt);
        let Some(block) = block else {
            return self.because(at, "is left in more than one place");
        };
        let items = &function.nodes[block].kids;
        let place = items
            .iter()
            .position(|item| function.is_within(at, *item))
            .unwrap_or(0);
        let mut nodes = Vec::new();
        let mut is_left = false;
        for item in &items[place + 1..] {
            let (inner, labels, is_case) = unlabelled(function, *item);
            if is_case || !labels.is_empty() {
                break;
            }
            nodes.push(*item);
            if jumps(function, inner) {
                is_left = true;
                break;
            }
        }
        let is_tail = tails.contains(&block) && nodes.len() == items.len() - place - 1;
        if !is_left && !is_tail {
            let behind = items[place + 1..].iter();
            let mut behind = behind.flat_map(|item| function.everything(*item));
            let is_again = behind.any(|node| {
                let one = self.objects.calls.get(&(self.number, node));
                one.is_some_and(|(object, one)| {
                    let object = &self.objects.all[*object];
                    object.id == self.object.id
                        && object.uses[*one].function == "pthread_mutex_lock"
                })
            });
            let why = if is_again {
                "is unlocked and locked again"
            } else {
                "is unlocked in a branch that goes on"
            };
            return self.because(at, why);
        }
        let from = function.nodes[at].from;
        let rest_from = end(program, function, at);
        let to = match nodes.last() {
            Some(last) => end(program, function, *last),
            None => rest_from,
        };
        for node in nodes.iter().flat_map(|node| function.everything(*node)) {
            gone.insert(node);
            let is_lock = self.objects.calls.get(&(self.number, node));
            if is_lock.is_some_and(|(object, _)| self.objects.all[*object].id == self.object.id) {
                return self.because(node, "is unlocked and locked again");
            }
        }
        Ok(Exit {
            whole: from..to,
            rest: rest_from..to,
            nodes,
            falls: !is_left,
        })
    }

    /// Whether jumps and other uses of the mutex stay inside.
    fn check(&self, outline: &Outline, last_labels: &[usize]) -> Result<(), Reason> {
        let (function, source) = (self.function, &self.program.sources[outline.file]);
        let inside: HashSet<usize> = outline.nodes.iter().copied().collect();
        for at in &outline.nodes {
            let node = &function.nodes[*at];
            if let Some((object, one)) = self.objects.calls.get(&(self.number, *at))
                && self.objects.all[*object].id == self.object.id
            {
                let one = &self.objects.all[*object].uses[*one];
                let is_same = one.argument == self.locks.argument;
                match &*one.function {
                    "pthread_mutex_lock" if is_same => {
                        return self.because(*at, "is locked again");
                    }
                    "pthread_mutex_unlock" if is_same => {
                        return self.because(*at, "is left in more than one place");
                    }
                    function if function.contains("wait") => {
                        return self.because(*at, "waits for a condition");
                    }
                    _ => {}
                }
            }
            let loops = |kinds: &[i32]| {
                let mut outer = function
                    .around(*at)
                    .take_while(|outer| inside.contains(outer));
                outer.any(|outer| kinds.contains(&function.nodes[outer].kind))
            };
            const LOOPS: [i32; 3] = [CXCursor_ForStmt, CXCursor_WhileStmt, CXCursor_DoStmt];
            let why = match node.kind {
                CXCursor_ReturnStmt => "is left by `return`",
                CXCursor_BreakStmt if !loops(&LOOPS) && !loops(&[CXCursor_SwitchStmt]) => {
                    "is left by `break`"
                }
                CXCursor_ContinueStmt if !loops(&LOOPS) => "is left by `continue`",
                CXCursor_CaseStmt | CXCursor_DefaultStmt if !loops(&[CXCursor_SwitchStmt]) => {
                    "contains a `case` of an outer `switch`"
                }
                CXCursor_GotoStmt => {
                    let to = node
                        .kids
                        .first()
                        .map_or(NONE, |kid| function.nodes[*kid].of);
                    let mut inner = outline.nodes.iter().chain(last_labels);
                    let is_inside = inner.any(|label| {
                        let label = &function.nodes[*label];
                        label.kind == CXCursor_LabelStmt && label.of == to
                    });
                    if is_inside {
                        continue;
                    }
                    "is left by `goto`"
                }
                _ => continue,
            };
            return self.because(*at, why);
        }
        let labels = outline.nodes.iter().chain(last_labels);
        let mut labels = labels.filter(|at| function.nodes[**at].kind == CXCursor_LabelStmt);
        let mut nodes = function.nodes.iter();
        if let Some(label) = labels.next()
            && nodes.any(|node| node.kind == CXCursor_IndirectGotoStmt)
        {
            return self.because(*label, "contains a label that other code may jump to");
        }
        // A jump from outside to a label inside.
        for label in outline.nodes.iter().chain(last_labels) {
            let node = &function.nodes[*label];
            if node.kind != CXCursor_LabelStmt {
                continue;
            }
            for (number, other) in function.nodes.iter().enumerate() {
                let to = other
                    .kids
                    .first()
                    .map_or(NONE, |kid| function.nodes[*kid].of);
                if other.kind == CXCursor_GotoStmt && to == node.of && !inside.contains(&number) {
                    return self.because(*label, "contains a label that other code jumps to");
                }
            }
        }
        // Jumps of an exit go outside.
        for exit in &outline.exits {
            for at in exit.nodes.iter().flat_map(|at| function.everything(*at)) {
                let kind = function.nodes[at].kind;
                let own = |kinds: &[i32]| {
                    let mut outer = function.around(at).take_while(|outer| {
                        let node = &function.nodes[*outer];
                        node.from >= outline.body.start && node.to <= outline.body.end
                    });
                    outer.any(|outer| kinds.contains(&function.nodes[outer].kind))
                };
                const LOOPS: [i32; 3] = [CXCursor_ForStmt, CXCursor_WhileStmt, CXCursor_DoStmt];
                let is_own = match kind {
                    CXCursor_BreakStmt => own(&LOOPS) || own(&[CXCursor_SwitchStmt]),
                    CXCursor_ContinueStmt => own(&LOOPS),
                    CXCursor_GotoStmt => {
                        let to = function.nodes[at].kids.first();
                        let to = to.map_or(NONE, |kid| function.nodes[*kid].of);
                        outline.nodes.iter().chain(last_labels).any(|label| {
                            let label = &function.nodes[*label];
                            label.kind == CXCursor_LabelStmt && label.of == to
                        })
                    }
                    _ => false,
                };
                if is_own {
                    return self.because(at, "is unlocked in a branch that goes on");
                }
            }
        }
        // The text is one piece of the file.
        let pieces = [&outline.whole, &outline.body];
        let mut ends = pieces.iter().flat_map(|piece| [piece.start, piece.end]);
        let is_cut = |at: usize| {
            let around = source.expansion_around(at);
            around.is_some_and(|around| around.start < at && at < around.end)
        };
        let exits = outline
            .exits
            .iter()
            .flat_map(|exit| [exit.whole.start, exit.whole.end]);
        if ends.any(is_cut) || exits.into_iter().any(is_cut) {
            return self.because(self.locks.call, "begins or ends inside a macro");
        }
        let mut texts = outline
            .exits
            .iter()
            .map(|exit| exit.whole.clone())
            .collect::<Vec<_>>();
        texts.extend([outline.whole.clone(), outline.body.clone()]);
        if texts
            .iter()
            .any(|text| !lex::are_whole(source.piece(text.start, text.end)))
        {
            return self.because(self.locks.call, "contains a part of an `#if`");
        }
        Ok(())
    }
}

/// The extent of the critical section that begins there.
///
/// # Errors
/// The reason why it has none.
pub fn outline(
    program: &Program,
    objects: &Objects,
    object: &Object,
    locks: &Use,
) -> Result<Outline, Reason> {
    let finder = Finder {
        program,
        objects,
        function: &program.functions[locks.within],
        number: locks.within,
        object,
        locks,
    };
    finder.find()
}
