//! Properties of C library functions: which of them any thread may call for another.

/// The reason why another thread may not call a function.
pub fn forbidden(name: &str) -> Option<&'static str> {
    let own = name.strip_prefix(BUILTIN);
    let of = |names: &str| names.split(' ').any(|one| one == name || Some(one) == own);
    if of(IDENTITY) {
        Some("depends on the calling thread")
    } else if of(OWN) {
        Some("uses thread-local data")
    } else if of(JUMPS) {
        Some("does not return normally")
    } else if of(WAITS) {
        Some("may wait for the executing thread")
    } else if of(FRAME) {
        Some("uses the stack frame")
    } else if of(LOCKS) {
        Some("acquires a lock that the executing thread may hold")
    } else {
        None
    }
}

/// The prefix of compiler built-ins; many correspond to C library functions.
const BUILTIN: &str = "__builtin_";

const IDENTITY: &str = "\
    pthread_self thrd_current gettid syscall pthread_setname_np pthread_create thrd_create \
    pthread_setschedparam pthread_setaffinity_np sched_getcpu getcpu sched_setaffinity \
    sched_getaffinity sched_setscheduler pthread_sigmask sigprocmask raise prctl setns \
    unshare getrusage fork vfork sigaltstack ptrace __builtin_thread_pointer \
    __builtin_set_thread_pointer";

const OWN: &str = "\
    pthread_getspecific pthread_setspecific tss_get tss_set uselocale dlerror strerror \
    strsignal";

const JUMPS: &str = "\
    setjmp _setjmp sigsetjmp longjmp _longjmp siglongjmp pthread_exit thrd_exit \
    pthread_cleanup_push pthread_cleanup_pop pthread_testcancel pthread_cancel \
    pthread_setcancelstate pthread_setcanceltype setcontext swapcontext makecontext \
    __builtin_eh_return __builtin_unwind_init __builtin_nonlocal_goto";

const WAITS: &str = "\
    pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait cnd_timedwait \
    pthread_join pthread_timedjoin_np pthread_tryjoin_np thrd_join sem_wait sem_timedwait \
    pthread_barrier_wait pthread_once call_once read readv recv recvfrom recvmsg accept \
    accept4 connect poll ppoll select pselect epoll_wait wait waitpid waitid pause sigwait \
    sigsuspend sigwaitinfo mq_receive msgrcv getchar scanf fscanf fgets fgetc getc getline \
    fread";

const FRAME: &str = "\
    alloca __builtin_alloca_with_align __builtin_alloca_with_align_and_max \
    __builtin_frame_address __builtin_return_address __builtin_dwarf_cfa \
    __builtin_stack_address __builtin_stack_save __builtin_stack_restore \
    __builtin_va_start __builtin_stdarg_start __builtin_next_arg __builtin_va_arg_pack \
    __builtin_va_arg_pack_len __builtin_apply __builtin_apply_args __builtin_return \
    __builtin_va_end __builtin_va_copy";

const LOCKS: &str = "\
    pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock \
    pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock \
    pthread_rwlock_unlock pthread_spin_lock pthread_spin_trylock pthread_spin_unlock \
    mtx_lock mtx_trylock mtx_timedlock mtx_unlock flockfile ftrylockfile funlockfile \
    pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock \
    pthread_mutex_consistent flock lockf";

/// Whether a function is of the frame of its caller: elsewhere it is as harmless as that.
pub fn uses_frame(name: &str) -> bool {
    FRAME.split(' ').any(|one| one == name) || Some("alloca") == name.strip_prefix(BUILTIN)
}

/// Whether a function ends the process.
pub fn ends(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "__assert_fail",
        "__builtin_unreachable",
        "__builtin_trap",
    ];
    NAMES.contains(&name)
}

