/* server_private.h: the server, as its own files see it. Everything but the atomics and `thread` belongs to its thread.
 */
#ifndef FL_SERVER_PRIVATE_H
#define FL_SERVER_PRIVATE_H

#include <libwebsockets.h>
#include <stdatomic.h>
#include <stdint.h>

#include "background.h"
#include "fork_guard.h"
#include "http.h"
#include "schedule.h"
#include "service.h"
#include "websocket.h"

/* Bytes that are handed to the library at once. */
#define FL_CHUNK_MAX 65536u

struct fl_server {
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct fl_background thread;
    atomic_bool listens;  /* set by the thread, or before there is one: context, vhost and port hold from then on */
    atomic_bool stopping; /* set by fl_server_stop() */
    atomic_bool pausing;  /* set by fl_server_pause() */
    struct fl_fork_guard guard;

    struct fl_service service;
    struct fl_schedule schedule;
    const struct fl_page_file *pages; /* shape: page_count */
    size_t page_count;
    uint16_t port;
    uint16_t port_wanted;  /* 0: any that is free */
    uint64_t due;          /* when it is to listen, ns of CLOCK_MONOTONIC; 0: it does from the start */
    char *runtime;         /* owned; NULL: nobody is told */
    atomic_uchar *began;   /* borrowed, may be NULL */
    unsigned socket_count; /* accepted and not closed */

    struct fl_connection *connections; /* websockets */
    unsigned connection_count;
    bool ending;       /* the last updates are on their way */
    uint64_t deadline; /* `ending`: when whoever is not done by then is cut off; ns of CLOCK_MONOTONIC */

    lws_sorted_usec_list_t alarm; /* ends the library's wait when something is due */
    unsigned char chunk[LWS_PRE + FL_CHUNK_MAX];
};

/* The library has closed a connection. */
void fl__server_forget_socket(struct fl_server *server, struct lws *wsi);

#endif
