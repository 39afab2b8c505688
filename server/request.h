/*
 * request.h: one message of a client, parsed and checked. It comes from outside: any bytes must be survived.
 *
 * No state and no allocation outlives the call. Any thread.
 */
#ifndef FL_REQUEST_H
#define FL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "wire.h"

#define FL_REQUEST_MAX       65536u /* bytes of a message */
#define FL_REQUEST_FIRST_MAX 4096u  /* bytes of a message before the client is known */
#define FL_REQUEST_SEQ_MAX   0x7fffffff

#define FL_RATE_MIN     0.1 /* updates per second */
#define FL_RATE_MAX     20.0
#define FL_RATE_DEFAULT 5.0

enum fl_command {
    FL_COMMAND_INITIALIZE,
    FL_COMMAND_SUBSCRIBE,
    FL_COMMAND_UNSUBSCRIBE,
    FL_COMMAND_PROCESSES,
    FL_COMMAND_DISCONNECT
};

/* Error ids of protocol.md. */
enum fl_refusal_id {
    FL_REFUSED_NO_REQUEST = 1000,
    FL_REFUSED_TOKEN = 1001,
    FL_REFUSED_PROTOCOL = 1002,
    FL_REFUSED_NOT_INITIALIZED = 1003,
    FL_REFUSED_COMMAND = 1004,
    FL_REFUSED_ARGUMENT = 1005,
    FL_REFUSED_TWICE = 1006,
};

struct fl_request {
    uint32_t seq;
    enum fl_command command;
    char name[48]; /* the command as it came, cut to fit; may end within a UTF-8 sequence */
    /* initialize */
    char token[FL_TOKEN_DIGITS + 2]; /* one more than a right one has, so that a longer one stays wrong when it is cut;
                                        "" where there is none */
    int64_t protocol_min, protocol_max; /* 0, 0 where they are missing */
    /* subscribe */
    struct fl_selection selection;
    double rate; /* updates per second */
};

struct fl_refusal {
    enum fl_refusal_id id;
    char text[160]; /* for people: what is wrong and how to mend it */
};

enum fl_request_result {
    FL_REQUEST_OK,      /* `request` is filled in */
    FL_REQUEST_REFUSED, /* `request` has seq and name, `refusal` the reason */
    FL_REQUEST_GARBAGE, /* no JSON object with a usable seq: nobody to answer */
};

/*
 * Parses `length` bytes of any content. The token and the versions are handed on as they are: whether they fit is the
 * caller's to say (token first, so that a stranger learns nothing else). A message longer than FL_REQUEST_MAX is
 * garbage.
 */
enum fl_request_result fl_request_parse(const char *text, size_t length, struct fl_request *request,
                                        struct fl_refusal *refusal);

/* Fills in a refusal; the text as by printf, cut to fit. */
__attribute__((format(printf, 3, 4))) void fl_refuse(struct fl_refusal *refusal, enum fl_refusal_id id,
                                                     const char *format, ...);

#endif
