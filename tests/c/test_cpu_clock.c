/*
 * The thread CPU clock: both ways, each forced in a process of its own, held against CLOCK_THREAD_CPUTIME_ID while a
 * thread computes, sleeps and is preempted by two busy neighbours on the same processor.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "error.h"
#include "event.h"
#include "in_child.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

#define MS 1000000u

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static atomic_bool stop;
static _Thread_local volatile unsigned sink;

static void *neighbour(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        sink += 1;
    return NULL;
}

static void spin(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        sink += i;
}

static void stay_on_one_processor(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Calls of all lengths around the bounds at which the kernel is asked, and sleeps, for `ns`. */
static void mixed_work(struct fl_thread *thread, const fl_function_id *functions, uint64_t ns)
{
    unsigned random = 12345;
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + ns; clock_ns(CLOCK_MONOTONIC) < end;) {
        for (int i = 0; i < 50; i++) {
            random = random * 1103515245u + 12345u;
            unsigned kind = random >> 16 & 63, long_one = kind == 0 ? 200000 : kind < 8 ? 3000 : 60;
            fl_enter(thread, functions[1], true, fl_now(thread));
            spin((random >> 8 & 0xff) * long_one / 256);
            fl_leave(thread, functions[1], fl_now(thread));
        }
        fl_enter(thread, functions[2], true, fl_now(thread));
        nanosleep(&(struct timespec){.tv_nsec = (long)(random >> 10 & 0xfffff)}, NULL);
        fl_leave(thread, functions[2], fl_now(thread));
    }
}

struct times {
    uint64_t cpu, wall;
};

static struct times times_now(void)
{
    return (struct times){clock_ns(CLOCK_THREAD_CPUTIME_ID), clock_ns(CLOCK_MONOTONIC)};
}

/*
 * Within 1 % of what lies between the inner and the outer pair of readings. Two pairs, because the neighbours may have
 * the processor for milliseconds between a reading of ours and the reading that the core takes next.
 */
static bool within_one_percent(uint64_t inner, uint64_t got, uint64_t outer)
{
    return got >= inner - inner / 100 && got <= outer + outer / 100;
}

static int follows_the_kernel(struct fl_session *session)
{
    struct fl_shadow *shadow;
    HOLDS(fl_shadow_create(session, &shadow) == 0);
    fl_function_id functions[3];
    for (uint32_t i = 0; i < 3; i++)
        functions[i] = fl_functions_add(&session->functions, &(struct fl_function){.line = i + 1});
    fl_session_start(session);
    stay_on_one_processor();
    pthread_t neighbours[2];
    for (int i = 0; i < 2; i++)
        HOLDS(pthread_create(&neighbours[i], NULL, neighbour, NULL) == 0);

    struct times before = times_now();
    struct fl_thread *thread = fl_thread_attach(session, (uint32_t)syscall(SYS_gettid), 0);
    HOLDS(thread != NULL);
    struct times begin = times_now();
    fl_enter(thread, functions[0], true, fl_now(thread));
    mixed_work(thread, functions, 1500 * MS);
    struct times end = times_now();
    fl__settle(thread, fl_now(thread));
    uint64_t cpu = end.cpu - begin.cpu, wall = end.wall - begin.wall;
    fl_clock_recheck();
    HOLDS(fl_shadow_refresh(shadow) == 0);
    /* The thread still runs as far as the core knows: what the copy itself took is counted, milliseconds under ASan. */
    struct times after = times_now();
    const struct fl_shadow_thread *row = &shadow->threads[0];
    uint64_t got_cpu = row->cpu, got_wall = row->cpu + row->blocked;

    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(neighbours[i], NULL);
    fprintf(stderr, "%s: cpu %.3f ms of %.3f ms, counted %.3f of %.3f ms\n", fl_cpu_clock_name(), (double)cpu / MS,
            (double)wall / MS, (double)got_cpu / MS, (double)got_wall / MS);
    HOLDS(cpu > 20 * MS && cpu < wall * 3 / 4); /* the neighbours have had their part */
    HOLDS(within_one_percent(cpu, got_cpu, after.cpu - before.cpu));
    HOLDS(within_one_percent(wall, got_wall, after.wall - before.wall));

    const _Atomic uint64_t *word = thread->cpu.word;
    uint64_t ours = atomic_load(&thread->cpu.mine);
    bool by_word = word != &thread->cpu.mine;
    fl_thread_detach(thread);
    HOLDS(!by_word || atomic_load(word) != ours);
    fl_shadow_destroy(shadow);
    return 0;
}

static int by_rseq(void)
{
    struct fl_session *session;
    int error = fl_session_create(&(struct fl_session_options){.cpu_clock = FL_CPU_RSEQ}, &session);
    if (error == FL_ESTATE)
        return NOT_HERE;
    HOLDS(error == 0);
    HOLDS(strcmp(fl_cpu_clock_name(), "rseq") == 0);
    HOLDS(fl_cpu_clock_reading_ns() < 10000);
    int answer = follows_the_kernel(session);
    fl_session_destroy(session);
    return answer;
}

