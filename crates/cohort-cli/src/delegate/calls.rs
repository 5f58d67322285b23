//! What is known of functions of the C library: which of them any thread may call for another.

/// Why no other thread may call a function.
pub fn forbidden(name: &str) -> Option<&'static str> {
    let of = |names: &str| names.split(' ').any(|one| one == name);
    if of(IDENTITY) {
        Some("which asks or says what the calling thread is")
    } else if of(OWN) {
        Some("which each thread has for itself")
    } else if of(JUMPS) {
        Some("which leaves in another way than by returning")
    } else if of(WAITS) {
        Some("which may wait for the very thread that would run it")
    } else if of(FRAME) {
        Some("and its memory goes with the frame")
    } else if of(LOCKS) {
        Some("and its lock may be held by the thread that would run it")
    } else {
        None
    }
}

const IDENTITY: &str = "\
    pthread_self thrd_current gettid syscall pthread_setname_np pthread_create thrd_create \
    pthread_setschedparam pthread_setaffinity_np sched_getcpu getcpu sched_setaffinity \
    sched_getaffinity sched_setscheduler pthread_sigmask sigprocmask raise prctl setns \
    unshare getrusage fork vfork sigaltstack ptrace";

const OWN: &str = "\
    pthread_getspecific pthread_setspecific tss_get tss_set uselocale dlerror strerror \
    strsignal";

const JUMPS: &str = "\
    setjmp _setjmp sigsetjmp longjmp _longjmp siglongjmp pthread_exit thrd_exit \
    pthread_cleanup_push pthread_cleanup_pop pthread_testcancel pthread_cancel \
    pthread_setcancelstate pthread_setcanceltype setcontext swapcontext makecontext";

const WAITS: &str = "\
    pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait cnd_timedwait \
    pthread_join pthread_timedjoin_np pthread_tryjoin_np thrd_join sem_wait sem_timedwait \
    pthread_barrier_wait pthread_once call_once read readv recv recvfrom recvmsg accept \
    accept4 connect poll ppoll select pselect epoll_wait wait waitpid waitid pause sigwait \
    sigsuspend sigwaitinfo mq_receive msgrcv getchar scanf fscanf fgets fgetc getc getline \
    fread";

const FRAME: &str = "\
    alloca __builtin_alloca __builtin_alloca_with_align __builtin_frame_address \
    __builtin_return_address";

const LOCKS: &str = "\
    pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock \
    pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock \
    pthread_rwlock_unlock pthread_spin_lock pthread_spin_trylock pthread_spin_unlock \
    mtx_lock mtx_trylock mtx_timedlock mtx_unlock flockfile ftrylockfile funlockfile \
    pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock \
    pthread_mutex_consistent flock lockf";

/// Whether a function does the same in whichever thread, and waits for none.
pub fn harmless(name: &str) -> bool {
    const BEGINNINGS: [&str; 4] = ["__atomic_", "__sync_", "__builtin_", "atomic_"];
    BEGINNINGS.iter().any(|begins| name.starts_with(begins))
        || HARMLESS.split(' ').any(|one| one == name)
}

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
    pthread_attr_destroy htonl htons ntohl ntohs";
