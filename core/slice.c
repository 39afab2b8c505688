#include "slice.h"
#include "hash.h"
#include "task.h"

#include <stdlib.h>

enum { SURE = 1, OF_HUB = 2 };

/* Release on each word: a reader that sees one of these also sees what the owner wrote before them. */
static void write_row(struct fl__slice_row *row, const struct fl_slice *slice, uint64_t number)
{
    uint32_t flags = (slice->sure ? SURE : 0u) | (slice->of_hub ? OF_HUB : 0u);
    atomic_store_explicit(&row->number, number, memory_order_release);
    atomic_store_explicit(&row->thread, slice->thread, memory_order_release);
    atomic_store_explicit(&row->task, slice->task, memory_order_release);
    atomic_store_explicit(&row->group, slice->group, memory_order_release);
    atomic_store_explicit(&row->node, slice->node, memory_order_release);
    atomic_store_explicit(&row->function, slice->function, memory_order_release);
    atomic_store_explicit(&row->flags, flags, memory_order_release);
    atomic_store_explicit(&row->begin, slice->begin, memory_order_release);
    atomic_store_explicit(&row->end, slice->end, memory_order_release);
    atomic_store_explicit(&row->blocked, slice->blocked, memory_order_release);
    atomic_store_explicit(&row->idle, slice->idle, memory_order_release);
}

static void read_row(const struct fl__slice_row *row, struct fl_slice *slice)
{
    slice->number = atomic_load_explicit(&row->number, memory_order_acquire);
    slice->thread = atomic_load_explicit(&row->thread, memory_order_acquire);
    slice->task = atomic_load_explicit(&row->task, memory_order_acquire);
    slice->group = atomic_load_explicit(&row->group, memory_order_acquire);
    slice->node = atomic_load_explicit(&row->node, memory_order_acquire);
    slice->function = atomic_load_explicit(&row->function, memory_order_acquire);
    uint32_t flags = atomic_load_explicit(&row->flags, memory_order_acquire);
    slice->sure = (flags & SURE) != 0;
    slice->of_hub = (flags & OF_HUB) != 0;
    slice->begin = atomic_load_explicit(&row->begin, memory_order_acquire);
    slice->end = atomic_load_explicit(&row->end, memory_order_acquire);
    slice->blocked = atomic_load_explicit(&row->blocked, memory_order_acquire);
    slice->idle = atomic_load_explicit(&row->idle, memory_order_acquire);
}

static fl_ticks busy_of(const struct fl_slice *slice)
{
    return slice->end - slice->begin - slice->idle;
}

static fl_ticks row_busy(const struct fl__slice_row *row)
{
    return atomic_load_explicit(&row->end, memory_order_relaxed) -
           atomic_load_explicit(&row->begin, memory_order_relaxed) -
           atomic_load_explicit(&row->idle, memory_order_relaxed);
}

