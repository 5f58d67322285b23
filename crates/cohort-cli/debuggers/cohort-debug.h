/* Marks initialised mutexes and rwlocks, so that `cohort debug --level owner` reports zeroes that the
 * program locks without initialisation:
 *
 *   cc -g -include PREFIX/share/cohort/cohort-debug.h -pthread PROGRAM.c
 *   cohort debug --level owner -- ./a.out
 *
 * For gcc and clang, with glibc 2.34 or later. Compile every file with it that initialises locks
 * statically. Each executable and library that contains such a file is checked, if it is loaded at the
 * program's start. Without Cohort, the marks have no effect. The header includes <pthread.h> with
 * _GNU_SOURCE.
 */
#if !defined COHORT_DEBUG_H && !defined __ASSEMBLER__
#define COHORT_DEBUG_H
#pragma GCC system_header

#ifdef _GNU_SOURCE
#include <pthread.h>
#else
#define _GNU_SOURCE
#include <pthread.h>
#undef _GNU_SOURCE
#endif

/* PTHREAD_MUTEX_NO_ELISION_NP, which the C library sets for PTHREAD_MUTEX_NORMAL. */
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER { { __PTHREAD_MUTEX_INITIALIZER(0x200) } }

/* Unused by the C library. */
#undef PTHREAD_RWLOCK_INITIALIZER
#define PTHREAD_RWLOCK_INITIALIZER { .__data = { .__pad2 = 1 } }

/* Names the executable or library as marked. */
__asm__(".pushsection .note.cohort, \"a\", %note\n\t"
        ".balign 4\n\t"
        ".long 7, 0, 1\n\t"
        ".asciz \"Cohort\"\n\t"
        ".balign 4\n\t"
        ".popsection");

#endif
