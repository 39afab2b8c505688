/* Calls and returns: which node gets which time, and what happens where they do not match. */
#include "core_script.h"

/* GIVEN nested calls, THEN each node has exactly the time in which it was current, and its calls. */
static void test_time_goes_to_the_node_that_was_current(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(3);
    call("main"), busy(10);
    call("work"), busy(20), ret("work");
    busy(1);
    call("work"), busy(30);
    call("inner"), busy(4), ret("inner");
    ret("work");
    busy(2);
    ret("main");
    busy(5);

    assert_node(node("", ""), 0, .cpu = 3);
    assert_node(node("main", ""), 0, .cpu = 5);
    assert_node(node("main", "main"), 1, .cpu = 13);
    assert_node(node("main", "main/work"), 2, .cpu = 50);
    assert_node(node("main", "main/work/inner"), 1, .cpu = 4);
    assert_int_equal(script.shadow->nodes_alive, 5);
    assert_thread(thread(), .cpu = 75);
}

/* GIVEN a frame that is still running, WHEN looked at again and again, THEN it reads right each time. */
static void test_an_open_frame_reads_right_at_any_moment(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10), off(5);
    for (uint64_t i = 1; i <= 3; i++) {
        busy(7), off(2);
        assert_node(node("main", "main"), 1, .cpu = 10 + 7 * i, .blocked = 5 + 2 * i);
        assert_thread(thread(), .cpu = 10 + 7 * i, .blocked = 5 + 2 * i);
    }
    ret("main");
    assert_node(node("main", "main"), 1, .cpu = 31, .blocked = 11);
}

/* GIVEN recursion, THEN each level is a node of its own. */
static void test_recursion_has_a_node_per_level(void **state)
{
    (void)state;
    script_begin(NULL);
    call("f"), busy(1), call("f"), busy(2), call("f"), busy(4), ret("f"), busy(8), ret("f"), busy(16), ret("f");
    assert_node(node("f", "f"), 1, .cpu = 17);
    assert_node(node("f", "f/f"), 1, .cpu = 10);
    assert_node(node("f", "f/f/f"), 1, .cpu = 4);
}

/* GIVEN the same function below two callers, THEN there are two nodes. */
static void test_a_node_is_a_call_path(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    call("a"), call("x"), busy(1), ret("x"), ret("a");
    call("b"), call("x"), busy(2), ret("x"), ret("b");
    call("a"), call("x"), busy(4), ret("x"), ret("a");
    assert_node(node("main", "main/a/x"), 2, .cpu = 5);
    assert_node(node("main", "main/b/x"), 1, .cpu = 2);
}

/* GIVEN a generator that is called once and goes on twice, THEN it has one call and all its time, under each caller. */
static void test_a_generator_that_goes_on_is_no_call(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    call("gen"), busy(1), ret("gen");
    busy(10);
    resume("gen"), busy(2), ret("gen");
    call("other"), resume("gen"), busy(4), ret("gen"), ret("other");
    resume("gen"), busy(8), ret("gen");
    assert_node(node("main", "main/gen"), 1, .cpu = 11);
    assert_node(node("main", "main/other/gen"), 0, .cpu = 4);
}

/* GIVEN a return whose call is deeper in the stack, THEN all frames above it are left too, and it is counted. */
static void test_a_return_finds_its_frame(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), call("a"), call("b"), call("c"), busy(5);
    ret("a");
    busy(7);
    assert_node(node("main", "main/a/b/c"), 1, .cpu = 5);
    assert_node(node("main", "main"), 1, .cpu = 7);
    assert_int_equal(script.shadow->lost.unmatched, 1);
    ret("main");
    assert_int_equal(script.shadow->lost.unmatched, 1);
    busy(2);
    assert_node(node("main", ""), 0, .cpu = 2);
}

