#include "recording.h"
#include "message.h"

void fl_recording_write(const struct fl_shadow *shadow, const struct fl_about *about, struct fl_buffer *out)
{
    const struct fl_selection everything = {.sections = FL_SECTION_ALL};
    struct fl_cursor cursor = {0};
    uint32_t seq = 1;

    fl_message_about(out, seq++, 1, shadow->session, about);
    fl_buffer_add(out, "\n", 1);
    fl_message_event(out, seq++, "initialized");
    fl_buffer_add(out, "\n", 1);
    fl_message_update_head(out, seq++, 0);
    fl_wire_update(shadow, &cursor, &everything, out, &cursor);
    fl_buffer_text(out, FL_MESSAGE_UPDATE_TAIL "\n");
    fl_message_event(out, seq++, "terminated");
    fl_buffer_add(out, "\n", 1);
}
