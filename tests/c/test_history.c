/* The last two minutes of each thread, a value per period. */
#include "core_script.h"

#define MS     1000000ull
#define PERIOD ((uint64_t)FL_HISTORY_NS)

static const struct fl_shadow_history *history(void)
{
    return script.shadow->history[script.thread->index];
}

static void sample(void)
{
    fl_shadow_sample(script.shadow);
}

static void assert_period(uint32_t index, uint64_t cpu, uint64_t blocked, uint64_t idle)
{
    const struct fl_shadow_history *h = history();
    assert_true(index < h->count);
    uint32_t at = (h->first + index) % FL_HISTORY_PERIODS;
    assert_int_equal(h->cpu[at], cpu);
    assert_int_equal(h->blocked[at], blocked);
    assert_int_equal(h->idle[at], idle);
}

/* GIVEN samples at the ends of periods, THEN each period has what was spent in it, also inside one open interval. */
static void test_each_period_has_what_was_spent_in_it(void **state)
{
    (void)state;
    script_begin(NULL);
    fl_task_set_hub(script.thread, current_task());
    call("run");
    busy(50 * MS), off(200 * MS);
    sample();
    call("callback"), busy(30 * MS), off(220 * MS);
    sample();
    busy(100 * MS), ret("callback"), off(150 * MS);
    sample();
    assert_int_equal(history()->id, 1);
    assert_int_equal(history()->count, 3);
    assert_int_equal(history()->end, 3 * PERIOD);
    assert_period(0, 50 * MS, 0, 200 * MS);
    assert_period(1, 30 * MS, 220 * MS, 0);
    assert_period(2, 100 * MS, 0, 150 * MS);
}

/* GIVEN a sample within a period, THEN nothing is told before the period is over. */
static void test_a_period_is_told_when_it_is_over(void **state)
{
    (void)state;
    script_begin(NULL);
    for (int i = 0; i < 9; i++) {
        busy(25 * MS);
        sample();
        assert_int_equal(history()->count, 0);
    }
    busy(25 * MS - 1);
    sample();
    assert_int_equal(history()->count, 0);
    busy(1);
    sample();
    assert_int_equal(history()->count, 1);
    assert_period(0, PERIOD, 0, 0);
}

/* GIVEN samples that come late, THEN the periods have the right length, what was spent is spread over them, and nothing
 * is lost in the long run. */
static void test_late_samples_are_spread(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(300 * MS), off(500 * MS); /* 3.2 periods */
    sample();
    assert_int_equal(history()->count, 3);
    assert_int_equal(history()->end, 3 * PERIOD);
    for (uint32_t i = 0; i < 3; i++)
        assert_period(i, 300 * MS * 750 / 800 / 3, 500 * MS * 750 / 800 / 3, 0);
    /* Odd pieces: floors must not add up to a loss. */
    for (int i = 0; i < 300; i++) {
        pass(333333337, 111111113);
        sample();
    }
    uint64_t cpu = 0, blocked = 0, open = fl_session_now(script.session) - history()->end;
    const struct fl_shadow_history *h = history();
    assert_int_equal(h->count, 3 + 300 * 4 / 3);
    for (uint32_t i = 0; i < h->count; i++) {
        cpu += h->cpu[i];
        blocked += h->blocked[i];
        assert_true(h->cpu[i] + h->blocked[i] <= PERIOD + 4 && h->cpu[i] + h->blocked[i] + 4 > PERIOD);
    }
    assert_in_range(cpu, 300 * MS + 300 * 111111113ull - open, 300 * MS + 300 * 111111113ull);
    assert_in_range(blocked, 500 * MS + 300 * 222222224ull - open, 500 * MS + 300 * 222222224ull);
    assert_in_range(cpu + blocked, h->end - 4, h->end);
}

/* GIVEN more periods than are kept, THEN the newest stay, in order; also when they come all at once. */
static void test_the_newest_periods_stay(void **state)
{
    (void)state;
    script_begin(NULL);
    for (uint64_t i = 0; i < FL_HISTORY_PERIODS + 7; i++) {
        pass(PERIOD, i * MS / 10);
        sample();
    }
    assert_int_equal(history()->count, FL_HISTORY_PERIODS);
    for (uint32_t i = 0; i < FL_HISTORY_PERIODS; i++)
        assert_period(i, (i + 7) * MS / 10, PERIOD - (i + 7) * MS / 10, 0);
    busy(1000 * PERIOD);
    sample();
    assert_int_equal(history()->count, FL_HISTORY_PERIODS);
    assert_int_equal(history()->end, (FL_HISTORY_PERIODS + 7 + 1000) * PERIOD);
    assert_period(0, PERIOD, 0, 0);
    assert_period(FL_HISTORY_PERIODS - 1, PERIOD, 0, 0);
}

/* GIVEN a stop, THEN it makes no periods. */
static void test_a_stop_makes_no_periods(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(PERIOD);
    sample();
    fl_session_stop(script.session);
    off(10 * PERIOD);
    sample();
    assert_int_equal(history()->count, 1);
    fl_session_start(script.session);
    busy(PERIOD);
    sample();
    assert_int_equal(history()->count, 2);
    assert_period(1, PERIOD, 0, 0);
}

/* GIVEN threads that come, end and take slots over, THEN each history begins with its thread and ends with it. */
static void test_a_history_belongs_to_its_thread(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_threads = 1});
    struct fl_thread *first = script.thread;
    busy(100 * MS);
    attach(1002), busy(400 * MS);
    sample();
    assert_int_equal(history()->count, 1);
    assert_int_equal(history()->end, 100 * MS + PERIOD);
    detach();
    off(2 * PERIOD);
    sample();
    assert_int_equal(history()->count, 1); /* it stays while the thread's row does */
    attach(1003), detach();
    attach(1004);
    assert_int_equal(script.thread->index, 1);
    busy(PERIOD);
    sample();
    assert_int_equal(history()->id, 4);
    assert_int_equal(history()->count, 1);
    assert_period(0, PERIOD, 0, 0);
    drive(first);
    assert_int_equal(history()->id, 1);
    assert_int_equal(history()->count, 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_period_has_what_was_spent_in_it),
        TEST(test_a_period_is_told_when_it_is_over),
        TEST(test_late_samples_are_spread),
        TEST(test_the_newest_periods_stay),
        TEST(test_a_stop_makes_no_periods),
        TEST(test_a_history_belongs_to_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
