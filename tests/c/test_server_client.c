/* One connection without a network: states, limits, rates, and what a slow client costs. */
#include "core_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "client.h"

#define MS 1000000u

static struct fl_service service;
static uint64_t now; /* ns of the server's clock */

static int begin(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main");
    service = (struct fl_service){.shadow = script.shadow, .about = {.version = "9", .program = "p", .python = "3"}};
    now = 77000 * (uint64_t)MS;
    return fl_token_make(service.token);
}

static int finish(void **state)
{
    fl_pictures_forget(&service.pictures);
    return script_end(state);
}

static void send_text(struct fl_client *client, const char *text)
{
    fl_client_receive(client, &service, now, text, strlen(text), false, true);
}

/* The next message, whole; NULL: none. The caller owns it. */
static json_t *take(struct fl_client *client)
{
    static unsigned char chunk[4096];
    struct fl_buffer message = {0};
    bool first, last = false;
    while (!last) {
        size_t size = fl_client_take(client, &service, now, chunk, sizeof chunk, &first, &last);
        if (size == 0)
            return NULL;
        fl_buffer_add(&message, chunk, size);
    }
    json_t *parsed = json_loadb((const char *)message.data, message.length, 0, NULL);
    assert_non_null(parsed);
    fl_buffer_fini(&message);
    return parsed;
}

static const char *kind(const json_t *message)
{
    const char *event = json_string_value(json_object_get(message, "event"));
    const char *command = json_string_value(json_object_get(message, "command"));
    return event ? event : command ? command : "";
}

/* Takes a message and forgets it; fails the test unless it is of this kind. Returns its body's `since`, or -1. */
static json_int_t expect(struct fl_client *client, const char *wanted)
{
    json_t *message = take(client);
    if (!message)
        fail_msg("wanted %s, got nothing", wanted);
    assert_string_equal(kind(message), wanted);
    const json_t *since = json_object_get(json_object_get(message, "body"), "since");
    json_int_t result = since ? json_integer_value(since) : -1;
    json_decref(message);
    return result;
}

static void expect_nothing(struct fl_client *client)
{
    json_t *message = take(client);
    if (message)
        fail_msg("wanted nothing, got %s", kind(message));
}

static void initialize(struct fl_client *client)
{
    char text[512];
    fl_client_init(client, now);
    snprintf(text, sizeof text,
             "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"adapterID\":\"flamelet\","
             "\"token\":\"%s\",\"protocol\":{\"min\":1,\"max\":1}}}",
             service.token);
    send_text(client, text);
    expect(client, "initialize");
    expect(client, "initialized");
    expect_nothing(client);
}

static void subscribe(struct fl_client *client, const char *rate)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"seq\":2,\"type\":\"request\",\"command\":\"flamelet/subscribe\",\"arguments\":{\"rate\":%s}}", rate);
    send_text(client, text);
}

/* Time passes, for the program and the server. */
static void wait_ms(unsigned ms)
{
    now += ms * (uint64_t)MS;
    busy(ms * (uint64_t)MS);
}

static void test_a_client_is_told_at_once_and_then_at_its_rate(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate;
    } rates[] = {{"0.1", 0.1}, {"1", 1}, {"3.5", 3.5}, {"5", 5}, {"20", 20}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct fl_client client;
        initialize(&client);
        subscribe(&client, rates[i].text);
        expect(&client, "flamelet/subscribe");
        assert_int_equal(expect(&client, "flamelet/update"), 0);
        int updates = 0;
        for (int ms = 0; ms < 60000; ms += 5) {
            wait_ms(5);
            fl_client_tick(&client, now);
            if (!fl_client_has_output(&client))
                continue;
            assert_true(expect(&client, "flamelet/update") > 0);
            updates++;
        }
        if (updates > 60 * rates[i].rate + 1 || updates < 60 * rates[i].rate * 0.95 - 1)
            fail_msg("%d updates in a minute at rate %s", updates, rates[i].text);
        fl_client_fini(&client);
    }
}

/* GIVEN a client that does not read, THEN one update waits for it, and the next one tells it all it has missed. */
static void test_a_slow_client_gets_fewer_updates(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    subscribe(&client, "20");
    expect(&client, "flamelet/subscribe");
    json_int_t version = 0;
    unsigned char byte;
    bool first, last;
    assert_int_equal(fl_client_take(&client, &service, now, &byte, 1, &first, &last), 1);
    version = (json_int_t)script.shadow->version;
    const struct fl_picture *waiting = client.picture;
    for (int i = 0; i < 1000; i++) {
        wait_ms(50);
        call("f");
        fl_client_tick(&client, now);
        assert_ptr_equal(client.picture, waiting);
        assert_int_equal(client.queue_count, 0);
    }
    /* The rest of the first one. */
    static unsigned char chunk[65536];
    assert_true(fl_client_take(&client, &service, now, chunk, sizeof chunk, &first, &last) > 0);
    assert_true(last && !first);
    assert_int_equal(expect(&client, "flamelet/update"), version);
    expect_nothing(&client);
    fl_client_fini(&client);
}

