#include "shadow_read.h"

#include <stdlib.h>

/* The words of one node. */
struct raw {
    uint64_t calls, own, blocked, idle, waited;
    uint32_t seeded;
};

static const struct fl_node *node_of(const struct fl_shadow *shadow, fl_node_id id)
{
    return fl_table_row(&shadow->session->nodes, id);
}

/* The row's numbers from what it is made of. Groups are summed from the rows of their trees; those of own trees are in
 * them already. */
static void tell(struct fl_shadow *shadow, fl_node_id id, bool is_own, uint64_t version)
{
    static const struct fl_shadow_own nothing;
    struct fl_shadow_node *row = &shadow->nodes[id];
    const struct fl_shadow_own *more = row->own && !is_own ? row->own : &nothing;
    uint64_t blocked = fl_ticks_to_ns(row->raw_blocked + row->open_blocked + more->blocked);
    uint64_t idle = fl_ticks_to_ns(row->raw_idle + row->open_idle + more->idle);
    /* Rounded together, so that the three parts add up to the whole. */
    uint64_t own = fl_ticks_to_ns(row->raw_own + row->open_cpu + row->open_blocked + row->open_idle + more->own);
    uint64_t cpu = own > blocked + idle ? own - blocked - idle : 0;
    uint64_t waited = fl_ticks_to_ns(row->raw_waited + more->waited), calls = row->raw_calls + more->calls;
    uint32_t seeded = row->raw_seeded + more->seeded;
    if (row->calls != calls || row->cpu != cpu || row->blocked != blocked || row->idle != idle ||
        row->waited != waited || row->seeded != seeded) {
        row->changed = version;
        shadow->dirty = true;
    }
    if (!is_own) {
        struct fl_shadow_sums *sums = &shadow->groups[row->group].sums;
        shadow->calls[fl_node_chunk_of(node_of(shadow, id))->thread] += calls - row->calls;
        sums->cpu += cpu - row->cpu;
        sums->blocked += blocked - row->blocked;
        sums->idle += idle - row->idle;
        sums->waited += waited - row->waited;
    }
    row->calls = calls;
    row->seeded = seeded;
    row->cpu = cpu;
    row->blocked = blocked;
    row->idle = idle;
    row->waited = waited;
}

static void set_raw(struct fl_shadow *shadow, fl_node_id id, uint32_t thread, const struct raw *raw,
                    const struct fl_open *open)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    shadow->own[thread] += raw->own - row->raw_own;
    row->raw_calls = raw->calls;
    row->raw_seeded = raw->seeded;
    row->raw_own = raw->own;
    row->raw_blocked = raw->blocked;
    row->raw_idle = raw->idle;
    row->raw_waited = raw->waited;
    row->open_cpu = open->cpu;
    row->open_blocked = open->blocked;
    row->open_idle = open->idle;
}

/* What the own node adds to its twin becomes `now`. */
static void add_to_twin(struct fl_shadow *shadow, struct fl_shadow_own *own, const struct fl_shadow_own *now,
                        uint64_t version)
{
    struct fl_shadow_own *sum = shadow->nodes[own->twin].own;
    sum->calls += now->calls - own->calls;
    sum->own += now->own - own->own;
    sum->blocked += now->blocked - own->blocked;
    sum->idle += now->idle - own->idle;
    sum->waited += now->waited - own->waited;
    sum->seeded += now->seeded - own->seeded;
    own->calls = now->calls;
    own->own = now->own;
    own->blocked = now->blocked;
    own->idle = now->idle;
    own->waited = now->waited;
    own->seeded = now->seeded;
    tell(shadow, own->twin, false, version);
}

static void set_times(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, const struct raw *raw,
                      const struct fl_open *open, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    bool is_own = fl_node_is_own(node);
    set_raw(shadow, id, fl_node_chunk_of(node)->thread, raw, open);
    tell(shadow, id, is_own, version);
    if (is_own)
        add_to_twin(shadow, row->own,
                    &(struct fl_shadow_own){.calls = raw->calls,
                                            .own = raw->own + open->cpu + open->blocked + open->idle,
                                            .blocked = raw->blocked + open->blocked,
                                            .idle = raw->idle + open->idle,
                                            .waited = raw->waited,
                                            .seeded = raw->seeded},
                    version);
}

static struct raw read_raw(const struct fl_node *node)
{
    struct raw raw;
    raw.calls = atomic_load_explicit(&node->calls, memory_order_acquire);
    raw.seeded = atomic_load_explicit(&node->seeded, memory_order_acquire);
    raw.waited = atomic_load_explicit(&node->waited, memory_order_acquire);
    raw.blocked = atomic_load_explicit(&node->blocked, memory_order_acquire);
    raw.idle = atomic_load_explicit(&node->idle, memory_order_acquire);
    /* The owner adds to `own` first: read last, it is never smaller than its parts. */
    raw.own = atomic_load_explicit(&node->own, memory_order_acquire);
    return raw;
}

