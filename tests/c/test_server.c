/* The server over a real network: HTTP, handshake, limits, updates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "http.h"
#include "live_core.h"
#include "process.h"
#include "server.h"
#include "wire_reader.h"
#include "ws_client.h"

static struct live_core core;
static struct fl_server *server;
static uint16_t port;

enum { LARGE = 300000 };
static unsigned char large[LARGE];
static const struct fl_page_file pages[] = {
    {"/", "text/html; charset=utf-8", (const unsigned char *)"<p>hello</p>", 12},
    {"/assets/app.js", "text/javascript", large, LARGE},
    {"/empty", "text/plain", NULL, 0},
};

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < LARGE; i++)
        large[i] = (unsigned char)('a' + i % 23);
    live_core_begin(&core);
    const struct fl_server_options options = {
        .pages = pages, .page_count = 3, .about = {.version = "9", .program = "p", .python = "3.12", .pid = 42}};
    assert_int_equal(fl_server_start(&options, core.session, &server), 0);
    port = fl_server_port(server);
    assert_true(port != 0);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    fl_server_stop(server);
    live_core_end(&core);
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static const char *event_of(const json_t *message)
{
    const char *event = json_string_value(json_object_get(message, "event"));
    return event ? event : "";
}

static void test_the_page_is_served(void **state)
{
    (void)state;
    char *answer = http_exchange(port, "GET / HTTP/1.1\r\nHost: localhost:9\r\n\r\n");
    assert_int_equal(http_status(answer), 200);
    static const char *const wanted[] = {
        "content-type: text/html; charset=utf-8\r\n",
        "content-length: 12\r\n",
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src",
        "; img-src 'self' data:; worker-src 'self'; ",
        "x-content-type-options: nosniff\r\n",
        "referrer-policy: no-referrer\r\n",
        "cross-origin-resource-policy: same-origin\r\n",
        "cache-control: no-store\r\n",
        "\r\n\r\n<p>hello</p>",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(answer, wanted[i]))
            fail_msg("%s is not in %s", wanted[i], answer);
    assert_null(strstr(answer, "access-control"));
    assert_null(strstr(answer, "libwebsockets"));
    free(answer);

    answer = http_exchange(port, "GET /assets/app.js?v=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(http_status(answer), 200);
    const char *body = strstr(answer, "\r\n\r\n") + 4;
    assert_int_equal(strlen(body), LARGE);
    assert_memory_equal(body, large, LARGE);
    free(answer);

    answer = http_exchange(port, "GET /empty HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(http_status(answer), 200);
    free(answer);
}

static void test_what_is_refused_over_http(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        {404, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {404, "GET /assets/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {404, "GET /assets HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://evil.example\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: null\r\n\r\n"},
        {200, "GET / HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n\r\n"},
        {405, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"},
        {405, "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"},
        {405, "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {405, "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n"},
        {405, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {403, "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n\r\nabc"},
        {426, "GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {403, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
              "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"},
        {403, "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: tls\r\n\r\n"},
        {0, "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {403, "\x16\x03\x01\x02"}, /* TLS; answered by the library */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t start = now_ms();
        char *answer = http_exchange(port, cases[i].request);
        if (http_status(answer) != cases[i].status)
            fail_msg("wanted %d for %s\ngot %s", cases[i].status, cases[i].request, answer);
        if (now_ms() - start > 4000) /* until the library's time is up, or the test's */
            fail_msg("the connection stays open after %s", cases[i].request);
        if (cases[i].status == 405)
            assert_non_null(strstr(answer, "allow: GET\r\n"));
        bool is_ours = strncmp(cases[i].request, "HEAD", 4) != 0 && !strstr(cases[i].request, "Upgrade: tls") &&
                       cases[i].request[0] != 0x16;
        if (cases[i].status >= 400 && is_ours)
            assert_non_null(strstr(answer, "\r\n\r\nflamelet: "));
        free(answer);
    }
}

