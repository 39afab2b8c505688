/*
 * naive.h: what the core should say, told in the plainest way: no versions, no budgets of chunks, no readers, one list
 * for everything. A test feeds the same events to both and compares every number (test_model.c).
 *
 * All times in ns of trace time. Whoever drives it moves `now` and each thread's `cpu`.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_DEPTH   64 /* frames at most, the root included */
#define NAIVE_SLOTS   8
#define NAIVE_TASKS   200 /* rows of one slot */
#define NAIVE_NO_NODE UINT32_MAX

struct naive_node {
    struct naive_node *parent, *children, *sibling;
    uint32_t function; /* 0: a root */
    uint64_t calls, own, blocked, idle, waited;
    uint64_t seen; /* for the comparison */
};

/* Of one entry function (0: none yet) on one slot. */
struct naive_tree {
    uint32_t entry;
    struct naive_node *root;
    uint64_t started, ended, switches, longest;
};

enum naive_state { NAIVE_CURRENT, NAIVE_PARKED, NAIVE_ENDED, NAIVE_FORGOTTEN };

struct naive_task {
    void *row; /* the core's, for the driver */
    uint32_t id, name, wait;
    enum naive_state state;
    bool hub;
    struct naive_tree *tree;
    struct naive_node *stack[NAIVE_DEPTH];
    uint32_t depth;    /* frames in `stack`, the root included */
    uint32_t overflow; /* frames above it that found no room */
    uint64_t begin, since, cpu, blocked, idle, waited, longest, switches;
    uint64_t end_order;
};

struct naive_slice {
    uint32_t task, entry;
    bool sure;
    const struct naive_node *node;
    uint64_t begin, end, blocked, idle;
};

struct naive_thread {
    bool used, lives;
    uint32_t slot, id, tid, hub;
    uint64_t begin, end, since;
    struct naive_tree trees[32];
    uint32_t tree_count;
    struct naive_task tasks[NAIVE_TASKS], *current;
    uint64_t ends; /* tasks that have ended, ever */

    /* CPU. `cpu` is the clock; what was off the processor since the beginning is wall - cpu, the stops left out. */
    uint64_t limit; /* intervals shorter than this do not ask */
    uint64_t cpu, cpu_begin, cpu_at_stop, cpu_excluded;
    int64_t off_told; /* how much of it is in some node */

    uint64_t blocked, idle;
    uint64_t slice, slice_blocked, slice_idle;
    uint64_t longest_interval;
    const struct naive_node *longest_node;
    struct naive_slice last_slice;
    uint64_t slices, lost_events, unmatched;
    bool must_resume; /* a start since its last event */
};

struct naive {
    uint64_t now;
    bool running;
    uint32_t budget, nodes; /* how many nodes there may be, and are */
    uint32_t last_task, last_thread;
    uint32_t ended_tasks, ended_threads; /* how many are kept */
    uint64_t threshold, lost_threads;
    struct naive_thread threads[NAIVE_SLOTS];
    uint32_t thread_count;
};

void naive_init(struct naive *naive, uint32_t budget, uint32_t ended_tasks, uint32_t ended_threads, uint64_t threshold);
void naive_fini(struct naive *naive);

/* NULL where there is no room. */
struct naive_thread *naive_attach(struct naive *naive, uint32_t tid, uint64_t cpu, uint64_t limit);
void naive_detach(struct naive *naive, struct naive_thread *thread);
struct naive_task *naive_create(struct naive *naive, struct naive_thread *thread);
void naive_end(struct naive *naive, struct naive_thread *thread, struct naive_task *task);

void naive_enter(struct naive *naive, struct naive_thread *thread, uint32_t function, bool is_call);
void naive_leave(struct naive *naive, struct naive_thread *thread, uint32_t function);
void naive_switch(struct naive *naive, struct naive_thread *thread, struct naive_task *to);
void naive_forget_stack(struct naive *naive, struct naive_thread *thread);

void naive_stop(struct naive *naive);
void naive_start(struct naive *naive);
void naive_resume(struct naive *naive, struct naive_thread *thread);

/* The top of the task's stack. */
struct naive_node *naive_node_of(const struct naive_task *task);

/* What is open on a thread that lives: since its last event up to now. */
struct naive_open {
    uint64_t cpu, blocked, idle;
};
struct naive_open naive_open_of(const struct naive *naive, const struct naive_thread *thread);

#endif
