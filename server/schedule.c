#include "schedule.h"
#include "thread.h"

#define MS 1000000u

enum {
    LOOK_CLOSELY_MS = 20, /* while a slice gets long: then it is known afterwards where most of it was spent */
    LOOK_MS = 50,
    ENDLESS_MS = 5000, /* such a slice is well known by now, and may be a thread without any switches */
    SAMPLE_MS = FL_HISTORY_NS / MS,
    RECHECK_MS = 1000,
    STOPPED_MS = 250, /* how soon it is seen that a stopped session goes on */
};

uint64_t fl_schedule_next(const struct fl_schedule *schedule)
{
    uint64_t next = schedule->look < schedule->sample ? schedule->look : schedule->sample;
    return next < schedule->recheck ? next : schedule->recheck;
}

/* Is some thread in a slice that gets long? A hub that polls has nothing to hide. */
static bool some_slice_gets_long(const struct fl_session *session)
{
    fl_ticks now = fl_session_now(session);
    fl_ticks low = fl_ns_to_ticks(LOOK_CLOSELY_MS * (uint64_t)MS), high = fl_ns_to_ticks(ENDLESS_MS * (uint64_t)MS);
    uint32_t count = atomic_load_explicit(&session->thread_count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        const struct fl_thread *thread = atomic_load_explicit(&session->threads[i], memory_order_acquire);
        struct fl_thread_view view;
        fl_thread_read(thread, NULL, &view);
        fl_ticks age = now > view.slice ? now - view.slice : 0;
        if (view.state == FL_THREAD_LIVES && !view.in_poll && age > low && age < high)
            return true;
    }
    return false;
}

void fl_schedule_run(struct fl_schedule *schedule, struct fl_shadow *shadow, uint64_t now)
{
    const struct fl_session *session = shadow->session;
    bool runs = atomic_load_explicit(&session->state, memory_order_acquire) == FL_SESSION_RUNNING;

    if (schedule->look <= now) {
        fl_shadow_watch(shadow);
        uint64_t wait = !runs ? STOPPED_MS : some_slice_gets_long(session) ? LOOK_CLOSELY_MS : LOOK_MS;
        schedule->look = now + wait * MS;
    }
    if (schedule->sample <= now) {
        if (runs)
            fl_shadow_sample(shadow);
        schedule->sample = now + (uint64_t)SAMPLE_MS * MS;
    }
    if (schedule->recheck <= now) {
        fl_clock_recheck();
        schedule->recheck = now + (uint64_t)RECHECK_MS * MS;
    }
}
