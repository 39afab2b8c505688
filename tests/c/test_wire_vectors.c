/*
 * tests/vectors: a core that is driven through the script says, through a client's connection, exactly what is written
 * there. FL_VECTORS is the folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "client.h"
#include "event.h"
#include "recording.h"
#include "wire_reader.h"

static json_t *load(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", FL_VECTORS, name);
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        fail_msg("%s: %s", path, error.text);
    return value;
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value)
        fail_msg("the vector misses %s", name);
    return value;
}

static uint64_t number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value))
        fail_msg("the vector misses %s", name);
    return (uint64_t)json_integer_value(value);
}

/* The program of script.json, stopped where an update is due. */
struct program {
    json_t *script;
    size_t step;
    struct fl_session *session;
    struct fl_shadow *shadow;
    struct fl_thread *thread;
    struct fl_task *tasks[16];
};

enum { START = 123456 }; /* where the counter stands when the session begins */

static void begin(struct program *p)
{
    *p = (struct program){.script = load("script.json")};
    const struct fl_session_options options = {.threshold_ns = number(p->script, "threshold"),
                                               .ended_tasks = (uint32_t)number(p->script, "ended_tasks")};
    assert_int_equal(number(p->script, "history_period"), FL_HISTORY_NS);
    fl_fake_ticks = START;
    fl_fake_cpu = 0;
    assert_int_equal(fl_session_create(&options, &p->session), 0);
    assert_int_equal(fl_shadow_create(p->session, &p->shadow), 0);
    atomic_store(&p->session->switches, true);
    fl_session_start(p->session);
}

static void finish(struct program *p)
{
    fl_shadow_destroy(p->shadow);
    fl_session_destroy(p->session);
    json_decref(p->script);
}

static uint32_t string_of(struct program *p, const char *string)
{
    return fl_strings_add(&p->session->strings, string, strlen(string));
}

static void do_step(struct program *p, const json_t *step)
{
    const char *what = text(step, "do");
    struct fl_task *current = p->thread ? atomic_load(&p->thread->task) : NULL;

    fl_fake_ticks = START + number(step, "at");
    fl_fake_cpu = number(step, "cpu");
    fl_ticks now = p->thread ? fl_now(p->thread) : 0;
    if (strcmp(what, "attach") == 0) {
        uint32_t tid = (uint32_t)number(step, "tid");
        p->thread = fl_thread_attach(p->session, tid, string_of(p, text(step, "name")));
        assert_non_null(p->thread);
        p->tasks[number(step, "task")] = atomic_load(&p->thread->task);
    } else if (strcmp(what, "function") == 0) {
        struct fl_function function = {.name = string_of(p, text(step, "name"))};
        function.qualname = string_of(p, text(step, "qualname"));
        function.file = string_of(p, text(step, "file"));
        function.line = (uint32_t)number(step, "line");
        function.kind = (uint32_t)number(step, "kind");
        assert_int_equal(fl_functions_add(&p->session->functions, &function), number(step, "id"));
    } else if (strcmp(what, "create") == 0) {
        struct fl_task *task = fl_task_create(p->thread, now, NULL);
        assert_non_null(task);
        p->tasks[number(step, "task")] = task;
        if (json_is_true(json_object_get(step, "hub")))
            fl_task_set_hub(p->thread, task);
        if (json_object_get(step, "name"))
            fl_task_set_name(task, string_of(p, text(step, "name")));
    } else if (strcmp(what, "switch") == 0) {
        if (json_object_get(step, "wait"))
            fl_task_set_wait(current, string_of(p, text(step, "wait")));
        fl_switch(p->thread, p->tasks[number(step, "to")], now);
    } else if (strcmp(what, "enter") == 0) {
        fl_enter(p->thread, (fl_function_id)number(step, "function"), true, now);
    } else if (strcmp(what, "leave") == 0) {
        fl_leave(p->thread, (fl_function_id)number(step, "function"), now);
    } else if (strcmp(what, "end") == 0) {
        fl_task_end(p->thread, p->tasks[number(step, "task")], now);
    } else if (strcmp(what, "sample") == 0) {
        fl_shadow_sample(p->shadow);
    } else if (strcmp(what, "stop") == 0) {
        fl_session_end(p->session);
    } else {
        fail_msg("unknown step %s", what);
    }
}

