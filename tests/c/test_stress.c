/*
 * Writers on real clocks and readers that look while they write. Every picture must add up, within the time that the
 * look itself took. This is what holds the contract of thread.h, task.h, slice.h and shadow.h: each line of it that is
 * dropped makes a test here fail. Under ThreadSanitizer there must be no report.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "event.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

enum { WRITERS = 2, READERS = 2, TASKS = 6, FUNCTIONS = 64 };

/* What one writer does, again and again. */
struct load {
    uint32_t wide;         /* functions that it chooses from: how many paths there are */
    uint32_t deep;         /* frames at most */
    uint32_t warm_up;      /* events before it stays anywhere */
    uint64_t slice_ns;     /* how long it stays in one place at most; 0: as short as can be */
    bool sleeps;           /* stays there off the processor */
    uint32_t switches;     /* of 100 events */
    uint32_t task_ends;    /* of 1000 events: a task ends, another begins */
    uint64_t threshold_ns; /* of long slices; 0: the default */
    bool rejoins;          /* the thread ends from time to time, another begins */
    int task_trees;        /* enum fl_task_trees */
    uint64_t long_lived_ns;
};

static struct {
    struct fl_session *session;
    fl_function_id functions[FUNCTIONS];
    struct load load;
    atomic_bool stop;
    _Atomic uint32_t errors;
} world;

