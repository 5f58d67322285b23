//! A mutex of `cohort.h`, called as in C programs.

use super::{CachePadded, Exclusion};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

type Function = unsafe extern "C" fn(*mut u64) -> c_int;

/// `cohort_mutex_t` with its functions.
pub struct InC {
    mutex: UnsafeCell<u64>,
    lock: Function,
    unlock: Function,
}

// SAFETY: threads access the mutex only by its functions, which are thread-safe.
unsafe impl Sync for InC {}

impl InC {
    /// An unlocked mutex, with the functions of that shared library.
    ///
    /// # Errors
    /// The loader refuses the file, or the file lacks the functions.
    pub fn open(library: &Path) -> Result<Self, String> {
        let refused = |what: &str| format!("{}: {what}", library.display());
        let name = CString::new(library.as_os_str().as_bytes())
            .map_err(|_| refused("a name with a zero byte"))?;
        // SAFETY: a file's name; its constructors are trusted as the library is.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err(refused("rejected by the loader"));
        }
        let function = |name: &'static core::ffi::CStr| {
            // SAFETY: of a library that stays open.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() {
                return Err(refused("not a libcohort"));
            }
            // SAFETY: the header declares both so.
            Ok(unsafe { std::mem::transmute::<*mut c_void, Function>(found) })
        };
        Ok(Self {
            mutex: UnsafeCell::new(0),
            lock: function(c"cohort_mutex_lock")?,
            unlock: function(c"cohort_mutex_unlock")?,
        })
    }
}

impl Exclusion for CachePadded<InC> {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        let InC {
            mutex,
            lock,
            unlock,
        } = &self.0;
        // SAFETY: eight zero bytes are a mutex.
        unsafe { lock(mutex.get()) };
        let result = section();
        // SAFETY: locked above, by this thread.
        unsafe { unlock(mutex.get()) };
        result
    }
}
