/* Long slices: which are told, where most of each was spent, and the ring that holds them. */
#include "core_script.h"

#include <stdio.h>

static void assert_rows(struct fl_slices *slices, uint64_t from, uint64_t to_number)
{
    struct fl_slice slice;
    for (uint64_t i = from; i < to_number; i++) {
        assert_true(fl_slices_get(slices, i, &slice));
        assert_int_equal(slice.task, i);
        assert_int_equal(slice.group, i + 1);
        assert_int_equal(slice.node, i + 2);
        assert_int_equal(slice.sure, i % 2);
        assert_int_equal(slice.number, i);
        assert_int_equal(slice.function, i + 7);
        assert_int_equal(slice.thread, i + 8);
        assert_int_equal(slice.of_hub, i % 3 == 0);
        assert_int_equal(slice.begin, i + 3);
        assert_int_equal(slice.end, i + 4);
        assert_int_equal(slice.blocked, i + 5);
        assert_int_equal(slice.idle, i + 6);
    }
}

/* GIVEN a ring, THEN it holds the newest, but for the one row in which the owner may be writing. */
static void test_the_ring_keeps_the_newest(void **state)
{
    (void)state;
    static struct fl_slices slices;
    struct fl_slice slice;
    assert_false(fl_slices_get(&slices, 0, &slice));
    for (uint32_t i = 0; i < 3 * FL_SLICES; i++) {
        fl_slices_add(&slices, &(struct fl_slice){.task = i,
                                                  .group = i + 1,
                                                  .node = i + 2,
                                                  .sure = i % 2,
                                                  .function = i + 7,
                                                  .thread = i + 8,
                                                  .of_hub = i % 3 == 0,
                                                  .begin = i + 3,
                                                  .end = i + 4,
                                                  .blocked = i + 5,
                                                  .idle = i + 6});
        uint64_t written = i + 1;
        uint64_t oldest = written < FL_SLICES ? 0 : written - (FL_SLICES - 1);
        assert_rows(&slices, oldest, written);
        assert_false(fl_slices_get(&slices, written, &slice));
        if (oldest > 0)
            assert_false(fl_slices_get(&slices, oldest - 1, &slice));
    }
}

static const struct fl_shadow_slice *last_slice(uint64_t wanted_count)
{
    look();
    assert_int_equal(script.shadow->slice_count, wanted_count);
    return &script.shadow->slices[(wanted_count - 1) % FL_SHADOW_SLICES];
}

static void assert_node_is(uint32_t id, const char *group_name, const char *path)
{
    const struct fl_shadow_node *wanted = node(group_name, path);
    assert_ptr_equal(&script.shadow->nodes[id], wanted);
}

/* GIVEN a threshold, THEN a slice that reaches it is told with all its numbers, a shorter one is not. */
static void test_a_slice_at_the_threshold_is_long(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    struct fl_task *main_task = current_task(), *other = spawn();
    call("main"), busy(60), off(39);
    to(other);
    assert_int_equal((look(), script.shadow->slice_count), 0);
    call("serve"), busy(70), off(30), call("parks"), to(main_task);
    const struct fl_shadow_slice *slice = last_slice(1);
    assert_int_equal(slice->id, 1);
    assert_int_equal(slice->thread, 1);
    assert_int_equal(slice->task, 2);
    assert_int_equal(slice->group, task(2)->group);
    assert_int_equal(slice->begin, 99);
    assert_int_equal(slice->end, 199);
    assert_int_equal(slice->cpu, 70);
    assert_int_equal(slice->blocked, 30);
    assert_int_equal(slice->idle, 0);
    assert_int_equal(slice->added, script.shadow->version);
    assert_node_is(slice->node, "serve", "serve");
    assert_int_equal(script.shadow->lost_slices, 0);
}

