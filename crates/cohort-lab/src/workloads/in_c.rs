//! A mutex and a delegated lock of `cohort.h`, called as in C programs.

use super::{CachePadded, Exclusion};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_int, c_void};
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
        let library = Library::open(library)?;
        let function = |name| {
            let found = library.function(name)?;
            // SAFETY: the header declares both so.
            Ok::<_, String>(unsafe { std::mem::transmute::<*mut c_void, Function>(found) })
        };
        Ok(Self {
            mutex: UnsafeCell::new(0),
            lock: function(c"cohort_mutex_lock")?,
            unlock: function(c"cohort_mutex_unlock")?,
        })
    }
}

/// A library that stays open.
struct Library<'a> {
    handle: *mut c_void,
    path: &'a Path,
}

impl<'a> Library<'a> {
    fn open(path: &'a Path) -> Result<Self, String> {
        let refused = |what: &str| format!("{}: {what}", path.display());
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| refused("a name with a zero byte"))?;
        // SAFETY: a file's name; its constructors are trusted as the library is.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err(refused("rejected by the loader"));
        }
        Ok(Self { handle, path })
    }

    fn function(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: of a library that stays open.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if found.is_null() {
            return Err(format!("{}: not a libcohort", self.path.display()));
        }
        Ok(found)
    }
}

type Run = unsafe extern "C" fn(*mut c_void);

type Delegate = unsafe extern "C" fn(*mut c_void, Run, *mut c_void) -> c_int;

/// `cohort_delegated_t` with its function.
pub struct DelegatedInC {
    lock: *mut c_void,
    delegate: Delegate,
}

// SAFETY: threads access the lock only by its function, which is thread-safe.
unsafe impl Sync for DelegatedInC {}

impl DelegatedInC {
    /// A free lock, with the functions of that shared library. It is never destroyed.
    ///
    /// # Errors
    /// As [`InC::open`], or there is no memory.
    pub fn open(library: &Path) -> Result<Self, String> {
        let library = Library::open(library)?;
        let new = library.function(c"cohort_delegated_new")?;
        let delegate = library.function(c"cohort_delegate")?;
        // SAFETY: the header declares both so.
        unsafe {
            let new = std::mem::transmute::<*mut c_void, extern "C" fn() -> *mut c_void>(new);
            let lock = new();
            if lock.is_null() {
                return Err("no memory for a delegated lock".to_owned());
            }
            Ok(Self {
                lock,
                delegate: std::mem::transmute::<*mut c_void, Delegate>(delegate),
            })
        }
    }
}

/// A section, and its result.
struct Call<F, R>(Option<F>, Option<R>);

/// Runs a section.
///
/// # Safety
/// The argument is a [`Call`] of these types.
unsafe extern "C" fn call<F: FnOnce() -> R, R>(argument: *mut c_void) {
    // SAFETY: the caller's.
    let Call(section, result) = unsafe { &mut *argument.cast::<Call<F, R>>() };
    *result = section.take().map(|section| section());
}

impl Exclusion for CachePadded<DelegatedInC> {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        fn of<F: FnOnce() -> R, R>(_: &Call<F, R>) -> Run {
            call::<F, R>
        }
        let mut whole = Call(Some(section), None);
        let run = of(&whole);
        // SAFETY: the lock is free or of this function; the section's thread waits for it.
        unsafe { (self.0.delegate)(self.0.lock, run, (&raw mut whole).cast()) };
        whole
            .1
            .unwrap_or_else(|| unreachable!("a section has run when its call returns"))
    }

    /// A C program passes its function and argument as they are.
    fn pairs(&self, (): &mut (), count: u32) {
        unsafe extern "C" fn nothing(_: *mut c_void) {}
        for _ in 0..count {
            // SAFETY: the lock is free or of this function.
            unsafe { (self.0.delegate)(self.0.lock, nothing, std::ptr::null_mut()) };
        }
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
