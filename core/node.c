#include "node.h"
#include "error.h"
#include "hash.h"

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

static int add_chunk(struct fl_node_maker *maker)
{
    int64_t index = fl_table_add_chunk(maker->nodes);
    if (index < 0)
        return (int)index;
    struct fl_node_chunk *chunk = fl_table_chunk(maker->nodes, (uint32_t)index);
    chunk->index = (uint32_t)index;
    chunk->thread = maker->thread;
    /* Release: whoever sees a slot beyond the header also sees index and thread. */
    atomic_store_explicit(&chunk->used, 1, memory_order_release);
    maker->chunk = chunk;
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
        if (add_chunk(maker) != 0)
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
    return node ? node : make(maker, parent, function);
}
