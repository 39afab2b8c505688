/* Threads that have no event when profiling starts: somebody else writes for them. Exact numbers, on scripted clocks.
 */
#include "core_script.h"
#include "other.h"

static uint32_t ids_of(const char *const *names, fl_function_id *ids)
{
    uint32_t count = 0;
    for (; names[count]; count++)
        ids[count] = function(names[count]);
    return count;
}

static void place(struct fl_thread *thread, struct fl_task *task, const char *const *names)
{
    fl_function_id ids[64];
    uint32_t count = ids_of(names, ids);
    assert_true(fl_other_begin(thread));
    fl_other_place(thread, task, ids, count, fl_now(thread));
    fl_other_end(thread);
}
#define PLACE(thread, task, ...) place(thread, task, (const char *const[]){__VA_ARGS__, NULL})

static struct fl_task *park(struct fl_thread *thread, const char *const *names)
{
    fl_function_id ids[64];
    uint32_t count = ids_of(names, ids);
    assert_true(fl_other_begin(thread));
    struct fl_task *task = fl_task_create(thread, fl_now(thread), NULL);
    fl_seed_parked(thread, task, ids, count, fl_now(thread));
    fl_other_end(thread);
    return task;
}
#define PARK(thread, ...) park(thread, (const char *const[]){__VA_ARGS__, NULL})

/* A thread whose CPU clock stands at 0, attached by the one that is driven. */
static struct fl_thread *attach_other(uint32_t tid)
{
    struct fl_thread *thread = fl_other_attach(script.session, tid, 0);
    assert_non_null(thread);
    return thread;
}

/* GIVEN a thread that sleeps when profiling starts, WHEN it is told by another one, THEN it is there with its stack,
 * its parked tasks and its open time, before any event of its own. */
static void test_a_sleeping_thread_is_there(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    struct fl_thread *other = attach_other(1002);
    PLACE(other, other->main, "run", "loop");
    struct fl_task *parked = PARK(other, "worker", "get");
    busy(20);

    drive(other); /* to look at it; its own clock stood */
    assert_node(node("run", "run/loop"), 0, .blocked = 20);
    assert_int_equal(node("run", "run/loop")->seeded, 1);
    assert_int_equal(node("run", "run")->seeded, 1);
    assert_thread(thread(), .blocked = 20);
    assert_int_equal(task(parked->id)->state, FL_TASK_PARKED);
    assert_int_equal(task(parked->id)->since, 10);
    assert_int_equal(task(parked->id)->begin, 10);
    assert_int_equal(task(parked->id)->thread, thread()->id);
    assert_int_equal(find_node("worker", "worker/get")->seeded, 1);
}

/* GIVEN such a thread, WHEN it has its first event, THEN what it slept is blocked, what it ran is cpu, and goes where
 * it was told to be; a task that was told parked goes on at its place. */
static void test_it_goes_on_where_it_was_told_to_be(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    struct fl_thread *other = attach_other(1002);
    PLACE(other, other->main, "run", "loop");
    struct fl_task *parked = PARK(other, "worker", "get");
    busy(20);
    drive(other);
    busy(7);
    fl_thread_adopt(other);
    busy(3), ret("loop");
    assert_node(node("run", "run/loop"), 0, .cpu = 10, .blocked = 20);
    to(parked);
    busy(5), ret("get");
    assert_node(node("worker", "worker/get"), 0, .cpu = 5, .waited = 30);
    assert_int_equal(task(parked->id)->sums.waited, 30);
    assert_thread(thread(), .cpu = 15, .blocked = 20);
    struct fl_lost lost;
    fl_session_lost(script.session, &lost);
    assert_int_equal(lost.unmatched, 0);
}

/* GIVEN a thread that sleeps in a greenlet, not in its own stack, THEN that task is current, and the other parked. */
static void test_another_task_than_the_first_is_current(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *other = attach_other(1002);
    struct fl_task *hub = PARK(other, "run");
    fl_task_set_hub(other, hub);
    PLACE(other, hub, "run");
    off(40);
    drive(other);
    assert_int_equal(task(hub->id)->state, FL_TASK_CURRENT);
    assert_int_equal(task(other->main->id)->state, FL_TASK_PARKED);
    assert_sums(task(hub->id), .idle = 40);
    assert_thread(thread(), .idle = 40);
    assert_int_equal(thread()->hub, hub->id);
}

/* GIVEN a thread that sleeps over a stop and a start, WHEN another one resumes it, THEN nothing of the stop is in its
 * numbers, and what it does afterwards is. */
static void test_a_stop_is_in_no_number(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *first = script.thread, *other = attach(1002);
    call("run"), busy(10);
    drive(first);
    off(5);
    fl_session_stop(script.session);
    off(1000);
    drive(other), busy(300), drive(first); /* works while nobody looks */
    fl_session_start(script.session);
    assert_true(fl_other_begin(other));
    fl_other_resume(other);
    fl_other_end(other);
    PLACE(other, other->main, "run", "deep");
    off(4);
    drive(other);
    assert_node(node("run", "run"), 1, .cpu = 10, .blocked = 5);
    assert_node(node("run", "run/deep"), 0, .blocked = 4);
    busy(2), ret("deep");
    assert_node(node("run", "run/deep"), 0, .cpu = 2, .blocked = 4);
    assert_thread(thread(), .cpu = 12, .blocked = 9);
}

/* GIVEN a thread that was told and is gone before its first event, THEN it can be ended, with its tasks; once. */
static void test_a_thread_that_is_gone(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *other = attach_other(1002);
    PLACE(other, other->main, "run");
    struct fl_task *parked = PARK(other, "worker");
    off(30);
    fl_other_detach(other);
    fl_other_detach(other);
    off(10);
    drive(other);
    assert_int_equal(thread()->state, FL_THREAD_ENDED);
    assert_int_equal(thread()->end, 30);
    assert_int_equal(task(parked->id)->state, FL_TASK_ENDED);
    assert_int_equal(task(parked->id)->sums.waited, 30);
    assert_node(node("run", "run"), 0, .blocked = 30);
    assert_false(fl_other_begin(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_sleeping_thread_is_there, script_end),
        cmocka_unit_test_teardown(test_it_goes_on_where_it_was_told_to_be, script_end),
        cmocka_unit_test_teardown(test_another_task_than_the_first_is_current, script_end),
        cmocka_unit_test_teardown(test_a_stop_is_in_no_number, script_end),
        cmocka_unit_test_teardown(test_a_thread_that_is_gone, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
