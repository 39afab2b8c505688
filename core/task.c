#include "task.h"

bool fl_task_watch(struct fl_task *task, uint32_t id)
{
    if (atomic_load_explicit(&task->id, memory_order_acquire) != id)
        return false;
    /* Should the row change hands just now, another task gets an own tree: that harms nobody. */
    atomic_store_explicit(&task->own_at, 0, memory_order_relaxed);
    return true;
}

bool fl_task_read(const struct fl_task *task, struct fl_task_view *view)
{
    for (unsigned tries = 0;; fl__read_again(&tries)) {
        uint64_t before = atomic_load_explicit(&task->version, memory_order_acquire);
        if (before & 1)
            continue;
        view->id = atomic_load_explicit(&task->id, memory_order_acquire);
        view->thread = atomic_load_explicit(&task->thread, memory_order_acquire);
        view->state = atomic_load_explicit(&task->state, memory_order_acquire);
        view->group = atomic_load_explicit(&task->group, memory_order_acquire);
        view->name = atomic_load_explicit(&task->name, memory_order_acquire);
        view->wait = atomic_load_explicit(&task->wait, memory_order_acquire);
        view->node = atomic_load_explicit(&task->node, memory_order_acquire);
        view->hub = atomic_load_explicit(&task->hub, memory_order_acquire);
        view->begin = atomic_load_explicit(&task->begin, memory_order_acquire);
        view->since = atomic_load_explicit(&task->since, memory_order_acquire);
        view->cpu = atomic_load_explicit(&task->sums.cpu, memory_order_acquire);
        view->blocked = atomic_load_explicit(&task->sums.blocked, memory_order_acquire);
        view->idle = atomic_load_explicit(&task->sums.idle, memory_order_acquire);
        view->waited = atomic_load_explicit(&task->sums.waited, memory_order_acquire);
        view->longest = atomic_load_explicit(&task->sums.longest, memory_order_acquire);
        view->switches = atomic_load_explicit(&task->sums.switches, memory_order_acquire);
        /* The acquire loads above keep this one behind them. */
        if (atomic_load_explicit(&task->version, memory_order_relaxed) == before)
            return view->id != 0;
    }
}
