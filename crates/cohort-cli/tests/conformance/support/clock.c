#include "clock.h"

enum { NS_PER_S = 1000000000 };

static long long ns(struct timespec time)
{
    return (long long)time.tv_sec * NS_PER_S + time.tv_nsec;
}

struct timespec in_ms(clockid_t clock, long milliseconds)
{
    struct timespec now;
    CHECK_EQ(clock_gettime(clock, &now), 0);
    long long then = ns(now) + milliseconds * 1000000LL;
    return (struct timespec){then / NS_PER_S, then % NS_PER_S};
}

long long ms_between(struct timespec from, struct timespec to)
{
    return (ns(to) - ns(from)) / 1000000;
}

void check_punctual(clockid_t clock, struct timespec deadline)
{
    struct timespec now = in_ms(clock, 0);
    CHECK(ns(now) >= ns(deadline));
    CHECK_BELOW(ms_between(deadline, now), LATE_MS);
}

struct timespec below_zero(struct timespec deadline)
{
    deadline.tv_nsec = -1;
    return deadline;
}

struct timespec whole_second(struct timespec deadline)
{
    deadline.tv_nsec = NS_PER_S;
    return deadline;
}
