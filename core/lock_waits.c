#include "lock_waits.h"
#include "global_lock.h"
#include "session.h"
#include "thread.h"

#include <stdlib.h>

enum { QUESTIONS = 8, KEPT = 8, INTERVAL_MAX_MS = 250 };

/* One thread as of the last look that could tell. */
struct looked {
    uint32_t id; /* thread id */
    fl_ticks at;
    bool waits;
    uint32_t holder; /* thread id */
    uint32_t newest;
    struct {
        fl_ticks begin;
        struct fl_lock_slice seen;
    } slices[KEPT];
};

struct fl_lock_watch {
    struct fl_session *session;
    uint32_t next; /* index of the thread that is asked first */
    struct looked *threads[FL_THREADS_MAX];
};

/* Who holds the lock, as far as the session knows it. */
struct holder {
    uint32_t tid, id;
    fl_node_id node;
};

struct fl_lock_watch *fl_lock_watch_create(struct fl_session *session)
{
    struct fl_lock_watch *watch = calloc(1, sizeof *watch);
    if (watch)
        watch->session = session;
    return watch;
}

void fl_lock_watch_destroy(struct fl_lock_watch *watch)
{
    if (!watch)
        return;
    for (uint32_t i = 0; i < FL_THREADS_MAX; i++)
        free(watch->threads[i]);
    free(watch);
}

static const struct fl_thread *thread_at(const struct fl_lock_watch *watch, uint32_t index)
{
    return atomic_load_explicit(&watch->session->threads[index], memory_order_acquire);
}

static uint32_t thread_count(const struct fl_lock_watch *watch)
{
    return atomic_load_explicit(&watch->session->thread_count, memory_order_acquire);
}

static struct holder find_holder(const struct fl_lock_watch *watch, uint32_t tid)
{
    struct holder holder = {.tid = tid};
    for (uint32_t i = 0; i < thread_count(watch); i++) {
        struct fl_thread_view view;
        fl_thread_read(thread_at(watch, i), NULL, &view);
        if (view.state == FL_THREAD_LIVES && view.tid == tid) {
            holder.id = view.id;
            holder.node = view.node_id;
        }
    }
    return holder;
}

/* Lock held. The row of these three, made where there is none; NULL where there is no room. */
static struct fl_lock_wait_row *row_of(struct fl_lock_waits *waits, uint32_t thread, uint32_t task, uint32_t holder)
{
    for (uint32_t i = 0; i < waits->count; i++) {
        struct fl_lock_wait_row *row = &waits->rows[i];
        if (row->thread == thread && row->task == task && row->holder == holder)
            return row;
    }
    /* The last places are for rows of whole threads. */
    if (waits->count >= FL_LOCK_WAITS - (task != 0 ? FL_LOCK_WAITS / 4 : 0))
        return task != 0 ? row_of(waits, thread, 0, holder) : NULL;
    struct fl_lock_wait_row *row = &waits->rows[waits->count++];
    *row = (struct fl_lock_wait_row){.thread = thread, .task = task, .holder = holder};
    return row;
}

static void add_to_task(struct fl_lock_waits *waits, const struct fl_thread_view *view, const struct holder *holder,
                        fl_ticks interval)
{
    uint32_t task = atomic_load_explicit(&view->task->id, memory_order_acquire);
    pthread_mutex_lock(&waits->lock);
    struct fl_lock_wait_row *row = row_of(waits, view->id, task, holder->id);
    if (row) {
        row->nodes[row->looks % FL_LOCK_LOOKS] = view->node_id;
        row->holder_nodes[row->looks % FL_LOCK_LOOKS] = holder->node;
        row->looks++;
        row->waited += interval;
    }
    pthread_mutex_unlock(&waits->lock);
}

