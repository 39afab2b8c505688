#include "timeline.h"

#include <stdlib.h>

struct fl_timeline *fl_timeline_create(void)
{
    void *memory;
    if (posix_memalign(&memory, 64, sizeof(struct fl_timeline)) != 0)
        return NULL;
    struct fl_timeline *timeline = memory;
    /* The rows stay as they are: none is read before it was written. */
    atomic_init(&timeline->written, 0);
    return timeline;
}

bool fl_timeline_get(const struct fl_timeline *timeline, uint64_t index, struct fl_timeline_view *view)
{
    if (index >= atomic_load_explicit(&timeline->written, memory_order_acquire))
        return false;
    const struct fl__timeline_row *row = &timeline->rows[index % FL_TIMELINE];
    view->end = atomic_load_explicit(&row->end, memory_order_acquire);
    view->blocked = atomic_load_explicit(&row->blocked, memory_order_acquire);
    view->idle = atomic_load_explicit(&row->idle, memory_order_acquire);
    view->task = atomic_load_explicit(&row->task, memory_order_acquire);
    view->node = atomic_load_explicit(&row->node, memory_order_acquire);
    /* The owner writes into this row while `written` is index + FL_TIMELINE: at that value it may be half new. */
    return atomic_load_explicit(&timeline->written, memory_order_relaxed) < index + FL_TIMELINE;
}
