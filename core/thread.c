#include "thread.h"
#include "error.h"
#include "event.h"
#include "other.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

static void read_position(const struct fl_thread *thread, const struct fl_node *also, struct fl_thread_view *view)
{
    view->since = atomic_load_explicit(&thread->since, memory_order_acquire);
    view->node = atomic_load_explicit(&thread->node, memory_order_acquire);
    view->task = atomic_load_explicit(&thread->task, memory_order_acquire);
    view->blocked = atomic_load_explicit(&thread->blocked, memory_order_acquire);
    view->idle = atomic_load_explicit(&thread->idle, memory_order_acquire);
    view->slice = atomic_load_explicit(&thread->slice, memory_order_acquire);
    view->slice_blocked = view->blocked - atomic_load_explicit(&thread->slice_blocked, memory_order_acquire);
    view->slice_idle = view->idle - atomic_load_explicit(&thread->slice_idle, memory_order_acquire);
    view->sync_ticks = atomic_load_explicit(&thread->cpu.sync_ticks, memory_order_acquire);
    view->sync_cpu = atomic_load_explicit(&thread->cpu.sync_cpu, memory_order_acquire) +
                     atomic_load_explicit(&thread->excluded_cpu, memory_order_acquire);
    view->carry = atomic_load_explicit(&thread->cpu.carry, memory_order_acquire);
    view->id = atomic_load_explicit(&thread->id, memory_order_acquire);
    view->tid = atomic_load_explicit(&thread->tid, memory_order_acquire);
    view->name = atomic_load_explicit(&thread->name, memory_order_acquire);
    view->state = atomic_load_explicit(&thread->state, memory_order_acquire);
    view->hub = atomic_load_explicit(&thread->hub, memory_order_acquire);
    view->begin = atomic_load_explicit(&thread->begin, memory_order_acquire);
    view->end = atomic_load_explicit(&thread->end, memory_order_acquire);
    view->nodes_own = atomic_load_explicit(&thread->before, memory_order_acquire) + view->since - view->begin;
    view->in_poll = fl__in_poll(thread->session, view->task, view->node);
    const struct fl_node *node = also ? also : view->node;
    view->own = atomic_load_explicit(&node->own, memory_order_acquire);
    view->node_blocked = atomic_load_explicit(&node->blocked, memory_order_acquire);
    view->node_idle = atomic_load_explicit(&node->idle, memory_order_acquire);
}

void fl_thread_read(const struct fl_thread *thread, const struct fl_node *also, struct fl_thread_view *view)
{
    for (unsigned tries = 0;; fl__read_again(&tries)) {
        uint64_t before = atomic_load_explicit(&thread->version, memory_order_acquire);
        if (before & 1)
            continue;
        read_position(thread, also, view);
        /* The acquire loads above keep this one behind them. */
        if (atomic_load_explicit(&thread->version, memory_order_relaxed) == before)
            break;
    }
    view->node_id = fl_node_id_of(fl_node_in_group(view->node));
}

struct fl_open fl_thread_open(const struct fl_thread *thread, const struct fl_thread_view *view, fl_ticks now)
{
    struct fl_open open = {0};
    if (view->state != FL_THREAD_LIVES || now <= view->since)
        return open;
    fl_ticks interval = now - view->since;
    bool stopped = atomic_load_explicit(&thread->session->state, memory_order_acquire) != FL_SESSION_RUNNING;
    uint64_t cpu_now =
        stopped ? atomic_load_explicit(&thread->stop_cpu, memory_order_acquire) : fl_cpu_clock_remote((int)view->tid);
    /* How much of the time up to the last event is counted as cpu, on the kernel's clock. Since the last reading of
     * that all of it, and what was off up to then but is not settled yet. The reading may be younger than the event: by
     * milliseconds, where the thread was preempted between the two, which is then what is not settled. */
    int64_t after_sync = (int64_t)(view->since - view->sync_ticks) + view->carry;
    int64_t cpu_at_since =
        (int64_t)view->sync_cpu + (after_sync >= 0 ? (int64_t)fl_ticks_to_ns((fl_ticks)after_sync)
                                                   : -(int64_t)fl_ticks_to_ns((fl_ticks)-after_sync));
    int64_t used = (int64_t)cpu_now - cpu_at_since;
    fl_ticks cpu = used > 0 ? fl_ns_to_ticks((uint64_t)used) : 0;
    open.cpu = cpu < interval ? cpu : interval;
    *(view->in_poll ? &open.idle : &open.blocked) = interval - open.cpu;
    return open;
}