/* GIVEN a hub, THEN its poll makes no slice long, and is no place where a long one was spent. */
static void test_idle_time_does_not_make_a_slice_long(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    struct fl_task *hub = current_task(), *other = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run"), busy(50), off(5000), to(other);
    call("job"), busy(10), to(hub);
    assert_int_equal((look(), script.shadow->slice_count), 0);
    off(5000), call("callback"), busy(60), call("query"), off(90), ret("query"), ret("callback"), off(70), to(other);
    const struct fl_shadow_slice *slice = last_slice(1);
    assert_int_equal(slice->task, 1);
    assert_int_equal(slice->cpu, 60);
    assert_int_equal(slice->blocked, 90);
    assert_int_equal(slice->idle, 5070);
    /* The longest interval was in the poll: the thread cannot tell, and names where it left off. */
    assert_node_is(slice->node, "run", "run");
}

/* GIVEN one interval that was at least half of the slice, THEN its node is named for sure, wherever the slice ended. */
static void test_a_single_interval_of_half_the_slice_is_sure(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    struct fl_task *main_task = current_task(), *other = spawn();
    struct fl_slice slice;
    call("main"), busy(30), call("sleep"), off(60), ret("sleep"), busy(30), call("parks"), to(other);
    assert_true(fl_slices_get(&script.thread->slices, 0, &slice));
    assert_true(slice.sure);
    assert_node_is(slice.node, "main", "main/sleep");
    assert_int_equal(slice.blocked, 60);

    to(main_task), ret("parks");
    call("sleep"), off(59), ret("sleep"), busy(31), call("work"), busy(29), ret("work"), to(other);
    assert_true(fl_slices_get(&script.thread->slices, 1, &slice));
    assert_true(slice.sure == (59 >= 119 / 2));

    to(main_task);
    call("sleep"), off(58), ret("sleep"), busy(32), call("work"), busy(29), ret("work"), to(other);
    assert_true(fl_slices_get(&script.thread->slices, 2, &slice));
    assert_false(slice.sure);
    assert_node_is(slice.node, "main", "main");
    /* The last interval, which ends with the switch, counts too. */
    to(main_task), call("work"), busy(200), to(other);
    assert_true(fl_slices_get(&script.thread->slices, 3, &slice));
    assert_true(slice.sure);
    assert_node_is(slice.node, "main", "main/work");
    /* And it is surer than any look. */
    to(main_task), ret("work");
    for (int i = 0; i < 5; i++)
        call("work"), fl_shadow_watch(script.shadow), ret("work");
    call("sleep"), off(100), ret("sleep"), to(other);
    look();
    assert_node_is(script.shadow->slices[4].node, "main", "main/sleep");
}

/* GIVEN a thread that ends in a long slice, THEN that is told too. */
static void test_the_last_slice_of_a_thread(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    call("main"), busy(500);
    detach();
    assert_node_is(last_slice(1)->node, "main", "main");
    assert_int_equal(last_slice(1)->cpu, 500);
}

static void many_slices(int count, struct fl_task *a, struct fl_task *b)
{
    for (int i = 0; i < count; i++) {
        busy(10);
        to(i % 2 ? a : b);
    }
}

/* GIVEN more long slices than the ring holds between two looks, THEN the rest is counted as lost, exactly. */
static void test_overwritten_slices_are_counted(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *a = current_task(), *b = spawn();
    many_slices(FL_SLICES - 1, a, b);
    fl_shadow_watch(script.shadow);
    assert_int_equal(script.shadow->slice_count, FL_SLICES - 1);
    assert_int_equal(script.shadow->lost_slices, 0);
    many_slices(200, b, a);
    look();
    assert_int_equal(script.shadow->slice_count, 2 * (FL_SLICES - 1));
    assert_int_equal(script.shadow->lost_slices, 200 - (FL_SLICES - 1));
    /* The newest are there, in order. */
    for (uint32_t i = 0; i < FL_SLICES - 1; i++) {
        const struct fl_shadow_slice *slice = &script.shadow->slices[FL_SLICES - 1 + i];
        assert_int_equal(slice->id, FL_SLICES + i);
        assert_int_equal(slice->end, 10 * (FL_SLICES - 1) + 10 * (200 - (FL_SLICES - 1) + 1 + i));
    }
}

/* GIVEN more slices than the shadow keeps, THEN it keeps the newest, and their ids go on. */
static void test_the_shadow_keeps_the_newest(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *a = current_task(), *b = spawn();
    for (int i = 0; i < 30; i++) {
        many_slices(10, a, b);
        look();
    }
    assert_int_equal(script.shadow->slice_count, 300);
    for (uint64_t n = 300 - FL_SHADOW_SLICES; n < 300; n++)
        assert_int_equal(script.shadow->slices[n % FL_SHADOW_SLICES].id, n + 1);
}

