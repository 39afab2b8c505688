/*
 * The core against a naive model (naive.h): random events, and every number must be the same, at random moments and at
 * the end. A failure prints the seed; FL_TEST_SEED=... repeats it, FL_TEST_EVENTS=... makes it longer.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "event.h"
#include "naive.h"
#include "process.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

#ifdef SANITIZED
enum { EVENTS = 100000 };
#else
enum { EVENTS = 1000000 };
#endif
enum { FUNCTIONS = 6, TASKS_ALIVE = 12, ENDED_TASKS = 20, ENDED_THREADS = 2, THREADS_ALIVE = 5 };

static struct {
    struct naive naive;
    struct fl_session *session;
    struct fl_shadow *shadow;
    struct fl_thread *threads[NAIVE_SLOTS];
    fl_function_id functions[FUNCTIONS];
    uint32_t next_tid;
    uint64_t seed, random, event;
    uint64_t comparisons, compared; /* compared: nodes, over all comparisons */
} run;

static uint64_t rnd(uint64_t below)
{
    run.random ^= run.random >> 12;
    run.random ^= run.random << 25;
    run.random ^= run.random >> 27;
    return (run.random * 2685821657736338717ull >> 33) % below;
}

static void same(const char *what, uint64_t id, uint64_t core, uint64_t naive)
{
    if (core == naive)
        return;
    print_error("FL_TEST_SEED=%" PRIu64 ", event %" PRIu64 ": %s of %" PRIu64 ": core %" PRIu64 ", naive %" PRIu64 "\n",
                run.seed, run.event, what, id, core, naive);
    fail();
}

static uint64_t cpu_of(int tid)
{
    for (uint32_t i = 0; i < run.naive.thread_count; i++)
        if (run.naive.threads[i].lives && (int)run.naive.threads[i].tid == tid)
            return run.naive.threads[i].cpu;
    return 0;
}

/* Time passes. How much of it each thread is on the processor is anybody's guess; clocks of different hardware may even
 * say that it was there for longer. */
static void advance(void)
{
    uint64_t kind = rnd(100);
    uint64_t wall = kind < 30 ? 0 : rnd(kind < 90 ? 50 : kind < 99 ? 2000 : 100000);
    fl_fake_ticks += wall;
    if (run.naive.running)
        run.naive.now += wall;
    for (uint32_t i = 0; i < run.naive.thread_count; i++) {
        uint64_t how = rnd(20);
        uint64_t cpu = how < 12 ? wall : how < 15 ? 0 : how < 19 ? rnd(wall + 1) : wall + rnd(wall / 8 + 2);
        run.naive.threads[i].cpu += cpu;
    }
}

static void compare_open(struct naive_open *sum, const struct naive_node *node)
{
    *sum = (struct naive_open){0};
    for (uint32_t i = 0; i < run.naive.thread_count; i++) {
        const struct naive_thread *thread = &run.naive.threads[i];
        if (thread->lives && naive_node_of(thread->current) == node)
            *sum = naive_open_of(&run.naive, thread);
    }
}

static struct naive_node *root_of(uint32_t slot, uint32_t group)
{
    const struct naive_thread *thread = &run.naive.threads[slot];
    for (uint32_t i = 0; i < thread->tree_count; i++)
        if (thread->trees[i].entry == fl_groups_get(&run.session->groups, group)->entry)
            return thread->trees[i].root;
    return NULL;
}

/* Every node by its path; returns which of the model's nodes each id is (shape: node_count, caller frees). */
static struct naive_node **compare_nodes(struct fl_shadow_sums *groups)
{
    const struct fl_shadow *shadow = run.shadow;
    struct naive_node **which = calloc(shadow->node_count, sizeof *which);
    uint32_t count = 0;
    assert_non_null(which);
    for (uint32_t id = 1; id < shadow->node_count; id++) {
        const struct fl_shadow_node *row = &shadow->nodes[id];
        if (row->added == 0 || fl_shadow_is_own(row))
            continue;
        struct naive_node *node;
        if (row->function == 0) {
            const struct fl_node *raw = fl_table_row(&run.session->nodes, id);
            node = root_of(fl_node_chunk_of(raw)->thread, row->group);
        } else {
            node = which[row->parent] ? which[row->parent]->children : NULL;
            while (node && node->function != row->function)
                node = node->sibling;
        }
        if (!node)
            same("a node that must not be", id, 1, 0);
        same("a second node at one path", id, node->seen == run.comparisons, 0);
        node->seen = run.comparisons;
        which[id] = node;
        count++;

        struct naive_open open;
        compare_open(&open, node);
        uint64_t blocked = node->blocked + open.blocked, idle = node->idle + open.idle;
        uint64_t cpu = node->own - node->blocked - node->idle + open.cpu;
        same("node calls", id, row->calls, node->calls);
        same("node cpu", id, row->cpu, cpu);
        same("node blocked", id, row->blocked, blocked);
        same("node idle", id, row->idle, idle);
        same("node waited", id, row->waited, node->waited);
        groups[row->group].cpu += cpu;
        groups[row->group].blocked += blocked;
        groups[row->group].idle += idle;
        groups[row->group].waited += node->waited;
    }
    same("nodes", 0, count, run.naive.nodes);
    same("nodes_alive", 0, shadow->nodes_alive, count);
    run.compared += count;
    return which;
}

