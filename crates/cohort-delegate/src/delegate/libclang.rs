//! libclang's calls, made safe: what belongs to a unit borrows it, and a unit borrows the library.

use clang_sys::*;
use cohort_cli::problem::Problem;
use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr;

/// Loaded libclang.
pub struct Library {
    index: CXIndex,
}

/// What to do without libclang.
const INSTALL: &str = "install libclang (Debian and Ubuntu: `apt install libclang-dev`; Fedora: `dnf install \
                       clang-devel`), or set LIBCLANG_PATH to the folder of libclang.so";

impl Library {
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
        // SAFETY: the library is loaded, and stays so: it is never unloaded.
        let index = unsafe { clang_createIndex(0, 0) };
        Ok(Self { index })
    }

    /// Parses a file, with the record of its macros; without a unit, libclang's number of the error.
    pub fn parse(&self, file: &str, arguments: &[String]) -> Result<Unit<'_>, CXErrorCode> {
        let word = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let arguments: Vec<CString> = arguments.iter().map(|one| word(one)).collect();
        let pointers: Vec<_> = arguments.iter().map(|one| one.as_ptr()).collect();
        let file = word(file);
        let mut unit = ptr::null_mut();
        // SAFETY: the index lives, and the strings and the pointers to them outlive the call.
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
            return Err(failed);
        }
        Ok(Unit {
            unit,
            library: PhantomData,
        })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: made by `load`; units borrow it, so that none is left.
        unsafe { clang_disposeIndex(self.index) };
    }
}

/// Parsed file.
pub struct Unit<'l> {
    unit: CXTranslationUnit,
    library: PhantomData<&'l Library>,
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `parse`; cursors, types and places borrow it, so that none is left.
        unsafe { clang_disposeTranslationUnit(self.unit) };
    }
}

impl Unit<'_> {
    pub fn cursor(&self) -> Cursor<'_> {
        // SAFETY: the unit lives.
        Cursor::of(unsafe { clang_getTranslationUnitCursor(self.unit) })
    }

    /// The branches of `#if` that are not compiled.
    pub fn skipped(&self) -> Vec<Range<'_>> {
        // SAFETY: the unit lives.
        let all = unsafe { clang_getAllSkippedRanges(self.unit) };
        // SAFETY: libclang gives a list, which lives until it is disposed of below, or null.
        let Some(list) = (unsafe { all.as_ref() }) else {
            return Vec::new();
        };
        let number = 0..list.count as usize;
        // SAFETY: the list has so many ranges; without any, its pointer may be null, and is not read.
        let ranges = number.map(|number| Range::of(unsafe { *list.ranges.add(number) }));
        let ranges = ranges.collect();
        // SAFETY: libclang made it, and it is not used again.
        unsafe { clang_disposeSourceRangeList(all) };
        ranges
    }

    /// The first error.
    pub fn error(&self) -> Option<Mistake<'_>> {
        // SAFETY: the unit lives.
        let many = unsafe { clang_getNumDiagnostics(self.unit) };
        (0..many).find_map(|number| {
            // SAFETY: the unit lives and has more diagnostics than `number`.
            let one = Diagnostic(unsafe { clang_getDiagnostic(self.unit, number) });
            // SAFETY: the diagnostic lives until it is dropped; so below.
            let is_error = unsafe { clang_getDiagnosticSeverity(one.0) } >= CXDiagnostic_Error;
            is_error.then(|| Mistake {
                // SAFETY: as above.
                place: Location::of(unsafe { clang_getDiagnosticLocation(one.0) }),
                // SAFETY: as above.
                what: string(unsafe { clang_getDiagnosticSpelling(one.0) }),
            })
        })
    }
}

/// Error in a file.
pub struct Mistake<'u> {
    pub place: Location<'u>,
    pub what: String,
}

struct Diagnostic(CXDiagnostic);

impl Drop for Diagnostic {
    fn drop(&mut self) {
        // SAFETY: the value owns it.
        unsafe { clang_disposeDiagnostic(self.0) };
    }
}

/// The text of a string of libclang's, which is freed.
fn string(text: CXString) -> String {
    // SAFETY: the callers pass on what libclang has just made.
    let pointer = unsafe { clang_getCString(text) };
    let made = if pointer.is_null() {
        String::new()
    } else {
        // SAFETY: a text with an end, which lives until it is freed below.
        let text = unsafe { CStr::from_ptr(pointer) };
        text.to_string_lossy().into_owned()
    };
    // SAFETY: freed once: no caller keeps it.
    unsafe { clang_disposeString(text) };
    made
}

/// Values of libclang that belong to a unit, with their calls of one argument.
macro_rules! of_unit {
    ($($(#[$doc:meta])* $name:ident($raw:ty) {
        $($method:ident: $call:ident $(=> $make:expr)?, $result:ty;)*
    })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'u>($raw, PhantomData<&'u ()>);

        impl<'u> $name<'u> {
            /// For values of a unit that lives as long as `'u`, just given by libclang.
            const fn of(raw: $raw) -> Self {
                Self(raw, PhantomData)
            }

            $(pub fn $method(self) -> $result {
                // SAFETY: the value's unit lives, and the library with it. Each call takes every value
                // of its type that libclang gives, null and invalid ones too.
                let made = unsafe { $call(self.0) };
                $(let made = $make(made);)?
                made
            })*
        })+
    };
}

