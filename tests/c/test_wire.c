/* Updates: what is in them, and that deltas add up to the whole picture. */
#include "core_script.h"

#include <string.h>

#include "recording.h"
#include "wire_reader.h"

static json_t *whole(const struct fl_selection *selection)
{
    struct fl_cursor cursor = {0};
    return update_body(script.shadow, &cursor, selection);
}

static json_int_t number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* GIVEN a small program, THEN its whole picture is this, field by field. */
static void test_a_whole_picture(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 50});
    struct fl_task *main_task = current_task();
    fl_task_set_name(main_task, fl_strings_add(&script.session->strings, "ma\"in", 5));
    call("main"), busy(10);
    struct fl_task *other = spawn();
    to(other);
    call("serve"), busy(40), off(60), ret("serve");
    to(main_task);
    busy(3);
    atomic_store(&script.session->switches, true);
    atomic_store(&script.session->call_cost, 45000); /* ps */
    atomic_store(&script.session->switch_cost, 321000);
    look();

    json_t *body = whole(&everything);
    json_t *wanted = json_pack(
        "{si si si s{ss ss si s{si si} sb si si s{si si si si si si si si}}"
        " s{si s[sss]}"
        " s{si s{s[ii]s[ii]s[ii]s[ii]s[ii]}}"
        " s{s{s[iii]s[iii]s[iii]} s{s[iii]s[iii]s[iii]s[iii]s[iii]s[iii]s[iii]s[iii]s[iii]}}"
        " s{s{s[i]s[i]s[i]} s{s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]}}"
        " s{s{s[ii]s[ii]s[ii]s[ii]} s{s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]s[ii]}}"
        " s{s{s[iiiii]s[iiiii]s[iiiii]s[iiiii]s[iiiii]}"
        "   s{s[iiiii]s[iiiii]s[iiiii]s[iiiii]s[iiiii]s[iiiii]s[iiiii]}}"
        " s{s{s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]s[i]}}"
        " s{si s[]}}",
        "version", 1, "since", 0, "now", 113, "status", "state", "running", "clock",
        json_string_value(json_object_get(json_object_get(body, "status"), "clock")), "reading",
        (int)fl_cpu_clock_reading_ns(), "cost", "call", 45, "switch", 321, "switches", 1, "nodes", 5, "tasks", 2,
        "lost", "events", 0, "tasks", 0, "unmatched", 0, "displaced", 0, "slices", 0, "strings", 0, "threads", 0,
        "timeline", 0,
        /* strings, functions */
        "strings", "first", 1, "add", "ma\"in", "main", "serve", "functions", "first", 1, "add", "name", 2, 3,
        "qualname", 2, 3, "file", 0, 0, "line", 0, 0, "kind", 2, 2,
        /* groups: 0, main, serve */
        "groups", "add", "id", 0, 1, 2, "entry", 0, 1, 2, "label", 0, 0, 0, "upd", "id", 0, 1, 2, "started", 0, 1, 1,
        "ended", 0, 0, 0, "switches", 2, 1, 0, "cpu", 0, 13, 40, "blocked", 0, 0, 60, "idle", 0, 0, 0, "waited", 0, 100,
        0, "longest", 0, 10, 100,
        /* threads */
        "threads", "add", "id", 1, "tid", 1001, "begin", 0, "upd", "id", 1, "name", 0, "state", 1, "hub", 0, "task", 1,
        "node", 3, "since", 110, "slice", 110, "slice_cpu", 3, "slice_blocked", 0, "slice_idle", 0, "slice_node", 3,
        "cpu", 53, "blocked", 60, "idle", 0, "end", 0, "cost", 2 * 45 + 2 * 321, "gil_wait", 0, "gil_holder", 0,
        /* tasks */
        "tasks", "add", "id", 1, 2, "thread", 1, 1, "begin", 0, 10, "hub", 0, 0, "upd", "id", 1, 2, "name", 1, 0,
        "group", 1, 2, "state", 0, 1, "node", 3, 4, "wait", 0, 0, "since", 110, 110, "switches", 2, 1, "cpu", 13, 40,
        "blocked", 0, 60, "idle", 0, 0, "waited", 100, 0, "longest", 10, 100,
        /* nodes: root of group 0, root and main, root and serve */
        "nodes", "add", "id", 1, 2, 3, 4, 5, "parent", 0, 0, 2, 0, 4, "function", 0, 0, 1, 0, 2, "group", 0, 1, 1, 2, 2,
        "thread", 1, 1, 1, 1, 1, "upd", "id", 1, 2, 3, 4, 5, "calls", 0, 0, 1, 0, 1, "cpu", 0, 0, 13, 0, 40, "blocked",
        0, 0, 0, 0, 60, "idle", 0, 0, 0, 0, 0, "waited", 0, 0, 100, 0, 0, "seeded", 0, 0, 0, 0, 0,
        /* slices, history */
        "slices", "add", "id", 1, "thread", 1, "task", 2, "group", 2, "node", 5, "begin", 10, "end", 110, "cpu", 40,
        "blocked", 60, "idle", 0, "gil", 0, "gil_holder", 0, "gil_node", 0, "history", "period", 250000000, "threads");
    assert_non_null(wanted);
    assert_json_equal(body, wanted);
    json_decref(wanted);
    json_decref(body);
}