static void test_who_may_open_a_websocket(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *path, *headers;
    } cases[] = {
        {101, NULL, NULL},
        {101, NULL, "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {101, NULL, "Host: [::1]:77\r\nOrigin: http://[::1]:77\r\nSec-WebSocket-Protocol: x, flamelet\r\n"},
        {403, NULL, "Host: evil.example\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {403, NULL, "Sec-WebSocket-Protocol: flamelet\r\n"},
        {403, NULL, "Host: localhost:1\r\nOrigin: http://evil.example\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {403, NULL, "Host: localhost:1\r\nOrigin: http://localhost:2\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {404, "/", "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {404, "/ws/", "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet\r\n"},
        {400, NULL, "Host: localhost:1\r\n"},
        {400, NULL, "Host: localhost:1\r\nSec-WebSocket-Protocol: chat\r\n"},
        {400, NULL, "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet2\r\n"},
        {0, NULL, "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet-http, flamelet\r\n"},
        {0, NULL, "Host: localhost:1\r\nSec-WebSocket-Protocol: flamelet-listener, flamelet\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws ws;
        int status = ws_open(&ws, port, cases[i].path, cases[i].headers);
        if (status != cases[i].status)
            fail_msg("wanted %d, got %d for case %zu", cases[i].status, status, i);
        ws_drop(&ws);
    }
    char *answer = http_exchange(
        port, "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
              "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Protocol: flamelet\r\n\r\n");
    assert_int_equal(http_status(answer), 400);
    free(answer);
}

/* Calls of all nodes of a picture. */
static json_int_t calls_of(const json_t *picture)
{
    json_int_t calls = 0;
    const char *id;
    json_t *node;
    json_object_foreach(json_object_get(picture, "nodes"), id, node)
    {
        calls += json_integer_value(json_object_get(node, "calls"));
    }
    return calls;
}

static void test_a_client_is_told_what_happens(void **state)
{
    (void)state;
    struct ws ws;
    ws_join(&ws, port, fl_server_token(server));
    json_t *response = ws_request(&ws, "flamelet/subscribe", "{\"rate\":20}");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(response, "body"), "subscription")), 1);
    json_decref(response);
    json_t *picture = picture_new();
    json_int_t seq = 3;
    for (int i = 0; i < 20; i++) {
        json_t *message = ws_receive(&ws, 5000);
        assert_non_null(message);
        assert_string_equal(event_of(message), "flamelet/update");
        assert_int_equal(json_integer_value(json_object_get(message, "seq")), ++seq);
        picture_apply(picture, json_object_get(message, "body"));
        json_decref(message);
    }
    assert_true(calls_of(picture) > 500);
    json_decref(picture);
    response = ws_request(&ws, "disconnect", NULL);
    json_decref(response);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1000);
    ws_drop(&ws);
}

static void test_wrong_messages(void **state)
{
    (void)state;
    static char text[70000];
    memset(text, ' ', sizeof text - 1);
    struct ws ws;

    /* Not JSON. */
    ws_join(&ws, port, fl_server_token(server));
    ws_send(&ws, "hello");
    assert_int_equal(ws_wait_closed(&ws, 5000), 1007);
    ws_drop(&ws);

    /* Not UTF-8. */
    ws_join(&ws, port, fl_server_token(server));
    ws_send(&ws, "\xff\xff");
    assert_int_equal(ws_wait_closed(&ws, 5000), 1007);
    ws_drop(&ws);

    /* Binary. */
    ws_join(&ws, port, fl_server_token(server));
    ws_send_frame(&ws, WS_BINARY, true, true, "{}", 2);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1003);
    ws_drop(&ws);

    /* Too large, in one frame and in many. */
    ws_join(&ws, port, fl_server_token(server));
    ws_send_frame(&ws, WS_TEXT, true, true, text, 65537);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1009);
    ws_drop(&ws);
    ws_join(&ws, port, fl_server_token(server));
    for (int i = 0; i < 70; i++)
        ws_send_frame(&ws, i == 0 ? WS_TEXT : 0, false, true, text, 1000);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1009);
    ws_drop(&ws);
    assert_int_equal(ws_open(&ws, port, NULL, NULL), 101);
    ws_send_frame(&ws, WS_TEXT, true, true, text, 4097);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1009);
    ws_drop(&ws);

    /* As large as may be, in pieces, with a ping in between: goes on. */
    ws_join(&ws, port, fl_server_token(server));
    static const char request[] = "{\"seq\":77,\"type\":\"request\",\"command\":\"flamelet/unsubscribe\"}";
    memcpy(text, request, strlen(request));
    ws_send_frame(&ws, WS_TEXT, false, true, text, 30000);
    ws_send_frame(&ws, WS_PING, true, true, "x", 1);
    ws_send_frame(&ws, 0, true, true, text + 30000, 65536 - 30000);
    json_t *response;
    do
        response = ws_receive(&ws, 5000);
    while (response && !json_object_get(response, "request_seq"));
    assert_int_equal(json_integer_value(json_object_get(response, "request_seq")), 77);
    json_decref(response);

    /* Unknown command, wrong type: answered, and it goes on. */
    response = ws_request(&ws, "attach", NULL);
    assert_true(json_is_false(json_object_get(response, "success")));
    json_decref(response);
    response = ws_request(&ws, "flamelet/subscribe", "{\"rate\":true}");
    assert_true(json_is_false(json_object_get(response, "success")));
    json_decref(response);
    response = ws_request(&ws, "flamelet/unsubscribe", NULL);
    assert_true(json_is_true(json_object_get(response, "success")));
    json_decref(response);
    ws_drop(&ws);

    /* A wrong token. */
    assert_int_equal(ws_open(&ws, port, NULL, NULL), 101);
    response = ws_request(&ws, "initialize",
                          "{\"adapterID\":\"flamelet\",\"token\":\"00\",\"protocol\":{\"min\":1,\"max\":1}}");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json_object_get(response, "body"), "error"), "id")), 1001);
    json_decref(response);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1008);
    ws_drop(&ws);
}

