/*
 * service.h: what all connections of a server share: who is let in, what is told, and the shadow it is told from.
 * One thread: the server's.
 */
#ifndef FL_SERVICE_H
#define FL_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "auth.h"
#include "discovery.h"
#include "pictures.h"
#include "shadow.h"
#include "wire.h"

/* Two updates within this time are written from one reading of the session. */
#define FL_FRESH_NS 20000000u

struct fl_service {
    char token[FL_TOKEN_DIGITS + 1];
    struct fl_about about;
    struct fl_discovery discovery; /* what other processes know of this one, and it of them */
    struct fl_shadow *shadow;      /* owned by the server */
    struct fl_pictures pictures;
    uint64_t refreshed; /* when the shadow was refreshed, ns of CLOCK_MONOTONIC; 0: never */
};

/* Refreshes the shadow when it is older than FL_FRESH_NS, or in any case where `force`. Where memory is at its end the
 * shadow stays as it is. */
void fl_service_refresh(struct fl_service *service, uint64_t now, bool force);

#endif
