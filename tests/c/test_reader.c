/*
 * What happens while a reader reads: the session goes on between its steps, one scripted interleaving after another.
 * Each picture must add up; what happened in between may be missing from it, what was before may not.
 *
 * In the script the clocks stand still while the reader works, so that nothing can be excused with the time it took.
 */
#include "core_script.h"

#include "shadow_read.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* What happens after this step of the next look, once. */
static int when;
static void (*what)(void);

static void meanwhile(int step)
{
    if (step != when || !what)
        return;
    void (*once)(void) = what;
    what = NULL;
    once();
}

static void look_while(int step, void (*happens)(void))
{
    when = step;
    what = happens;
    fl_fake_meanwhile = meanwhile;
    look();
    assert_null(what); /* it did happen */
}

/* The own times of all nodes of the driven thread, and the thread's and its tasks' totals: all the same. A wait that
 * ends during the look may be missing from its node (shadow.h), `quiet` means that none did. */
static void assert_adds_up(uint64_t wall, bool quiet)
{
    const struct fl_shadow *shadow = script.shadow;
    const struct fl_shadow_thread *row = &shadow->threads[script.thread->index];
    uint64_t nodes = 0, tasks = 0, node_waits = 0, task_waits = 0;
    for (uint32_t id = 1; id < shadow->node_count; id++) {
        nodes += shadow->nodes[id].cpu + shadow->nodes[id].blocked + shadow->nodes[id].idle;
        node_waits += shadow->nodes[id].waited;
    }
    for (uint32_t i = 0; i < shadow->task_count; i++) {
        const struct fl_shadow_sums *sums = &shadow->tasks[i].sums;
        tasks += sums->cpu + sums->blocked + sums->idle;
        task_waits += sums->waited;
    }
    assert_int_equal(row->cpu + row->blocked + row->idle, wall);
    assert_int_equal(nodes, wall);
    assert_int_equal(tasks, wall);
    assert_true(quiet ? node_waits == task_waits : node_waits <= task_waits);
}

static void return_from_a(void)
{
    ret("a");
}

static void leave_and_come_back(void)
{
    ret("a"), call("b"), ret("b"), call("a");
}

static void leave_and_enter_new_ones(void)
{
    ret("a"), call("c"), call("d");
}

static void switch_away(void)
{
    to(atomic_load(&script.thread->task) == script.thread->main
           ? (struct fl_task *)fl_table_row(&script.session->tasks, 1)
           : script.thread->main);
}

static void switch_there_and_back(void)
{
    switch_away(), switch_away();
}

static void other_waits_elsewhere(void)
{
    switch_away(), call("elsewhere"), switch_away();
}

static const int steps[] = {FL__ROOM_MADE,     FL__FIRST_VIEWS,  FL__NODES_SCANNED,
                            FL__THREAD_VIEWED, FL__THREADS_READ, FL__TASKS_READ};
enum { STEPS = sizeof steps / sizeof *steps };

/* Two tasks; the first is current in main/a with 40 ns open, the second has been parked in job/park for 47 ns. */
static void scene(void)
{
    script_begin(NULL);
    struct fl_task *other = spawn();
    to(other), call("job"), busy(5), call("park");
    to(script.thread->main), call("main"), call("b"), busy(3), ret("b"), busy(2), call("a"), busy(2);
    look();
    off(30), busy(10);
}

static void adds_up_at_every_step(void (*happens)(void))
{
    for (int i = 0; i < STEPS; i++) {
        scene();
        look_while(steps[i], happens);
        assert_adds_up(52, false);
        assert_int_equal(script.shadow->taken_again, 0);
        look();
        assert_adds_up(52, true);
        script_end(NULL);
    }
}

/* GIVEN a long interval that was open when the look began, WHEN it ends at any step, THEN it is in the picture once. */
static void test_an_interval_that_ends_at_any_step(void **state)
{
    (void)state;
    adds_up_at_every_step(return_from_a);
    adds_up_at_every_step(leave_and_come_back);
    adds_up_at_every_step(leave_and_enter_new_ones);
}

/* GIVEN a long slice and a long wait, WHEN both end at any step, THEN each is in the picture once. */
static void test_a_switch_at_any_step(void **state)
{
    (void)state;
    adds_up_at_every_step(switch_away);
    adds_up_at_every_step(switch_there_and_back);
    adds_up_at_every_step(other_waits_elsewhere);
}