/* GIVEN a return of what is not on the stack, THEN nothing changes, the time is kept, and it is counted. */
static void test_an_unknown_return_is_ignored(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), call("a"), busy(5);
    ret("stranger");
    busy(7);
    assert_node(node("main", "main/a"), 1, .cpu = 12);
    ret("a"), busy(1), ret("main"), busy(2), ret("main"), busy(4);
    assert_node(node("main", "main"), 1, .cpu = 1);
    assert_node(node("main", ""), 0, .cpu = 6);
    assert_int_equal(script.shadow->lost.unmatched, 2);
}

/* GIVEN the first function of a task, THEN it decides the group for good, also after it has returned. */
static void test_the_first_function_decides_the_group(void **state)
{
    (void)state;
    script_begin(NULL);
    call("first"), busy(1), ret("first");
    call("second"), busy(2), ret("second");
    assert_node(node("first", "first"), 1, .cpu = 1);
    assert_node(node("first", "second"), 1, .cpu = 2);
    assert_null(find_node("second", ""));
    assert_int_equal(task(1)->group, fl_groups_add(&script.session->groups, function("first"), 0));
    assert_sums(group("first"), .cpu = 3);
    assert_int_equal(group("first")->started, 1);
    assert_int_equal(group("")->started, 0);
}

/* GIVEN frames below what is shown, on purpose, THEN their returns are not unmatched; those of anything else are. */
static void test_frames_below_what_is_shown(void **state)
{
    (void)state;
    script_begin(NULL);
    script.thread->below = 2;
    call("main"), busy(1), ret("main"), busy(2);
    ret("launcher"), busy(4), ret("runpy"), busy(8);
    assert_int_equal((look(), script.shadow->lost.unmatched), 0);
    assert_int_equal(script.thread->below, 0);
    ret("stranger");
    assert_int_equal((look(), script.shadow->lost.unmatched), 1);
    assert_node(node("main", ""), 0, .cpu = 14);
}

/* GIVEN a call again, THEN the short way is taken: the child that was entered last is remembered. But not in group 0,
 * where each first call has a group to find. */
static void test_the_child_entered_last_is_remembered(void **state)
{
    (void)state;
    script_begin(NULL);
    const struct fl_node *root = script.thread->no_group->root;
    call("main"), call("a");
    const struct fl_node *a = atomic_load(&script.thread->node);
    assert_ptr_equal(a->up->last_child, a);
    assert_int_equal(root->last_child->function, FL_NO_FUNCTION);
    ret("a"), call("b");
    assert_ptr_not_equal(a->up->last_child, a);
    ret("b"), call("a");
    assert_ptr_equal(a->up->last_child, a);
}

/* How many nodes fit: the root of group 0, the root of the group, and `functions` below it. */
static struct fl_session_options room_for(uint64_t functions)
{
    return (struct fl_session_options){.node_bytes = (2 + functions) * sizeof(struct fl_node)};
}

/* GIVEN no room for a node, THEN its calls are counted as lost, its time stays with the nearest node that is shown, and
 * returns keep to the stack. */
static void test_without_room_time_stays_with_the_nearest_node(void **state)
{
    (void)state;
    struct fl_session_options options = room_for(2);
    script_begin(&options);
    call("main"), busy(1), call("a"), busy(2);
    call("b"), busy(4), call("c"), busy(8), call("a"), busy(16);
    assert_node(node("main", "main/a"), 1, .cpu = 30);
    assert_int_equal(script.shadow->lost.events, 3);
    ret("a"), busy(32), ret("c"), busy(64), ret("b"), busy(128);
    assert_node(node("main", "main/a"), 1, .cpu = 254);
    ret("a"), busy(256);
    assert_node(node("main", "main"), 1, .cpu = 257);
    /* A known path works as before, and inside an overflow nothing is a known path. */
    call("a"), busy(1), ret("a");
    call("d"), call("a"), busy(1), ret("a"), ret("d");
    assert_node(node("main", "main/a"), 2, .cpu = 255);
    assert_node(node("main", "main"), 1, .cpu = 258);
    assert_int_equal(script.shadow->lost.events, 5);
    assert_int_equal(script.shadow->lost.unmatched, 0);
    assert_thread(thread(), .cpu = 513);
}

