/*
 * shadow.h: the reader's copy of a session, with a version on each row, from which changes are told.
 *
 * One shadow serves all clients: fl_shadow_refresh() reads the session once, marks what changed with a new version, and
 * every client is told the rows whose version is newer than the one it has. Times are nanoseconds here: current tasks
 * and their nodes, groups and threads include the open interval up to `now`; parked tasks do not (protocol.md, "Open
 * intervals").
 *
 * All functions: one thread at a time (the server's, or whoever made the shadow); the session's own threads never wait
 * for it. It never touches anything of Python.
 */
#ifndef FL_SHADOW_H
#define FL_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

#define FL_HISTORY_NS      250000000u /* length of a history period */
#define FL_HISTORY_PERIODS 480u       /* two minutes */
#define FL_SHADOW_SLICES   256u
#define FL_SHADOW_LONGEST  64u   /* of older slices */
#define FL_SHADOW_HOLDS    1024u /* pairs of thread and function */
#define FL_SHADOW_DELETED  8192u
#define FL_SHADOW_TIMELINE 16384u /* slices of all threads, long or short */

/* A row with added == 0 does not exist. `added`, `changed`: versions of the shadow. Ids as on the wire. */
struct fl_shadow_node {
    uint64_t added, changed;
    uint32_t parent, function, group, thread; /* function 0: a root. parent: of an own node, its parent's `serial` */
    uint32_t seeded;                          /* frames that were there before the start */
    uint64_t calls, cpu, blocked, idle, waited;
    /* What these were made of, to see a change: the raw words, and the open interval; ticks. */
    uint64_t raw_calls, raw_own, raw_blocked, raw_idle, raw_waited;
    uint64_t open_cpu, open_blocked, open_idle;
    uint32_t raw_seeded;
    struct fl_shadow_own *own; /* of a node of an own tree, and of its twin; else NULL */
};

/* What the own trees (own_tree.h) add to a row. A row of the group's tree holds all of them; groups are summed from
 * these rows alone. */
struct fl_shadow_own {
    /* Of a node of an own tree. */
    uint32_t generation; /* even: it is folded, and the row shows what it had at the end */
    uint32_t task;       /* id */
    uint32_t serial;     /* its id on the wire; counts up, a parent's is smaller than its children's */
    uint32_t twin;       /* node id */
    uint64_t since;      /* ns: when its tree was begun */
    /* Of the twin: the sum of its own nodes; of an own node: what it has in that sum. Ticks. */
    uint64_t calls, own, blocked, idle, waited;
    uint32_t seeded;
};

/* Is this the row of a node of an own tree? */
static inline bool fl_shadow_is_own(const struct fl_shadow_node *row)
{
    return row->own && row->own->serial != 0;
}

struct fl_shadow_sums {
    uint64_t cpu, blocked, idle, waited, longest, switches;
};

struct fl_shadow_task {
    uint64_t added, changed;
    uint32_t id, thread, name, group, state, node, wait, hub;
    uint64_t begin, since; /* ns */
    struct fl_shadow_sums sums;
};

/* What the trees of a group count, summed over threads. longest: ticks. */
struct fl_shadow_counts {
    uint64_t started, ended, switches, longest;
};

struct fl_shadow_group {
    uint64_t added, changed;
    uint32_t entry, label;
    uint64_t started, ended;
    struct fl_shadow_sums sums; /* times: of its nodes */
    /* The shadow's own. */
    struct fl_shadow_counts counted;
    struct fl_shadow_sums told; /* as of `changed`, as is told_counts */
    struct fl_shadow_counts told_counts;
};

struct fl_shadow_thread {
    uint64_t added, changed;
    uint32_t id, tid, name, state, hub, task, node;
    uint32_t slice_node; /* where most of the current slice was spent, as far as is known. No padding: rows are
                            compared as bytes */
    uint64_t begin, end, since, slice;
    uint64_t slice_cpu, slice_blocked, slice_idle;
    uint64_t cpu, blocked, idle;
    uint64_t cost;                 /* what flamelet itself took of it, an estimate; ns */
    uint32_t gil_wait, gil_holder; /* gil_wait 1: at the last look it waited for the global lock, held by that thread */
};

