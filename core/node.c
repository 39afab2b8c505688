#include "node.h"
#include "error.h"
#include "hash.h"
#include "own_tree.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

struct fl_node fl__no_child = {.function = FL_NO_FUNCTION, .last_child = &fl__no_child};

int fl_node_maker_init(struct fl_node_maker *maker, struct fl_table *nodes, _Atomic uint32_t *count, uint32_t budget,
                       uint32_t thread)
{
    *maker = (struct fl_node_maker){.nodes = nodes, .count = count, .budget = budget, .thread = thread};
    maker->children = calloc(FIRST_CAPACITY, sizeof(struct fl_node *));
    if (!maker->children)
        return FL_ENOMEM;
    maker->capacity = FIRST_CAPACITY;
    return 0;
}

void fl_node_maker_fini(struct fl_node_maker *maker)
{
    free(maker->children); /* the nodes themselves belong to the session's table */
    maker->children = NULL;
}

static struct fl_node **slot_of(const struct fl_node_maker *maker, const struct fl_node *parent,
                                fl_function_id function)
{
    uint64_t key = (uint64_t)(uintptr_t)parent ^ ((uint64_t)function << 40 | function);
    uint32_t at = (uint32_t)fl_hash_mix(key) & (maker->capacity - 1);
    while (maker->children[at] && (maker->children[at]->up != parent || maker->children[at]->function != function))
        at = (at + 1) & (maker->capacity - 1);
    return &maker->children[at];
}

static int grow_index(struct fl_node_maker *maker)
{
    struct fl_node **old = maker->children;
    uint32_t capacity = maker->capacity;
    struct fl_node **bigger = calloc((size_t)capacity * 2, sizeof *bigger);
    if (!bigger)
        return FL_ENOMEM;
    maker->children = bigger;
    maker->capacity = capacity * 2;
    for (uint32_t i = 0; i < capacity; i++)
        if (old[i])
            *slot_of(maker, old[i]->up, old[i]->function) = old[i];
    free(old);
    return 0;
}

void fl__node_forget(struct fl_node_maker *maker, struct fl_node *node)
{
    struct fl_node **slot = slot_of(maker, node->up, node->function);
    if (*slot != node)
        return; /* a root */
    uint32_t mask = maker->capacity - 1, hole = (uint32_t)(slot - maker->children);
    maker->children[hole] = NULL;
    maker->filled--;
    /* What stands behind the hole and would be looked for before it moves into it. */
    for (uint32_t at = (hole + 1) & mask; maker->children[at]; at = (at + 1) & mask) {
        struct fl_node *other = maker->children[at];
        maker->children[at] = NULL;
        *slot_of(maker, other->up, other->function) = other;
    }
}

static int add_chunk(struct fl_node_maker *maker, bool own)
{
    int64_t index = fl_table_add_chunk(maker->nodes);
    if (index < 0)
        return (int)index;
    struct fl_node_chunk *chunk = fl_table_chunk(maker->nodes, (uint32_t)index);
    chunk->index = (uint32_t)index;
    chunk->thread = maker->thread;
    chunk->own = own;
    /* Release: whoever sees a slot beyond the header also sees index and thread. */
    atomic_store_explicit(&chunk->used, own ? 2 : 1, memory_order_release);
    *(own ? &maker->own_chunk : &maker->chunk) = chunk;
    return 0;
}

static struct fl_node *make(struct fl_node_maker *maker, struct fl_node *parent, fl_function_id function)
{
    if (atomic_load_explicit(maker->count, memory_order_relaxed) >= maker->budget)
        return NULL;
    if (maker->filled >= maker->capacity / 2 && grow_index(maker) != 0)
        return NULL;
    uint32_t used = maker->chunk ? atomic_load_explicit(&maker->chunk->used, memory_order_relaxed) : 0;
    if (used == 0 || used == 1u << FL_NODE_BITS) {
        if (add_chunk(maker, false) != 0)
            return NULL;
        used = 1;
    }
    struct fl_node *node = (struct fl_node *)(void *)maker->chunk + used;
    node->function = function;
    node->up = parent;
    node->last_child = &fl__no_child;
    atomic_store_explicit(&maker->chunk->used, used + 1, memory_order_release);
    atomic_fetch_add_explicit(maker->count, 1, memory_order_relaxed);
    *slot_of(maker, parent, function) = node;
    maker->filled++;
    return node;
}

