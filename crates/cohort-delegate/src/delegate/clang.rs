//! Reads C files by libclang, which is loaded when the command runs.

use super::database::Command;
use super::macros::Macro;
use super::tree::{
    Declared, Entity, Function, Id, NONE, Node, Place, Program, Shape, Source, Variable,
};
use clang_sys::*;
use cohort_cli::problem::Problem;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

/// Loaded libclang.
pub struct Clang {
    index: CXIndex,
}

/// What to do without libclang.
const INSTALL: &str = "install libclang (Debian and Ubuntu: `apt install libclang-dev`; Fedora: `dnf install \
                       clang-devel`), or set LIBCLANG_PATH to the folder of libclang.so";

impl Clang {
    /// Loads the library.
    ///
    /// # Errors
    /// It is not installed.
    pub fn load() -> Result<Self, Problem> {
        if let Some(place) = std::env::var_os("LIBCLANG_PATH") {
            let place = PathBuf::from(place);
            let is_it = |path: &Path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("libclang") && name.contains(".so")
            };
            let is_there = is_it(&place) && place.is_file()
                || std::fs::read_dir(&place)
                    .is_ok_and(|all| all.flatten().any(|one| is_it(&one.path())));
            if !is_there {
                return Err(Problem::refused(format!(
                    "LIBCLANG_PATH: found no libclang.so in {}; {INSTALL}",
                    place.display()
                )));
            }
        }
        clang_sys::load().map_err(|error| {
            let error = error.lines().next().unwrap_or_default();
            Problem::refused(format!("cannot load libclang: {error}; {INSTALL}"))
        })?;
        // SAFETY: the library is loaded.
        let index = unsafe { clang_createIndex(0, 0) };
        Ok(Self { index })
    }

    /// Reads a file as its command compiles it.
    ///
    /// # Errors
    /// It does not parse; the message has the line.
    pub fn read(
        &self,
        program: &mut Program,
        command: &Command,
        root: &Path,
    ) -> Result<(), Problem> {
        // libclang changes the folder of this process, or not, by its version; its relative names need it.
        let own = std::env::current_dir();
        let _ = std::env::set_current_dir(&command.folder);
        let read = self.read_here(program, command, root);
        if let Ok(own) = own {
            let _ = std::env::set_current_dir(own);
        }
        read
    }

    fn read_here(
        &self,
        program: &mut Program,
        command: &Command,
        root: &Path,
    ) -> Result<(), Problem> {
        let word = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let mut arguments = vec![
            word(&format!("-working-directory={}", command.folder.display())),
            word("-w"),
            word("-ferror-limit=0"),
            // Other compilers accept these.
            word("-Wno-implicit-function-declaration"),
            word("-Wno-implicit-int"),
            word("-Wno-int-conversion"),
            word("-Wno-incompatible-function-pointer-types"),
        ];
        arguments.extend(command.options.iter().map(|one| word(one)));
        let pointers: Vec<_> = arguments.iter().map(|one| one.as_ptr()).collect();
        let file = word(&command.file.to_string_lossy());
        let mut unit = ptr::null_mut();
        // SAFETY: the strings outlive the call.
        let failed = unsafe {
            clang_parseTranslationUnit2(
                self.index,
                file.as_ptr(),
                pointers.as_ptr(),
                i32::try_from(pointers.len()).unwrap_or_default(),
                ptr::null_mut(),
                0,
                CXTranslationUnit_DetailedPreprocessingRecord,
                &raw mut unit,
            )
        };
        if failed != CXError_Success || unit.is_null() {
            return Err(Problem::usage(format!(
                "libclang cannot read {} (error {failed})",
                command.file.display()
            )));
        }
        let read = match mistake(unit) {
            Some(why) => Err(Problem::usage(why)),
            None => {
                let mut reader = Reader {
                    program,
                    root,
                    files: HashMap::new(),
                    is_cpp: command.is_cpp(),
                    nodes: Vec::new(),
                };
                reader.unit(unit, &command.file);
                Ok(())
            }
        };
        // SAFETY: made above, and no cursor is left.
        unsafe { clang_disposeTranslationUnit(unit) };
        read
    }
}

impl Drop for Clang {
    fn drop(&mut self) {
        // SAFETY: made by `load`.
        unsafe { clang_disposeIndex(self.index) };
    }
}

/// A string of libclang's.
fn string(text: CXString) -> String {
    // SAFETY: libclang's own, freed once.
    unsafe {
        let pointer = clang_getCString(text);
        let made = if pointer.is_null() {
            String::new()
        } else {
            CStr::from_ptr(pointer).to_string_lossy().into_owned()
        };
        clang_disposeString(text);
        made
    }
}