/// Whether libclang says yes.
const fn yes(answer: u32) -> bool {
    answer != 0
}

of_unit! {
    /// Node of the syntax tree, or null.
    Cursor(CXCursor) {
        spelling: clang_getCursorSpelling => string, String;
        canonical: clang_getCanonicalCursor => Cursor::of, Cursor<'u>;
        referenced: clang_getCursorReferenced => Cursor::of, Cursor<'u>;
        semantic_parent: clang_getCursorSemanticParent => Cursor::of, Cursor<'u>;
        type_of: clang_getCursorType => Type::of, Type<'u>;
        result: clang_getCursorResultType => Type::of, Type<'u>;
        extent: clang_getCursorExtent => Range::of, Range<'u>;
        location: clang_getCursorLocation => Location::of, Location<'u>;
        linkage: clang_getCursorLinkage, CXLinkageKind;
        storage: clang_Cursor_getStorageClass, CX_StorageClass;
        thread_storage: clang_getCursorTLSKind, CXTLSKind;
        is_definition: clang_isCursorDefinition => yes, bool;
    }
    /// Type of a cursor.
    Type(CXType) {
        spelling: clang_getTypeSpelling => string, String;
        canonical: clang_getCanonicalType => Type::of, Type<'u>;
        element: clang_getArrayElementType => Type::of, Type<'u>;
        pointee: clang_getPointeeType => Type::of, Type<'u>;
        result: clang_getResultType => Type::of, Type<'u>;
        named: clang_Type_getNamedType => Type::of, Type<'u>;
        declaration: clang_getTypeDeclaration => Cursor::of, Cursor<'u>;
        size: clang_getArraySize, i64;
        is_const: clang_isConstQualifiedType => yes, bool;
        is_volatile: clang_isVolatileQualifiedType => yes, bool;
        is_variadic: clang_isFunctionTypeVariadic => yes, bool;
    }
    /// Piece of a file.
    Range(CXSourceRange) {
        start: clang_getRangeStart => Location::of, Location<'u>;
        end: clang_getRangeEnd => Location::of, Location<'u>;
    }
    /// Place in a file.
    Location(CXSourceLocation) {}
    /// File that a unit has read.
    File(CXFile) {
        name: clang_getFileName => string, String;
    }
}

extern "C" fn collect(
    cursor: CXCursor,
    _parent: CXCursor,
    all: CXClientData,
) -> CXChildVisitResult {
    // SAFETY: `children` passes its list, which no other reference names during the visit.
    unsafe { (*all.cast::<Vec<CXCursor>>()).push(cursor) };
    CXChildVisit_Continue
}

impl<'u> Cursor<'u> {
    pub const fn kind(self) -> CXCursorKind {
        self.0.kind
    }

    /// Whether it is a node; null is an invalid one.
    pub fn is_any(self) -> bool {
        !(CXCursor_InvalidFile..=CXCursor_InvalidCode).contains(&self.kind())
    }

    pub fn children(self) -> impl Iterator<Item = Cursor<'u>> + use<'u> {
        let mut all: Vec<CXCursor> = Vec::new();
        // SAFETY: the cursor's unit lives, and the list outlives the visit; `collect` expects it.
        unsafe { clang_visitChildren(self.0, collect, (&raw mut all).cast::<c_void>()) };
        all.into_iter().map(Cursor::of)
    }
}

impl Type<'_> {
    pub const fn kind(self) -> CXTypeKind {
        self.0.kind
    }

    /// A function's parameters.
    pub fn parameters(self) -> Vec<Self> {
        // SAFETY: the type's unit lives; of another type, libclang says -1.
        let many = unsafe { clang_getNumArgTypes(self.0) };
        let all = 0..u32::try_from(many).unwrap_or(0);
        // SAFETY: as above, and the type has more parameters than `number`.
        let all = all.map(|number| Self::of(unsafe { clang_getArgType(self.0, number) }));
        all.collect()
    }
}

impl<'u> Location<'u> {
    /// File, line, column and offset; no file for a place in none.
    pub fn parts(self) -> (Option<File<'u>>, u32, u32, u32) {
        let (mut file, mut line, mut column, mut at) = (ptr::null_mut(), 0, 0, 0);
        // SAFETY: the place's unit lives, and the results outlive the call.
        unsafe {
            clang_getFileLocation(
                self.0,
                &raw mut file,
                &raw mut line,
                &raw mut column,
                &raw mut at,
            );
        }
        let file = (!file.is_null()).then(|| File::of(file));
        (file, line, column, at)
    }
}

impl File<'_> {
    /// A number that no other file of the unit has.
    pub fn number(self) -> usize {
        self.0.addr()
    }
}