/* GIVEN frames that break RFC 6455, THEN the connection is closed and the server lives. */
static void test_broken_frames(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\xc1\x80\x01\x02\x03\x04", 6},                          /* reserved bit */
        {"\x83\x80\x01\x02\x03\x04", 6},                          /* unknown opcode */
        {"\x80\x80\x01\x02\x03\x04", 6},                          /* continues nothing */
        {"\x89\xfe\x00\x7e\x01\x02\x03\x04", 8},                  /* ping of 126 bytes */
        {"\x09\x80\x01\x02\x03\x04", 6},                          /* ping in pieces */
        {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", 12}, /* 2^64-1 bytes */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws ws;
        ws_join(&ws, port, fl_server_token(server));
        assert_int_equal(send(ws.fd, cases[i].bytes, cases[i].length, MSG_NOSIGNAL), (ssize_t)cases[i].length);
        ws_wait_closed(&ws, 8000);
        ws_drop(&ws);
    }
    struct ws ws;
    ws_join(&ws, port, fl_server_token(server));
    ws_drop(&ws);
}

static void test_the_seventeenth_client_is_turned_away(void **state)
{
    (void)state;
    struct ws clients[16], extra;
    for (int i = 0; i < 16; i++)
        ws_join(&clients[i], port, fl_server_token(server));
    assert_int_equal(ws_open(&extra, port, NULL, NULL), 101);
    assert_int_equal(ws_wait_closed(&extra, 5000), 1013);
    ws_drop(&extra);
    json_t *response = ws_request(&clients[3], "disconnect", NULL);
    json_decref(response);
    ws_wait_closed(&clients[3], 5000);
    ws_drop(&clients[3]);
    ws_join(&clients[3], port, fl_server_token(server));
    for (int i = 0; i < 16; i++)
        ws_drop(&clients[i]);
}

/* GIVEN more connections than the server has room for, THEN they are dropped, and room comes back. */
static void test_too_many_connections(void **state)
{
    (void)state;
    enum { MANY = 80 };
    int fds[MANY];
    for (int i = 0; i < MANY; i++)
        fds[i] = tcp_connect(port);
    for (int i = 0; i < MANY; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    sleep_ms(300);
    struct ws ws;
    ws_join(&ws, port, fl_server_token(server));
    ws_drop(&ws);
}

static void test_who_says_nothing_is_closed(void **state)
{
    (void)state;
    struct ws ws;
    int fd = tcp_connect(port); /* not even a request */
    assert_int_equal(ws_open(&ws, port, NULL, NULL), 101);
    int64_t start = now_ms();
    assert_int_equal(ws_wait_closed(&ws, 15000), 1008);
    assert_in_range(now_ms() - start, 4900, 9000);
    ws_drop(&ws);
    char byte;
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    assert_in_range(now_ms() - start, 4000, 14000);
    close(fd);
}

/* Counts updates for `ms`. */
static int updates_within(struct ws *ws, int ms)
{
    int64_t deadline = now_ms() + ms;
    int updates = 0;
    for (int64_t left = ms; left > 0; left = deadline - now_ms()) {
        json_t *message = ws_receive(ws, (int)left);
        updates += message && strcmp(event_of(message), "flamelet/update") == 0;
        json_decref(message);
    }
    return updates;
}

static void test_the_rate_is_honoured(void **state)
{
    (void)state;
    struct ws slow, fast;
    ws_join(&slow, port, fl_server_token(server));
    ws_join(&fast, port, fl_server_token(server));
    json_decref(ws_request(&slow, "flamelet/subscribe", "{\"rate\":2}"));
    json_decref(ws_request(&fast, "flamelet/subscribe", "{\"rate\":20}"));
    json_decref(ws_receive(&fast, 5000));
    assert_in_range(updates_within(&fast, 2000), 20, 42); /* not fewer than half, on a loaded machine */
    assert_in_range(updates_within(&slow, 100), 4, 7);    /* what came meanwhile */
    ws_drop(&slow);
    ws_drop(&fast);
}

/* GIVEN a thread without any event for a long time, THEN updates go on and tell where it is. */
static void test_updates_go_on_while_the_program_is_stuck(void **state)
{
    (void)state;
    struct ws ws;
    ws_join(&ws, port, fl_server_token(server));
    json_decref(ws_request(&ws, "flamelet/subscribe", "{\"rate\":5}"));
    json_t *picture = picture_new(), *message = ws_receive(&ws, 5000);
    picture_apply(picture, json_object_get(message, "body"));
    json_decref(message);
    atomic_store(&core.stuck, true);
    int64_t start = now_ms(), last = start, longest = 0;
    int updates = 0;
    while (now_ms() - start < 2000) {
        message = ws_receive(&ws, 5000);
        assert_non_null(message);
        picture_apply(picture, json_object_get(message, "body"));
        json_decref(message);
        longest = now_ms() - last > longest ? now_ms() - last : longest;
        last = now_ms();
        updates++;
    }
    assert_true(updates >= 4);
    assert_true(longest <= 500);
    const json_t *thread = json_object_get(json_object_get(picture, "threads"), "1");
    char key[16];
    snprintf(key, sizeof key, "%d", (int)json_integer_value(json_object_get(thread, "node")));
    const json_t *node = json_object_get(json_object_get(picture, "nodes"), key);
    const json_t *function = json_array_get(json_object_get(picture, "functions"),
                                            (size_t)json_integer_value(json_object_get(node, "function")));
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(picture, "strings"),
                                         (size_t)json_integer_value(json_object_get(function, "name")))),
        "hog");
    assert_true(json_integer_value(json_object_get(thread, "slice_blocked")) > 1000000000);
    atomic_store(&core.stuck, false);
    json_decref(picture);
    ws_drop(&ws);
}

