/* The reader's copy: which rows are new, which changed, which are gone; group sums. */
#include "core_script.h"

#include <stdio.h>

static uint64_t version(void)
{
    return script.shadow->version;
}

/* GIVEN a first look, THEN everything is new in version 1, and there is nothing that does not exist. */
static void test_the_first_picture(void **state)
{
    (void)state;
    script_begin(NULL);
    assert_int_equal(version(), 0);
    call("main"), busy(10), call("a");
    look();
    assert_int_equal(version(), 1);
    assert_int_equal(script.shadow->now, 10);
    assert_int_equal(script.shadow->state, FL_SESSION_RUNNING);
    assert_int_equal(script.shadow->strings, 3); /* "", main, a */
    assert_int_equal(script.shadow->functions, 3);
    assert_int_equal(script.shadow->nodes_alive, 4);
    assert_int_equal(script.shadow->tasks_alive, 1);
    assert_int_equal(script.shadow->group_count, 2);
    assert_int_equal(script.shadow->thread_count, 1);
    uint32_t alive = 0;
    for (uint32_t id = 0; id < script.shadow->node_count; id++)
        alive += script.shadow->nodes[id].added == 1 && script.shadow->nodes[id].changed == 1;
    assert_int_equal(alive, 4);
    assert_int_equal(find_task(1)->added, 1);
    assert_int_equal(find_task(1)->changed, 1);
    assert_int_equal(script.shadow->groups[0].added, 1);
    assert_int_equal(script.shadow->groups[1].added, 1);
    assert_int_equal(script.shadow->threads[0].added, 1);
    assert_int_equal(script.shadow->nodes[0].added, 0);
}

/* GIVEN a picture, WHEN something happens, THEN exactly what it touched has the next version. */
static void test_only_what_changed_has_the_new_version(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *other = spawn();
    to(other), call("serve"), busy(1);
    to(main_task), call("main"), call("a"), busy(2), ret("a"), call("b");
    look();
    uint64_t first = version();
    busy(5), call("c"), busy(1);
    look();
    assert_int_equal(version(), first + 1);
    assert_int_equal(find_node("main", "main")->changed, first);
    assert_int_equal(find_node("main", "main/a")->changed, first);
    assert_int_equal(find_node("main", "main/b")->changed, first + 1);
    assert_int_equal(find_node("main", "main/b")->added, first);
    assert_int_equal(find_node("main", "main/b/c")->added, first + 1);
    assert_int_equal(find_node("serve", "serve")->changed, first);
    assert_int_equal(find_task(1)->changed, first + 1);
    assert_int_equal(find_task(2)->changed, first);
    assert_int_equal(group("main")->changed, version());
    assert_true(group("serve")->changed <= first);
    assert_int_equal(script.shadow->threads[0].changed, version());
}

/* GIVEN a call that took no time, or a wait that is over, THEN that is a change of its node, too. */
static void test_calls_and_waits_are_changes(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *other = spawn();
    to(other), call("serve"), call("wait"), to(main_task);
    call("main"), call("a"), ret("a"), busy(4);
    look();
    call("a"), ret("a");
    look();
    assert_int_equal(version(), 2);
    assert_int_equal(find_node("main", "main/a")->changed, 2);
    uint64_t first = version();
    call("a"), ret("a");
    to(other), to(main_task);
    look();
    assert_int_equal(version(), first + 1);
    assert_int_equal(find_node("main", "main/a")->changed, first + 1);
    assert_int_equal(find_node("main", "main/a")->calls, 3);
    assert_int_equal(find_node("serve", "serve/wait")->changed, first + 1);
    assert_int_equal(find_node("serve", "serve/wait")->waited, 4);
    assert_int_equal(find_node("serve", "serve")->changed, 1);
    assert_int_equal(find_task(2)->changed, first + 1);
}

/* GIVEN a thread that stays where it is, THEN its node, task, group and thread change with time, nothing else. */
static void test_open_time_is_a_change(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(3), call("a"), busy(1);
    look();
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t before = version();
        off(10);
        look();
        assert_int_equal(version(), before + 1);
        assert_int_equal(find_node("main", "main/a")->changed, before + 1);
        assert_int_equal(find_node("main", "main/a")->blocked, 10 * i);
        assert_int_equal(find_node("main", "main")->changed, 1);
        assert_int_equal(find_task(1)->changed, before + 1);
        assert_int_equal(script.shadow->groups[1].changed, before + 1);
        assert_int_equal(script.shadow->groups[0].changed, 1);
    }
}

