//! The part of Berkeley DB's C interface that the load uses. Its handles are tables of function
//! pointers with a layout known only to its header; this module calls the exported functions behind
//! them.

use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

const FILE: &str = "libdb-5.3.so";

/// Suffix that some builds append to exported names.
const UNIQUE: &str = "_5003";

const CREATE: c_uint = 0x1;
const THREAD: c_uint = 0x20;
const INIT_LOCK: c_uint = 0x100;
const INIT_MPOOL: c_uint = 0x400;
const PRIVATE: c_uint = 0x10000;
const BTREE: c_int = 1;
const USER_MEMORY: c_uint = 0x800;
const NOT_FOUND: c_int = -30_988;

/// Cache for all data, so that nothing goes to disk.
const CACHE_BYTES: c_uint = 64 << 20;

/// Movement of a cursor.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Move {
    /// Go to the next record.
    Next = 16,
    /// Go to the record before.
    Previous = 23,
    /// Go to the least key not below the given one.
    Range = 27,
}

/// Key or record, in the caller's memory.
#[repr(C)]
struct Thing {
    data: *mut c_void,
    size: c_uint,
    room: c_uint,
    part_length: c_uint,
    part_offset: c_uint,
    application: *mut c_void,
    flags: c_uint,
}

impl Thing {
    fn new(bytes: &mut [u8], size: usize) -> Self {
        Self {
            data: bytes.as_mut_ptr().cast(),
            size: size as c_uint,
            room: bytes.len() as c_uint,
            part_length: 0,
            part_offset: 0,
            application: ptr::null_mut(),
            flags: USER_MEMORY,
        }
    }
}

type Handle = *mut c_void;

/// The loaded library.
pub struct Functions {
    env_create: unsafe extern "C" fn(*mut Handle, c_uint) -> c_int,
    env_cache: unsafe extern "C" fn(Handle, c_uint, c_uint, c_int) -> c_int,
    env_open: unsafe extern "C" fn(Handle, *const c_char, c_uint, c_int) -> c_int,
    env_close: unsafe extern "C" fn(Handle, c_uint) -> c_int,
    db_create: unsafe extern "C" fn(*mut Handle, Handle, c_uint) -> c_int,
    db_open: unsafe extern "C" fn(
        Handle,
        Handle,
        *const c_char,
        *const c_char,
        c_int,
        c_uint,
        c_int,
    ) -> c_int,
    db_put: unsafe extern "C" fn(Handle, Handle, *mut Thing, *mut Thing, c_uint) -> c_int,
    db_get: unsafe extern "C" fn(Handle, Handle, *mut Thing, *mut Thing, c_uint) -> c_int,
    db_cursor: unsafe extern "C" fn(Handle, Handle, *mut Handle, c_uint) -> c_int,
    db_close: unsafe extern "C" fn(Handle, c_uint) -> c_int,
    cursor_get: unsafe extern "C" fn(Handle, *mut Thing, *mut Thing, c_uint) -> c_int,
    cursor_close: unsafe extern "C" fn(Handle) -> c_int,
    explain: unsafe extern "C" fn(c_int) -> *const c_char,
    _library: Library,
}

/// Loads the library.
///
/// # Errors
/// The reason why it cannot be loaded, and the package to install.
pub fn load() -> Result<Functions, String> {
    // SAFETY: the library's constructors change only its own state.
    let library = unsafe { Library::new(FILE) }
        .map_err(|_| format!("Berkeley DB 5.3 ({FILE}) is missing; on Debian, install libdb5.3"))?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: each field's type is that of the function in Berkeley DB 5.3's header or
            // source; the file's name says 5.3.
            *unsafe { symbol(&library, $name) }?
        };
    }
    Ok(Functions {
        env_create: function!("db_env_create"),
        env_cache: function!("__memp_set_cachesize"),
        env_open: function!("__env_open_pp"),
        env_close: function!("__env_close_pp"),
        db_create: function!("db_create"),
        db_open: function!("__db_open_pp"),
        db_put: function!("__db_put_pp"),
        db_get: function!("__db_get_pp"),
        db_cursor: function!("__db_cursor_pp"),
        db_close: function!("__db_close_pp"),
        cursor_get: function!("__dbc_get_pp"),
        cursor_close: function!("__dbc_close_pp"),
        explain: function!("db_strerror"),
        _library: library,
    })
}

/// # Safety
/// `T` is the type of the function called `name`.
unsafe fn symbol<'a, T>(library: &'a Library, name: &str) -> Result<Symbol<'a, T>, String> {
    // SAFETY: the caller's type.
    let plain = unsafe { library.get(name.as_bytes()) };
    plain
        .or_else(|_| {
            // SAFETY: the caller's type.
            unsafe { library.get(format!("{name}{UNIQUE}").as_bytes()) }
        })
        .map_err(|_| format!("this {FILE} does not export {name}; use version 5.3"))
}

impl Functions {
    fn accepted(&self, status: c_int, what: &str) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library returns a C string for every number; it is copied immediately.
        let why = unsafe { CStr::from_ptr((self.explain)(status)) };
        Err(format!(
            "Berkeley DB: cannot {what}: {}",
            why.to_string_lossy()
        ))
    }
}

/// A private environment in memory, for many threads.
pub struct Environment<'a> {
    functions: &'a Functions,
    handle: Handle,
}

