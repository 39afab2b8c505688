#include "ws_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ascii.h"

enum { WAIT_MS = 10000 }; /* machines in CI are slow */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int tcp_connect(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void send_all(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return; /* the server has closed: the test sees that when it reads */
        at += sent;
        length -= (size_t)sent;
    }
}

/* Reads what has arrived, waiting for it until `deadline`. False: nothing came, or the connection ended. */
static bool read_some(struct ws *ws, int64_t deadline)
{
    struct pollfd poller = {.fd = ws->fd, .events = POLLIN};
    int64_t left = deadline - now_ms();
    if (ws->gone || poll(&poller, 1, left > 0 ? (int)left : 0) <= 0)
        return false;
    if (ws->room - ws->length < 65536) {
        ws->room = ws->room * 2 + 65536;
        ws->in = realloc(ws->in, ws->room);
        assert_non_null(ws->in);
    }
    ssize_t got = recv(ws->fd, ws->in + ws->length, ws->room - ws->length, 0);
    if (got <= 0) {
        ws->gone = true;
        return false;
    }
    ws->length += (size_t)got;
    return true;
}

static void consume(struct ws *ws, size_t size)
{
    ws->length -= size;
    memmove(ws->in, ws->in + size, ws->length);
}

/* Length of the headers up to the empty line, once they are there; 0: not yet. */
static size_t header_length(const struct ws *ws)
{
    for (size_t i = 4; i <= ws->length; i++)
        if (memcmp(ws->in + i - 4, "\r\n\r\n", 4) == 0)
            return i;
    return 0;
}

static size_t content_length(const struct ws *ws, size_t headers)
{
    static const char name[] = "content-length:";
    for (size_t i = 0; i + strlen(name) < headers; i++)
        if (fl_ascii_begins_with((const char *)ws->in + i, name))
            return strtoul((const char *)ws->in + i + strlen(name), NULL, 10);
    return SIZE_MAX;
}

char *http_exchange(uint16_t port, const char *request)
{
    struct ws ws = {.fd = tcp_connect(port)};
    int64_t deadline = now_ms() + WAIT_MS;
    assert_true(ws.fd >= 0);
    send_all(ws.fd, request, strlen(request));
    for (;;) {
        size_t headers = header_length(&ws);
        size_t body = headers ? content_length(&ws, headers) : SIZE_MAX;
        if (headers && body != SIZE_MAX && ws.length >= headers + body)
            break;
        if (!read_some(&ws, deadline))
            break;
    }
    char *answer = malloc(ws.length + 1);
    assert_non_null(answer);
    if (ws.length > 0)
        memcpy(answer, ws.in, ws.length);
    answer[ws.length] = '\0';
    ws_drop(&ws);
    return answer;
}

int http_status(const char *answer)
{
    /* lws answers 1.0 where it had not yet looked at the request's version. */
    return strncmp(answer, "HTTP/1.", 7) == 0 && answer[7] && answer[8] ? atoi(answer + 9) : 0;
}

int ws_open(struct ws *ws, uint16_t port, const char *path, const char *headers)
{
    char request[2048], right[128];
    int64_t deadline = now_ms() + WAIT_MS;

    *ws = (struct ws){.fd = tcp_connect(port)};
    assert_true(ws->fd >= 0);
    snprintf(right, sizeof right, "Host: 127.0.0.1:%d\r\nSec-WebSocket-Protocol: flamelet\r\n", port);
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\n%sConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
             path ? path : "/ws", headers ? headers : right);
    send_all(ws->fd, request, strlen(request));
    while (header_length(ws) == 0 && read_some(ws, deadline)) {
    }
    size_t length = header_length(ws);
    int status = length ? http_status((const char *)ws->in) : 0;
    if (status == 101) {
        assert_non_null(memmem(ws->in, length, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", 28));
        assert_non_null(memmem(ws->in, length, "Sec-WebSocket-Protocol: flamelet\r\n", 34));
        assert_null(memmem(ws->in, length, "Extensions", 10));
        consume(ws, length);
    }
    return status;
}

void ws_drop(struct ws *ws)
{
    if (ws->fd >= 0)
        close(ws->fd);
    free(ws->in);
    *ws = (struct ws){.fd = -1, .gone = true};
}

void ws_send_frame(struct ws *ws, int opcode, bool fin, bool masked, const void *data, size_t length)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    unsigned char *frame = malloc(length + 14);
    size_t at = 0;
    assert_non_null(frame);
    frame[at++] = (unsigned char)((fin ? 0x80 : 0) | opcode);
    unsigned char mask_bit = masked ? 0x80 : 0;
    if (length < 126) {
        frame[at++] = (unsigned char)(mask_bit | length);
    } else if (length < 65536) {
        frame[at++] = mask_bit | 126;
        frame[at++] = (unsigned char)(length >> 8);
        frame[at++] = (unsigned char)(length & 255);
    } else {
        frame[at++] = mask_bit | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            frame[at++] = (unsigned char)((uint64_t)length >> shift & 255);
    }
    if (masked) {
        memcpy(frame + at, mask, 4);
        at += 4;
    }
    for (size_t i = 0; i < length; i++)
        frame[at + i] = (unsigned char)(((const unsigned char *)data)[i] ^ (masked ? mask[i % 4] : 0));
    send_all(ws->fd, frame, at + length);
    free(frame);
}

