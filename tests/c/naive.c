#include "naive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void naive_init(struct naive *naive, uint32_t budget, uint32_t ended_tasks, uint32_t ended_threads, uint64_t threshold)
{
    memset(naive, 0, sizeof *naive);
    naive->budget = budget;
    naive->ended_tasks = ended_tasks;
    naive->ended_threads = ended_threads;
    naive->threshold = threshold;
    naive->running = true;
}

static void free_nodes(struct naive_node *node)
{
    while (node) {
        struct naive_node *next = node->sibling;
        free_nodes(node->children);
        free(node);
        node = next;
    }
}

void naive_fini(struct naive *naive)
{
    for (uint32_t i = 0; i < naive->thread_count; i++)
        for (uint32_t t = 0; t < naive->threads[i].tree_count; t++)
            free_nodes(naive->threads[i].trees[t].root);
}

static struct naive_node *make_node(struct naive *naive, struct naive_node *parent, uint32_t function)
{
    if (naive->nodes >= naive->budget)
        return NULL;
    struct naive_node *node = calloc(1, sizeof *node);
    assert(node);
    node->parent = parent;
    node->function = function;
    if (parent) {
        node->sibling = parent->children;
        parent->children = node;
    }
    naive->nodes++;
    return node;
}

static struct naive_tree *tree_of(struct naive *naive, struct naive_thread *thread, uint32_t entry)
{
    for (uint32_t i = 0; i < thread->tree_count; i++)
        if (thread->trees[i].entry == entry)
            return &thread->trees[i];
    struct naive_node *root = make_node(naive, NULL, 0);
    if (!root)
        return NULL;
    struct naive_tree *tree = &thread->trees[thread->tree_count++];
    *tree = (struct naive_tree){.entry = entry, .root = root};
    return tree;
}

struct naive_node *naive_node_of(const struct naive_task *task)
{
    return task->stack[task->depth - 1];
}

static bool in_poll(const struct naive_task *task)
{
    return task->hub && task->depth == 2;
}

/* How much of this interval, which ends now, is told as off the processor: all that ever was, less what is told
 * already, and no more than there is room for. cpu: of the thread now, without its time while stopped. */
static uint64_t owed(const struct naive *naive, const struct naive_thread *thread, uint64_t cpu, uint64_t interval)
{
    int64_t off = (int64_t)(naive->now - thread->begin) - (int64_t)(cpu - thread->cpu_begin) - thread->off_told;
    return off < 0 ? 0 : (uint64_t)off < interval ? (uint64_t)off : interval;
}

/* The time since the last event goes to the current node. */
static void settle(struct naive *naive, struct naive_thread *thread, bool ask)
{
    struct naive_node *node = naive_node_of(thread->current);
    uint64_t interval = naive->now - thread->since;
    uint64_t gone = 0;
    if (ask || interval >= thread->limit) {
        gone = owed(naive, thread, thread->cpu - thread->cpu_excluded, interval);
        thread->off_told += (int64_t)gone;
    }
    node->own += interval;
    if (in_poll(thread->current)) {
        node->idle += gone;
        thread->idle += gone;
    } else {
        node->blocked += gone;
        thread->blocked += gone;
    }
    if (interval > thread->longest_interval) {
        thread->longest_interval = interval;
        thread->longest_node = node;
    }
    thread->since = naive->now;
}

static void begin_slice(struct naive *naive, struct naive_thread *thread, struct naive_task *task)
{
    thread->current = task;
    thread->slice = naive->now;
    thread->slice_blocked = thread->blocked;
    thread->slice_idle = thread->idle;
    thread->longest_interval = 0;
    thread->longest_node = naive_node_of(task);
    task->state = NAIVE_CURRENT;
    task->since = naive->now;
    task->switches++;
    task->tree->switches++;
}

static bool is_under(const struct naive_node *node, const struct naive_node *ancestor)
{
    for (; node; node = node->parent)
        if (node == ancestor)
            return true;
    return false;
}

/* The deepest node that both are in; `at` where they are in different trees. */
static const struct naive_node *common(const struct naive_node *node, const struct naive_node *at)
{
    for (const struct naive_node *both = node; both; both = both->parent)
        if (is_under(at, both))
            return both;
    return at;
}

