#include "wire.h"
#include "columns.h"
#include "function.h"
#include "json_writer.h"
#include "strings.h"
#include "thread.h"
#include "wire_parts.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct fl_column function_add[] = {
    FL_COLUMN_OF(struct fl_function, "name", name), FL_COLUMN_OF(struct fl_function, "qualname", qualname),
    FL_COLUMN_OF(struct fl_function, "file", file), FL_COLUMN_OF(struct fl_function, "line", line),
    FL_COLUMN_OF(struct fl_function, "kind", kind),
};

static const struct fl_column group_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_group, "entry", entry),
    FL_COLUMN_OF(struct fl_shadow_group, "label", label),
};

static const struct fl_column group_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_group, "started", started),
    FL_COLUMN_OF(struct fl_shadow_group, "ended", ended),
    FL_COLUMN_OF(struct fl_shadow_group, "switches", sums.switches),
    FL_COLUMN_OF(struct fl_shadow_group, "cpu", sums.cpu),
    FL_COLUMN_OF(struct fl_shadow_group, "blocked", sums.blocked),
    FL_COLUMN_OF(struct fl_shadow_group, "idle", sums.idle),
    FL_COLUMN_OF(struct fl_shadow_group, "waited", sums.waited),
    FL_COLUMN_OF(struct fl_shadow_group, "longest", sums.longest),
};

static const struct fl_column thread_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_thread, "tid", tid),
    FL_COLUMN_OF(struct fl_shadow_thread, "begin", begin),
};

static const struct fl_column thread_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_thread, "name", name),
    FL_COLUMN_OF(struct fl_shadow_thread, "state", state),
    FL_COLUMN_OF(struct fl_shadow_thread, "hub", hub),
    FL_COLUMN_OF(struct fl_shadow_thread, "task", task),
    FL_COLUMN_OF(struct fl_shadow_thread, "node", node),
    FL_COLUMN_OF(struct fl_shadow_thread, "since", since),
    FL_COLUMN_OF(struct fl_shadow_thread, "slice", slice),
    FL_COLUMN_OF(struct fl_shadow_thread, "slice_cpu", slice_cpu),
    FL_COLUMN_OF(struct fl_shadow_thread, "slice_blocked", slice_blocked),
    FL_COLUMN_OF(struct fl_shadow_thread, "slice_idle", slice_idle),
    FL_COLUMN_OF(struct fl_shadow_thread, "slice_node", slice_node),
    FL_COLUMN_OF(struct fl_shadow_thread, "cpu", cpu),
    FL_COLUMN_OF(struct fl_shadow_thread, "blocked", blocked),
    FL_COLUMN_OF(struct fl_shadow_thread, "idle", idle),
    FL_COLUMN_OF(struct fl_shadow_thread, "end", end),
    FL_COLUMN_OF(struct fl_shadow_thread, "cost", cost),
    FL_COLUMN_OF(struct fl_shadow_thread, "gil_wait", gil_wait),
    FL_COLUMN_OF(struct fl_shadow_thread, "gil_holder", gil_holder),
};

static const struct fl_column task_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_task, "thread", thread),
    FL_COLUMN_OF(struct fl_shadow_task, "begin", begin),
    FL_COLUMN_OF(struct fl_shadow_task, "hub", hub),
};

static const struct fl_column task_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_task, "name", name),
    FL_COLUMN_OF(struct fl_shadow_task, "group", group),
    FL_COLUMN_OF(struct fl_shadow_task, "state", state),
    FL_COLUMN_OF(struct fl_shadow_task, "node", node),
    FL_COLUMN_OF(struct fl_shadow_task, "wait", wait),
    FL_COLUMN_OF(struct fl_shadow_task, "since", since),
    FL_COLUMN_OF(struct fl_shadow_task, "switches", sums.switches),
    FL_COLUMN_OF(struct fl_shadow_task, "cpu", sums.cpu),
    FL_COLUMN_OF(struct fl_shadow_task, "blocked", sums.blocked),
    FL_COLUMN_OF(struct fl_shadow_task, "idle", sums.idle),
    FL_COLUMN_OF(struct fl_shadow_task, "waited", sums.waited),
    FL_COLUMN_OF(struct fl_shadow_task, "longest", sums.longest),
};

