/*
 * recording.h: what one client would have received, as lines (protocol.md, "Recordings").
 */
#ifndef FL_RECORDING_H
#define FL_RECORDING_H

#include "wire.h"

/*
 * Appends a recording of what the shadow knows, uncompressed: the `initialize` response, `initialized`, one whole
 * update with subscription 0 and `terminated`, each a line. The shadow has been refreshed. Thread: the shadow's.
 */
void fl_recording_write(const struct fl_shadow *shadow, const struct fl_about *about, struct fl_buffer *out);

#endif
