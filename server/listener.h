/*
 * listener.h: the socket that connections come in by. It is ours, not the library's: so a port in use is told apart
 * from other errors, the child of a fork knows what to close, and connections beyond a bound are dropped before they
 * cost anything.
 */
#ifndef FL_LISTENER_H
#define FL_LISTENER_H

#include <stdint.h>

/* Connections at once, websockets and page requests together. */
#define FL_CONNECTIONS_MAX 48

/*
 * Listens on 127.0.0.1. `port` 0: any. `actual`: which it is. Returns a non-blocking, close-on-exec descriptor that the
 * caller owns, or FL_EADDRESS_IN_USE or FL_ESYSTEM (errno says why).
 */
int fl_listen(uint16_t port, uint16_t *actual);

/* The next connection that waits, non-blocking and close-on-exec, owned by the caller; -1: none. */
int fl_accept(int listener);

#endif