/* Owner. Trees are taken from a chunk of the session that this thread owns. */
static struct fl_tree *tree_create(struct fl_thread *thread, uint32_t group)
{
    struct fl_session *session = thread->session;
    struct fl_node *root = fl_node_child(&thread->maker, NULL, FL_ROOT_FUNCTION | group);
    if (!root)
        return NULL;
    if (thread->free_tree_count == 0) {
        int64_t chunk = fl_table_add_chunk(&session->trees);
        thread->free_trees = chunk < 0 ? NULL : fl_table_chunk(&session->trees, (uint32_t)chunk);
        if (!thread->free_trees)
            return NULL;
        thread->free_tree_count = 1u << FL_TREE_BITS;
    }
    struct fl_tree *tree = thread->free_trees++;
    thread->free_tree_count--;
    tree->group = group;
    tree->root = root;
    tree->next = thread->trees;
    thread->trees = tree;
    atomic_store_explicit(&tree->published, 1, memory_order_release);
    return tree;
}

struct fl_tree *fl__tree_of_group(struct fl_thread *thread, uint32_t group)
{
    struct fl_tree **link = &thread->trees;
    if (group == 0)
        return NULL;
    while (*link && (*link)->group != group)
        link = &(*link)->next;
    struct fl_tree *tree = *link;
    if (!tree)
        return tree_create(thread, group);
    /* To the front: what was looked for last will be next. */
    *link = tree->next;
    tree->next = thread->trees;
    thread->trees = tree;
    return tree;
}

struct fl_node *fl__task_join_group(struct fl_thread *thread, struct fl_task *task, fl_function_id entry)
{
    uint32_t group = fl_groups_add(&thread->session->groups, entry, task->label);
    struct fl_tree *tree = fl__tree_of_group(thread, group);
    if (!tree)
        return NULL;
    atomic_store_explicit(&task->tree->started, atomic_load_explicit(&task->tree->started, memory_order_relaxed) - 1,
                          memory_order_relaxed);
    fl__add(&tree->started, 1);
    task->tree = task->home = tree;
    fl__write_begin(&task->version);
    atomic_store_explicit(&task->group, group, memory_order_release);
    fl__write_end(&task->version);
    fl_ticks now = atomic_load_explicit(&thread->since, memory_order_relaxed);
    if (atomic_load_explicit(&task->own_at, memory_order_relaxed) <= now)
        (void)fl__own_tree_begin_empty(thread, task, now);
    return fl__task_root(task);
}

static void row_free(struct fl_thread *thread, struct fl_task *task)
{
    task->next = thread->free_tasks;
    thread->free_tasks = task;
}

static struct fl_task *row_take(struct fl_thread *thread)
{
    if (!thread->free_tasks) {
        int64_t chunk = fl_table_add_chunk(&thread->session->tasks);
        if (chunk < 0)
            return NULL;
        struct fl_task *rows = fl_table_chunk(&thread->session->tasks, (uint32_t)chunk);
        for (uint32_t i = 1u << FL_TASK_BITS; i-- > 0;) {
            /* The chunk is published already: others may be looking. */
            atomic_store_explicit(&rows[i].thread, thread->index, memory_order_relaxed);
            row_free(thread, &rows[i]);
        }
    }
    struct fl_task *task = thread->free_tasks;
    thread->free_tasks = task->next;
    return task;
}

struct fl_task *fl_task_create(struct fl_thread *thread, fl_ticks now, void *key)
{
    struct fl_session *session = thread->session;
    struct fl_task *task = row_take(thread);
    if (!task) {
        fl__add(&thread->lost_tasks, 1);
        return NULL;
    }
    task->at = thread->no_group->root;
    task->tree = task->home = thread->no_group;
    task->label = 0;
    task->own = NULL;
    task->next = NULL;
    task->inner = NULL;
    task->key = key;
    task->overflow = 0;
    task->seeded_epoch = 0;
    fl__add(&task->tree->started, 1);