/* GIVEN garbage collections, THEN the status sums them up; before the first it does not speak of them. */
static void test_collections(void **state)
{
    (void)state;
    script_begin(NULL);
    look();
    json_t *body = whole(&everything);
    assert_null(json_object_get(json_object_get(body, "status"), "gc"));
    json_decref(body);

    fl_session_collected(script.session, 30);
    fl_session_collected(script.session, 700);
    fl_session_collected(script.session, 70);
    look();
    body = whole(&everything);
    json_t *wanted = json_pack("{si si si}", "count", 3, "time", 800, "longest", 700);
    assert_json_equal(json_object_get(json_object_get(body, "status"), "gc"), wanted);
    json_decref(wanted);
    json_decref(body);
}

/* GIVEN a reader that was told all, THEN it is told only what is new. */
static void test_a_delta_has_only_what_is_new(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *other = spawn();
    call("main"), call("a"), busy(10), ret("a");
    look();
    struct fl_cursor cursor = {0};
    json_decref(update_body(script.shadow, &cursor, &everything));

    call("b"), busy(5);
    look();
    json_t *body = update_body(script.shadow, &cursor, &everything);
    assert_int_equal(number(body, "since"), 1);
    assert_int_equal(number(body, "version"), 2);
    assert_int_equal(rows_in(body, "nodes", "add"), 1);
    assert_int_equal(rows_in(body, "nodes", "upd"), 1); /* no time passed in main and a */
    assert_int_equal(rows_in(body, "tasks", "add"), 0);
    assert_int_equal(rows_in(body, "tasks", "upd"), 1); /* the other is parked */
    assert_int_equal(rows_in(body, "threads", "add"), 0);
    assert_int_equal(rows_in(body, "threads", "upd"), 1);
    assert_int_equal(rows_in(body, "groups", "upd"), 1);
    assert_int_equal(json_array_size(json_object_get(json_object_get(body, "strings"), "add")), 1);
    assert_null(json_object_get(body, "history"));
    assert_null(json_object_get(body, "slices"));
    json_decref(body);

    to(other), end(main_task), busy(1);
    look();
    json_decref(update_body(script.shadow, &cursor, &everything));
    body = update_body(script.shadow, &cursor, &everything);
    assert_null(json_object_get(body, "nodes"));
    assert_null(json_object_get(body, "tasks"));
    assert_null(json_object_get(body, "strings"));
    assert_null(json_object_get(body, "functions"));
    assert_null(json_object_get(body, "groups"));
    assert_int_equal(rows_in(body, "threads", "upd"), 1); /* it lives: it is in every update */
    json_decref(body);
}