static void compare_groups(const struct fl_shadow_sums *sums)
{
    for (uint32_t g = 0; g < run.shadow->group_count; g++) {
        const struct fl_shadow_group *row = &run.shadow->groups[g];
        struct naive_tree total = {0};
        for (uint32_t i = 0; i < run.naive.thread_count; i++) {
            for (uint32_t t = 0; t < run.naive.threads[i].tree_count; t++) {
                const struct naive_tree *tree = &run.naive.threads[i].trees[t];
                if (tree->entry != row->entry)
                    continue;
                total.started += tree->started;
                total.ended += tree->ended;
                total.switches += tree->switches;
                if (tree->longest > total.longest)
                    total.longest = tree->longest;
            }
        }
        same("group started", g, row->started, total.started);
        same("group ended", g, row->ended, total.ended);
        same("group switches", g, row->sums.switches, total.switches);
        same("group longest", g, row->sums.longest, total.longest);
        same("group cpu", g, row->sums.cpu, sums[g].cpu);
        same("group blocked", g, row->sums.blocked, sums[g].blocked);
        same("group idle", g, row->sums.idle, sums[g].idle);
        same("group waited", g, row->sums.waited, sums[g].waited);
    }
}

static const struct fl_shadow_task *find_task(uint32_t id)
{
    for (uint32_t i = 0; i < run.shadow->task_count; i++)
        if (run.shadow->tasks[i].id == id)
            return &run.shadow->tasks[i];
    return NULL;
}

static void compare_task(const struct naive_thread *thread, const struct naive_task *task, struct naive_node **which)
{
    const struct fl_shadow_task *row = find_task(task->id);
    uint64_t cpu = task->cpu, blocked = task->blocked, idle = task->idle, longest = task->longest;
    if (!row) {
        same("a task that is missing", task->id, 0, 1);
        return;
    }
    if (task->state == NAIVE_CURRENT) {
        struct naive_open open = naive_open_of(&run.naive, thread);
        uint64_t slice_blocked = thread->blocked - thread->slice_blocked + open.blocked;
        uint64_t slice_idle = thread->idle - thread->slice_idle + open.idle;
        uint64_t busy = run.naive.now - thread->slice - slice_idle;
        cpu += busy - slice_blocked;
        blocked += slice_blocked;
        idle += slice_idle;
        if (busy > longest)
            longest = busy;
    }
    same("task thread", task->id, row->thread, thread->id);
    same("task state", task->id, row->state, (uint64_t)task->state);
    same("task hub", task->id, row->hub, task->hub);
    same("task name", task->id, row->name, task->name);
    same("task wait", task->id, row->wait, task->wait);
    same("task group", task->id, fl_groups_get(&run.session->groups, row->group)->entry, task->tree->entry);
    same("task node", task->id, (uintptr_t)which[row->node], (uintptr_t)naive_node_of(task));
    same("task begin", task->id, row->begin, task->begin);
    same("task since", task->id, row->since, task->since);
    same("task switches", task->id, row->sums.switches, task->switches);
    same("task cpu", task->id, row->sums.cpu, cpu);
    same("task blocked", task->id, row->sums.blocked, blocked);
    same("task idle", task->id, row->sums.idle, idle);
    same("task waited", task->id, row->sums.waited, task->waited);
    same("task longest", task->id, row->sums.longest, longest);
    uint64_t open_wait = task->state == NAIVE_PARKED ? run.naive.now - task->since : 0;
    uint64_t end = task->state == NAIVE_ENDED ? task->since : run.naive.now;
    same("task lifetime", task->id, cpu + blocked + idle + task->waited + open_wait, end - task->begin);
}

