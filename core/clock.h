/*
 * clock.h: the trace clock. One cheap counter, read once per event, from which every wall time is derived.
 *
 * It is the time-stamp counter of the processor where that is invariant (same rate on all cores and in all power
 * states), else CLOCK_MONOTONIC in nanoseconds. The counter's rate is measured against CLOCK_MONOTONIC at start and
 * refined by fl_clock_recheck() while the program runs.
 *
 * The core built with FL_FAKE_CLOCK (tests only) reads fl_fake_ticks instead, where one tick is one nanosecond.
 */
#ifndef FL_CLOCK_H
#define FL_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Ticks of the trace clock. Wraps after centuries; differences of two readings of one thread are >= 0. */
typedef uint64_t fl_ticks;

enum fl_clock_kind { FL_CLOCK_AUTO, FL_CLOCK_TSC, FL_CLOCK_MONOTONIC };

/* Process-wide, set once by fl_clock_init() before the first event. */
struct fl_clock {
    enum fl_clock_kind kind;      /* never FL_CLOCK_AUTO after fl_clock_init() */
    _Atomic uint64_t ns_per_tick; /* nanoseconds per tick, fixed point, 32 fractional bits */
    _Atomic uint64_t tick_per_ns; /* the inverse, 32 fractional bits */
    fl_ticks origin_ticks;        /* both clocks at fl_clock_init(), for fl_clock_recheck() */
    uint64_t origin_ns;
};
extern struct fl_clock fl__clock;

#ifdef FL_FAKE_CLOCK
/* Nanoseconds; each thread of a test has its own clocks and moves them by hand. */
extern _Thread_local fl_ticks fl_fake_ticks;
extern _Thread_local uint64_t fl_fake_cpu;
/* The CPU clock of a thread as others read it, by its system id; NULL: the caller's own fl_fake_cpu. */
extern uint64_t (*fl_fake_cpu_of)(int tid);
/* Called by a reader between its steps (shadow_read.h), so that a test can let the session go on meanwhile; or NULL. */
extern void (*fl_fake_meanwhile)(int step);
#endif

/* CLOCK_MONOTONIC in nanoseconds. Any thread. */
static inline uint64_t fl__monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The counter now. Any thread; the hot path. */
static inline fl_ticks fl_ticks_now(void)
{
#if defined(FL_FAKE_CLOCK)
    return fl_fake_ticks;
#elif defined(__x86_64__)
    if (__builtin_expect(fl__clock.kind == FL_CLOCK_TSC, 1))
        return __rdtsc();
    return fl__monotonic_ns();
#elif defined(__aarch64__)
    if (__builtin_expect(fl__clock.kind == FL_CLOCK_TSC, 1)) {
        fl_ticks t;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
        return t;
    }
    return fl__monotonic_ns();
#else
    return fl__monotonic_ns();
#endif
}

/*
 * Chooses the counter and measures its rate; takes about 2 ms. `kind` forces one (tests, a setting); FL_CLOCK_AUTO
 * chooses. Idempotent: only the first call counts. Returns 0, or FL_ESTATE where the forced counter does not exist.
 * Call before any thread is attached.
 */
int fl_clock_init(enum fl_clock_kind kind);

/* Refines the rate; worth calling about once a second. One thread at a time (the server's). */
void fl_clock_recheck(void);

/* A duration in nanoseconds, and back. Any thread. */
uint64_t fl_ticks_to_ns(fl_ticks duration);
fl_ticks fl_ns_to_ticks(uint64_t duration);

/* "tsc" or "monotonic". */
const char *fl_clock_name(void);

#endif
