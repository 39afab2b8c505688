#include "shadow_read.h"

/* Raw words of one node. */
struct raw {
    uint64_t calls, own, blocked, idle, waited;
    uint32_t seeded;
};

static void set_times(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, const struct raw *raw,
                      const struct fl_open *open, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    struct fl_shadow_sums *sums = &shadow->groups[row->group].sums;
    uint64_t blocked = fl_ticks_to_ns(raw->blocked + open->blocked);
    uint64_t idle = fl_ticks_to_ns(raw->idle + open->idle);
    /* Rounded together, so that the three parts add up to the whole. */
    uint64_t own = fl_ticks_to_ns(raw->own + open->cpu + open->blocked + open->idle);
    uint64_t cpu = own > blocked + idle ? own - blocked - idle : 0;
    uint64_t waited = fl_ticks_to_ns(raw->waited);
    if (row->calls != raw->calls || row->cpu != cpu || row->blocked != blocked || row->idle != idle ||
        row->waited != waited || row->seeded != raw->seeded) {
        row->changed = version;
        shadow->dirty = true;
    }
    shadow->own[fl_node_chunk_of(node)->thread] += raw->own - row->raw_own;
    sums->cpu += cpu - row->cpu;
    sums->blocked += blocked - row->blocked;
    sums->idle += idle - row->idle;
    sums->waited += waited - row->waited;
    row->calls = raw->calls;
    row->seeded = raw->seeded;
    row->cpu = cpu;
    row->blocked = blocked;
    row->idle = idle;
    row->waited = waited;
    row->raw_own = raw->own;
    row->raw_blocked = raw->blocked;
    row->raw_idle = raw->idle;
    row->raw_waited = raw->waited;
}

bool fl__shadow_know_node(struct fl_shadow *shadow, fl_node_id id, uint64_t version)
{
    if (id == 0 || id >= shadow->node_count)
        return false; /* younger than the arrays: the next refresh has it */
    /* From the node up to the first that is known, then down again: a parent is always added before its children. */
    while (shadow->nodes[id].added == 0) {
        fl_node_id top = id;
        const struct fl_node *node = fl_table_row(&shadow->session->nodes, top);
        for (; node->up && shadow->nodes[fl_node_parent(node)].added == 0; node = node->up)
            top = fl_node_parent(node);
        struct fl_shadow_node *row = &shadow->nodes[top];
        bool is_root = (node->function & FL_ROOT_FUNCTION) != 0;
        uint32_t group = is_root ? node->function & ~FL_ROOT_FUNCTION : shadow->nodes[fl_node_parent(node)].group;
        const struct fl_node_chunk *chunk = fl_node_chunk_of(node);
        if (fl__shadow_reserve_group(shadow, group) != 0)
            return false;
        *row = (struct fl_shadow_node){.added = version, .changed = version, .parent = fl_node_parent(node)};
        row->function = is_root ? 0 : node->function;
        row->group = group;
        row->thread = atomic_load_explicit(&fl__shadow_thread(shadow, chunk->thread)->id, memory_order_acquire);
        shadow->nodes_alive++;
        shadow->dirty = true;
    }
    return true;
}

static void scan_node(struct fl_shadow *shadow, fl_node_id id, const struct fl_node *node, uint64_t version)
{
    struct fl_shadow_node *row = &shadow->nodes[id];
    struct raw raw;
    raw.calls = atomic_load_explicit(&node->calls, memory_order_relaxed);
    raw.seeded = atomic_load_explicit(&node->seeded, memory_order_relaxed);
    raw.waited = atomic_load_explicit(&node->waited, memory_order_relaxed);
    raw.blocked = atomic_load_explicit(&node->blocked, memory_order_acquire);
    raw.idle = atomic_load_explicit(&node->idle, memory_order_acquire);
    /* The owner adds to `own` first: read last, it is never smaller than its parts. */
    raw.own = atomic_load_explicit(&node->own, memory_order_acquire);
    if (row->added == 0) {
        if (!fl__shadow_know_node(shadow, id, version))
            return;
    } else if (raw.own == row->raw_own && raw.calls == row->calls && raw.seeded == row->seeded &&
               raw.waited == row->raw_waited && raw.blocked == row->raw_blocked && raw.idle == row->raw_idle) {
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
        for (uint32_t slot = 1; slot < used; slot++)
            scan_node(shadow, i << FL_NODE_BITS | slot, &slots[slot], version);
    }
}

static void take_node(struct fl_shadow *shadow, const struct fl_node *node, const struct fl_thread_view *view,
                      const struct fl_open *open, uint64_t version)
{
    fl_node_id id = fl_node_id_of(node);
    if (!fl__shadow_know_node(shadow, id, version))
        return;
    struct raw raw = {.calls = atomic_load_explicit(&node->calls, memory_order_relaxed),
                      .own = view->own,
                      .blocked = view->node_blocked,
                      .idle = view->node_idle,
                      .waited = atomic_load_explicit(&node->waited, memory_order_relaxed),
                      .seeded = atomic_load_explicit(&node->seeded, memory_order_relaxed)};
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
