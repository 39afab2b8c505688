/* wire_parts.h: the parts of an update that are no tables. Same thread as wire.h. */
#ifndef FL_WIRE_PARTS_H
#define FL_WIRE_PARTS_H

#include "json_writer.h"
#include "shadow.h"

/* A comma where one is due, and `"name":{`. */
static inline void fl__wire_open(struct fl_buffer *out, const char *name)
{
    fl_json_key(out, name);
    fl_buffer_add(out, "{", 1);
}

void fl__wire_status(const struct fl_shadow *shadow, struct fl_buffer *out);
void fl__wire_history(const struct fl_shadow *shadow, struct fl_buffer *out);

#endif