/* Of a slice that began since the last look only that much can have been waiting. */
static void add_to_slice(struct looked *looked, const struct fl_thread_view *view, const struct holder *holder,
                         fl_ticks now, fl_ticks interval)
{
    fl_ticks age = now - view->slice;
    if (looked->slices[looked->newest].begin != view->slice || looked->slices[looked->newest].seen.waited == 0) {
        looked->newest = (looked->newest + 1) % KEPT;
        looked->slices[looked->newest].begin = view->slice;
        looked->slices[looked->newest].seen = (struct fl_lock_slice){0};
    }
    struct fl_lock_slice *seen = &looked->slices[looked->newest].seen;
    seen->waited += interval < age ? interval : age;
    seen->holder = holder->id;
    seen->holder_node = holder->node;
}

static struct looked *looked_at(struct fl_lock_watch *watch, uint32_t index)
{
    if (!watch->threads[index])
        watch->threads[index] = calloc(1, sizeof(struct looked));
    return watch->threads[index];
}

/* False: that cannot be told now, and the next look stands for this one too. */
static bool look_at(struct fl_lock_watch *watch, struct looked *looked, const struct fl_thread_view *view,
                    const struct holder *holder, uint32_t *questions)
{
    enum fl_lock_wait wait = FL_LOCK_NOT_AWAITED;
    looked->waits = false;
    if (holder->tid != 0 && holder->tid != view->tid) {
        if (*questions == 0)
            return false;
        (*questions)--;
        wait = watch->session->options.global_lock->wait_of(view->tid);
    }
    if (wait == FL_LOCK_WAIT_UNKNOWN)
        return false;
    looked->waits = wait == FL_LOCK_AWAITED;
    looked->holder = holder->id;
    return true;
}

void fl_lock_watch_look(struct fl_lock_watch *watch)
{
    const struct fl_session *session = watch->session;
    const struct fl_global_lock *lock = session->options.global_lock;
    if (!lock || atomic_load_explicit(&session->state, memory_order_acquire) != FL_SESSION_RUNNING)
        return;
    const fl_ticks most = fl_ns_to_ticks(INTERVAL_MAX_MS * 1000000ull);
    struct holder holder = find_holder(watch, lock->holder());
    uint32_t count = thread_count(watch), questions = QUESTIONS;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t index = (watch->next + n) % count;
        struct looked *looked = looked_at(watch, index);
        struct fl_thread_view view;
        fl_thread_read(thread_at(watch, index), NULL, &view);
        if (!looked || view.state != FL_THREAD_LIVES)
            continue;
        if (!look_at(watch, looked, &view, &holder, &questions) && looked->id == view.id)
            continue;
        /* Where it is now may be younger than the answer; a thread that waits for its turn has no events meanwhile. */
        fl_ticks now = fl_session_now(session), since = looked->at;
        bool first = looked->id != view.id;
        looked->id = view.id;
        looked->at = now;
        if (first || !looked->waits || now <= since || now < view.slice)
            continue;
        fl_ticks interval = now - since < most ? now - since : most;
        add_to_task(session->lock_waits, &view, &holder, interval);
        add_to_slice(looked, &view, &holder, now, interval);
    }
    /* Where there were too many, the rest comes first the next time. */
    watch->next = questions == 0 && count > 0 ? (watch->next + QUESTIONS) % count : 0;
}

bool fl_lock_watch_slice(const struct fl_lock_watch *watch, uint32_t index, fl_ticks begin, struct fl_lock_slice *slice)
{
    const struct looked *looked = watch ? watch->threads[index] : NULL;
    for (uint32_t i = 0; looked && i < KEPT; i++) {
        if (looked->slices[i].begin == begin && looked->slices[i].seen.waited > 0) {
            *slice = looked->slices[i].seen;
            return true;
        }
    }
    return false;
}

bool fl_lock_watch_waits(const struct fl_lock_watch *watch, uint32_t index, uint32_t *holder)
{
    const struct looked *looked = watch ? watch->threads[index] : NULL;
    if (!looked || !looked->waits)
        return false;
    *holder = looked->holder;
    return true;
}