static void wrong(const char *format, ...)
{
    va_list arguments;
    if (atomic_fetch_add(&world.errors, 1) >= 8)
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

/* A writer. */

struct writer {
    struct fl_thread *thread;
    struct fl_task *tasks[TASKS];
    fl_function_id stack[TASKS][32];
    uint32_t depth[TASKS], current;
    uint64_t random;
};

static uint32_t rnd(struct writer *w, uint32_t below)
{
    w->random ^= w->random >> 12;
    w->random ^= w->random << 25;
    w->random ^= w->random >> 27;
    return (uint32_t)(w->random * 2685821657736338717ull >> 40) % below;
}

static void enter_entry(struct writer *w)
{
    fl_function_id entry = world.functions[w->current % 3];
    fl_enter(w->thread, entry, true, fl_now(w->thread));
    w->stack[w->current][0] = entry;
    w->depth[w->current] = 1;
}

static void begin(struct writer *w)
{
    w->thread = fl_thread_attach(world.session, (uint32_t)syscall(SYS_gettid), 0);
    if (!w->thread) {
        wrong("no room for a thread\n");
        return;
    }
    w->current = 0;
    w->tasks[0] = atomic_load(&w->thread->task);
    enter_entry(w);
    for (uint32_t i = 1; i < TASKS; i++) {
        w->tasks[i] = fl_task_create(w->thread, fl_now(w->thread), NULL);
        w->depth[i] = 0;
    }
    fl_task_set_hub(w->thread, w->tasks[1]);
}

static void switch_to(struct writer *w, uint32_t to)
{
    fl_switch(w->thread, w->tasks[to], fl_now(w->thread));
    w->current = to;
    if (w->depth[to] == 0)
        enter_entry(w);
}

static void end_a_task(struct writer *w)
{
    uint32_t which = 2 + rnd(w, TASKS - 2);
    if (which == w->current)
        return;
    fl_task_end(w->thread, w->tasks[which], fl_now(w->thread));
    w->tasks[which] = fl_task_create(w->thread, fl_now(w->thread), NULL);
    w->depth[which] = 0;
}

static void one_event(struct writer *w)
{
    uint32_t kind = rnd(w, 100), *depth = &w->depth[w->current];
    if (kind < world.load.switches) {
        switch_to(w, rnd(w, TASKS));
    } else if (*depth <= 1 || (*depth < world.load.deep && kind < 60)) {
        fl_function_id function = world.functions[rnd(w, world.load.wide)];
        fl_enter(w->thread, function, true, fl_now(w->thread));
        w->stack[w->current][(*depth)++] = function;
    } else {
        (*depth)--;
        fl_leave(w->thread, w->stack[w->current][*depth], fl_now(w->thread));
    }
}

static void stay(struct writer *w, uint32_t event)
{
    if (world.load.slice_ns == 0 || event <= world.load.warm_up)
        return;
    uint64_t ns = rnd(w, (uint32_t)world.load.slice_ns);
    if (world.load.sleeps) {
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
        return;
    }
    for (uint64_t end = fl__monotonic_ns() + ns; fl__monotonic_ns() < end;)
        ;
}

static void *write_events(void *arg)
{
    struct writer w = {.random = (uintptr_t)arg + 1};
    begin(&w);
    for (uint32_t i = 1; w.thread && !atomic_load_explicit(&world.stop, memory_order_relaxed); i++) {
        one_event(&w);
        stay(&w, i);
        if (rnd(&w, 1000) < world.load.task_ends)
            end_a_task(&w);
        if (world.load.rejoins && rnd(&w, 2000) == 0) {
            fl_thread_detach(w.thread);
            begin(&w);
        }
    }
    if (w.thread)
        fl_thread_detach(w.thread);
    return NULL;
}

/* A reader. */

struct reader {
    struct fl_shadow *shadow;
    uint64_t pause_ns; /* between two looks */
    uint64_t looks, slices;
    uint64_t *calls;   /* by node id, as of the last look */
    uint64_t *on_path; /* by node id: the last look at which a thread or task was at or below it */
    uint32_t room;
    uint64_t worst; /* deviation beyond the look's own duration, ns */
    bool must_hold; /* the look before did not add up */
    bool is_off;    /* this one does not */
    uint64_t healed;
};

/* Rounding of each row to ns, and the readings of two clocks that are not read at once. */
static uint64_t slack(const struct fl_shadow *shadow)
{
    return 3000 + 2 * shadow->nodes_alive;
}

/* What begins while a look is going on can be younger than the look's `now`. */
static uint64_t since(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void close_to(struct reader *r, const char *what, uint64_t id, uint64_t got, uint64_t wanted, uint64_t within)
{
    uint64_t off = got > wanted ? got - wanted : wanted - got;
    r->is_off |= off > within;
    if (off > within && r->must_hold)
        wrong("%s of %" PRIu64 ": %" PRIu64 ", should be %" PRIu64 " within %" PRIu64 "\n", what, id, got, wanted,
              within);
    if (off > within && off - within > r->worst)
        r->worst = off - within;
}

static void mark_path(struct reader *r, uint32_t node)
{
    for (; node && r->on_path[node] != r->looks; node = r->shadow->nodes[node].parent)
        r->on_path[node] = r->looks;
}

static void mark_paths(struct reader *r)
{
    for (uint32_t i = 0; i < r->shadow->thread_count; i++)
        mark_path(r, r->shadow->threads[i].node);
    for (uint32_t i = 0; i < r->shadow->task_count; i++)
        mark_path(r, r->shadow->tasks[i].node);
}

static void nodes_add_up(struct reader *r, uint64_t took)
{
    const struct fl_shadow *shadow = r->shadow;
    struct fl_shadow_sums threads[16] = {0}, groups[8] = {0};
    for (uint32_t id = 1; id < shadow->node_count; id++) {
        const struct fl_shadow_node *row = &shadow->nodes[id];
        if (row->added == 0 || fl_shadow_is_own(row))
            continue;
        const struct fl_node *raw = fl_table_row(&world.session->nodes, id);
        struct fl_shadow_sums *sums[] = {&threads[fl_node_chunk_of(raw)->thread], &groups[row->group]};
        for (int i = 0; i < 2; i++) {
            sums[i]->cpu += row->cpu;
            sums[i]->blocked += row->blocked;
            sums[i]->idle += row->idle;
            sums[i]->waited += row->waited;
        }
        if (row->calls < r->calls[id])
            wrong("calls of node %u went back\n", id);
        r->calls[id] = row->calls;
        /* The scan sees no child without its parent. What is known for being current may be younger than the scan, and
         * slots of own trees are used again in any order. */
        const struct fl_shadow_node *parent = &shadow->nodes[row->parent];
        if (world.load.task_trees == FL_TREES_WATCHED && row->calls > 0 && parent->function && parent->calls == 0 &&
            r->on_path[id] != r->looks)
            wrong("node %u was called from a function that was not\n", id);
    }
    for (uint32_t g = 0; g < shadow->group_count; g++) {
        const struct fl_shadow_sums *got = &shadow->groups[g].sums;
        if (got->cpu != groups[g].cpu || got->blocked != groups[g].blocked || got->idle != groups[g].idle ||
            got->waited != groups[g].waited)
            wrong("group %u is not the sum of its nodes\n", g);
    }
    /* A slot that changes hands goes on with the old thread's nodes. */
    for (uint32_t i = 0; i < shadow->thread_count && !world.load.rejoins; i++) {
        const struct fl_shadow_thread *row = &shadow->threads[i];
        uint64_t end = row->state == FL_THREAD_LIVES ? shadow->now : row->end;
        /* Twice: an event may be stamped before the look and published in it, by a thread that lost its processor. */
        close_to(r, "own times of thread", row->id, threads[i].cpu + threads[i].blocked + threads[i].idle,
                 since(row->begin, end), 2 * took);
        /* What is missing and what is there too early may make up for each other in the sum of the three. */
        close_to(r, "blocked times of thread", row->id, threads[i].blocked, row->blocked, 2 * took);
        close_to(r, "idle times of thread", row->id, threads[i].idle, row->idle, 2 * took);
    }
}

static void threads_add_up(struct reader *r, uint64_t took)
{
    for (uint32_t i = 0; i < r->shadow->thread_count; i++) {
        const struct fl_shadow_thread *row = &r->shadow->threads[i];
        uint64_t end = row->state == FL_THREAD_LIVES ? r->shadow->now : row->end;
        close_to(r, "wall time of thread", row->id, row->cpu + row->blocked + row->idle, since(row->begin, end), took);
        if (row->state == FL_THREAD_LIVES)
            close_to(r, "slice of thread", row->id, row->slice_cpu + row->slice_blocked + row->slice_idle,
                     since(row->slice, r->shadow->now), took);
    }
}

static void tasks_add_up(struct reader *r, uint64_t took)
{
    for (uint32_t i = 0; i < r->shadow->task_count; i++) {
        const struct fl_shadow_task *row = &r->shadow->tasks[i];
        if (row->id == 0)
            continue;
        uint64_t closed = row->sums.cpu + row->sums.blocked + row->sums.idle + row->sums.waited;
        uint64_t end = row->state == FL_TASK_ENDED ? row->since : r->shadow->now;
        if (row->state == FL_TASK_PARKED)
            closed += since(row->since, r->shadow->now);
        close_to(r, "lifetime of task", row->id, closed, since(row->begin, end), took);
        if (row->state > FL_TASK_ENDED || row->since < row->begin)
            wrong("task %u is no task\n", row->id);
        if (row->node && r->shadow->nodes[row->node].added == 0)
            wrong("task %u is at a node that is not there\n", row->id);
    }
}

/* A row that is half of one slice and half of another does not add up. */
static void slices_are_whole(struct reader *r)
{
    for (; r->slices < r->shadow->slice_count; r->slices++) {
        const struct fl_shadow_slice *slice = &r->shadow->slices[r->slices % FL_SHADOW_SLICES];
        if (r->shadow->slice_count - r->slices > FL_SHADOW_SLICES)
            continue;
        uint64_t parts = slice->cpu + slice->blocked + slice->idle;
        /* Told once, so no later look heals it. */
        bool must_hold = r->must_hold;
        r->must_hold = true;
        close_to(r, "slice", slice->id, parts, slice->end - slice->begin, 3);
        r->must_hold = must_hold;
        if (slice->end < slice->begin || slice->node == 0)
            wrong("slice %u is no slice\n", slice->id);
    }
}

static void look_once(struct reader *r)
{
    r->is_off = false;
    uint64_t before = fl__monotonic_ns();
    if (fl_shadow_refresh(r->shadow) != 0)
        wrong("a refresh failed\n");
    uint64_t took = fl__monotonic_ns() - before + slack(r->shadow);
    if (r->shadow->node_count > r->room) {
        r->calls = realloc(r->calls, r->shadow->node_count * sizeof *r->calls);
        r->on_path = realloc(r->on_path, r->shadow->node_count * sizeof *r->on_path);
        for (; r->room < r->shadow->node_count; r->room++)
            r->calls[r->room] = r->on_path[r->room] = 0;
    }
    r->looks++;
    mark_paths(r);
    threads_add_up(r, took);
    nodes_add_up(r, took);
    tasks_add_up(r, took);
    slices_are_whole(r);
}

/* A look that does not add up, after it was taken again as often as shadow.c takes it, is healed by the next one. */
static void look(struct reader *r)
{
    r->must_hold = false;
    look_once(r);
    if (!r->is_off)
        return;
    r->healed++;
    r->must_hold = true;
    look_once(r);
}

static void *read_pictures(void *arg)
{
    struct reader *r = arg;
    while (!atomic_load_explicit(&world.stop, memory_order_relaxed)) {
        look(r);
        if (r->pause_ns)
            nanosleep(&(struct timespec){.tv_nsec = (long)r->pause_ns}, NULL);
    }
    return NULL;
}

static uint64_t seconds_per_test(void)
{
    const char *text = getenv("FL_STRESS_MS");
    return text ? strtoull(text, NULL, 10) * 1000000u : 2000000000u;
}

static void run(struct load load)
{
    struct fl_session_options options = {
        .node_bytes = 8 << 20,
        .threshold_ns = load.threshold_ns,
        .ended_tasks = 8,
        .ended_threads = 1,
        .task_trees = load.task_trees,
        .long_lived_ns = load.long_lived_ns,
    };
    struct reader readers[READERS] = {{.pause_ns = 0}, {.pause_ns = 10000000}};
    pthread_t writers[WRITERS], reading[READERS];
    if (load.long_lived_ns == 0 && load.task_trees == FL_TREES_LONG)
        load.task_trees = FL_TREES_WATCHED;
    world.load = load;
    atomic_store(&world.stop, false);
    atomic_store(&world.errors, 0);
    assert_int_equal(fl_session_create(&options, &world.session), 0);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        world.functions[i] = fl_functions_add(&world.session->functions, &(struct fl_function){.line = i + 1});
    fl_session_start(world.session);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(fl_shadow_create(world.session, &readers[i].shadow), 0);
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_events, (void *)i), 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&reading[i], NULL, read_pictures, &readers[i]), 0);

    uint64_t ns = seconds_per_test();
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)}, NULL);
    atomic_store(&world.stop, true);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    for (int i = 0; i < READERS; i++) {
        pthread_join(reading[i], NULL);
        look(&readers[i]);
        const struct fl_shadow *shadow = readers[i].shadow;
        print_message("%" PRIu64 " looks (%" PRIu64 " taken again) at %u nodes, %" PRIu64 " switches, %" PRIu64
                      " long slices\n",
                      readers[i].looks, shadow->taken_again, shadow->nodes_alive, shadow->groups[1].sums.switches,
                      shadow->slice_count);
        if (readers[i].healed)
            print_message("%" PRIu64 " healed, the worst %" PRIu64 " ns beyond the look's own duration\n",
                          readers[i].healed, readers[i].worst);
        assert_in_range(readers[i].healed, 0, 3);
        fl_shadow_destroy(readers[i].shadow);
        free(readers[i].calls);
        free(readers[i].on_path);
    }
    fl_session_destroy(world.session);
    assert_int_equal(atomic_load(&world.errors), 0);
}