/* One call of a small function in each 10 ns, looked at inside of it; 2 of 10 in another one. */
static void loop_of_small_calls(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        const char *name = i % 10 < 2 ? "rare" : i % 2 ? "odd" : "even";
        call("loop"), call(name), busy(10);
        fl_shadow_watch(script.shadow);
        ret(name), ret("loop");
    }
}

/* GIVEN a long slice of many small calls, THEN the deepest node under which most of it lies is named. */
static void test_the_watch_names_the_deepest_node_with_most_of_it(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 300});
    struct fl_task *main_task = current_task(), *other = spawn();
    call("main"), call("handler");
    loop_of_small_calls(30);
    ret("handler");
    to(other);
    assert_node_is(last_slice(1)->node, "main", "main/handler/loop");

    /* Where 8 of 10 looks see the same small function, it is that one. */
    to(main_task), call("handler");
    for (int i = 0; i < 1000; i++) { /* many more than are kept: they are thinned out over the whole slice */
        const char *name = i % 10 < 2 ? "rare" : "often";
        call(name), busy(10);
        fl_shadow_watch(script.shadow);
        ret(name);
    }
    to(other);
    assert_node_is(last_slice(2)->node, "main", "main/handler/often");

    /* A quarter of it in one place, then another: the early looks are thinned out as the late ones are. */
    to(main_task);
    for (int i = 0; i < 1000; i++) {
        const char *name = i < 250 ? "early" : "late";
        call(name), busy(10);
        fl_shadow_watch(script.shadow);
        ret(name);
    }
    to(other);
    assert_node_is(last_slice(3)->node, "main", "main/handler/late");

    /* The first half in one place, the second in another: what holds both is named, so the early looks are not lost. */
    to(main_task);
    for (int i = 0; i < 500; i++)
        call("early"), busy(10), fl_shadow_watch(script.shadow), ret("early");
    for (int i = 0; i < 500; i++)
        call("late"), busy(10), fl_shadow_watch(script.shadow), ret("late");
    to(other);
    assert_node_is(last_slice(4)->node, "main", "main/handler");
}

/* GIVEN a long slice that was hardly looked at, THEN the thread's own guess stands. */
static void test_too_few_looks_say_nothing(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 25});
    struct fl_task *other = spawn();
    call("main");
    call("a"), busy(10), fl_shadow_watch(script.shadow), ret("a");
    call("a"), busy(10), fl_shadow_watch(script.shadow), ret("a");
    call("b"), busy(10), ret("b");
    to(other);
    assert_node_is(last_slice(1)->node, "main", "main");
}

/* GIVEN looks into an earlier slice of the same thread, or into the hub's poll, THEN they say nothing about this one.
 */
static void test_looks_belong_to_their_slice(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 25});
    struct fl_task *hub = current_task(), *other = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run");
    for (int i = 0; i < 10; i++)
        off(10), fl_shadow_watch(script.shadow);
    for (int i = 0; i < 3; i++) {
        call("callback"), busy(10), fl_shadow_watch(script.shadow), ret("callback");
    }
    to(other);
    call("job"), busy(5);
    for (int i = 0; i < 3; i++)
        call("step"), busy(3), fl_shadow_watch(script.shadow), busy(4), ret("step"), busy(1);
    to(hub);
    look();
    assert_int_equal(script.shadow->slice_count, 2);
    assert_node_is(script.shadow->slices[0].node, "run", "run/callback");
    assert_node_is(script.shadow->slices[1].node, "job", "job/step");
}

static void slice_of(uint64_t ns, const char *name, struct fl_task *to_task)
{
    call(name), busy(ns), ret(name), to(to_task);
}

