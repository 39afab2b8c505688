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
    /* A period that came late is told as several of the right length, the time spread evenly over them. */
    uint64_t periods = end > history->end ? (end - history->end) / FL_HISTORY_NS : 0;
    if (periods == 0)
        return;
    uint64_t parts = periods < FL_HISTORY_PERIODS ? periods : FL_HISTORY_PERIODS;
    uint64_t told_cpu = cpu > history->total_cpu ? cpu - history->total_cpu : 0;
    uint64_t told_blocked = blocked > history->total_blocked ? blocked - history->total_blocked : 0;
    uint64_t told_idle = idle > history->total_idle ? idle - history->total_idle : 0;
    /* What was read includes a piece of the period that has only begun: it is taken off in proportion. */
    uint64_t whole = end - history->end, told = periods * FL_HISTORY_NS;
    told_cpu = (uint64_t)((unsigned __int128)told_cpu * told / whole);
    told_blocked = (uint64_t)((unsigned __int128)told_blocked * told / whole);
    told_idle = (uint64_t)((unsigned __int128)told_idle * told / whole);
    for (uint64_t i = 0; i < parts; i++)
        append(history, told_cpu / periods, told_blocked / periods, told_idle / periods);
    history->total_cpu += told_cpu;
    history->total_blocked += told_blocked;
    history->total_idle += told_idle;
    history->end += told;
}

void fl_shadow_sample(struct fl_shadow *shadow)
{
    if (fl__shadow_reserve(shadow) != 0)
        return;
    fl_ticks now = fl_session_now(shadow->session);
    for (uint32_t i = 0; i < shadow->thread_count; i++)
        sample_thread(shadow, i, now);
}
