/*
 * label.h: a word of the program's own on what a task is doing, such as the request that it serves: a dimension of
 * groups. A task with a label is in the group of (its entry function, the label); its time and calls go there while it
 * has it. It counts as started and ended once in each labelled stretch there, and in the group of its beginning as if
 * it had never left.
 */
#ifndef FL_LABEL_H
#define FL_LABEL_H

#include "thread.h"

/*
 * Owner thread: the current task has this label (string id, 0: none) from here on. The frames that it has stay at their
 * place, entered where they were. Takes the lock of the groups, and makes nodes at the first visit of a path; where
 * there is no room for those the task stays where it is, which is counted in lost_events.
 */
void fl_label_set(struct fl_thread *thread, uint32_t label, fl_ticks now);

/* Owner thread: the id of the current task. */
static inline uint32_t fl_label_task(const struct fl_thread *thread)
{
    const struct fl_task *task = atomic_load_explicit(&thread->task, memory_order_relaxed);
    return atomic_load_explicit(&task->id, memory_order_relaxed);
}

/* Owner thread: the label of a task that has not entered anything yet. */
static inline void fl_label_inherit(struct fl_task *task, uint32_t label)
{
    task->label = label;
}

#endif
