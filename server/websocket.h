/*
 * websocket.h: a client (client.h) at one end, a connection of the library at the other.
 */
#ifndef FL_WEBSOCKET_H
#define FL_WEBSOCKET_H

#include <libwebsockets.h>
#include <stdbool.h>

#include "client.h"

/* Websockets at once; one more is turned away. */
#define FL_CLIENTS_MAX 16

/* State of one websocket; zeroed by the library. */
struct fl_connection {
    struct fl_client client;
    struct lws *wsi;
    struct fl_connection *next; /* in the server's list */
    bool paused;                /* not read from, since it does not read either */
};

/* Callback of the subprotocol; session data: struct fl_connection. */
int fl__websocket_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t length);

#endif