static void test_is_there_news(void **state)
{
    (void)state;
    script_begin(NULL);
    look();
    struct fl_cursor cursor = {0};
    assert_true(fl_wire_is_news(script.shadow, &cursor));
    json_decref(update_body(script.shadow, &cursor, &everything));
    assert_false(fl_wire_is_news(script.shadow, &cursor));
    busy(1);
    look();
    assert_true(fl_wire_is_news(script.shadow, &cursor));
    json_decref(update_body(script.shadow, &cursor, &everything));
    fl_session_stop(script.session);
    look();
    assert_true(fl_wire_is_news(script.shadow, &cursor));
    json_t *body = update_body(script.shadow, &cursor, &everything);
    assert_string_equal(json_string_value(json_object_get(json_object_get(body, "status"), "state")), "stopped");
    json_decref(body);
    busy(1);
    look();
    assert_false(fl_wire_is_news(script.shadow, &cursor));
    fl_session_end(script.session);
    look();
    assert_true(fl_wire_is_news(script.shadow, &cursor));
    body = update_body(script.shadow, &cursor, &everything);
    assert_string_equal(json_string_value(json_object_get(json_object_get(body, "status"), "state")), "ended");
    json_decref(body);
}

static void test_sections_and_groups_are_chosen(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 5});
    struct fl_task *other = spawn();
    call("main"), call("a"), busy(10);
    to(other), call("serve"), busy(10);
    fl_shadow_sample(script.shadow);
    look();

    static const char *const sections[] = {"threads", "tasks", "nodes", "slices"};
    for (unsigned i = 0; i < 4; i++) {
        json_t *body = whole(&(struct fl_selection){.sections = 1u << i});
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(json_object_get(body, sections[k]) != NULL, k == i);
        assert_int_equal(json_object_get(body, "history") != NULL, i == 0);
        assert_non_null(json_object_get(body, "strings"));
        assert_non_null(json_object_get(body, "functions"));
        assert_non_null(json_object_get(body, "groups"));
        assert_non_null(json_object_get(body, "status"));
        json_decref(body);
    }
    json_t *body = whole(&(struct fl_selection){.sections = FL_SECTION_TREE, .one_group = true, .group = 1});
    assert_int_equal(rows_in(body, "nodes", "add"), 3);
    assert_int_equal(rows_in(body, "nodes", "upd"), 3);
    json_decref(body);
    body = whole(&(struct fl_selection){.sections = FL_SECTION_TREE, .task = 12345});
    assert_null(json_object_get(body, "nodes"));
    assert_null(json_object_get(body, "tree"));
    json_decref(body);
    body = whole(&(struct fl_selection){.sections = FL_SECTION_TREE, .one_group = true, .group = 12345});
    assert_null(json_object_get(body, "nodes"));
    json_decref(body);
}

/* GIVEN tasks with own trees, THEN the tree of one task is told alone, parents first, and what changed in it. */
static void test_the_tree_of_one_task(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.task_trees = FL_TREES_ALL});
    struct fl_task *main_task = current_task(), *gone = spawn(), *other = spawn();
    call("main");
    /* The slots of a task that has ended are used again, last first. */
    to(gone), call("serve"), call("a"), call("b"), to(main_task), end(gone);
    busy(3), to(other), call("serve"), busy(2), call("a"), call("b"), busy(10);
    look();
    const struct fl_selection selection = {.sections = FL_SECTION_TREE, .task = atomic_load(&other->id)};
    struct fl_cursor cursor = {0};
    json_t *body = update_body(script.shadow, &cursor, &selection);
    const json_t *add = json_object_get(json_object_get(body, "nodes"), "add");
    const json_t *ids = json_object_get(add, "id"), *parents = json_object_get(add, "parent");
    assert_int_equal(json_array_size(ids), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_array_get(parents, i)),
                         i ? json_integer_value(json_array_get(ids, i - 1)) : 0);
    const json_t *tree = json_object_get(body, "tree");
    assert_int_equal(json_integer_value(json_object_get(tree, "task")), selection.task);
    assert_int_equal(json_integer_value(json_object_get(tree, "since")), 3);
    json_decref(body);
    ret("b"), busy(1);
    look();
    body = update_body(script.shadow, &cursor, &selection);
    assert_int_equal(rows_in(body, "nodes", "add"), 0);
    assert_int_equal(rows_in(body, "nodes", "upd"), 1);
    json_decref(body);
    body = whole(&(struct fl_selection){.sections = FL_SECTION_TREE, .one_group = true, .group = 2});
    assert_int_equal(rows_in(body, "nodes", "add"), 4);
    json_decref(body);
}

