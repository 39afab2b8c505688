/*
 * The core without an interpreter: what writers cost each other, and what a reader costs them and itself.
 *
 * usage: core_bench rseq|short MILLISECONDS TASKS. Prints one JSON object; times are ns, us or ms as the names say.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpu_clock.h"
#include "event.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

enum { FUNCTIONS = 64, BATCH = 10000, PATHS = 100000 };

static struct fl_session *session;
static fl_function_id functions[FUNCTIONS];

struct writer {
    uint64_t cpu_ns;   /* that it takes */
    bool looks;        /* notes its longest pause between two events */
    double event_ns;   /* out: CPU time of an event */
    double longest_us; /* out: of wall time */
    pthread_barrier_t *begin;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "core_bench: %s\n", what);
    exit(1);
}

static struct fl_thread *attach(void)
{
    uint32_t name = fl_strings_add(&session->strings, "writer", 6);
    struct fl_thread *thread = fl_thread_attach(session, (uint32_t)syscall(SYS_gettid), name);
    if (!thread)
        fail("no room for a thread");
    return thread;
}

/* A call and return of each of four functions, nested: eight events. */
static void events(struct fl_thread *thread)
{
    for (int i = 0; i < 4; i++)
        fl_enter(thread, functions[i], true, fl_now(thread));
    for (int i = 4; i-- > 0;)
        fl_leave(thread, functions[i], fl_now(thread));
}

static void *write_events(void *argument)
{
    struct writer *writer = argument;
    struct fl_thread *thread = attach();
    events(thread);
    if (writer->begin)
        pthread_barrier_wait(writer->begin);
    uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), used = 0, count = 0, longest = 0;
    while (used < writer->cpu_ns) {
        for (int i = 0; i < BATCH / 8; i++) {
            if (writer->looks) {
                uint64_t before = now_ns(CLOCK_MONOTONIC);
                events(thread);
                uint64_t took = now_ns(CLOCK_MONOTONIC) - before;
                longest = took > longest ? took : longest;
            } else {
                events(thread);
            }
        }
        count += BATCH / 8 * 8;
        used = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    }
    writer->event_ns = (double)used / (double)count;
    writer->longest_us = (double)longest / 1e3;
    fl_thread_detach(thread);
    return NULL;
}

/* CPU ns per event of one writer, the mean over all that run at a time. */
static double writers(unsigned count, uint64_t cpu_ns)
{
    pthread_t threads[2];
    struct writer of[2];
    pthread_barrier_t begin;
    double sum = 0;
    pthread_barrier_init(&begin, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        of[i] = (struct writer){.cpu_ns = cpu_ns, .begin = &begin};
        if (pthread_create(&threads[i], NULL, write_events, &of[i]) != 0)
            fail("no thread");
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        sum += of[i].event_ns;
    }
    pthread_barrier_destroy(&begin);
    return sum / count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* CPU ms of a look, the median of ten. */
static double look_ms(struct fl_shadow *shadow)
{
    double took[10];
    for (int i = 0; i < 10; i++) {
        uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
        if (fl_shadow_refresh(shadow) != 0)
            fail("no memory");
        took[i] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e6;
    }
    qsort(took, 10, sizeof *took, compare_doubles);
    return (took[4] + took[5]) / 2;
}

/* The writer's longest time for eight events, while somebody looks ten times a second, or nobody does. */
static double longest_us(struct fl_shadow *shadow, uint64_t cpu_ns)
{
    struct writer writer = {.cpu_ns = cpu_ns, .looks = true};
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_events, &writer) != 0)
        fail("no thread");
    for (uint64_t end = now_ns(CLOCK_MONOTONIC) + cpu_ns; shadow && now_ns(CLOCK_MONOTONIC) < end;) {
        if (fl_shadow_refresh(shadow) != 0)
            fail("no memory");
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    pthread_join(thread, NULL);
    return writer.longest_us;
}

/* Nodes at PATHS different paths: each function below each, again and again. */
static void make_nodes(struct fl_thread *thread)
{
    for (uint32_t path = 0; path < PATHS; path++) {
        uint32_t digits[] = {path / 4096 % 64, path / 64 % 64, path % 64};
        for (int i = 0; i < 3; i++)
            fl_enter(thread, functions[digits[i]], true, fl_now(thread));
        for (int i = 3; i-- > 0;)
            fl_leave(thread, functions[digits[i]], fl_now(thread));
    }
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail("usage: core_bench rseq|short MILLISECONDS TASKS");
    const struct fl_session_options options = {
        .cpu_clock = strcmp(arguments[1], "rseq") == 0 ? FL_CPU_RSEQ : FL_CPU_SHORT,
    };
    uint64_t cpu_ns = (uint64_t)atol(arguments[2]) * 1000000u;
    long tasks = atol(arguments[3]);
    struct fl_shadow *shadow;
    if (fl_session_create(&options, &session) != 0)
        fail("this CPU clock does not exist here");
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "f%d", i);
        struct fl_function row = {.kind = FL_FUNCTION_MADE};
        row.name = row.qualname = fl_strings_add(&session->strings, name, (size_t)length);
        functions[i] = fl_functions_add(&session->functions, &row);
    }
    fl_session_start(session);

    /* One and two take turns, because the machine's speed drifts. */
    enum { TURNS = 5 };
    double one[TURNS], two[TURNS];
    for (int i = 0; i < TURNS; i++) {
        one[i] = writers(1, cpu_ns / TURNS);
        two[i] = writers(2, cpu_ns / TURNS);
    }
    qsort(one, TURNS, sizeof *one, compare_doubles);
    qsort(two, TURNS, sizeof *two, compare_doubles);

    struct fl_thread *thread = attach();
    make_nodes(thread);
    if (fl_shadow_create(session, &shadow) != 0 || fl_shadow_refresh(shadow) != 0)
        fail("no memory");
    uint32_t nodes = shadow->nodes_alive;
    double look = look_ms(shadow);
    double quiet = longest_us(NULL, cpu_ns), looked = longest_us(shadow, cpu_ns);

    for (long i = 0; i < tasks; i++) {
        struct fl_task *task = fl_task_create(thread, fl_now(thread), NULL);
        if (!task)
            fail("no room for a task");
        fl_switch(thread, task, fl_now(thread));
        fl_enter(thread, functions[i % FUNCTIONS], true, fl_now(thread));
    }
    double look_with_tasks = look_ms(shadow);
    printf("{\"one_ns\": %.2f, \"two_ns\": %.2f, \"nodes\": %u, \"look_ms\": %.3f, \"quiet_us\": %.1f, "
           "\"looked_us\": %.1f, \"tasks\": %u, \"tasks_ms\": %.3f}\n",
           one[TURNS / 2], two[TURNS / 2], nodes, look, quiet, looked, shadow->tasks_alive,
           look_with_tasks > look ? look_with_tasks - look : 0.0);
    fl_shadow_destroy(shadow);
    return 0;
}