/// The first error of a file, if any.
fn mistake(unit: CXTranslationUnit) -> Option<String> {
    // SAFETY: the unit lives.
    unsafe {
        (0..clang_getNumDiagnostics(unit)).find_map(|number| {
            let one = clang_getDiagnostic(unit, number);
            let is_error = clang_getDiagnosticSeverity(one) >= CXDiagnostic_Error;
            let said = is_error.then(|| {
                let (mut file, mut line, mut column) = (ptr::null_mut(), 0, 0);
                clang_getFileLocation(
                    clang_getDiagnosticLocation(one),
                    &raw mut file,
                    &raw mut line,
                    &raw mut column,
                    ptr::null_mut(),
                );
                let name = if file.is_null() {
                    "libclang".to_owned()
                } else {
                    string(clang_getFileName(file))
                };
                let shown = super::shown(Path::new(&name));
                let what = string(clang_getDiagnosticSpelling(one));
                let hint = if what.contains("'stddef.h'") || what.contains("'stdarg.h'") {
                    "; libclang's own headers are missing: install `libclang-dev`"
                } else {
                    ""
                };
                format!("{shown}:{line}:{column}: {what}{hint}")
            });
            clang_disposeDiagnostic(one);
            said
        })
    }
}

extern "C" fn collect(
    cursor: CXCursor,
    _parent: CXCursor,
    all: CXClientData,
) -> CXChildVisitResult {
    // SAFETY: `children` passes its list.
    unsafe { (*all.cast::<Vec<CXCursor>>()).push(cursor) };
    CXChildVisit_Continue
}

fn children(cursor: CXCursor) -> Vec<CXCursor> {
    let mut all: Vec<CXCursor> = Vec::new();
    // SAFETY: the list outlives the visit.
    unsafe { clang_visitChildren(cursor, collect, (&raw mut all).cast::<c_void>()) };
    all
}

fn is_array(kind: CXTypeKind) -> bool {
    matches!(
        kind,
        CXType_ConstantArray | CXType_IncompleteArray | CXType_VariableArray
    )
}

/// The declaration of the structure that something is, or an array of.
fn structure_of(cursor: CXCursor) -> CXCursor {
    // SAFETY: the type is of the living cursor.
    unsafe {
        let mut of = clang_getCanonicalType(clang_getCursorType(cursor));
        while is_array(of.kind) {
            of = clang_getCanonicalType(clang_getArrayElementType(of));
        }
        clang_getTypeDeclaration(of)
    }
}

/// Whether `const` is in the declaration of a type, or of a part of it.
fn is_fixed(of: CXType, depth: usize) -> bool {
    // SAFETY: the type is of the living unit.
    unsafe {
        let behind = clang_getCanonicalType(of);
        let declared = clang_getTypeDeclaration(behind);
        let is_hidden = clang_isConstQualifiedType(behind) != 0
            && clang_isConstQualifiedType(of) == 0
            && !is_array(behind.kind);
        let is_of_fields = matches!(declared.kind, CXCursor_StructDecl | CXCursor_UnionDecl);
        is_hidden
            || depth < 32
                && is_of_fields
                && children(declared).into_iter().any(|field| {
                    let mut of = clang_getCanonicalType(clang_getCursorType(field));
                    while is_array(of.kind) {
                        of = clang_getCanonicalType(clang_getArrayElementType(of));
                    }
                    field.kind == CXCursor_FieldDecl
                        && (clang_isConstQualifiedType(of) != 0 || is_fixed(of, depth + 1))
                })
    }
}

/// Reads one unit into the program.
struct Reader<'p> {
    program: &'p mut Program,
    root: &'p Path,
    files: HashMap<usize, usize>,
    is_cpp: bool,
    nodes: Vec<Node>,
}