/* GIVEN room for no node but the first root, THEN the task stays in group 0 and all time is there. */
static void test_without_room_for_a_group_time_stays_in_group_0(void **state)
{
    (void)state;
    struct fl_session_options options = {.node_bytes = sizeof(struct fl_node)};
    script_begin(&options);
    call("main"), busy(1), call("a"), busy(2), ret("a"), ret("main"), busy(4);
    assert_node(node("", ""), 0, .cpu = 7);
    assert_int_equal(script.shadow->nodes_alive, 1);
    assert_int_equal(task(1)->group, 0);
    assert_int_equal(script.shadow->lost.events, 2);
}

/* GIVEN room for the group's root only, THEN the task is in its group and the entry is lost. */
static void test_without_room_for_the_entry_time_stays_in_the_root(void **state)
{
    (void)state;
    struct fl_session_options options = room_for(0);
    script_begin(&options);
    call("main"), busy(1), ret("main"), busy(2);
    assert_node(node("main", ""), 0, .cpu = 3);
    assert_int_equal(script.shadow->lost.events, 1);
}

/* GIVEN two tasks, one deeper than there is room, THEN the other's stack is its own. */
static void test_each_task_has_its_own_overflow(void **state)
{
    (void)state;
    struct fl_session_options options = room_for(1);
    script_begin(&options);
    struct fl_task *main_task = current_task(), *other = spawn();
    call("main"), call("lost"), busy(1);
    to(other);
    call("other"), busy(2); /* no room for another group */
    to(main_task);
    ret("lost"), busy(4), ret("main"), busy(8);
    to(other);
    ret("other"), busy(16);
    assert_node(node("main", "main"), 1, .cpu = 5, .waited = 2);
    assert_node(node("main", ""), 0, .cpu = 8);
    assert_node(node("", ""), 0, .cpu = 18, .waited = 1 + 12);
    assert_int_equal(script.shadow->lost.events, 2);
    assert_int_equal(script.shadow->lost.unmatched, 0);
}

/* GIVEN a task that ends deeper than there is room, THEN the next one in its row begins at its root. */
static void test_a_reused_row_has_no_overflow(void **state)
{
    (void)state;
    struct fl_session_options options = room_for(2);
    options.ended_tasks = 1;
    script_begin(&options);
    struct fl_task *old = spawn(), *filler = spawn();
    to(old), call("job"), call("a"), call("lost"), call("lost");
    to(script.thread->main);
    end(old), end(filler);
    assert_ptr_equal(spawn(), old);
    to(old), call("job"), call("a"), busy(3), ret("a"), busy(4);
    assert_node(node("job", "job/a"), 2, .cpu = 3);
    assert_node(node("job", "job"), 2, .cpu = 4);
}

/* GIVEN a stack that is not known any more, THEN time goes to the root until it is told anew, and old frames are gone.
 */
static void test_a_forgotten_stack_is_told_again(void **state)
{
    (void)state;
    struct fl_session_options options = room_for(3);
    script_begin(&options);
    call("main"), call("a"), call("b"), busy(1), call("lost"), busy(2);
    fl_forget_stack(script.thread, fl_now(script.thread));
    busy(4);
    resume("main"), resume("a"), busy(8);
    ret("a"), busy(16);
    assert_node(node("main", "main/a/b"), 1, .cpu = 3);
    assert_node(node("main", ""), 0, .cpu = 4);
    assert_node(node("main", "main/a"), 1, .cpu = 8);
    assert_node(node("main", "main"), 1, .cpu = 16);
    assert_int_equal(script.shadow->lost.unmatched, 0);
}

/* GIVEN a CPU clock that runs ahead of wall for a while, THEN nothing is clamped away: the sums are right in the end.
 */