/* GIVEN more deletions than are remembered, THEN whoever missed some begins anew, and nobody else does. */
static void test_who_missed_deletions_begins_anew(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_tasks = 1});
    struct fl_task *main_task = current_task();
    look();
    struct fl_cursor old = {0};
    json_decref(update_body(script.shadow, &old, &everything));
    struct fl_cursor late = old;
    for (unsigned i = 0; i < FL_SHADOW_DELETED + 10; i++) {
        struct fl_task *task_of_moment = spawn();
        to(task_of_moment), busy(1), to(main_task), end(task_of_moment);
        look();
        if (i == 2000)
            json_decref(update_body(script.shadow, &late, &everything));
    }
    json_t *body = update_body(script.shadow, &old, &everything);
    assert_int_equal(number(body, "since"), 0);
    assert_non_null(json_object_get(body, "functions") ? NULL : "no function was ever called");
    assert_null(json_object_get(json_object_get(body, "tasks"), "del"));
    assert_int_equal(rows_in(body, "tasks", "add"), 2); /* the main one, and the last that ended */
    json_decref(body);
    json_int_t since = (json_int_t)late.version;
    body = update_body(script.shadow, &late, &everything);
    assert_int_equal(number(body, "since"), since);
    assert_true(json_array_size(json_object_get(json_object_get(body, "tasks"), "del")) > 6000);
    json_decref(body);
}

/* GIVEN slices that were never told because there were too many, THEN the newest are told, each once. */
static void test_slices_are_told_once(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.threshold_ns = 5});
    struct fl_task *main_task = current_task(), *other = spawn();
    struct fl_cursor cursor = {0};
    json_int_t last = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 15; i++) {
            to(other), busy(10), to(main_task), busy(1);
            fl_shadow_watch(script.shadow);
        }
        look();
        if (round % 3 == 2) {
            json_t *body = update_body(script.shadow, &cursor, &everything);
            const json_t *ids = json_object_get(json_object_get(json_object_get(body, "slices"), "add"), "id");
            assert_int_equal(json_array_size(ids), 45);
            assert_int_equal(json_integer_value(json_array_get(ids, 0)), last + 1);
            last += 45;
            json_decref(body);
        }
    }
    json_t *body = whole(&everything);
    /* 44 are older, of which all are kept: they are among the longest. */
    assert_int_equal(rows_in(body, "slices", "add"), FL_SHADOW_SLICES + 44);
    json_decref(body);
}

static void test_history_is_in_whole_pictures(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_cursor cursor = {0};
    for (int i = 0; i < 500; i++) { /* more than is kept */
        busy(200000000 + (uint64_t)i), off(50000000 - (uint64_t)i);
        fl_shadow_sample(script.shadow);
    }
    look();
    json_t *body = update_body(script.shadow, &cursor, &everything);
    const json_t *row = json_array_get(json_object_get(json_object_get(body, "history"), "threads"), 0);
    assert_int_equal(number(row, "id"), 1);
    assert_int_equal(number(row, "end"), 500ll * 250000000);
    assert_int_equal(json_array_size(json_object_get(row, "cpu")), FL_HISTORY_PERIODS);
    assert_int_equal(json_array_size(json_object_get(row, "blocked")), FL_HISTORY_PERIODS);
    assert_int_equal(json_array_size(json_object_get(row, "idle")), FL_HISTORY_PERIODS);
    /* oldest first */
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "cpu"), 0)), 200000000 + 20);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "cpu"), 479)), 200000000 + 499);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "blocked"), 479)), 50000000 - 499);
    json_decref(body);
}

static void test_names_of_any_bytes(void **state)
{
    (void)state;
    script_begin(NULL);
    static const char name[] = "\xff\0\xed\xa0\x80<script>\"\\\n";
    fl_strings_add(&script.session->strings, name, sizeof name - 1);
    look();
    json_t *body = whole(&everything);
    const json_t *string = json_array_get(json_object_get(json_object_get(body, "strings"), "add"), 0);
    static const char wanted[] = "\xef\xbf\xbd\0\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd<script>\"\\\n";
    assert_int_equal(json_string_length(string), sizeof wanted - 1);
    assert_memory_equal(json_string_value(string), wanted, sizeof wanted - 1);
    json_decref(body);
}

