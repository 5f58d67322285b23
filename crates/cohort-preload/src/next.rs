//! The C library's own functions, for what it is left to serve.  They are looked
//! up at first use: looking up is safe from the first constructor on, and a
//! program that needs none of them never does.

use crate::layout::{Attr, Cond, Mutex, RwLock, Spin};
use crate::libc::{RTLD_NEXT, Timespec, dlsym, dlvsym, keeping_errno, say_texts};
use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Finds a function of the C library, in the version that today's headers name.
pub fn find(name: &CStr, version: Option<&CStr>) -> *mut () {
    let mut found = ptr::null_mut();
    // SAFETY: the names are strings; the handle is the documented constant.
    unsafe {
        if let Some(version) = version {
            found = dlvsym(RTLD_NEXT, name.as_ptr(), version.as_ptr());
        }
        if found.is_null() {
            found = dlsym(RTLD_NEXT, name.as_ptr());
        }
    }
    if found.is_null() {
        let name = name.to_str().unwrap_or("such function");
        say_texts(&["cohort: the C library has no ", name, "\n"]);
        // SAFETY: ends the process; there is nobody to serve the call.
        unsafe { crate::libc::abort() }
    }
    found.cast()
}

/// Versions that must be named, because the plain name may mean an ancient one.
const NAMED: [(&CStr, &CStr); 6] = [
    (c"pthread_cond_init", VERSION),
    (c"pthread_cond_destroy", VERSION),
    (c"pthread_cond_wait", VERSION),
    (c"pthread_cond_timedwait", VERSION),
    (c"pthread_cond_signal", VERSION),
    (c"pthread_cond_broadcast", VERSION),
];
#[cfg(target_arch = "x86_64")]
const VERSION: &CStr = c"GLIBC_2.3.2";
#[cfg(target_arch = "aarch64")]
const VERSION: &CStr = c"GLIBC_2.17";

/// The function of that name, looked up unless it was `found` before; once for all of them.
#[inline(never)]
fn known(found: &AtomicPtr<()>, name: &CStr) -> *mut () {
    let mut function = found.load(Ordering::Relaxed);
    if function.is_null() {
        let version = NAMED
            .iter()
            .find(|(named, _)| *named == name)
            .map(|(_, version)| *version);
        function = keeping_errno(|| find(name, version));
        found.store(function, Ordering::Relaxed);
    }
    function
}

macro_rules! next {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)+) => {
        $(/// The C library's function of that name.
        ///
        /// # Safety
        /// As that function asks.
        #[cold]
        #[inline(never)]
        pub unsafe fn $name($($argument: $type),*) -> c_int {
            static FOUND: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            };
            let function = known(&FOUND, NAME);
            // SAFETY: the C library's function of that name has this signature;
            // the caller vouches for the arguments.
            unsafe {
                core::mem::transmute::<*mut (), unsafe extern "C" fn($($type),*) -> c_int>(
                    function,
                )($($argument),*)
            }
        })+
    };
}

next! {
    fn pthread_mutex_init(mutex: *mut Mutex, attributes: Attr);
    fn pthread_mutex_destroy(mutex: *mut Mutex);
    fn pthread_mutex_lock(mutex: *mut Mutex);
    fn pthread_mutex_trylock(mutex: *mut Mutex);
    fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const Timespec);
    fn pthread_mutex_clocklock(mutex: *mut Mutex, clock: c_int, at: *const Timespec);
    fn pthread_mutex_unlock(mutex: *mut Mutex);
    fn pthread_cond_init(cond: *mut Cond, attributes: Attr);
    fn pthread_cond_destroy(cond: *mut Cond);
    fn pthread_cond_wait(cond: *mut Cond, mutex: *mut Mutex);
    fn pthread_cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const Timespec);
    fn pthread_cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: c_int, at: *const Timespec);
    fn pthread_cond_signal(cond: *mut Cond);
    fn pthread_cond_broadcast(cond: *mut Cond);
    fn pthread_rwlock_init(lock: *mut RwLock, attributes: Attr);
    fn pthread_rwlock_destroy(lock: *mut RwLock);
    fn pthread_rwlock_rdlock(lock: *mut RwLock);
    fn pthread_rwlock_tryrdlock(lock: *mut RwLock);
    fn pthread_rwlock_timedrdlock(lock: *mut RwLock, at: *const Timespec);
    fn pthread_rwlock_clockrdlock(lock: *mut RwLock, clock: c_int, at: *const Timespec);
    fn pthread_rwlock_wrlock(lock: *mut RwLock);
    fn pthread_rwlock_trywrlock(lock: *mut RwLock);
    fn pthread_rwlock_timedwrlock(lock: *mut RwLock, at: *const Timespec);
    fn pthread_rwlock_clockwrlock(lock: *mut RwLock, clock: c_int, at: *const Timespec);
    fn pthread_rwlock_unlock(lock: *mut RwLock);
    fn pthread_spin_init(lock: *mut Spin, shared: c_int);
    fn pthread_spin_destroy(lock: *mut Spin);
    fn pthread_spin_lock(lock: *mut Spin);
    fn pthread_spin_trylock(lock: *mut Spin);
    fn pthread_spin_unlock(lock: *mut Spin);
}
