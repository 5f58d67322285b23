/* Deadlines, and how close to them a call came back. */
#ifndef CLOCK_H
#define CLOCK_H

#include "check.h"

#include <time.h>

/* A machine under load may be late by this much; nothing may ever be early. */
enum { LATE_MS = 10000 };

/* The time on this clock, so many milliseconds from now (or before now). */
struct timespec in_ms(clockid_t clock, long milliseconds);
/* Milliseconds from one moment to another, rounded down. */
long long ms_between(struct timespec from, struct timespec to);
/* The deadline has passed on this clock, and not by much. */
void check_punctual(clockid_t clock, struct timespec deadline);
/* The deadline, spoiled: nanoseconds below zero, or a whole second of them. */
struct timespec below_zero(struct timespec deadline);
struct timespec whole_second(struct timespec deadline);

#endif