/* GIVEN a record in the middle of more slices than any ring holds, THEN it is never lost, whoever looks when. */
static void test_the_longest_are_kept(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *a = current_task(), *b = spawn();
    call("a");
    for (uint32_t i = 0; i < 1000; i++) {
        /* Each 20th is a long one, longer than those before it. */
        slice_of(i % 20 == 7 ? 1000 + i : 10, "work", b);
        slice_of(10, "other", a);
    }
    struct fl_slices_kept kept;
    fl_slices_read_kept(&script.thread->slices, &kept);
    assert_int_equal(kept.counted, 2000);
    assert_int_equal(kept.longest_count, FL_LONGEST);
    for (uint32_t i = 0; i < FL_LONGEST; i++) {
        const struct fl_slice *slice = &kept.longest[i];
        uint32_t nth = 50 - FL_LONGEST + i;
        assert_int_equal(slice->end - slice->begin, 1000 + 20 * nth + 7);
        assert_int_equal(slice->number, 2 * (20 * nth + 7));
    }
    /* Somebody who looks for the first time is told of the longest and the newest, in order. */
    look();
    uint32_t longest_in_ring = 0;
    for (uint32_t i = 0; i < FL_LONGEST; i++)
        longest_in_ring += kept.longest[i].number > 2000 - FL_SLICES;
    assert_int_equal(script.shadow->slice_count, FL_LONGEST - longest_in_ring + FL_SLICES - 1);
    assert_int_equal(script.shadow->lost_slices, 2000 - script.shadow->slice_count);
    for (uint32_t i = 1; i < script.shadow->slice_count; i++)
        assert_true(script.shadow->slices[i].begin > script.shadow->slices[i - 1].begin);
}

/* GIVEN slices that leave the shadow's ring, THEN the longest of them stay, in the order of their ids. */
static void test_the_shadow_keeps_the_longest(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *a = current_task(), *b = spawn();
    for (uint32_t i = 0; i < 1000; i++) {
        slice_of(i % 10 == 3 ? 5000 - i : 10, "work", i % 2 ? a : b);
        if (i % 10 == 0)
            fl_shadow_watch(script.shadow);
    }
    look();
    const struct fl_shadow *shadow = script.shadow;
    assert_int_equal(shadow->slice_count, 1000);
    assert_int_equal(shadow->longest_count, FL_SHADOW_LONGEST);
    for (uint32_t i = 0; i < FL_SHADOW_LONGEST; i++) {
        assert_int_equal(shadow->longest[i].id, 10 * i + 4);
        assert_int_equal(shadow->longest[i].cpu, 5000 - (10 * i + 3));
    }
}

static const struct fl_shadow_hold *hold(const char *name)
{
    for (uint32_t i = 0; i < script.shadow->hold_count; i++)
        if (script.shadow->holds[i].function == function(name))
            return &script.shadow->holds[i];
    return NULL;
}

static void assert_hold(const char *name, uint64_t count, uint64_t cpu, uint64_t blocked, uint64_t longest)
{
    const struct fl_shadow_hold *row = hold(name);
    assert_non_null(row);
    assert_int_equal(row->count, count);
    assert_int_equal(row->cpu, cpu);
    assert_int_equal(row->blocked, blocked);
    assert_int_equal(row->longest, longest);
    assert_int_equal(row->thread, 1);
}

/* GIVEN a hub, THEN each function's long slices are summed, from the moment at which there was a hub, exactly, also for
 * those who come later than the rings remember. */
static void test_sums_by_function(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    struct fl_task *main_task = current_task(), *hub = spawn(), *worker = spawn();
    call("import"), busy(5000);
    fl_task_set_hub(script.thread, hub);
    to(hub), call("run"), to(worker);
    for (uint32_t i = 0; i < 500; i++) {
        call("job"), call("query"), off(110 + i), ret("query"), busy(20), ret("job");
        to(hub), off(10000), to(worker);
        call("job"), call("render"), busy(200), ret("render"), ret("job");
        to(hub), off(10000), to(worker);
        call("job"), busy(90), ret("job");
        to(hub), to(worker);
    }
    look();
    assert_hold("query", 500, 500 * 20, 500 * 110 + 499 * 500 / 2, 110 + 499 + 20);
    assert_hold("render", 500, 500 * 200, 0, 200);
    assert_null(hold("import"));
    assert_null(hold("job"));
    assert_null(hold("run"));
    /* What comes now is added once. */
    call("job"), call("query"), off(1000), ret("query"), ret("job"), to(main_task);
    look();
    assert_hold("query", 501, 500 * 20, 500 * 110 + 499 * 500 / 2 + 1000, 1000);
    look();
    assert_hold("query", 501, 500 * 20, 500 * 110 + 499 * 500 / 2 + 1000, 1000);
}