void ws_send(struct ws *ws, const char *text)
{
    ws_send_frame(ws, WS_TEXT, true, true, text, strlen(text));
}

/* The frame at ws->in + at: 0 while it is not there yet, else its length; header in *header, payload *payload long. */
static size_t frame_at(const struct ws *ws, size_t at, size_t *header, size_t *payload)
{
    const unsigned char *in = ws->in + at;
    size_t have = ws->length - at;
    if (have < 2)
        return 0;
    *payload = in[1] & 127;
    *header = *payload == 126 ? 4 : *payload == 127 ? 10 : 2;
    if (have < *header)
        return 0;
    if (*header > 2) {
        *payload = 0;
        for (size_t i = 2; i < *header; i++)
            *payload = *payload << 8 | in[i];
    }
    assert_int_equal(in[1] & 128, 0); /* servers do not mask */
    return have >= *header + *payload ? *header + *payload : 0;
}

static void handle_control(struct ws *ws, int opcode, const unsigned char *payload, size_t length)
{
    if (opcode == WS_CLOSE) {
        ws->close_code = length >= 2 ? (unsigned)(payload[0] << 8 | payload[1]) : 1005;
        if (!ws->silent)
            ws_send_frame(ws, WS_CLOSE, true, true, payload, length >= 2 ? 2 : 0);
    } else if (opcode == WS_PING && !ws->silent) {
        ws_send_frame(ws, 10, true, true, payload, length);
    }
}

/* Joins the frames of a message. NULL: it is not there yet. Control frames in between are taken out and handled. */
static json_t *next_message(struct ws *ws)
{
    size_t at = 0, header, payload, size;
    size_t text_length = 0;

    while ((size = frame_at(ws, at, &header, &payload)) > 0) {
        int opcode = ws->in[at] & 15;
        bool fin = ws->in[at] & 128;
        if (opcode >= 8) {
            unsigned char control[125];
            assert_true(payload <= sizeof control);
            memcpy(control, ws->in + at + header, payload);
            ws->length -= size;
            memmove(ws->in + at, ws->in + at + size, ws->length - at);
            handle_control(ws, opcode, control, payload);
            continue;
        }
        assert_int_equal(opcode, at == 0 ? WS_TEXT : 0);
        text_length += payload;
        at += size;
        if (!fin)
            continue;
        char *text = malloc(text_length + 1);
        assert_non_null(text);
        size_t end = at, to = 0;
        for (at = 0; at < end; at += size) {
            size = frame_at(ws, at, &header, &payload);
            memcpy(text + to, ws->in + at + header, payload);
            to += payload;
            ws->frames++;
        }
        consume(ws, end);
        json_error_t error;
        json_t *message = json_loadb(text, text_length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!message)
            fail_msg("no JSON: %s in %.200s", error.text, text);
        free(text);
        return message;
    }
    return NULL;
}

json_t *ws_receive(struct ws *ws, int ms)
{
    int64_t deadline = now_ms() + ms;
    for (;;) {
        json_t *message = next_message(ws);
        if (message || !read_some(ws, deadline))
            return message;
    }
}

unsigned ws_wait_closed(struct ws *ws, int ms)
{
    int64_t deadline = now_ms() + ms;
    while (!ws->gone && now_ms() < deadline)
        json_decref(ws_receive(ws, (int)(deadline - now_ms())));
    assert_true(ws->gone);
    return ws->close_code;
}

json_t *ws_request(struct ws *ws, const char *command, const char *arguments)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"seq\":%u,\"type\":\"request\",\"command\":\"%s\"%s%s}", ++ws->seq, command,
             arguments ? ",\"arguments\":" : "", arguments ? arguments : "");
    ws_send(ws, text);
    for (;;) {
        json_t *message = ws_receive(ws, WAIT_MS);
        if (!message)
            fail_msg("no response to %s (close code %u)", command, ws->close_code);
        if (json_integer_value(json_object_get(message, "request_seq")) == ws->seq)
            return message;
        json_decref(message);
    }
}

void ws_join(struct ws *ws, uint16_t port, const char *token)
{
    char arguments[256];
    assert_int_equal(ws_open(ws, port, NULL, NULL), 101);
    snprintf(arguments, sizeof arguments,
             "{\"adapterID\":\"flamelet\",\"token\":\"%s\",\"protocol\":{\"min\":1,\"max\":1}}", token);
    json_t *response = ws_request(ws, "initialize", arguments);
    assert_true(json_is_true(json_object_get(response, "success")));
    json_decref(response);
    json_t *event = ws_receive(ws, WAIT_MS);
    assert_string_equal(json_string_value(json_object_get(event, "event")), "initialized");
    json_decref(event);
}
