/* Who had each thread when, collected for those who asked for it. */
#include "shadow_read.h"
#include "timeline.h"

#include <stdlib.h>

static bool reserve(struct fl_shadow *shadow)
{
    if (!shadow->timeline)
        shadow->timeline = malloc(FL_SHADOW_TIMELINE * sizeof *shadow->timeline);
    if (!shadow->timeline_seen)
        shadow->timeline_seen = calloc(FL_THREADS_MAX, sizeof *shadow->timeline_seen);
    return shadow->timeline && shadow->timeline_seen;
}

static void add_row(struct fl_shadow *shadow, const struct fl_shadow_timeline_seen *seen,
                    const struct fl_timeline_view *view, uint64_t end, uint64_t version)
{
    bool known = fl__shadow_know_node(shadow, view->node, version);
    shadow->timeline[shadow->timeline_count % FL_SHADOW_TIMELINE] = (struct fl_shadow_timeline){
        .thread = seen->thread,
        .task = view->task,
        .group = known ? shadow->nodes[view->node].group : 0,
        .node = known ? view->node : 0,
        .begin = seen->end,
        .end = end,
        .blocked = fl_ticks_to_ns(view->blocked),
        .idle = fl_ticks_to_ns(view->idle),
    };
    shadow->timeline_count++;
    shadow->dirty = true;
}

/* `seen->end` is unknown (0) at first and behind a gap: then a row only tells where the next one begins. */
static void take_row(struct fl_shadow *shadow, struct fl_shadow_timeline_seen *seen,
                     const struct fl_timeline_view *view, uint64_t version)
{
    uint64_t end = fl_ticks_to_ns(view->end);
    if (seen->known && end < seen->end)
        end = seen->end;
    if (view->task == 0)
        seen->thread = view->node;
    else if (seen->known && seen->thread != 0)
        add_row(shadow, seen, view, end, version);
    else
        shadow->lost_timeline++;
    seen->end = end;
    seen->known = true;
}

static void lose(struct fl_shadow *shadow, struct fl_shadow_timeline_seen *seen, uint64_t count)
{
    shadow->lost_timeline += count;
    seen->next += count;
    seen->known = false;
}

void fl__shadow_timeline(struct fl_shadow *shadow, uint64_t version)
{
    if (!shadow->timeline_wanted || !reserve(shadow))
        return;
    shadow->timeline_wanted = false;
    for (uint32_t i = 0; i < shadow->thread_count; i++) {
        const struct fl_thread *thread = fl__shadow_thread(shadow, i);
        const struct fl_timeline *timeline = atomic_load_explicit(&thread->timeline, memory_order_acquire);
        struct fl_shadow_timeline_seen *seen = &shadow->timeline_seen[i];
        if (!timeline)
            continue;
        uint64_t written = atomic_load_explicit(&timeline->written, memory_order_acquire);
        if (seen->thread == 0)
            seen->thread = shadow->threads[i].id; /* until a row says otherwise */
        if (written - seen->next >= FL_TIMELINE)
            lose(shadow, seen, written - seen->next - (FL_TIMELINE - 1));
        while (seen->next < written) {
            struct fl_timeline_view view;
            if (!fl_timeline_get(timeline, seen->next, &view)) {
                /* It is faster than this loop: half a ring further on there is time. */
                uint64_t rest = written - seen->next;
                lose(shadow, seen, rest < FL_TIMELINE / 2 ? rest : FL_TIMELINE / 2);
                continue;
            }
            take_row(shadow, seen, &view, version);
            seen->next++;
        }
    }
}
