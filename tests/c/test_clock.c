/* The trace clock: both kinds, each in a process of its own, held against CLOCK_MONOTONIC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "clock.h"
#include "error.h"
#include "in_child.h"

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Both clocks at one moment, in ns of the monotonic clock; of several tries the one that took least. */
static uint64_t read_both(fl_ticks *ticks)
{
    uint64_t best = UINT64_MAX, ns = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t before = fl__monotonic_ns();
        fl_ticks now = fl_ticks_now();
        uint64_t after = fl__monotonic_ns();
        if (after - before < best) {
            best = after - before;
            ns = before + (after - before) / 2;
            *ticks = now;
        }
    }
    return ns;
}

static int converts(void)
{
    const uint64_t second = 1000000000u;
    const uint64_t durations[] = {0, 1000, second, 86400 * second, 3153600000u * second};
    /* In ns, rounded up. The counter of an arm64 may tick every 40 ns only: no duration is told finer, and the fewer
     * ticks to a nanosecond, the fewer bits its rate has. */
    const uint64_t tick = fl_ticks_to_ns(1) + 1;
    for (int i = 0; i < 5; i++) {
        uint64_t there_and_back = fl_ticks_to_ns(fl_ns_to_ticks(durations[i]));
        HOLDS(apart(there_and_back, durations[i]) <= 2 + tick + tick * (durations[i] / second));
    }
    HOLDS(fl_ticks_to_ns(0) == 0);
    return 0;
}

static int keeps_time(uint64_t error_per_million)
{
    fl_ticks from, to;
    uint64_t ns = read_both(&from);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    ns = read_both(&to) - ns;
    HOLDS(apart(fl_ticks_to_ns(to - from), ns) <= ns * error_per_million / 1000000 + 1000);
    return 0;
}

static int counter(void)
{
    int error = fl_clock_init(FL_CLOCK_TSC);
    if (error == FL_ESTATE)
        return NOT_HERE;
    HOLDS(error == 0);
    HOLDS(strcmp(fl_clock_name(), "tsc") == 0);
    /* After 2 ms of measuring, and better the longer it has run. */
    if (keeps_time(1000) || converts())
        return 1;
    fl_clock_recheck();
    if (keeps_time(50) || converts())
        return 1;
    fl_ticks last = 0;
    for (int i = 0; i < 100000; i++) {
        fl_ticks now = fl_ticks_now();
        HOLDS(now >= last);
        last = now;
    }
    /* Only the first choice counts. */
    HOLDS(fl_clock_init(FL_CLOCK_MONOTONIC) == 0);
    HOLDS(strcmp(fl_clock_name(), "tsc") == 0);
    return 0;
}

static int monotonic(void)
{
    HOLDS(fl_clock_init(FL_CLOCK_MONOTONIC) == 0);
    HOLDS(strcmp(fl_clock_name(), "monotonic") == 0);
    uint64_t before = fl__monotonic_ns();
    fl_ticks now = fl_ticks_now();
    HOLDS(now >= before && now <= fl__monotonic_ns());
    HOLDS(fl_ticks_to_ns(123456789) == 123456789 && fl_ns_to_ticks(123456789) == 123456789);
    fl_clock_recheck();
    HOLDS(fl_ticks_to_ns(123456789) == 123456789);
    HOLDS(fl_clock_init(FL_CLOCK_TSC) == 0);
    HOLDS(strcmp(fl_clock_name(), "monotonic") == 0);
    return keeps_time(0) || converts();
}

static int automatic(void)
{
    HOLDS(fl_clock_init(FL_CLOCK_AUTO) == 0);
    HOLDS(fl__clock.kind != FL_CLOCK_AUTO);
    return keeps_time(1000) || converts();
}

/* GIVEN the processor's counter, THEN it keeps time with the monotonic clock, the better the longer it runs. */
static void test_the_counter(void **state)
{
    (void)state;
    int answer = in_child(counter);
    if (answer == NOT_HERE) {
        print_message("no invariant counter on this machine\n");
        skip();
    }
    assert_int_equal(answer, 0);
}

/* GIVEN the monotonic clock, THEN a tick is a nanosecond. */
static void test_the_monotonic_clock(void **state)
{
    (void)state;
    assert_int_equal(in_child(monotonic), 0);
}

/* GIVEN no wish, THEN one of the two is chosen. */
static void test_the_choice(void **state)
{
    (void)state;
    assert_int_equal(in_child(automatic), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_counter),
        cmocka_unit_test(test_the_monotonic_clock),
        cmocka_unit_test(test_the_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
