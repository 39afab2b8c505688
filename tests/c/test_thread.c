/* Threads: their beginnings and ends, their slots, and the identities between their numbers and those of their tasks.
 */
#include "core_script.h"

static uint64_t wall_of(const struct fl_shadow_thread *row)
{
    return row->cpu + row->blocked + row->idle;
}

/* GIVEN a thread, THEN its row says who it is; its id counts up. */
static void test_who_a_thread_is(void **state)
{
    (void)state;
    script_begin(NULL);
    uint32_t name = fl_strings_add(&script.session->strings, "Thread-7", 8);
    busy(40);
    script.thread = fl_thread_attach(script.session, 77, name);
    const struct fl_shadow_thread *row = thread();
    assert_int_equal(row->id, 2);
    assert_int_equal(row->tid, 77);
    assert_int_equal(row->name, name);
    assert_int_equal(row->state, FL_THREAD_LIVES);
    assert_int_equal(row->begin, 40);
    assert_int_equal(row->end, 0);
    assert_int_equal(row->hub, 0);
    assert_int_equal(row->task, 2);
    assert_int_equal(row->since, 40);
    assert_int_equal(task(2)->thread, 2);
}

/* GIVEN several threads that run in turns, THEN each one's tree, tasks and times are its own, and each one's wall time
 * is cpu + blocked + idle, however it was spent. */
static void test_threads_are_apart(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *first = script.thread;
    call("main"), busy(10);
    struct fl_thread *second = attach(1002);
    call("main"), busy(20), call("a");
    drive(first);
    busy(30), call("a"), busy(5);
    drive(second);
    busy(3), off(4);

    assert_node(node("main", "main"), 1, .cpu = 20);
    assert_node(node("main", "main/a"), 1, .cpu = 3, .blocked = 39);
    assert_thread(thread(), .cpu = 23, .blocked = 39);
    drive(first);
    assert_node(node("main", "main"), 1, .cpu = 40, .blocked = 20);
    assert_node(node("main", "main/a"), 1, .cpu = 5, .blocked = 7);
    assert_thread(thread(), .cpu = 45, .blocked = 27);
    assert_sums(group("main"), .cpu = 68, .blocked = 66);
    assert_int_equal(group("main")->started, 2);
    assert_int_equal(node("main", "main")->thread, 1);
    drive(second);
    assert_int_equal(node("main", "main")->thread, 2);
}

/* GIVEN a script with everything in it, THEN at every moment: a task's four times are its lifetime, a thread's three
 * are its wall time and the sum over its nodes. */
static void identities_hold(void)
{
    look();
    const struct fl_shadow *shadow = script.shadow;
    uint64_t per_thread[SCRIPT_THREADS + 1] = {0};
    for (uint32_t i = 0; i < shadow->task_count; i++) {
        const struct fl_shadow_task *row = &shadow->tasks[i];
        if (row->id == 0)
            continue;
        uint64_t until = row->state == FL_TASK_ENDED ? row->since : shadow->now;
        uint64_t open = row->state == FL_TASK_PARKED ? shadow->now - row->since : 0;
        assert_int_equal(row->sums.cpu + row->sums.blocked + row->sums.idle + row->sums.waited + open,
                         until - row->begin);
        per_thread[row->thread] += row->sums.cpu + row->sums.blocked + row->sums.idle;
    }
    uint64_t per_tree[SCRIPT_THREADS] = {0};
    for (uint32_t id = 1; id < shadow->node_count; id++) {
        if (shadow->nodes[id].added == 0)
            continue;
        const struct fl_node *raw = fl_table_row(&script.session->nodes, id);
        per_tree[fl_node_chunk_of(raw)->thread] +=
            shadow->nodes[id].cpu + shadow->nodes[id].blocked + shadow->nodes[id].idle;
    }
    for (uint32_t i = 0; i < shadow->thread_count; i++) {
        const struct fl_shadow_thread *row = &shadow->threads[i];
        uint64_t end = row->state == FL_THREAD_ENDED ? row->end : shadow->now;
        assert_int_equal(wall_of(row), end - row->begin);
        assert_int_equal(wall_of(row), per_tree[i]);
        assert_int_equal(wall_of(row), per_thread[row->id]);
    }
}

