//! Locks of C and C++ libraries, by the tables in `shim`.

use cohort_lab::workloads::{Exclusion, Sharing};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Functions of a lock, as in `shim/peer.h`.
#[repr(C)]
pub struct Table {
    lock_bytes: usize,
    token_bytes: usize,
    make: unsafe extern "C" fn(*mut c_void),
    join: unsafe extern "C" fn(*mut c_void, *mut c_void),
    take: unsafe extern "C" fn(*mut c_void, *mut c_void),
    give: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pairs: unsafe extern "C" fn(*mut c_void, *mut c_void, u32),
}

/// A table, if its library was present at build time.
macro_rules! table {
    ($library:literal, $symbol:ident, $table:ident) => {{
        #[cfg(peer = $library)]
        {
            unsafe extern "C" {
                static $symbol: $crate::foreign::$table;
            }
            // SAFETY: the shim defines it, as this type, and never writes it.
            Some(unsafe { &$symbol })
        }
        #[cfg(not(peer = $library))]
        {
            None::<&'static $crate::foreign::$table>
        }
    }};
}

pub(crate) use table;

/// One lock.
pub struct Foreign {
    table: &'static Table,
    lock: *mut c_void,
}

/// State of a thread.
pub struct Token(*mut c_void);

// SAFETY: a C lock supports concurrent use through one pointer.
unsafe impl Sync for Foreign {}

/// Zeroed cache lines of their own, never freed: queue nodes of some locks move between threads.
fn lines(bytes: usize) -> *mut c_void {
    #[repr(align(128))]
    struct ZeroedLine(#[allow(dead_code, reason = "gives the size")] [u8; 128]);
    let lines: Box<[MaybeUninit<ZeroedLine>]> = Box::new_zeroed_slice(bytes.div_ceil(128).max(1));
    Box::leak(lines).as_mut_ptr().cast()
}

impl Foreign {
    /// A free lock.
    pub fn new(table: &'static Table) -> Self {
        let lock = lines(table.lock_bytes);
        // SAFETY: the memory has the table's size, aligned for any type.
        unsafe { (table.make)(lock) };
        Self { table, lock }
    }
}

impl Exclusion for Foreign {
    type Token = Token;

    fn token(&self) -> Token {
        let token = lines(self.table.token_bytes);
        // SAFETY: the lock is initialised, and the token's memory has the required size.
        unsafe { (self.table.join)(self.lock, token) };
        Token(token)
    }

    #[inline]
    fn with<R>(&self, token: &mut Token, section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialised, and the token has joined it.
        unsafe { (self.table.take)(self.lock, token.0) };
        let result = section();
        // SAFETY: acquired above, by this thread, with this token.
        unsafe { (self.table.give)(self.lock, token.0) };
        result
    }

    #[inline]
    fn pairs(&self, token: &mut Token, count: u32) {
        // SAFETY: as in `with`; each release follows its acquisition.
        unsafe { (self.table.pairs)(self.lock, token.0, count) };
    }
}

/// Functions of a rwlock, as in `shim/peer.h`.
#[repr(C)]
pub struct SharedTable {
    bytes: usize,
    make: unsafe extern "C" fn(*mut c_void),
    read: unsafe extern "C" fn(*mut c_void),
    end_read: unsafe extern "C" fn(*mut c_void),
    write: unsafe extern "C" fn(*mut c_void),
    end_write: unsafe extern "C" fn(*mut c_void),
}

/// One rwlock.
pub struct ForeignShared {
    table: &'static SharedTable,
    lock: *mut c_void,
}

// SAFETY: as for `Foreign`.
unsafe impl Sync for ForeignShared {}

impl ForeignShared {
    /// A free rwlock.
    pub fn new(table: &'static SharedTable) -> Self {
        let lock = lines(table.bytes);
        // SAFETY: the memory has the table's size, aligned for any type.
        unsafe { (table.make)(lock) };
        Self { table, lock }
    }
}

impl Sharing for ForeignShared {
    #[inline]
    fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialised.
        unsafe { (self.table.read)(self.lock) };
        let result = section();
        // SAFETY: acquired above, by this thread.
        unsafe { (self.table.end_read)(self.lock) };
        result
    }

    #[inline]
    fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialised.
        unsafe { (self.table.write)(self.lock) };
        let result = section();
        // SAFETY: acquired above, by this thread.
        unsafe { (self.table.end_write)(self.lock) };
        result
    }
}
