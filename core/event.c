#include "event.h"
#include "other.h"

#include <assert.h>

/* What is settled at an event that cannot be told for free: how much of the interval was off the processor. */
struct settled {
    fl_ticks interval, off;
    struct fl_cpu_sync sync;
    bool asked; /* the kernel was asked, sync is to be committed */
};

enum ask { ASK_IF_BROKEN, ASK, ASK_FOR_OTHER };

static struct settled settle(struct fl_thread *thread, fl_ticks now, enum ask ask)
{
    struct settled s = {0};
    fl_ticks since = atomic_load_explicit(&thread->since, memory_order_relaxed);
    /* Counters of two cores can differ by some ticks after a migration: then nothing passed. */
    s.interval = now > since ? now - since : 0;
    s.asked = ask != ASK_IF_BROKEN || !fl_cpu_clock_unbroken(&thread->cpu, s.interval);
    if (s.asked) {
        fl_ticks paused = atomic_load_explicit(&thread->session->paused, memory_order_relaxed);
        int tid = (int)atomic_load_explicit(&thread->tid, memory_order_relaxed);
        s.off = ask == ASK_FOR_OTHER ? fl_cpu_clock_off_other(&thread->cpu, tid, s.interval, paused, &s.sync)
                                     : fl_cpu_clock_off(&thread->cpu, since + s.interval, s.interval, paused, &s.sync);
    }
    if (s.interval > thread->longest_interval) {
        thread->longest_interval = s.interval;
        thread->longest_node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    }
    return s;
}

/* Inside the version: writes what was settled. */
static void write_settled(struct fl_thread *thread, const struct settled *s)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    fl_ticks since = atomic_load_explicit(&thread->since, memory_order_relaxed);
    fl__add(&node->own, s->interval);
    if (s->off) {
        bool in_poll = fl__in_poll(thread->session, atomic_load_explicit(&thread->task, memory_order_relaxed), node);
        fl__add(in_poll ? &node->idle : &node->blocked, s->off);
        fl__add(in_poll ? &thread->idle : &thread->blocked, s->off);
    }
    if (s->asked)
        fl_cpu_clock_commit(&thread->cpu, &s->sync);
    atomic_store_explicit(&thread->since, since + s->interval, memory_order_release);
}

static void move(struct fl_thread *thread, struct fl_node *next, fl_ticks now, enum ask ask)
{
    struct settled s = settle(thread, now, ask);
    fl__write_begin(&thread->version);
    write_settled(thread, &s);
    atomic_store_explicit(&thread->node, next, memory_order_release);
    fl__write_end(&thread->version);
}

void fl__move_slow(struct fl_thread *thread, struct fl_node *next, fl_ticks now)
{
    move(thread, next, now, ASK_IF_BROKEN);
}

void fl__settle(struct fl_thread *thread, fl_ticks now)
{
    move(thread, atomic_load_explicit(&thread->node, memory_order_relaxed), now, ASK);
}

void fl__settle_other(struct fl_thread *thread, fl_ticks now)
{
    move(thread, atomic_load_explicit(&thread->node, memory_order_relaxed), now, ASK_FOR_OTHER);
}

void fl__enter_slow(struct fl_thread *thread, fl_function_id function, bool is_call, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    struct fl_task *task = atomic_load_explicit(&thread->task, memory_order_relaxed);

    if (!is_call)
        fl__add(&thread->resumes, 1);
    if (thread->overflow == 0 && node == thread->no_group->root) {
        struct fl_node *root = fl__task_join_group(thread, task, function);
        if (root)
            node = root;
    }
    struct fl_node *child = thread->overflow ? NULL : fl_node_child(&thread->maker, node, function);
    if (!child && task->own && !thread->overflow) {
        /* The group's tree may still have the path. */
        fl__own_tree_fold(thread, task);
        node = fl_node_in_group(node);
        child = fl_node_child(&thread->maker, node, function);
    }
    if (!child) {
        /* The frame is counted, not shown: its time stays with the nearest node that is. */
        thread->overflow++;
        fl__add(&thread->lost_events, 1);
        fl__move(thread, node, now);
        return;
    }
    /* The root of group 0 remembers no child: each first entry there has a group to find. */
    if (node != thread->no_group->root)
        node->last_child = child;
    if (is_call)
        fl__add(&child->calls, 1);
    fl__move(thread, child, now);
}

