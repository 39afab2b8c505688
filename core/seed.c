/* A start in the middle: stacks that are there already. */
#include "event.h"
#include "other.h"

static uint32_t depth_of(const struct fl_node *node)
{
    uint32_t depth = 0;
    for (; node->up; node = node->up)
        depth++;
    return depth;
}

/* Counts the nodes from `to` up to where its path leaves that of `known`. */
static void count_unknown(struct fl_node *to, const struct fl_node *known)
{
    uint32_t depth = depth_of(to), known_depth = depth_of(known);
    for (; known_depth > depth; known_depth--)
        known = known->up;
    for (; to != known && to->up; to = to->up, depth--) {
        uint32_t seeded = atomic_load_explicit(&to->seeded, memory_order_relaxed);
        atomic_store_explicit(&to->seeded, seeded + 1, memory_order_relaxed);
        if (known_depth == depth) {
            known = known->up;
            known_depth--;
        }
    }
}

/* Where this stack ends in the task's tree. `overflow`: how many of its frames found no memory. */
static struct fl_node *find_path(struct fl_thread *thread, struct fl_task *task, const fl_function_id *functions,
                                 uint32_t count, uint32_t *overflow)
{
    struct fl_node *node = fl__task_root(task);
    *overflow = 0;
    if (count > 0 && node == thread->no_group->root) {
        struct fl_node *root = fl__task_join_group(thread, task, functions[0]);
        if (root)
            node = root;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct fl_node *child = fl_node_child(&thread->maker, node, functions[i]);
        if (!child && task->own) {
            fl__own_tree_fold(thread, task);
            node = fl_node_in_group(node);
            child = fl_node_child(&thread->maker, node, functions[i]);
        }
        if (!child) {
            *overflow = count - i;
            fl__add(&thread->lost_events, count - i);
            break;
        }
        node = child;
    }
    return node;
}

void fl_seed(struct fl_thread *thread, const fl_function_id *functions, uint32_t count, fl_ticks now)
{
    struct fl_task *task = atomic_load_explicit(&thread->task, memory_order_relaxed);
    struct fl_node *node = find_path(thread, task, functions, count, &thread->overflow);
    count_unknown(node, atomic_load_explicit(&thread->node, memory_order_relaxed));
    fl__move(thread, node, now);
}

void fl_other_place(struct fl_thread *thread, struct fl_task *task, const fl_function_id *functions, uint32_t count,
                    fl_ticks now)
{
    fl__switch_other(thread, task, now);
    struct fl_node *known = atomic_load_explicit(&thread->node, memory_order_relaxed);
    struct fl_node *node = find_path(thread, task, functions, count, &thread->overflow);
    count_unknown(node, known);
    fl__write_begin(&thread->version);
    atomic_store_explicit(&thread->node, node, memory_order_release);
    fl__write_end(&thread->version);
}

void fl_seed_parked(struct fl_thread *thread, struct fl_task *task, const fl_function_id *functions, uint32_t count,
                    fl_ticks now)
{
    struct fl_node *node = find_path(thread, task, functions, count, &task->overflow);
    struct fl_node *known = task->at;
    fl_ticks since = atomic_load_explicit(&task->since, memory_order_relaxed);
    if (node == known)
        return;
    count_unknown(node, known);
    if (now < since)
        now = since; /* a counter some ticks behind after a migration */
    task->at = node;
    fl__write_begin(&task->version);
    fl__add(&task->sums.waited, now - since);
    atomic_store_explicit(&task->since, now, memory_order_release);
    atomic_store_explicit(&task->node, fl_node_id_of(fl_node_in_group(node)), memory_order_release);
    fl__write_end(&task->version);
    fl__add(&known->waited, now - since);
}