/* Reads for `ms` and applies what comes. Returns how many updates that were. */
static int follow(struct ws *ws, json_t *picture, int ms)
{
    int64_t deadline = now_ms() + ms;
    int updates = 0;
    while (now_ms() < deadline) {
        json_t *message = ws_receive(ws, 100);
        if (message && strcmp(event_of(message), "flamelet/update") == 0) {
            picture_apply(picture, json_object_get(message, "body"));
            updates++;
        }
        json_decref(message);
    }
    return updates;
}

/*
 * GIVEN clients that do not read, while the tree is large and changes, THEN the server's memory stays bounded, another
 * client is told as ever, and when they read again they find a few updates, the last of which tells all.
 */
static void test_slow_clients_cost_no_memory(void **state)
{
    (void)state;
    enum { SLOW = 8 };
    struct ws slow[SLOW], good;
    atomic_store(&core.names, 3000);
    sleep_ms(1000);
    for (int i = 0; i < SLOW; i++) {
        ws_join(&slow[i], port, fl_server_token(server));
        json_decref(ws_request(&slow[i], "flamelet/subscribe", "{\"rate\":20}"));
    }
    ws_join(&good, port, fl_server_token(server));
    json_decref(ws_request(&good, "flamelet/subscribe", "{\"rate\":10}"));
    sleep_ms(500);
    size_t before = allocated_bytes();
    int good_updates = updates_within(&good, 5000);
    size_t after = allocated_bytes();
    assert_true(good_updates >= 20);
    /* The updates of these 5 s are some 100 KB each: 80 MB for all, were they kept. */
    if (after > before + (8u << 20))
        fail_msg("%zu bytes before, %zu after", before, after);
    /* How far the program is now. */
    json_t *told = picture_new(), *late = picture_new();
    struct ws fresh;
    ws_join(&fresh, port, fl_server_token(server));
    json_decref(ws_request(&fresh, "flamelet/subscribe", NULL));
    int64_t deadline = now_ms() + 10000;
    while (follow(&fresh, told, 200) == 0)
        assert_true(now_ms() < deadline);
    ws_drop(&fresh);
    /* What waits in the kernel's buffers is old; what comes then is new. They missed more than 100 updates. */
    int updates = follow(&slow[0], late, 1500);
    assert_in_range(updates, 2, 70);
    for (deadline = now_ms() + 10000; calls_of(late) < calls_of(told); follow(&slow[0], late, 200))
        assert_true(now_ms() < deadline);
    assert_true(json_object_size(json_object_get(late, "nodes")) > 2000);
    json_decref(told);
    json_decref(late);
    for (int i = 0; i < SLOW; i++)
        ws_drop(&slow[i]);
    ws_drop(&good);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_the_page_is_served),
        TEST(test_what_is_refused_over_http),
        TEST(test_who_may_open_a_websocket),
        TEST(test_a_client_is_told_what_happens),
        TEST(test_wrong_messages),
        TEST(test_broken_frames),
        TEST(test_the_seventeenth_client_is_turned_away),
        TEST(test_too_many_connections),
        TEST(test_who_says_nothing_is_closed),
        TEST(test_the_rate_is_honoured),
        TEST(test_updates_go_on_while_the_program_is_stuck),
        TEST(test_slow_clients_cost_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
