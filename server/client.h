/*
 * client.h: one connection, as the protocol sees it: which state it is in, what it asked for, how far it was told, what
 * is still to be sent. It knows nothing of sockets: bytes go in at one end and come out at the other, so tests drive it
 * without a network.
 *
 * A slow client costs no memory: an update is written only when everything before it is sent, from where the client
 * stands by then. So at most one update (shared, pictures.h) and FL_CLIENT_QUEUE short messages wait for it.
 *
 * Times are ns of CLOCK_MONOTONIC. One thread: the server's.
 */
#ifndef FL_CLIENT_H
#define FL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "pictures.h"
#include "request.h"
#include "service.h"

#define FL_CLIENT_QUEUE         32 /* short messages that may wait */
#define FL_CLIENT_INITIALIZE_NS 5000000000u

/* Close codes of RFC 6455 that are used. */
enum fl_close_code {
    FL_CLOSE_NORMAL = 1000,
    FL_CLOSE_GOING_AWAY = 1001,
    FL_CLOSE_BINARY = 1003,
    FL_CLOSE_NOT_JSON = 1007,
    FL_CLOSE_POLICY = 1008,
    FL_CLOSE_TOO_LARGE = 1009,
    FL_CLOSE_INTERNAL = 1011,
    FL_CLOSE_FULL = 1013,
};

struct fl_client {
    uint64_t connected;
    bool known;          /* it has shown the token */
    bool finishing;      /* the server ends: one more update, `terminated`, then close */
    unsigned close_code; /* enum fl_close_code; 0: stays open. Set: what is queued is sent first, nothing is read */

    uint32_t seq;        /* of the last message sent */
    struct fl_buffer in; /* of the message that is arriving */

    bool subscribed;
    uint32_t subscription;
    struct fl_selection selection;
    struct fl_cursor cursor;
    uint64_t period; /* ns between updates at least */
    uint64_t told;   /* when the last update was written; 0: none yet */
    uint64_t due;    /* when the next may be */
    bool update_due; /* that time has come */

    struct fl_buffer queue[FL_CLIENT_QUEUE + 1]; /* ring of short messages; one place is always free */
    unsigned queue_first, queue_count;

    struct fl_buffer head;      /* of the message that is being sent: first this, */
    struct fl_picture *picture; /* then this, NULL: nothing more */
    bool sending;
    size_t sent; /* bytes of it */
};

/* A client that has just connected, in memory of the caller. */
void fl_client_init(struct fl_client *client, uint64_t now);
void fl_client_fini(struct fl_client *client);

/* It is one too many: to be told so and closed. */
void fl_client_turn_away(struct fl_client *client);

/* A piece of a message arrives. `last`: the message ends with it. */
void fl_client_receive(struct fl_client *client, struct fl_service *service, uint64_t now, const void *bytes,
                       size_t length, bool binary, bool last);

/* False: too much waits to be sent to it; do not read from it now. */
bool fl_client_wants_input(const struct fl_client *client);

/* When fl_client_tick() is to be called; UINT64_MAX: never. */
uint64_t fl_client_next_tick(const struct fl_client *client);
void fl_client_tick(struct fl_client *client, uint64_t now);

/* The program ends: the client gets its last update, `terminated`, and is closed. */
void fl_client_finish(struct fl_client *client);

/* Is there something to send, or is it to be closed? */
bool fl_client_has_output(const struct fl_client *client);

/*
 * Copies the next at most `room` bytes of what is to be sent to `chunk` and returns how many; 0: nothing now. `first`,
 * `last`: of its message. May refresh the service's shadow.
 */
size_t fl_client_take(struct fl_client *client, struct fl_service *service, uint64_t now, unsigned char *chunk,
                      size_t room, bool *first, bool *last);

/* Everything is sent and the connection is to be closed with this code; 0: not yet. */
unsigned fl_client_closes_with(const struct fl_client *client);

#endif
