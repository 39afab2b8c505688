/*
 * Single views, as fast as a reader can take them, of a writer that never rests. The writer's clocks are scripted, so
 * that every relation between the words of one version is exact: a view that mixes two versions cannot go unseen.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "event.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

enum { MILLISECONDS = 700 };

static struct {
    struct fl_session *session;
    void *(*write)(void *);
    bool (*view)(void);
    struct fl_thread *_Atomic thread; /* the writer's, once there is one */
    atomic_bool stop;
    fl_function_id functions[4];
    struct fl_shadow *shadow; /* of the reader that needs one */
} world;

static bool going_on(void)
{
    return !atomic_load_explicit(&world.stop, memory_order_relaxed);
}

static void *read_views(void *arg)
{
    uint64_t *views = arg;
    while (!atomic_load(&world.thread))
        ;
    while (going_on()) {
        if (!world.view())
            return "a view mixes two versions";
        ++*views;
    }
    return NULL;
}

/* Both run for a while; the test fails where a view does not hold. */
static void watch(void *(*write)(void *), bool (*view)(void), const struct fl_session_options *options)
{
    pthread_t writer, reader;
    void *complaint;
    uint64_t views = 0;
    assert_int_equal(fl_session_create(options, &world.session), 0);
    for (uint32_t i = 0; i < 4; i++)
        world.functions[i] = fl_functions_add(&world.session->functions, &(struct fl_function){.line = i + 1});
    fl_session_start(world.session);
    atomic_store(&world.stop, false);
    atomic_store(&world.thread, NULL);
    world.view = view;
    assert_int_equal(pthread_create(&writer, NULL, write, NULL), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_views, &views), 0);
    nanosleep(&(struct timespec){.tv_nsec = MILLISECONDS * 1000000}, NULL);
    atomic_store(&world.stop, true);
    pthread_join(reader, &complaint);
    pthread_join(writer, NULL);
    fl_shadow_destroy(world.shadow);
    world.shadow = NULL;
    fl_session_destroy(world.session);
    print_message("%" PRIu64 " views\n", views);
    if (complaint)
        fail_msg("%s", (const char *)complaint);
    assert_true(views > 10);
}

static struct fl_thread *attach(void)
{
    struct fl_thread *thread = fl_thread_attach(world.session, 1, 0);
    if (!thread)
        abort();
    return thread;
}

static void pass(uint64_t wall, uint64_t cpu)
{
    fl_fake_ticks += wall;
    fl_fake_cpu += cpu;
}

/* One place: all of the thread's time is in its first root. */

static void *stay(bool asks)
{
    struct fl_thread *thread = attach();
    thread->cpu.limit = asks ? 0 : UINT64_MAX;
    atomic_store(&world.thread, thread);
    while (going_on()) {
        pass(1000, asks ? 0 : 1000);
        fl_forget_stack(thread, fl_now(thread));
    }
    return NULL;
}

static void *stay_on_cpu(void *arg)
{
    (void)arg;
    return stay(false);
}

static void *stay_blocked(void *arg)
{
    (void)arg;
    return stay(true);
}

static bool is_all_in_one_node(void)
{
    struct fl_thread_view view;
    fl_thread_read(atomic_load(&world.thread), NULL, &view);
    return view.own == view.since - view.begin && view.own == view.nodes_own && view.blocked == 0;
}

static bool is_all_blocked(void)
{
    struct fl_thread_view view;
    fl_thread_read(atomic_load(&world.thread), NULL, &view);
    return view.own == view.since - view.begin && view.node_blocked == view.own && view.blocked == view.own &&
           view.sync_ticks == view.since;
}

/* GIVEN the shortest way through an event, THEN a view has the node's time and the event's time of the same event. */
static void test_events_on_the_processor(void **state)
{
    (void)state;
    watch(stay_on_cpu, is_all_in_one_node, NULL);
}

/* GIVEN the way that asks the kernel, THEN likewise, and off the processor, and the reading of the kernel's clock. */
static void test_events_off_the_processor(void **state)
{
    (void)state;
    watch(stay_blocked, is_all_blocked, NULL);
}

/* Switches between tasks, which begin and end meanwhile. */

static void *switch_tasks(void *arg)
{
    struct fl_thread *thread = attach();
    struct fl_task *main_task = thread->main, *other = fl_task_create(thread, fl_now(thread), NULL);
    (void)arg;
    atomic_store(&world.thread, thread);
    for (uint64_t i = 0; going_on(); i++) {
        pass(1000, i % 700);
        fl_switch(thread, other, fl_now(thread));
        pass(1000, i % 900);
        fl_switch(thread, main_task, fl_now(thread));
        if (i % 3 == 0) {
            pass(500, 500);
            fl_task_end(thread, other, fl_now(thread));
            pass(500, 500);
            other = fl_task_create(thread, fl_now(thread), NULL);
        }
    }
    return NULL;
}

/* Ticks of one switch are the last event's and the slice's; all nodes are the root of group 0. */
static bool is_one_switch(void)
{
    struct fl_thread_view view;
    fl_thread_read(atomic_load(&world.thread), NULL, &view);
    return view.slice == view.since && view.slice_blocked == 0 && view.own == view.nodes_own &&
           view.blocked == view.node_blocked && view.sync_ticks == view.since;
}

/* The closed times of a task are all of its life up to where its state began. */
static bool is_one_task(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        const struct fl_task *task = fl_table_row(&world.session->tasks, i);
        struct fl_task_view view;
        if (fl_task_read(task, &view) && view.cpu + view.blocked + view.idle + view.waited != view.since - view.begin)
            return false;
    }
    return true;
}

