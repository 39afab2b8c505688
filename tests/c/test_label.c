/* Labels: where the time of a task goes while it has one, and what its groups count. */
#include "core_script.h"
#include "label.h"

#include <string.h>

static uint32_t label(const char *text)
{
    uint32_t id = text ? fl_strings_add(&script.session->strings, text, strlen(text)) : 0;
    fl_label_set(script.thread, id, fl_now(script.thread));
    return id;
}

/* The group of (entry, label) in the last picture, and the node at `path` in it. */
static uint32_t labelled(const char *entry, uint32_t label_id)
{
    look();
    for (uint32_t g = 0; g < script.shadow->group_count; g++)
        if (script.shadow->groups[g].entry == function(entry) && script.shadow->groups[g].label == label_id)
            return g;
    fail_msg("no group %s with label %u", entry, label_id);
    return 0;
}

static const struct fl_shadow_node *below(uint32_t group, uint32_t parent, const char *name)
{
    for (uint32_t id = 1; id < script.shadow->node_count; id++) {
        const struct fl_shadow_node *row = &script.shadow->nodes[id];
        if (row->added && !fl_shadow_is_own(row) && row->group == group && row->parent == parent &&
            row->function == (name ? function(name) : 0))
            return row;
    }
    fail_msg("no node %s below %u", name ? name : "root", parent);
    return NULL;
}

static const struct fl_shadow_node *at(uint32_t group, const char *outer, const char *inner)
{
    uint32_t root = (uint32_t)(below(group, 0, NULL) - script.shadow->nodes);
    const struct fl_shadow_node *row = below(group, root, outer);
    return inner ? below(group, (uint32_t)(row - script.shadow->nodes), inner) : row;
}

/* GIVEN a label in the middle of a stack, THEN time and calls go to its group until it is taken back. */
static void test_a_labelled_stretch(void **state)
{
    (void)state;
    script_begin(NULL);
    call("serve"), call("handle"), busy(10);
    uint32_t id = label("GET /");
    busy(3), call("query"), busy(4), ret("query"), busy(1);
    label(NULL);
    busy(20), ret("handle"), busy(100);
    uint32_t plain = labelled("serve", 0), get = labelled("serve", id);
    assert_int_not_equal(plain, get);
    assert_node(at(plain, "serve", "handle"), 1, .cpu = 30);
    assert_node(at(plain, "serve", NULL), 1, .cpu = 100);
    assert_node(at(get, "serve", "handle"), 0, .cpu = 4);
    assert_node(at(get, "serve", NULL), 0);
    const struct fl_shadow_node *handle = at(get, "serve", "handle");
    assert_node(below(get, (uint32_t)(handle - script.shadow->nodes), "query"), 1, .cpu = 4);
    assert_sums(&script.shadow->groups[get], .cpu = 8);
    assert_int_equal(script.shadow->groups[get].started, 1);
    assert_int_equal(script.shadow->groups[get].ended, 1);
    assert_int_equal(script.shadow->groups[plain].started, 1);
    assert_int_equal(script.shadow->groups[plain].ended, 0);
    struct fl_lost lost;
    fl_session_lost(script.session, &lost);
    assert_int_equal(lost.unmatched, 0);
}

/* GIVEN one label after another, and a task that ends with one, THEN what is alive in each group stays right. */
static void test_labels_one_after_another(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    struct fl_task *main_task = current_task(), *worker = spawn();
    to(worker), call("work"), busy(1);
    uint32_t one = label("one");
    busy(2);
    uint32_t other = label("other");
    label("other"); /* no change */
    busy(4), to(main_task), off(7), to(worker), busy(8), to(main_task);
    assert_int_equal(task(atomic_load(&worker->id))->group, labelled("work", other));
    end(worker);
    uint32_t groups[] = {labelled("work", 0), labelled("work", one), labelled("work", other)};
    const uint64_t cpu[] = {1, 2, 12};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(script.shadow->groups[groups[i]].sums.cpu, cpu[i]);
        assert_int_equal(script.shadow->groups[groups[i]].started, 1);
        assert_int_equal(script.shadow->groups[groups[i]].ended, 1);
    }
    assert_int_equal(script.shadow->groups[groups[2]].sums.waited, 7);
}

/* GIVEN a label before the first call, as a task inherits it, THEN the task begins in that group. */
static void test_an_inherited_label(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    struct fl_task *worker = spawn();
    uint32_t id = fl_strings_add(&script.session->strings, "job", 3);
    fl_label_inherit(worker, id);
    to(worker), call("work"), busy(5);
    uint32_t group = labelled("work", id);
    assert_int_equal(script.shadow->groups[group].started, 1);
    assert_int_equal(script.shadow->groups[group].sums.cpu, 5);
    label(NULL);
    busy(2);
    assert_int_equal(script.shadow->groups[labelled("work", 0)].sums.cpu, 2);
    assert_int_equal(script.shadow->groups[group].ended, 0);
}

/* GIVEN a task with an own tree, WHEN its label changes, THEN nothing is lost and it has an own tree again. */
static void test_a_label_and_an_own_tree(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_ALL});
    call("serve"), call("handle"), busy(10);
    uint32_t id = label("x");
    assert_non_null(current_task()->own);
    busy(5), ret("handle"), busy(1), label(NULL), busy(2);
    assert_node(at(labelled("serve", 0), "serve", "handle"), 1, .cpu = 10);
    assert_node(at(labelled("serve", 0), "serve", NULL), 1, .cpu = 2);
    assert_node(at(labelled("serve", id), "serve", "handle"), 0, .cpu = 5);
    assert_node(at(labelled("serve", id), "serve", NULL), 0, .cpu = 1);
}

/* GIVEN no room for the nodes of another group, THEN the task goes on where it is, and that is counted. */
static void test_a_label_that_finds_no_room(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.node_bytes = 5 * 64});
    call("a"), call("b"), busy(1), label("x"), busy(2), ret("b"), busy(3);
    struct fl_lost lost;
    look();
    fl_session_lost(script.session, &lost);
    assert_true(lost.events > 0);
    assert_int_equal(lost.unmatched, 0);
    assert_node(node("a", "a/b"), 1, .cpu = 3);
    assert_node(node("a", "a"), 1, .cpu = 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_labelled_stretch, script_end),
        cmocka_unit_test_teardown(test_labels_one_after_another, script_end),
        cmocka_unit_test_teardown(test_an_inherited_label, script_end),
        cmocka_unit_test_teardown(test_a_label_and_an_own_tree, script_end),
        cmocka_unit_test_teardown(test_a_label_that_finds_no_room, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