impl<'a> Environment<'a> {
    /// Creates the environment.
    ///
    /// # Errors
    /// The library's error.
    pub fn open(functions: &'a Functions) -> Result<Self, String> {
        let mut handle = ptr::null_mut();
        // SAFETY: the place is writable.
        let status = unsafe { (functions.env_create)(&raw mut handle, 0) };
        functions.accepted(status, "make an environment")?;
        let environment = Self { functions, handle };
        let flags = CREATE | PRIVATE | THREAD | INIT_LOCK | INIT_MPOOL;
        // SAFETY: the environment is created and not open yet; a null home is the current folder,
        // in which a private environment writes nothing.
        let status = unsafe {
            match (functions.env_cache)(handle, 0, CACHE_BYTES, 1) {
                0 => (functions.env_open)(handle, ptr::null(), flags, 0),
                refused => refused,
            }
        };
        functions.accepted(status, "open an environment")?;
        Ok(environment)
    }

    /// Creates a table in memory.
    ///
    /// # Errors
    /// The library's error.
    pub fn table(&'a self) -> Result<Table<'a>, String> {
        let functions = self.functions;
        let mut handle = ptr::null_mut();
        // SAFETY: the place is writable and the environment open.
        let status = unsafe { (functions.db_create)(&raw mut handle, self.handle, 0) };
        functions.accepted(status, "make a table")?;
        let table = Table { functions, handle };
        // SAFETY: the table is created and not open yet; without file and name it is in memory.
        let status = unsafe {
            (functions.db_open)(
                handle,
                ptr::null_mut(),
                ptr::null(),
                ptr::null(),
                BTREE,
                CREATE | THREAD,
                0,
            )
        };
        functions.accepted(status, "open a table")?;
        Ok(table)
    }
}

impl Drop for Environment<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `open`; its tables borrow it, so they are closed.
        unsafe { (self.functions.env_close)(self.handle, 0) };
    }
}

/// An ordered table from keys of twelve bytes to records of eight.
pub struct Table<'a> {
    functions: &'a Functions,
    handle: Handle,
}

// SAFETY: the table and its environment are opened for use by many threads.
unsafe impl Sync for Table<'_> {}

impl Table<'_> {
    /// Inserts a record.
    ///
    /// # Errors
    /// The library's error.
    pub fn put(&self, mut key: [u8; 12], mut record: [u8; 8]) -> Result<(), String> {
        let mut key = Thing::new(&mut key, 12);
        let mut record = Thing::new(&mut record, 8);
        // SAFETY: both have the stated lengths.
        let status = unsafe {
            (self.functions.db_put)(
                self.handle,
                ptr::null_mut(),
                &raw mut key,
                &raw mut record,
                0,
            )
        };
        self.functions.accepted(status, "put a record")
    }

    /// The record of a key, if any.
    ///
    /// # Errors
    /// The library's error.
    pub fn get(&self, mut key: [u8; 12]) -> Result<Option<[u8; 8]>, String> {
        let mut record = [0; 8];
        let mut wanted = Thing::new(&mut key, 12);
        let mut found = Thing::new(&mut record, 0);
        // SAFETY: both have the stated room.
        let status = unsafe {
            (self.functions.db_get)(
                self.handle,
                ptr::null_mut(),
                &raw mut wanted,
                &raw mut found,
                0,
            )
        };
        if status == NOT_FOUND {
            return Ok(None);
        }
        self.functions
            .accepted(status, "get a record")
            .map(|()| Some(record))
    }

    /// A cursor without a position.
    ///
    /// # Errors
    /// The library's error.
    pub fn cursor(&self) -> Result<Cursor<'_>, String> {
        let mut handle = ptr::null_mut();
        // SAFETY: the table is open and the place writable.
        let status =
            unsafe { (self.functions.db_cursor)(self.handle, ptr::null_mut(), &raw mut handle, 0) };
        self.functions.accepted(status, "make a cursor")?;
        Ok(Cursor {
            functions: self.functions,
            handle,
        })
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        // SAFETY: made with the table; its cursors borrow it, so they are closed.
        unsafe { (self.functions.db_close)(self.handle, 0) };
    }
}

/// Position in a table.
pub struct Cursor<'a> {
    functions: &'a Functions,
    handle: Handle,
}

impl Cursor<'_> {
    /// Moves the cursor; `key` is the start of a range. Returns the key and the record at the new
    /// position, if any.
    ///
    /// # Errors
    /// The library's error.
    pub fn go(&mut self, how: Move, mut key: [u8; 12]) -> Result<Option<KeyAndRecord>, String> {
        let mut record = [0; 8];
        let mut at = Thing::new(&mut key, 12);
        let mut found = Thing::new(&mut record, 0);
        // SAFETY: both have the stated room.
        let status = unsafe {
            (self.functions.cursor_get)(self.handle, &raw mut at, &raw mut found, how as c_uint)
        };
        if status == NOT_FOUND {
            return Ok(None);
        }
        self.functions
            .accepted(status, "move a cursor")
            .map(|()| Some((key, record)))
    }
}

/// A key and its record.
pub type KeyAndRecord = ([u8; 12], [u8; 8]);

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `Table::cursor` and closed only here.
        unsafe { (self.functions.cursor_close)(self.handle) };
    }
}