/* GIVEN a slot that another thread takes over before anybody has looked, THEN the sums are those of the new thread. */
static void test_sums_are_of_one_thread(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100, .ended_threads = 1});
    struct fl_thread *old = attach(1002), *other = attach(1003);
    drive(old);
    struct fl_task *hub = current_task(), *worker = spawn();
    fl_task_set_hub(old, hub);
    call("run"), busy(1), to(worker), call("job"), slice_of(300, "query", hub);
    detach();
    drive(other), busy(1), detach();
    assert_ptr_equal(attach(1004), old);
    hub = current_task(), worker = spawn();
    fl_task_set_hub(old, hub);
    call("run"), busy(1), to(worker), call("job"), slice_of(400, "render", hub);
    look();
    assert_null(hold("query"));
    assert_non_null(hold("render"));
    assert_int_equal(hold("render")->cpu, 400);
    assert_int_equal(hold("render")->thread, atomic_load(&old->id));
}

/* GIVEN more functions than have a place of their own, THEN the rest is summed together. */
static void test_sums_of_many_functions(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 10});
    struct fl_task *hub = current_task(), *worker = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run"), busy(1), to(worker), call("job");
    enum { MANY = 200 };
    static char names[MANY][8];
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        slice_of(100, names[i], hub);
        to(worker);
    }
    look();
    uint64_t count = 0, cpu = 0, others = 0;
    for (uint32_t i = 0; i < script.shadow->hold_count; i++) {
        const struct fl_shadow_hold *row = &script.shadow->holds[i];
        count += row->count;
        cpu += row->cpu;
        others += row->function == 0 ? row->count : 0;
    }
    assert_int_equal(count, MANY);
    assert_int_equal(cpu, MANY * 100);
    assert_int_equal(others, MANY - (FL_HOLDS - FL_HOLDS / 8));
}

/* GIVEN a slice of many small calls that ends in a deep call, THEN not that one is blamed, but what was there all the
 * time. */
static void test_the_call_that_switches_is_not_blamed(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 100});
    struct fl_task *hub = current_task(), *worker = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run"), busy(1), to(worker), call("job"), call("handle");
    for (int i = 0; i < 20; i++)
        call("step"), busy(30), ret("step");
    call("sleep"), call("wait"), to(hub);
    look();
    assert_hold("handle", 1, 600, 0, 600);
    assert_node_is(script.shadow->slices[0].node, "job", "job/handle");
}

/* GIVEN a slice that still lasts, THEN the thread's row tells where most of it was spent up to now. */
static void test_the_place_of_a_slice_that_lasts(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), call("handler");
    look();
    assert_int_equal(thread()->slice_node, thread()->node);
    loop_of_small_calls(20);
    call("other");
    look();
    assert_node_is(thread()->slice_node, "main", "main/handler/loop");
    assert_node_is(thread()->node, "main", "main/handler/other");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_the_ring_keeps_the_newest),
        TEST(test_a_slice_at_the_threshold_is_long),
        TEST(test_idle_time_does_not_make_a_slice_long),
        TEST(test_a_single_interval_of_half_the_slice_is_sure),
        TEST(test_the_last_slice_of_a_thread),
        TEST(test_overwritten_slices_are_counted),
        TEST(test_the_shadow_keeps_the_newest),
        TEST(test_the_watch_names_the_deepest_node_with_most_of_it),
        TEST(test_too_few_looks_say_nothing),
        TEST(test_looks_belong_to_their_slice),
        TEST(test_the_longest_are_kept),
        TEST(test_the_shadow_keeps_the_longest),
        TEST(test_sums_by_function),
        TEST(test_sums_are_of_one_thread),
        TEST(test_sums_of_many_functions),
        TEST(test_the_call_that_switches_is_not_blamed),
        TEST(test_the_place_of_a_slice_that_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
