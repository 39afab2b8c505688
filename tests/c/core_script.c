#include "core_script.h"

#include <inttypes.h>
#include <string.h>

struct script script;

static uint64_t cpu_of(int tid)
{
    for (uint32_t i = 0; i < atomic_load(&script.session->thread_count); i++) {
        const struct fl_thread *candidate = atomic_load(&script.session->threads[i]);
        if ((int)atomic_load(&candidate->tid) == tid)
            return candidate == script.thread ? fl_fake_cpu : script.cpu[i];
    }
    return 0;
}

void script_begin(const struct fl_session_options *options)
{
    script = (struct script){0};
    fl_fake_ticks = 5000; /* trace time must not depend on where the counter stands */
    fl_fake_cpu = 700;
    assert_int_equal(fl_session_create(options, &script.session), 0);
    assert_int_equal(fl_shadow_create(script.session, &script.shadow), 0);
    fl_fake_cpu_of = cpu_of;
    fl_session_start(script.session);
    script.thread = fl_thread_attach(script.session, 1001, 0);
    assert_non_null(script.thread);
}

struct fl_thread *attach(uint32_t tid)
{
    script.cpu[script.thread->index] = fl_fake_cpu;
    fl_fake_cpu = 0;
    script.thread = fl_thread_attach(script.session, tid, 0);
    assert_non_null(script.thread);
    assert_true(script.thread->index < SCRIPT_THREADS);
    return script.thread;
}

void drive(struct fl_thread *driven)
{
    script.cpu[script.thread->index] = fl_fake_cpu;
    script.thread = driven;
    fl_fake_cpu = script.cpu[driven->index];
}

void detach(void)
{
    fl_thread_detach(script.thread);
}

int script_end(void **state)
{
    (void)state;
    fl_fake_cpu_of = NULL;
    fl_fake_meanwhile = NULL;
    fl_shadow_destroy(script.shadow);
    if (script.session)
        fl_session_destroy(script.session);
    script = (struct script){0};
    return 0;
}

void pass(uint64_t wall_ns, uint64_t cpu_ns)
{
    fl_fake_ticks += wall_ns;
    fl_fake_cpu += cpu_ns;
}

void busy(uint64_t ns)
{
    pass(ns, ns);
}

void off(uint64_t ns)
{
    pass(ns, 0);
}

fl_function_id function(const char *name)
{
    struct fl_function row = {.kind = FL_FUNCTION_MADE};
    row.name = row.qualname = fl_strings_add(&script.session->strings, name, strlen(name));
    fl_function_id id = fl_functions_add(&script.session->functions, &row);
    assert_int_not_equal(id, 0);
    return id;
}

void call(const char *name)
{
    fl_enter(script.thread, function(name), true, fl_now(script.thread));
}

void resume(const char *name)
{
    fl_enter(script.thread, function(name), false, fl_now(script.thread));
}

void ret(const char *name)
{
    fl_leave(script.thread, function(name), fl_now(script.thread));
}

void to(struct fl_task *task_to)
{
    fl_switch(script.thread, task_to, fl_now(script.thread));
}

struct fl_task *spawn(void)
{
    struct fl_task *made = fl_task_create(script.thread, fl_now(script.thread), NULL);
    assert_non_null(made);
    return made;
}

void end(struct fl_task *ended)
{
    fl_task_end(script.thread, ended, fl_now(script.thread));
}

struct fl_task *current_task(void)
{
    return atomic_load(&script.thread->task);
}

void look(void)
{
    assert_int_equal(fl_shadow_refresh(script.shadow), 0);
}

static uint32_t group_id(const char *entry)
{
    return *entry ? fl_groups_add(&script.session->groups, function(entry), 0) : 0;
}

static bool is_mine(uint32_t id)
{
    const struct fl_node *row = fl_table_row(&script.session->nodes, id);
    return fl_node_chunk_of(row)->thread == script.thread->index;
}

/* The child of node `parent` (0: the root itself) for this function. */
static uint32_t child(uint32_t parent, uint32_t group_number, fl_function_id function_id)
{
    for (uint32_t id = 1; id < script.shadow->node_count; id++) {
        const struct fl_shadow_node *row = &script.shadow->nodes[id];
        if (row->added && row->parent == parent && row->function == function_id && row->group == group_number &&
            is_mine(id))
            return id;
    }
    return 0;
}

const struct fl_shadow_node *find_node(const char *group_name, const char *path)
{
    uint32_t group_number = group_id(group_name);
    uint32_t id = child(0, group_number, 0);
    while (id && *path) {
        char name[64];
        size_t length = strcspn(path, "/");
        assert_true(length < sizeof name);
        memcpy(name, path, length);
        name[length] = '\0';
        id = child(id, group_number, function(name));
        path += length + (path[length] == '/');
    }
    return id ? &script.shadow->nodes[id] : NULL;
}

const struct fl_shadow_node *node(const char *group_name, const char *path)
{
    look();
    const struct fl_shadow_node *row = find_node(group_name, path);
    if (!row)
        fail_msg("no node %s:%s", group_name, path);
    return row;
}

const struct fl_shadow_task *find_task(uint32_t id)
{
    for (uint32_t i = 0; i < script.shadow->task_count; i++)
        if (script.shadow->tasks[i].id == id)
            return &script.shadow->tasks[i];
    return NULL;
}

const struct fl_shadow_task *task(uint32_t id)
{
    look();
    const struct fl_shadow_task *row = find_task(id);
    if (!row)
        fail_msg("no task %u", id);
    return row;
}

const struct fl_shadow_group *group(const char *entry)
{
    look();
    uint32_t id = group_id(entry);
    if (id >= script.shadow->group_count)
        fail_msg("no group %s", entry);
    return &script.shadow->groups[id];
}

const struct fl_shadow_thread *thread(void)
{
    look();
    return &script.shadow->threads[script.thread->index];
}

void check_times(const char *what, uint64_t cpu, uint64_t blocked, uint64_t idle, uint64_t waited, struct times wanted,
                 const char *file, int line)
{
    if (cpu == wanted.cpu && blocked == wanted.blocked && idle == wanted.idle && waited == wanted.waited)
        return;
    print_error("%s\n", what);
    print_error("  got    cpu %" PRIu64 " blocked %" PRIu64 " idle %" PRIu64 " waited %" PRIu64 "\n", cpu, blocked,
                idle, waited);
    print_error("  wanted cpu %" PRIu64 " blocked %" PRIu64 " idle %" PRIu64 " waited %" PRIu64 "\n", wanted.cpu,
                wanted.blocked, wanted.idle, wanted.waited);
    _fail(file, line);
}