static void test_a_negative_remainder_is_carried(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), pass(10, 14), call("a"), pass(10, 11);
    ret("a");
    assert_node(node("main", "main"), 1, .cpu = 10);
    assert_node(node("main", "main/a"), 1, .cpu = 10);
    pass(10, 2); /* 8 off, of which 5 are owed */
    call("a"), pass(10, 0);
    ret("a");
    assert_node(node("main", "main"), 1, .cpu = 17, .blocked = 3);
    assert_node(node("main", "main/a"), 2, .cpu = 10, .blocked = 10);
    assert_thread(thread(), .cpu = 27, .blocked = 13);
}

/* GIVEN time off the processor that has no room in the interval in which it showed, THEN the next intervals take it. */
static void test_a_remainder_that_is_too_large_is_carried(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    fl_ticks now = fl_now(script.thread);
    off(20); /* the event was stamped before the clocks were read: the thread was taken away in between */
    fl_enter(script.thread, function("a"), true, now + 5);
    assert_node(node("main", "main"), 1, .blocked = 5);
    busy(30);
    ret("a");
    busy(1), ret("main");
    assert_node(node("main", "main/a"), 1, .cpu = 30, .blocked = 15);
    assert_node(node("main", "main"), 1, .cpu = 1, .blocked = 5);
}

/* GIVEN a counter that is some ticks behind after a migration, THEN nothing passed, and no time is lost or made. */
static void test_a_counter_that_steps_back_costs_nothing(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10), call("a"), busy(10);
    fl_fake_ticks -= 15;
    ret("a");
    busy(20);
    ret("main");
    assert_node(node("main", "main/a"), 1, .cpu = 0);
    assert_node(node("main", "main"), 1, .cpu = 10 + 15);
    assert_thread(thread(), .cpu = 25);
}

/* GIVEN a counter that steps back at a switch, THEN no task waits less than nothing. */
static void test_a_counter_that_steps_back_at_a_switch_costs_nothing(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task();
    busy(10);
    struct fl_task *other = spawn();
    fl_fake_ticks -= 3;
    to(other), busy(5);
    to(main_task);
    fl_fake_ticks -= 2;
    end(other);
    fl_fake_ticks += 2;
    assert_sums(task(1), .cpu = 10, .waited = 2);
    assert_sums(task(2), .cpu = 2);
}

/* GIVEN intervals shorter than the limit, THEN they are all cpu without asking, and the next that asks makes it right.
 */
static void test_a_short_interval_is_all_cpu(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(1), call("a"), ret("a");
    script.thread->cpu.limit = 100;
    busy(50), call("a"), busy(60), ret("a"), off(70), call("a"), busy(100);
    ret("a");
    assert_node(node("main", "main"), 1, .cpu = 121);
    assert_node(node("main", "main/a"), 3, .cpu = 60 + 100 - 70, .blocked = 70);
    assert_thread(thread(), .cpu = 211, .blocked = 70);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_time_goes_to_the_node_that_was_current),
        TEST(test_an_open_frame_reads_right_at_any_moment),
        TEST(test_recursion_has_a_node_per_level),
        TEST(test_a_node_is_a_call_path),
        TEST(test_a_generator_that_goes_on_is_no_call),
        TEST(test_a_return_finds_its_frame),
        TEST(test_an_unknown_return_is_ignored),
        TEST(test_the_first_function_decides_the_group),
        TEST(test_frames_below_what_is_shown),
        TEST(test_the_child_entered_last_is_remembered),
        TEST(test_without_room_time_stays_with_the_nearest_node),
        TEST(test_without_room_for_a_group_time_stays_in_group_0),
        TEST(test_without_room_for_the_entry_time_stays_in_the_root),
        TEST(test_each_task_has_its_own_overflow),
        TEST(test_a_reused_row_has_no_overflow),
        TEST(test_a_forgotten_stack_is_told_again),
        TEST(test_a_negative_remainder_is_carried),
        TEST(test_a_remainder_that_is_too_large_is_carried),
        TEST(test_a_counter_that_steps_back_costs_nothing),
        TEST(test_a_counter_that_steps_back_at_a_switch_costs_nothing),
        TEST(test_a_short_interval_is_all_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