static void end_slice(struct naive *naive, struct naive_thread *thread)
{
    struct naive_task *task = thread->current;
    uint64_t blocked = thread->blocked - thread->slice_blocked, idle = thread->idle - thread->slice_idle;
    uint64_t busy = naive->now - thread->slice - idle;
    task->cpu += busy - blocked;
    task->blocked += blocked;
    task->idle += idle;
    if (busy > task->longest)
        task->longest = busy;
    if (busy > task->tree->longest)
        task->tree->longest = busy;
    task->state = NAIVE_PARKED;
    task->since = naive->now;
    if (busy < naive->threshold)
        return;
    const struct naive_node *at = thread->longest_node;
    bool longest_in_poll = task->hub && at->parent && !at->parent->parent;
    bool known = thread->longest_interval > 0 && !longest_in_poll;
    bool sure = known && thread->longest_interval >= busy / 2;
    const struct naive_node *here = naive_node_of(task);
    thread->slices++;
    thread->last_slice = (struct naive_slice){.task = task->id,
                                              .entry = task->tree->entry,
                                              .sure = sure,
                                              .node = sure    ? at
                                                      : known ? common(at, here)
                                                              : here,
                                              .begin = thread->slice,
                                              .end = naive->now,
                                              .blocked = blocked,
                                              .idle = idle};
}

static void end_wait(struct naive *naive, struct naive_task *task)
{
    uint64_t waited = naive->now - task->since;
    task->waited += waited;
    naive_node_of(task)->waited += waited;
    task->since = naive->now;
}

struct naive_task *naive_create(struct naive *naive, struct naive_thread *thread)
{
    struct naive_task *task = NULL;
    for (uint32_t i = 0; i < NAIVE_TASKS && !task; i++)
        if (thread->tasks[i].state == NAIVE_FORGOTTEN)
            task = &thread->tasks[i];
    assert(task);
    *task = (struct naive_task){.id = ++naive->last_task,
                                .state = NAIVE_PARKED,
                                .tree = &thread->trees[0],
                                .begin = naive->now,
                                .since = naive->now};
    task->stack[task->depth++] = task->tree->root;
    task->tree->started++;
    return task;
}

static uint32_t count_ended(const struct naive_thread *thread, struct naive_task **oldest)
{
    uint32_t count = 0;
    *oldest = NULL;
    for (uint32_t i = 0; i < NAIVE_TASKS; i++) {
        struct naive_task *task = (struct naive_task *)&thread->tasks[i];
        if (task->state != NAIVE_ENDED)
            continue;
        count++;
        if (!*oldest || task->end_order < (*oldest)->end_order)
            *oldest = task;
    }
    return count;
}

void naive_end(struct naive *naive, struct naive_thread *thread, struct naive_task *task)
{
    struct naive_task *oldest;
    end_wait(naive, task);
    task->state = NAIVE_ENDED;
    task->end_order = ++thread->ends;
    task->tree->ended++;
    if (thread->hub == task->id)
        thread->hub = 0;
    if (count_ended(thread, &oldest) > naive->ended_tasks)
        oldest->state = NAIVE_FORGOTTEN;
}

static struct naive_thread *take_slot(struct naive *naive)
{
    struct naive_thread *oldest = NULL;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < naive->thread_count; i++) {
        struct naive_thread *thread = &naive->threads[i];
        if (thread->lives)
            continue;
        ended++;
        if (!oldest || thread->end < oldest->end)
            oldest = thread;
    }
    if (ended > naive->ended_threads)
        return oldest;
    assert(naive->thread_count < NAIVE_SLOTS);
    struct naive_thread *thread = &naive->threads[naive->thread_count];
    thread->slot = naive->thread_count;
    if (!tree_of(naive, thread, 0))
        return NULL;
    naive->thread_count++;
    return thread;
}

struct naive_thread *naive_attach(struct naive *naive, uint32_t tid, uint64_t cpu, uint64_t limit)
{
    struct naive_thread *thread = take_slot(naive);
    if (!thread) {
        naive->lost_threads++;
        return NULL;
    }
    for (uint32_t i = 0; i < NAIVE_TASKS; i++)
        thread->tasks[i].state = NAIVE_FORGOTTEN;
    thread->lives = true;
    thread->must_resume = false;
    thread->id = ++naive->last_thread;
    thread->tid = tid;
    thread->hub = 0;
    thread->begin = thread->since = naive->now;
    thread->end = 0;
    thread->limit = limit;
    thread->cpu = thread->cpu_begin = thread->cpu_at_stop = cpu;
    thread->cpu_excluded = 0;
    thread->off_told = 0;
    thread->blocked = thread->idle = 0;
    begin_slice(naive, thread, naive_create(naive, thread));
    return thread;
}