    fl__write_begin(&task->version);
    atomic_store_explicit(&task->state, FL_TASK_PARKED, memory_order_release);
    atomic_store_explicit(&task->group, 0, memory_order_release);
    atomic_store_explicit(&task->name, 0, memory_order_release);
    atomic_store_explicit(&task->wait, 0, memory_order_release);
    atomic_store_explicit(&task->node, fl_node_id_of(task->at), memory_order_release);
    atomic_store_explicit(&task->hub, 0, memory_order_release);
    atomic_store_explicit(&task->poll, NULL, memory_order_release);
    atomic_store_explicit(&task->begin, now, memory_order_release);
    atomic_store_explicit(&task->since, now, memory_order_release);
    atomic_store_explicit(&task->sums.cpu, 0, memory_order_release);
    atomic_store_explicit(&task->sums.blocked, 0, memory_order_release);
    atomic_store_explicit(&task->sums.idle, 0, memory_order_release);
    atomic_store_explicit(&task->sums.waited, 0, memory_order_release);
    atomic_store_explicit(&task->sums.longest, 0, memory_order_release);
    atomic_store_explicit(&task->sums.switches, 0, memory_order_release);
    atomic_store_explicit(&task->own_at, fl__own_tree_at(session, now), memory_order_release);
    atomic_store_explicit(&task->id, atomic_fetch_add_explicit(&session->last_task_id, 1, memory_order_relaxed) + 1,
                          memory_order_release);
    fl__write_end(&task->version);
    return task;
}

static void forget_oldest(struct fl_thread *thread)
{
    struct fl_task *task = thread->ended_first;
    thread->ended_first = task->next;
    if (!thread->ended_first)
        thread->ended_last = NULL;
    thread->ended_count--;
    fl__write_begin(&task->version);
    atomic_store_explicit(&task->id, 0, memory_order_release);
    fl__write_end(&task->version);
    row_free(thread, task);
}

void fl_task_end(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    fl_ticks since = atomic_load_explicit(&task->since, memory_order_relaxed);
    if (now < since)
        now = since; /* a counter some ticks behind after a migration */
    fl_ticks parked = now - since;
    fl__write_begin(&task->version);
    /* From its last switch out to its end it was parked; mostly 0. */
    fl__add(&task->sums.waited, parked);
    atomic_store_explicit(&task->state, FL_TASK_ENDED, memory_order_release);
    atomic_store_explicit(&task->since, now, memory_order_release);
    fl__write_end(&task->version);
    fl__add(&task->at->waited, parked);
    fl__own_tree_fold(thread, task);
    fl__add(&task->tree->ended, 1);
    if (task->home != task->tree)
        fl__add(&task->home->ended, 1);
    if (atomic_load_explicit(&thread->hub, memory_order_relaxed) ==
        atomic_load_explicit(&task->id, memory_order_relaxed))
        atomic_store_explicit(&thread->hub, 0, memory_order_release);
    task->key = NULL;
    task->next = NULL;
    if (thread->ended_last)
        thread->ended_last->next = task;
    else
        thread->ended_first = task;
    thread->ended_last = task;
    if (++thread->ended_count > thread->session->options.ended_tasks)
        forget_oldest(thread);
}

void fl_task_set_hub(struct fl_thread *thread, struct fl_task *task)
{
    fl__write_begin(&task->version);
    atomic_store_explicit(&task->hub, 1, memory_order_release);
    fl__write_end(&task->version);
    uint32_t id = atomic_load_explicit(&task->id, memory_order_relaxed);
    if (atomic_load_explicit(&thread->hub, memory_order_relaxed) != id)
        thread->hub_since = atomic_load_explicit(&thread->since, memory_order_relaxed);
    atomic_store_explicit(&thread->hub, id, memory_order_release);
}

void fl_task_set_poll(struct fl_thread *thread, struct fl_task *task, const struct fl_node *poll)
{
    atomic_store_explicit(&task->poll, fl_node_in_group(poll), memory_order_release);
    if (!atomic_load_explicit(&task->hub, memory_order_relaxed))
        fl_task_set_hub(thread, task);
}

void fl_task_set_name(struct fl_task *task, uint32_t name)
{
    atomic_store_explicit(&task->name, name, memory_order_release);
}

void fl_task_set_wait(struct fl_task *task, uint32_t wait)
{
    atomic_store_explicit(&task->wait, wait, memory_order_release);
}

/* Session's lock held. The thread that ended first, when more than enough are kept. */
static struct fl_thread *take_over(struct fl_session *session)
{
    struct fl_thread *oldest = NULL;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < atomic_load(&session->thread_count); i++) {
        struct fl_thread *thread = atomic_load(&session->threads[i]);
        if (!thread || atomic_load(&thread->state) != FL_THREAD_ENDED)
            continue;
        ended++;
        if (!oldest || atomic_load(&thread->end) < atomic_load(&oldest->end))
            oldest = thread;
    }
    return ended > session->options.ended_threads ? oldest : NULL;
}

