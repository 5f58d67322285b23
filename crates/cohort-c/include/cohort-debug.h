/*
 * Marks static initialisers of mutexes, so that `cohort debug --level owner` reports a mutex that is
 * used without one.  Without the marks, such a mutex in memory filled with zeroes looks initialised:
 *
 *   cc -include cohort-debug.h ...
 *
 * All files of a program or library have to be compiled so.  The program needs no Cohort to run: the
 * mark is in bits of the mutex's kind that the GNU C library ignores.  Under Cohort, marked mutexes
 * take a slower path.
 */
#ifndef COHORT_DEBUG_H
#define COHORT_DEBUG_H

#if !defined(__ASSEMBLER__) && defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) \
    && __SIZEOF_POINTER__ == 8

/* Defines the macro below, on which pthread.h builds all initialisers.  pthread.h itself would come
   before the program's feature macros, such as _GNU_SOURCE. */
#include <bits/wordsize.h>
#include <bits/thread-shared-types.h>

#ifdef __PTHREAD_MUTEX_INITIALIZER

#undef __PTHREAD_MUTEX_INITIALIZER
#ifdef __x86_64__
#define __PTHREAD_MUTEX_INITIALIZER(kind) 0, 0, 0, 0, 0x43000000 | (kind), 0, 0, { 0, 0 }
#else
#define __PTHREAD_MUTEX_INITIALIZER(kind) 0, 0, 0, 0, 0x43000000 | (kind), 0, { 0, 0 }
#endif

/* Another layout does not compile. */
typedef char cohort_debug_layout[sizeof(struct __pthread_mutex_s) == 40 ? 1 : -1];

/* A note that says so of the program or library: a name without a description. */
__asm__(".pushsection .note.cohort.marked,\"a\",%note\n\t"
        ".balign 4\n\t"
        ".long 7, 0, 1\n\t"
        ".asciz \"Cohort\"\n\t"
        ".balign 4\n\t"
        ".popsection");

#endif
#endif
#endif
