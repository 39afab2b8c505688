/* Start, stop and resume: no gap, and nothing of the stop is in any number. */
#include "core_script.h"

#include <time.h>

static void start(void)
{
    fl_session_start(script.session);
}

static void stop(void)
{
    fl_session_stop(script.session);
}

/* What an embedder does at a thread's first event after a start, where the stack is as it was. */
static void come_back(void)
{
    fl_session_resume(script.session, script.thread);
}

/* GIVEN a session that has not been started, THEN trace time stands at 0. */
static void test_a_new_session_stands_at_0(void **state)
{
    (void)state;
    fl_fake_ticks = 123;
    struct fl_session *session;
    assert_int_equal(fl_session_create(NULL, &session), 0);
    fl_fake_ticks += 50;
    assert_int_equal(fl_session_now(session), 0);
    fl_session_start(session);
    fl_fake_ticks += 5;
    assert_int_equal(fl_session_now(session), 5);
    fl_session_start(session); /* no-op */
    fl_fake_ticks += 5;
    assert_int_equal(fl_session_now(session), 10);
    fl_session_stop(session);
    fl_session_stop(session); /* no-op */
    fl_fake_ticks += 70;
    assert_int_equal(fl_session_now(session), 10);
    fl_session_end(session);
    fl_session_start(session); /* over is over */
    fl_fake_ticks += 70;
    assert_int_equal(fl_session_now(session), 10);
    fl_session_destroy(session);
}

/* GIVEN a stop inside a frame, THEN time stands still everywhere, whatever the thread does meanwhile. */
static void test_a_stop_stands_still(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10), off(5), call("a"), busy(3), off(4);
    stop();
    uint64_t version = (look(), script.shadow->version);
    for (int i = 0; i < 3; i++) {
        busy(1000), off(1000);
        assert_node(node("main", "main"), 1, .cpu = 10, .blocked = 5);
        assert_node(node("main", "main/a"), 1, .cpu = 3, .blocked = 4);
        assert_thread(thread(), .cpu = 13, .blocked = 9);
        assert_sums(task(1), .cpu = 13, .blocked = 9);
        assert_int_equal(script.shadow->now, 22);
        assert_int_equal(script.shadow->state, FL_SESSION_STOPPED);
    }
    assert_true(script.shadow->version <= version + 2); /* two names were made by the test: nothing else changed */
}

/* GIVEN a stop and a start inside a frame, THEN what was open goes on as if nothing had been in between. */
static void test_a_start_goes_on_without_a_gap(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn();
    call("main"), busy(10), off(5);
    stop();
    busy(300), off(4000);
    start();
    busy(2), off(1);
    assert_node(node("main", "main"), 1, .cpu = 12, .blocked = 6); /* before the thread has noticed */
    assert_thread(thread(), .cpu = 12, .blocked = 6);
    come_back();
    assert_node(node("main", "main"), 1, .cpu = 12, .blocked = 6);
    busy(1), call("a"), busy(2), off(1), ret("a");
    assert_node(node("main", "main"), 1, .cpu = 13, .blocked = 6);
    assert_node(node("main", "main/a"), 1, .cpu = 2, .blocked = 1);
    to(other);
    assert_sums(task(1), .cpu = 15, .blocked = 7);
    assert_sums(task(2), .waited = 22);
    assert_thread(thread(), .cpu = 15, .blocked = 7);
    assert_int_equal(script.shadow->now, 22);
}

/* GIVEN several stops before the thread has its next event, THEN the CPU time of all of them is left out. */
static void test_several_stops_between_two_events(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    for (int i = 0; i < 3; i++) {
        stop();
        busy(100 + (uint64_t)i), off(1000);
        start();
        busy(1), off(2);
        assert_thread(thread(), .cpu = 11 + (uint64_t)i, .blocked = 2 + 2 * (uint64_t)i);
    }
    come_back();
    ret("main");
    assert_node(node("main", "main"), 1, .cpu = 13, .blocked = 6);
}

