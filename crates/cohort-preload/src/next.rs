//! The C library's own functions. Looked up when the library is loaded, or by an earlier first
//! call: a lookup takes the loader's lock, and its holder may wait for a lock of the caller.

use crate::layout::{Attr, Cond, Mutex, RwLock, Spin};
use crate::libc::{
    Attributes, Cleanup, RTLD_NEXT, Timespec, dlsym, dlvsym, keeping_errno, say_texts,
};
use cohort::door::{Image, SchedParam, set_libc};
use core::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Functions that are looked up together.
pub struct Table {
    /// Their names, each ended by zero.
    pub names: &'static str,
    /// The functions, in the same order; null before the lookup, and where the C library lacks one.
    pub functions: &'static [AtomicPtr<()>],
    /// The first `versioned` names are looked up by [`VERSION`], since the plain name may be an
    /// ancient function.
    pub versioned: usize,
    /// The first `next` names resolve to their next definition, which may be another preloaded
    /// library's. The others always resolve to the C library's.
    pub next: usize,
}

#[cfg(target_arch = "x86_64")]
const VERSION: &CStr = c"GLIBC_2.3.2";
#[cfg(target_arch = "aarch64")]
const VERSION: &CStr = c"GLIBC_2.17";

impl Table {
    /// Looks up all functions.
    #[cold]
    #[inline(never)]
    pub fn fill(&self) {
        let libc = libc();
        for (place, (function, name)) in self.functions.iter().zip(self.names()).enumerate() {
            let own = libc.filter(|_| place >= self.next);
            let found = own.and_then(|libc| libc.find(name));
            let found = found.unwrap_or_else(|| {
                let mut found = ptr::null_mut();
                // SAFETY: the names are strings; the handle is the documented constant.
                unsafe {
                    if place < self.versioned {
                        found = dlvsym(RTLD_NEXT, name.as_ptr(), VERSION.as_ptr());
                    }
                    if found.is_null() {
                        found = dlsym(RTLD_NEXT, name.as_ptr());
                    }
                }
                found.cast()
            });
            function.store(found, Ordering::Relaxed);
        }
    }

    /// Their names, in order.
    fn names(&self) -> impl Iterator<Item = &'static CStr> {
        let mut at = self.names.as_ptr();
        core::iter::from_fn(move || {
            // SAFETY: each name ends with a zero, and callers take at most as many as there are.
            let name = unsafe { CStr::from_ptr(at.cast()) };
            at = at.wrapping_add(name.count_bytes() + 1);
            Some(name)
        })
    }

    /// The function at that index.
    #[inline(always)]
    pub fn at(&self, place: usize) -> *mut () {
        let function = self.functions[place].load(Ordering::Relaxed);
        if function.is_null() {
            self.late(place)
        } else {
            function
        }
    }

    #[cold]
    #[inline(never)]
    fn late(&self, place: usize) -> *mut () {
        look_up();
        let function = self.functions[place].load(Ordering::Relaxed);
        if function.is_null() {
            let name = self.names().nth(place).and_then(|name| name.to_str().ok());
            say_texts(&[
                "cohort: the C library has no ",
                name.unwrap_or_default(),
                "\n",
            ]);
            // SAFETY: ends the process; nothing can serve the call.
            unsafe { crate::libc::abort() }
        }
        function
    }
}

/// Whether [`look_up`] has run.
pub fn is_ready() -> bool {
    !TABLE.functions[0].load(Ordering::Relaxed).is_null()
}

/// Looks up all functions that this library uses.
#[cold]
#[inline(never)]
pub fn look_up() {
    keeping_errno(|| {
        TABLE.fill();
        #[cfg(feature = "observe")]
        observed::TABLE.fill();
        // SAFETY: the C library's functions.
        unsafe { set_libc(pthread_self, pthread_getcpuclockid, pthread_getschedparam) };
    });
}

