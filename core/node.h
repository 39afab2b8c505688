/*
 * node.h: a function at one call path, and the times spent right there.
 *
 * Nodes lie in chunks of 16 KiB, aligned to their size, each owned by one thread; slot 0 of a chunk is its header. So a
 * node's id follows from its address, and nodes need no field for it. Ids of one thread grow with time, hence a
 * parent's id is smaller than its children's.
 *
 * Owner: fills `up` and `function`, then publishes the node by raising the chunk's `used` (release), then counts on it.
 * Readers: look at slots 1 .. used-1 (acquire), never at the fields marked "owner".
 *
 * Nodes of a task's own tree lie in chunks of their own, each with a struct fl_own_node behind it (own_tree.h). They
 * are the only ones that are freed and used again, so their ids are in no order.
 */
#ifndef FL_NODE_H
#define FL_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "table.h"

typedef uint32_t fl_node_id;     /* 0: none */
typedef uint32_t fl_function_id; /* 0: none, also the function of a root */

#define FL_NODE_BITS     8                              /* 256 slots of 64 bytes to a chunk */
#define FL_NODE_CHUNKS   (1u << 14)                     /* of the whole process */
#define FL_ROOT_FUNCTION 0x80000000u                    /* a root's `function`: this | group id */
#define FL_NO_FUNCTION   (FL_ROOT_FUNCTION | 0xffffffu) /* equals no function and no group */

struct fl_node {
    _Atomic uint32_t seeded;    /* frames that were there before the start; not part of `calls` */
    fl_function_id function;    /* or FL_ROOT_FUNCTION | group */
    struct fl_node *up;         /* the parent, NULL for a root */
    struct fl_node *last_child; /* owner: the child entered last, never NULL (a sentinel where there is none) */
    _Atomic uint64_t calls;     /* entries; resumes of generators are not counted */
    _Atomic fl_ticks own;       /* ticks while this node was current, up to the owner's last event */
    _Atomic fl_ticks blocked;   /* of `own`: off the processor */
    _Atomic fl_ticks idle;      /* of `own`: off the processor in a hub's poll */
    _Atomic fl_ticks waited;    /* ticks that tasks were parked here, up to their last resume; not part of `own` */
};
_Static_assert(sizeof(struct fl_node) == 64, "a node fills one cache line");

struct fl_node_chunk {
    uint32_t index;        /* of this chunk in the table */
    uint32_t thread;       /* index of the owner (session.h, threads) */
    _Atomic uint32_t used; /* slots published, this header included */
    uint32_t own;          /* 1: of own trees; nodes at even slots from 2 on, struct fl_own_node behind each */
    uint32_t unused[12];
};
_Static_assert(sizeof(struct fl_node_chunk) == sizeof(struct fl_node), "the header takes slot 0");

struct fl_own_tree;

/*
 * What stands behind a node of an own tree. The owner fills it before it makes `generation` odd (release); what a
 * reader may do with it, and how long, is told in own_tree.h.
 */
struct fl_own_node {
    _Atomic uint32_t generation; /* odd: in use; counts on at each use, so that a slot that is used again is noticed */
    uint32_t task;               /* id */
    struct fl_node *twin;        /* the node of the same path in the group's tree */
    struct fl_own_node *next;    /* of its tree, or of the free ones */
    struct fl_own_tree *tree;    /* owner */
    fl_ticks since;              /* trace time at which the tree was begun */
    uint64_t unused[3];
};
_Static_assert(sizeof(struct fl_own_node) == sizeof(struct fl_node), "it takes one slot");

/* What a node without children has as last_child: its function equals no other. */
extern struct fl_node fl__no_child;

static inline struct fl_node_chunk *fl_node_chunk_of(const struct fl_node *node)
{
    return (struct fl_node_chunk *)((uintptr_t)node & ~(uintptr_t)((sizeof *node << FL_NODE_BITS) - 1));
}

/* Any thread. */
static inline fl_node_id fl_node_id_of(const struct fl_node *node)
{
    const struct fl_node_chunk *chunk = fl_node_chunk_of(node);
    return chunk->index << FL_NODE_BITS | (uint32_t)(node - (const struct fl_node *)(const void *)chunk);
}

/* Any thread. */
static inline bool fl_node_is_own(const struct fl_node *node)
{
    return fl_node_chunk_of(node)->own != 0;
}

static inline struct fl_own_node *fl_own_of(const struct fl_node *node)
{
    return (struct fl_own_node *)(void *)(uintptr_t)(node + 1);
}

static inline struct fl_node *fl_node_of_own(const struct fl_own_node *own)
{
    return (struct fl_node *)(void *)(uintptr_t)own - 1;
}

/* Any thread: the node of the group's tree at the same path, itself where it is in that tree. */
static inline struct fl_node *fl_node_in_group(const struct fl_node *node)
{
    return fl_node_is_own(node) ? fl_own_of(node)->twin : (struct fl_node *)(uintptr_t)node;
}

/* Any thread: the parent's id, 0 for a root. */
static inline fl_node_id fl_node_parent(const struct fl_node *node)
{
    return node->up ? fl_node_id_of(node->up) : 0;
}

/* Any thread: the node right below a root, a task's entry function. A hub that is off the processor there is idle in
 * its poll. */
static inline bool fl_node_is_entry(const struct fl_node *node)
{
    return node->up && !node->up->up;
}

/* The nodes that one thread makes. All functions below: owner thread only. */
struct fl_node_maker {
    struct fl_table *nodes;      /* of the session */
    _Atomic uint32_t *count;     /* nodes of the session, for the budget */
    uint32_t budget;             /* nodes of the session at most */
    uint32_t thread;             /* index of the owner */
    struct fl_node_chunk *chunk; /* the one with free slots, or NULL */
    struct fl_node **children;   /* open addressing by (parent, function); shape: capacity */
    uint32_t capacity;           /* power of two */
    uint32_t filled;

    /* Own trees. */
    _Atomic uint32_t *own_count;     /* nodes of own trees in the session's slots, those that are free included */
    uint32_t own_budget;             /* of them at most */
    struct fl_node_chunk *own_chunk; /* the one with free slots, or NULL */
    struct fl_own_node *free_own;
};

/* Returns 0 or FL_ENOMEM. */
int fl_node_maker_init(struct fl_node_maker *maker, struct fl_table *nodes, _Atomic uint32_t *count, uint32_t budget,
                       uint32_t thread);
void fl_node_maker_fini(struct fl_node_maker *maker);

/* The child of `parent` (NULL: the root) for `function`, made when there is none. NULL when memory or the budget is at
 * its end. Allocates at a first visit only: a chunk per 255 nodes, and an index that doubles. */
struct fl_node *fl_node_child(struct fl_node_maker *maker, struct fl_node *parent, fl_function_id function);

/* A node of this own tree; `parent` NULL: its root. NULL as above. */
struct fl_node *fl__node_make_own(struct fl_node_maker *maker, struct fl_own_tree *tree, struct fl_node *parent,
                                  struct fl_node *twin);

/* The node below `root` whose path is that of `node` below its own root; NULL as above. */
struct fl_node *fl__node_copy_path(struct fl_node_maker *maker, struct fl_node *root, const struct fl_node *node);

/* Not found by fl_node_child() any more. */
void fl__node_forget(struct fl_node_maker *maker, struct fl_node *node);

#endif