/* GIVEN a picture with nothing new, THEN it keeps its version and every row keeps its own. */
static void test_nothing_new_is_no_version(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(3), call("a"), off(5);
    spawn();
    look();
    for (int i = 0; i < 3; i++)
        look();
    assert_int_equal(version(), 1);
    assert_int_equal(find_node("main", "main/a")->changed, 1);
    assert_int_equal(find_task(1)->changed, 1);
}

/* GIVEN a name or a function that is new, or a long slice, THEN that alone is a new version. */
static void test_names_and_slices_are_changes(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *other = spawn();
    call("main"), busy(20);
    look();
    fl_strings_add(&script.session->strings, "new", 3);
    look();
    assert_int_equal(version(), 2);
    to(other);
    fl_shadow_watch(script.shadow);
    assert_int_equal(script.shadow->slices[0].added, 3);
    look();
    assert_int_equal(version(), 3);
    ret("stranger");
    look();
    assert_int_equal(version(), 4); /* the stranger's name, and one more unmatched return */
    ret("stranger");
    look();
    assert_int_equal(version(), 5);
    assert_int_equal(script.shadow->lost.unmatched, 2);
}

/* GIVEN a task row that is used again between two looks, THEN the old id is deleted and the new one added at once. */
static void test_a_row_that_changes_hands(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_tasks = 1});
    struct fl_task *old = spawn(), *filler = spawn();
    look();
    end(old), end(filler);
    struct fl_task *taken = spawn();
    assert_ptr_equal(taken, old);
    look();
    assert_int_equal(script.shadow->deleted_task_count, 1);
    assert_int_equal(script.shadow->deleted_tasks[0].id, 2);
    assert_int_equal(script.shadow->deleted_tasks[0].version, 2);
    assert_null(find_task(2));
    assert_int_equal(find_task(4)->added, 2);
    assert_int_equal(script.shadow->tasks_alive, 3);
}

/* GIVEN any picture, THEN a group's times are the sum of its nodes, and all tasks are in some group. */
static void test_group_sums_are_sums_of_nodes(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *a = spawn(), *b = spawn();
    call("main"), busy(1);
    for (int i = 0; i < 20; i++) {
        to(a), i % 5 ? resume("job") : call("job"), pass(7, 3 + (uint64_t)i % 7);
        to(b), call("job"), call("f"), off(3), ret("f"), busy(2), ret("job");
        to(main_task), busy(1);
        look();
        struct fl_shadow_sums sums[4] = {0};
        for (uint32_t id = 1; id < script.shadow->node_count; id++) {
            const struct fl_shadow_node *row = &script.shadow->nodes[id];
            if (row->added == 0)
                continue;
            assert_true(row->group < script.shadow->group_count);
            sums[row->group].cpu += row->cpu;
            sums[row->group].blocked += row->blocked;
            sums[row->group].idle += row->idle;
            sums[row->group].waited += row->waited;
        }
        uint64_t started = 0;
        for (uint32_t g = 0; g < script.shadow->group_count; g++) {
            const struct fl_shadow_group *row = &script.shadow->groups[g];
            assert_sums(row, .cpu = sums[g].cpu, .blocked = sums[g].blocked, .idle = sums[g].idle,
                        .waited = sums[g].waited);
            started += row->started;
        }
        assert_int_equal(started, 3);
    }
}

/* GIVEN a tree of several chunks that grows from look to look, THEN every node is there, below its parent, with a
 * larger id and the group and thread of its parent. */
static void test_a_tree_that_grows(void **state)
{
    (void)state;
    script_begin(NULL);
    for (int depth = 1; depth <= 1200; depth++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", depth % 50);
        call(name), busy(1);
        if (depth % 100 == 0)
            look();
    }
    look();
    assert_int_equal(script.shadow->nodes_alive, 1202);
    uint32_t seen = 0;
    uint64_t cpu = 0;
    for (uint32_t id = 1; id < script.shadow->node_count; id++) {
        const struct fl_shadow_node *row = &script.shadow->nodes[id];
        if (row->added == 0)
            continue;
        seen++;
        cpu += row->cpu;
        if (row->function == 0) {
            assert_int_equal(row->parent, 0);
            continue;
        }
        const struct fl_shadow_node *parent = &script.shadow->nodes[row->parent];
        assert_int_equal(row->calls, 1);
        assert_true(row->parent < id);
        assert_true(parent->added != 0 && parent->added <= row->added);
        assert_int_equal(parent->group, row->group);
        assert_int_equal(parent->thread, row->thread);
    }
    assert_int_equal(seen, 1202);
    assert_int_equal(cpu, 1200);
}

