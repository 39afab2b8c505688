/*
 * pictures.h: serialised updates, shared by the clients that stand at the same place and want the same.
 *
 * The tail of an update message (all but its head with seq and subscription) depends on cursor and selection only, so
 * ten open pages cost one serialisation. A picture lives as long as a client sends it; it is found again only until the
 * shadow is refreshed. One thread: the server's.
 */
#ifndef FL_PICTURES_H
#define FL_PICTURES_H

#include "wire.h"

#define FL_PICTURES_MAX 16 /* kept for sharing; a further one is not shared */

struct fl_picture {
    unsigned references;
    struct fl_cursor from, next;
    struct fl_selection selection;
    struct fl_buffer bytes; /* from `"version"` to the end of the message */
};

/* All zeros: empty. */
struct fl_pictures {
    struct fl_picture *kept[FL_PICTURES_MAX]; /* one reference each */
    unsigned count;
};

/* The update from this cursor; the caller gives the reference back. NULL where memory is at its end. */
struct fl_picture *fl_pictures_get(struct fl_pictures *pictures, const struct fl_shadow *shadow,
                                   const struct fl_cursor *from, const struct fl_selection *selection);

/* Gives a reference back. NULL: no-op. */
void fl_picture_release(struct fl_picture *picture);

/* The shadow is about to be refreshed, or the server ends: nothing is shared from now on. */
void fl_pictures_forget(struct fl_pictures *pictures);

#endif