static bool same_as_told(const struct fl_shadow_node *row, const struct raw *raw)
{
    return raw->own == row->raw_own && raw->calls == row->raw_calls && raw->waited == row->raw_waited &&
           raw->blocked == row->raw_blocked && raw->idle == row->raw_idle && raw->seeded == row->raw_seeded;
}

static struct fl_shadow_own *more_of(struct fl_shadow *shadow, fl_node_id id)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    if (!row->own)
        row->own = calloc(1, sizeof *row->own);
    return row->own;
}

/* A node that is not known yet, its parent is. False where there is no room. */
static bool know(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    bool is_root = (node->function & FL_ROOT_FUNCTION) != 0;
    fl_node_id parent = fl_node_parent(node);
    uint32_t group = is_root ? node->function & ~FL_ROOT_FUNCTION : shadow->nodes[parent].group;
    if (fl__shadow_reserve_group(shadow, group) != 0)
        return false;
    struct fl_shadow_own *more = row->own;
    if (fl_node_is_own(node)) {
        const struct fl_own_node *own = fl_own_of(node);
        fl_node_id twin = fl_node_id_of(own->twin);
        more = more_of(shadow, id);
        if (!more || !fl__shadow_know_node(shadow, twin, version) ||
            !more_of(shadow, twin)) // NOLINT(misc-no-recursion)
            return false;           /* a twin is never in an own tree, so this goes one step deep */
        *more = (struct fl_shadow_own){.generation = atomic_load_explicit(&own->generation, memory_order_acquire),
                                       .task = own->task,
                                       .serial = ++shadow->own_serial,
                                       .twin = twin,
                                       .since = fl_ticks_to_ns(own->since)};
    } else {
        shadow->nodes_alive++;
    }
    *row = (struct fl_shadow_node){.added = version, .changed = version, .parent = parent};
    if (parent && fl_node_is_own(node))
        row->parent = shadow->nodes[parent].own->serial;
    row->function = is_root ? 0 : node->function;
    row->group = group;
    row->thread =
        atomic_load_explicit(&fl__shadow_thread(shadow, fl_node_chunk_of(node)->thread)->id, memory_order_acquire);
    row->own = more;
    shadow->dirty = true;
    return true;
}

bool fl__shadow_know_node(struct fl_shadow *shadow, fl_node_id id, uint64_t version) // NOLINT(misc-no-recursion)
{
    if (id == 0 || id >= shadow->node_count)
        return false; /* younger than the arrays: the next refresh has it */
    /* From the node up to the first that is known, then down again: a parent is always added before its children. */
    while (shadow->nodes[id].added == 0) {
        fl_node_id top = id;
        const struct fl_node *node = node_of(shadow, top);
        while (node->up) {
            fl_node_id parent = fl_node_parent(node);
            if (parent >= shadow->node_count)
                return false; /* a slot of an own tree that is used again may lie before its parent's */
            if (shadow->nodes[parent].added != 0)
                break;
            top = parent;
            node = node->up;
        }
        if (!know(shadow, top, node, version))
            return false;
    }
    return true;
}

/* The own node is folded: what it had is in its twin now. `last`: what that was, where it is still known. */
static void take_out(struct fl_shadow *shadow, fl_node_id id, uint32_t thread, const struct raw *last, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    struct raw kept = {.calls = row->raw_calls,
                       .own = row->raw_own,
                       .blocked = row->raw_blocked,
                       .idle = row->raw_idle,
                       .waited = row->raw_waited,
                       .seeded = row->raw_seeded};
    set_raw(shadow, id, thread, last ? last : &kept, &(struct fl_open){0});
    tell(shadow, id, true, version);
    shadow->own[thread] -= row->raw_own;
    add_to_twin(shadow, row->own, &(struct fl_shadow_own){0}, version);
}

/* Makes the row that of what is in the slot now. False where that is nothing. */
static bool follow_own(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    const struct fl_own_node *own = fl_own_of(node);
    uint32_t generation = atomic_load_explicit(&own->generation, memory_order_acquire);
    bool counted = row->added != 0 && row->own->generation % 2 == 1;
    if (counted && generation != row->own->generation) {
        struct raw last = read_raw(node);
        bool still = generation == row->own->generation + 1 &&
                     atomic_load_explicit(&own->generation, memory_order_relaxed) == generation;
        take_out(shadow, id, fl_node_chunk_of(node)->thread, still ? &last : NULL, version);
        row->own->generation++;
    }
    if (generation % 2 == 0)
        return false;
    if (row->added != 0 && row->own->generation != generation)
        row->added = 0;
    return fl__shadow_know_node(shadow, id, version);
}

