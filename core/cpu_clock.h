/*
 * cpu_clock.h: how much of an interval a thread spent on the processor, without asking the kernel at each event.
 *
 * The problem. CLOCK_THREAD_CPUTIME_ID costs 150 to 800 ns a reading. But as long as a thread does not leave its
 * processor, its CPU time advances exactly as the trace clock does. So the kernel's clock is read only when the thread
 * may have left since the last event. Two ways to know that it has not:
 *
 * rseq. glibc >= 2.35 registers a `struct rseq` for each thread. We store the address of a descriptor of ours, whose
 *   critical section is never entered, in its rseq_cs word. Whenever the kernel preempts, migrates, signals or puts the
 *   thread to sleep outside that section, it clears the word. While the word still holds our address, the thread has
 *   not left. Some kernels leave the word alone when a thread sleeps and wakes on the same processor, so a self-test at
 *   start decides whether this way can be used.
 *
 * short intervals. Leaving the processor and coming back takes at least a microsecond or two. An interval shorter than
 *   that was all cpu; for a longer one the kernel's clock is read, which costs little beside it.
 *
 * Accounting. From one reading of the kernel's clock to the next (a *span*) the time off the processor is the span's
 * wall time minus its CPU time. It goes to the interval in which the thread left, which is the one that ends with the
 * second reading. The two clocks are not the same hardware: a remainder, negative or too large for the interval, is
 * carried to the next reading, never clamped away.
 */
#ifndef FL_CPU_CLOCK_H
#define FL_CPU_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

enum fl_cpu_kind { FL_CPU_AUTO, FL_CPU_RSEQ, FL_CPU_SHORT };

/* One per thread, part of struct fl_thread. Only the owner writes; `carry` and `sync_*` are read by others (thread.h,
 * position). */
struct fl_cpu_clock {
    const _Atomic uint64_t *word; /* rseq_cs of this thread, or `mine` of this struct, which always matches */
    _Atomic uint64_t mine;        /* what *word holds while the thread has not left the processor */
    fl_ticks limit;               /* an interval at least this long asks the kernel in any case */
    _Atomic int64_t carry;        /* ticks off the processor that found no room yet; may be negative */
    _Atomic fl_ticks sync_ticks;  /* both clocks at the last reading of the kernel's */
    _Atomic uint64_t sync_cpu;    /* ns */
};

/*
 * Chooses the way, self-test included (about 1 ms). `kind` forces one. Idempotent; before any thread is attached.
 * Returns 0, or FL_ESTATE where rseq was forced and does not work here.
 */
int fl_cpu_clock_init_process(enum fl_cpu_kind kind);

/* Both clocks at one reading. */
struct fl_cpu_sync {
    fl_ticks ticks; /* trace time */
    uint64_t cpu;   /* ns */
    int64_t carry;  /* what was off up to here and found no room yet */
};

/* Owner thread, at attach: reads the kernel's clock and arms the word. `paused`: raw ticks - paused = trace time. */
void fl_cpu_clock_attach(struct fl_cpu_clock *clock, fl_ticks paused);

/* Any thread, for the one with system id `tid`, which does not use the clock meanwhile (other.h): every event will ask
 * the kernel, until the owner has adopted it. */
void fl_cpu_clock_attach_other(struct fl_cpu_clock *clock, int tid, fl_ticks paused);

/* Owner thread: from the next reading on it is its own. */
void fl_cpu_clock_adopt(struct fl_cpu_clock *clock);

/* Owner thread, at its end: leaves no address of ours behind. */
void fl_cpu_clock_detach(struct fl_cpu_clock *clock);

/* Owner thread; hot path: the thread was on the processor for the whole interval, as far as can be told for free. */
static inline bool fl_cpu_clock_unbroken(const struct fl_cpu_clock *clock, fl_ticks interval)
{
    return atomic_load_explicit(clock->word, memory_order_relaxed) ==
               atomic_load_explicit(&clock->mine, memory_order_relaxed) &&
           interval < clock->limit;
}

/*
 * Owner thread: asks the kernel and arms the word again. Returns how many ticks of the interval of length `interval`
 * that ended at `event` (trace time, a moment ago) were off the processor, 0 to `interval`. The reading is stored in
 * `sync`; the owner makes it the new one with fl_cpu_clock_commit(), inside the version that its readers check
 * (thread.h).
 */
fl_ticks fl_cpu_clock_off(struct fl_cpu_clock *clock, fl_ticks event, fl_ticks interval, fl_ticks paused,
                          struct fl_cpu_sync *sync);

/* Likewise, any thread for the one with system id `tid` (other.h). */
fl_ticks fl_cpu_clock_off_other(struct fl_cpu_clock *clock, int tid, fl_ticks interval, fl_ticks paused,
                                struct fl_cpu_sync *sync);

static inline void fl_cpu_clock_commit(struct fl_cpu_clock *clock, const struct fl_cpu_sync *sync)
{
    atomic_store_explicit(&clock->sync_ticks, sync->ticks, memory_order_release);
    atomic_store_explicit(&clock->sync_cpu, sync->cpu, memory_order_release);
    atomic_store_explicit(&clock->carry, sync->carry, memory_order_release);
}

/* Any thread: the CPU time of the thread with system id `tid` of this process in ns, or 0 when it is gone. */
uint64_t fl_cpu_clock_remote(int tid);

/* "rseq" or "short"; what one reading of both clocks costs on the hot path, in ns, measured at start. */
const char *fl_cpu_clock_name(void);
unsigned fl_cpu_clock_reading_ns(void);

#endif