/// Whether a function is an allocator's, by its name with a prefix: any thread may call it, though it has
/// memory of each thread's own.
pub fn is_allocator(name: &str) -> bool {
    const NAMES: &str = "malloc calloc realloc free mallocx rallocx xallocx sallocx dallocx sdallocx \
        aligned_alloc posix_memalign memalign malloc_usable_size nallocx";
    let own = ["je_", "tc_", "mi_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    own.is_some_and(|own| NAMES.split_whitespace().any(|one| one == own))
}

/// Whether a harmless function may keep an address that it is given, or put it elsewhere.
pub fn keeps(name: &str) -> bool {
    const NAMES: &str = "strtok strtok_r strsep setvbuf strtod strtof strtold strtol strtoll strtoul \
        strtoull strtoumax strtoimax";
    let is_atomic = ["__atomic_", "__sync_", "atomic_"]
        .iter()
        .any(|begins| name.starts_with(begins));
    is_atomic || NAMES.split_whitespace().any(|one| one == name)
}

/// Whether a function does the same in any thread, and does not wait.
pub fn harmless(name: &str) -> bool {
    const BEGINNINGS: [&str; 3] = ["__atomic_", "__sync_", "atomic_"];
    let is_among = |all: &str, name: &str| all.split(' ').any(|one| one == name);
    if let Some(own) = name.strip_prefix(BUILTIN) {
        // `__builtin___memcpy_chk` is `memcpy` with a destination of known size.
        let checked = own
            .strip_prefix("__")
            .and_then(|own| own.strip_suffix("_chk"));
        let of_numbers = |end: &str| own.strip_suffix(end).unwrap_or(own);
        return is_among(HARMLESS, checked.unwrap_or(own))
            || ["l", "ll", "f"]
                .iter()
                .any(|end| is_among(BUILTINS, of_numbers(end)));
    }
    BEGINNINGS.iter().any(|begins| name.starts_with(begins)) || is_among(HARMLESS, name)
}

/// Purely computational built-ins; some have further variants with suffixes for `long`, `long long`
/// and `float`.
const BUILTINS: &str = "\
    expect expect_with_probability unreachable trap constant_p choose_expr \
    types_compatible_p classify_type offsetof object_size dynamic_object_size prefetch \
    assume assume_aligned bit_cast shuffle shufflevector convertvector clear_padding \
    popcount clz clzg ctz ctzg ffs parity clrsb bswap16 bswap32 bswap64 bswap128 \
    add_overflow sub_overflow mul_overflow sadd_overflow saddl_overflow saddll_overflow \
    uadd_overflow uaddl_overflow uaddll_overflow ssub_overflow ssubl_overflow \
    ssubll_overflow usub_overflow usubl_overflow usubll_overflow smul_overflow \
    smull_overflow smulll_overflow umul_overflow umull_overflow umulll_overflow \
    add_overflow_p sub_overflow_p mul_overflow_p isnan isinf isinf_sign isfinite \
    isnormal signbit fpclassify isgreater isgreaterequal isless islessequal \
    islessgreater isunordered huge_val inf nan copysign cpu_init cpu_is cpu_supports \
    ia32_pause rotateleft8 rotateleft16 rotateleft32 rotateleft64 rotateright8 rotateright16 \
    rotateright32 rotateright64";

const HARMLESS: &str = "\
    assert static_assert isalnum isalpha isblank iscntrl isdigit isgraph islower isprint \
    ispunct isspace isupper isxdigit tolower toupper abort abs labs llabs div ldiv atof \
    atoi atol atoll strtod strtof strtol strtoll strtoul strtoull strtoumax strtoimax \
    malloc calloc realloc reallocarray aligned_alloc posix_memalign memalign free qsort \
    bsearch rand rand_r srand random srandom drand48 lrand48 getenv exit _exit memchr \
    memcmp memcpy mempcpy memmove memset memmem memrchr stpcpy stpncpy strcasecmp \
    strncasecmp strcat strncat strchr strchrnul strcmp strncmp strcoll strcpy strncpy \
    strlcpy strlcat strcspn strdup strndup strlen strnlen strpbrk strrchr strsep strspn \
    strstr strcasestr strtok strtok_r bzero bcopy bcmp ffs index rindex strerror_r printf \
    fprintf dprintf sprintf snprintf asprintf puts fputs fputc putc putchar perror fflush \
    fwrite vprintf vfprintf vsprintf vsnprintf sscanf fopen fclose fileno ferror feof \
    clearerr fseek ftell rewind remove rename setvbuf write writev pwrite pread open close \
    lseek unlink ftruncate fsync fdatasync access stat fstat lstat mmap munmap madvise \
    getpid getppid getuid sysconf sem_post kill syslog time clock difftime mktime gmtime_r \
    localtime_r strftime clock_gettime gettimeofday nanosleep usleep sleep sched_yield \
    asctime_r ctime_r fabs fabsf floor ceil round lround llround trunc sqrt sqrtf pow exp \
    log log2 log10 sin cos tan atan atan2 fmod fmin fmax hypot pthread_cond_signal \
    pthread_cond_broadcast pthread_cond_init pthread_cond_destroy pthread_mutex_init \
    pthread_mutex_destroy pthread_equal pthread_kill pthread_detach pthread_attr_init \
    pthread_attr_destroy htonl htons ntohl ntohs __errno_location __ctype_b_loc \
    __ctype_tolower_loc __ctype_toupper_loc __assert_fail __isoc99_sscanf __isoc99_fscanf \
    localtime gmtime ctime asctime localtime_s sigemptyset sigfillset sigaddset sigdelset \
    sigismember malloc_usable_size inet_ntop inet_pton socket bind listen setsockopt \
    getsockopt getsockname getpeername shutdown fcntl dup dup2 dup3 pipe pipe2 eventfd \
    __bswap_16 __bswap_32 __bswap_64 __uint16_identity __uint32_identity \
    __uint64_identity epoll_create epoll_create1 epoll_ctl clock_getres fdopen vasprintf vdprintf strtold \
    mkdir rmdir chmod opendir readdir closedir getcwd isatty umask";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_compilers_functions_only_those_that_compute_are_harmless() {
        for name in [
            "__builtin_expect",
            "__builtin_popcountll",
            "__builtin_clzl",
            "__builtin_add_overflow",
            "__builtin_memcpy",
            "__builtin___snprintf_chk",
        ] {
            assert!(harmless(name) && forbidden(name).is_none(), "{name}");
        }
        for (name, why) in [
            ("__builtin_setjmp", "does not return normally"),
            ("__builtin_longjmp", "does not return normally"),
            ("__builtin_eh_return", "does not return normally"),
            ("__builtin_thread_pointer", "depends on the calling thread"),
            ("__builtin_fork", "depends on the calling thread"),
            ("__builtin_va_start", "uses the stack frame"),
            ("__builtin_alloca", "uses the stack frame"),
            ("__builtin_return_address", "uses the stack frame"),
        ] {
            let said = forbidden(name);
            assert!(
                said.is_some_and(|said| said.contains(why)),
                "{name}: {said:?}"
            );
            assert!(!harmless(name), "{name}");
        }
        for name in ["__builtin_unheard_of", "__builtin_FUNCTION"] {
            assert!(!harmless(name) && forbidden(name).is_none(), "{name}");
        }
    }
}
