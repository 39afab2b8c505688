#include "clock.h"
#include "error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct fl_clock fl__clock = {.kind = FL_CLOCK_AUTO};

#ifdef FL_FAKE_CLOCK
_Thread_local fl_ticks fl_fake_ticks;
_Thread_local uint64_t fl_fake_cpu;
uint64_t (*fl_fake_cpu_of)(int tid);
void (*fl_fake_meanwhile)(int step);
#endif

#define FL__ONE (1ull << 32) /* 1.0 in the fixed point of the rates */

static bool counter_is_invariant(void)
{
#if defined(FL_FAKE_CLOCK)
    return false;
#elif defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
    return true; /* the architecture promises it */
#else
    return false;
#endif
}

/* Both clocks at one moment: of several tries the one in which the monotonic clock was read fastest. */
static void read_both(fl_ticks *ticks, uint64_t *ns)
{
    fl_ticks best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        fl_ticks before = fl_ticks_now();
        uint64_t middle = fl__monotonic_ns();
        fl_ticks after = fl_ticks_now();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = middle;
        }
    }
}

static void set_rate(fl_ticks ticks, uint64_t ns)
{
    if (ticks == 0 || ns == 0)
        return;
    uint64_t ns_per_tick = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
    uint64_t tick_per_ns = (uint64_t)(((unsigned __int128)ticks << 32) / ns);
    atomic_store_explicit(&fl__clock.ns_per_tick, ns_per_tick, memory_order_relaxed);
    atomic_store_explicit(&fl__clock.tick_per_ns, tick_per_ns, memory_order_relaxed);
}

int fl_clock_init(enum fl_clock_kind kind)
{
    if (fl__clock.kind != FL_CLOCK_AUTO)
        return 0;
    // cppcheck-suppress knownConditionTrueFalse ; it depends on the processor
    if (kind == FL_CLOCK_TSC && !counter_is_invariant())
        return FL_ESTATE;
    if (kind == FL_CLOCK_AUTO)
        kind = counter_is_invariant() ? FL_CLOCK_TSC : FL_CLOCK_MONOTONIC;
    fl__clock.kind = kind;
    atomic_init(&fl__clock.ns_per_tick, FL__ONE);
    atomic_init(&fl__clock.tick_per_ns, FL__ONE);
    if (kind == FL_CLOCK_MONOTONIC)
        return 0;
    read_both(&fl__clock.origin_ticks, &fl__clock.origin_ns);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    fl_clock_recheck();
    return 0;
}

void fl_clock_recheck(void)
{
    if (fl__clock.kind != FL_CLOCK_TSC)
        return;
    fl_ticks ticks = 0;
    uint64_t ns = 0;
    read_both(&ticks, &ns);
    set_rate(ticks - fl__clock.origin_ticks, ns - fl__clock.origin_ns);
}

uint64_t fl_ticks_to_ns(fl_ticks duration)
{
    uint64_t rate = atomic_load_explicit(&fl__clock.ns_per_tick, memory_order_relaxed);
    return (uint64_t)(((unsigned __int128)duration * rate) >> 32);
}

fl_ticks fl_ns_to_ticks(uint64_t duration)
{
    uint64_t rate = atomic_load_explicit(&fl__clock.tick_per_ns, memory_order_relaxed);
    return (fl_ticks)(((unsigned __int128)duration * rate) >> 32);
}

const char *fl_clock_name(void)
{
    return fl__clock.kind == FL_CLOCK_TSC ? "tsc" : "monotonic";
}
