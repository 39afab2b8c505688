#include "cpu_clock.h"
#include "error.h"

#include <stddef.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && defined(__GLIBC_PREREQ) && (defined(__x86_64__) || defined(__aarch64__))
#if __GLIBC_PREREQ(2, 35)
#include <sys/resource.h>
#include <sys/rseq.h>
#define FL__HAVE_RSEQ 1
#endif
#endif

/* Below this an interval in rseq mode is trusted to the word alone; longer ones can afford a reading (0.1 %). */
#define FL__LONG_NS 1000000u

/* What a reading may take without the thread having left its processor. */
#define FL__SLACK_NS 10000u

#ifdef FL_FAKE_CLOCK
enum { SCRIPTED = 1 };
#else
enum { SCRIPTED = 0 };
#endif

static struct {
    enum fl_cpu_kind kind;
    fl_ticks limit;
    int64_t slack; /* ticks */
    unsigned reading_ns;
} process = {.kind = FL_CPU_AUTO};

static uint64_t thread_cpu_ns(void)
{
#ifdef FL_FAKE_CLOCK
    return fl_fake_cpu;
#else
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

#ifdef FL__HAVE_RSEQ
/* Absent before glibc 2.35: then their addresses are null. */
#pragma weak __rseq_offset
#pragma weak __rseq_size

/*
 * The descriptor needs a section and, outside of it, an abort address with the signature word right before it: the
 * kernel kills the process otherwise. Neither is ever executed.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text, \"ax\"\n"
        ".byte 0x0f, 0xb9, 0x3d\n" /* ud1, so that the signature reads as an operand */
        ".long 0x53053053\n"
        "fl__rseq_abort: ud2\n"
        "nop\n"
        "fl__rseq_section: nop\n"
        "nop\n"
        ".popsection\n");
#else
__asm__(".pushsection .text, \"ax\"\n"
        ".inst 0xd428bc00\n"
        "fl__rseq_abort: brk #0\n"
        "nop\n"
        "fl__rseq_section: nop\n"
        "nop\n"
        ".popsection\n");
#endif
extern const char fl__rseq_abort[] __attribute__((visibility("hidden")));
extern const char fl__rseq_section[] __attribute__((visibility("hidden")));
static struct rseq_cs descriptor __attribute__((aligned(32)));

static _Atomic uint64_t *rseq_word(void)
{
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0)
        return NULL;
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    if ((int32_t)area->cpu_id < 0)
        return NULL;
    return (_Atomic uint64_t *)(void *)((char *)area + offsetof(struct rseq, rseq_cs));
}

