/* Own trees: what they hold, from when on, and that groups do not notice. */
#include "core_script.h"
#include "error.h"

/* Own rows of this task in the last picture. */
static uint32_t own_rows(uint32_t task_id)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < script.shadow->node_count; id++) {
        const struct fl_shadow_node *row = &script.shadow->nodes[id];
        count += row->added && fl_shadow_is_own(row) && row->own->task == task_id;
    }
    return count;
}

/* The own row of this task for a function, in a new picture. */
static const struct fl_shadow_node *own(uint32_t task_id, const char *name)
{
    look();
    for (uint32_t id = 0; id < script.shadow->node_count; id++) {
        const struct fl_shadow_node *row = &script.shadow->nodes[id];
        if (row->added && fl_shadow_is_own(row) && row->own->task == task_id && row->function == function(name))
            return row;
    }
    fail_msg("task %u has no own node %s", task_id, name);
    return NULL;
}

static uint32_t id_of(struct fl_task *task)
{
    return atomic_load(&task->id);
}

/* GIVEN a task that somebody begins to watch, THEN from its next switch on its time is also told alone. */
static void test_a_watched_task(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_WATCHED});
    call("main");
    struct fl_task *main_task = current_task(), *one = spawn(), *other = spawn();
    to(one), call("serve"), call("get"), busy(10), to(other), call("serve"), busy(3), to(one);
    look();
    assert_true(fl_shadow_watch_task(script.shadow, id_of(one)));
    assert_false(fl_shadow_watch_task(script.shadow, 12345));
    assert_false(fl_shadow_watch_task(script.shadow, 0));
    busy(5), to(other), look();
    assert_int_equal(own_rows(id_of(one)), 0);
    off(7), to(one), busy(20), ret("get"), busy(2), call("put"), off(4);
    /* The stack that it had is there, its calls are not: they were made before. */
    assert_node(own(id_of(one), "get"), 0, .cpu = 20);
    assert_node(own(id_of(one), "serve"), 0, .cpu = 2);
    assert_node(own(id_of(one), "put"), 1, .blocked = 4);
    assert_int_equal(own(id_of(one), "get")->own->since, 10 + 3 + 5 + 7);
    assert_int_equal(own(id_of(one), "put")->parent, own(id_of(one), "serve")->own->serial);
    assert_int_equal(own_rows(id_of(other)), 0);
    /* The group's tree has all of it. */
    assert_node(node("serve", "serve/get"), 1, .cpu = 35, .waited = 3 + 7);
    assert_node(node("serve", "serve"), 2, .cpu = 3 + 2, .blocked = 7, .waited = 5);
    assert_node(node("serve", "serve/put"), 1, .blocked = 4);
    assert_sums(group("serve"), .cpu = 40, .blocked = 11, .waited = 15);
    to(main_task);
}

/* GIVEN an own tree, WHEN its task ends, THEN the group keeps everything and the row shows what it had. */
static void test_the_end(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_ALL});
    call("main");
    struct fl_task *main_task = current_task();
    for (uint64_t i = 1; i <= 3; i++) {
        struct fl_task *task = spawn();
        uint32_t id = id_of(task);
        to(task), call("work"), call("a"), busy(10);
        assert_node(own(id, "a"), 1, .cpu = 10);
        busy(5), ret("a"), busy(1), to(main_task), end(task);
        assert_node(own(id, "a"), 1, .cpu = 15);
        assert_node(node("work", "work/a"), i, .cpu = 15 * i);
        assert_node(node("work", "work"), i, .cpu = i);
    }
    /* Slots are used again: three tasks have not made more nodes than one. */
    assert_int_equal(atomic_load(&script.session->own_node_count), 2 + 3);
}

/* GIVEN readers in a look, THEN slots are not used again before it ends. */
static void test_slots_wait_for_readers(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_ALL});
    call("main");
    struct fl_task *main_task = current_task();
    struct fl_readers *readers = &script.session->readers;
    int place = fl_reader_join(readers);
    assert_true(place >= 0);
    for (int i = 0; i < 6; i++) {
        if (i == 1)
            fl_reader_begin(readers, place);
        if (i == 4)
            fl_reader_end(readers, place);
        struct fl_task *task = spawn();
        to(task), call("work"), busy(1), to(main_task), end(task);
        /* Two nodes to a task; main has two as well. */
        const uint32_t nodes[] = {4, 4, 6, 8, 8, 8};
        assert_int_equal(atomic_load(&script.session->own_node_count), nodes[i]);
    }
    fl_reader_leave(readers, place);
    assert_node(node("work", "work"), 6, .cpu = 6);
}

/* GIVEN more readers than there are places, THEN one more is refused, and a place that is left is free. */
static void test_too_many_readers(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_shadow *shadows[FL_READERS_MAX] = {0};
    for (uint32_t i = 1; i < FL_READERS_MAX; i++)
        assert_int_equal(fl_shadow_create(script.session, &shadows[i]), 0);
    assert_int_equal(fl_shadow_create(script.session, &shadows[0]), FL_ELIMIT);
    fl_shadow_destroy(shadows[1]);
    assert_int_equal(fl_shadow_create(script.session, &shadows[1]), 0);
    for (uint32_t i = 1; i < FL_READERS_MAX; i++)
        fl_shadow_destroy(shadows[i]);
}

/* GIVEN hardly any room, THEN a task goes on in the tree of its group, and no time is lost. */
static void test_no_room(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_ALL, .node_bytes = (size_t)24 * 64});
    call("main");
    struct fl_task *main_task = current_task(), *task = spawn();
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    to(task), call("work");
    for (int i = 0; i < 6; i++)
        call(names[i]), busy(1);
    assert_null(task->own);
    for (int i = 6; i-- > 0;)
        ret(names[i]);
    busy(1), to(main_task);
    assert_sums(group("work"), .cpu = 7);
    assert_node(node("work", "work/a/b/c/d/e/f"), 1, .cpu = 1);
    struct fl_lost lost;
    fl_session_lost(script.session, &lost);
    assert_int_equal(lost.events, 0);
    assert_int_equal(lost.unmatched, 0);
}

/* GIVEN a task that lives long, THEN it has an own tree from its first switch in after that. */
static void test_a_long_lived_task(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.long_lived_ns = 100});
    call("main");
    struct fl_task *main_task = current_task(), *task = spawn();
    to(task), call("work"), busy(60), to(main_task), busy(30), to(task), busy(5), to(main_task);
    assert_null(task->own);
    busy(10), to(task), call("a"), busy(3), ret("a");
    assert_non_null(task->own);
    assert_int_equal(task->own->since, 105);
    assert_node(own(id_of(task), "a"), 1, .cpu = 3);
    assert_node(node("work", "work/a"), 1, .cpu = 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_watched_task, script_end),
        cmocka_unit_test_teardown(test_the_end, script_end),
        cmocka_unit_test_teardown(test_slots_wait_for_readers, script_end),
        cmocka_unit_test_teardown(test_too_many_readers, script_end),
        cmocka_unit_test_teardown(test_no_room, script_end),
        cmocka_unit_test_teardown(test_a_long_lived_task, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
