#include "session.h"
#include "cpu_clock.h"
#include "error.h"
#include "event.h"
#include "lock_waits.h"
#include "other.h"
#include "thread.h"

#include <stdlib.h>
#include <time.h>

/* With the index by which they are found, up to 24 bytes a node, 64 MiB. */
#define DEFAULT_NODE_BYTES    (46ull << 20)
#define DEFAULT_THRESHOLD_NS  100000000ull
#define DEFAULT_LONG_LIVED_NS 1000000000ull
#define DEFAULT_ENDED_TASKS   1024u
#define DEFAULT_ENDED_THREADS 64u

static void fill_in_defaults(struct fl_session_options *options)
{
    if (options->node_bytes == 0)
        options->node_bytes = DEFAULT_NODE_BYTES;
    if (options->threshold_ns == 0)
        options->threshold_ns = DEFAULT_THRESHOLD_NS;
    if (options->long_lived_ns == 0)
        options->long_lived_ns = DEFAULT_LONG_LIVED_NS;
    if (options->ended_tasks == 0)
        options->ended_tasks = DEFAULT_ENDED_TASKS;
    if (options->ended_threads == 0)
        options->ended_threads = DEFAULT_ENDED_THREADS;
}

static int init_tables(struct fl_session *session)
{
    if (fl_strings_init(&session->strings) != 0)
        return FL_ENOMEM;
    if (fl_functions_init(&session->functions) != 0)
        goto strings;
    if (fl_groups_init(&session->groups) != 0)
        goto functions;
    if (fl_table_init(&session->nodes, sizeof(struct fl_node), FL_NODE_BITS, FL_NODE_CHUNKS) != 0)
        goto groups;
    if (fl_table_init(&session->tasks, sizeof(struct fl_task), FL_TASK_BITS, FL_TASK_CHUNKS) != 0)
        goto nodes;
    if (fl_table_init(&session->trees, sizeof(struct fl_tree), FL_TREE_BITS, FL_TREE_CHUNKS) != 0)
        goto tasks;
    return 0;
tasks:
    fl_table_fini(&session->tasks);
nodes:
    fl_table_fini(&session->nodes);
groups:
    fl_intern_fini(&session->groups);
functions:
    fl_intern_fini(&session->functions);
strings:
    fl_strings_fini(&session->strings);
    return FL_ENOMEM;
}

int fl_session_create(const struct fl_session_options *options, struct fl_session **session)
{
    struct fl_session *s = calloc(1, sizeof *s);
    if (!s)
        return FL_ENOMEM;
    if (options)
        s->options = *options;
    fill_in_defaults(&s->options);
    int error = fl_clock_init(s->options.clock);
    if (error == 0)
        error = fl_cpu_clock_init_process((enum fl_cpu_kind)s->options.cpu_clock);
    if (error == 0)
        error = init_tables(s);
    if (error == 0) {
        s->lock_waits = calloc(1, sizeof *s->lock_waits);
        error = s->lock_waits ? 0 : FL_ENOMEM;
    }
    if (error != 0) {
        free(s);
        return error;
    }
    pthread_mutex_init(&s->lock_waits->lock, NULL);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    s->epoch_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    s->threshold = fl_ns_to_ticks(s->options.threshold_ns);
    s->long_lived = fl_ns_to_ticks(s->options.long_lived_ns);
    fl_readers_init(&s->readers);
    pthread_mutex_init(&s->lock, NULL);
    atomic_init(&s->state, FL_SESSION_NEW);
    atomic_init(&s->paused, fl_ticks_now());
    *session = s;
    return 0;
}