void fl__leave_slow(struct fl_thread *thread, fl_function_id function, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    if (thread->overflow) {
        thread->overflow--;
        fl__move(thread, node, now);
        return;
    }
    struct fl_node *frame = node;
    while (frame && frame->function != function)
        frame = frame->up;
    if (!frame && thread->below > 0)
        thread->below--;
    else
        fl__add(&thread->unmatched, 1);
    fl__move(thread, frame ? frame->up : node, now);
}

static unsigned depth_of(const struct fl_node *node)
{
    unsigned depth = 0;
    for (; node->up; node = node->up)
        depth++;
    return depth;
}

/* The deepest node that both are in; NULL where they are in different trees. */
static struct fl_node *common(struct fl_node *a, struct fl_node *b)
{
    unsigned depth_a = depth_of(a), depth_b = depth_of(b);
    for (; depth_a > depth_b; depth_a--)
        a = a->up;
    for (; depth_b > depth_a; depth_b--)
        b = b->up;
    for (; a != b && a; a = a->up)
        b = b->up;
    return a;
}

/* A long slice is over. Where it was not spent in one interval, the longest one is a sample of it: what that and the
 * end have in common was on the stack, and does not blame the call in which the task happened to switch. */
static void add_long_slice(struct fl_thread *thread, const struct fl_task *task, struct fl_slice *slice)
{
    struct fl_node *at = fl_node_in_group(atomic_load_explicit(&thread->node, memory_order_relaxed));
    struct fl_node *longest = thread->longest_node;
    fl_ticks busy = slice->end - slice->begin - slice->idle;
    struct fl_node *place = at;
    if (thread->longest_interval > 0 && !fl__in_poll(thread->session, task, longest)) {
        slice->sure = thread->longest_interval >= busy / 2;
        longest = fl_node_in_group(longest);
        place = slice->sure ? longest : common(longest, at);
    }
    if (!place)
        place = at;
    slice->node = fl_node_id_of(place);
    slice->function = place->up ? place->function : fl_groups_get(&thread->session->groups, slice->group)->entry;
    slice->thread = atomic_load_explicit(&thread->id, memory_order_relaxed);
    slice->of_hub = atomic_load_explicit(&thread->hub, memory_order_relaxed) != 0 && slice->begin > thread->hub_since;
    fl_slices_add(&thread->slices, slice);
}

void fl__timeline_begin(struct fl_thread *thread, fl_ticks now)
{
    struct fl_timeline *timeline = atomic_load_explicit(&thread->timeline, memory_order_relaxed);
    uint32_t id = atomic_load_explicit(&thread->id, memory_order_relaxed);
    if (timeline)
        fl_timeline_add(timeline, &(struct fl_timeline_view){.end = now, .node = id});
}

/* The first switch of this slot. */
static __attribute__((noinline)) void make_timeline(struct fl_thread *thread)
{
    struct fl_timeline *timeline = fl_timeline_create();
    atomic_store_explicit(&thread->timeline, timeline, memory_order_release);
    fl__timeline_begin(thread, atomic_load_explicit(&thread->slice, memory_order_relaxed));
}

