/*
 * ws_client.h: a plain websocket and HTTP client for tests, that can also do what a good one never does. Blocking; all
 * waits have a limit.
 */
#ifndef WS_CLIENT_H
#define WS_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws {
    int fd;
    bool silent;         /* answers no ping and no close */
    unsigned close_code; /* of the close frame that came; 0: none */
    bool gone;           /* the connection has ended */
    unsigned char *in;   /* what has arrived and was not yet taken */
    size_t length, room;
    uint32_t seq;  /* of the last request */
    size_t frames; /* data frames that came */
};

enum { WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9 };

/* A connection to 127.0.0.1; -1 where it is refused. */
int tcp_connect(uint16_t port);

/*
 * Sends `request` and returns the answer, headers and body, NUL terminated, that came before the connection ended or
 * its Content-Length was reached. The caller frees it. "" where there was none.
 */
char *http_exchange(uint16_t port, const char *request);

/* The status of an answer; 0: none. */
int http_status(const char *answer);

/*
 * Opens a websocket as a browser does; returns the HTTP status, 101 when it is open. `headers`: lines "Name: value\r\n"
 * in place of Host and Sec-WebSocket-Protocol; NULL: the right ones. `path`: NULL: "/ws".
 */
int ws_open(struct ws *ws, uint16_t port, const char *path, const char *headers);

/* Cuts the connection without a word. */
void ws_drop(struct ws *ws);

void ws_send_frame(struct ws *ws, int opcode, bool fin, bool masked, const void *data, size_t length);
void ws_send(struct ws *ws, const char *text);

/* The next message, or NULL: none came within `ms`, or the connection ended (`gone`, `close_code`). */
json_t *ws_receive(struct ws *ws, int ms);

/* Waits for the end of the connection, for at most `ms`, and forgets messages. Returns the close code, 0 for none. */
unsigned ws_wait_closed(struct ws *ws, int ms);

/* A request; `arguments` is JSON or NULL. Returns the response; updates that come before it are forgotten. */
json_t *ws_request(struct ws *ws, const char *command, const char *arguments);

/* Opens, initializes, and takes `initialized`; fails the test where that does not work. */
void ws_join(struct ws *ws, uint16_t port, const char *token);

#endif