/// The C library's image.
fn libc() -> Option<Image> {
    /// `struct r_debug`.
    #[repr(C)]
    struct Loaded {
        _version: c_int,
        first: *const Object,
    }
    /// `struct link_map`.
    #[repr(C)]
    struct Object {
        bias: usize,
        path: *const c_char,
        dynamic: *const [usize; 2],
        next: *const Object,
    }
    unsafe extern "C" {
        /// The loaded objects, in load order.
        static _r_debug: Loaded;
    }
    // SAFETY: the objects up to the C library were loaded before the program began, and stay.
    unsafe {
        let mut object = _r_debug.first;
        while let Some(known) = object.as_ref() {
            let path = CStr::from_ptr(known.path).to_bytes();
            if path.ends_with(b"/libc.so.6") {
                return Image::new(known.bias, known.dynamic);
            }
            object = known.next;
        }
    }
    None
}

/// Declares a table's functions, as callers of the table.
macro_rules! functions {
    (
        versioned { $(fn $old:ident($($a:ident: $at:ty),*) -> $ar:ty;)* }
        next { $(fn $name:ident($($b:ident: $bt:ty),*) -> $br:ty;)* }
        own { $(fn $own:ident($($c:ident: $ct:ty),*) -> $cr:ty;)* }
    ) => {
        #[allow(non_camel_case_types, reason = "the C library's names")]
        #[derive(Clone, Copy)]
        enum TableIndex { $($old,)* $($name,)* $($own,)* End }

        /// The functions of this module.
        pub static TABLE: $crate::next::Table = {
            static FUNCTIONS: [AtomicPtr<()>; TableIndex::End as usize] =
                [const { AtomicPtr::new(ptr::null_mut()) }; TableIndex::End as usize];
            const VERSIONED: usize = <[&str]>::len(&[$(stringify!($old)),*]);
            $crate::next::Table {
                names: concat!(
                    $(stringify!($old), "\0",)* $(stringify!($name), "\0",)*
                    $(stringify!($own), "\0",)*
                ),
                functions: &FUNCTIONS,
                versioned: VERSIONED,
                next: VERSIONED + <[&str]>::len(&[$(stringify!($name)),*]),
            }
        };

        $(functions!(@one $old($($a: $at),*) -> $ar);)*
        $(functions!(@one $name($($b: $bt),*) -> $br);)*
        $(functions!(@one $own($($c: $ct),*) -> $cr);)*
    };
    (@one $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        /// The C library's function of that name.
        ///
        /// # Safety
        /// As that function asks.
        #[cold]
        #[inline(never)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let function = TABLE.at(TableIndex::$name as usize);
            // SAFETY: the C library's function of that name has this signature; the caller promises
            // the arguments.
            unsafe {
                core::mem::transmute::<*mut (), unsafe extern "C" fn($($type),*) -> $result>(
                    function,
                )($($argument),*)
            }
        }
    };
}

