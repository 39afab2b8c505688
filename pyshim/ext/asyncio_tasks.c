#include "asyncio_tasks.h"
#include "hash.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static uint32_t home_of(const struct fl_async_tasks *tasks, const PyObject *task)
{
    return (uint32_t)fl_hash_mix((uintptr_t)task) & (tasks->capacity - 1);
}

static uint32_t next_of(const struct fl_async_tasks *tasks, uint32_t at)
{
    return (at + 1) & (tasks->capacity - 1);
}

/* Where the row of this task is, or would be. */
static uint32_t place_of(const struct fl_async_tasks *tasks, const PyObject *task)
{
    uint32_t at = home_of(tasks, task);
    while (tasks->rows[at] && tasks->rows[at]->task != task)
        at = next_of(tasks, at);
    return at;
}

static bool grow(struct fl_async_tasks *tasks)
{
    struct fl_async_tasks bigger = {.capacity = tasks->capacity ? tasks->capacity * 2 : FIRST_CAPACITY,
                                    .filled = tasks->filled};
    bigger.rows = calloc(bigger.capacity, sizeof(struct fl_async_task *));
    if (!bigger.rows)
        return false;
    for (uint32_t i = 0; i < tasks->capacity; i++)
        if (tasks->rows[i])
            bigger.rows[place_of(&bigger, tasks->rows[i]->task)] = tasks->rows[i];
    free(tasks->rows);
    *tasks = bigger;
    return true;
}

struct fl_async_task *fl_async_tasks_find(const struct fl_async_tasks *tasks, const PyObject *task)
{
    return tasks->capacity ? tasks->rows[place_of(tasks, task)] : NULL;
}

struct fl_async_task *fl_async_tasks_add(struct fl_async_tasks *tasks, PyObject *task)
{
    if (tasks->filled >= tasks->capacity / 2 && !grow(tasks))
        return NULL;
    struct fl_async_task *row = calloc(1, sizeof *row);
    if (!row)
        return NULL;
    row->task = task;
    tasks->rows[place_of(tasks, task)] = row;
    tasks->filled++;
    return row;
}

void fl_async_tasks_remove(struct fl_async_tasks *tasks, struct fl_async_task *row)
{
    uint32_t hole = place_of(tasks, row->task);
    free(row);
    tasks->rows[hole] = NULL;
    tasks->filled--;
    /* Rows behind the hole that could not be found any more move into it. */
    for (uint32_t at = next_of(tasks, hole); tasks->rows[at]; at = next_of(tasks, at)) {
        uint32_t home = home_of(tasks, tasks->rows[at]->task);
        uint32_t from_home = (at - home) & (tasks->capacity - 1), from_hole = (at - hole) & (tasks->capacity - 1);
        if (from_home < from_hole)
            continue;
        tasks->rows[hole] = tasks->rows[at];
        tasks->rows[at] = NULL;
        hole = at;
    }
}

void fl_async_tasks_fini(struct fl_async_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->capacity; i++)
        free(tasks->rows[i]);
    free(tasks->rows);
    *tasks = (struct fl_async_tasks){0};
}