static void test_clients_at_the_same_place_share_one_picture(void **state)
{
    (void)state;
    struct fl_client clients[3];
    unsigned char byte;
    bool first, last;
    for (int i = 0; i < 3; i++) {
        initialize(&clients[i]);
        subscribe(&clients[i], i < 2 ? "5" : "10");
        expect(&clients[i], "flamelet/subscribe");
        expect(&clients[i], "flamelet/update");
        wait_ms(37); /* they did not come at the same time */
    }
    for (int round = 0; round < 3; round++) {
        do {
            wait_ms(5);
            fl_client_tick(&clients[0], now);
        } while (!fl_client_has_output(&clients[0]));
        for (int i = 1; i < 3; i++)
            fl_client_tick(&clients[i], now);
        for (int i = 0; i < 3; i++)
            assert_int_equal(fl_client_take(&clients[i], &service, now, &byte, 1, &first, &last), 1);
        if (round > 0) /* until then their cursors differ */
            assert_ptr_equal(clients[0].picture, clients[1].picture);
        assert_ptr_not_equal(clients[0].picture, clients[2].picture); /* it was told more often */
        for (int i = 0; i < 3; i++) {
            static unsigned char chunk[65536];
            fl_client_take(&clients[i], &service, now, chunk, sizeof chunk, &first, &last);
            assert_true(last);
        }
        for (int ms = 0; ms < 120; ms += 5) { /* the one with the higher rate */
            wait_ms(5);
            fl_client_tick(&clients[2], now);
            if (fl_client_has_output(&clients[2]))
                expect(&clients[2], "flamelet/update");
        }
    }
    for (int i = 0; i < 3; i++)
        fl_client_fini(&clients[i]);
}

static void test_a_new_subscription_begins_anew(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    subscribe(&client, "5");
    expect(&client, "flamelet/subscribe");
    assert_int_equal(expect(&client, "flamelet/update"), 0);
    wait_ms(200);
    send_text(&client, "{\"seq\":3,\"type\":\"request\",\"command\":\"flamelet/subscribe\",\"arguments\":"
                       "{\"what\":[\"threads\"]}}");
    expect(&client, "flamelet/subscribe");
    json_t *message = take(&client);
    const json_t *body = json_object_get(message, "body");
    assert_int_equal(json_integer_value(json_object_get(body, "subscription")), 2);
    assert_int_equal(json_integer_value(json_object_get(body, "since")), 0);
    assert_null(json_object_get(body, "nodes"));
    json_decref(message);
    /* On and on: still no more than the highest rate. */
    int updates = 0;
    for (int ms = 0; ms < 1000; ms += 1) {
        wait_ms(1);
        subscribe(&client, "20");
        fl_client_tick(&client, now);
        while ((message = take(&client))) {
            updates += strcmp(kind(message), "flamelet/update") == 0;
            json_decref(message);
        }
    }
    assert_in_range(updates, 10, 21);
    send_text(&client, "{\"seq\":4,\"type\":\"request\",\"command\":\"flamelet/unsubscribe\"}");
    expect(&client, "flamelet/unsubscribe");
    wait_ms(5000);
    fl_client_tick(&client, now);
    expect_nothing(&client);
    assert_true(fl_client_next_tick(&client) == UINT64_MAX);
    fl_client_fini(&client);
}

/* The next message, which must be an update; its body. The caller owns the message. */
static const json_t *take_update(struct fl_client *client, json_t **message)
{
    *message = take(client);
    assert_non_null(*message);
    assert_string_equal(kind(*message), "flamelet/update");
    return json_object_get(*message, "body");
}

/* GIVEN a client that wants to see one task's tree, THEN the task gets one at its next switch in, and it is told. */
static void test_a_task_can_be_watched(void **state)
{
    (void)state;
    struct fl_client client;
    struct fl_task *worker = spawn(), *hub = current_task();
    json_t *message;
    char text[256];
    script.session->options.task_trees = FL_TREES_WATCHED;
    look(); /* the client has seen the tasks before it asks for one */
    initialize(&client);
    snprintf(text, sizeof text,
             "{\"seq\":2,\"type\":\"request\",\"command\":\"flamelet/subscribe\",\"arguments\":"
             "{\"what\":[\"tree\"],\"tree\":{\"of\":\"task\",\"task\":%u}}}",
             atomic_load(&worker->id));
    send_text(&client, text);
    expect(&client, "flamelet/subscribe");
    const json_t *body = take_update(&client, &message);
    assert_null(json_object_get(body, "tree"));
    json_decref(message);
    to(worker), call("job"), wait_ms(2000), ret("job"), to(hub);
    fl_client_tick(&client, now);
    body = take_update(&client, &message);
    const json_t *tree = json_object_get(body, "tree");
    assert_int_equal(json_integer_value(json_object_get(tree, "task")), atomic_load(&worker->id));
    json_decref(message);
    fl_client_fini(&client);
}