// SAFETY of all blocks below: cursors, types and locations are of the unit under examination.
#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each calls libclang with what belongs to the living unit"
)]
impl Reader<'_> {
    fn file(&mut self, file: CXFile) -> Option<usize> {
        if file.is_null() {
            return None;
        }
        if let Some(known) = self.files.get(&(file as usize)) {
            return Some(*known);
        }
        let name = string(unsafe { clang_getFileName(file) });
        let path = std::fs::canonicalize(&name).unwrap_or_else(|_| PathBuf::from(&name));
        let number = self.numbered(&path);
        self.files.insert(file as usize, number);
        Some(number)
    }

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

    fn place(&mut self, location: CXSourceLocation) -> Option<Place> {
        let (mut file, mut at) = (ptr::null_mut(), 0);
        unsafe {
            clang_getFileLocation(
                location,
                &raw mut file,
                ptr::null_mut(),
                ptr::null_mut(),
                &raw mut at,
            );
        }
        let file = self.file(file)?;
        Some(Place {
            file,
            at: at as usize,
        })
    }

    fn extent(&mut self, cursor: CXCursor) -> Option<(usize, usize, usize)> {
        self.range(unsafe { clang_getCursorExtent(cursor) })
    }

    fn range(&mut self, range: CXSourceRange) -> Option<(usize, usize, usize)> {
        let from = self.place(unsafe { clang_getRangeStart(range) })?;
        let to = self.place(unsafe { clang_getRangeEnd(range) })?;
        let to = if to.file == from.file { to.at } else { from.at };
        Some((from.file, from.at, to.max(from.at)))
    }

    fn at(&mut self, cursor: CXCursor) -> Option<Place> {
        self.place(unsafe { clang_getCursorLocation(cursor) })
    }

    fn unit(&mut self, unit: CXTranslationUnit, main: &Path) {
        let main = std::fs::canonicalize(main).unwrap_or_else(|_| main.to_owned());
        let main = self.numbered(&main);
        self.skipped(unit, main);
        for cursor in children(unsafe { clang_getTranslationUnitCursor(unit) }) {
            self.top(cursor);
        }
    }

    /// Keeps the branches of `#if` that this reading of a file does not take.
    fn skipped(&mut self, unit: CXTranslationUnit, main: usize) {
        let mut of_main: Vec<Range<usize>> = Vec::new();
        unsafe {
            let all = clang_getAllSkippedRanges(unit);
            if !all.is_null() {
                for number in 0..(*all).count as usize {
                    let range = *(*all).ranges.add(number);
                    if let Some((file, from, to)) = self.range(range)
                        && file == main
                    {
                        of_main.push(from..to);
                    }
                }
                clang_disposeSourceRangeList(all);
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

    fn top(&mut self, cursor: CXCursor) {
        let Some((file, from, to)) = self.extent(cursor) else {
            return;
        };
        let is_own = self.program.sources[file].is_own;
        match cursor.kind {
            CXCursor_MacroDefinition if is_own => {
                let name = string(unsafe { clang_getCursorSpelling(cursor) });
                let text = self.program.sources[file].piece(from, to).to_owned();
                if let Some(one) = Macro::read(&text) {
                    self.program.macros.add(&name, one);
                }
            }
            CXCursor_MacroExpansion if is_own => {
                let name: Rc<str> = string(unsafe { clang_getCursorSpelling(cursor) }).into();
                let source = &mut self.program.sources[file];
                if source.piece(from, from + name.len()) == &*name {
                    source.expansions.insert(from, (to, name));
                }
            }
            CXCursor_FunctionDecl | CXCursor_VarDecl => self.declared(cursor, is_own),
            CXCursor_LinkageSpec | CXCursor_Namespace | CXCursor_UnexposedDecl => {
                for inner in children(cursor) {
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
    fn declared(&mut self, cursor: CXCursor, is_own: bool) {
        let id = self.id(cursor);
        let is_function = cursor.kind == CXCursor_FunctionDecl;
        self.program.entities[id as usize].is_function |= is_function;
        if !is_own {
            return;
        }
        if is_function {
            if unsafe { clang_isCursorDefinition(cursor) } != 0 {
                self.program.entities[id as usize].is_defined = true;
                self.whole(cursor);
            }
        } else {
            self.object(cursor, id, false);
            if !children(cursor).is_empty() {
                self.whole(cursor);
            }
        }
    }

    /// A structure's fields.
    fn structure(&mut self, cursor: CXCursor) {
        let own = self.id(cursor);
        let is_union = cursor.kind == CXCursor_UnionDecl;
        for inner in children(cursor) {
            match inner.kind {
                CXCursor_FieldDecl => {
                    let id = self.id(inner);
                    let all = self.program.fields.entry(own).or_default();
                    if !all.contains(&id) {
                        all.push(id);
                    }
                    let of = structure_of(inner);
                    if matches!(of.kind, CXCursor_StructDecl | CXCursor_UnionDecl) {
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
    fn object(&mut self, cursor: CXCursor, id: Id, is_in_union: bool) {
        let (Some((_, from, to)), Some(place)) = (self.extent(cursor), self.at(cursor)) else {
            return;
        };
        let variable = self.variable(cursor);
        let is_field = cursor.kind == CXCursor_FieldDecl;
        let parent = unsafe { clang_getCursorSemanticParent(cursor) };
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
            is_inner: parent.kind == CXCursor_FunctionDecl,
            is_cpp,
        });
    }

    /// The identity of a declared name.
    fn id(&mut self, cursor: CXCursor) -> Id {
        let canonical = unsafe { clang_getCanonicalCursor(cursor) };
        let name = string(unsafe { clang_getCursorSpelling(canonical) });
        let linkage = unsafe { clang_getCursorLinkage(canonical) };
        let place = self.at(canonical);
        let is_named = matches!(cursor.kind, CXCursor_FunctionDecl | CXCursor_VarDecl);
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
                is_function: cursor.kind == CXCursor_FunctionDecl,
                place,
                ..Entity::default()
            });
        }
        id
    }

    fn variable(&mut self, cursor: CXCursor) -> Rc<Variable> {
        unsafe {
            let of = clang_getCursorType(cursor);
            let mut shape = self.shape(of, 0);
            let canonical = clang_getCanonicalType(of);
            let mut element = canonical;
            while matches!(
                element.kind,
                CXType_ConstantArray | CXType_IncompleteArray | CXType_VariableArray
            ) {
                element = clang_getArrayElementType(element);
            }
            let is_array = element.kind != canonical.kind || element.data != canonical.data;
            // A parameter is a pointer to the array's first element.
            if cursor.kind == CXCursor_ParmDecl && is_array {
                shape = match shape {
                    Shape::Array(element, _) => Shape::Pointer(element, ""),
                    other => Shape::Odd(format!(
                        "a parameter of the array type {}",
                        other.declare("").trim()
                    )),
                };
            }
            // And to a function.
            let is_function = cursor.kind == CXCursor_ParmDecl
                && matches!(
                    canonical.kind,
                    CXType_FunctionProto | CXType_FunctionNoProto
                );
            if is_function {
                shape = Shape::Pointer(Box::new(shape), "");
            }
            let storage = clang_Cursor_getStorageClass(cursor);
            let is_scalar = (CXType_Bool..=CXType_NullPtr).contains(&canonical.kind)
                || matches!(
                    canonical.kind,
                    CXType_Pointer | CXType_Enum | CXType_Float16
                );
            let mut spelled = string(clang_getTypeSpelling(element));
            if let Some(rest) = spelled.strip_prefix("const ") {
                spelled = rest.to_owned();
            }
            Rc::new(Variable {
                is_scalar: (is_scalar
                    || is_function
                    || cursor.kind == CXCursor_ParmDecl && is_array)
                    && clang_isVolatileQualifiedType(canonical) == 0,
                is_array: is_array && cursor.kind != CXCursor_ParmDecl,
                canonical: spelled,
                shape,
                is_of_thread: clang_getCursorTLSKind(cursor) != CXTLS_None,
                is_static: storage == CX_SC_Static,
                is_extern: storage == CX_SC_Extern,
                is_register: storage == CX_SC_Register,
                is_fixed: is_fixed(of, 0),
            })
        }
    }

    fn shape(&mut self, of: CXType, depth: usize) -> Shape {
        unsafe {
            let spelled = string(clang_getTypeSpelling(of));
            match of.kind {
                _ if depth > 32 => Shape::Odd("of an unknown type".to_owned()),
                CXType_Pointer => {
                    let words = match (
                        clang_isConstQualifiedType(of) != 0,
                        clang_isVolatileQualifiedType(of) != 0,
                    ) {
                        (false, false) => "",
                        (true, false) => "const",
                        (false, true) => "volatile",
                        (true, true) => "const volatile",
                    };
                    let to = self.shape(clang_getPointeeType(of), depth + 1);
                    Shape::Pointer(Box::new(to), words)
                }
                CXType_ConstantArray => {
                    let element = self.shape(clang_getArrayElementType(of), depth + 1);
                    Shape::Array(Box::new(element), Some(clang_getArraySize(of)))
                }
                CXType_IncompleteArray => {
                    let element = self.shape(clang_getArrayElementType(of), depth + 1);
                    Shape::Array(Box::new(element), None)
                }
                CXType_VariableArray => Shape::Odd("of variable size".to_owned()),
                CXType_FunctionProto | CXType_FunctionNoProto => {
                    let result = self.shape(clang_getResultType(of), depth + 1);
                    let many = u32::try_from(clang_getNumArgTypes(of)).unwrap_or(0);
                    let given = (0..many)
                        .map(|number| self.shape(clang_getArgType(of, number), depth + 1))
                        .collect();
                    let is_open = clang_isFunctionTypeVariadic(of) != 0;
                    Shape::Function(Box::new(result), given, is_open)
                }
                CXType_Elaborated | CXType_Record | CXType_Enum | CXType_Typedef => {
                    let inner = if of.kind == CXType_Elaborated {
                        clang_Type_getNamedType(of)
                    } else {
                        of
                    };
                    let declared = clang_getTypeDeclaration(inner);
                    let name = string(clang_getCursorSpelling(declared));
                    let is_unnamed = name.is_empty()
                        || name.contains('(')
                        || spelled.contains("(unnamed")
                        || spelled.contains("(anonymous");
                    let parent = clang_getCursorSemanticParent(declared);
                    if is_unnamed {
                        Shape::Odd("of an unnamed type".to_owned())
                    } else if parent.kind == CXCursor_FunctionDecl {
                        Shape::Odd(format!("of the local type {name}"))
                    } else {
                        if inner.kind == CXType_Typedef
                            && clang_getCanonicalType(of).kind == CXType_VariableArray
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
                    let canonical = clang_getCanonicalType(of);
                    if canonical.kind == of.kind {
                        Shape::Named(spelled)
                    } else {
                        self.shape(canonical, depth + 1)
                    }
                }
            }
        }
    }

    /// Adds a function, or a variable with its initial value.
    fn whole(&mut self, cursor: CXCursor) {
        let Some((file, from, to)) = self.extent(cursor) else {
            return;
        };
        self.nodes = Vec::new();
        self.node(cursor, 0);
        let nodes = std::mem::take(&mut self.nodes);
        let place = Place { file, at: from };
        let is_function = !matches!(cursor.kind, CXCursor_VarDecl);
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
            let of = unsafe { clang_getCursorResultType(cursor) };
            self.shape(of, 0)
        });
        let id = self.id(cursor);
        let name: Rc<str> = string(unsafe { clang_getCursorSpelling(cursor) }).into();
        let of = unsafe { clang_getCursorType(cursor) };
        let is_old = is_function
            && of.kind == CXType_FunctionNoProto
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
            is_static: unsafe { clang_Cursor_getStorageClass(cursor) } == CX_SC_Static,
            is_cpp: self.is_cpp,
            result,
            is_old,
        });
        let number = self.program.functions.len() - 1;
        self.program.begun.entry(place).or_default().push(number);
    }

    /// Adds a part of a function.
    fn node(&mut self, cursor: CXCursor, parent: usize) -> usize {
        let kind = cursor.kind;
        let (file, from, to) = self.extent(cursor).unwrap_or((0, 0, 0));
        let meant = match kind {
            CXCursor_DeclRefExpr
            | CXCursor_MemberRefExpr
            | CXCursor_MemberRef
            | CXCursor_TypeRef
            | CXCursor_LabelRef => unsafe { clang_getCursorReferenced(cursor) },
            CXCursor_CallExpr => unsafe { clang_getCursorReferenced(cursor) },
            CXCursor_VarDecl
            | CXCursor_ParmDecl
            | CXCursor_LabelStmt
            | CXCursor_FunctionDecl
            | CXCursor_StructDecl
            | CXCursor_UnionDecl
            | CXCursor_EnumDecl => cursor,
            CXCursor_InitListExpr => structure_of(cursor),
            _ => unsafe { clang_getNullCursor() },
        };
        let is_any = unsafe { clang_Cursor_isNull(meant) } == 0 && !(70..=73).contains(&meant.kind);
        let of = if is_any { self.id(meant) } else { NONE };
        let name: Rc<str> = match kind {
            _ if of != NONE => self.program.entities[of as usize].name.as_str().into(),
            CXCursor_CallExpr => string(unsafe { clang_getCursorSpelling(cursor) }).into(),
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
        if kind == CXCursor_DeclRefExpr && is_any && meant.kind == CXCursor_VarDecl {
            let is_of_thread = unsafe { clang_getCursorTLSKind(meant) } != CXTLS_None;
            self.program.entities[of as usize].is_of_thread |= is_of_thread;
        }
        let own = self.nodes.len();
        let type_kind = unsafe { clang_getCanonicalType(clang_getCursorType(cursor)).kind };
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
        for inner in children(cursor) {
            let kid = self.node(inner, own);
            self.nodes[own].kids.push(kid);
        }
        own
    }
}