/* GIVEN a clock whose rate is corrected to a little less, THEN no later picture is of an earlier moment. */
static void test_time_does_not_go_back_with_the_rate(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(1000000000);
    look();
    assert_int_equal(script.shadow->now, 1000000000);
    fl_session_stop(script.session);
    uint64_t rate = atomic_load(&fl__clock.ns_per_tick);
    atomic_store(&fl__clock.ns_per_tick, rate - 40); /* about 1e-8, 10 ns in this second */
    look();
    uint64_t now = script.shadow->now;
    atomic_store(&fl__clock.ns_per_tick, rate);
    assert_int_equal(now, 1000000000);
}

/* GIVEN a clock whose rate is known better now, THEN what stands still is not told anew. */
static void test_a_better_rate_is_no_change(void **state)
{
    (void)state;
    script_begin(NULL);
    busy(200000);
    struct fl_task *hub = spawn(), *ended = spawn();
    fl_task_set_hub(script.thread, hub);
    to(ended), call("job"), off(300000), to(hub), end(ended);
    call("run"), off(500000), busy(70000), call("callback"), off(30000), busy(1000);
    to(script.thread->main), call("main"), busy(100000);
    look();
    uint64_t rate = atomic_load(&fl__clock.ns_per_tick);
    atomic_store(&fl__clock.ns_per_tick, rate + rate / 100);
    busy(1000);
    look();
    atomic_store(&fl__clock.ns_per_tick, rate);
    assert_int_equal(version(), 2);
    assert_int_equal(find_node("main", "main")->changed, 2);
    assert_int_equal(find_node("run", "run")->changed, 1);
    assert_int_equal(find_node("run", "run/callback")->changed, 1);
    assert_int_equal(find_node("", "")->changed, 1); /* has waited */
    assert_int_equal(find_node("job", "job")->changed, 1);
    assert_int_equal(find_task(2)->changed, 1);
    assert_int_equal(find_task(3)->changed, 1);
    assert_int_equal(find_task(3)->sums.blocked, 300000);
    assert_int_equal(script.shadow->groups[0].changed, 1);
    assert_int_equal(group("run")->changed, 1);
}

/* GIVEN a group with a label, THEN it is told. */
static void test_labels(void **state)
{
    (void)state;
    script_begin(NULL);
    uint32_t label = fl_strings_add(&script.session->strings, "GET /", 5);
    uint32_t id = fl_groups_add(&script.session->groups, function("serve"), label);
    look();
    assert_int_equal(script.shadow->groups[id].label, label);
    assert_int_equal(script.shadow->groups[id].entry, function("serve"));
}

/* GIVEN a session without threads, THEN there is a picture of it. */
static void test_a_session_without_threads(void **state)
{
    (void)state;
    script.session = NULL;
    assert_int_equal(fl_session_create(NULL, &script.session), 0);
    assert_int_equal(fl_shadow_create(script.session, &script.shadow), 0);
    look();
    assert_int_equal(version(), 1);
    assert_int_equal(script.shadow->thread_count, 0);
    assert_int_equal(script.shadow->state, FL_SESSION_NEW);
    fl_session_start(script.session);
    look();
    assert_int_equal(version(), 2);
    busy(5);
    look();
    assert_int_equal(version(), 3);
    assert_int_equal(script.shadow->now, 5);
    fl_shadow_sample(script.shadow);
    fl_shadow_watch(script.shadow);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_picture),           TEST(test_only_what_changed_has_the_new_version),
        TEST(test_calls_and_waits_are_changes), TEST(test_open_time_is_a_change),
        TEST(test_nothing_new_is_no_version),   TEST(test_names_and_slices_are_changes),
        TEST(test_a_row_that_changes_hands),    TEST(test_group_sums_are_sums_of_nodes),
        TEST(test_a_tree_that_grows),           TEST(test_time_does_not_go_back_with_the_rate),
        TEST(test_a_better_rate_is_no_change),  TEST(test_labels),
        TEST(test_a_session_without_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