static int by_short_intervals(void)
{
    struct fl_session *session;
    HOLDS(fl_session_create(&(struct fl_session_options){.cpu_clock = FL_CPU_SHORT}, &session) == 0);
    HOLDS(strcmp(fl_cpu_clock_name(), "short") == 0);
    int answer = follows_the_kernel(session);
    fl_session_destroy(session);
    return answer;
}

/* What the word tells, step by step. */
static int the_word(void)
{
    HOLDS(fl_clock_init(FL_CLOCK_AUTO) == 0);
    if (fl_cpu_clock_init_process(FL_CPU_RSEQ) == FL_ESTATE)
        return NOT_HERE;
    struct fl_cpu_clock clock = {0};
    struct fl_cpu_sync sync;
    fl_cpu_clock_attach(&clock, 0);
    _Atomic uint64_t *word = (_Atomic uint64_t *)clock.word;
    HOLDS(word != &clock.mine);
    /* Not preempted in this short stretch in most of the tries. */
    int kept = 0;
    for (int i = 0; i < 10; i++) {
        fl_cpu_clock_off(&clock, fl_ticks_now(), 0, 0, &sync);
        fl_cpu_clock_commit(&clock, &sync);
        kept += fl_cpu_clock_unbroken(&clock, 100);
    }
    HOLDS(kept >= 5);
    HOLDS(!fl_cpu_clock_unbroken(&clock, clock.limit));
    /* A sleep shows, and is told once. */
    fl_cpu_clock_off(&clock, fl_ticks_now(), 0, 0, &sync);
    fl_cpu_clock_commit(&clock, &sync);
    fl_ticks before = fl_ticks_now();
    nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
    HOLDS(!fl_cpu_clock_unbroken(&clock, 1));
    fl_ticks interval = fl_ticks_now() - before;
    uint64_t off = fl_ticks_to_ns(fl_cpu_clock_off(&clock, fl_ticks_now(), interval, 0, &sync));
    fl_cpu_clock_commit(&clock, &sync);
    HOLDS(off >= 19 * MS && off <= fl_ticks_to_ns(interval));
    HOLDS(fl_ticks_to_ns(fl_cpu_clock_off(&clock, fl_ticks_now(), interval, 0, &sync)) < 5 * MS);
    /* Away after the event's time was taken: of the interval that begins then, which must not look unbroken. */
    fl_ticks event = fl_ticks_now();
    nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
    HOLDS(fl_ticks_to_ns(fl_cpu_clock_off(&clock, event, fl_ns_to_ticks(40 * MS), 0, &sync)) < 5 * MS);
    fl_cpu_clock_commit(&clock, &sync);
    HOLDS(!fl_cpu_clock_unbroken(&clock, 1));
    off = fl_ticks_to_ns(fl_cpu_clock_off(&clock, fl_ticks_now(), fl_ns_to_ticks(40 * MS), 0, &sync));
    fl_cpu_clock_commit(&clock, &sync);
    HOLDS(off >= 19 * MS);
    /* A word that somebody else has taken means nothing but: ask. */
    atomic_store(word, 0);
    HOLDS(!fl_cpu_clock_unbroken(&clock, 1));
    /* Nothing of ours stays behind. */
    fl_cpu_clock_off(&clock, fl_ticks_now(), 0, 0, &sync);
    fl_cpu_clock_detach(&clock);
    HOLDS(atomic_load(word) == 0);
    HOLDS(clock.word == &clock.mine);
    return 0;
}

static void *wait_for_stop(void *arg)
{
    atomic_store((_Atomic int *)arg, (int)syscall(SYS_gettid));
    return neighbour(NULL);
}

/* Another thread's CPU time, and that of one that is gone. */
static int remote(void)
{
    static _Atomic int tid;
    pthread_t thread;
    int own = (int)syscall(SYS_gettid);
    spin(3000000);
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), got = fl_cpu_clock_remote(own);
    HOLDS(got >= before && got <= clock_ns(CLOCK_THREAD_CPUTIME_ID));
    HOLDS(pthread_create(&thread, NULL, wait_for_stop, (void *)&tid) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL);
    HOLDS(fl_cpu_clock_remote(tid) > MS);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    /* A thread that is joined may be in the kernel's tables for a moment still. */
    for (int i = 0; i < 1000 && fl_cpu_clock_remote(tid) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    HOLDS(fl_cpu_clock_remote(tid) == 0);
    return 0;
}

static void expect(int (*child)(void))
{
    int answer = in_child(child);
    if (answer == NOT_HERE) {
        print_message("rseq cannot be used on this machine\n");
        skip();
    }
    assert_int_equal(answer, 0);
}

/* GIVEN a mixed load with neighbours, WHEN rseq tells, THEN cpu is within 1 % of the kernel's. */
static void test_rseq_follows_the_kernel(void **state)
{
    (void)state;
    expect(by_rseq);
}

/* GIVEN the same, WHEN only the length of intervals tells, THEN likewise. */
static void test_short_intervals_follow_the_kernel(void **state)
{
    (void)state;
    expect(by_short_intervals);
}

static void test_the_word(void **state)
{
    (void)state;
    expect(the_word);
}

static void test_remote(void **state)
{
    (void)state;
    expect(remote);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rseq_follows_the_kernel),
        cmocka_unit_test(test_short_intervals_follow_the_kernel),
        cmocka_unit_test(test_the_word),
        cmocka_unit_test(test_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
