#include "error.h"
#include "lock_waits.h"
#include "shadow_read.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

/* `array` with room for `wanted` rows of `row` bytes, the new ones zero; NULL where memory is at its end. */
static void *grown(void *array, uint32_t have, uint32_t wanted, size_t row)
{
    char *bigger = realloc(array, (size_t)wanted * row);
    if (bigger)
        memset(bigger + (size_t)have * row, 0, (size_t)(wanted - have) * row);
    return bigger;
}

#define GROW(array, count, wanted)                                                                                     \
    do {                                                                                                               \
        if ((wanted) > (count)) {                                                                                      \
            void *bigger = grown((array), (count), (wanted), sizeof *(array));                                         \
            if (!bigger)                                                                                               \
                return FL_ENOMEM;                                                                                      \
            (array) = bigger;                                                                                          \
        }                                                                                                              \
    } while (0)

int fl__shadow_reserve(struct fl_shadow *shadow)
{
    struct fl_session *session = shadow->session;
    uint32_t threads = atomic_load_explicit(&session->thread_count, memory_order_acquire);
    uint32_t chunks = fl_table_used(&session->nodes);
    uint32_t tasks = fl_table_used(&session->tasks) << FL_TASK_BITS;

    GROW(shadow->threads, shadow->thread_count, threads);
    GROW(shadow->views, shadow->thread_count, threads);
    GROW(shadow->own, shadow->thread_count, threads);
    GROW(shadow->told, shadow->thread_count, threads);
    GROW(shadow->folds, shadow->thread_count, threads);
    GROW(shadow->calls, shadow->thread_count, threads);
    GROW(shadow->history, shadow->thread_count, threads);
    shadow->thread_count = threads;
    GROW(shadow->nodes, shadow->node_count, chunks << FL_NODE_BITS);
    if (chunks << FL_NODE_BITS > shadow->node_count)
        shadow->node_count = chunks << FL_NODE_BITS;
    GROW(shadow->tasks, shadow->task_count, tasks);
    if (tasks > shadow->task_count)
        shadow->task_count = tasks;
    return fl__shadow_reserve_group(shadow, fl_intern_count(&session->groups));
}

int fl__shadow_reserve_group(struct fl_shadow *shadow, uint32_t group)
{
    if (group < shadow->group_room)
        return 0;
    uint32_t room = group * 2 + 64;
    GROW(shadow->groups, shadow->group_room, room);
    shadow->group_room = room;
    return 0;
}

/*
 * What flamelet took of this thread up to now: its events times what one costs. Calls are counted by slot; of a slot
 * that threads had before this one, its share by time.
 */
static uint64_t cost_of(const struct fl_shadow *shadow, uint32_t index, const struct fl_thread_view *view)
{
    const struct fl_thread *thread = fl__shadow_thread(shadow, index);
    const struct fl_timeline *timeline = atomic_load_explicit(&thread->timeline, memory_order_acquire);
    double calls = (double)(shadow->calls[index] + atomic_load_explicit(&thread->resumes, memory_order_relaxed));
    /* The first row is none of a switch. */
    double switches = timeline ? (double)atomic_load_explicit(&timeline->written, memory_order_relaxed) - 1 : 0;
    double ps = calls * atomic_load_explicit(&shadow->session->call_cost, memory_order_relaxed) +
                switches * atomic_load_explicit(&shadow->session->switch_cost, memory_order_relaxed);
    fl_ticks here = view->since - view->begin;
    if (view->nodes_own > here)
        ps *= (double)here / (double)view->nodes_own;
    return (uint64_t)(ps / 1e3);
}

/* The second look at a thread, and the nodes that it changes. False as fl__shadow_thread_row(). */
static bool look_again(struct fl_shadow *shadow, uint32_t index, fl_ticks *now, struct fl_open *open, uint64_t version)
{
    const struct fl_thread *thread = fl__shadow_thread(shadow, index);
    struct fl_thread_view *view = &shadow->views[index];
    const struct fl_node *first = view->node, *told = fl_table_row(&shadow->session->nodes, shadow->told[index]);
    fl_thread_read(thread, NULL, view);
    fl__shadow_did(FL__THREAD_VIEWED);
    /* After the second look, not before: what was open at the first may be written at any moment up to it. */
    if (first != view->node)
        fl__shadow_left_node(shadow, index, first, version);
    if (shadow->told[index] != 0 && told != first && told != view->node)
        fl__shadow_left_node(shadow, index, told, version);
    if (*now < view->since)
        *now = view->since; /* it had an event after `now` was read */
    *open = fl_thread_open(thread, view, *now);
    fl__shadow_current_node(shadow, view, open, version);
    fl_node_id node = fl_node_id_of(view->node);
    shadow->told[index] = node < shadow->node_count ? node : 0;
    return fl__shadow_follow_folds(shadow, index, version);
}