void fl_session_destroy(struct fl_session *session)
{
    for (uint32_t i = 0; i < FL_THREADS_MAX; i++) {
        struct fl_thread *thread = atomic_load(&session->threads[i]);
        if (!thread)
            continue;
        fl_node_maker_fini(&thread->maker);
        fl__own_trees_fini(&thread->own_trees);
        free(atomic_load(&thread->timeline));
        free(thread);
    }
    fl_table_fini(&session->trees);
    fl_table_fini(&session->tasks);
    fl_table_fini(&session->nodes);
    fl_intern_fini(&session->groups);
    fl_intern_fini(&session->functions);
    fl_strings_fini(&session->strings);
    pthread_mutex_destroy(&session->lock_waits->lock);
    free(session->lock_waits);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

fl_ticks fl_session_now(const struct fl_session *session)
{
    if (atomic_load_explicit(&session->state, memory_order_acquire) != FL_SESSION_RUNNING)
        return atomic_load_explicit(&session->stopped_at, memory_order_acquire);
    return fl_ticks_now() - atomic_load_explicit(&session->paused, memory_order_acquire);
}

/* Lock held, session not running: the thread's CPU time since the stop is in no number. */
static void exclude_stop(struct fl_thread *thread)
{
    uint64_t cpu = fl_cpu_clock_remote((int)atomic_load(&thread->tid));
    uint64_t stop_cpu = atomic_load(&thread->stop_cpu);
    if (cpu > stop_cpu)
        atomic_fetch_add(&thread->excluded_cpu, cpu - stop_cpu);
}

/* Lock held, session not running: trace time goes on from where it stands. */
static void end_pause(struct fl_session *session)
{
    atomic_store(&session->paused, fl_ticks_now() - atomic_load(&session->stopped_at));
}

void fl_session_start(struct fl_session *session)
{
    pthread_mutex_lock(&session->lock);
    uint32_t state = atomic_load(&session->state);
    if (state == FL_SESSION_NEW || state == FL_SESSION_STOPPED) {
        for (uint32_t i = 0; i < atomic_load(&session->thread_count); i++) {
            struct fl_thread *thread = atomic_load(&session->threads[i]);
            if (atomic_load(&thread->state) == FL_THREAD_LIVES)
                exclude_stop(thread);
        }
        end_pause(session);
        atomic_fetch_add(&session->epoch, 1);
        atomic_store(&session->state, FL_SESSION_RUNNING);
    }
    pthread_mutex_unlock(&session->lock);
}

/* Lock held. */
static void stop(struct fl_session *session, enum fl_session_state state)
{
    if (atomic_load(&session->state) == FL_SESSION_RUNNING) {
        for (uint32_t i = 0; i < atomic_load(&session->thread_count); i++) {
            struct fl_thread *thread = atomic_load(&session->threads[i]);
            if (atomic_load(&thread->state) == FL_THREAD_LIVES)
                atomic_store(&thread->stop_cpu, fl_cpu_clock_remote((int)atomic_load(&thread->tid)));
        }
        atomic_store(&session->stopped_at, fl_ticks_now() - atomic_load(&session->paused));
    }
    atomic_store(&session->state, state);
}

void fl_session_stop(struct fl_session *session)
{
    pthread_mutex_lock(&session->lock);
    if (atomic_load(&session->state) == FL_SESSION_RUNNING)
        stop(session, FL_SESSION_STOPPED);
    pthread_mutex_unlock(&session->lock);
}

void fl_session_collected(struct fl_session *session, fl_ticks pause)
{
    fl__add(&session->collecting, pause);
    if (pause > atomic_load_explicit(&session->longest_collection, memory_order_relaxed))
        atomic_store_explicit(&session->longest_collection, pause, memory_order_relaxed);
    fl__add(&session->collections, 1);
}

void fl_session_end(struct fl_session *session)
{
    pthread_mutex_lock(&session->lock);
    stop(session, FL_SESSION_OVER);
    pthread_mutex_unlock(&session->lock);
}

static void resume(struct fl_session *session, struct fl_thread *thread, bool other)
{
    /* The epoch first: should one more start come in between, the thread comes back once more. */
    uint64_t epoch = atomic_load(&session->epoch);
    fl_ticks now = fl_session_now(session);

    fl__write_begin(&thread->version);
    fl__add(&thread->cpu.sync_cpu, atomic_exchange(&thread->excluded_cpu, 0));
    atomic_store_explicit(&thread->epoch, epoch, memory_order_release);
    fl__write_end(&thread->version);
    /* Whatever the rseq word says: it knows nothing of the stop. */
    if (other)
        fl__settle_other(thread, now);
    else
        fl__settle(thread, now);
}

void fl_session_resume(struct fl_session *session, struct fl_thread *thread)
{
    resume(session, thread, false);
}

void fl_other_resume(struct fl_thread *thread)
{
    resume(thread->session, thread, true);
}

void fl__session_catch_up(struct fl_session *session, struct fl_thread *thread, bool other)
{
    bool running = atomic_load(&session->state) == FL_SESSION_RUNNING;
    if (running && atomic_load(&thread->epoch) == atomic_load(&session->epoch))
        return;
    if (!running) {
        exclude_stop(thread);
        end_pause(session);
    }
    resume(session, thread, other);
}

void fl_session_lost(const struct fl_session *session, struct fl_lost *lost)
{
    *lost = (struct fl_lost){.strings = atomic_load_explicit(&session->strings.lost, memory_order_relaxed),
                             .threads = atomic_load_explicit(&session->lost_threads, memory_order_relaxed)};
    for (uint32_t i = 0; i < atomic_load_explicit(&session->thread_count, memory_order_acquire); i++) {
        const struct fl_thread *thread = atomic_load_explicit(&session->threads[i], memory_order_acquire);
        lost->events += atomic_load_explicit(&thread->lost_events, memory_order_relaxed);
        lost->tasks += atomic_load_explicit(&thread->lost_tasks, memory_order_relaxed);
        lost->unmatched += atomic_load_explicit(&thread->unmatched, memory_order_relaxed);
        lost->displaced += atomic_load_explicit(&thread->displaced, memory_order_relaxed);
    }
}