/* GIVEN clients of which one wants the timeline, THEN it is read for that one, and told to it alone. */
static void test_the_timeline_is_for_who_wants_it(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        bool timeline;
    } cases[] = {{"threads", false}, {"timeline", true}};
    struct fl_task *worker = spawn(), *hub = current_task();
    for (int i = 0; i < 2; i++) {
        struct fl_client client;
        json_t *message;
        char text[256];
        initialize(&client);
        snprintf(
            text, sizeof text,
            "{\"seq\":2,\"type\":\"request\",\"command\":\"flamelet/subscribe\",\"arguments\":{\"what\":[\"%s\"]}}",
            cases[i].what);
        send_text(&client, text);
        expect(&client, "flamelet/subscribe");
        expect(&client, "flamelet/update");
        to(worker), wait_ms(1000), to(hub), wait_ms(1000);
        fl_client_tick(&client, now);
        const json_t *timeline = json_object_get(take_update(&client, &message), "timeline");
        assert_int_equal(timeline != NULL, cases[i].timeline);
        json_decref(message);
        fl_client_fini(&client);
    }
}

static void test_nothing_new_is_not_told(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    subscribe(&client, "20");
    expect(&client, "flamelet/subscribe");
    expect(&client, "flamelet/update");
    wait_ms(100);
    fl_session_stop(script.session);
    fl_client_tick(&client, now);
    expect(&client, "flamelet/update");
    for (int i = 0; i < 20; i++) {
        wait_ms(100);
        fl_client_tick(&client, now);
        expect_nothing(&client);
        assert_false(fl_client_has_output(&client));
        assert_true(fl_client_next_tick(&client) > now);
    }
    fl_session_start(script.session);
    fl_session_resume(script.session, script.thread);
    wait_ms(100);
    fl_client_tick(&client, now);
    expect(&client, "flamelet/update");
    fl_client_fini(&client);
}

static void test_sizes(void **state)
{
    (void)state;
    static char text[70000];
    struct fl_client client;
    memset(text, ' ', sizeof text);

    fl_client_init(&client, now);
    fl_client_receive(&client, &service, now, text, FL_REQUEST_FIRST_MAX + 1, false, false);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_TOO_LARGE);
    fl_client_fini(&client);

    fl_client_init(&client, now);
    for (int i = 0; i < 5; i++) /* in pieces, none of them large */
        fl_client_receive(&client, &service, now, text, 1000, false, false);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_TOO_LARGE);
    fl_client_fini(&client);

    initialize(&client);
    static const char request[] = "{\"seq\":2,\"type\":\"request\",\"command\":\"flamelet/unsubscribe\"}";
    memcpy(text, request, strlen(request));
    fl_client_receive(&client, &service, now, text, 30000, false, false);
    fl_client_receive(&client, &service, now, text + 30000, FL_REQUEST_MAX - 30000, false, true);
    expect(&client, "flamelet/unsubscribe");
    fl_client_receive(&client, &service, now, text, 30000, false, false);
    fl_client_receive(&client, &service, now, text + 30000, FL_REQUEST_MAX - 30000 + 1, false, true);
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_TOO_LARGE);
    fl_client_fini(&client);
}

static void test_binary_messages_are_refused(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    fl_client_receive(&client, &service, now, "{}", 2, true, true);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_BINARY);
    fl_client_fini(&client);
}

static void test_who_says_nothing_is_closed(void **state)
{
    (void)state;
    struct fl_client client;
    fl_client_init(&client, now);
    assert_true(fl_client_next_tick(&client) == now + 5000 * (uint64_t)MS);
    now += 4999 * (uint64_t)MS;
    fl_client_tick(&client, now);
    assert_false(fl_client_has_output(&client));
    now += 1 * (uint64_t)MS;
    fl_client_tick(&client, now);
    assert_true(fl_client_has_output(&client));
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_POLICY);
    fl_client_fini(&client);
}

