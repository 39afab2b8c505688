#include "label.h"
#include "event.h"

void fl_label_set(struct fl_thread *thread, uint32_t label, fl_ticks now)
{
    struct fl_session *session = thread->session;
    struct fl_task *task = atomic_load_explicit(&thread->task, memory_order_relaxed);
    if (task->label == label)
        return;
    task->label = label;
    if (task->tree == thread->no_group)
        return; /* its first call makes it join */
    const struct fl_group *group = fl_groups_get(&session->groups, task->tree->group);
    struct fl_tree *tree = fl__tree_of_group(thread, fl_groups_add(&session->groups, group->entry, label));
    bool had_own = task->own != NULL;
    if (tree)
        fl__own_tree_fold(thread, task);
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    struct fl_node *copy = tree ? fl__node_copy_path(&thread->maker, tree->root, node) : NULL;
    if (!copy) {
        fl__add(&thread->lost_events, 1);
        return;
    }
    if (task->tree != task->home)
        fl__add(&task->tree->ended, 1);
    if (tree != task->home)
        fl__add(&tree->started, 1);
    task->tree = tree;
    fl__write_begin(&task->version);
    atomic_store_explicit(&task->group, tree->group, memory_order_release);
    fl__write_end(&task->version);
    fl__move(thread, copy, now);
    if (had_own)
        (void)fl__own_tree_begin(thread, task, now);
}