static void test_the_identities_hold_at_every_moment(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *first = script.thread;
    struct fl_task *main_task = current_task(), *hub = spawn(), *other = spawn();
#define STEP(...) (__VA_ARGS__), identities_hold()
    STEP(call("main"), busy(10), off(3));
    STEP(to(hub), fl_task_set_hub(script.thread, hub), call("run"), busy(1), off(50));
    STEP(call("callback"), off(7));
    STEP(to(other), call("serve"), busy(12), off(5), call("recv"));
    STEP(attach(1002), call("worker"), busy(100));
    STEP(spawn(), busy(9));
    STEP(drive(first), busy(2), to(hub), ret("callback"), off(30));
    STEP(to(other), ret("recv"), ret("serve"), busy(1), to(main_task), end(other), busy(1));
    STEP(pass(10, 15), call("a"), pass(3, 0), ret("a"));
    STEP(drive(script.session->threads[1]), detach());
    STEP(drive(first), busy(5));
    STEP(to(hub), off(6), detach());
#undef STEP
}

/* GIVEN a thread that ends inside another task than its own stack, THEN all its tasks have ended then, with every time
 * up to that moment, and its nodes stay. */
static void test_detach_inside_another_task(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn(), *never_run = spawn();
    (void)never_run;
    call("main"), busy(10);
    to(other), call("serve"), busy(5), off(2);
    detach();
    busy(1000);
    const struct fl_shadow_thread *row = thread();
    assert_thread(row, .cpu = 15, .blocked = 2);
    assert_int_equal(row->state, FL_THREAD_ENDED);
    assert_int_equal(row->end, 17);
    assert_int_equal(row->task, 0);
    assert_int_equal(row->node, 0);
    for (uint32_t id = 1; id <= 3; id++) {
        assert_int_equal(task(id)->state, FL_TASK_ENDED);
        assert_int_equal(task(id)->since, 17);
    }
    assert_sums(task(1), .cpu = 10, .waited = 7);
    assert_sums(task(2), .cpu = 5, .blocked = 2, .waited = 10);
    assert_sums(task(3), .waited = 17);
    assert_node(node("serve", "serve"), 1, .cpu = 5, .blocked = 2);
    assert_node(node("main", "main"), 1, .cpu = 10, .waited = 7);
    assert_int_equal(group("serve")->ended, 1);
    assert_int_equal(group("main")->ended, 1);
    assert_int_equal(group("")->ended, 1);
    assert_int_equal(task(2)->sums.longest, 7);
}

/* GIVEN other threads, WHEN one ends, THEN only its own tasks end, also where another's rows are only being filled. */
static void test_detach_ends_nobody_elses_tasks(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *first = script.thread;
    attach(1002);
    struct fl_task *foreign = spawn();
    /* A chunk of the second thread as the first can see it while it is being handed out: row 0 is not filled yet. */
    struct fl_task *rows = fl_table_chunk(&script.session->tasks, 1);
    assert_ptr_equal(&rows[1], foreign);
    drive(first);
    uint32_t owner = atomic_exchange(&rows[0].thread, 0), id = atomic_exchange(&rows[0].id, 0);
    detach();
    atomic_store(&rows[0].thread, owner), atomic_store(&rows[0].id, id);
    assert_int_equal(task(1)->state, FL_TASK_ENDED);
    assert_int_equal(task(2)->state, FL_TASK_CURRENT);
    assert_int_equal(task(3)->state, FL_TASK_PARKED);
}

/* GIVEN more ended threads than are kept, THEN a new one takes over the slot of the one that ended first: with an id of
 * its own, times from 0, and the rows of the old one and of its tasks deleted. Its tree goes on where the old one was.
 */
