/* Who had a thread when: rows of all slices, what is lost of them, and how they are told. */
#include "core_script.h"

#include "wire_reader.h"

static const struct fl_selection asks = {.sections = FL_SECTION_TIMELINE};

static void look_for_timeline(void)
{
    script.shadow->timeline_wanted = true;
    look();
}

static const struct fl_shadow_timeline *row(uint64_t number)
{
    assert_true(number < script.shadow->timeline_count);
    return &script.shadow->timeline[number % FL_SHADOW_TIMELINE];
}

static void assert_row(uint64_t number, uint32_t task_id, uint64_t begin, uint64_t end_at, uint64_t blocked,
                       uint64_t idle)
{
    const struct fl_shadow_timeline *got = row(number);
    assert_int_equal(got->task, task_id);
    assert_int_equal(got->begin, begin);
    assert_int_equal(got->end, end_at);
    assert_int_equal(got->blocked, blocked);
    assert_int_equal(got->idle, idle);
}

/* GIVEN some switches, THEN each slice has its row, long or short, without gaps. */
static void test_every_slice_has_a_row(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *hub = current_task(), *worker = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run"), busy(5);
    look();
    assert_int_equal(script.shadow->timeline_count, 0);
    to(worker), call("job"), busy(3), call("query"), off(4), to(hub);
    off(50), busy(2), to(worker);
    look_for_timeline();
    assert_int_equal(script.shadow->timeline_count, 3);
    assert_row(0, 1, 0, 5, 0, 0);
    assert_row(1, 2, 5, 12, 4, 0);
    assert_row(2, 1, 12, 64, 0, 50);
    assert_ptr_equal(&script.shadow->nodes[row(1)->node], node("job", "job/query"));
    assert_int_equal(row(1)->group, task(2)->group);
    assert_int_equal(row(1)->thread, 1);
    look_for_timeline();
    assert_int_equal(script.shadow->timeline_count, 3);
    busy(1), to(hub);
    look_for_timeline();
    assert_int_equal(script.shadow->timeline_count, 4);
    assert_row(3, 2, 64, 65, 0, 0);
    assert_int_equal(script.shadow->lost_timeline, 0);
}

/* GIVEN a clock whose rate is refined between two looks, THEN a slice still begins exactly where the one before ends.
 */
static void test_rows_meet_when_the_clock_is_refined(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *worker = spawn();
    uint64_t rate = atomic_load(&fl__clock.ns_per_tick);
    call("run"), busy(100000), to(worker), busy(100000), to(main_task);
    look_for_timeline();
    for (int faster = 0; faster < 2; faster++) {
        atomic_store(&fl__clock.ns_per_tick, faster ? rate + rate / 1000 : rate - rate / 1000);
        busy(10), to(worker), busy(100000), to(main_task);
        look_for_timeline();
    }
    atomic_store(&fl__clock.ns_per_tick, rate);
    assert_int_equal(script.shadow->timeline_count, 6);
    for (uint64_t n = 1; n < 6; n++) {
        assert_int_equal(row(n)->begin, row(n - 1)->end);
        assert_true(row(n)->end >= row(n)->begin);
    }
}

/* GIVEN more slices than the ring holds between two looks, THEN the newest are told and the rest is counted. */
static void test_what_is_overwritten_is_counted(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *a = current_task(), *b = spawn();
    call("a"), busy(1), to(b), call("b");
    look_for_timeline();
    assert_int_equal(script.shadow->timeline_count, 1);
    enum { MANY = 10000 };
    for (int i = 0; i < MANY; i++)
        busy(10), to(i % 2 ? b : a);
    look_for_timeline();
    uint64_t told = script.shadow->timeline_count;
    /* One row is where the owner may be writing; one more only tells where the next begins. */
    assert_int_equal(told - 1, FL_TIMELINE - 2);
    assert_int_equal(script.shadow->lost_timeline, MANY - (told - 1));
    assert_row(told - 1, 1, 1 + 10 * (MANY - 1), 1 + 10 * MANY, 0, 0);
    for (uint64_t n = 2; n < told; n++)
        assert_int_equal(row(n)->begin, row(n - 1)->end);
}

/* GIVEN a slot that another thread takes over, THEN its rows are told as that thread's. */
static void test_rows_belong_to_their_thread(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_threads = 1});
    for (uint32_t i = 0; i < 3; i++) {
        attach(2000 + i);
        struct fl_task *main_task = current_task(), *other = spawn();
        call("main"), busy(10), to(other), busy(20), to(main_task), busy(30);
        detach();
        busy(1000);
    }
    look_for_timeline();
    assert_int_equal(script.shadow->timeline_count, 9);
    assert_int_equal(script.shadow->thread_count, 3); /* the third took the slot of the first */
    uint32_t rows[8] = {0};
    for (uint64_t n = 0; n < 9; n++) {
        assert_int_equal(row(n)->end - row(n)->begin, 10 * (n % 3 + 1));
        rows[row(n)->thread]++;
    }
    assert_int_equal(rows[2], 3);
    assert_int_equal(rows[3], 3);
    assert_int_equal(rows[4], 3);
}

/* GIVEN a reader that asks for it, THEN it is told each row once; who does not ask is told none. */
static void test_rows_are_told_once_to_who_asks(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *a = current_task(), *b = spawn();
    struct fl_cursor cursor = {0}, quiet = {0};
    uint64_t next = 0;
    call("a");
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 51; i++)
            busy(7), to(i % 2 ? a : b);
        to(a), busy(1);
        look_for_timeline();
        if (round % 2)
            continue;
        json_t *body = update_body(script.shadow, &cursor, &asks);
        const json_t *timeline = json_object_get(body, "timeline"), *add = json_object_get(timeline, "add");
        assert_int_equal(json_integer_value(json_object_get(timeline, "first")), next);
        next += json_array_size(json_object_get(add, "end"));
        assert_int_equal(next, script.shadow->timeline_count);
        json_t *last = json_array_get(json_object_get(add, "end"), json_array_size(json_object_get(add, "end")) - 1);
        assert_int_equal(json_integer_value(last), row(next - 1)->end);
        json_decref(body);
        body = update_body(script.shadow, &quiet, &everything);
        assert_null(json_object_get(body, "timeline"));
        json_decref(body);
    }
    assert_int_equal(script.shadow->lost_timeline, 0);
    /* A late one gets what is kept. */
    struct fl_cursor late = {0};
    json_t *body = update_body(script.shadow, &late, &asks);
    const json_t *timeline = json_object_get(body, "timeline");
    uint64_t kept = script.shadow->timeline_count;
    assert_true(kept > 10000 && kept < FL_SHADOW_TIMELINE);
    assert_int_equal(json_array_size(json_object_get(json_object_get(timeline, "add"), "task")), kept);
    json_decref(body);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_every_slice_has_a_row),          TEST(test_rows_meet_when_the_clock_is_refined),
        TEST(test_what_is_overwritten_is_counted), TEST(test_rows_belong_to_their_thread),
        TEST(test_rows_are_told_once_to_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