/* How often the kernel has put this thread to sleep at its own wish. */
static long times_slept(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

/* Does sleeping clear the word, and does staying keep it? Run in a thread of its own, on which nothing else depends. */
static void *self_test(void *result)
{
    _Atomic uint64_t *word = rseq_word();
    int slept = 0, cleared = 0, kept = 0;
    enum { ROUNDS = 8, TRIES = 8 * ROUNDS, SLEEP_NS = 50000 };
    if (!word)
        return NULL;
    for (int i = 0; i < TRIES && slept < ROUNDS; i++) {
        long before = times_slept();
        atomic_store(word, (uint64_t)(uintptr_t)&descriptor);
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        bool is_clear = atomic_load(word) == 0;
        /* On a busy machine the time may be over before the thread is put to sleep: it has never left then, however
         * much time passed (the host may have taken the processor away, which the kernel here does not see). */
        if (times_slept() == before)
            continue;
        slept++;
        cleared += is_clear;
        atomic_store(word, (uint64_t)(uintptr_t)&descriptor);
        (void)getppid();
        kept += atomic_load(word) != 0;
    }
    atomic_store(word, 0);
    /* One preemption in the tiny stretch between store and load is no reason to give up; a sleep that is not seen is.
     */
    *(bool *)result = slept == ROUNDS && cleared == ROUNDS && kept > ROUNDS / 2;
    return NULL;
}

static bool rseq_works(void)
{
    bool works = false;
    pthread_t thread;
    descriptor.start_ip = (uint64_t)(uintptr_t)fl__rseq_section;
    descriptor.post_commit_offset = 1;
    descriptor.abort_ip = (uint64_t)(uintptr_t)fl__rseq_abort;
    if (pthread_create(&thread, NULL, self_test, &works) != 0)
        return false;
    pthread_join(thread, NULL);
    return works;
}
#else
static _Atomic uint64_t *rseq_word(void)
{
    return NULL;
}

static bool rseq_works(void)
{
    return false;
}
#endif

/* The shortest absence from the processor that can be provoked, a quarter of it to be safe: 0.5 to 2 us. */
static fl_ticks shortest_absence(void)
{
    uint64_t best = 8000;
    for (int i = 0; i < 16; i++) {
        uint64_t before = fl__monotonic_ns();
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
        uint64_t took = fl__monotonic_ns() - before;
        if (took < best)
            best = took;
    }
    uint64_t ns = best / 4;
    return fl_ns_to_ticks(ns < 500 ? 500 : ns);
}

static unsigned measure_reading(void)
{
    enum { ROUNDS = 1000 };
    struct fl_cpu_clock clock = {0};
    volatile bool sink = false;
    uint64_t best = UINT64_MAX;
    fl_cpu_clock_attach(&clock, 0);
    for (int batch = 0; batch < 5; batch++) {
        uint64_t before = fl__monotonic_ns();
        for (int i = 0; i < ROUNDS; i++)
            sink = fl_cpu_clock_unbroken(&clock, fl_ticks_now() & 1);
        uint64_t took = fl__monotonic_ns() - before;
        if (took < best)
            best = took;
    }
    (void)sink;
    fl_cpu_clock_detach(&clock);
    return (unsigned)(best / ROUNDS);
}

int fl_cpu_clock_init_process(enum fl_cpu_kind kind)
{
    if (process.kind != FL_CPU_AUTO)
        return 0;
    process.slack = (int64_t)fl_ns_to_ticks(FL__SLACK_NS);
    if (SCRIPTED) {
        /* Every interval asks, so that a test decides about each. */
        process.kind = FL_CPU_SHORT;
        process.limit = 0;
        return 0;
    }
    if (kind != FL_CPU_SHORT) {
        if (rseq_works()) {
            process.kind = FL_CPU_RSEQ;
            process.limit = fl_ns_to_ticks(FL__LONG_NS);
        } else if (kind == FL_CPU_RSEQ) {
            return FL_ESTATE;
        }
    }
    if (process.kind == FL_CPU_AUTO) {
        process.kind = FL_CPU_SHORT;
        process.limit = shortest_absence();
    }
    process.reading_ns = measure_reading();
    return 0;
}

static void arm(struct fl_cpu_clock *clock)
{
    if (clock->word != &clock->mine)
        atomic_store_explicit((_Atomic uint64_t *)clock->word, atomic_load_explicit(&clock->mine, memory_order_relaxed),
                              memory_order_relaxed);
}

/* Both clocks at one moment of an unbroken stretch. The word is armed first: what happens later shows at the next
 * event. */
static void read_kernel(struct fl_cpu_clock *clock, struct fl_cpu_sync *sync)
{
    for (int tries = 0; tries < 3; tries++) {
        arm(clock);
        atomic_signal_fence(memory_order_seq_cst);
        sync->ticks = fl_ticks_now();
        sync->cpu = thread_cpu_ns();
        atomic_signal_fence(memory_order_seq_cst);
        if (atomic_load_explicit(clock->word, memory_order_relaxed) ==
            atomic_load_explicit(&clock->mine, memory_order_relaxed))
            return;
    }
    arm(clock);
}

/* The kernel's clock of another thread. Where that thread is gone, none of its time has passed. */
static void read_other(const struct fl_cpu_clock *clock, int tid, struct fl_cpu_sync *sync)
{
    uint64_t known = atomic_load_explicit(&clock->sync_cpu, memory_order_relaxed);
    sync->ticks = fl_ticks_now();
    sync->cpu = fl_cpu_clock_remote(tid);
    if (sync->cpu < known)
        sync->cpu = known;
}

void fl_cpu_clock_attach_other(struct fl_cpu_clock *clock, int tid, fl_ticks paused)
{
    struct fl_cpu_sync sync = {0};
    clock->limit = 0;
    clock->word = &clock->mine;
    atomic_store_explicit(&clock->mine, 1, memory_order_relaxed);
    atomic_store_explicit(&clock->sync_cpu, 0, memory_order_relaxed);
    read_other(clock, tid, &sync);
    sync.ticks -= paused;
    fl_cpu_clock_commit(clock, &sync);
}

void fl_cpu_clock_adopt(struct fl_cpu_clock *clock)
{
    _Atomic uint64_t *word = process.kind == FL_CPU_RSEQ ? rseq_word() : NULL;
    clock->limit = process.limit;
    clock->word = &clock->mine;
    atomic_store_explicit(&clock->mine, 1, memory_order_relaxed);
#ifdef FL__HAVE_RSEQ
    if (word) {
        clock->word = word;
        atomic_store_explicit(&clock->mine, (uint64_t)(uintptr_t)&descriptor, memory_order_relaxed);
    } else if (process.kind == FL_CPU_RSEQ) {
        clock->limit = shortest_absence(); /* a thread that glibc did not register */
    }
#else
    (void)word;
#endif
}

void fl_cpu_clock_attach(struct fl_cpu_clock *clock, fl_ticks paused)
{
    struct fl_cpu_sync sync = {0};
    fl_cpu_clock_adopt(clock);
    read_kernel(clock, &sync);
    sync.ticks -= paused;
    fl_cpu_clock_commit(clock, &sync);
}

void fl_cpu_clock_detach(struct fl_cpu_clock *clock)
{
    if (clock->word && clock->word != &clock->mine &&
        atomic_load_explicit(clock->word, memory_order_relaxed) ==
            atomic_load_explicit(&clock->mine, memory_order_relaxed))
        atomic_store_explicit((_Atomic uint64_t *)clock->word, 0, memory_order_relaxed);
    clock->word = &clock->mine;
}

/*
 * How much of an interval that ended at the event, at `event` in trace time, was off the processor. Where the reading
 * is much younger, the thread has lost its processor between the two: that is of the interval that begins at the event.
 */
static fl_ticks split(const struct fl_cpu_clock *clock, fl_ticks event, fl_ticks interval, struct fl_cpu_sync *sync)
{
    fl_ticks wall = sync->ticks - atomic_load_explicit(&clock->sync_ticks, memory_order_relaxed);
    fl_ticks used = fl_ns_to_ticks(sync->cpu - atomic_load_explicit(&clock->sync_cpu, memory_order_relaxed));
    int64_t off = (int64_t)(wall - used) + atomic_load_explicit(&clock->carry, memory_order_relaxed);
    int64_t since_event = (int64_t)(sync->ticks - event);
    int64_t here = since_event > process.slack ? off - since_event : off;
    fl_ticks told = here < 0 ? 0 : (fl_ticks)here > interval ? interval : (fl_ticks)here;
    sync->carry = off - (int64_t)told;
    return told;
}

fl_ticks fl_cpu_clock_off(struct fl_cpu_clock *clock, fl_ticks event, fl_ticks interval, fl_ticks paused,
                          struct fl_cpu_sync *sync)
{
    read_kernel(clock, sync);
    sync->ticks -= paused;
    fl_ticks off = split(clock, event, interval, sync);
    /* The interval that begins at the event would look unbroken. */
    if (sync->carry > process.slack && clock->word != &clock->mine)
        atomic_store_explicit((_Atomic uint64_t *)clock->word, 0, memory_order_relaxed);
    return off;
}

fl_ticks fl_cpu_clock_off_other(struct fl_cpu_clock *clock, int tid, fl_ticks interval, fl_ticks paused,
                                struct fl_cpu_sync *sync)
{
    read_other(clock, tid, sync);
    sync->ticks -= paused;
    return split(clock, sync->ticks, interval, sync);
}

uint64_t fl_cpu_clock_remote(int tid)
{
#ifdef FL_FAKE_CLOCK
    return fl_fake_cpu_of ? fl_fake_cpu_of(tid) : fl_fake_cpu;
#else
    /* The kernel's encoding of a thread's CPU clock (CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD); pthread_getcpuclockid()
     * makes the same from a pthread_t, which we must not use for a thread that may have ended. */
    clockid_t id = (clockid_t)(~(unsigned)tid << 3 | 6u);
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

const char *fl_cpu_clock_name(void)
{
    return process.kind == FL_CPU_RSEQ ? "rseq" : "short";
}

unsigned fl_cpu_clock_reading_ns(void)
{
    return process.reading_ns;
}