static void test_slots_are_taken_over(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_threads = 2});
    struct fl_thread *first = script.thread, *others[3];
    for (int i = 0; i < 3; i++) {
        others[i] = attach(2000 + (uint32_t)i);
        assert_int_equal(others[i]->index, 1 + i);
        call("worker"), busy(10), ret("worker");
    }
    /* The second begins to end first. */
    drive(others[1]), busy(1), detach();
    drive(others[0]), busy(1), detach();
    assert_int_equal(attach(2003)->index, 4); /* two are kept */
    drive(others[2]), busy(1), detach();
    look();
    assert_non_null(find_task(3));
    uint64_t deleted_tasks = script.shadow->deleted_task_count;

    struct fl_thread *taker = attach(2004);
    assert_ptr_equal(taker, others[1]);
    const struct fl_shadow_thread *row = thread();
    assert_int_equal(row->id, 6);
    assert_int_equal(row->tid, 2004);
    assert_int_equal(row->state, FL_THREAD_LIVES);
    assert_int_equal(row->begin, script.shadow->now);
    assert_int_equal(row->end, 0);
    assert_thread(row, 0);
    assert_int_equal(script.shadow->deleted_thread_count, 1);
    assert_int_equal(script.shadow->deleted_threads[0].id, 3);
    /* No task of the old thread may seem to be one of the new. */
    assert_null(find_task(3));
    assert_int_equal(script.shadow->deleted_task_count, deleted_tasks + 1);
    assert_int_equal(task(6)->thread, 6);
    call("worker"), busy(5), off(3);
    assert_thread(thread(), .cpu = 5, .blocked = 3);
    assert_node(node("worker", "worker"), 2, .cpu = 15, .blocked = 3);
    assert_sums(task(6), .cpu = 5, .blocked = 3);
    assert_int_equal(group("worker")->started, 4);
    /* Rows of before are used again. */
    detach();
    drive(first);
    assert_int_equal(script.session->thread_count, 5);
}

/* GIVEN a thread that ends deeper than there is room, below its launcher, THEN the next one in its slot has a stack of
 * its own. */
static void test_a_slot_is_taken_over_without_the_stack(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_threads = 1, .node_bytes = 6 * sizeof(struct fl_node)});
    struct fl_thread *deep = attach(1002), *other = attach(1003);
    drive(deep), call("main"), call("a"), call("lost"), call("lost");
    script.thread->below = 3;
    detach();
    drive(other), busy(1), detach();
    attach(1004);
    assert_int_equal(script.thread->index, 1);
    call("main"), call("a"), busy(5), ret("a"), busy(6);
    assert_node(node("main", "main/a"), 2, .cpu = 5);
    ret("stranger");
    assert_int_equal((look(), script.shadow->lost.unmatched), 1);
}

static uint32_t count_trees(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fl_table_used(&script.session->trees); i++)
        for (uint32_t row = 0; row < 1u << FL_TREE_BITS; row++)
            count += atomic_load(&((struct fl_tree *)fl_table_chunk(&script.session->trees, i))[row].published);
    return count;
}

/* GIVEN many tasks, THEN there is a tree for each group on each thread, not for each task. */
static void test_a_tree_is_of_a_group_on_a_thread(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_thread *threads[] = {script.thread, attach(1002)};
    for (int i = 0; i < 90; i++) {
        drive(threads[i % 2]);
        char entry[] = {(char)('a' + i % 30), '\0'};
        struct fl_task *made = spawn();
        to(made), call(entry), ret(entry), to(script.thread->main), end(made);
    }
    assert_int_equal(count_trees(), 2 + 30);
    drive(threads[0]), call("a");
    drive(threads[1]), call("a");
    assert_int_equal(count_trees(), 2 + 31); /* "a" was on the first only */
    for (int i = 0; i < 30; i++) {
        char entry[] = {(char)('a' + i), '\0'};
        assert_int_equal(group(entry)->started, i == 0 ? 5 : 3);
    }
}

/* GIVEN no room for a thread, THEN it is not profiled and that is counted, and the others go on. */
static void test_a_thread_without_room_is_counted(void **state)
{
    (void)state;
    struct fl_session_options options = {.node_bytes = 2 * sizeof(struct fl_node)};
    script_begin(&options);
    attach(1002);
    assert_null(fl_thread_attach(script.session, 1003, 0));
    look();
    assert_int_equal(script.shadow->lost.threads, 1);
    script.session->tasks.directory = fl_table_used(&script.session->tasks); /* room for a tree, none for a task */
    assert_null(fl_thread_attach(script.session, 1003, 0));
    look();
    assert_int_equal(script.shadow->lost.threads, 2);
    assert_int_equal(script.shadow->thread_count, 2);
    assert_int_equal(script.shadow->tasks_alive, 2);
    busy(5);
    assert_thread(thread(), .cpu = 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_who_a_thread_is),
        TEST(test_threads_are_apart),
        TEST(test_the_identities_hold_at_every_moment),
        TEST(test_detach_inside_another_task),
        TEST(test_detach_ends_nobody_elses_tasks),
        TEST(test_slots_are_taken_over),
        TEST(test_a_slot_is_taken_over_without_the_stack),
        TEST(test_a_tree_is_of_a_group_on_a_thread),
        TEST(test_a_thread_without_room_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