static void test_a_longer_token_is_wrong(void **state)
{
    (void)state;
    char text[512];
    struct fl_client client;
    fl_client_init(&client, now);
    snprintf(text, sizeof text,
             "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"adapterID\":\"flamelet\","
             "\"token\":\"%s0\",\"protocol\":{\"min\":1,\"max\":1}}}",
             service.token);
    send_text(&client, text);
    json_t *message = take(&client);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json_object_get(message, "body"), "error"), "id")),
        FL_REFUSED_TOKEN);
    assert_false(client.known);
    json_decref(message);
    fl_client_fini(&client);
}

static void test_wrong_versions_are_told_the_right_ones(void **state)
{
    (void)state;
    char text[512];
    struct fl_client client;
    fl_client_init(&client, now);
    snprintf(text, sizeof text,
             "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"adapterID\":\"flamelet\","
             "\"token\":\"%s\",\"protocol\":{\"min\":2,\"max\":3}}}",
             service.token);
    send_text(&client, text);
    json_t *message = take(&client), *wanted = json_pack("{si si}", "min", 1, "max", 1);
    assert_true(json_equal(json_object_get(json_object_get(message, "body"), "protocol"), wanted));
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_POLICY);
    json_decref(message);
    json_decref(wanted);
    fl_client_fini(&client);
}

/* GIVEN a client that asks and never reads, THEN it is not read from either, and what it costs is bounded. */
static void test_who_never_reads_is_not_read(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    int asked = 0;
    while (fl_client_wants_input(&client)) {
        send_text(&client, "{\"seq\":2,\"type\":\"request\",\"command\":\"nonsense\"}");
        asked++;
    }
    assert_in_range(asked, 8, FL_CLIENT_QUEUE);
    for (int i = 0; i < asked; i++)
        expect(&client, "nonsense");
    assert_true(fl_client_wants_input(&client));
    /* Should the network not stop in time, it is closed. */
    for (int i = 0; i < 1000; i++)
        send_text(&client, "{\"seq\":2,\"type\":\"request\",\"command\":\"nonsense\"}");
    assert_int_equal(client.close_code, FL_CLOSE_POLICY);
    assert_int_equal(client.queue_count, FL_CLIENT_QUEUE);
    /* It gets those that fitted, in order, before. */
    for (int i = 0; i < FL_CLIENT_QUEUE; i++) {
        json_t *message = take(&client);
        assert_int_equal(json_integer_value(json_object_get(message, "seq")), 2 + asked + 1 + i);
        json_decref(message);
    }
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_POLICY);
    fl_client_fini(&client);
}

static void test_disconnect_is_answered(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    subscribe(&client, "5");
    send_text(&client, "{\"seq\":4,\"type\":\"request\",\"command\":\"disconnect\"}");
    assert_int_equal(fl_client_closes_with(&client), 0);
    send_text(&client, "{\"seq\":5,\"type\":\"request\",\"command\":\"flamelet/unsubscribe\"}"); /* too late */
    expect(&client, "flamelet/subscribe");
    expect(&client, "disconnect");
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_NORMAL);
    fl_client_fini(&client);
}

static void test_the_end_is_told(void **state)
{
    (void)state;
    struct fl_client client;
    initialize(&client);
    subscribe(&client, "0.1");
    expect(&client, "flamelet/subscribe");
    expect(&client, "flamelet/update");
    wait_ms(100);
    fl_session_end(script.session);
    fl_client_finish(&client);
    json_t *message = take(&client);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json_object_get(message, "body"), "status"), "state")),
        "ended");
    json_decref(message);
    expect(&client, "terminated");
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_NORMAL);
    fl_client_fini(&client);

    initialize(&client); /* not subscribed */
    fl_client_finish(&client);
    expect(&client, "terminated");
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_NORMAL);
    fl_client_fini(&client);

    fl_client_init(&client, now); /* a stranger is told nothing */
    fl_client_finish(&client);
    expect_nothing(&client);
    assert_int_equal(fl_client_closes_with(&client), FL_CLOSE_GOING_AWAY);
    fl_client_fini(&client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_a_client_is_told_at_once_and_then_at_its_rate),
        TEST(test_a_slow_client_gets_fewer_updates),
        TEST(test_clients_at_the_same_place_share_one_picture),
        TEST(test_a_new_subscription_begins_anew),
        TEST(test_a_task_can_be_watched),
        TEST(test_the_timeline_is_for_who_wants_it),
        TEST(test_nothing_new_is_not_told),
        TEST(test_sizes),
        TEST(test_binary_messages_are_refused),
        TEST(test_who_says_nothing_is_closed),
        TEST(test_a_longer_token_is_wrong),
        TEST(test_wrong_versions_are_told_the_right_ones),
        TEST(test_who_never_reads_is_not_read),
        TEST(test_disconnect_is_answered),
        TEST(test_the_end_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
