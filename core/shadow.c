#include "shadow.h"
#include "error.h"
#include "lock_waits.h"
#include "shadow_read.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

int fl_shadow_create(struct fl_session *session, struct fl_shadow **shadow)
{
    struct fl_shadow *s = calloc(1, sizeof *s);
    if (!s)
        return FL_ENOMEM;
    s->session = session;
    s->place = fl_reader_join(&session->readers);
    if (s->place < 0) {
        free(s);
        return FL_ELIMIT;
    }
    s->watch = fl_watch_create(session);
    s->slices_seen = calloc(FL_THREADS_MAX, sizeof *s->slices_seen);
    s->lock_waits = calloc(FL_LOCK_WAITS, sizeof *s->lock_waits);
    if (!s->watch || !s->slices_seen || !s->lock_waits) {
        fl_shadow_destroy(s);
        return FL_ENOMEM;
    }
    *shadow = s;
    return 0;
}

void fl_shadow_destroy(struct fl_shadow *shadow)
{
    if (!shadow)
        return;
    fl_reader_leave(&shadow->session->readers, shadow->place);
    for (uint32_t id = 0; id < shadow->node_count; id++)
        free(shadow->nodes[id].own);
    for (uint32_t i = 0; shadow->history && i < shadow->thread_count; i++)
        free(shadow->history[i]);
    free(shadow->history);
    free(shadow->nodes);
    free(shadow->tasks);
    free(shadow->groups);
    free(shadow->threads);
    free(shadow->views);
    free(shadow->own);
    free(shadow->told);
    free(shadow->folds);
    free(shadow->calls);
    free(shadow->lock_waits);
    fl_lock_watch_destroy(shadow->lock_watch);
    free(shadow->slices_seen);
    free(shadow->timeline);
    free(shadow->timeline_seen);
    fl_watch_destroy(shadow->watch);
    free(shadow);
}

/* Do the nodes add up to the threads at `now`, within what can have happened since this look began? */
static bool adds_up(const struct fl_shadow *shadow, fl_ticks begin, fl_ticks now)
{
    fl_ticks took = fl_session_now(shadow->session) - begin;
    for (uint32_t i = 0; i < shadow->thread_count; i++) {
        const struct fl_thread_view *view = &shadow->views[i];
        fl_ticks wanted = view->nodes_own, got = shadow->own[i];
        if (view->node_id >= shadow->node_count && now > view->since)
            wanted += now - view->since; /* the current node is too young to be told: what is open is missing, too */
        if ((wanted > got ? wanted - got : got - wanted) > took)
            return false;
    }
    return true;
}

/* One look at threads and nodes. Returns the trace time up to which it goes, and 0 or FL_ENOMEM in `error`; `whole` is
 * false where own trees were folded faster than could be followed. */
static fl_ticks look(struct fl_shadow *shadow, uint64_t version, bool *whole, int *error)
{
    *whole = true;
    *error = fl__shadow_reserve(shadow);
    if (*error != 0)
        return 0;
    fl__shadow_did(FL__ROOM_MADE);
    for (uint32_t i = 0; i < shadow->thread_count; i++)
        shadow->folds[i] = fl__shadow_folds(fl__shadow_thread(shadow, i));
    for (uint32_t i = 0; i < shadow->thread_count; i++)
        fl_thread_read(fl__shadow_thread(shadow, i), NULL, &shadow->views[i]);
    fl__shadow_did(FL__FIRST_VIEWS);
    fl__shadow_scan_nodes(shadow, version);
    fl__shadow_did(FL__NODES_SCANNED);
    fl_ticks now = fl_session_now(shadow->session);
    for (uint32_t i = 0; i < shadow->thread_count; i++)
        *whole &= fl__shadow_thread_row(shadow, i, now, version);
    fl__shadow_did(FL__THREADS_READ);
    return now;
}

int fl_shadow_refresh(struct fl_shadow *shadow)
{
    int error;
    fl_ticks now;
    /* A version that nobody has seen yet; kept only if something changed. */
    uint64_t version = shadow->version + 1;
    shadow->dirty = false;
    fl_shadow_watch(shadow);
    enum fl_session_state state =
        (enum fl_session_state)atomic_load_explicit(&shadow->session->state, memory_order_acquire);
    /* A look that does not add up is rare; one that still does not will in the next refresh. */
    bool entered = fl__shadow_enter(shadow);
    for (int tries = 0;; tries++) {
        bool whole;
        fl_ticks begin = fl_session_now(shadow->session);
        now = look(shadow, version, &whole, &error);
        if (error != 0) {
            fl__shadow_exit(shadow, entered);
            return error;
        }
        if (tries == 3 || (whole && adds_up(shadow, begin, now)))
            break;
        shadow->taken_again++;
    }
    fl__shadow_tasks(shadow, now, version);
    fl__shadow_did(FL__TASKS_READ);
    fl__shadow_groups(shadow, version);
    fl__shadow_timeline(shadow, version);
    fl__shadow_lock_waits(shadow, version);
    fl__shadow_exit(shadow, entered);

    /* Last: every id in the rows above was published before the row. */
    uint32_t strings = fl_strings_count(&shadow->session->strings);
    uint32_t functions = fl_intern_count(&shadow->session->functions);
    struct fl_lost lost;
    fl_session_lost(shadow->session, &lost);
    shadow->dirty |= strings != shadow->strings || functions != shadow->functions;
    shadow->dirty |= shadow->slices_dirty || memcmp(&lost, &shadow->lost, sizeof lost) != 0;
    shadow->dirty |= state != shadow->state;
    shadow->slices_dirty = false;
    shadow->state = state;
    shadow->strings = strings;
    shadow->functions = functions;
    shadow->lost = lost;
    /* A correction of the clock's rate may turn the same instant into a little less; for a reader, time goes on. */
    uint64_t now_ns = fl_ticks_to_ns(now);
    if (now_ns < shadow->now)
        now_ns = shadow->now;
    if (now_ns != shadow->now || shadow->version == 0)
        shadow->dirty = true;
    shadow->now = now_ns;
    if (shadow->dirty)
        shadow->version = version;
    return 0;
}