static void compare_thread(const struct naive_thread *thread, struct naive_node **which)
{
    const struct fl_shadow_thread *row = &run.shadow->threads[thread->slot];
    struct naive_open open = {0};
    if (thread->lives)
        open = naive_open_of(&run.naive, thread);
    uint64_t blocked = thread->blocked + open.blocked, idle = thread->idle + open.idle;
    uint64_t wall = (thread->lives ? run.naive.now : thread->end) - thread->begin;
    same("thread id", thread->slot, row->id, thread->id);
    same("thread tid", thread->slot, row->tid, thread->tid);
    same("thread state", thread->slot, row->state, thread->lives ? FL_THREAD_LIVES : FL_THREAD_ENDED);
    same("thread hub", thread->slot, row->hub, thread->hub);
    same("thread begin", thread->slot, row->begin, thread->begin);
    same("thread end", thread->slot, row->end, thread->end);
    same("thread since", thread->slot, row->since, thread->since);
    same("thread cpu", thread->slot, row->cpu, wall - blocked - idle);
    same("thread blocked", thread->slot, row->blocked, blocked);
    same("thread idle", thread->slot, row->idle, idle);
    if (!thread->lives)
        return;
    uint64_t slice_blocked = thread->blocked - thread->slice_blocked + open.blocked;
    uint64_t slice_idle = thread->idle - thread->slice_idle + open.idle;
    same("thread task", thread->slot, row->task, thread->current->id);
    same("thread node", thread->slot, (uintptr_t)which[row->node], (uintptr_t)naive_node_of(thread->current));
    same("thread slice", thread->slot, row->slice, thread->slice);
    same("thread slice_cpu", thread->slot, row->slice_cpu, run.naive.now - thread->slice - slice_blocked - slice_idle);
    same("thread slice_blocked", thread->slot, row->slice_blocked, slice_blocked);
    same("thread slice_idle", thread->slot, row->slice_idle, slice_idle);
}

static void compare(void)
{
    struct fl_shadow_sums groups[FUNCTIONS + 1] = {0};
    uint64_t lost = 0, unmatched = 0;
    uint32_t tasks = 0;
    run.comparisons++;
    assert_int_equal(fl_shadow_refresh(run.shadow), 0);
    same("looks again", 0, run.shadow->taken_again, 0);
    same("now", 0, run.shadow->now, run.naive.now);
    struct naive_node **which = compare_nodes(groups);
    compare_groups(groups);
    for (uint32_t i = 0; i < run.naive.thread_count; i++) {
        const struct naive_thread *thread = &run.naive.threads[i];
        compare_thread(thread, which);
        for (uint32_t t = 0; t < NAIVE_TASKS; t++) {
            if (thread->tasks[t].state == NAIVE_FORGOTTEN)
                continue;
            compare_task(thread, &thread->tasks[t], which);
            tasks++;
        }
        lost += thread->lost_events;
        unmatched += thread->unmatched;
    }
    same("tasks", 0, run.shadow->tasks_alive, tasks);
    same("lost events", 0, run.shadow->lost.events, lost);
    same("unmatched", 0, run.shadow->lost.unmatched, unmatched);
    same("lost threads", 0, run.shadow->lost.threads, run.naive.lost_threads);
    free(which);
}

static void compare_slice(const struct naive_thread *thread)
{
    struct fl_slice slice;
    const struct fl_slices *slices = &run.threads[thread->slot]->slices;
    same("slices", thread->slot, atomic_load(&slices->written), thread->slices);
    if (thread->slices == 0)
        return;
    const struct naive_slice *wanted = &thread->last_slice;
    assert_true(fl_slices_get(slices, thread->slices - 1, &slice));
    same("slice task", thread->slices, slice.task, wanted->task);
    same("slice entry", thread->slices, fl_groups_get(&run.session->groups, slice.group)->entry, wanted->entry);
    same("slice sure", thread->slices, slice.sure, wanted->sure);
    same("slice begin", thread->slices, slice.begin, wanted->begin);
    same("slice end", thread->slices, slice.end, wanted->end);
    same("slice blocked", thread->slices, slice.blocked, wanted->blocked);
    same("slice idle", thread->slices, slice.idle, wanted->idle);
    const struct fl_node *node = fl_table_row(&run.session->nodes, slice.node);
    same("slice function", thread->slices, node->up ? node->function : 0, wanted->node->function);
}

