/* What the shadow knows of long slices: those that are over, and the sums by function. */
#include "function.h"
#include "lock_waits.h"
#include "shadow_read.h"
#include "watch.h"

#include <stdlib.h>

/* Of slices that leave the ring the longest stay; of equals the older. */
static void keep_if_longest(struct fl_shadow *shadow, const struct fl_shadow_slice *slice)
{
    struct fl_shadow_slice *least = shadow->longest;
    if (shadow->longest_count < FL_SHADOW_LONGEST) {
        shadow->longest[shadow->longest_count++] = *slice;
        return;
    }
    for (uint32_t i = 1; i < FL_SHADOW_LONGEST; i++) {
        const struct fl_shadow_slice *row = &shadow->longest[i];
        uint64_t busy = row->cpu + row->blocked, least_busy = least->cpu + least->blocked;
        if (busy < least_busy || (busy == least_busy && row->id > least->id))
            least = &shadow->longest[i];
    }
    if (slice->cpu + slice->blocked <= least->cpu + least->blocked)
        return;
    /* In the order of ids, as they are told. */
    uint32_t place = (uint32_t)(least - shadow->longest);
    for (; place + 1 < FL_SHADOW_LONGEST; place++)
        shadow->longest[place] = shadow->longest[place + 1];
    shadow->longest[place] = *slice;
}

static void add_slice(struct fl_shadow *shadow, uint32_t index, const struct fl_slice *slice)
{
    struct fl_lock_slice lock = fl_lock_waits_slice(shadow->session->lock_waits, index, slice->begin);
    /* Looks are samples: they cannot have seen more than there was. */
    if (lock.waited > slice->blocked + slice->idle)
        lock.waited = slice->blocked + slice->idle;
    uint64_t blocked = fl_ticks_to_ns(slice->blocked), idle = fl_ticks_to_ns(slice->idle);
    uint64_t whole = fl_ticks_to_ns(slice->end - slice->begin);
    struct fl_shadow_slice *row = &shadow->slices[shadow->slice_count % FL_SHADOW_SLICES];
    if (shadow->slice_count >= FL_SHADOW_SLICES)
        keep_if_longest(shadow, row);
    *row = (struct fl_shadow_slice){
        .added = shadow->version + 1,
        .id = (uint32_t)(shadow->slice_count + 1),
        .thread = slice->thread,
        .task = slice->task,
        .group = slice->group,
        .node = slice->node,
        .begin = fl_ticks_to_ns(slice->begin),
        .end = fl_ticks_to_ns(slice->end),
        .cpu = whole > blocked + idle ? whole - blocked - idle : 0,
        .blocked = blocked,
        .idle = idle,
        .gil = fl_ticks_to_ns(lock.waited),
        .gil_holder = lock.holder,
        .gil_node = lock.holder_node,
    };
    shadow->slice_count++;
    shadow->slices_dirty = true;
}

/* The row of this function on this thread, made where there is none. NULL where there is no room. */
static struct fl_shadow_hold *hold_of(struct fl_shadow *shadow, uint32_t thread, uint32_t function)
{
    for (uint32_t i = 0; i < shadow->hold_count; i++)
        if (shadow->holds[i].thread == thread && shadow->holds[i].function == function)
            return &shadow->holds[i];
    if (shadow->hold_count == FL_SHADOW_HOLDS)
        return NULL;
    struct fl_shadow_hold *hold = &shadow->holds[shadow->hold_count++];
    *hold = (struct fl_shadow_hold){.added = shadow->version + 1, .thread = thread, .function = function};
    return hold;
}

static void add_hold(struct fl_shadow *shadow, uint32_t thread, const struct fl_hold *more)
{
    struct fl_shadow_hold *hold = hold_of(shadow, thread, more->function);
    uint64_t longest = fl_ticks_to_ns(more->longest);
    if (!hold) {
        shadow->lost_slices += more->count;
        return;
    }
    hold->changed = shadow->version + 1;
    hold->count += more->count;
    hold->cpu += fl_ticks_to_ns(more->cpu);
    hold->blocked += fl_ticks_to_ns(more->blocked);
    if (longest > hold->longest)
        hold->longest = longest;
    shadow->slices_dirty = true;
}

