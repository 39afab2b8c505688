/* Who waits for the global lock: what looks make of the answers, for tasks, slices and threads. */
#include "core_script.h"

#include "global_lock.h"
#include "lock_waits.h"
#include "wire_reader.h"

/* The lock, as the test wants it seen. */
static struct {
    uint32_t holder;
    enum fl_lock_wait answers[8]; /* by tid - 1001 */
    unsigned questions;
} lock;

static uint32_t holder(void)
{
    return lock.holder;
}

static enum fl_lock_wait wait_of(uint32_t tid)
{
    lock.questions++;
    return lock.answers[tid - 1001];
}

static const struct fl_global_lock global_lock = {.holder = holder, .wait_of = wait_of};

static void begin_with_lock(uint64_t threshold)
{
    lock.holder = 0;
    lock.questions = 0;
    for (int i = 0; i < 8; i++)
        lock.answers[i] = FL_LOCK_NOT_AWAITED;
    script_begin(&(struct fl_session_options){.threshold_ns = threshold, .global_lock = &global_lock});
    assert_int_equal(fl_shadow_watch_lock(script.shadow), 0);
}

static const struct fl_shadow_lock_wait *only_row(void)
{
    look();
    assert_int_equal(script.shadow->lock_wait_count, 1);
    return &script.shadow->lock_waits[0];
}

/* GIVEN a task that is off the processor while another thread computes, THEN it is told as waiting for that thread,
 * there, for as long as the looks saw it. */
static void test_a_wait_names_the_holder(void **state)
{
    (void)state;
    begin_with_lock(1000);
    struct fl_thread *waiter = script.thread;
    struct fl_task *hub = current_task(), *worker = spawn();
    fl_task_set_hub(waiter, hub);
    call("run"), to(worker), call("handle"), call("render");
    struct fl_thread *computes = attach(1002);
    call("crunch"), call("inner");
    drive(waiter);
    fl_shadow_watch(script.shadow);
    lock.holder = 1002;
    lock.answers[0] = FL_LOCK_AWAITED;
    for (int i = 0; i < 10; i++) {
        off(1000);
        fl_shadow_watch(script.shadow);
    }
    const struct fl_shadow_lock_wait *row = only_row();
    assert_int_equal(row->thread, 1);
    assert_int_equal(row->task, 2);
    assert_int_equal(row->holder, 2);
    assert_int_equal(row->waited, 10000);
    assert_int_equal(row->looks, 10);
    assert_ptr_equal(&script.shadow->nodes[row->node], node("handle", "handle/render"));
    assert_int_equal(script.shadow->threads[0].gil_wait, 1);
    assert_int_equal(script.shadow->threads[0].gil_holder, 2);
    assert_int_equal(script.shadow->threads[1].gil_wait, 0);
    (void)computes;
    drive(computes);
    assert_ptr_equal(&script.shadow->nodes[row->holder_node], node("crunch", "crunch/inner"));

    /* The slice has it too when it is over; what follows is no wait. */
    drive(waiter);
    lock.answers[0] = FL_LOCK_NOT_AWAITED;
    off(500);
    fl_shadow_watch(script.shadow);
    to(hub);
    look();
    assert_int_equal(script.shadow->threads[0].gil_wait, 0);
    assert_int_equal(script.shadow->slice_count, 1);
    const struct fl_shadow_slice *slice = &script.shadow->slices[0];
    assert_int_equal(slice->blocked, 10500);
    assert_int_equal(slice->gil, 10000);
    assert_int_equal(slice->gil_holder, 2);
    assert_int_equal(slice->gil_node, row->holder_node);
    assert_int_equal(only_row()->waited, 10000);
}

/* GIVEN a blocking call while nobody holds the lock, or the thread itself, THEN nothing is asked or told. */
static void test_other_waits_are_not_counted(void **state)
{
    (void)state;
    begin_with_lock(1000);
    lock.answers[0] = FL_LOCK_AWAITED;
    call("main"), call("recv");
    for (int i = 0; i < 5; i++)
        off(1000), fl_shadow_watch(script.shadow);
    lock.holder = 1001;
    for (int i = 0; i < 5; i++)
        off(1000), fl_shadow_watch(script.shadow);
    look();
    assert_int_equal(lock.questions, 0);
    assert_int_equal(script.shadow->lock_wait_count, 0);
}