static void test_a_recording_is_four_lines(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    fl_session_end(script.session);
    look();
    const struct fl_about about = {.version = "0.1", .program = "a \"b\".py", .python = "3.12", .pid = 42};
    struct fl_buffer out = {0};
    fl_recording_write(script.shadow, &about, &out);
    assert_false(out.failed);
    fl_buffer_add(&out, "", 1);

    json_t *lines[4];
    char *at = (char *)out.data;
    for (int i = 0; i < 4; i++) {
        char *end_of_line = strchr(at, '\n');
        assert_non_null(end_of_line);
        lines[i] = json_loadb(at, (size_t)(end_of_line - at), JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(lines[i]);
        assert_int_equal(number(lines[i], "seq"), i + 1);
        at = end_of_line + 1;
    }
    assert_string_equal(at, "");
    json_t *wanted = json_pack("{sissisbssss{s{sisssisssssIsI}}}", "seq", 1, "type", "response", "request_seq", 1,
                               "success", 1, "command", "initialize", "body", "flamelet", "protocol", 1, "version",
                               "0.1", "pid", 42, "program", "a \"b\".py", "python", "3.12", "epoch",
                               (json_int_t)script.session->epoch_ms, "threshold", (json_int_t)100000000);
    json_decref(wanted);
    wanted = json_pack("{si ss si sb ss s{s{si ss si ss ss sI sI}}}", "seq", 1, "type", "response", "request_seq", 1,
                       "success", 1, "command", "initialize", "body", "flamelet", "protocol", 1, "version", "0.1",
                       "pid", 42, "program", "a \"b\".py", "python", "3.12", "epoch",
                       (json_int_t)script.session->epoch_ms, "threshold", (json_int_t)100000000);
    assert_json_equal(lines[0], wanted);
    json_decref(wanted);
    wanted = json_pack("{si ss ss}", "seq", 2, "type", "event", "event", "initialized");
    assert_json_equal(lines[1], wanted);
    json_decref(wanted);
    json_t *body = json_object_get(lines[2], "body");
    assert_string_equal(json_string_value(json_object_get(lines[2], "event")), "flamelet/update");
    assert_int_equal(number(body, "subscription"), 0);
    json_object_del(body, "subscription");
    wanted = whole(&everything);
    assert_json_equal(body, wanted);
    json_decref(wanted);
    wanted = json_pack("{si ss ss}", "seq", 4, "type", "event", "event", "terminated");
    assert_json_equal(lines[3], wanted);
    json_decref(wanted);
    for (int i = 0; i < 4; i++)
        json_decref(lines[i]);
    fl_buffer_fini(&out);
}

/* GIVEN no memory, THEN the update is marked and the cursor stays where it was. */
static void test_a_failed_update_moves_no_cursor(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(10);
    look();
    for (size_t limit = 1; limit < 300; limit += 50) {
        struct fl_buffer out = {.limit = limit};
        struct fl_cursor cursor = {0};
        fl_wire_update(script.shadow, &cursor, &everything, &out, &cursor);
        assert_true(out.failed);
        assert_int_equal(cursor.version, 0);
        fl_buffer_fini(&out);
    }
}

/* A program that does anything at any time. */
enum { ALIVE = 40 };
struct world {
    uint32_t seed;
    struct fl_thread *threads[3];
    struct fl_task *alive[3][ALIVE];
    int alive_count[3];
    int depth; /* of the current task, at least */
};

static uint32_t random_below(struct world *w, uint32_t bound)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % bound;
}