/* Goes on to the update with this version; the shadow has not been refreshed. */
static void run_to_update(struct program *p, uint64_t version)
{
    const json_t *steps = json_object_get(p->script, "steps");
    for (; p->step < json_array_size(steps); p->step++) {
        const json_t *step = json_array_get(steps, p->step);
        if (strcmp(text(step, "do"), "update") != 0) {
            do_step(p, step);
        } else if (number(step, "version") == version) {
            fl_fake_ticks = START + number(step, "at");
            fl_fake_cpu = number(step, "cpu");
            p->step++;
            return;
        }
    }
    fail_msg("the script has no update %d", (int)version);
}

/* The machine's part of a status is not compared. */
static void set_machine(json_t *message)
{
    json_t *status = json_object_get(json_object_get(message, "body"), "status");
    if (!status)
        return;
    json_object_set_new(status, "clock", json_string("c"));
    json_object_set_new(status, "reading", json_integer(1));
}

/* Of `initialize` the form only: each value becomes its type. */
static void set_session(json_t *message)
{
    json_t *session = json_object_get(json_object_get(message, "body"), "flamelet"), *value;
    const char *name;
    json_object_foreach(session, name, value) json_object_set_new(session, name, json_integer(json_typeof(value)));
}

static json_t *next_message(struct fl_client *client, struct fl_service *service, uint64_t now)
{
    struct fl_buffer message = {0};
    unsigned char chunk[100]; /* small, so that messages come in many pieces */
    bool first = true, last = false;
    while (!last) {
        bool is_first = false;
        size_t size = fl_client_take(client, service, now, chunk, sizeof chunk, &is_first, &last);
        if (size == 0)
            return NULL;
        assert_int_equal(is_first, first);
        first = false;
        fl_buffer_add(&message, chunk, size);
    }
    json_t *parsed = json_loadb((const char *)message.data, message.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(parsed);
    fl_buffer_fini(&message);
    return parsed;
}

static void test_the_conversation(void **state)
{
    (void)state;
    json_t *conversation = load("conversation.json"), *entry;
    struct program program;
    begin(&program);
    struct fl_service service = {.about = {.version = "9", .program = "p.py", .python = "3.12", .pid = 1},
                                 .shadow = program.shadow};
    struct fl_client client;
    uint64_t now = 1000000000;
    size_t index;
    int updates = 0;

    fl_client_init(&client, now);
    json_array_foreach(conversation, index, entry)
    {
        json_t *message = json_object_get(entry, "message");
        now += 1000000000; /* so that each subscription may be told at once */
        if (strcmp(text(entry, "from"), "client") == 0) {
            const json_t *arguments = json_object_get(message, "arguments");
            char *sent = json_dumps(message, 0);
            if (json_object_get(arguments, "token"))
                memcpy(service.token, text(arguments, "token"), sizeof service.token);
            fl_client_receive(&client, &service, now, sent, strlen(sent), false, true);
            free(sent);
            continue;
        }
        const json_t *body = json_object_get(message, "body");
        if (json_object_get(body, "version")) {
            run_to_update(&program, number(body, "version"));
            fl_service_refresh(&service, now, true);
            if (atomic_load(&program.session->state) == FL_SESSION_OVER)
                fl_client_finish(&client);
            else
                fl_client_tick(&client, now);
            updates++;
        }
        json_t *said = next_message(&client, &service, now);
        assert_non_null(said);
        set_machine(said);
        set_machine(message);
        if (json_object_get(body, "flamelet")) {
            set_session(said);
            set_session(message);
        }
        assert_json_equal(said, message);
        json_decref(said);
    }
    assert_int_equal(updates, 5);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_NORMAL);
    fl_client_fini(&client);
    fl_pictures_forget(&service.pictures);
    finish(&program);
    json_decref(conversation);
}

/* GIVEN the program's end, THEN a recording of it has the form of recording.jsonl, and its whole picture is what the
 * updates there add up to. */