/* One of the tasks of the thread that have not ended; NULL where `parked` and there is none that is. */
static struct naive_task *some_task(struct naive_thread *thread, bool parked)
{
    struct naive_task *tasks[NAIVE_TASKS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < NAIVE_TASKS; i++)
        if (thread->tasks[i].state == NAIVE_PARKED || (!parked && thread->tasks[i].state == NAIVE_CURRENT))
            tasks[count++] = &thread->tasks[i];
    return count ? tasks[rnd(count)] : NULL;
}

static uint32_t tasks_alive(const struct naive_thread *thread)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < NAIVE_TASKS; i++)
        count += thread->tasks[i].state == NAIVE_PARKED || thread->tasks[i].state == NAIVE_CURRENT;
    return count;
}

static struct naive_thread *some_thread(void)
{
    struct naive_thread *threads[NAIVE_SLOTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < run.naive.thread_count; i++)
        if (run.naive.threads[i].lives)
            threads[count++] = &run.naive.threads[i];
    return count ? threads[rnd(count)] : NULL;
}

static void attach(void)
{
    static const uint64_t limits[] = {0, 30, 300};
    uint32_t alive = 0;
    for (uint32_t i = 0; i < run.naive.thread_count; i++)
        alive += run.naive.threads[i].lives;
    if (alive == THREADS_ALIVE)
        return;
    uint32_t tid = ++run.next_tid;
    uint64_t cpu = rnd(1000), limit = limits[rnd(3)];
    fl_fake_cpu = cpu;
    struct fl_thread *thread = fl_thread_attach(run.session, tid, 0);
    struct naive_thread *wanted = naive_attach(&run.naive, tid, cpu, limit);
    same("attached", tid, thread != NULL, wanted != NULL);
    if (!thread || !wanted)
        return;
    same("slot", tid, thread->index, wanted->slot);
    thread->cpu.limit = limit;
    run.threads[wanted->slot] = thread;
    wanted->current->row = atomic_load(&thread->task);
}

static void detach(struct naive_thread *thread)
{
    fl_fake_cpu = thread->cpu;
    fl_thread_detach(run.threads[thread->slot]);
    naive_detach(&run.naive, thread);
    compare_slice(thread);
}

static void pause_session(void)
{
    fl_session_stop(run.session);
    naive_stop(&run.naive);
    uint64_t what = rnd(4);
    advance();
    if (what == 0)
        attach();
    struct naive_thread *thread = some_thread();
    if (what == 1 && thread)
        detach(thread);
    advance();
    if (what >= 2)
        compare();
    advance();
    fl_session_start(run.session);
    naive_start(&run.naive);
}

static void call_or_return(struct naive_thread *thread, struct fl_thread *core, uint64_t kind)
{
    const struct naive_task *task = thread->current;
    uint32_t depth = task->depth + task->overflow;
    fl_function_id function = run.functions[rnd(FUNCTIONS)];
    if (kind < 47 && depth < NAIVE_DEPTH) {
        bool is_call = kind < 40;
        fl_enter(core, function, is_call, fl_now(core));
        naive_enter(&run.naive, thread, function, is_call);
        return;
    }
    /* The frame on top, mostly; of what is lost or empty any will do. */
    if (kind < 76 && depth > 1)
        function = naive_node_of(task)->function ? naive_node_of(task)->function : function;
    fl_leave(core, function, fl_now(core));
    naive_leave(&run.naive, thread, function);
}

static void task_event(struct naive_thread *thread, struct fl_thread *core, uint64_t kind)
{
    if (kind < 70) {
        struct naive_task *to = some_task(thread, false);
        fl_switch(core, to->row, fl_now(core));
        naive_switch(&run.naive, thread, to);
        compare_slice(thread);
    } else if (kind < 85) {
        if (tasks_alive(thread) < TASKS_ALIVE)
            naive_create(&run.naive, thread)->row = fl_task_create(core, fl_now(core), NULL);
    } else if (kind < 96) {
        struct naive_task *task = some_task(thread, true);
        if (task) {
            fl_task_end(core, task->row, fl_now(core));
            naive_end(&run.naive, thread, task);
        }
    } else if (kind < 98) {
        struct naive_task *task = some_task(thread, false);
        task->name = (uint32_t)rnd(4);
        fl_task_set_name(task->row, task->name);
        if (task->state == NAIVE_PARKED) {
            task->wait = (uint32_t)rnd(4);
            fl_task_set_wait(task->row, task->wait);
        }
    } else if (kind < 99) {
        struct naive_task *task = some_task(thread, false);
        fl_task_set_hub(core, task->row);
        task->hub = true;
        thread->hub = task->id;
    } else {
        fl_forget_stack(core, fl_now(core));
        naive_forget_stack(&run.naive, thread);
    }
}

