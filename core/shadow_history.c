#include "shadow_read.h"

#include <stdlib.h>

static void append(struct fl_shadow_history *history, uint64_t cpu, uint64_t blocked, uint64_t idle)
{
    uint32_t at = (history->first + history->count) % FL_HISTORY_PERIODS;
    if (history->count == FL_HISTORY_PERIODS)
        history->first = (history->first + 1) % FL_HISTORY_PERIODS;
    else
        history->count++;
    history->cpu[at] = cpu;
    history->blocked[at] = blocked;
    history->idle[at] = idle;
}

/* What one period gets of a total that grew from `told` to `total` in `whole` ns. */
static uint64_t per_period(uint64_t total, uint64_t told, uint64_t whole)
{
    /* An estimate of an open interval may have been too high before: then nothing, until it is made up for. */
    return total > told ? (uint64_t)((unsigned __int128)(total - told) * FL_HISTORY_NS / whole) : 0;
}

static void sample_thread(struct fl_shadow *shadow, uint32_t index, fl_ticks now)
{
    const struct fl_thread *thread = fl__shadow_thread(shadow, index);
    struct fl_thread_view view;
    fl_thread_read(thread, NULL, &view);
    struct fl_shadow_history *history = shadow->history[index];
    if (history && history->id != view.id) {
        free(history); /* another thread took the slot over */
        shadow->history[index] = history = NULL;
    }
    if (view.state != FL_THREAD_LIVES)
        return;
    if (now < view.since)
        now = view.since;
    struct fl_open open = fl_thread_open(thread, &view, now);
    uint64_t end = fl_ticks_to_ns(now);
    uint64_t blocked = fl_ticks_to_ns(view.blocked + open.blocked), idle = fl_ticks_to_ns(view.idle + open.idle);
    uint64_t wall = fl_ticks_to_ns(now - view.begin);
    uint64_t cpu = wall > blocked + idle ? wall - blocked - idle : 0;
    if (!history) {
        history = shadow->history[index] = calloc(1, sizeof *history);
        if (!history)
            return;
        history->id = view.id;
        history->end = fl_ticks_to_ns(view.begin);
    }
    uint64_t whole = end > history->end ? end - history->end : 0;
    if (whole < FL_HISTORY_NS)
        return;
    /* A sample that came late is told as several periods of the right length, the time spread evenly over them and over
     * the piece of the one that has only begun. */
    cpu = per_period(cpu, history->total_cpu, whole);
    blocked = per_period(blocked, history->total_blocked, whole);
    idle = per_period(idle, history->total_idle, whole);
    uint64_t periods = whole / FL_HISTORY_NS;
    for (uint64_t i = 0; i < periods && i < FL_HISTORY_PERIODS; i++)
        append(history, cpu, blocked, idle);
    /* What was told, not what was read: the rest comes with the next periods. */
    history->total_cpu += cpu * periods;
    history->total_blocked += blocked * periods;
    history->total_idle += idle * periods;
    history->end += periods * FL_HISTORY_NS;
}

void fl_shadow_sample(struct fl_shadow *shadow)
{
    if (fl__shadow_reserve(shadow) != 0)
        return;
    fl_ticks now = fl_session_now(shadow->session);
    bool entered = fl__shadow_enter(shadow);
    for (uint32_t i = 0; i < shadow->thread_count; i++)
        sample_thread(shadow, i, now);
    fl__shadow_exit(shadow, entered);
}
