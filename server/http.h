/*
 * http.h: what is asked for without a websocket: the page, from memory, and plain refusals.
 */
#ifndef FL_HTTP_H
#define FL_HTTP_H

#include <libwebsockets.h>
#include <stddef.h>

#include "page_file.h"

/* State of one request; zeroed by the library. */
struct fl_http_request {
    const struct fl_page_file *file; /* that is being sent, or NULL */
    size_t sent;                     /* bytes of it */
};

/* Sent with each answer. */
extern const struct lws_protocol_vhost_options fl__http_headers;

/* Callback of the protocol that handles HTTP; session data: struct fl_http_request. */
int fl__http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t length);

/* Path of the websocket, and its subprotocol. */
#define FL_WEBSOCKET_PATH "/ws"
#define FL_SUBPROTOCOL    "flamelet"

#endif