static const struct fl_column node_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_node, "parent", parent),
    FL_COLUMN_OF(struct fl_shadow_node, "function", function),
    FL_COLUMN_OF(struct fl_shadow_node, "group", group),
    FL_COLUMN_OF(struct fl_shadow_node, "thread", thread),
};

static const struct fl_column node_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_node, "calls", calls),
    FL_COLUMN_OF(struct fl_shadow_node, "cpu", cpu),
    FL_COLUMN_OF(struct fl_shadow_node, "blocked", blocked),
    FL_COLUMN_OF(struct fl_shadow_node, "idle", idle),
    FL_COLUMN_OF(struct fl_shadow_node, "waited", waited),
    FL_COLUMN_OF(struct fl_shadow_node, "seeded", seeded),
};

static const struct fl_column slice_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_slice, "thread", thread),
    FL_COLUMN_OF(struct fl_shadow_slice, "task", task),
    FL_COLUMN_OF(struct fl_shadow_slice, "group", group),
    FL_COLUMN_OF(struct fl_shadow_slice, "node", node),
    FL_COLUMN_OF(struct fl_shadow_slice, "begin", begin),
    FL_COLUMN_OF(struct fl_shadow_slice, "end", end),
    FL_COLUMN_OF(struct fl_shadow_slice, "cpu", cpu),
    FL_COLUMN_OF(struct fl_shadow_slice, "blocked", blocked),
    FL_COLUMN_OF(struct fl_shadow_slice, "idle", idle),
    FL_COLUMN_OF(struct fl_shadow_slice, "gil", gil),
    FL_COLUMN_OF(struct fl_shadow_slice, "gil_holder", gil_holder),
    FL_COLUMN_OF(struct fl_shadow_slice, "gil_node", gil_node),
};

static const struct fl_column hold_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_hold, "thread", thread),
    FL_COLUMN_OF(struct fl_shadow_hold, "function", function),
};

static const struct fl_column hold_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_hold, "count", count),
    FL_COLUMN_OF(struct fl_shadow_hold, "cpu", cpu),
    FL_COLUMN_OF(struct fl_shadow_hold, "blocked", blocked),
    FL_COLUMN_OF(struct fl_shadow_hold, "longest", longest),
};

static const struct fl_column gil_add[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "thread", thread),
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "task", task),
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "holder", holder),
};

static const struct fl_column gil_upd[] = {
    FL_COLUMN_OF_ID,
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "node", node),
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "holder_node", holder_node),
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "looks", looks),
    FL_COLUMN_OF(struct fl_shadow_lock_wait, "waited", waited),
};

static const struct fl_column timeline_add[] = {
    FL_COLUMN_OF(struct fl_shadow_timeline, "thread", thread),   FL_COLUMN_OF(struct fl_shadow_timeline, "task", task),
    FL_COLUMN_OF(struct fl_shadow_timeline, "group", group),     FL_COLUMN_OF(struct fl_shadow_timeline, "node", node),
    FL_COLUMN_OF(struct fl_shadow_timeline, "begin", begin),     FL_COLUMN_OF(struct fl_shadow_timeline, "end", end),
    FL_COLUMN_OF(struct fl_shadow_timeline, "blocked", blocked), FL_COLUMN_OF(struct fl_shadow_timeline, "idle", idle),
};

/* One update while it is written. */
struct update {
    const struct fl_shadow *shadow;
    const struct fl_selection *selection;
    struct fl_buffer *out;
    uint64_t since; /* version; 0: whole picture */
    struct fl_picks add, upd;
};

/* The rows that end_section() writes are picked between these two. */
static void begin_section(struct update *u)
{
    fl_buffer_clear(&u->add.bytes);
    fl_buffer_clear(&u->upd.bytes);
}

