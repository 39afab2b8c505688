/*
 * own_tree.h: the call tree of one task alone, for a view of that task; folded into the tree of its group in the end.
 *
 * A task has an own tree where a client watches it, where it has lived long, or where the program asked for all
 * (session.h, task_trees). From then on its time is written there and nowhere else. Each node of an own tree has a
 * twin: the node of the same path in the tree of the task's group on that thread. What a group has spent is the sum of
 * both, and readers show it so: for who looks at groups, own trees do not exist. When the task ends, or room is short,
 * the own tree is *folded*: each of its nodes is added to its twin, and its slots are used again.
 *
 * Owner, to fold: makes the thread's `folds` odd, adds up, makes the generation of each node even, notes the tree in
 * `folded`, makes `folds` even. Then it draws the next number of the session's `frees` for this tree. Its slots are
 * used again only when no reader is in a look that it began before that (readers.h).
 *
 * A reader: takes `folds` (even) before it reads the nodes. While it reads, or after, trees may have been folded: a
 * twin that was read before has too little, one that was read after has what the own node is still counted for. So at
 * the end it goes through the trees that were folded meanwhile, takes their nodes out, reads their twins once more, and
 * does so again until `folds` stands still. Then no time is counted twice, and none is missing.
 */
#ifndef FL_OWN_TREE_H
#define FL_OWN_TREE_H

#include "node.h"

struct fl_session;
struct fl_thread;
struct fl_task;

#define FL_FOLDED                                                                                                      \
    1024u /* trees that a thread remembers to have folded: for readers that are in the middle of a look                \
           */

enum fl_task_trees { FL_TREES_LONG, FL_TREES_WATCHED, FL_TREES_ALL };

/* One task's own tree. Its thread's; freed with the session. */
struct fl_own_tree {
    uint32_t task;  /* id */
    fl_ticks since; /* trace time at which it was begun */
    struct fl_node *root;
    struct fl_own_node *nodes, *last; /* all of them, newest first; they stand still once it is folded */
    struct fl_own_tree *next;         /* of those that are folded, oldest first, or of those that are free */
    struct fl_own_tree *made_before;  /* of all that the thread ever made */
    uint64_t freed;                   /* session's `frees` when it was folded */
};

struct fl_own_trees {
    _Atomic uint64_t folds;                          /* trees folded so far, times 2; odd: in the middle of one */
    _Atomic(struct fl_own_tree *) folded[FL_FOLDED]; /* number n at n % FL_FOLDED */

    /* Owner only. */
    struct fl_own_tree *oldest, *newest; /* folded, not yet free for use */
    struct fl_own_tree *free;
    struct fl_own_tree *made_last;
};

/*
 * Owner thread: the task, which may be current, gets an own tree; the stack that it has stays, at its place in the new
 * tree. False, and nothing has changed, where there is no room, it has one already, or it has no group yet.
 */
bool fl__own_tree_begin(struct fl_thread *thread, struct fl_task *task, fl_ticks now);

/* Likewise for a task that has no stack yet: what it enters next goes there. */
bool fl__own_tree_begin_empty(struct fl_thread *thread, struct fl_task *task, fl_ticks now);

/* Owner thread: `own_at` of this task has come: likewise, or tried again later where there is no room. */
void fl__own_tree_due(struct fl_thread *thread, struct fl_task *task, fl_ticks now);

/* `own_at` of a task that begins now. */
fl_ticks fl__own_tree_at(const struct fl_session *session, fl_ticks now);

/* Owner thread: back to the tree of its group. */
void fl__own_tree_fold(struct fl_thread *thread, struct fl_task *task);

/* At the end of the session. */
void fl__own_trees_fini(struct fl_own_trees *trees);

#endif