static void scan_node(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, uint64_t version)
{
    struct raw raw = read_raw(node);
    if (shadow->nodes[id].added == 0) {
        if (!fl__shadow_know_node(shadow, id, version))
            return;
    } else if (same_as_told(&shadow->nodes[id], &raw)) {
        return;
    }
    set_times(shadow, id, node, &raw, &(struct fl_open){0}, version);
}

void fl__shadow_scan_nodes(struct fl_shadow *shadow, uint64_t version)
{
    /* A thread takes its next chunk when the last is full. So where a child is seen, so is its parent, and its calls.
     */
    for (uint32_t i = 0; i < shadow->node_count >> FL_NODE_BITS; i++) {
        const struct fl_node_chunk *chunk = fl_table_chunk(&shadow->session->nodes, i);
        uint32_t used = chunk ? atomic_load_explicit(&chunk->used, memory_order_acquire) : 0;
        if (used == 0 || chunk->thread >= shadow->thread_count)
            continue; /* its thread is only attaching */
        const struct fl_node *slots = (const struct fl_node *)(const void *)chunk;
        fl_node_id first = i << FL_NODE_BITS;
        if (chunk->own) {
            for (uint32_t slot = 2; slot < used; slot += 2)
                if (follow_own(shadow, first | slot, &slots[slot], version))
                    scan_node(shadow, first | slot, &slots[slot], version);
        } else {
            for (uint32_t slot = 1; slot < used; slot++)
                scan_node(shadow, first | slot, &slots[slot], version);
        }
    }
}

static void take_node(struct fl_shadow *shadow, const struct fl_node *node, const struct fl_thread_view *view,
                      const struct fl_open *open, uint64_t version)
{
    fl_node_id id = fl_node_id_of(node);
    if (id >= shadow->node_count || (fl_node_is_own(node) && !follow_own(shadow, id, node, version)) ||
        !fl__shadow_know_node(shadow, id, version))
        return;
    struct raw raw = read_raw(node);
    raw.own = view->own;
    raw.blocked = view->node_blocked;
    raw.idle = view->node_idle;
    set_times(shadow, id, node, &raw, open, version);
}

void fl__shadow_left_node(struct fl_shadow *shadow, uint32_t index, const struct fl_node *node, uint64_t version)
{
    struct fl_thread_view view;
    fl_thread_read(fl__shadow_thread(shadow, index), node, &view);
    take_node(shadow, node, &view, &(struct fl_open){0}, version);
}

void fl__shadow_current_node(struct fl_shadow *shadow, const struct fl_thread_view *view, const struct fl_open *open,
                             uint64_t version)
{
    take_node(shadow, view->node, view, open, version);
}

/* Trees `from` up to `to` were folded while we read. False: there were too many to know. */
static bool follow_folded(struct fl_shadow *shadow, const struct fl_own_trees *trees, uint64_t from, uint64_t to,
                          uint64_t version)
{
    for (; from < to; from++) {
        const struct fl_own_tree *tree = atomic_load_explicit(&trees->folded[from % FL_FOLDED], memory_order_acquire);
        if (atomic_load_explicit(&trees->folds, memory_order_acquire) / 2 >= from + FL_FOLDED)
            return false;
        /* It stands still, and is not used again, as long as we are in a look that began before it was folded. */
        for (const struct fl_own_node *own = tree->nodes; own; own = own->next) {
            const struct fl_node *node = fl_node_of_own(own), *twin = own->twin;
            fl_node_id id = fl_node_id_of(node), twin_id = fl_node_id_of(twin);
            if (id < shadow->node_count && shadow->nodes[id].added != 0)
                (void)follow_own(shadow, id, node, version);
            if (fl__shadow_know_node(shadow, twin_id, version)) {
                struct raw raw = read_raw(twin);
                if (!same_as_told(&shadow->nodes[twin_id], &raw))
                    set_times(shadow, twin_id, twin, &raw, &(struct fl_open){0}, version);
            }
        }
    }
    return true;
}

uint64_t fl__shadow_folds(const struct fl_thread *thread)
{
    for (unsigned tries = 0;; fl__read_again(&tries)) {
        uint64_t folds = atomic_load_explicit(&thread->own_trees.folds, memory_order_acquire);
        if (folds % 2 == 0)
            return folds / 2;
    }
}

bool fl__shadow_follow_folds(struct fl_shadow *shadow, uint32_t index, uint64_t version)
{
    const struct fl_thread *thread = fl__shadow_thread(shadow, index);
    for (int tries = 0; tries < 100; tries++) {
        uint64_t folds = fl__shadow_folds(thread);
        if (folds != shadow->folds[index]) {
            if (!follow_folded(shadow, &thread->own_trees, shadow->folds[index], folds, version))
                return false;
            shadow->folds[index] = folds;
        }
        /* The acquire loads above keep this one behind them. */
        if (atomic_load_explicit(&thread->own_trees.folds, memory_order_relaxed) == 2 * folds)
            return true;
    }
    return false;
}