bool fl__shadow_thread_row(struct fl_shadow *shadow, uint32_t index, fl_ticks now, uint64_t version)
{
    const struct fl_thread_view *view = &shadow->views[index];
    struct fl_open open;
    bool whole = false;
    /* What is folded after the second look may have been current in it: then a third one shows where it is now. */
    for (int tries = 0; tries < 4; tries++) {
        uint64_t folds = shadow->folds[index];
        whole = look_again(shadow, index, &now, &open, version);
        if (!whole || shadow->folds[index] == folds)
            break;
    }
    bool lives = view->state == FL_THREAD_LIVES;

    struct fl_shadow_thread row = {
        .id = view->id,
        .tid = view->tid,
        .name = view->name,
        .state = view->state,
        .hub = view->hub,
        .task = lives ? atomic_load_explicit(&view->task->id, memory_order_acquire) : 0,
        .node = lives && view->node_id < shadow->node_count ? view->node_id : 0,
        .begin = fl_ticks_to_ns(view->begin),
        .end = fl_ticks_to_ns(view->end),
        .since = fl_ticks_to_ns(view->since),
        .slice = fl_ticks_to_ns(view->slice),
        .blocked = fl_ticks_to_ns(view->blocked + open.blocked),
        .idle = fl_ticks_to_ns(view->idle + open.idle),
    };
    row.cost = cost_of(shadow, index, view);
    row.gil_wait = lives && fl_lock_watch_waits(shadow->lock_watch, index, &row.gil_holder);
    uint64_t wall = fl_ticks_to_ns((lives ? now : view->end) - view->begin);
    row.cpu = wall > row.blocked + row.idle ? wall - row.blocked - row.idle : 0;
    if (lives) {
        row.slice_blocked = fl_ticks_to_ns(view->slice_blocked + open.blocked);
        row.slice_idle = fl_ticks_to_ns(view->slice_idle + open.idle);
        uint64_t slice = fl_ticks_to_ns(now - view->slice);
        fl_node_id place = fl_watch_node(shadow->watch, index, view->slice);
        row.slice_node = fl__shadow_know_node(shadow, place, version) ? place : row.node;
        row.slice_cpu = slice > row.slice_blocked + row.slice_idle ? slice - row.slice_blocked - row.slice_idle : 0;
    }

    struct fl_shadow_thread *old = &shadow->threads[index];
    if (!lives && old->id == row.id && old->state == row.state)
        return whole; /* ended: nothing changes any more, but for the clock's rate */
    row.added = old->added;
    row.changed = old->changed;
    if (old->id != row.id) {
        if (old->id != 0)
            shadow->deleted_threads[shadow->deleted_thread_count++ % FL_THREADS_MAX] =
                (struct fl_shadow_deleted){.version = version, .id = old->id};
        row.added = version;
    }
    if (row.added == version || memcmp(old, &row, sizeof row) != 0) {
        row.changed = version;
        shadow->dirty = true;
    }
    *old = row;
    return whole;
}

/* A task's row together with the view of its thread in which it is current, or a row that is parked or ended. */
static void read_task(const struct fl_shadow *shadow, const struct fl_task *task, struct fl_task_view *row,
                      struct fl_thread_view *view)
{
    for (int tries = 0; tries < 4; tries++) {
        if (!fl_task_read(task, row) || row->state != FL_TASK_CURRENT || row->thread >= shadow->thread_count)
            return;
        if (tries == 0)
            *view = shadow->views[row->thread];
        else
            fl_thread_read(fl__shadow_thread(shadow, row->thread), NULL, view);
        if (view->task == task && view->slice == row->since)
            return;
    }
    /* It switches faster than it can be read: closed times only, this once. */
    view->task = NULL;
}