static void test_a_recording_tells_the_same(void **state)
{
    (void)state;
    struct program program;
    begin(&program);
    run_to_update(&program, 5);
    assert_int_equal(fl_shadow_refresh(program.shadow), 0);
    struct fl_buffer lines = {0};
    const struct fl_about about = {.version = "9", .program = "p.py", .python = "3.12", .pid = 1};
    fl_recording_write(program.shadow, &about, &lines);
    fl_buffer_add(&lines, "", 1);

    json_t *pictures[2] = {picture_new(), picture_new()};
    char path[512];
    snprintf(path, sizeof path, "%s/recording.jsonl", FL_VECTORS);
    FILE *files[2] = {fmemopen(lines.data, lines.length - 1, "r"), fopen(path, "r")};
    int counts[2] = {0};
    for (int i = 0; i < 2; i++) {
        char *line = NULL;
        size_t room = 0;
        assert_non_null(files[i]);
        for (ssize_t length; (length = getline(&line, &room, files[i])) > 0;) {
            json_t *message = json_loadb(line, (size_t)length, 0, NULL);
            const json_t *body = json_object_get(message, "body");
            assert_int_equal(number(message, "seq"), ++counts[i]);
            set_machine(message);
            if (json_object_get(body, "version"))
                picture_apply(pictures[i], body);
            json_decref(message);
        }
        free(line);
        fclose(files[i]);
        /* One was read five times, the other once. */
        json_object_set_new(pictures[i], "version", json_integer(0));
    }
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 8);
    assert_json_equal(pictures[0], pictures[1]);
    json_decref(pictures[0]);
    json_decref(pictures[1]);
    fl_buffer_fini(&lines);
    finish(&program);
}

static void replace_token(char *to, size_t size, const char *from, const char *token)
{
    const char *at = strstr(from, "TOKEN");
    if (at)
        snprintf(to, size, "%.*s%s%s", (int)(at - from), from, token, at + strlen("TOKEN"));
    else
        snprintf(to, size, "%s", from);
}

/* GIVEN each message of bad-requests.json, THEN the answer and the close code are those. */
static void test_bad_requests(void **state)
{
    (void)state;
    json_t *cases = load("bad-requests.json"), *entry;
    struct program program;
    begin(&program);
    struct fl_service service = {.shadow = program.shadow};
    assert_int_equal(fl_token_make(service.token), 0);
    size_t index;

    json_array_foreach(cases, index, entry)
    {
        struct fl_client client;
        char send[1024];
        fl_client_init(&client, 1);
        if (strcmp(text(entry, "client"), "ready") == 0) {
            replace_token(send, sizeof send,
                          "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"adapterID\":"
                          "\"flamelet\",\"token\":\"TOKEN\",\"protocol\":{\"min\":1,\"max\":1}}}",
                          service.token);
            fl_client_receive(&client, &service, 1, send, strlen(send), false, true);
            json_decref(next_message(&client, &service, 1));
            json_decref(next_message(&client, &service, 1));
        }
        replace_token(send, sizeof send, text(entry, "send"), service.token);
        fl_client_receive(&client, &service, 1, send, strlen(send), false, true);
        json_t *said = next_message(&client, &service, 1);
        const json_t *error = json_object_get(json_object_get(said, "body"), "error");
        const json_t *wanted = json_object_get(entry, "error");
        if (json_is_null(wanted)) {
            if (said)
                fail_msg("%s: an answer was not wanted", text(entry, "name"));
        } else {
            json_t *sent = json_loads(send, 0, NULL);
            if (!error || !json_equal(json_object_get(error, "id"), wanted))
                fail_msg("%s: got error %lld", text(entry, "name"),
                         (long long)json_integer_value(json_object_get(error, "id")));
            if (!strstr(text(error, "format"), text(entry, "names")))
                fail_msg("%s: %s is not in \"%s\"", text(entry, "name"), text(entry, "names"), text(error, "format"));
            assert_true(json_equal(json_object_get(said, "request_seq"), json_object_get(sent, "seq")));
            assert_true(json_is_false(json_object_get(said, "success")));
            assert_true(json_is_boolean(json_object_get(error, "showUser")));
            assert_true(strlen(text(said, "message")) > 0);
            json_decref(sent);
        }
        unsigned close_code = fl_client_closes_with(&client);
        if (close_code != (unsigned)json_integer_value(json_object_get(entry, "close")))
            fail_msg("%s: closed with %u", text(entry, "name"), close_code);
        json_decref(said);
        fl_client_fini(&client);
    }
    assert_true(index > 20);
    finish(&program);
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_conversation),
        cmocka_unit_test(test_a_recording_tells_the_same),
        cmocka_unit_test(test_bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