static void one_event(void)
{
    uint64_t kind = rnd(100000);
    advance();
    struct naive_thread *thread = some_thread();
    if (!thread || kind < 100) {
        attach();
        return;
    }
    struct fl_thread *core = run.threads[thread->slot];
    fl_fake_cpu = thread->cpu;
    if (kind < 170) {
        detach(thread);
        return;
    }
    if (kind < 200) {
        pause_session();
        return;
    }
    if (thread->must_resume) {
        fl_session_resume(run.session, core);
        naive_resume(&run.naive, thread);
    }
    if (kind < 80000)
        call_or_return(thread, core, rnd(80));
    else
        task_event(thread, core, rnd(100));
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void random_run(uint64_t node_bytes, uint64_t events, uint64_t apart, int task_trees)
{
    struct fl_session_options options = {
        .node_bytes = node_bytes,
        .threshold_ns = 5000,
        .ended_tasks = ENDED_TASKS,
        .ended_threads = ENDED_THREADS,
        .task_trees = task_trees,
        .long_lived_ns = 20000,
    };
    run.seed = from_environment("FL_TEST_SEED", (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid());
    run.random = run.seed * 2 + 1;
    run.compared = run.comparisons = 0;
    fl_fake_ticks = rnd(1000000);
    fl_fake_cpu_of = cpu_of;
    naive_init(&run.naive, (uint32_t)(node_bytes / sizeof(struct fl_node)), ENDED_TASKS, ENDED_THREADS, 5000);
    assert_int_equal(fl_session_create(&options, &run.session), 0);
    assert_int_equal(fl_shadow_create(run.session, &run.shadow), 0);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[] = {(char)('a' + i), '\0'};
        struct fl_function function = {.name = fl_strings_add(&run.session->strings, name, 1)};
        run.functions[i] = fl_functions_add(&run.session->functions, &function);
    }
    fl_session_start(run.session);

    uint64_t until_compared = 1;
    for (run.event = 1; run.event <= events; run.event++) {
        one_event();
        if (--until_compared == 0) {
            compare();
            until_compared = 1 + rnd(run.event < apart ? 20 : apart); /* often while everything is small */
        }
    }
    advance();
    compare();
    print_message("%" PRIu64 " events, %u nodes, %u tasks, %u threads; %" PRIu64 " nodes compared\n", events,
                  run.naive.nodes, run.naive.last_task, run.naive.last_thread, run.compared);

    fl_shadow_destroy(run.shadow);
    fl_session_destroy(run.session);
    naive_fini(&run.naive);
}

/* GIVEN random calls, returns, switches, tasks, threads and stops, THEN every number is that of the naive model. */
static void test_random_events(void **state)
{
    (void)state;
    random_run(64ull << 20, from_environment("FL_TEST_EVENTS", EVENTS), 20000, FL_TREES_WATCHED);
}

/* GIVEN the same with an own tree for each task, or for those that live long, THEN nothing of it shows. */
static void test_random_events_with_own_trees(void **state)
{
    (void)state;
    random_run(64ull << 20, from_environment("FL_TEST_EVENTS", EVENTS) / 2, 20000, FL_TREES_ALL);
    random_run(64ull << 20, from_environment("FL_TEST_EVENTS", EVENTS) / 2, 20000, FL_TREES_LONG);
}

/* GIVEN the same with hardly any room for nodes, THEN nothing but the shape of the tree differs. */
static void test_random_events_without_room(void **state)
{
    (void)state;
    for (uint64_t nodes = 1; nodes <= 300; nodes = nodes * 3)
        random_run(nodes * sizeof(struct fl_node), from_environment("FL_TEST_EVENTS", EVENTS) / 10, 500,
                   FL_TREES_WATCHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_events),
        cmocka_unit_test(test_random_events_with_own_trees),
        cmocka_unit_test(test_random_events_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