static void destroy(struct fl_thread *thread)
{
    fl_node_maker_fini(&thread->maker);
    fl__own_trees_fini(&thread->own_trees);
    free(atomic_load(&thread->timeline));
    free(thread);
}

/* Session's lock held. A new slot, not yet published; or NULL. */
static struct fl_thread *create(struct fl_session *session)
{
    uint32_t index = atomic_load(&session->thread_count);
    void *memory;
    if (index == FL_THREADS_MAX || posix_memalign(&memory, 64, sizeof(struct fl_thread)) != 0)
        return NULL;
    struct fl_thread *thread = memset(memory, 0, sizeof(struct fl_thread));
    uint32_t budget = (uint32_t)(session->options.node_bytes / sizeof(struct fl_node));
    thread->session = session;
    thread->index = index;
    if (fl_node_maker_init(&thread->maker, &session->nodes, &session->node_count, budget, index) != 0) {
        free(thread);
        return NULL;
    }
    thread->maker.own_count = &session->own_node_count;
    thread->maker.own_budget = budget / 4; /* of two slots each: half of the room at most */
    thread->no_group = tree_create(thread, 0);
    if (!thread->no_group) {
        destroy(thread);
        return NULL;
    }
    return thread;
}

/* Owner, inside the version: a thread begins in this slot. */
static void begin(struct fl_thread *thread, uint32_t tid, uint32_t name, fl_ticks now)
{
    struct fl_session *session = thread->session;
    fl__add(&thread->before, atomic_load_explicit(&thread->since, memory_order_relaxed) -
                                 atomic_load_explicit(&thread->begin, memory_order_relaxed));
    atomic_store_explicit(&thread->id, atomic_fetch_add(&session->last_thread_id, 1) + 1, memory_order_release);
    atomic_store_explicit(&thread->tid, tid, memory_order_release);
    atomic_store_explicit(&thread->name, name, memory_order_release);
    atomic_store_explicit(&thread->state, FL_THREAD_LIVES, memory_order_release);
    atomic_store_explicit(&thread->hub, 0, memory_order_release);
    atomic_store_explicit(&thread->begin, now, memory_order_release);
    atomic_store_explicit(&thread->end, 0, memory_order_release);
    atomic_store_explicit(&thread->since, now, memory_order_release);
    atomic_store_explicit(&thread->node, thread->no_group->root, memory_order_release);
    atomic_store_explicit(&thread->blocked, 0, memory_order_release);
    atomic_store_explicit(&thread->idle, 0, memory_order_release);
    atomic_store_explicit(&thread->slice, now, memory_order_release);
    atomic_store_explicit(&thread->slice_blocked, 0, memory_order_release);
    atomic_store_explicit(&thread->slice_idle, 0, memory_order_release);
    atomic_store_explicit(&thread->excluded_cpu, 0, memory_order_release);
    /* Matters to a thread that begins while the session is stopped: its CPU time until the start is excluded. */
    atomic_store_explicit(&thread->stop_cpu, atomic_load(&thread->cpu.sync_cpu), memory_order_release);
    atomic_store_explicit(&thread->epoch, atomic_load(&session->epoch), memory_order_release);
    thread->overflow = 0;
    thread->below = 0;
    thread->longest_interval = 0;
    fl_slices_begin(&thread->slices);
    fl__timeline_begin(thread, now);
}

/* Owner: its first task is current from the beginning. */
static void begin_task(struct fl_thread *thread, struct fl_task *task)
{
    thread->main = task;
    fl__write_begin(&task->version);
    atomic_store_explicit(&task->state, FL_TASK_CURRENT, memory_order_release);
    atomic_store_explicit(&task->sums.switches, 1, memory_order_release);
    fl__write_end(&task->version);
    fl__add(&task->tree->switches, 1);
}