/* `del`: ids, shape del_count. Writes nothing where there is nothing new. */
static void end_section(struct update *u, const char *name, const struct fl_column *add, size_t add_count,
                        const struct fl_column *upd, size_t upd_count, const struct fl_picks *del)
{
    if (u->add.bytes.failed || u->upd.bytes.failed || (del && del->bytes.failed))
        u->out->failed = true;
    if (fl_picks_count(&u->add) + fl_picks_count(&u->upd) + (del ? fl_picks_count(del) : 0) == 0)
        return;
    fl__wire_open(u->out, name);
    fl_columns_write(u->out, "add", add, add_count, &u->add);
    fl_columns_write(u->out, "upd", upd, upd_count, &u->upd);
    if (del && fl_picks_count(del) > 0)
        fl_columns_write_ids(u->out, "del", del);
    fl_buffer_add(u->out, "}", 1);
}

/* Picks a row that is newer than the cursor. `always`: it is in every update. */
static void pick(struct update *u, uint64_t added, uint64_t changed, bool always, uint32_t id, const void *row)
{
    if (added == 0)
        return;
    if (added > u->since)
        fl_picks_add(&u->add, id, row);
    if (added > u->since || changed > u->since || always)
        fl_picks_add(&u->upd, id, row);
}

/* Did the ring forget something that was deleted after the cursor? Versions in it only grow. */
static bool ring_has_wrapped(const struct fl_shadow_deleted *ring, uint64_t size, uint64_t count, uint64_t since)
{
    return count > size && ring[count % size].version > since;
}

static void pick_deleted(struct fl_picks *picks, const struct fl_shadow_deleted *ring, uint64_t size, uint64_t count,
                         uint64_t since)
{
    if (since == 0)
        return; /* whoever has nothing need not forget anything */
    for (uint64_t i = count > size ? count - size : 0; i < count; i++)
        if (ring[i % size].version > since)
            fl_picks_add(picks, ring[i % size].id, NULL);
}

static void write_strings(const struct fl_shadow *shadow, uint32_t first, struct fl_buffer *out)
{
    if (first >= shadow->strings)
        return;
    fl__wire_open(out, "strings");
    fl_json_unsigned_field(out, "first", first);
    fl_buffer_text(out, ",\"add\":[");
    for (uint32_t id = first; id < shadow->strings; id++) {
        const struct fl_string *string = fl_strings_get(&shadow->session->strings, id);
        if (id > first)
            fl_buffer_add(out, ",", 1);
        fl_json_string(out, string->text, string->length);
    }
    fl_buffer_text(out, "]}");
}

static void write_functions(struct update *u, uint32_t first)
{
    if (first >= u->shadow->functions)
        return;
    begin_section(u);
    for (uint32_t id = first; id < u->shadow->functions; id++)
        fl_picks_add(&u->add, id, fl_functions_get(&u->shadow->session->functions, id));
    fl__wire_open(u->out, "functions");
    fl_json_unsigned_field(u->out, "first", first);
    fl_columns_write(u->out, "add", function_add, COUNT(function_add), &u->add);
    fl_buffer_add(u->out, "}", 1);
}

static void write_groups(struct update *u)
{
    begin_section(u);
    for (uint32_t id = 0; id < u->shadow->group_count; id++) {
        const struct fl_shadow_group *row = &u->shadow->groups[id];
        pick(u, row->added, row->changed, false, id, row);
    }
    end_section(u, "groups", group_add, COUNT(group_add), group_upd, COUNT(group_upd), NULL);
}

static void write_threads(struct update *u)
{
    const struct fl_shadow *shadow = u->shadow;
    struct fl_picks del = {0};

    begin_section(u);
    for (uint32_t i = 0; i < shadow->thread_count; i++) {
        const struct fl_shadow_thread *row = &shadow->threads[i];
        bool lives = row->state == FL_THREAD_LIVES;
        pick(u, row->added, row->changed, lives, row->id, row);
    }
    pick_deleted(&del, shadow->deleted_threads, FL_THREADS_MAX, shadow->deleted_thread_count, u->since);
    end_section(u, "threads", thread_add, COUNT(thread_add), thread_upd, COUNT(thread_upd), &del);
    fl_buffer_fini(&del.bytes);
}