/* GIVEN looks that cannot tell, THEN the next one that can stands for them too. */
static void test_a_look_that_cannot_tell(void **state)
{
    (void)state;
    begin_with_lock(1000);
    attach(1002), call("crunch");
    drive(atomic_load(&script.session->threads[0]));
    call("main"), call("work");
    fl_shadow_watch(script.shadow);
    lock.holder = 1002;
    lock.answers[0] = FL_LOCK_WAIT_UNKNOWN;
    off(300), fl_shadow_watch(script.shadow);
    off(300), fl_shadow_watch(script.shadow);
    assert_int_equal((look(), script.shadow->lock_wait_count), 0);
    lock.answers[0] = FL_LOCK_AWAITED;
    off(300), fl_shadow_watch(script.shadow);
    assert_int_equal(only_row()->waited, 900);
    /* Its turn in between says nothing about what could not be told; another reason to sleep does. */
    lock.answers[0] = FL_LOCK_WAIT_UNKNOWN;
    off(300), fl_shadow_watch(script.shadow);
    lock.holder = 1001;
    busy(300), fl_shadow_watch(script.shadow);
    lock.holder = 1002;
    lock.answers[0] = FL_LOCK_AWAITED;
    off(300), fl_shadow_watch(script.shadow);
    assert_int_equal(only_row()->waited, 1500);
    lock.answers[0] = FL_LOCK_WAIT_UNKNOWN;
    off(300), fl_shadow_watch(script.shadow);
    lock.answers[0] = FL_LOCK_NOT_AWAITED;
    off(300), fl_shadow_watch(script.shadow);
    lock.answers[0] = FL_LOCK_AWAITED;
    off(300), fl_shadow_watch(script.shadow);
    assert_int_equal(only_row()->waited, 1800);
    /* A server that slept for long has not seen all that time. */
    off(3000000000), fl_shadow_watch(script.shadow);
    assert_int_equal(only_row()->waited, 1800 + 250000000);
}

/* GIVEN a holder that is not profiled, THEN the wait is told without a name. */
static void test_a_holder_that_is_not_known(void **state)
{
    (void)state;
    begin_with_lock(1000);
    call("main");
    fl_shadow_watch(script.shadow);
    lock.holder = 4711;
    lock.answers[0] = FL_LOCK_AWAITED;
    off(100), fl_shadow_watch(script.shadow);
    assert_int_equal(only_row()->holder, 0);
    assert_int_equal(only_row()->holder_node, 0);
    assert_int_equal(only_row()->waited, 100);
}

/* GIVEN more tasks than have rows, THEN what they wait is told of their thread, and no time is lost. */
static void test_many_tasks(void **state)
{
    (void)state;
    begin_with_lock(1000000);
    struct fl_task *main_task = current_task();
    call("main");
    fl_shadow_watch(script.shadow);
    lock.holder = 4711;
    lock.answers[0] = FL_LOCK_AWAITED;
    enum { MANY = 1000 };
    for (int i = 0; i < MANY; i++) {
        struct fl_task *one = spawn();
        to(one), call("job"), off(10);
        fl_shadow_watch(script.shadow);
        to(main_task), end(one);
    }
    look();
    uint64_t waited = 0;
    for (uint32_t i = 0; i < script.shadow->lock_wait_count; i++)
        waited += script.shadow->lock_waits[i].waited;
    assert_true(script.shadow->lock_wait_count <= FL_LOCK_WAITS);
    assert_int_equal(waited, MANY * 10);
}

/* GIVEN a second reader that comes later, THEN it is told the same, and its own looks count nothing. */
static void test_the_sums_are_the_sessions(void **state)
{
    (void)state;
    begin_with_lock(1000);
    call("main");
    fl_shadow_watch(script.shadow);
    lock.holder = 4711;
    lock.answers[0] = FL_LOCK_AWAITED;
    off(100), fl_shadow_watch(script.shadow);
    struct fl_shadow *late;
    assert_int_equal(fl_shadow_create(script.session, &late), 0);
    off(100);
    assert_int_equal(fl_shadow_refresh(late), 0);
    assert_int_equal(fl_shadow_refresh(late), 0);
    assert_int_equal(late->lock_wait_count, 1);
    assert_int_equal(late->lock_waits[0].waited, 100);
    struct fl_lock_slice slice = fl_lock_waits_slice(script.session->lock_waits, 0, 0);
    assert_int_equal(slice.waited, 100);
    assert_int_equal(fl_lock_waits_slice(script.session->lock_waits, 0, 1).waited, 0);
    struct fl_cursor cursor = {0};
    json_t *body = update_body(late, &cursor, &everything);
    assert_int_equal(rows_in(body, "gil", "add"), 1);
    assert_int_equal(rows_in(body, "gil", "upd"), 1);
    json_decref(body);
    assert_int_equal(fl_shadow_refresh(late), 0);
    body = update_body(late, &cursor, &everything);
    assert_null(json_object_get(body, "gil"));
    json_decref(body);
    fl_shadow_destroy(late);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_a_wait_names_the_holder),
        TEST(test_other_waits_are_not_counted),
        TEST(test_a_look_that_cannot_tell),
        TEST(test_a_holder_that_is_not_known),
        TEST(test_many_tasks),
        TEST(test_the_sums_are_the_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