struct fl_shadow_slice {
    uint64_t added; /* version */
    uint32_t id, thread, task, group, node;
    uint32_t gil_holder, gil_node; /* thread id and node of who held the global lock meanwhile */
    uint64_t begin, end, cpu, blocked, idle;
    uint64_t gil; /* of `blocked` and `idle`: waited for the global lock, as the looks saw it */
};

/* Long slices of one function since its thread had a hub: how often and how long it held that up. */
struct fl_shadow_hold {
    uint64_t added, changed;
    uint32_t thread, function; /* function 0: all those that found no place of their own, and tasks without any */
    uint64_t count, cpu, blocked, longest;
};

/* A task that waited for the global lock while one thread held it (lock_waits.h). */
struct fl_shadow_lock_wait {
    uint64_t added, changed;
    uint32_t thread, task, holder;
    uint32_t node, holder_node; /* where most of the latest looks were */
    uint64_t looks, waited;     /* waited: ns */
};

/* How far the slices of one slot have been taken. */
struct fl_shadow_slices_seen {
    uint64_t next;
    uint64_t holds_from; /* older ones are in the sums that were there at the first look */
    bool sums;
};

/* One slice of a timeline; what is not blocked or idle is cpu. */
struct fl_shadow_timeline {
    uint32_t thread, task, group, node; /* node: at its end */
    uint64_t begin, end, blocked, idle;
};

/* How far the timeline of one slot has been taken. */
struct fl_shadow_timeline_seen {
    uint64_t next;
    uint64_t end;    /* of the row before, as it was told: rows meet, also when the clock is refined meanwhile; ns */
    uint32_t thread; /* id of the thread whose rows these are */
    bool known;      /* `end` is: nothing is missing right before */
};

struct fl_shadow_deleted {
    uint64_t version;
    uint32_t id;
};

/* The last periods of one thread; value i of `count` is at [(first + i) % FL_HISTORY_PERIODS]. ns. */
struct fl_shadow_history {
    uint32_t id; /* thread id; 0: unused */
    uint32_t first, count;
    uint64_t end; /* ns, end of the last period */
    uint64_t cpu[FL_HISTORY_PERIODS], blocked[FL_HISTORY_PERIODS], idle[FL_HISTORY_PERIODS];
    uint64_t total_cpu, total_blocked, total_idle; /* at `end` */
};

struct fl_watch;
struct fl_thread_view;

struct fl_shadow {
    struct fl_session *session;
    uint64_t version; /* 0: nothing read yet; counts up by one per refresh that saw a change */
    uint64_t now;     /* ns of trace time of the last refresh */
    enum fl_session_state state;
    struct fl_lost lost;
    uint64_t lost_slices;

    /* How many strings, functions and groups there were; rows 1 .. count-1 exist. They are read from the session. */
    uint32_t strings, functions;

    struct fl_shadow_node *nodes; /* by node id; shape: node_count; ids that do not exist have added == 0 */
    uint32_t node_count;
    uint32_t nodes_alive; /* how many exist, without those of own trees */
    uint32_t own_serial;  /* of own nodes, the last one */

    struct fl_shadow_task *tasks; /* by row of the session's table; id 0: none there; shape: task_count */
    uint32_t task_count;
    uint32_t tasks_alive;
    struct fl_shadow_deleted deleted_tasks[FL_SHADOW_DELETED]; /* ring */
    uint64_t deleted_task_count;                               /* ever */

    struct fl_shadow_group *groups; /* by group id, row 0 too; shape: group_count */
    uint32_t group_count;

