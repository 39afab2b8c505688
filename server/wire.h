/*
 * wire.h: what protocol.md calls an update, written from a shadow (core/shadow.h).
 *
 * A cursor says how far a reader has been told. Writing an update from a cursor gives the rows that are newer than it,
 * and the next cursor. A cursor of zeros stands before everything: its update is a whole picture.
 *
 * All functions: the thread that owns the shadow. Strings, functions and groups are read from the shadow's session.
 */
#ifndef FL_WIRE_H
#define FL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "shadow.h"

#define FL_PROTOCOL_MIN 1
#define FL_PROTOCOL_MAX 1

/* Sections of an update; strings, functions, groups and the status belong to all of them. */
enum fl_section {
    FL_SECTION_THREADS = 1, /* with history */
    FL_SECTION_TASKS = 2,
    FL_SECTION_TREE = 4,
    FL_SECTION_SLICES = 8, /* with holds and gil */
    FL_SECTION_ALL = 15,
    FL_SECTION_TIMELINE = 16, /* only for those who ask */
};

/* What a reader wants to be told. */
struct fl_selection {
    unsigned sections; /* enum fl_section, ored */
    bool one_group;    /* nodes of `group` only; otherwise of all groups */
    uint32_t group;    /* group id */
    uint32_t task;     /* not 0: nodes of this task's own tree only */
};

struct fl_cursor {
    uint64_t version; /* of the shadow; 0: nothing was told yet */
    uint64_t now;     /* ns */
    enum fl_session_state state;
    uint32_t strings, functions; /* as in the shadow */
    uint64_t slices;             /* slices that were told or skipped */
    uint64_t timeline;           /* likewise of the timeline */
};

/* The watched program, as `initialize` tells it. Texts: any bytes, NUL terminated, borrowed. */
struct fl_about {
    const char *version; /* flamelet's */
    const char *program; /* script or module, as started */
    const char *python;  /* interpreter version */
    int64_t pid;
};

/* Would an update from this cursor say anything? */
bool fl_wire_is_news(const struct fl_shadow *shadow, const struct fl_cursor *cursor);

/*
 * Appends the fields of a `flamelet/update` body behind `subscription`, from `"version"` to the last, without braces.
 * `cursor` and `next` may be the same. On failure `out` is marked as failed and `next` is not written.
 */
void fl_wire_update(const struct fl_shadow *shadow, const struct fl_cursor *cursor,
                    const struct fl_selection *selection, struct fl_buffer *out, struct fl_cursor *next);

/* Appends the object `flamelet` of the `initialize` response. */
void fl_wire_about(const struct fl_session *session, const struct fl_about *about, struct fl_buffer *out);

#endif
