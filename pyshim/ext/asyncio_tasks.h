/*
 * asyncio_tasks.h: the asyncio tasks that one thread knows, by address. Owner thread.
 */
#ifndef FL_EXT_ASYNCIO_TASKS_H
#define FL_EXT_ASYNCIO_TASKS_H

#include "compat.h"
#include "task.h"

/* One asyncio task. Freed when it ends. */
struct fl_async_task {
    PyObject *task; /* address only, never followed unless it is known to run */
    struct fl_task *core;
    struct fl_task *outer; /* in a step: the task that was current when it began; NULL: it is suspended */
    struct fl_task *base;  /* in a step: the task on whose stack it runs, a greenlet or the thread's own */
    PyObject *loop;        /* the loop that ran its last step: address only */
    uint32_t hidden;       /* in a step: frames of coroutines that are not shown */
    PyObject *name;        /* its name as it was last read: address only */
    bool seen;             /* used while the dead are looked for */
};

/* Open addressing, no tombstones. */
struct fl_async_tasks {
    struct fl_async_task **rows; /* NULL: free */
    uint32_t capacity, filled;
};

/* A core task's key says whose it is: the lowest bit is set for an asyncio task. NULL: it is none. */
static inline struct fl_async_task *fl_async_task_of(const struct fl_task *core)
{
    uintptr_t key = (uintptr_t)core->key;
    return key & 1 ? (struct fl_async_task *)(key & ~(uintptr_t)1) : NULL;
}

static inline void *fl_async_task_key(struct fl_async_task *task)
{
    return (void *)((uintptr_t)task | 1);
}

/* NULL: not known. */
struct fl_async_task *fl_async_tasks_find(const struct fl_async_tasks *tasks, const PyObject *task);

/* A new row, all 0 but `task`; NULL where memory is at its end. */
struct fl_async_task *fl_async_tasks_add(struct fl_async_tasks *tasks, PyObject *task);

/* Frees the row. */
void fl_async_tasks_remove(struct fl_async_tasks *tasks, struct fl_async_task *row);

void fl_async_tasks_fini(struct fl_async_tasks *tasks);

#endif