static struct fl_thread *attach(struct fl_session *session, uint32_t tid, uint32_t name, bool other)
{
    pthread_mutex_lock(&session->lock);
    struct fl_thread *thread = take_over(session);
    bool is_new = thread == NULL;
    if (is_new)
        thread = create(session);
    else
        while (thread->ended_first)
            forget_oldest(thread); /* they must not seem to be tasks of the new thread */
    fl_ticks now = fl_session_now(session);
    bool running = atomic_load(&session->state) == FL_SESSION_RUNNING;
    fl_ticks paused = running ? atomic_load(&session->paused) : fl_ticks_now() - now;
    if (thread) {
        /* The thread begins with this reading: were it earlier, what was off the processor until then would be lost. */
        if (other)
            fl_cpu_clock_attach_other(&thread->cpu, (int)tid, paused);
        else
            fl_cpu_clock_attach(&thread->cpu, paused);
        if (running)
            now = atomic_load(&thread->cpu.sync_ticks);
    }
    struct fl_task *task = thread ? fl_task_create(thread, now, NULL) : NULL;
    if (!task) {
        if (thread && !other)
            fl_cpu_clock_detach(&thread->cpu);
        if (is_new && thread)
            destroy(thread);
        atomic_fetch_add(&session->lost_threads, 1);
        pthread_mutex_unlock(&session->lock);
        return NULL;
    }
    fl__write_begin(&thread->version);
    begin(thread, tid, name, now);
    atomic_store_explicit(&thread->task, task, memory_order_release);
    fl__write_end(&thread->version);
    begin_task(thread, task);
    if (is_new) {
        atomic_store_explicit(&session->threads[thread->index], thread, memory_order_release);
        atomic_store_explicit(&session->thread_count, thread->index + 1, memory_order_release);
    }
    pthread_mutex_unlock(&session->lock);
    return thread;
}

struct fl_thread *fl_thread_attach(struct fl_session *session, uint32_t tid, uint32_t name)
{
    return attach(session, tid, name, false);
}

struct fl_thread *fl_other_attach(struct fl_session *session, uint32_t tid, uint32_t name)
{
    return attach(session, tid, name, true);
}

void fl_thread_adopt(struct fl_thread *thread)
{
    fl_cpu_clock_adopt(&thread->cpu);
    fl_session_resume(thread->session, thread);
}

bool fl_other_begin(struct fl_thread *thread)
{
    pthread_mutex_lock(&thread->session->lock);
    if (atomic_load_explicit(&thread->state, memory_order_relaxed) == FL_THREAD_LIVES)
        return true;
    pthread_mutex_unlock(&thread->session->lock);
    return false;
}

void fl_other_end(struct fl_thread *thread)
{
    pthread_mutex_unlock(&thread->session->lock);
}

/* Session's lock held. */
static void detach(struct fl_thread *thread, bool other)
{
    struct fl_session *session = thread->session;
    fl__session_catch_up(session, thread, other);
    struct fl_task *current = atomic_load_explicit(&thread->task, memory_order_relaxed);
    fl_ticks last = fl_session_now(session);
    /* To itself: settles what was open. */
    if (other)
        fl__switch_other(thread, current, last);
    else
        fl_switch(thread, current, last);
    fl_ticks now = atomic_load_explicit(&thread->since, memory_order_relaxed);
    fl__write_begin(&thread->version);
    fl__slice_end(thread, current, now);
    fl__write_end(&thread->version);
    for (uint32_t i = 0; i < fl_table_used(&session->tasks); i++) {
        struct fl_task *rows = fl_table_chunk(&session->tasks, i);
        if (!rows || atomic_load_explicit(&rows[0].thread, memory_order_relaxed) != thread->index)
            continue;
        /* Row 0 of a chunk that another thread is only filling may still say 0: each row's owner counts. It was written
         * before the id (release). */
        for (uint32_t row = 0; row < 1u << FL_TASK_BITS; row++)
            if (atomic_load_explicit(&rows[row].id, memory_order_acquire) != 0 &&
                atomic_load_explicit(&rows[row].thread, memory_order_relaxed) == thread->index &&
                atomic_load_explicit(&rows[row].state, memory_order_relaxed) != FL_TASK_ENDED)
                fl_task_end(thread, &rows[row], now);
    }
    fl_cpu_clock_detach(&thread->cpu);
    fl__write_begin(&thread->version);
    atomic_store_explicit(&thread->end, now, memory_order_release);
    atomic_store_explicit(&thread->state, FL_THREAD_ENDED, memory_order_release);
    fl__write_end(&thread->version);
}

void fl_thread_detach(struct fl_thread *thread)
{
    pthread_mutex_lock(&thread->session->lock);
    detach(thread, false);
    pthread_mutex_unlock(&thread->session->lock);
}

void fl_other_detach(struct fl_thread *thread)
{
    if (!fl_other_begin(thread))
        return;
    detach(thread, true);
    fl_other_end(thread);
}