static void task_row(struct fl_shadow *shadow, uint32_t index, const struct fl_task *task, fl_ticks now,
                     uint64_t version)
{
    struct fl_shadow_task *old = &shadow->tasks[index];
    struct fl_task_view view;
    struct fl_thread_view thread = {0};
    read_task(shadow, task, &view, &thread);
    if (old->id != 0 && old->id != view.id) {
        shadow->deleted_tasks[shadow->deleted_task_count++ % FL_SHADOW_DELETED] =
            (struct fl_shadow_deleted){.version = version, .id = old->id};
        shadow->tasks_alive--;
        shadow->dirty = true;
        *old = (struct fl_shadow_task){0};
    }
    if (view.id == 0 || view.thread >= shadow->thread_count)
        return;
    if (view.state == FL_TASK_CURRENT && thread.task == task) {
        struct fl_open open = {0};
        fl_ticks end = now > thread.since ? now : thread.since;
        open = fl_thread_open(fl__shadow_thread(shadow, view.thread), &thread, end);
        fl_ticks blocked = thread.slice_blocked + open.blocked, idle = thread.slice_idle + open.idle;
        fl_ticks busy = end - thread.slice - idle;
        view.node = thread.node_id;
        view.blocked += blocked;
        view.idle += idle;
        view.cpu += busy > blocked ? busy - blocked : 0;
        if (busy > view.longest)
            view.longest = busy;
    }
    fl__shadow_know_node(shadow, view.node, version);
    struct fl_shadow_task row = {
        .added = old->added ? old->added : version,
        .changed = old->changed,
        .id = view.id,
        .thread = shadow->threads[view.thread].id,
        .name = view.name,
        .group = view.group,
        .state = view.state,
        .node = view.node < shadow->node_count ? view.node : 0,
        .wait = view.wait,
        .hub = view.hub,
        .begin = fl_ticks_to_ns(view.begin),
        .since = fl_ticks_to_ns(view.since),
        .sums = {.cpu = fl_ticks_to_ns(view.cpu),
                 .blocked = fl_ticks_to_ns(view.blocked),
                 .idle = fl_ticks_to_ns(view.idle),
                 .waited = fl_ticks_to_ns(view.waited),
                 .longest = fl_ticks_to_ns(view.longest),
                 .switches = view.switches},
    };
    if (old->id == 0)
        shadow->tasks_alive++;
    /* A parked or ended row stands still. Its instants in ns would not: the clock's rate is refined while we run. */
    if (old->id == row.id && old->state == row.state && row.state != FL_TASK_CURRENT &&
        old->sums.switches == row.sums.switches) {
        row.begin = old->begin;
        row.since = old->since;
        row.sums = old->sums;
    }
    if (memcmp(old, &row, sizeof row) != 0) {
        row.changed = version;
        shadow->dirty = true;
    }
    *old = row;
}

void fl__shadow_tasks(struct fl_shadow *shadow, fl_ticks now, uint64_t version)
{
    for (uint32_t i = 0; i < shadow->task_count; i++) {
        const struct fl_task *task = fl_table_row(&shadow->session->tasks, i);
        if (task)
            task_row(shadow, i, task, now, version);
    }
}

bool fl_shadow_watch_task(struct fl_shadow *shadow, uint32_t id)
{
    for (uint32_t i = 0; i < shadow->task_count; i++)
        if (shadow->tasks[i].id == id && id != 0)
            return fl_task_watch(fl_table_row(&shadow->session->tasks, i), id);
    return false;
}

static void count_trees(struct fl_shadow *shadow, uint32_t groups)
{
    for (uint32_t i = 0; i < groups; i++)
        shadow->groups[i].counted = (struct fl_shadow_counts){0};
    for (uint32_t chunk = 0; chunk < fl_table_used(&shadow->session->trees); chunk++) {
        const struct fl_tree *trees = fl_table_chunk(&shadow->session->trees, chunk);
        for (uint32_t i = 0; trees && i < 1u << FL_TREE_BITS; i++) {
            const struct fl_tree *tree = &trees[i];
            if (!atomic_load_explicit(&tree->published, memory_order_acquire) || tree->group >= groups)
                continue;
            struct fl_shadow_counts *counts = &shadow->groups[tree->group].counted;
            counts->started += atomic_load_explicit(&tree->started, memory_order_relaxed);
            counts->ended += atomic_load_explicit(&tree->ended, memory_order_relaxed);
            counts->switches += atomic_load_explicit(&tree->switches, memory_order_relaxed);
            fl_ticks longest = atomic_load_explicit(&tree->longest, memory_order_relaxed);
            if (longest > counts->longest)
                counts->longest = longest;
        }
    }
}

void fl__shadow_groups(struct fl_shadow *shadow, uint64_t version)
{
    uint32_t count = fl_intern_count(&shadow->session->groups);
    if (fl__shadow_reserve_group(shadow, count - 1) != 0)
        count = shadow->group_room;
    count_trees(shadow, count);
    for (uint32_t i = 0; i < count; i++) {
        struct fl_shadow_group *row = &shadow->groups[i];
        const struct fl_group *group = fl_groups_get(&shadow->session->groups, i);
        row->entry = group->entry;
        row->label = group->label;
        if (row->added == 0)
            row->added = version;
        /* Times were summed while the nodes were read. Counts are compared raw: a refined clock rate is no change. */
        bool same = row->changed != 0 && memcmp(&row->told_counts, &row->counted, sizeof row->counted) == 0 &&
                    memcmp(&row->told, &row->sums, sizeof row->sums) == 0;
        if (same)
            continue;
        if (row->counted.longest != row->told_counts.longest)
            row->sums.longest = fl_ticks_to_ns(row->counted.longest);
        row->sums.switches = row->counted.switches;
        row->started = row->counted.started;
        row->ended = row->counted.ended;
        row->told_counts = row->counted;
        row->told = row->sums;
        row->changed = version;
        shadow->dirty = true;
    }
    shadow->group_count = count;
}