static void something_happens(struct world *w)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    uint32_t which = random_below(w, 3);
    if (!w->threads[which]) {
        script.thread = w->threads[which] = fl_thread_attach(script.session, 2000 + random_below(w, 1000), 0);
        assert_non_null(script.thread);
        w->alive[which][0] = current_task();
        w->alive_count[which] = 1;
    }
    script.thread = w->threads[which];
    int *count = &w->alive_count[which];
    struct fl_task **alive = w->alive[which];
    uint32_t victim = random_below(w, (uint32_t)*count);
    pass(random_below(w, 50), random_below(w, 20));
    switch (random_below(w, 40)) {
    case 0:
    case 1:
        if (*count < ALIVE)
            alive[(*count)++] = spawn();
        break;
    case 2:
    case 3:
        if (alive[victim] != current_task()) {
            end(alive[victim]);
            alive[victim] = alive[--*count];
        }
        break;
    case 4:
        fl_task_set_hub(script.thread, alive[victim]);
        break;
    case 5:
        fl_task_set_wait(alive[victim], fl_strings_add(&script.session->strings, names[random_below(w, 8)], 1));
        break;
    case 6:
        fl_forget_stack(script.thread, fl_now(script.thread));
        break;
    case 7:
        pass(5000, random_below(w, 5000));
        break;
    case 8:
        if (random_below(w, 20) == 0) {
            fl_thread_detach(script.thread);
            w->threads[which] = NULL;
        }
        break;
    default:
        if (random_below(w, 4) == 0)
            to(alive[victim]);
        else if (random_below(w, 2))
            call(names[random_below(w, 8)]);
        else
            ret(names[random_below(w, 8)]);
    }
}

/*
 * GIVEN random events and readers that look as often as they like, each with its own selection, THEN the deltas of each
 * add up to exactly the whole picture.
 */
static void test_deltas_add_up_to_the_whole(void **state)
{
    (void)state;
    enum { READERS = 5, STEPS = 8000 };
    static const struct fl_selection selections[READERS] = {
        {.sections = FL_SECTION_ALL},
        {.sections = FL_SECTION_ALL},
        {.sections = FL_SECTION_ALL},
        {.sections = FL_SECTION_TREE | FL_SECTION_SLICES, .one_group = true, .group = 2},
        {.sections = FL_SECTION_TASKS},
    };
    static const uint32_t every[READERS] = {1, 7, 300, 5, 40};
    script_begin(&(struct fl_session_options){.threshold_ns = 1000, .ended_tasks = 4, .ended_threads = 2});
    struct world w = {.seed = 4711, .threads = {script.thread}, .alive = {{current_task()}}, .alive_count = {1}};
    json_t *pictures[READERS];
    struct fl_cursor cursors[READERS] = {{0}};
    int compared = 0, deltas = 0, deleted = 0;
    for (int i = 0; i < READERS; i++)
        pictures[i] = picture_new();

    for (int step = 0; step < STEPS; step++) {
        something_happens(&w);
        if (random_below(&w, 10) != 0)
            continue;
        look();
        for (int i = 0; i < READERS; i++) {
            if (random_below(&w, every[i]) != 0)
                continue;
            json_t *body = update_body(script.shadow, &cursors[i], &selections[i]);
            deltas += number(body, "since") > 0;
            deleted += json_object_get(json_object_get(body, "tasks"), "del") != NULL;
            picture_apply(pictures[i], body);
            json_decref(body);
            if (random_below(&w, 10) != 0)
                continue;
            json_t *wanted = picture_new();
            body = whole(&selections[i]);
            picture_apply(wanted, body);
            assert_json_equal(pictures[i], wanted);
            json_decref(body);
            json_decref(wanted);
            compared++;
        }
    }
    assert_true(compared > 80);
    assert_true(deltas > 800);
    assert_true(deleted > 100);
    assert_true(script.shadow->slice_count > 60);
    assert_true(script.shadow->deleted_thread_count > 1);
    for (int i = 0; i < READERS; i++)
        json_decref(pictures[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_whole_picture, script_end),
        cmocka_unit_test_teardown(test_collections, script_end),
        cmocka_unit_test_teardown(test_a_delta_has_only_what_is_new, script_end),
        cmocka_unit_test_teardown(test_is_there_news, script_end),
        cmocka_unit_test_teardown(test_sections_and_groups_are_chosen, script_end),
        cmocka_unit_test_teardown(test_the_tree_of_one_task, script_end),
        cmocka_unit_test_teardown(test_who_missed_deletions_begins_anew, script_end),
        cmocka_unit_test_teardown(test_slices_are_told_once, script_end),
        cmocka_unit_test_teardown(test_history_is_in_whole_pictures, script_end),
        cmocka_unit_test_teardown(test_names_of_any_bytes, script_end),
        cmocka_unit_test_teardown(test_a_recording_is_four_lines, script_end),
        cmocka_unit_test_teardown(test_a_failed_update_moves_no_cursor, script_end),
        cmocka_unit_test_teardown(test_deltas_add_up_to_the_whole, script_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
