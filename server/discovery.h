/*
 * discovery.h: how a process that serves is found: a file in the user's runtime folder, and the list of them.
 *
 * PID.json, mode 0600 in a folder 0700, has what is needed to connect, the token included. Its process holds a lock on
 * it, which the kernel drops at its end, however that comes, and at an exec: a file without one is stale, and whoever
 * lists takes it away. The lock belongs to a process (fcntl), so a forked child does not hold it; it is lost when the
 * process itself opens and closes the file again, so a process never opens its own.
 */
#ifndef FL_DISCOVERY_H
#define FL_DISCOVERY_H

#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "wire.h"

/* At most so many processes are listed: the first ones in the folder's order. */
#define FL_DISCOVERY_MAX 256

/* What this process tells of itself. Zeroed: nothing is told, and it knows of no others. */
struct fl_discovery {
    const struct fl_about *about; /* borrowed */
    const char *token;            /* 64 hex digits, borrowed */
    uint16_t port;
    int64_t parent;     /* pid */
    double started;     /* of the process, seconds since the epoch */
    char *folder, *own; /* owned; NULL: there is no folder, or it is not ours alone */
    int file;           /* the locked one; meaningful where `own` is */
};

/*
 * Fills in `discovery` and, where it can, makes the file: `folder` (absolute, copied; NULL for none) is made with mode
 * 0700 if it is not there, and not used when it is no folder, another user's, or open to others. Failing is no error:
 * the process is then not found by others. Any thread.
 */
void fl_discovery_announce(struct fl_discovery *discovery, const char *folder, const struct fl_about *about,
                           uint16_t port, const char *token);

/* Removes the file and frees. Zeroed: no-op. Not in the child of a fork. */
void fl_discovery_withdraw(struct fl_discovery *discovery);

/*
 * Appends a JSON array of the processes that serve, this one first known from `discovery` itself; rows as in
 * protocol.md, "flamelet/processes", by start. Removes stale files. Reads some KB for each process; any thread.
 */
void fl_discovery_list(const struct fl_discovery *discovery, struct fl_buffer *out);

#endif