/* An event that was stamped before the look, when its thread lost the processor, and the next one. */
static fl_ticks stamp;

static void publish_late(void)
{
    fl_leave(script.thread, function("a"), stamp);
    fl_enter(script.thread, function("b"), true, stamp);
    fl_leave(script.thread, function("b"), fl_now(script.thread));
}

/* GIVEN an event that was stamped before the look and is published in it, THEN the look is taken again. */
static void test_an_event_that_is_published_late(void **state)
{
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        scene();
        stamp = fl_now(script.thread);
        busy(100);
        look_while(steps[i], publish_late);
        assert_adds_up(152, false);
        assert_int_equal(script.shadow->taken_again, steps[i] == FL__NODES_SCANNED);
        look();
        assert_adds_up(152, true);
        assert_node(node("main", "main/b"), 2, .cpu = 103);
        script_end(NULL);
    }
}

/* GIVEN a thread that never stands still, THEN a look has an end, and the next one heals it. */
static int lates;

static void publish_late_again(int step)
{
    if (step != FL__NODES_SCANNED)
        return;
    /* For the reader no time has passed meanwhile. */
    stamp = atomic_load(&script.thread->since);
    fl_enter(script.thread, function("b"), true, stamp);
    fl_leave(script.thread, function("b"), stamp + 100);
    lates++;
}

static void test_a_look_has_an_end(void **state)
{
    (void)state;
    scene();
    lates = 0;
    fl_fake_meanwhile = publish_late_again;
    look();
    fl_fake_meanwhile = NULL;
    assert_int_equal(lates, 4);
    fl_fake_ticks += 40000;
    look();
    uint64_t again = script.shadow->taken_again;
    look();
    assert_int_equal(script.shadow->taken_again, again);
}

/* GIVEN a long slice that ends when the look has been for slices already, THEN the next look has it, and is a new
 * picture though nothing else happened. */
static void test_a_long_slice_that_comes_late(void **state)
{
    (void)state;
    scene();
    script.session->threshold = 20;
    look_while(FL__ROOM_MADE, switch_away);
    assert_int_equal(script.shadow->slice_count, 0);
    uint64_t version = script.shadow->version;
    look();
    assert_int_equal(script.shadow->slice_count, 1);
    assert_int_equal(script.shadow->version, version + 1);
    assert_int_equal(script.shadow->slices[0].added, version + 1);
    look();
    assert_int_equal(script.shadow->version, version + 1);
}

/* GIVEN a node that is left with a counter some ticks behind, so that nothing was added to it, THEN what was open in it
 * is in it no more. */
static void test_a_node_that_is_left_without_time(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), call("a"), busy(10);
    assert_node(node("main", "main/a"), 1, .cpu = 10);
    fl_fake_ticks -= 10, fl_fake_cpu -= 10;
    ret("a");
    fl_fake_ticks += 30, fl_fake_cpu += 30;
    assert_node(node("main", "main/a"), 1, 0);
    assert_node(node("main", "main"), 1, .cpu = 30);
}

/* GIVEN a thread that loses its processor after an event's time was taken and before the kernel's clock is read there,
 * THEN that was blocked, in the interval that the event began; a reader says so at once, and later events too. */
static void test_preempted_within_an_event(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    fl_ticks now = fl_now(script.thread);
    fl_fake_ticks += 40000;
    fl_enter(script.thread, function("a"), true, now);
    assert_node(node("main", "main"), 1, .cpu = 10);
    assert_node(node("main", "main/a"), 1, .blocked = 40000);
    busy(30);
    assert_node(node("main", "main/a"), 1, .cpu = 30, .blocked = 40000);
    ret("a");
    assert_node(node("main", "main/a"), 1, .cpu = 30, .blocked = 40000);
    busy(5);
    assert_node(node("main", "main"), 1, .cpu = 15);
}

static void end_the_other(void)
{
    end((struct fl_task *)fl_table_row(&script.session->tasks, 1));
}

static void end_and_reuse(void)
{
    end_the_other();
    struct fl_task *next = spawn();
    to(next), call("job"), to(script.thread->main);
}

/* GIVEN a task that ends at any step, THEN its wait is in the picture once. */
static void test_an_end_at_any_step(void **state)
{
    (void)state;
    adds_up_at_every_step(end_the_other);
    adds_up_at_every_step(end_and_reuse);
}

