/* What the server does by the clock, and when. */
#include "core_script.h"
#include "schedule.h"

#define MS 1000000ull

enum { LOOK = 50, LOOK_CLOSELY = 20, STOPPED = 250, SAMPLE = 250, RECHECK = 1000 }; /* ms */

static uint32_t periods(void)
{
    struct fl_shadow_history **all = script.shadow->history; /* none before the first sample */
    return all && all[script.thread->index] ? all[script.thread->index]->count : 0;
}

/* GIVEN three times, THEN the next is the first of them, whichever that is. */
static void test_the_next_is_the_first(void **state)
{
    (void)state;
    assert_int_equal(fl_schedule_next(&(struct fl_schedule){.look = 1, .sample = 2, .recheck = 3}), 1);
    assert_int_equal(fl_schedule_next(&(struct fl_schedule){.look = 3, .sample = 1, .recheck = 2}), 1);
    assert_int_equal(fl_schedule_next(&(struct fl_schedule){.look = 2, .sample = 3, .recheck = 1}), 1);
}

/* GIVEN a session with nothing to see, WHEN everything is due, THEN it is done, and due again after its own time. */
static void test_what_is_due_is_put_off(void **state)
{
    (void)state;
    const uint64_t now = 7000 * MS;
    struct fl_schedule schedule = {.look = now, .sample = now, .recheck = now};
    script_begin(NULL);
    busy(SAMPLE * MS);
    fl_schedule_run(&schedule, script.shadow, now);
    assert_int_equal(periods(), 1);
    assert_int_equal(schedule.sample, now + SAMPLE * MS);
    assert_int_equal(schedule.recheck, now + RECHECK * MS);
    assert_in_range(schedule.look, now + 1, now + LOOK * MS);
}

/* GIVEN times that are not there yet, THEN nothing is done, and they stay. */
static void test_nothing_is_done_too_soon(void **state)
{
    (void)state;
    const uint64_t now = 7000 * MS;
    struct fl_schedule schedule = {.look = now + 1, .sample = now + 2, .recheck = now + 3};
    script_begin(NULL);
    busy(SAMPLE * MS);
    fl_schedule_run(&schedule, script.shadow, now);
    assert_int_equal(periods(), 0);
    assert_int_equal(schedule.look, now + 1);
    assert_int_equal(schedule.sample, now + 2);
    assert_int_equal(schedule.recheck, now + 3);
}

static uint64_t wait_until_next_look(void)
{
    struct fl_schedule schedule = {.sample = UINT64_MAX, .recheck = UINT64_MAX};
    fl_schedule_run(&schedule, script.shadow, 7000 * MS);
    return (schedule.look - 7000 * MS) / MS;
}

/* GIVEN a slice, THEN it is looked at more often while it gets long, until it is known well. */
static void test_a_slice_that_gets_long_is_looked_at_more_often(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn();
    busy(10 * MS), to(other);
    busy(20 * MS);
    assert_int_equal(wait_until_next_look(), LOOK);
    busy(1 * MS);
    assert_int_equal(wait_until_next_look(), LOOK_CLOSELY);
    busy(4978 * MS);
    assert_int_equal(wait_until_next_look(), LOOK_CLOSELY);
    busy(1 * MS);
    assert_int_equal(wait_until_next_look(), LOOK);
}

/* GIVEN a thread that has ended in a long slice, and one that begins, THEN nothing is looked at closely. */
static void test_a_thread_that_ended_is_not_looked_at(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(100 * MS);
    assert_int_equal(wait_until_next_look(), LOOK_CLOSELY);
    detach();
    assert_int_equal(wait_until_next_look(), LOOK);
    attach(1002);
    assert_int_equal(wait_until_next_look(), LOOK);
    busy(100 * MS);
    assert_int_equal(wait_until_next_look(), LOOK_CLOSELY);
}

/* GIVEN a session that is stopped, THEN no period is told, and it is seen within a quarter of a second that it goes on.
 */
static void test_a_stopped_session(void **state)
{
    (void)state;
    const uint64_t now = 7000 * MS;
    struct fl_schedule schedule = {.look = now, .sample = now, .recheck = now};
    script_begin(NULL);
    busy(SAMPLE * MS);
    fl_session_stop(script.session);
    fl_schedule_run(&schedule, script.shadow, now);
    assert_int_equal(periods(), 0);
    assert_int_equal(schedule.look, now + STOPPED * MS);
    assert_int_equal(schedule.sample, now + SAMPLE * MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_is_the_first),
        TEST(test_what_is_due_is_put_off),
        TEST(test_nothing_is_done_too_soon),
        TEST(test_a_slice_that_gets_long_is_looked_at_more_often),
        TEST(test_a_thread_that_ended_is_not_looked_at),
        TEST(test_a_stopped_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