/* Inside the version. The shortest of the longest makes room; of equals the older stays. */
static void keep_if_longest(struct fl_slices *slices, const struct fl_slice *slice, uint64_t number)
{
    uint32_t count = atomic_load_explicit(&slices->longest_count, memory_order_relaxed);
    if (count < FL_LONGEST) {
        write_row(&slices->longest[count], slice, number);
        atomic_store_explicit(&slices->longest_count, ++count, memory_order_release);
    } else if (busy_of(slice) > row_busy(&slices->longest[slices->least])) {
        write_row(&slices->longest[slices->least], slice, number);
    } else {
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (row_busy(&slices->longest[i]) <= row_busy(&slices->longest[slices->least]))
            slices->least = i;
}

/* The row of this function, taken where there is none. A few places stay free, so that a search ends. */
static struct fl__hold_row *hold_of(struct fl_slices *slices, fl_function_id function)
{
    uint32_t place = (uint32_t)fl_hash_mix(function) & (FL_HOLDS - 1);
    while (function != 0) {
        struct fl__hold_row *row = &slices->holds[place];
        uint32_t there = atomic_load_explicit(&row->function, memory_order_relaxed);
        if (there == function)
            return row;
        if (there == 0) {
            if (slices->filled >= FL_HOLDS - FL_HOLDS / 8)
                break;
            slices->filled++;
            atomic_store_explicit(&row->function, function, memory_order_release);
            return row;
        }
        place = (place + 1) & (FL_HOLDS - 1);
    }
    return &slices->others;
}

/* Inside the version. */
static void add_hold(struct fl_slices *slices, const struct fl_slice *slice)
{
    struct fl__hold_row *row = hold_of(slices, slice->function);
    fl_ticks busy = busy_of(slice);
    fl__add(&row->count, 1);
    fl__add(&row->cpu, busy - slice->blocked);
    fl__add(&row->blocked, slice->blocked);
    if (busy > atomic_load_explicit(&row->longest, memory_order_relaxed))
        atomic_store_explicit(&row->longest, busy, memory_order_release);
}

void fl_slices_add(struct fl_slices *slices, const struct fl_slice *slice)
{
    uint64_t written = atomic_load_explicit(&slices->written, memory_order_relaxed);
    write_row(&slices->rows[written % FL_SLICES], slice, written);
    fl__write_begin(&slices->version);
    keep_if_longest(slices, slice, written);
    if (slice->of_hub)
        add_hold(slices, slice);
    atomic_store_explicit(&slices->counted, written + 1, memory_order_release);
    fl__write_end(&slices->version);
    atomic_store_explicit(&slices->written, written + 1, memory_order_release);
}

void fl_slices_begin(struct fl_slices *slices)
{
    fl__write_begin(&slices->version);
    for (uint32_t i = 0; i <= FL_HOLDS; i++) {
        struct fl__hold_row *row = i < FL_HOLDS ? &slices->holds[i] : &slices->others;
        atomic_store_explicit(&row->function, 0, memory_order_release);
        atomic_store_explicit(&row->count, 0, memory_order_release);
        atomic_store_explicit(&row->cpu, 0, memory_order_release);
        atomic_store_explicit(&row->blocked, 0, memory_order_release);
        atomic_store_explicit(&row->longest, 0, memory_order_release);
    }
    slices->filled = 0;
    fl__write_end(&slices->version);
}

bool fl_slices_get(const struct fl_slices *slices, uint64_t index, struct fl_slice *slice)
{
    if (index >= atomic_load_explicit(&slices->written, memory_order_acquire))
        return false;
    read_row(&slices->rows[index % FL_SLICES], slice);
    /* The owner writes into this row while `written` is index + FL_SLICES: at that value it may be half new. */
    return atomic_load_explicit(&slices->written, memory_order_relaxed) < index + FL_SLICES;
}

static bool read_hold(const struct fl__hold_row *row, struct fl_hold *hold)
{
    hold->function = atomic_load_explicit(&row->function, memory_order_acquire);
    hold->count = atomic_load_explicit(&row->count, memory_order_acquire);
    hold->cpu = atomic_load_explicit(&row->cpu, memory_order_acquire);
    hold->blocked = atomic_load_explicit(&row->blocked, memory_order_acquire);
    hold->longest = atomic_load_explicit(&row->longest, memory_order_acquire);
    return hold->count > 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t first = ((const struct fl_slice *)a)->number, second = ((const struct fl_slice *)b)->number;
    return first < second ? -1 : first > second;
}

void fl_slices_read_kept(const struct fl_slices *slices, struct fl_slices_kept *kept)
{
    for (unsigned tries = 0;; fl__read_again(&tries)) {
        uint64_t before = atomic_load_explicit(&slices->version, memory_order_acquire);
        if (before & 1)
            continue;
        kept->counted = atomic_load_explicit(&slices->counted, memory_order_acquire);
        kept->longest_count = atomic_load_explicit(&slices->longest_count, memory_order_acquire);
        for (uint32_t i = 0; i < kept->longest_count; i++)
            read_row(&slices->longest[i], &kept->longest[i]);
        kept->hold_count = 0;
        for (uint32_t i = 0; i < FL_HOLDS; i++)
            kept->hold_count += read_hold(&slices->holds[i], &kept->holds[kept->hold_count]);
        kept->hold_count += read_hold(&slices->others, &kept->holds[kept->hold_count]);
        /* The acquire loads above keep this one behind them. */
        if (atomic_load_explicit(&slices->version, memory_order_relaxed) == before)
            break;
    }
    qsort(kept->longest, kept->longest_count, sizeof *kept->longest, by_number);
}