    struct fl_shadow_thread *threads; /* by index; shape: thread_count */
    uint32_t thread_count;
    struct fl_shadow_deleted deleted_threads[FL_THREADS_MAX]; /* ring */
    uint64_t deleted_thread_count;

    struct fl_shadow_slice slices[FL_SHADOW_SLICES];   /* ring: slice number n at n % FL_SHADOW_SLICES */
    uint64_t slice_count;                              /* ever; ids on the wire are number + 1 */
    struct fl_shadow_slice longest[FL_SHADOW_LONGEST]; /* of those that left the ring, by id; shape: longest_count */
    uint32_t longest_count;
    struct fl_shadow_hold holds[FL_SHADOW_HOLDS]; /* shape: hold_count; ids on the wire are index + 1 */
    uint32_t hold_count;

    struct fl_shadow_lock_wait *lock_waits; /* shape: lock_wait_count of FL_LOCK_WAITS; ids are index + 1 */
    uint32_t lock_wait_count;

    /* Who had each thread when, long or short. Collected by the refreshes for which it was asked. */
    bool timeline_wanted;                /* by the next refresh */
    struct fl_shadow_timeline *timeline; /* ring: slice number n at n % FL_SHADOW_TIMELINE; NULL before it was asked for
                                          */
    uint64_t timeline_count;             /* ever */
    uint64_t lost_timeline;              /* overwritten before they were read */
    struct fl_shadow_timeline_seen *timeline_seen; /* by thread index */

    struct fl_shadow_history **history; /* by thread index, NULL where there is none; shape: thread_count */

    /* The shadow's own. */
    struct fl_watch *watch;
    struct fl_lock_watch *lock_watch; /* NULL: somebody else looks, or nobody */
    struct fl_thread_view *views;     /* by thread index */
    fl_ticks *own;                    /* by thread index: sum of raw_own of its nodes */
    uint64_t *calls;                  /* by thread index: sum of calls of its nodes */
    uint32_t *told;                   /* by thread index: the node that was current, itself; 0: none */
    uint64_t *folds;                  /* by thread index: trees that were folded by now (own_tree.h) */
    int place;                        /* among the session's readers (readers.h) */
    bool inside;                      /* in a look */
    uint64_t taken_again;             /* looks that did not add up and were taken again */
    uint32_t group_room;
    struct fl_shadow_slices_seen *slices_seen; /* by thread index */
    bool dirty, slices_dirty;                  /* something changed in this refresh; a slice came since the last */
};

/* Returns 0, FL_ENOMEM, or FL_ELIMIT where FL_READERS_MAX shadows exist. The session must outlive the shadow. */
int fl_shadow_create(struct fl_session *session, struct fl_shadow **shadow);
void fl_shadow_destroy(struct fl_shadow *shadow);

/* From here on this shadow's looks ask who waits for the global lock; at most one shadow of a session does so, since
 * the sums are the session's. 0 or FL_ENOMEM. */
int fl_shadow_watch_lock(struct fl_shadow *shadow);

/*
 * Reads everything. The own times of a thread's nodes, with what is open, add up to its wall time within the time that
 * this takes (thread.h); each task's row is right in itself; a wait that ends meanwhile may be told at its task now and
 * at its node in the next picture. 0 or FL_ENOMEM (then the picture is the last one). 0.1 to 0.4 ms for 100,000 nodes.
 */
int fl_shadow_refresh(struct fl_shadow *shadow);

/* A client wants to see this task alone: it gets an own tree at its next switch in. False: no such task. */
bool fl_shadow_watch_task(struct fl_shadow *shadow, uint32_t id);

/* Looks at where each thread is, so that a long slice can be told with the place where most of it was spent, and
 * collects the slices that are over. Cheap (threads only); worth calling every 20 ms. */
void fl_shadow_watch(struct fl_shadow *shadow);

/* Ends a history period of each thread when one is over. Cheap; call it at least every FL_HISTORY_NS. */
void fl_shadow_sample(struct fl_shadow *shadow);

#endif
