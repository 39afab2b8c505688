/*
 * server.h: serves a session to browsers and editors (protocol.md) from a thread of its own, inside the watched
 * process.
 *
 * The thread is native, has all signals blocked and touches nothing of Python, so it goes on while the program holds
 * the GIL. It listens on 127.0.0.1 only.
 *
 * fork(): the child's copy of the server is dead: its sockets are closed, its memory (about a shadow's worth) is given
 * up, and all functions below answer as if it were stopped. A child may start a server of its own.
 */
#ifndef FL_SERVER_H
#define FL_SERVER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "page_file.h"
#include "session.h"
#include "wire.h"

struct fl_server;

struct fl_server_options {
    uint16_t port;                    /* 0: any that is free */
    const char *token;                /* 64 hex digits, copied; NULL: a new random one */
    const struct fl_page_file *pages; /* shape: page_count; borrowed until fl_server_stop() */
    size_t page_count;
    struct fl_about about; /* borrowed until fl_server_stop() */
    unsigned after_ms;     /* listens only after so long, and is silent where it then can't; 0: at once */
    const char *runtime;   /* folder for discovery.h, copied; NULL: this process is not to be found */
    atomic_uchar *began;   /* set to 1 once it listens; borrowed, NULL: nobody asks */
};

/*
 * Starts the server; it listens when this returns. The session must outlive it. Returns 0; FL_EADDRESS_IN_USE (the
 * port); FL_ERANGE (the token has another length); FL_ENOMEM; FL_ESYSTEM. Any thread; takes a few milliseconds.
 */
int fl_server_start(const struct fl_server_options *options, struct fl_session *session, struct fl_server **server);

/* The port it listens on; 0: it does not yet. Any thread. */
uint16_t fl_server_port(const struct fl_server *server);

/* 64 hex digits, valid until fl_server_stop(). Any thread. */
const char *fl_server_token(const struct fl_server *server);

/*
 * Ends the thread, with the clients left as they are, until fl_server_resume(): CPython warns of a fork() in a process
 * of several threads, and none of ours may be the reason. Takes a moment, a picture that is being written at most. Any
 * thread, not while another one is in fl_server_stop(). NULL, or paused already: no-op. The GIL may be held.
 */
void fl_server_pause(struct fl_server *server);

/* The thread goes on. Returns 0, or FL_ESYSTEM where there could be no thread: the server is then silent, and
 * fl_server_stop() still ends it. NULL, or not paused: no-op. In the child of a fork: no-op. */
int fl_server_resume(struct fl_server *server);

/*
 * Sends each client a last update and `terminated`, closes all connections, ends the thread and frees the server. Waits
 * for clients that read slowly, for at most a second. End the session first, so that the last update says "ended". Any
 * thread, once; must not be called with the GIL held, since it waits. NULL: no-op.
 */
void fl_server_stop(struct fl_server *server);

#endif
