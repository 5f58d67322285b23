//! The part of SQLite that the load uses. Threads share a connection, which SQLite's serialised
//! mode allows and Rust's usual wrapper does not.

use libsqlite3_sys as sqlite;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

/// Timeout of a connection for another one's write, in milliseconds.
const PATIENCE: c_int = 10_000;

/// Connection in serialised mode.
pub struct Database(*mut sqlite::sqlite3);

// SAFETY: SQLite is compiled and opened in its serialised mode, where any thread may use a
// connection at any time. A connection's last error is used for messages only.
unsafe impl Sync for Database {}
// SAFETY: a connection is not bound to a thread.
unsafe impl Send for Database {}

impl Database {
    /// Opens or creates the database called `name`.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn open(name: &str) -> Result<Self, String> {
        // SAFETY: no arguments.
        if unsafe { sqlite::sqlite3_threadsafe() } != 1 {
            return Err("SQLite was compiled without serialised mode".to_owned());
        }
        let name =
            CString::new(name).map_err(|_| "a database name contains a zero byte".to_owned())?;
        let flags = sqlite::SQLITE_OPEN_READWRITE
            | sqlite::SQLITE_OPEN_CREATE
            | sqlite::SQLITE_OPEN_URI
            | sqlite::SQLITE_OPEN_FULLMUTEX;
        let mut connection = ptr::null_mut();
        // SAFETY: the name is a C string, and the place is writable; a null VFS is the default one.
        let status = unsafe {
            sqlite::sqlite3_open_v2(name.as_ptr(), &raw mut connection, flags, ptr::null())
        };
        let database = Self(connection);
        if status != sqlite::SQLITE_OK {
            return Err(database.complaint("cannot open the database"));
        }
        // SAFETY: the connection is open.
        unsafe { sqlite::sqlite3_busy_timeout(database.0, PATIENCE) };
        Ok(database)
    }

    /// Runs statements without results.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn execute(&self, statements: &str) -> Result<(), String> {
        let text =
            CString::new(statements).map_err(|_| "a statement contains a zero byte".to_owned())?;
        // SAFETY: the connection is open and the text is a C string; no callback and no message are
        // requested.
        let status = unsafe {
            sqlite::sqlite3_exec(
                self.0,
                text.as_ptr(),
                None,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        if status == sqlite::SQLITE_OK {
            Ok(())
        } else {
            Err(self.complaint(statements))
        }
    }

    /// Creates the load's table, with keys from 0 to below `rows`.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn fill(&self, rows: u32) -> Result<(), String> {
        self.execute(&format!(
            "CREATE TABLE load (key INTEGER PRIMARY KEY, value INTEGER NOT NULL);
             WITH RECURSIVE each (key) AS
                 (VALUES (0) UNION ALL SELECT key + 1 FROM each WHERE key + 1 < {rows})
             INSERT INTO load SELECT key, key * 3 FROM each"
        ))
    }

    fn complaint(&self, what: &str) -> String {
        // SAFETY: SQLite returns a C string even for a null connection; it is copied immediately.
        let why = unsafe { CStr::from_ptr(sqlite::sqlite3_errmsg(self.0)) };
        format!("SQLite: {what}: {}", why.to_string_lossy())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: every query borrows the database, so all have been finalised.
        unsafe { sqlite::sqlite3_close(self.0) };
    }
}

/// Prepared query with a key.
pub struct Query<'a> {
    database: &'a Database,
    statement: *mut sqlite::sqlite3_stmt,
}

impl<'a> Query<'a> {
    /// Reads the value of a key.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn read(database: &'a Database) -> Result<Self, String> {
        Self::new(database, c"SELECT value FROM load WHERE key = ?1")
    }

    /// Changes the value of a key.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn write(database: &'a Database) -> Result<Self, String> {
        Self::new(
            database,
            c"UPDATE load SET value = value + 1 WHERE key = ?1",
        )
    }

    fn new(database: &'a Database, text: &CStr) -> Result<Self, String> {
        let mut statement = ptr::null_mut();
        loop {
            // SAFETY: the connection is open, the text a C string and the place writable; the rest
            // of the text is not requested.
            let status = unsafe {
                sqlite::sqlite3_prepare_v2(
                    database.0,
                    text.as_ptr(),
                    -1,
                    &raw mut statement,
                    ptr::null_mut(),
                )
            };
            match status {
                sqlite::SQLITE_OK => break,
                // Connections with a shared cache lock each other's schema, and do not wait by
                // themselves.
                sqlite::SQLITE_LOCKED => std::thread::yield_now(),
                _ => return Err(database.complaint(&text.to_string_lossy())),
            }
        }
        Ok(Self {
            database,
            statement,
        })
    }

    /// Runs the query for `key`, repeatedly while another connection to the same cache holds the
    /// table.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn run(&self, key: u32) -> Result<(), String> {
        loop {
            // SAFETY: the statement is prepared, has one parameter, and only this thread uses it.
            let (found, ended) = unsafe {
                sqlite::sqlite3_bind_int64(self.statement, 1, i64::from(key));
                (
                    sqlite::sqlite3_step(self.statement),
                    sqlite::sqlite3_reset(self.statement),
                )
            };
            match (found, ended & 0xFF) {
                (sqlite::SQLITE_ROW | sqlite::SQLITE_DONE, sqlite::SQLITE_OK) => return Ok(()),
                (_, sqlite::SQLITE_LOCKED) => std::thread::yield_now(),
                _ => return Err(self.database.complaint("the query failed")),
            }
        }
    }
}

impl Drop for Query<'_> {
    fn drop(&mut self) {
        // SAFETY: prepared in `new` and finalised only here.
        unsafe { sqlite::sqlite3_finalize(self.statement) };
    }
}
