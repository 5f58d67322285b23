/* The kinds of mutex, as a program asks for them. */
#ifndef KIND_H
#define KIND_H

#include "check.h"

struct kind {
    int type;
    int shared;
    int robust;
    int protocol;
};

enum {
    NORMAL,
    RECURSIVE,
    ERRORCHECK,
    ADAPTIVE,
    SHARED,
    ROBUST,
    INHERIT,
    PROTECT,
    KINDS
};
extern const struct kind kinds[KINDS];

/* One case for each kind that any thread may use: "prefix/kind". */
#define EACH_ORDINARY_KIND(prefix, run)                                        \
    CASE_WITH(prefix "/normal", run, &kinds[NORMAL]),                          \
    CASE_WITH(prefix "/recursive", run, &kinds[RECURSIVE]),                    \
    CASE_WITH(prefix "/errorcheck", run, &kinds[ERRORCHECK]),                  \
    CASE_WITH(prefix "/adaptive", run, &kinds[ADAPTIVE]),                      \
    CASE_WITH(prefix "/shared", run, &kinds[SHARED]),                          \
    CASE_WITH(prefix "/robust", run, &kinds[ROBUST]),                          \
    CASE_WITH(prefix "/inherit", run, &kinds[INHERIT])

/* One case for each kind. */
#define EACH_KIND(prefix, run)                                                 \
    EACH_ORDINARY_KIND(prefix, run),                                           \
    CASE_WITH(prefix "/protect", run, &kinds[PROTECT])

/* Initialises a mutex of this kind.  A priority ceiling binds only threads
 * with a real-time priority, so for that kind this thread, and those it starts,
 * get one; where that is forbidden the case is skipped. */
void kind_init(pthread_mutex_t *mutex, const struct kind *kind);
/* The same, usable by several processes. */
void kind_init_shared(pthread_mutex_t *mutex, const struct kind *kind);

/* Whether a thread other than this one finds the mutex held. */
bool held_for_others(pthread_mutex_t *mutex);

#endif