static void write_tasks(struct update *u)
{
    const struct fl_shadow *shadow = u->shadow;
    struct fl_picks del = {0};

    begin_section(u);
    for (uint32_t i = 0; i < shadow->task_count; i++) {
        const struct fl_shadow_task *row = &shadow->tasks[i];
        pick(u, row->added, row->changed, false, row->id, row);
    }
    pick_deleted(&del, shadow->deleted_tasks, FL_SHADOW_DELETED, shadow->deleted_task_count, u->since);
    end_section(u, "tasks", task_add, COUNT(task_add), task_upd, COUNT(task_upd), &del);
    fl_buffer_fini(&del.bytes);
}

static int by_serial(const void *a, const void *b)
{
    uint32_t left = (*(const struct fl_shadow_node *const *)a)->own->serial;
    uint32_t right = (*(const struct fl_shadow_node *const *)b)->own->serial;
    return left < right ? -1 : left > right;
}

/* The task's own tree: parents before their children, as everywhere, though its slots are in no order. */
static void write_own_nodes(struct update *u)
{
    const struct fl_shadow *shadow = u->shadow;
    const struct fl_shadow_node **rows = malloc(((size_t)shadow->node_count + 1) * sizeof *rows);
    size_t count = 0;
    uint64_t since = 0;
    if (!rows) {
        u->out->failed = true;
        return;
    }
    for (uint32_t id = 0; id < shadow->node_count; id++) {
        const struct fl_shadow_node *row = &shadow->nodes[id];
        if (row->added != 0 && fl_shadow_is_own(row) && row->own->task == u->selection->task)
            rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, by_serial);
    begin_section(u);
    for (size_t i = 0; i < count; i++) {
        since = rows[0]->own->since;
        pick(u, rows[i]->added, rows[i]->changed, false, rows[i]->own->serial, rows[i]);
    }
    if (count > 0) {
        fl_buffer_text(u->out, ",\"tree\":{\"task\":");
        fl_json_unsigned(u->out, u->selection->task);
        fl_json_unsigned_field(u->out, "since", since);
        fl_buffer_text(u->out, "}");
    }
    end_section(u, "nodes", node_add, COUNT(node_add), node_upd, COUNT(node_upd), NULL);
    free(rows);
}

static void write_nodes(struct update *u)
{
    if (u->selection->task) {
        write_own_nodes(u);
        return;
    }
    begin_section(u);
    for (uint32_t id = 0; id < u->shadow->node_count; id++) {
        const struct fl_shadow_node *row = &u->shadow->nodes[id];
        if (row->added == 0 || fl_shadow_is_own(row))
            continue;
        if (!u->selection->one_group || row->group == u->selection->group)
            pick(u, row->added, row->changed, false, id, row);
    }
    end_section(u, "nodes", node_add, COUNT(node_add), node_upd, COUNT(node_upd), NULL);
}

static void write_slices(struct update *u, uint64_t first)
{
    const struct fl_shadow *shadow = u->shadow;
    uint64_t kept = shadow->slice_count > FL_SHADOW_SLICES ? shadow->slice_count - FL_SHADOW_SLICES : 0;

    begin_section(u);
    for (uint32_t i = 0; i < shadow->longest_count; i++)
        if (shadow->longest[i].id > first)
            fl_picks_add(&u->add, shadow->longest[i].id, &shadow->longest[i]);
    for (uint64_t i = first > kept ? first : kept; i < shadow->slice_count; i++) {
        const struct fl_shadow_slice *row = &shadow->slices[i % FL_SHADOW_SLICES];
        fl_picks_add(&u->add, row->id, row);
    }
    end_section(u, "slices", slice_add, COUNT(slice_add), NULL, 0, NULL);
}

