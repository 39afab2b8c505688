#include "own_tree.h"
#include "event.h"
#include "readers.h"
#include "session.h"
#include "thread.h"

#include <stdlib.h>

/* The slots of trees that no reader looks at any more become free. */
static void reclaim(struct fl_thread *thread)
{
    struct fl_own_trees *trees = &thread->own_trees;
    while (trees->oldest && fl_readers_gone(&thread->session->readers, trees->oldest->freed)) {
        struct fl_own_tree *tree = trees->oldest;
        trees->oldest = tree->next;
        if (!trees->oldest)
            trees->newest = NULL;
        if (tree->nodes) {
            tree->last->next = thread->maker.free_own;
            thread->maker.free_own = tree->nodes;
        }
        tree->next = trees->free;
        trees->free = tree;
    }
}

/* The times and counts of the tree go to the twins. */
static void fold(struct fl_thread *thread, struct fl_own_tree *tree)
{
    struct fl_own_trees *trees = &thread->own_trees;
    uint64_t folds = atomic_load_explicit(&trees->folds, memory_order_relaxed);
    atomic_store_explicit(&trees->folds, folds + 1, memory_order_relaxed);
    /* Release stores only: whoever sees one also sees that a fold is under way. */
    for (struct fl_own_node *own = tree->nodes; own; own = own->next) {
        struct fl_node *node = fl_node_of_own(own), *twin = own->twin;
        /* `own` first: a reader reads it last, so it is never smaller than its parts. */
        fl__add(&twin->own, atomic_load_explicit(&node->own, memory_order_relaxed));
        fl__add(&twin->blocked, atomic_load_explicit(&node->blocked, memory_order_relaxed));
        fl__add(&twin->idle, atomic_load_explicit(&node->idle, memory_order_relaxed));
        fl__add(&twin->waited, atomic_load_explicit(&node->waited, memory_order_relaxed));
        fl__add(&twin->calls, atomic_load_explicit(&node->calls, memory_order_relaxed));
        atomic_store_explicit(&twin->seeded,
                              atomic_load_explicit(&twin->seeded, memory_order_relaxed) +
                                  atomic_load_explicit(&node->seeded, memory_order_relaxed),
                              memory_order_release);
        fl__node_forget(&thread->maker, node);
        atomic_store_explicit(&own->generation, atomic_load_explicit(&own->generation, memory_order_relaxed) + 1,
                              memory_order_release);
    }
    atomic_store_explicit(&trees->folded[folds / 2 % FL_FOLDED], tree, memory_order_release);
    atomic_store_explicit(&trees->folds, folds + 2, memory_order_release);

    tree->freed = fl_readers_freed(&thread->session->readers);
    tree->next = NULL;
    if (trees->newest)
        trees->newest->next = tree;
    else
        trees->oldest = tree;
    trees->newest = tree;
}

static struct fl_own_tree *tree_take(struct fl_own_trees *trees)
{
    struct fl_own_tree *tree = trees->free;
    if (tree) {
        trees->free = tree->next;
    } else {
        tree = calloc(1, sizeof *tree);
        if (!tree)
            return NULL;
        tree->made_before = trees->made_last;
        trees->made_last = tree;
    }
    return tree;
}

/* The task gets a tree with the path of `at`, whose node there is returned; NULL where there is no room. */
static struct fl_node *begin(struct fl_thread *thread, struct fl_task *task, const struct fl_node *at, fl_ticks now)
{
    if (task->own || task->tree == thread->no_group)
        return NULL;
    reclaim(thread);
    struct fl_own_tree *tree = tree_take(&thread->own_trees);
    if (!tree)
        return NULL;
    *tree = (struct fl_own_tree){
        .task = atomic_load_explicit(&task->id, memory_order_relaxed), .since = now, .made_before = tree->made_before};
    tree->root = fl__node_make_own(&thread->maker, tree, NULL, task->tree->root);
    struct fl_node *copy = tree->root ? fl__node_copy_path(&thread->maker, tree->root, at) : NULL;
    if (copy)
        task->own = tree;
    else
        fold(thread, tree); /* gives back what was taken */
    return copy;
}

bool fl__own_tree_begin(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    bool current = atomic_load_explicit(&thread->task, memory_order_relaxed) == task;
    struct fl_node *at = current ? atomic_load_explicit(&thread->node, memory_order_relaxed) : task->at;
    struct fl_node *copy = begin(thread, task, at, now);
    if (!copy)
        return false;
    if (current)
        fl__move(thread, copy, now);
    else
        task->at = copy;
    return true;
}

bool fl__own_tree_begin_empty(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    return begin(thread, task, task->tree->root, now) != NULL;
}

fl_ticks fl__own_tree_at(const struct fl_session *session, fl_ticks now)
{
    switch (session->options.task_trees) {
    case FL_TREES_ALL:
        return 0;
    case FL_TREES_LONG:
        return now + session->long_lived;
    default:
        return UINT64_MAX;
    }
}

void fl__own_tree_due(struct fl_thread *thread, struct fl_task *task, fl_ticks now)
{
    if (task->tree == thread->no_group)
        return; /* at its first call */
    fl_ticks next = UINT64_MAX;
    if (!task->own && !fl__own_tree_begin(thread, task, now))
        next = now + thread->session->long_lived;
    atomic_store_explicit(&task->own_at, next, memory_order_relaxed);
}

void fl__own_tree_fold(struct fl_thread *thread, struct fl_task *task)
{
    struct fl_own_tree *tree = task->own;
    if (!tree)
        return;
    task->own = NULL;
    fold(thread, tree);
    if (atomic_load_explicit(&thread->task, memory_order_relaxed) == task) {
        struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
        fl__write_begin(&thread->version);
        atomic_store_explicit(&thread->node, fl_node_in_group(node), memory_order_release);
        fl__write_end(&thread->version);
        if (thread->longest_node)
            thread->longest_node = fl_node_in_group(thread->longest_node);
    } else {
        task->at = fl_node_in_group(task->at);
    }
}

void fl__own_trees_fini(struct fl_own_trees *trees)
{
    while (trees->made_last) {
        struct fl_own_tree *tree = trees->made_last;
        trees->made_last = tree->made_before;
        free(tree);
    }
}