void fl__slice_end(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    fl_ticks begin = atomic_load_explicit(&thread->slice, memory_order_relaxed);
    fl_ticks blocked = atomic_load_explicit(&thread->blocked, memory_order_relaxed) -
                       atomic_load_explicit(&thread->slice_blocked, memory_order_relaxed);
    fl_ticks idle = atomic_load_explicit(&thread->idle, memory_order_relaxed) -
                    atomic_load_explicit(&thread->slice_idle, memory_order_relaxed);
    fl_ticks whole = now - begin, busy = whole - idle;
    struct fl_node *at = atomic_load_explicit(&thread->node, memory_order_relaxed);
    struct fl_task_sums *sums = &task->sums;

    fl__write_begin(&task->version);
    fl__add(&sums->cpu, busy - blocked);
    fl__add(&sums->blocked, blocked);
    fl__add(&sums->idle, idle);
    if (busy > atomic_load_explicit(&sums->longest, memory_order_relaxed))
        atomic_store_explicit(&sums->longest, busy, memory_order_release);
    atomic_store_explicit(&task->state, FL_TASK_PARKED, memory_order_release);
    atomic_store_explicit(&task->since, now, memory_order_release);
    atomic_store_explicit(&task->node, fl_node_id_of(fl_node_in_group(at)), memory_order_release);
    fl__write_end(&task->version);
    task->at = at;
    task->overflow = thread->overflow;
    struct fl_timeline *timeline = atomic_load_explicit(&thread->timeline, memory_order_relaxed);
    if (timeline)
        fl_timeline_add(timeline,
                        &(struct fl_timeline_view){.end = now,
                                                   .blocked = blocked,
                                                   .idle = idle,
                                                   .task = atomic_load_explicit(&task->id, memory_order_relaxed),
                                                   .node = atomic_load_explicit(&task->node, memory_order_relaxed)});

    if (busy > atomic_load_explicit(&task->tree->longest, memory_order_relaxed))
        atomic_store_explicit(&task->tree->longest, busy, memory_order_relaxed);
    if (busy >= thread->session->threshold)
        add_long_slice(thread, task,
                       &(struct fl_slice){.task = atomic_load_explicit(&task->id, memory_order_relaxed),
                                          .group = task->tree->group,
                                          .begin = begin,
                                          .end = now,
                                          .blocked = blocked,
                                          .idle = idle});
}

/* Inside the version: this task becomes current. */
static void begin_slice(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    fl_ticks parked = now - atomic_load_explicit(&task->since, memory_order_relaxed);

    fl__write_begin(&task->version);
    fl__add(&task->sums.waited, parked);
    fl__add(&task->sums.switches, 1);
    atomic_store_explicit(&task->state, FL_TASK_CURRENT, memory_order_release);
    atomic_store_explicit(&task->since, now, memory_order_release);
    atomic_store_explicit(&task->wait, 0, memory_order_release);
    fl__write_end(&task->version);
    fl__add(&task->at->waited, parked);
    fl__add(&task->tree->switches, 1);

    atomic_store_explicit(&thread->task, task, memory_order_release);
    atomic_store_explicit(&thread->node, task->at, memory_order_release);
    atomic_store_explicit(&thread->slice, now, memory_order_release);
    atomic_store_explicit(&thread->slice_blocked, atomic_load_explicit(&thread->blocked, memory_order_relaxed),
                          memory_order_release);
    atomic_store_explicit(&thread->slice_idle, atomic_load_explicit(&thread->idle, memory_order_relaxed),
                          memory_order_release);
    thread->overflow = task->overflow;
    thread->longest_interval = 0;
}

static void switch_to(struct fl_thread *thread, struct fl_task *to, fl_ticks now, enum ask ask)
{
    struct fl_task *from = atomic_load_explicit(&thread->task, memory_order_relaxed);
    fl_ticks parked_since = atomic_load_explicit(&to->since, memory_order_relaxed);
    /* As in settle(): a counter that is some ticks behind must not make `to` wait less than nothing. */
    struct settled s = settle(thread, now > parked_since ? now : parked_since, ask);

    assert(atomic_load_explicit(&to->thread, memory_order_relaxed) == thread->index && "a task stays on its thread");
    if (__builtin_expect(!atomic_load_explicit(&thread->timeline, memory_order_relaxed), 0) && from != to)
        make_timeline(thread);
    fl__write_begin(&thread->version);
    write_settled(thread, &s);
    now = atomic_load_explicit(&thread->since, memory_order_relaxed);
    if (from != to) {
        fl__slice_end(thread, from, now);
        begin_slice(thread, to, now);
    }
    fl__write_end(&thread->version);
    if (__builtin_expect(atomic_load_explicit(&to->own_at, memory_order_relaxed) <= now, 0))
        fl__own_tree_due(thread, to, now);
}

void fl_switch(struct fl_thread *thread, struct fl_task *to, fl_ticks now)
{
    switch_to(thread, to, now, ASK_IF_BROKEN);
}

void fl__switch_other(struct fl_thread *thread, struct fl_task *to, fl_ticks now)
{
    switch_to(thread, to, now, ASK_FOR_OTHER);
}

void fl_forget_stack(struct fl_thread *thread, fl_ticks now)
{
    struct fl_task *task = atomic_load_explicit(&thread->task, memory_order_relaxed);
    thread->overflow = 0;
    fl__move(thread, fl__task_root(task), now);
}