/* GIVEN a large tree and stays of some milliseconds, of which many end while a reader is in the middle of the nodes. */
static void test_a_large_tree(void **state)
{
    (void)state;
    run((struct load){.wide = FUNCTIONS, .deep = 20, .warm_up = 80000, .slice_ns = 3000000, .switches = 10});
}

/* GIVEN a tree that grows as fast as it can, up to the budget. */
static void test_a_growing_tree(void **state)
{
    (void)state;
    run((struct load){.wide = FUNCTIONS, .deep = 20, .switches = 2});
}

/* GIVEN a few nodes that change all the time. */
static void test_a_small_tree(void **state)
{
    (void)state;
    run((struct load){.wide = 2, .deep = 3, .slice_ns = 0, .switches = 30, .threshold_ns = 1000, .task_ends = 50});
}

/* GIVEN writers that sleep for short times. */
static void test_sleepers(void **state)
{
    (void)state;
    run((struct load){.wide = 3,
                      .deep = 4,
                      .slice_ns = 300000,
                      .sleeps = true,
                      .switches = 40,
                      .threshold_ns = 100000,
                      .task_ends = 5});
}

/* GIVEN threads that come and go. */
static void test_threads_come_and_go(void **state)
{
    (void)state;
    run((struct load){.wide = 4,
                      .deep = 5,
                      .slice_ns = 20000,
                      .switches = 20,
                      .threshold_ns = 10000,
                      .task_ends = 20,
                      .rejoins = true});
}

/* GIVEN an own tree for each task, which is folded at its end, and tasks that end all the time. */
static void test_own_trees(void **state)
{
    (void)state;
    run((struct load){.wide = 6, .deep = 6, .switches = 10, .task_ends = 5, .task_trees = FL_TREES_ALL});
    run((struct load){.wide = 3,
                      .deep = 4,
                      .slice_ns = 20000,
                      .switches = 20,
                      .task_ends = 100,
                      .rejoins = true,
                      .task_trees = FL_TREES_ALL});
}

/* GIVEN large own trees that are begun in the middle of a task's life. */
static void test_own_trees_of_long_lived_tasks(void **state)
{
    (void)state;
    run((struct load){.wide = FUNCTIONS,
                      .deep = 12,
                      .switches = 5,
                      .task_ends = 2,
                      .task_trees = FL_TREES_LONG,
                      .long_lived_ns = 300000});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_large_tree),
        cmocka_unit_test(test_a_growing_tree),
        cmocka_unit_test(test_a_small_tree),
        cmocka_unit_test(test_sleepers),
        cmocka_unit_test(test_threads_come_and_go),
        cmocka_unit_test(test_own_trees),
        cmocka_unit_test(test_own_trees_of_long_lived_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
