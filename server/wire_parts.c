#include "wire_parts.h"
#include "cpu_clock.h"
#include "wire.h"

/* Nothing where there was none. */
static void write_collections(struct fl_session *session, struct fl_buffer *out)
{
    uint64_t count = atomic_load(&session->collections);
    if (count == 0)
        return;
    fl__wire_open(out, "gc");
    fl_json_unsigned_field(out, "count", count);
    fl_json_unsigned_field(out, "time", fl_ticks_to_ns(atomic_load(&session->collecting)));
    fl_json_unsigned_field(out, "longest", fl_ticks_to_ns(atomic_load(&session->longest_collection)));
    fl_buffer_add(out, "}", 1);
}

static void write_lost(const struct fl_shadow *shadow, struct fl_buffer *out)
{
    fl__wire_open(out, "lost");
    fl_json_unsigned_field(out, "events", shadow->lost.events);
    fl_json_unsigned_field(out, "tasks", shadow->lost.tasks);
    fl_json_unsigned_field(out, "unmatched", shadow->lost.unmatched);
    fl_json_unsigned_field(out, "displaced", shadow->lost.displaced);
    fl_json_unsigned_field(out, "slices", shadow->lost_slices);
    fl_json_unsigned_field(out, "strings", shadow->lost.strings);
    fl_json_unsigned_field(out, "threads", shadow->lost.threads);
    fl_json_unsigned_field(out, "timeline", shadow->lost_timeline);
    fl_buffer_add(out, "}", 1);
}

void fl__wire_status(const struct fl_shadow *shadow, struct fl_buffer *out)
{
    static const char *const states[] = {
        [FL_SESSION_NEW] = "stopped",
        [FL_SESSION_RUNNING] = "running",
        [FL_SESSION_STOPPED] = "stopped",
        [FL_SESSION_OVER] = "ended",
    };
    bool switches = atomic_load_explicit(&shadow->session->switches, memory_order_relaxed);

    fl__wire_open(out, "status");
    fl_json_text_field(out, "state", states[shadow->state]);
    fl_json_key(out, "clock");
    fl_buffer_add(out, "\"", 1);
    fl_buffer_text(out, fl_clock_name());
    fl_buffer_add(out, "+", 1);
    fl_buffer_text(out, fl_cpu_clock_name());
    fl_buffer_add(out, "\"", 1);
    fl_json_unsigned_field(out, "reading", fl_cpu_clock_reading_ns());
    fl__wire_open(out, "cost");
    fl_json_unsigned_field(out, "call", (atomic_load(&shadow->session->call_cost) + 500) / 1000);
    fl_json_unsigned_field(out, "switch", (atomic_load(&shadow->session->switch_cost) + 500) / 1000);
    fl_buffer_add(out, "}", 1);
    fl_json_key(out, "switches");
    fl_buffer_text(out, switches ? "true" : "false");
    fl_json_unsigned_field(out, "nodes", shadow->nodes_alive);
    fl_json_unsigned_field(out, "tasks", shadow->tasks_alive);
    write_collections(shadow->session, out);
    write_lost(shadow, out);
    fl_buffer_add(out, "}", 1);
}

static void write_periods(struct fl_buffer *out, const char *name, const struct fl_shadow_history *history,
                          const uint64_t *values)
{
    fl_json_key(out, name);
    fl_buffer_add(out, "[", 1);
    for (uint32_t i = 0; i < history->count; i++) {
        fl_json_comma(out);
        fl_json_unsigned(out, values[(history->first + i) % FL_HISTORY_PERIODS]);
    }
    fl_buffer_add(out, "]", 1);
}

void fl__wire_history(const struct fl_shadow *shadow, struct fl_buffer *out)
{
    fl__wire_open(out, "history");
    fl_json_unsigned_field(out, "period", FL_HISTORY_NS);
    fl_json_key(out, "threads");
    fl_buffer_add(out, "[", 1);
    for (uint32_t i = 0; i < shadow->thread_count; i++) {
        const struct fl_shadow_history *history = shadow->history[i];
        /* A slot that another thread took over since the last sample still has the old one's. */
        if (!history || history->id != shadow->threads[i].id)
            continue;
        fl_json_comma(out);
        fl_buffer_add(out, "{", 1);
        fl_json_unsigned_field(out, "id", history->id);
        fl_json_unsigned_field(out, "end", history->end);
        write_periods(out, "cpu", history, history->cpu);
        write_periods(out, "blocked", history, history->blocked);
        write_periods(out, "idle", history, history->idle);
        fl_buffer_add(out, "}", 1);
    }
    fl_buffer_add(out, "]}", 2);
}

void fl_wire_about(const struct fl_session *session, const struct fl_about *about, struct fl_buffer *out)
{
    fl_buffer_add(out, "{", 1);
    fl_json_unsigned_field(out, "protocol", FL_PROTOCOL_MAX);
    fl_json_text_field(out, "version", about->version);
    fl_json_unsigned_field(out, "pid", (uint64_t)about->pid);
    fl_json_text_field(out, "program", about->program);
    fl_json_text_field(out, "python", about->python);
    fl_json_key(out, "epoch");
    fl_json_signed(out, session->epoch_ms);
    fl_json_unsigned_field(out, "threshold", session->options.threshold_ns);
    fl_buffer_add(out, "}", 1);
}
