//! Reads C files into a program's tree.

use super::database::Command;
use super::libclang::{Cursor, Library, Location, Range as Extent, Type, Unit};
use super::macros::Macro;
use super::tree::{
    Declared, Entity, Function, Id, NONE, Node, Place, Program, Shape, Source, Variable,
};
use clang_sys::*;
use cohort_cli::problem::Problem;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Reads a file as its command compiles it.
///
/// # Errors
/// It does not parse; the message has the line.
pub fn read(
    library: &Library,
    program: &mut Program,
    command: &Command,
    root: &Path,
) -> Result<(), Problem> {
    // libclang changes the folder of this process, or not, by its version; its relative names need it.
    let own = std::env::current_dir();
    let _ = std::env::set_current_dir(&command.folder);
    let read = read_here(library, program, command, root);
    if let Ok(own) = own {
        let _ = std::env::set_current_dir(own);
    }
    read
}

fn read_here(
    library: &Library,
    program: &mut Program,
    command: &Command,
    root: &Path,
) -> Result<(), Problem> {
    let mut arguments = vec![
        format!("-working-directory={}", command.folder.display()),
        "-w".to_owned(),
        "-ferror-limit=0".to_owned(),
        // Other compilers accept these.
        "-Wno-implicit-function-declaration".to_owned(),
        "-Wno-implicit-int".to_owned(),
        "-Wno-int-conversion".to_owned(),
        "-Wno-incompatible-function-pointer-types".to_owned(),
    ];
    arguments.extend(command.options.iter().cloned());
    let file = command.file.to_string_lossy();
    let unit = library.parse(&file, &arguments).map_err(|error| {
        Problem::usage(format!(
            "libclang cannot read {} (error {error})",
            command.file.display()
        ))
    })?;
    if let Some(why) = mistake(&unit) {
        return Err(Problem::usage(why));
    }
    let mut reader = Reader {
        program,
        root,
        files: HashMap::new(),
        is_cpp: command.is_cpp(),
        nodes: Vec::new(),
    };
    reader.unit(&unit, &command.file);
    Ok(())
}

/// The first error of a file, if any.
fn mistake(unit: &Unit<'_>) -> Option<String> {
    let error = unit.error()?;
    let (file, line, column, _) = error.place.parts();
    let name = file.map_or_else(|| "libclang".to_owned(), |file| file.name());
    let shown = super::shown(Path::new(&name));
    let what = error.what;
    let hint = if what.contains("'stddef.h'") || what.contains("'stdarg.h'") {
        "; libclang's own headers are missing: install `libclang-dev`"
    } else {
        ""
    };
    Some(format!("{shown}:{line}:{column}: {what}{hint}"))
}

fn is_array(kind: CXTypeKind) -> bool {
    matches!(
        kind,
        CXType_ConstantArray | CXType_IncompleteArray | CXType_VariableArray
    )
}

/// A type's canonical form, or its elements' if it is an array.
fn element(of: Type<'_>) -> Type<'_> {
    let mut of = of.canonical();
    while is_array(of.kind()) {
        of = of.element().canonical();
    }
    of
}

/// The declaration of the structure that something is, or an array of.
fn structure_of(cursor: Cursor<'_>) -> Cursor<'_> {
    element(cursor.type_of()).declaration()
}

/// Whether `const` is in the declaration of a type, or of a part of it.
fn is_fixed(of: Type<'_>, depth: usize) -> bool {
    let behind = of.canonical();
    let declared = behind.declaration();
    let is_hidden = behind.is_const() && !of.is_const() && !is_array(behind.kind());
    let is_of_fields = matches!(declared.kind(), CXCursor_StructDecl | CXCursor_UnionDecl);
    let is_fixed_in = |field: Cursor<'_>| {
        let of = element(field.type_of());
        field.kind() == CXCursor_FieldDecl && (of.is_const() || is_fixed(of, depth + 1))
    };
    is_hidden || depth < 32 && is_of_fields && declared.children().any(is_fixed_in)
}

/// Reads one unit into the program.
struct Reader<'p> {
    program: &'p mut Program,
    root: &'p Path,
    files: HashMap<usize, usize>,
    is_cpp: bool,
    nodes: Vec<Node>,
}

