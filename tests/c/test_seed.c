/* A start in the middle: stacks that are there already are told, and marked as entered before the start. */
#include "core_script.h"

#define SEED(...)              seed((const char *const[]){__VA_ARGS__, NULL})
#define SEED_PARKED(task, ...) seed_parked(task, (const char *const[]){__VA_ARGS__, NULL})

static uint32_t ids_of(const char *const *names, fl_function_id *ids)
{
    uint32_t count = 0;
    for (; names[count]; count++)
        ids[count] = function(names[count]);
    return count;
}

static void seed(const char *const *names)
{
    fl_function_id ids[64];
    uint32_t count = ids_of(names, ids);
    fl_seed(script.thread, ids, count, fl_now(script.thread));
}

static void seed_parked(struct fl_task *task, const char *const *names)
{
    fl_function_id ids[64];
    uint32_t count = ids_of(names, ids);
    fl_seed_parked(script.thread, task, ids, count, fl_now(script.thread));
}

/* GIVEN a running stack, WHEN it is told at the start, THEN its frames have their place and time, but no calls. */
static void test_the_running_stack(void **state)
{
    (void)state;
    script_begin(NULL);
    SEED("main", "a", "b");
    busy(10), ret("b"), busy(5), call("b"), busy(1), ret("b"), ret("a");
    assert_node(node("main", "main/a/b"), 1, .cpu = 11);
    assert_node(node("main", "main/a"), 0, .cpu = 5);
    assert_int_equal(node("main", "main/a/b")->seeded, 1);
    assert_int_equal(node("main", "main/a")->seeded, 1);
    assert_int_equal(node("main", "main")->seeded, 1);
    assert_int_equal(node("main", "")->seeded, 0);
    struct fl_lost lost;
    fl_session_lost(script.session, &lost);
    assert_int_equal(lost.unmatched, 0);
}

/* GIVEN a stack that is known, WHEN it is told again at the next start, THEN only what is new counts as seeded. */
static void test_a_frame_is_marked_once(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), call("a"), call("b");
    fl_session_stop(script.session);
    fl_session_start(script.session);
    fl_session_resume(script.session, script.thread);
    SEED("main", "a", "c", "d");
    busy(2);
    assert_node(node("main", "main/a/c/d"), 0, .cpu = 2);
    assert_int_equal(node("main", "main")->seeded, 0);
    assert_int_equal(node("main", "main/a")->seeded, 0);
    assert_int_equal(node("main", "main/a/b")->seeded, 0);
    assert_int_equal(node("main", "main/a/c")->seeded, 1);
    assert_int_equal(node("main", "main/a/c/d")->seeded, 1);
    SEED("main", "a");
    assert_int_equal(node("main", "main/a")->seeded, 0);
    SEED("main", "a", "c", "d");
    assert_int_equal(node("main", "main/a/c/d")->seeded, 2);
    fl_seed(script.thread, NULL, 0, fl_now(script.thread));
    busy(3);
    assert_node(node("main", ""), 0, .cpu = 3);
}

/* GIVEN parked tasks, WHEN their stacks are told, THEN they wait there from then on, and go on there. */
static void test_parked_stacks(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    struct fl_task *one = spawn(), *other = spawn();
    busy(7);
    SEED_PARKED(one, "serve", "get");
    SEED_PARKED(other, "serve", "put");
    busy(20);
    to(one), busy(3), ret("get"), busy(2);
    assert_node(node("serve", "serve/get"), 0, .cpu = 3, .waited = 20);
    assert_node(node("serve", "serve"), 0, .cpu = 2);
    assert_int_equal(node("serve", "serve/get")->seeded, 1);
    assert_int_equal(node("serve", "serve")->seeded, 2);
    assert_node(node("", ""), 0, .waited = 2 * 7);
    /* Told again where it is known to be: nothing is counted, and it waits since it was parked. */
    call("put"), busy(1), to(other);
    busy(5);
    SEED_PARKED(one, "serve", "put");
    assert_int_equal(node("serve", "serve/put")->seeded, 1);
    to(one);
    assert_node(node("serve", "serve/put"), 1, .cpu = 1 + 5, .waited = 26 + 5);
}

/* GIVEN no memory for more nodes, WHEN a stack is told, THEN what fits is told and the rest counted; its returns match.
 */
static void test_a_stack_that_finds_no_room(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.node_bytes = 5 * 64});
    SEED("main", "a", "b", "c", "d", "e");
    busy(4);
    look();
    struct fl_lost lost;
    fl_session_lost(script.session, &lost);
    assert_true(lost.events > 0);
    for (const char *const *f = (const char *const[]){"e", "d", "c", "b", "a", "main", NULL}; *f; f++)
        ret(*f);
    fl_session_lost(script.session, &lost);
    assert_int_equal(lost.unmatched, 0);
    assert_ptr_equal(atomic_load(&script.thread->node)->up, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_running_stack, script_end),
        cmocka_unit_test_teardown(test_a_frame_is_marked_once, script_end),
        cmocka_unit_test_teardown(test_parked_stacks, script_end),
        cmocka_unit_test_teardown(test_a_stack_that_finds_no_room, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