struct fl_node *fl_node_child(struct fl_node_maker *maker, struct fl_node *parent, fl_function_id function)
{
    struct fl_node *node = *slot_of(maker, parent, function);
    if (node)
        return node;
    if (!parent || !fl_node_is_own(parent))
        return make(maker, parent, function);
    const struct fl_own_node *own = fl_own_of(parent);
    struct fl_node *twin = fl_node_child(maker, own->twin, function); // NOLINT(misc-no-recursion): twins are not own
    return twin ? fl__node_make_own(maker, own->tree, parent, twin) : NULL;
}

/* A slot for a node of an own tree that has never been used. */
static struct fl_own_node *fresh_own(struct fl_node_maker *maker)
{
    if (atomic_load_explicit(maker->own_count, memory_order_relaxed) >= maker->own_budget ||
        atomic_load_explicit(maker->count, memory_order_relaxed) + 2 > maker->budget)
        return NULL;
    uint32_t used = maker->own_chunk ? atomic_load_explicit(&maker->own_chunk->used, memory_order_relaxed) : 0;
    if (used == 0 || used == 1u << FL_NODE_BITS) {
        if (add_chunk(maker, true) != 0)
            return NULL;
        used = 2;
    }
    struct fl_node *node = (struct fl_node *)(void *)maker->own_chunk + used;
    /* Its generation is 0: readers find nothing there yet. */
    atomic_store_explicit(&maker->own_chunk->used, used + 2, memory_order_release);
    atomic_fetch_add_explicit(maker->count, 2, memory_order_relaxed);
    atomic_fetch_add_explicit(maker->own_count, 1, memory_order_relaxed);
    return fl_own_of(node);
}

struct fl_node *fl__node_make_own(struct fl_node_maker *maker, struct fl_own_tree *tree, struct fl_node *parent,
                                  struct fl_node *twin)
{
    if (maker->filled >= maker->capacity / 2 && grow_index(maker) != 0)
        return NULL;
    struct fl_own_node *own = maker->free_own;
    if (own)
        maker->free_own = own->next;
    else
        own = fresh_own(maker);
    if (!own)
        return NULL;
    struct fl_node *node = fl_node_of_own(own);
    uint32_t generation = atomic_load_explicit(&own->generation, memory_order_relaxed);
    /* Even, but another one than when it was freed: whoever still wants its last times sees that they are gone. */
    if (generation != 0)
        generation += 2;
    atomic_store_explicit(&own->generation, generation, memory_order_relaxed);
    atomic_store_explicit(&node->calls, 0, memory_order_release);
    atomic_store_explicit(&node->seeded, 0, memory_order_release);
    atomic_store_explicit(&node->own, 0, memory_order_release);
    atomic_store_explicit(&node->blocked, 0, memory_order_release);
    atomic_store_explicit(&node->idle, 0, memory_order_release);
    atomic_store_explicit(&node->waited, 0, memory_order_release);
    node->function = twin->function;
    node->up = parent;
    node->last_child = &fl__no_child;
    own->twin = twin;
    own->tree = tree;
    own->task = tree->task;
    own->since = tree->since;
    own->next = tree->nodes;
    tree->nodes = own;
    if (!tree->last)
        tree->last = own;
    atomic_store_explicit(&own->generation, generation + 1, memory_order_release);
    if (parent) {
        *slot_of(maker, parent, twin->function) = node;
        maker->filled++;
    }
    return node;
}

static struct fl_node *step(struct fl_node_maker *maker, struct fl_node *parent, fl_function_id function)
{
    if (parent->last_child->function == function)
        return parent->last_child;
    struct fl_node *child = fl_node_child(maker, parent, function);
    if (child)
        parent->last_child = child;
    return child;
}

struct fl_node *fl__node_copy_path(struct fl_node_maker *maker, struct fl_node *root, const struct fl_node *node)
{
    enum { PIECE = 64 };
    fl_function_id functions[PIECE];
    uint32_t depth = 0;
    for (const struct fl_node *n = node; n->up; n = n->up)
        depth++;
    struct fl_node *at = root;
    /* In pieces, outermost first: a stack may be deep, and nothing is to be allocated for this. */
    for (uint32_t done = 0; done < depth;) {
        uint32_t piece = depth - done < PIECE ? depth - done : PIECE;
        const struct fl_node *n = node;
        for (uint32_t i = depth; i > done + piece; i--)
            n = n->up;
        for (uint32_t i = piece; i > 0; i--, n = n->up)
            functions[i - 1] = n->function;
        for (uint32_t i = 0; i < piece && at; i++)
            at = step(maker, at, functions[i]);
        if (!at)
            return NULL;
        done += piece;
    }
    return at;
}