impl Reader<'_> {
    fn numbered(&mut self, path: &Path) -> usize {
        if let Some(known) = self.program.paths.get(path) {
            return *known;
        }
        let is_own = path.starts_with(self.root);
        self.program.sources.push(Source::read(path, is_own));
        let number = self.program.sources.len() - 1;
        self.program.paths.insert(path.to_owned(), number);
        number
    }

    fn place(&mut self, location: Location<'_>) -> Option<Place> {
        let (file, _, _, at) = location.parts();
        let file = file?;
        let number = if let Some(known) = self.files.get(&file.number()) {
            *known
        } else {
            let name = file.name();
            let path = std::fs::canonicalize(&name).unwrap_or_else(|_| PathBuf::from(&name));
            let number = self.numbered(&path);
            self.files.insert(file.number(), number);
            number
        };
        Some(Place {
            file: number,
            at: at as usize,
        })
    }

    fn range(&mut self, range: Extent<'_>) -> Option<(usize, usize, usize)> {
        let from = self.place(range.start())?;
        let to = self.place(range.end())?;
        let to = if to.file == from.file { to.at } else { from.at };
        Some((from.file, from.at, to.max(from.at)))
    }

    fn unit(&mut self, unit: &Unit<'_>, main: &Path) {
        let main = std::fs::canonicalize(main).unwrap_or_else(|_| main.to_owned());
        let main = self.numbered(&main);
        self.skipped(unit, main);
        for cursor in unit.cursor().children() {
            self.top(cursor);
        }
    }

    /// Keeps the branches of `#if` that this reading of a file does not take.
    fn skipped(&mut self, unit: &Unit<'_>, main: usize) {
        let mut of_main: Vec<Range<usize>> = Vec::new();
        for range in unit.skipped() {
            if let Some((file, from, to)) = self.range(range)
                && file == main
            {
                of_main.push(from..to);
            }
        }
        let known = self.program.sources[main].unread.take();
        let both = match known {
            None => of_main,
            // Read by neither.
            Some(known) => known
                .iter()
                .flat_map(|one| {
                    of_main.iter().filter_map(|other| {
                        let (from, to) = (one.start.max(other.start), one.end.min(other.end));
                        (from < to).then_some(from..to)
                    })
                })
                .collect(),
        };
        self.program.sources[main].unread = Some(both);
    }

    fn top(&mut self, cursor: Cursor<'_>) {
        let Some((file, from, to)) = self.range(cursor.extent()) else {
            return;
        };
        let is_own = self.program.sources[file].is_own;
        match cursor.kind() {
            CXCursor_MacroDefinition if is_own => {
                let name = cursor.spelling();
                let text = self.program.sources[file].piece(from, to).to_owned();
                if let Some(one) = Macro::read(&text) {
                    self.program.macros.add(&name, one);
                }
            }
            CXCursor_MacroExpansion if is_own => {
                let name: Rc<str> = cursor.spelling().into();
                let source = &mut self.program.sources[file];
                if source.piece(from, from + name.len()) == &*name {
                    source.expansions.insert(from, (to, name));
                }
            }
            CXCursor_FunctionDecl | CXCursor_VarDecl => self.declared(cursor, is_own),
            CXCursor_LinkageSpec | CXCursor_Namespace | CXCursor_UnexposedDecl => {
                for inner in cursor.children() {
                    self.top(inner);
                }
            }
            CXCursor_StructDecl | CXCursor_UnionDecl | CXCursor_ClassDecl if is_own => {
                self.structure(cursor);
            }
            CXCursor_CXXMethod
            | CXCursor_Constructor
            | CXCursor_Destructor
            | CXCursor_FunctionTemplate
            | CXCursor_ClassTemplate
                if is_own =>
            {
                self.whole(cursor);
            }
            _ => {}
        }
    }

    /// A function or a variable at a file's level.
    fn declared(&mut self, cursor: Cursor<'_>, is_own: bool) {
        let id = self.id(cursor);
        let is_function = cursor.kind() == CXCursor_FunctionDecl;
        self.program.entities[id as usize].is_function |= is_function;
        if !is_own {
            return;
        }
        if is_function {
            if cursor.is_definition() {
                self.program.entities[id as usize].is_defined = true;
                self.whole(cursor);
            }
        } else {
            self.object(cursor, id, false);
            if cursor.children().next().is_some() {
                self.whole(cursor);
            }
        }
    }

    /// A structure's fields.
    fn structure(&mut self, cursor: Cursor<'_>) {
        let own = self.id(cursor);
        let is_union = cursor.kind() == CXCursor_UnionDecl;
        for inner in cursor.children() {
            match inner.kind() {
                CXCursor_FieldDecl => {
                    let id = self.id(inner);
                    let all = self.program.fields.entry(own).or_default();
                    if !all.contains(&id) {
                        all.push(id);
                    }
                    let of = structure_of(inner);
                    if matches!(of.kind(), CXCursor_StructDecl | CXCursor_UnionDecl) {
                        let of = self.id(of);
                        self.program.structures.insert(id, of);
                    }
                    self.object(inner, id, is_union);
                }
                CXCursor_StructDecl | CXCursor_UnionDecl | CXCursor_ClassDecl => {
                    self.structure(inner);
                }
                CXCursor_CXXMethod
                | CXCursor_Constructor
                | CXCursor_Destructor
                | CXCursor_FunctionTemplate => self.whole(inner),
                _ => {}
            }
        }
    }

    /// A variable that other functions may name.
    fn object(&mut self, cursor: Cursor<'_>, id: Id, is_in_union: bool) {
        let (Some((_, from, to)), Some(place)) =
            (self.range(cursor.extent()), self.place(cursor.location()))
        else {
            return;
        };
        let variable = self.variable(cursor);
        let is_field = cursor.kind() == CXCursor_FieldDecl;
        let parent = cursor.semantic_parent();
        let is_cpp = self.is_cpp;
        let entity = &mut self.program.entities[id as usize];
        entity.is_of_thread |= variable.is_of_thread;
        if entity.declared.iter().any(|one| one.place == place) {
            return;
        }
        entity.declared.push(Declared {
            place,
            from,
            to,
            variable,
            is_field,
            is_in_union,
            is_inner: parent.kind() == CXCursor_FunctionDecl,
            is_cpp,
        });
    }

    /// The identity of a declared name.
    fn id(&mut self, cursor: Cursor<'_>) -> Id {
        let canonical = cursor.canonical();
        let name = canonical.spelling();
        let linkage = canonical.linkage();
        let place = self.place(canonical.location());
        let is_named = matches!(cursor.kind(), CXCursor_FunctionDecl | CXCursor_VarDecl);
        let key = match place {
            Some(place) if !is_named || linkage != CXLinkage_External => {
                format!("{}:{}:{name}", place.file, place.at)
            }
            _ => name.clone(),
        };
        if self.program.entities.is_empty() {
            self.program.entities.push(Entity::default());
        }
        let program = &mut *self.program;
        let next = u32::try_from(program.entities.len()).unwrap_or_default();
        let id = *program.ids.entry(key).or_insert(next);
        if id == next {
            program.entities.push(Entity {
                name,
                is_function: cursor.kind() == CXCursor_FunctionDecl,
                place,
                ..Entity::default()
            });
        }
        id
    }

    fn variable(&mut self, cursor: Cursor<'_>) -> Rc<Variable> {
        let of = cursor.type_of();
        let mut shape = self.shape(of, 0);
        let canonical = of.canonical();
        let element = element(of);
        let is_array = is_array(canonical.kind());
        // A parameter is a pointer to the array's first element.
        if cursor.kind() == CXCursor_ParmDecl && is_array {
            shape = match shape {
                Shape::Array(element, _) => Shape::Pointer(element, ""),
                other => Shape::Odd(format!(
                    "a parameter of the array type {}",
                    other.declare("").trim()
                )),
            };
        }
        // And to a function.
        let is_function = cursor.kind() == CXCursor_ParmDecl
            && matches!(
                canonical.kind(),
                CXType_FunctionProto | CXType_FunctionNoProto
            );
        if is_function {
            shape = Shape::Pointer(Box::new(shape), "");
        }
        let storage = cursor.storage();
        let is_scalar = (CXType_Bool..=CXType_NullPtr).contains(&canonical.kind())
            || matches!(
                canonical.kind(),
                CXType_Pointer | CXType_Enum | CXType_Float16
            );
        let mut spelled = element.spelling();
        if let Some(rest) = spelled.strip_prefix("const ") {
            spelled = rest.to_owned();
        }
        Rc::new(Variable {
            is_scalar: (is_scalar || is_function || cursor.kind() == CXCursor_ParmDecl && is_array)
                && !canonical.is_volatile(),
            is_array: is_array && cursor.kind() != CXCursor_ParmDecl,
            canonical: spelled,
            shape,
            is_of_thread: cursor.thread_storage() != CXTLS_None,
            is_static: storage == CX_SC_Static,
            is_extern: storage == CX_SC_Extern,
            is_register: storage == CX_SC_Register,
            is_fixed: is_fixed(of, 0),
        })
    }

    fn shape(&mut self, of: Type<'_>, depth: usize) -> Shape {
        let spelled = of.spelling();
        match of.kind() {
            _ if depth > 32 => Shape::Odd("of an unknown type".to_owned()),
            CXType_Pointer => {
                let words = match (of.is_const(), of.is_volatile()) {
                    (false, false) => "",
                    (true, false) => "const",
                    (false, true) => "volatile",
                    (true, true) => "const volatile",
                };
                let to = self.shape(of.pointee(), depth + 1);
                Shape::Pointer(Box::new(to), words)
            }
            CXType_ConstantArray => {
                let element = self.shape(of.element(), depth + 1);
                Shape::Array(Box::new(element), Some(of.size()))
            }
            CXType_IncompleteArray => {
                let element = self.shape(of.element(), depth + 1);
                Shape::Array(Box::new(element), None)
            }
            CXType_VariableArray => Shape::Odd("of variable size".to_owned()),
            CXType_FunctionProto | CXType_FunctionNoProto => {
                let result = self.shape(of.result(), depth + 1);
                let given = of.parameters().into_iter();
                let given = given.map(|one| self.shape(one, depth + 1)).collect();
                let is_open = of.is_variadic();
                Shape::Function(Box::new(result), given, is_open)
            }
            CXType_Elaborated | CXType_Record | CXType_Enum | CXType_Typedef => {
                let inner = if of.kind() == CXType_Elaborated {
                    of.named()
                } else {
                    of
                };
                let declared = inner.declaration();
                let name = declared.spelling();
                let is_unnamed = name.is_empty()
                    || name.contains('(')
                    || spelled.contains("(unnamed")
                    || spelled.contains("(anonymous");
                let parent = declared.semantic_parent();
                if is_unnamed {
                    Shape::Odd("of an unnamed type".to_owned())
                } else if parent.kind() == CXCursor_FunctionDecl {
                    Shape::Odd(format!("of the local type {name}"))
                } else {
                    if inner.kind() == CXType_Typedef
                        && of.canonical().kind() == CXType_VariableArray
                    {
                        return Shape::Odd("of variable size".to_owned());
                    }
                    Shape::Named(spelled)
                }
            }
            CXType_Void..=CXType_NullPtr | CXType_Complex | CXType_Atomic | CXType_Vector => {
                Shape::Named(spelled)
            }
            _ => {
                // Parentheses, attributes, `typeof`.
                let canonical = of.canonical();
                if canonical.kind() == of.kind() {
                    Shape::Named(spelled)
                } else {
                    self.shape(canonical, depth + 1)
                }
            }
        }
    }

    /// Adds a function, or a variable with its initial value.
    fn whole(&mut self, cursor: Cursor<'_>) {
        let Some((file, from, to)) = self.range(cursor.extent()) else {
            return;
        };
        self.nodes = Vec::new();
        self.node(cursor, 0);
        let nodes = std::mem::take(&mut self.nodes);
        let place = Place { file, at: from };
        let is_function = !matches!(cursor.kind(), CXCursor_VarDecl);
        let known = self.program.begun.get(&place).cloned().unwrap_or_default();
        let is_same = |number: &usize| {
            let other = &self.program.functions[*number].nodes;
            other.len() == nodes.len()
                && other.iter().zip(&nodes).all(|(one, other)| {
                    (one.kind, one.from, one.to, one.of)
                        == (other.kind, other.from, other.to, other.of)
                })
        };
        if known.iter().any(is_same) {
            return;
        }
        let result = is_function.then(|| {
            let of = cursor.result();
            self.shape(of, 0)
        });
        let id = self.id(cursor);
        let name: Rc<str> = cursor.spelling().into();
        let of = cursor.type_of();
        let is_old = is_function
            && of.kind() == CXType_FunctionNoProto
            && nodes
                .iter()
                .any(|node| node.kind == CXCursor_ParmDecl && node.parent == 0);
        self.program.functions.push(Function {
            name,
            id,
            place,
            to,
            nodes,
            is_function,
            is_static: cursor.storage() == CX_SC_Static,
            is_cpp: self.is_cpp,
            result,
            is_old,
        });
        let number = self.program.functions.len() - 1;
        self.program.begun.entry(place).or_default().push(number);
    }

    /// Adds a part of a function.
    fn node(&mut self, cursor: Cursor<'_>, parent: usize) -> usize {
        let kind = cursor.kind();
        let (file, from, to) = self.range(cursor.extent()).unwrap_or((0, 0, 0));
        let meant = match kind {
            CXCursor_DeclRefExpr
            | CXCursor_MemberRefExpr
            | CXCursor_MemberRef
            | CXCursor_TypeRef
            | CXCursor_LabelRef
            | CXCursor_CallExpr => Some(cursor.referenced()),
            CXCursor_VarDecl
            | CXCursor_ParmDecl
            | CXCursor_LabelStmt
            | CXCursor_FunctionDecl
            | CXCursor_StructDecl
            | CXCursor_UnionDecl
            | CXCursor_EnumDecl => Some(cursor),
            CXCursor_InitListExpr => Some(structure_of(cursor)),
            _ => None,
        };
        let meant = meant.filter(|meant| meant.is_any());
        let of = meant.map_or(NONE, |meant| self.id(meant));
        let name: Rc<str> = match kind {
            _ if of != NONE => self.program.entities[of as usize].name.as_str().into(),
            CXCursor_CallExpr => cursor.spelling().into(),
            _ => "".into(),
        };
        let is_variable = matches!(kind, CXCursor_VarDecl | CXCursor_ParmDecl);
        let variable = is_variable.then(|| self.variable(cursor));
        if is_variable
            && parent != 0
            && let Some(variable) = &variable
            && (variable.is_static || variable.is_extern || variable.canonical.contains("pthread_"))
        {
            self.object(cursor, of, false);
        }
        if let Some(variable) = &variable
            && variable.is_of_thread
        {
            self.program.entities[of as usize].is_of_thread = true;
        }
        if kind == CXCursor_DeclRefExpr
            && let Some(meant) = meant
            && meant.kind() == CXCursor_VarDecl
        {
            let is_of_thread = meant.thread_storage() != CXTLS_None;
            self.program.entities[of as usize].is_of_thread |= is_of_thread;
        }
        let own = self.nodes.len();
        let type_kind = cursor.type_of().canonical().kind();
        self.nodes.push(Node {
            kind,
            file,
            from,
            to,
            of,
            name,
            parent,
            kids: Vec::new(),
            variable,
            is_pointer: type_kind == CXType_Pointer,
            is_array: is_array(type_kind),
        });
        for inner in cursor.children() {
            let kid = self.node(inner, own);
            self.nodes[own].kids.push(kid);
        }
        own
    }
}