/* GIVEN switches, THEN a view of the thread has one switch whole. */
static void test_switches(void **state)
{
    (void)state;
    watch(switch_tasks, is_one_switch, NULL);
}

/* GIVEN tasks that are switched, end and give their rows to others, THEN a view of a row is of one task at one moment.
 */
static void test_tasks(void **state)
{
    (void)state;
    watch(switch_tasks, is_one_task, &(struct fl_session_options){.ended_tasks = 1});
}

/* Threads that end and give their slots to others. */

static void *come_and_go(void *arg)
{
    (void)arg;
    while (going_on()) {
        struct fl_thread *thread = attach();
        if (thread->index == 0)
            atomic_store(&world.thread, thread);
        for (int i = 0; i < 3; i++) {
            pass(700, 300);
            fl_forget_stack(thread, fl_now(thread));
        }
        fl_thread_detach(thread);
    }
    return NULL;
}

static bool is_one_thread(void)
{
    struct fl_thread_view view;
    fl_thread_read(atomic_load(&world.thread), NULL, &view);
    return view.own == view.nodes_own && view.since - view.begin <= 2100 && view.blocked <= 1200 &&
           (view.state == FL_THREAD_LIVES ? view.end == 0 : view.end - view.begin == 2100);
}

/* GIVEN a slot that changes hands, THEN a view is of one thread. */
static void test_threads(void **state)
{
    (void)state;
    watch(come_and_go, is_one_thread, &(struct fl_session_options){.ended_threads = 1, .ended_tasks = 1});
}

/* The scan: a node that is neither the first nor the last, read word by word. */

static void *call_and_block(void *arg)
{
    struct fl_thread *thread = attach();
    (void)arg;
    fl_enter(thread, world.functions[0], true, fl_now(thread));
    atomic_store(&world.thread, thread);
    for (uint32_t i = 0; going_on(); i++) {
        fl_function_id function = world.functions[1 + i % 3];
        fl_enter(thread, function, true, fl_now(thread));
        pass(1000, 0);
        fl_leave(thread, function, fl_now(thread));
    }
    return NULL;
}

static bool has_no_part_larger_than_the_whole(void)
{
    if (!world.shadow && fl_shadow_create(world.session, &world.shadow) != 0)
        return false;
    const struct fl_shadow *shadow = world.shadow;
    if (fl_shadow_refresh(world.shadow) != 0)
        return false;
    for (uint32_t id = 1; id < shadow->node_count; id++)
        if (shadow->nodes[id].raw_blocked + shadow->nodes[id].raw_idle > shadow->nodes[id].raw_own)
            return false;
    return true;
}

/* GIVEN nodes whose whole time is blocked, THEN a scan never finds more blocked time in one than time. */
static void test_parts_of_a_node(void **state)
{
    (void)state;
    watch(call_and_block, has_no_part_larger_than_the_whole, NULL);
}

/* What is new: every event makes a node, every task a group. */

static void *make_nodes(void *arg)
{
    struct fl_thread *thread = attach();
    (void)arg;
    thread->cpu.limit = UINT64_MAX;
    atomic_store(&world.thread, thread);
    for (uint32_t i = 1; going_on(); i++) {
        pass(10, 10);
        fl_enter(thread, i, true, fl_now(thread));
        if (i % 16 == 0)
            fl_forget_stack(thread, fl_now(thread));
    }
    return NULL;
}

static bool is_at_a_whole_node(void)
{
    struct fl_thread_view view;
    fl_thread_read(atomic_load(&world.thread), NULL, &view);
    return view.node->function != 0 && (fl_node_parent(view.node) != 0) == (view.node->up != NULL) &&
           view.node_id > fl_node_parent(view.node);
}

/* GIVEN nodes that are current as soon as they are made, THEN a view's node is whole. */
static void test_new_nodes(void **state)
{
    (void)state;
    watch(make_nodes, is_at_a_whole_node, NULL);
}

static void *make_groups(void *arg)
{
    struct fl_thread *thread = attach();
    (void)arg;
    atomic_store(&world.thread, thread);
    for (uint32_t i = 1; going_on(); i++) {
        struct fl_task *task = fl_task_create(thread, fl_now(thread), NULL);
        fl_switch(thread, task, fl_now(thread));
        fl_enter(thread, i, true, fl_now(thread));
        fl_leave(thread, i, fl_now(thread));
        fl_switch(thread, thread->main, fl_now(thread));
        fl_task_end(thread, task, fl_now(thread));
    }
    return NULL;
}

static bool has_a_task_in_each_group(void)
{
    if (!world.shadow && fl_shadow_create(world.session, &world.shadow) != 0)
        return false;
    const struct fl_shadow *shadow = world.shadow;
    if (fl_shadow_refresh(world.shadow) != 0)
        return false;
    for (uint32_t g = 1; g < shadow->group_count; g++)
        if (shadow->groups[g].entry != g || shadow->groups[g].started > 1 || shadow->groups[g].ended > 1)
            return false;
    return true;
}

/* GIVEN a group for each task, THEN each has one. */
static void test_new_groups(void **state)
{
    (void)state;
    watch(make_groups, has_a_task_in_each_group, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_on_the_processor),
        cmocka_unit_test(test_events_off_the_processor),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_parts_of_a_node),
        cmocka_unit_test(test_new_nodes),
        cmocka_unit_test(test_new_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
