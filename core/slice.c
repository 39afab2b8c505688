#include "slice.h"

void fl_slices_add(struct fl_slices *slices, const struct fl_slice *slice)
{
    uint64_t written = atomic_load_explicit(&slices->written, memory_order_relaxed);
    struct fl__slice_row *row = &slices->rows[written % FL_SLICES];
    /* Release on each word: a reader that sees one of these also sees `written` as it was set before them. */
    atomic_store_explicit(&row->task, slice->task, memory_order_release);
    atomic_store_explicit(&row->group, slice->group, memory_order_release);
    atomic_store_explicit(&row->node, slice->node, memory_order_release);
    atomic_store_explicit(&row->sure, slice->sure, memory_order_release);
    atomic_store_explicit(&row->begin, slice->begin, memory_order_release);
    atomic_store_explicit(&row->end, slice->end, memory_order_release);
    atomic_store_explicit(&row->blocked, slice->blocked, memory_order_release);
    atomic_store_explicit(&row->idle, slice->idle, memory_order_release);
    atomic_store_explicit(&slices->written, written + 1, memory_order_release);
}

bool fl_slices_get(const struct fl_slices *slices, uint64_t index, struct fl_slice *slice)
{
    if (index >= atomic_load_explicit(&slices->written, memory_order_acquire))
        return false;
    const struct fl__slice_row *row = &slices->rows[index % FL_SLICES];
    slice->task = atomic_load_explicit(&row->task, memory_order_acquire);
    slice->group = atomic_load_explicit(&row->group, memory_order_acquire);
    slice->node = atomic_load_explicit(&row->node, memory_order_acquire);
    slice->sure = atomic_load_explicit(&row->sure, memory_order_acquire) != 0;
    slice->begin = atomic_load_explicit(&row->begin, memory_order_acquire);
    slice->end = atomic_load_explicit(&row->end, memory_order_acquire);
    slice->blocked = atomic_load_explicit(&row->blocked, memory_order_acquire);
    slice->idle = atomic_load_explicit(&row->idle, memory_order_acquire);
    /* The owner writes into this row while `written` is index + FL_SLICES: at that value it may be half new. */
    return atomic_load_explicit(&slices->written, memory_order_relaxed) < index + FL_SLICES;
}