void naive_detach(struct naive *naive, struct naive_thread *thread)
{
    if (!naive->running)
        thread->cpu_excluded += thread->cpu - thread->cpu_at_stop;
    if (!naive->running || thread->must_resume)
        naive_resume(naive, thread);
    settle(naive, thread, false);
    end_slice(naive, thread);
    /* The core does it in the order of its rows, which is not known here: at most `ended_tasks` may be alive. */
    for (uint32_t i = 0; i < NAIVE_TASKS; i++)
        if (thread->tasks[i].state == NAIVE_PARKED)
            naive_end(naive, thread, &thread->tasks[i]);
    thread->lives = false;
    thread->end = naive->now;
}

static struct naive_node *child_of(struct naive *naive, struct naive_node *parent, uint32_t function)
{
    for (struct naive_node *child = parent->children; child; child = child->sibling)
        if (child->function == function)
            return child;
    return make_node(naive, parent, function);
}

void naive_enter(struct naive *naive, struct naive_thread *thread, uint32_t function, bool is_call)
{
    struct naive_task *task = thread->current;
    settle(naive, thread, false);
    if (task->overflow == 0 && task->tree->entry == 0) {
        struct naive_tree *tree = tree_of(naive, thread, function);
        if (tree) {
            task->tree->started--;
            tree->started++;
            task->tree = tree;
            task->stack[0] = tree->root;
        }
    }
    struct naive_node *child = task->overflow ? NULL : child_of(naive, naive_node_of(task), function);
    if (!child) {
        task->overflow++;
        thread->lost_events++;
        return;
    }
    child->calls += is_call;
    assert(task->depth < NAIVE_DEPTH);
    task->stack[task->depth++] = child;
}

void naive_leave(struct naive *naive, struct naive_thread *thread, uint32_t function)
{
    struct naive_task *task = thread->current;
    settle(naive, thread, false);
    if (task->overflow > 0) {
        task->overflow--;
        return;
    }
    uint32_t frame = task->depth - 1;
    if (frame == 0 || task->stack[frame]->function != function)
        thread->unmatched++;
    while (frame > 0 && task->stack[frame]->function != function)
        frame--;
    if (frame > 0)
        task->depth = frame;
}

void naive_switch(struct naive *naive, struct naive_thread *thread, struct naive_task *to)
{
    settle(naive, thread, false);
    if (to == thread->current)
        return;
    end_slice(naive, thread);
    end_wait(naive, to);
    to->wait = 0;
    begin_slice(naive, thread, to);
}

void naive_forget_stack(struct naive *naive, struct naive_thread *thread)
{
    settle(naive, thread, false);
    thread->current->depth = 1;
    thread->current->overflow = 0;
}

void naive_stop(struct naive *naive)
{
    naive->running = false;
    for (uint32_t i = 0; i < naive->thread_count; i++)
        naive->threads[i].cpu_at_stop = naive->threads[i].cpu;
}

void naive_start(struct naive *naive)
{
    naive->running = true;
    for (uint32_t i = 0; i < naive->thread_count; i++) {
        struct naive_thread *thread = &naive->threads[i];
        thread->cpu_excluded += thread->cpu - thread->cpu_at_stop;
        thread->must_resume = true;
    }
}

void naive_resume(struct naive *naive, struct naive_thread *thread)
{
    thread->must_resume = false;
    settle(naive, thread, true);
}

struct naive_open naive_open_of(const struct naive *naive, const struct naive_thread *thread)
{
    uint64_t interval = naive->now - thread->since;
    uint64_t cpu_now = (naive->running ? thread->cpu : thread->cpu_at_stop) - thread->cpu_excluded;
    /* What would be told if this were an event. */
    uint64_t gone = owed(naive, thread, cpu_now, interval);
    struct naive_open open = {.cpu = interval - gone};
    *(in_poll(thread->current) ? &open.idle : &open.blocked) = gone;
    return open;
}
