/* Who waited for the global lock, as the session's sums have it. */
#include "lock_waits.h"
#include "shadow_read.h"
#include "watch.h"

#include "error.h"

int fl_shadow_watch_lock(struct fl_shadow *shadow)
{
    if (!shadow->lock_watch)
        shadow->lock_watch = fl_lock_watch_create(shadow->session);
    return shadow->lock_watch ? 0 : FL_ENOMEM;
}

static uint32_t place(struct fl_shadow *shadow, const fl_node_id *nodes, uint64_t looks, uint64_t version)
{
    uint32_t count = looks < FL_LOCK_LOOKS ? (uint32_t)looks : FL_LOCK_LOOKS;
    fl_node_id node = fl_deepest_of_most(shadow->session, nodes, count);
    return fl__shadow_know_node(shadow, node, version) ? node : 0;
}

void fl__shadow_lock_waits(struct fl_shadow *shadow, uint64_t version)
{
    struct fl_lock_waits *waits = shadow->session->lock_waits;
    pthread_mutex_lock(&waits->lock);
    shadow->lock_wait_count = waits->count;
    for (uint32_t i = 0; i < waits->count; i++) {
        const struct fl_lock_wait_row *row = &waits->rows[i];
        struct fl_shadow_lock_wait *told = &shadow->lock_waits[i];
        if (told->looks == row->looks)
            continue;
        if (told->added == 0)
            told->added = version;
        told->changed = version;
        told->thread = row->thread;
        told->task = row->task;
        told->holder = row->holder;
        told->looks = row->looks;
        told->waited = fl_ticks_to_ns(row->waited);
        told->node = place(shadow, row->nodes, row->looks, version);
        told->holder_node = place(shadow, row->holder_nodes, row->looks, version);
        shadow->dirty = true;
    }
    pthread_mutex_unlock(&waits->lock);
}
