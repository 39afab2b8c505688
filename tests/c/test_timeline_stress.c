/* A timeline whose owner writes as fast as it can, and a reader that is always at its heels: no row is ever torn. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "clock.h"
#include "timeline.h"

static struct {
    struct fl_timeline *timeline;
    atomic_bool stop;
} world;

static uint64_t milliseconds(void)
{
    const char *text = getenv("FL_STRESS_MS");
    return text ? strtoull(text, NULL, 10) : 1000;
}

static void *write_rows(void *unused)
{
    (void)unused;
    for (uint32_t n = 0; !atomic_load_explicit(&world.stop, memory_order_relaxed); n++)
        fl_timeline_add(
            world.timeline,
            &(struct fl_timeline_view){.end = n, .blocked = ~(fl_ticks)n, .idle = n * 3ull, .task = n, .node = ~n});
    return NULL;
}

static void test_no_row_is_torn(void **state)
{
    (void)state;
    pthread_t writer;
    uint64_t good = 0, gone = 0, torn = 0, end = fl__monotonic_ns() + milliseconds() * 1000000u;
    world.timeline = fl_timeline_create();
    assert_non_null(world.timeline);
    assert_int_equal(pthread_create(&writer, NULL, write_rows, NULL), 0);
    while (fl__monotonic_ns() < end) {
        uint64_t written = atomic_load_explicit(&world.timeline->written, memory_order_acquire);
        /* The oldest rows: those that are about to be overwritten. */
        uint64_t oldest = written > FL_TIMELINE ? written - FL_TIMELINE : 0;
        for (uint64_t n = oldest; n < oldest + 64 && n < written; n++) {
            struct fl_timeline_view row;
            if (!fl_timeline_get(world.timeline, n, &row)) {
                gone++;
                continue;
            }
            uint32_t number = (uint32_t)n;
            good++;
            torn += row.end != number || row.blocked != ~(fl_ticks)number || row.idle != number * 3ull ||
                    row.task != number || row.node != ~number;
        }
    }
    atomic_store(&world.stop, true);
    pthread_join(writer, NULL);
    print_message("%llu rows read, %llu gone\n", (unsigned long long)good, (unsigned long long)gone);
    assert_int_equal(torn, 0);
    assert_true(good > 1000);
    free(world.timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_row_is_torn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
