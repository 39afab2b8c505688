#include "watch.h"

#include <stdlib.h>

enum { LOOKS = 32, ENOUGH = 3, KEPT = 8 };

/* Looks into one slice: the newest LOOKS of them, thinned out while it goes on, so that they cover all of it. */
struct looks {
    fl_ticks begin;
    uint32_t count, stride, skip;
    fl_node_id nodes[LOOKS];
};

/* The slices of one thread that were looked into last; the newest at `newest`. */
struct watched {
    uint32_t newest;
    struct looks looks[KEPT];
};

struct fl_watch {
    struct fl_session *session;
    struct watched *threads[FL_THREADS_MAX];
};

struct fl_watch *fl_watch_create(struct fl_session *session)
{
    struct fl_watch *watch = calloc(1, sizeof *watch);
    if (watch)
        watch->session = session;
    return watch;
}

void fl_watch_destroy(struct fl_watch *watch)
{
    if (!watch)
        return;
    for (uint32_t i = 0; i < FL_THREADS_MAX; i++)
        free(watch->threads[i]);
    free(watch);
}

static void remember(struct looks *looks, fl_node_id node)
{
    if (looks->skip > 0) {
        looks->skip--;
        return;
    }
    if (looks->count == LOOKS) {
        for (uint32_t i = 0; i < LOOKS / 2; i++)
            looks->nodes[i] = looks->nodes[(size_t)2 * i];
        looks->count = LOOKS / 2;
        looks->stride = looks->stride * 2 + 1;
    }
    looks->nodes[looks->count++] = node;
    looks->skip = looks->stride;
}

void fl_watch_look(struct fl_watch *watch)
{
    uint32_t count = atomic_load_explicit(&watch->session->thread_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        const struct fl_thread *thread = atomic_load_explicit(&watch->session->threads[i], memory_order_acquire);
        struct fl_thread_view view;
        fl_thread_read(thread, NULL, &view);
        if (view.state != FL_THREAD_LIVES || view.in_poll)
            continue;
        if (!watch->threads[i])
            watch->threads[i] = calloc(1, sizeof(struct watched));
        struct watched *watched = watch->threads[i];
        if (!watched)
            continue;
        struct looks *looks = &watched->looks[watched->newest];
        if (looks->begin != view.slice) {
            watched->newest = (watched->newest + 1) % KEPT;
            looks = &watched->looks[watched->newest];
            *looks = (struct looks){.begin = view.slice};
        }
        remember(looks, view.node_id);
    }
}

static fl_node_id parent_of(struct fl_session *session, fl_node_id id)
{
    const struct fl_node *node = fl_table_row(&session->nodes, id);
    return node ? fl_node_parent(node) : 0;
}

/* Is `id` below `ancestor`, or itself? Ids shrink on the way up. */
static bool is_under(struct fl_session *session, fl_node_id id, fl_node_id ancestor)
{
    while (id > ancestor)
        id = parent_of(session, id);
    return id == ancestor;
}

fl_node_id fl_deepest_of_most(struct fl_session *session, const fl_node_id *nodes, uint32_t count)
{
    /* Going up from any of the nodes, the first that holds enough is the deepest on that path; of two such nodes one
     * lies under the other or they share less than all looks, so the largest id is the deeper one. */
    fl_node_id best = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (fl_node_id id = nodes[i]; id > best; id = parent_of(session, id)) {
            uint32_t under = 0;
            for (uint32_t j = 0; j < count; j++)
                under += is_under(session, nodes[j], id);
            if (under * 10 >= count * 6) {
                best = id;
                break;
            }
        }
    }
    return best;
}

fl_node_id fl_watch_node(const struct fl_watch *watch, uint32_t index, fl_ticks begin)
{
    const struct watched *watched = watch->threads[index];
    const struct looks *looks = NULL;
    for (uint32_t i = 0; watched && i < KEPT; i++)
        if (watched->looks[i].begin == begin && watched->looks[i].count > 0)
            looks = &watched->looks[i];
    if (!looks || looks->count < ENOUGH)
        return 0;
    return fl_deepest_of_most(watch->session, looks->nodes, looks->count);
}
