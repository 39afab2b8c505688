/*
 * A thread that is written by its owner and, on its behalf, by another one, under a lock like the GIL, while a third
 * one reads. Real clocks; under ThreadSanitizer there must be no report. Each picture must add up.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "other.h"
#include "session.h"
#include "shadow.h"

enum { ROUNDS = 60, TASKS = 5 };

static struct {
    pthread_mutex_t gil;
    struct fl_session *session;
    fl_function_id functions[4];
    _Atomic uint32_t tid;
    struct fl_thread *thread; /* gil: the owner's, once somebody has made it */
    bool adopted;             /* gil */
    struct fl_task *tasks[TASKS];
    atomic_bool end, read;
    _Atomic uint32_t wrong;
} world = {.gil = PTHREAD_MUTEX_INITIALIZER};

/* What the embedder does at an event: nothing while profiling is off. */
static void event(uint32_t i)
{
    struct fl_thread *thread = world.thread;
    if (!thread || atomic_load(&world.session->state) != FL_SESSION_RUNNING)
        return;
    if (!world.adopted) {
        fl_thread_adopt(thread);
        world.adopted = true;
    } else if (atomic_load(&thread->epoch) != atomic_load(&world.session->epoch)) {
        fl_session_resume(world.session, thread);
    }
    fl_function_id function = world.functions[i % 3];
    fl_enter(thread, function, true, fl_now(thread));
    fl_leave(thread, function, fl_now(thread));
    if (i % 5 == 0 && world.tasks[i % TASKS])
        fl_switch(thread, world.tasks[i % TASKS], fl_now(thread));
}

static void *own(void *unused)
{
    (void)unused;
    atomic_store(&world.tid, (uint32_t)syscall(SYS_gettid));
    for (uint32_t i = 0; !atomic_load(&world.end); i++) {
        pthread_mutex_lock(&world.gil);
        event(i);
        pthread_mutex_unlock(&world.gil);
        if (i % 64 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    /* The end comes without the lock, as a thread's exit does. */
    if (world.adopted)
        fl_thread_detach(world.thread);
    return NULL;
}

static void *look(void *shadow)
{
    while (atomic_load(&world.read)) {
        if (fl_shadow_refresh(shadow) != 0)
            atomic_fetch_add(&world.wrong, 1);
        const struct fl_shadow *s = shadow;
        uint64_t nodes = 0, threads = 0;
        for (uint32_t i = 1; i < s->node_count; i++)
            nodes += s->nodes[i].cpu + s->nodes[i].blocked + s->nodes[i].idle;
        for (uint32_t i = 0; i < s->thread_count; i++)
            threads += s->threads[i].cpu + s->threads[i].blocked + s->threads[i].idle;
        /* Right within the duration of a look; a busy machine may make that long, but not this long. */
        if (nodes > threads + 200000000 || threads > nodes + 200000000)
            atomic_fetch_add(&world.wrong, 1);
    }
    return NULL;
}

/* With the lock: profiling is switched on, the thread is told. */
static void start(void)
{
    fl_session_start(world.session);
    bool is_new = world.thread == NULL;
    if (is_new)
        world.thread = fl_other_attach(world.session, atomic_load(&world.tid), 0);
    struct fl_thread *thread = world.thread;
    if (!thread || !fl_other_begin(thread)) {
        atomic_fetch_add(&world.wrong, 1);
        return;
    }
    if (!is_new)
        fl_other_resume(thread);
    for (int i = 0; i < TASKS; i++) {
        if (!world.tasks[i])
            world.tasks[i] = fl_task_create(thread, fl_now(thread), NULL);
        if (world.tasks[i] != atomic_load(&thread->task))
            fl_seed_parked(thread, world.tasks[i], world.functions, 1 + (uint32_t)i % 4, fl_now(thread));
    }
    fl_other_place(thread, world.tasks[0], world.functions, 2, fl_now(thread));
    fl_other_end(thread);
}

static void test_owner_other_and_reader(void **state)
{
    (void)state;
    pthread_t owner, reader;
    struct fl_shadow *shadow;
    assert_int_equal(fl_session_create(NULL, &world.session), 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct fl_function function = {.name = i + 1, .qualname = i + 1, .file = 1, .line = i};
        world.functions[i] = fl_functions_add(&world.session->functions, &function);
    }
    assert_int_equal(fl_shadow_create(world.session, &shadow), 0);
    atomic_store(&world.read, true);
    assert_int_equal(pthread_create(&owner, NULL, own, NULL), 0);
    while (atomic_load(&world.tid) == 0)
        sched_yield();
    pthread_mutex_lock(&world.gil);
    start();
    pthread_mutex_unlock(&world.gil);
    assert_int_equal(pthread_create(&reader, NULL, look, shadow), 0);
    for (int i = 0; i < ROUNDS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        pthread_mutex_lock(&world.gil);
        fl_session_stop(world.session);
        pthread_mutex_unlock(&world.gil);
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        pthread_mutex_lock(&world.gil);
        start();
        pthread_mutex_unlock(&world.gil);
    }
    atomic_store(&world.end, true);
    pthread_join(owner, NULL);
    assert_true(world.adopted);
    assert_false(fl_other_begin(world.thread));
    atomic_store(&world.read, false);
    pthread_join(reader, NULL);
    assert_int_equal(atomic_load(&world.wrong), 0);
    /* WHEN all is over, THEN the sums are exact. */
    assert_int_equal(fl_shadow_refresh(shadow), 0);
    uint64_t nodes = 0;
    for (uint32_t i = 1; i < shadow->node_count; i++)
        nodes += shadow->nodes[i].cpu + shadow->nodes[i].blocked + shadow->nodes[i].idle;
    uint64_t wall = shadow->threads[0].cpu + shadow->threads[0].blocked + shadow->threads[0].idle;
    assert_true(nodes <= wall + wall / 100 && wall <= nodes + wall / 100);
    fl_shadow_destroy(shadow);
    fl_session_destroy(world.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_owner_other_and_reader)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