/* GIVEN events of a thread that has come back, THEN its epoch is the session's; before, it is older. */
static void test_the_epoch_tells_who_has_to_come_back(void **state)
{
    (void)state;
    script_begin(NULL);
    assert_int_equal(script.thread->epoch, script.session->epoch);
    stop();
    assert_int_equal(script.thread->epoch, script.session->epoch);
    start();
    assert_int_not_equal(script.thread->epoch, script.session->epoch);
    come_back();
    assert_int_equal(script.thread->epoch, script.session->epoch);
}

/* GIVEN a thread that attaches before the start, or while stopped, THEN it begins there, and nothing before the start
 * is in its numbers. */
static void test_a_thread_that_attaches_while_stopped(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(50);
    stop();
    off(7000), busy(300);
    script.thread = fl_thread_attach(script.session, 1002, 0);
    off(400), busy(200);
    assert_thread(thread(), .cpu = 0);
    assert_int_equal(thread()->begin, 50);
    start();
    busy(3), off(5);
    assert_thread(thread(), .cpu = 3, .blocked = 5);
    come_back();
    call("main"), busy(10), off(20), ret("main");
    assert_node(node("main", "main"), 1, .cpu = 10, .blocked = 20);
    assert_thread(thread(), .cpu = 13, .blocked = 25);
}

/* GIVEN a thread that ends while the session is stopped, THEN it ends at the stop, with the times up to there. */
static void test_a_thread_that_ends_while_stopped(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10), off(1);
    stop();
    off(2000), busy(3000);
    fl_thread_detach(script.thread);
    assert_thread(thread(), .cpu = 10, .blocked = 1);
    assert_int_equal(thread()->end, 11);
    assert_node(node("main", "main"), 1, .cpu = 10, .blocked = 1);
    assert_sums(task(1), .cpu = 10, .blocked = 1);
}

/* GIVEN a thread that ends after a restart without an event in between, THEN the stop is not in its times. */
static void test_a_thread_that_ends_right_after_a_restart(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10), off(5);
    stop();
    off(2000), busy(3000);
    start();
    busy(1), off(2);
    fl_thread_detach(script.thread);
    assert_thread(thread(), .cpu = 11, .blocked = 7);
    assert_node(node("main", "main"), 1, .cpu = 11, .blocked = 7);
}

/* GIVEN the end of the program, THEN the picture changes once more, though time stands still already. */
static void test_the_end_is_told(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(10);
    stop();
    look();
    uint64_t version = script.shadow->version;
    look();
    assert_int_equal(script.shadow->version, version);
    fl_session_end(script.session);
    look();
    assert_int_equal(script.shadow->state, FL_SESSION_OVER);
    assert_int_equal(script.shadow->version, version + 1);
    look();
    assert_int_equal(script.shadow->version, version + 1);
}

/* GIVEN options left at 0, THEN they are filled in; and the session knows when it began. */
static void test_options(void **state)
{
    (void)state;
    script_begin(NULL);
    assert_int_equal(script.session->options.node_bytes, 46 << 20);
    assert_int_equal(script.session->options.threshold_ns, 100000000);
    assert_int_equal(script.session->threshold, 100000000);
    assert_int_equal(script.session->options.ended_tasks, 1024);
    assert_int_equal(script.session->options.ended_threads, 64);
    assert_in_range(script.session->epoch_ms, (uint64_t)(time(NULL) - 5) * 1000, (uint64_t)(time(NULL) + 1) * 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_a_new_session_stands_at_0),
        TEST(test_a_stop_stands_still),
        TEST(test_a_start_goes_on_without_a_gap),
        TEST(test_several_stops_between_two_events),
        TEST(test_the_epoch_tells_who_has_to_come_back),
        TEST(test_a_thread_that_attaches_while_stopped),
        TEST(test_a_thread_that_ends_while_stopped),
        TEST(test_a_thread_that_ends_right_after_a_restart),
        TEST(test_the_end_is_told),
        TEST(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