static void thread_ends(void)
{
    detach();
}

/* GIVEN a thread that ends at any step, THEN it still adds up. */
static void test_a_thread_that_ends_at_any_step(void **state)
{
    (void)state;
    adds_up_at_every_step(thread_ends);
}

static void thread_comes(void)
{
    struct fl_thread *before = script.thread;
    attach(1002), call("main"), call("worker");
    drive(before);
}

/* GIVEN a thread that comes at any step, THEN the picture is one of before, and the next one has it. */
static void test_a_thread_that_comes_at_any_step(void **state)
{
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        scene();
        look_while(steps[i], thread_comes);
        assert_adds_up(52, true);
        look();
        assert_int_equal(script.shadow->thread_count, 2);
        drive(script.session->threads[1]);
        assert_node(node("main", "main/worker"), 1, 0);
        assert_int_equal(node("main", "main/worker")->thread, 2);
        script_end(NULL);
    }
}

/* GIVEN nodes of a thread that is only attaching, THEN they wait for their thread. */
static void test_a_thread_that_is_only_attaching(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_node_maker maker;
    assert_int_equal(fl_node_maker_init(&maker, &script.session->nodes, &script.session->node_count, 1000, 1), 0);
    assert_non_null(fl_node_child(&maker, NULL, FL_ROOT_FUNCTION));
    look();
    assert_int_equal(script.shadow->nodes_alive, 1);
    fl_node_maker_fini(&maker);
    attach(1002);
    look();
    assert_int_equal(script.shadow->nodes_alive, 3);
    assert_int_equal(script.shadow->threads[1].id, 2);
}

/* GIVEN more groups that come while the shadow is reading than it has room for, THEN it makes room. */
static void test_groups_that_come_while_it_reads(void **state)
{
    (void)state;
    script_begin(NULL);
    look();
    assert_int_equal(fl__shadow_reserve(script.shadow), 0);
    for (int i = 0; i < 120; i++) {
        char name[16];
        snprintf(name, sizeof name, "entry%d", i);
        struct fl_task *main_task = current_task(), *made = spawn();
        to(made), call(name), busy(10), to(main_task);
        end(made);
    }
    fl__shadow_scan_nodes(script.shadow, 2);
    look();
    assert_int_equal(script.shadow->group_count, 121);
    for (uint32_t g = 1; g < script.shadow->group_count; g++) {
        assert_sums(&script.shadow->groups[g], .cpu = 10);
        assert_int_equal(script.shadow->groups[g].started, 1);
    }
}

static void *refresh(void *arg)
{
    (void)arg;
    fl_fake_ticks = 5000;
    fl_shadow_refresh(script.shadow);
    return NULL;
}

static void held_while_refreshing(_Atomic uint64_t *held_version)
{
    pthread_t reader;
    atomic_fetch_add(held_version, 1);
    assert_int_equal(pthread_create(&reader, NULL, refresh, NULL), 0);
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    atomic_fetch_add(held_version, 1);
    pthread_join(reader, NULL);
}

/* GIVEN a writer that loses its processor in the middle of a write, THEN the reader waits for it, and neither a task
 * nor a thread seems to be gone meanwhile. */
static void test_a_writer_that_is_taken_away_in_a_write(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn();
    look();
    held_while_refreshing(&other->version);
    held_while_refreshing(&script.thread->version);
    assert_int_equal(script.shadow->deleted_task_count, 0);
    assert_int_equal(script.shadow->tasks_alive, 2);
    assert_int_equal(find_task(2)->added, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_an_interval_that_ends_at_any_step),
        TEST(test_a_switch_at_any_step),
        TEST(test_an_event_that_is_published_late),
        TEST(test_a_look_has_an_end),
        TEST(test_a_long_slice_that_comes_late),
        TEST(test_a_node_that_is_left_without_time),
        TEST(test_preempted_within_an_event),
        TEST(test_an_end_at_any_step),
        TEST(test_a_thread_that_ends_at_any_step),
        TEST(test_a_thread_that_comes_at_any_step),
        TEST(test_a_thread_that_is_only_attaching),
        TEST(test_groups_that_come_while_it_reads),
        TEST(test_a_writer_that_is_taken_away_in_a_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