/* What the thread itself could not tell: where most of the slice was spent. */
static void look_up_place(const struct fl_shadow *shadow, uint32_t index, struct fl_slice *slice)
{
    fl_node_id seen = slice->sure ? 0 : fl_watch_node(shadow->watch, index, slice->begin);
    const struct fl_node *node = seen ? fl_table_row(&shadow->session->nodes, seen) : NULL;
    if (!node)
        return;
    bool is_root = (node->function & FL_ROOT_FUNCTION) != 0;
    slice->node = seen;
    slice->function = is_root ? fl_groups_get(&shadow->session->groups, slice->group)->entry : node->function;
}

/* Slice number `slice->number` of this slot, which is seen for the first time. */
static void take_slice(struct fl_shadow *shadow, uint32_t index, struct fl_slice *slice)
{
    look_up_place(shadow, index, slice);
    add_slice(shadow, index, slice);
    fl_ticks busy = slice->end - slice->begin - slice->idle;
    if (slice->of_hub && slice->number >= shadow->slices_seen[index].holds_from)
        add_hold(shadow, slice->thread,
                 &(struct fl_hold){.function = slice->function,
                                   .count = 1,
                                   .cpu = busy - slice->blocked,
                                   .blocked = slice->blocked,
                                   .longest = busy});
}

/* The slices `from` to `to` - 1 left the ring before they were read; the longest of them are still there. */
static void take_missed(struct fl_shadow *shadow, uint32_t index, const struct fl_thread *thread, uint64_t from,
                        uint64_t to)
{
    struct fl_slices_kept *kept = malloc(sizeof *kept);
    shadow->lost_slices += to - from;
    if (!kept)
        return;
    fl_slices_read_kept(&thread->slices, kept);
    for (uint32_t i = 0; i < kept->longest_count; i++) {
        if (kept->longest[i].number < from || kept->longest[i].number >= to)
            continue;
        take_slice(shadow, index, &kept->longest[i]);
        shadow->lost_slices--;
    }
    free(kept);
}

/* The sums of what was before this shadow. */
static void take_sums(struct fl_shadow *shadow, uint32_t index, const struct fl_thread *thread)
{
    struct fl_slices_kept *kept = malloc(sizeof *kept);
    if (!kept)
        return;
    uint32_t id = atomic_load_explicit(&thread->id, memory_order_acquire);
    fl_slices_read_kept(&thread->slices, kept);
    for (uint32_t i = 0; i < kept->hold_count; i++)
        add_hold(shadow, id, &kept->holds[i]);
    shadow->slices_seen[index].holds_from = kept->counted;
    shadow->slices_seen[index].sums = true;
    free(kept);
}

void fl_shadow_watch(struct fl_shadow *shadow)
{
    struct fl_session *session = shadow->session;
    uint32_t count = atomic_load_explicit(&session->thread_count, memory_order_acquire);
    bool entered = fl__shadow_enter(shadow);
    fl_watch_look(shadow->watch);
    if (shadow->lock_watch)
        fl_lock_watch_look(shadow->lock_watch);
    for (uint32_t i = 0; i < count; i++) {
        const struct fl_thread *thread = fl__shadow_thread(shadow, i);
        struct fl_shadow_slices_seen *seen = &shadow->slices_seen[i];
        if (!seen->sums)
            take_sums(shadow, i, thread);
        uint64_t written = atomic_load_explicit(&thread->slices.written, memory_order_acquire);
        if (written - seen->next > FL_SLICES) {
            take_missed(shadow, i, thread, seen->next, written - FL_SLICES);
            seen->next = written - FL_SLICES;
        }
        for (; seen->next < written; seen->next++) {
            struct fl_slice slice;
            if (fl_slices_get(&thread->slices, seen->next, &slice))
                take_slice(shadow, i, &slice);
            else
                take_missed(shadow, i, thread, seen->next, seen->next + 1);
        }
    }
    fl__shadow_exit(shadow, entered);
}
