#include "lock_waits.h"
#include "global_lock.h"
#include "session.h"
#include "thread.h"

#include <stdlib.h>

enum { QUESTIONS = 8, INTERVAL_MAX_MS = 250 };

/* One thread as of the last look. */
struct looked {
    uint32_t id; /* thread id */
    fl_ticks at;
    fl_ticks unknown, slice; /* what looks into this slice stand for that could not tell */
    bool waits;
    uint32_t holder; /* thread id */
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

/* Lock held. The row of this slice, made where there is none. */
static struct fl_lock_slice *slice_of(struct fl_lock_waits *waits, uint32_t index, fl_ticks begin)
{
    for (uint64_t n = waits->slice_count; n > 0 && n + FL_LOCK_SLICES > waits->slice_count; n--) {
        struct fl_lock_slice *row = &waits->slices[(n - 1) % FL_LOCK_SLICES];
        if (row->index == index && row->begin == begin)
            return row;
    }
    struct fl_lock_slice *row = &waits->slices[waits->slice_count++ % FL_LOCK_SLICES];
    *row = (struct fl_lock_slice){.index = index, .begin = begin};
    return row;
}

static void add(struct fl_lock_waits *waits, uint32_t index, const struct fl_thread_view *view,
                const struct holder *holder, fl_ticks interval)
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
    struct fl_lock_slice *slice = slice_of(waits, index, view->slice);
    slice->waited += interval;
    slice->holder = holder->id;
    slice->holder_node = holder->node;
    pthread_mutex_unlock(&waits->lock);
}

static struct looked *looked_at(struct fl_lock_watch *watch, uint32_t index)
{
    if (!watch->threads[index])
        watch->threads[index] = calloc(1, sizeof(struct looked));
    return watch->threads[index];
}

/* Does it wait? Unknown, too, where too many were asked already. It does not while it holds the lock itself, nor while
 * nobody does. */
static enum fl_lock_wait ask(const struct fl_lock_watch *watch, const struct fl_thread_view *view,
                             const struct holder *holder, uint32_t *questions)
{
    if (holder->tid == 0 || holder->tid == view->tid)
        return FL_LOCK_NOT_AWAITED;
    if (*questions == 0)
        return FL_LOCK_WAIT_UNKNOWN;
    (*questions)--;
    return watch->session->options.global_lock->wait_of(view->tid);
}

/* The look at `now` stands for `interval`. */
static void look_at(struct fl_lock_watch *watch, uint32_t index, struct looked *looked,
                    const struct fl_thread_view *view, const struct holder *holder, fl_ticks interval,
                    uint32_t *questions)
{
    enum fl_lock_wait wait = ask(watch, view, holder, questions);
    if (looked->slice != view->slice)
        looked->unknown = 0;
    looked->slice = view->slice;
    looked->waits = wait == FL_LOCK_AWAITED;
    looked->holder = holder->id;
    if (wait == FL_LOCK_WAIT_UNKNOWN) {
        looked->unknown += interval;
    } else if (wait == FL_LOCK_AWAITED) {
        if (interval + looked->unknown > 0)
            add(watch->session->lock_waits, index, view, holder, interval + looked->unknown);
        looked->unknown = 0;
    } else if (holder->tid != 0 && holder->tid != view->tid) {
        looked->unknown = 0; /* it sleeps for another reason */
    }
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
        /* Where it is now may be younger than the answer; but who waits for its turn has no events meanwhile. */
        fl_ticks now = fl_session_now(session);
        if (looked->id != view.id)
            *looked = (struct looked){.id = view.id, .at = now}; /* the first look stands for nothing */
        fl_ticks interval = now > looked->at ? now - looked->at : 0;
        looked->at = now;
        look_at(watch, index, looked, &view, &holder, interval < most ? interval : most, &questions);
    }
    /* Where there were too many, the rest comes first the next time. */
    watch->next = questions == 0 && count > 0 ? (watch->next + QUESTIONS) % count : 0;
}

struct fl_lock_slice fl_lock_waits_slice(struct fl_lock_waits *waits, uint32_t index, fl_ticks begin)
{
    struct fl_lock_slice slice = {0};
    pthread_mutex_lock(&waits->lock);
    for (uint32_t i = 0; i < FL_LOCK_SLICES; i++)
        if (waits->slices[i].index == index && waits->slices[i].begin == begin && waits->slices[i].waited > 0)
            slice = waits->slices[i];
    pthread_mutex_unlock(&waits->lock);
    return slice;
}

bool fl_lock_watch_waits(const struct fl_lock_watch *watch, uint32_t index, uint32_t *holder)
{
    const struct looked *looked = watch ? watch->threads[index] : NULL;
    if (!looked || !looked->waits)
        return false;
    *holder = looked->holder;
    return true;
}