functions! {
    versioned {
        fn pthread_cond_init(cond: *mut Cond, attributes: Attr) -> c_int;
        fn pthread_cond_destroy(cond: *mut Cond) -> c_int;
        fn pthread_cond_wait(cond: *mut Cond, mutex: *mut Mutex) -> c_int;
        fn pthread_cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const Timespec) -> c_int;
        fn pthread_cond_signal(cond: *mut Cond) -> c_int;
        fn pthread_cond_broadcast(cond: *mut Cond) -> c_int;
    }
    next {
        fn pthread_cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: c_int, at: *const Timespec) -> c_int;
        fn pthread_mutex_init(mutex: *mut Mutex, attributes: Attr) -> c_int;
        fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int;
        fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int;
        fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int;
        fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const Timespec) -> c_int;
        fn pthread_mutex_clocklock(mutex: *mut Mutex, clock: c_int, at: *const Timespec) -> c_int;
        fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int;
        fn pthread_rwlock_init(lock: *mut RwLock, attributes: Attr) -> c_int;
        fn pthread_rwlock_destroy(lock: *mut RwLock) -> c_int;
        fn pthread_rwlock_rdlock(lock: *mut RwLock) -> c_int;
        fn pthread_rwlock_tryrdlock(lock: *mut RwLock) -> c_int;
        fn pthread_rwlock_timedrdlock(lock: *mut RwLock, at: *const Timespec) -> c_int;
        fn pthread_rwlock_clockrdlock(lock: *mut RwLock, clock: c_int, at: *const Timespec) -> c_int;
        fn pthread_rwlock_wrlock(lock: *mut RwLock) -> c_int;
        fn pthread_rwlock_trywrlock(lock: *mut RwLock) -> c_int;
        fn pthread_rwlock_timedwrlock(lock: *mut RwLock, at: *const Timespec) -> c_int;
        fn pthread_rwlock_clockwrlock(lock: *mut RwLock, clock: c_int, at: *const Timespec) -> c_int;
        fn pthread_rwlock_unlock(lock: *mut RwLock) -> c_int;
        fn pthread_spin_init(lock: *mut Spin, shared: c_int) -> c_int;
        fn pthread_spin_destroy(lock: *mut Spin) -> c_int;
        fn pthread_spin_lock(lock: *mut Spin) -> c_int;
        fn pthread_spin_trylock(lock: *mut Spin) -> c_int;
        fn pthread_spin_unlock(lock: *mut Spin) -> c_int;
        fn prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int;
        fn syscall(number: c_long, first: usize, second: usize, third: usize, fourth: usize, fifth: usize, sixth: usize) -> c_long;
    }
    own {
        fn pthread_self() -> usize;
        fn pthread_getcpuclockid(thread: usize, clock: *mut c_int) -> c_int;
        fn pthread_getschedparam(thread: usize, policy: *mut c_int, parameters: *mut SchedParam) -> c_int;
        fn pthread_mutexattr_gettype(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_mutexattr_getpshared(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_mutexattr_getprotocol(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_mutexattr_getrobust(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_condattr_init(attributes: *mut Attributes) -> c_int;
        fn pthread_condattr_setpshared(attributes: *mut Attributes, shared: c_int) -> c_int;
        fn pthread_condattr_setclock(attributes: *mut Attributes, clock: c_int) -> c_int;
        fn pthread_condattr_getclock(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_condattr_getpshared(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_rwlockattr_getpshared(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_rwlockattr_getkind_np(attributes: Attr, out: *mut c_int) -> c_int;
        fn pthread_setcanceltype(new: c_int, old: *mut c_int) -> c_int;
        fn _pthread_cleanup_push(buffer: *mut Cleanup, routine: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) -> ();
        fn _pthread_cleanup_pop(buffer: *mut Cleanup, execute: c_int) -> ();
    }
}

/// Additional functions for the observing library.
#[cfg(feature = "observe")]
pub mod observed {
    use crate::layout::Attr;
    use crate::libc::Timespec;
    use core::ffi::{c_int, c_uint, c_void};
    use core::ptr;
    use core::sync::atomic::AtomicPtr;

    functions! {
        versioned {}
        next {
            fn pthread_join(thread: usize, value: *mut *mut c_void) -> c_int;
            fn pthread_tryjoin_np(thread: usize, value: *mut *mut c_void) -> c_int;
            fn pthread_timedjoin_np(thread: usize, value: *mut *mut c_void, at: *const Timespec) -> c_int;
            fn pthread_clockjoin_np(thread: usize, value: *mut *mut c_void, clock: c_int, at: *const Timespec) -> c_int;
            fn pthread_create(thread: *mut usize, attributes: Attr, routine: usize, argument: usize) -> c_int;
            fn thrd_create(thread: *mut usize, routine: usize, argument: usize) -> c_int;
            fn thrd_join(thread: usize, value: *mut c_int) -> c_int;
            fn sem_post(semaphore: usize) -> c_int;
            fn sem_wait(semaphore: usize) -> c_int;
            fn sem_trywait(semaphore: usize) -> c_int;
            fn sem_timedwait(semaphore: usize, at: *const Timespec) -> c_int;
            fn sem_clockwait(semaphore: usize, clock: c_int, at: *const Timespec) -> c_int;
            fn pthread_barrier_wait(barrier: usize) -> c_int;
            fn dlclose(module: *mut c_void) -> c_int;
            fn close(file: c_int) -> c_int;
            fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
            fn closefrom(first: c_int) -> ();
        }
        own {
            fn pthread_key_create(key: *mut u32, destructor: usize) -> c_int;
            fn pthread_setspecific(key: u32, value: usize) -> c_int;
            fn pthread_sigmask(how: c_int, set: *const [u64; 16], before: *mut [u64; 16]) -> c_int;
        }
    }
}