static void write_holds(struct update *u)
{
    begin_section(u);
    for (uint32_t i = 0; i < u->shadow->hold_count; i++) {
        const struct fl_shadow_hold *row = &u->shadow->holds[i];
        pick(u, row->added, row->changed, false, i + 1, row);
    }
    end_section(u, "holds", hold_add, COUNT(hold_add), hold_upd, COUNT(hold_upd), NULL);
}

static void write_lock_waits(struct update *u)
{
    begin_section(u);
    for (uint32_t i = 0; i < u->shadow->lock_wait_count; i++) {
        const struct fl_shadow_lock_wait *row = &u->shadow->lock_waits[i];
        pick(u, row->added, row->changed, false, i + 1, row);
    }
    end_section(u, "gil", gil_add, COUNT(gil_add), gil_upd, COUNT(gil_upd), NULL);
}

static void write_timeline(struct update *u, uint64_t first)
{
    const struct fl_shadow *shadow = u->shadow;
    uint64_t kept = shadow->timeline_count > FL_SHADOW_TIMELINE ? shadow->timeline_count - FL_SHADOW_TIMELINE : 0;

    if (first < kept)
        first = kept;
    begin_section(u);
    for (uint64_t i = first; i < shadow->timeline_count; i++)
        fl_picks_add(&u->add, 0, &shadow->timeline[i % FL_SHADOW_TIMELINE]);
    if (u->add.bytes.failed)
        u->out->failed = true;
    if (fl_picks_count(&u->add) == 0)
        return;
    fl__wire_open(u->out, "timeline");
    fl_json_unsigned_field(u->out, "first", first);
    fl_columns_write(u->out, "add", timeline_add, COUNT(timeline_add), &u->add);
    fl_buffer_add(u->out, "}", 1);
}

bool fl_wire_is_news(const struct fl_shadow *shadow, const struct fl_cursor *cursor)
{
    return cursor->version != shadow->version || cursor->now != shadow->now || cursor->state != shadow->state;
}

void fl_wire_update(const struct fl_shadow *shadow, const struct fl_cursor *cursor,
                    const struct fl_selection *selection, struct fl_buffer *out, struct fl_cursor *next)
{
    struct fl_cursor from = *cursor;
    if (ring_has_wrapped(shadow->deleted_tasks, FL_SHADOW_DELETED, shadow->deleted_task_count, from.version) ||
        ring_has_wrapped(shadow->deleted_threads, FL_THREADS_MAX, shadow->deleted_thread_count, from.version))
        from = (struct fl_cursor){0};
    struct update u = {.shadow = shadow, .selection = selection, .out = out, .since = from.version};
    unsigned sections = selection->sections;

    fl_buffer_text(out, "\"version\":");
    fl_json_unsigned(out, shadow->version);
    fl_json_unsigned_field(out, "since", from.version);
    fl_json_unsigned_field(out, "now", shadow->now);
    fl__wire_status(shadow, out);
    write_strings(shadow, from.strings ? from.strings : 1, out);
    write_functions(&u, from.functions ? from.functions : 1);
    write_groups(&u);
    if (sections & FL_SECTION_THREADS)
        write_threads(&u);
    if (sections & FL_SECTION_TASKS)
        write_tasks(&u);
    if (sections & FL_SECTION_TREE)
        write_nodes(&u);
    if (sections & FL_SECTION_SLICES) {
        write_slices(&u, from.slices);
        write_holds(&u);
        write_lock_waits(&u);
    }
    if (sections & FL_SECTION_TIMELINE)
        write_timeline(&u, from.timeline);
    if (sections & FL_SECTION_THREADS && from.version == 0)
        fl__wire_history(shadow, out);

    fl_buffer_fini(&u.add.bytes);
    fl_buffer_fini(&u.upd.bytes);
    if (out->failed)
        return;
    *next = (struct fl_cursor){.version = shadow->version,
                               .now = shadow->now,
                               .state = shadow->state,
                               .strings = shadow->strings,
                               .functions = shadow->functions,
                               .slices = shadow->slice_count,
                               .timeline = shadow->timeline_count};
}
