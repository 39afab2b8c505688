#include "message.h"
#include "json_writer.h"

static void begin_response(struct fl_buffer *out, uint32_t seq, uint32_t request_seq, bool success, const char *command)
{
    fl_buffer_add(out, "{", 1);
    fl_json_unsigned_field(out, "seq", seq);
    fl_json_text_field(out, "type", "response");
    fl_json_unsigned_field(out, "request_seq", request_seq);
    fl_json_key(out, "success");
    fl_buffer_text(out, success ? "true" : "false");
    fl_json_text_field(out, "command", command);
}

static void begin_body(struct fl_buffer *out)
{
    fl_json_key(out, "body");
    fl_buffer_add(out, "{", 1);
}

void fl_message_done(struct fl_buffer *out, uint32_t seq, const struct fl_request *request)
{
    begin_response(out, seq, request->seq, true, request->name);
    fl_buffer_add(out, "}", 1);
}

void fl_message_about(struct fl_buffer *out, uint32_t seq, uint32_t request_seq, const struct fl_session *session,
                      const struct fl_about *about)
{
    begin_response(out, seq, request_seq, true, "initialize");
    begin_body(out);
    fl_json_key(out, "flamelet");
    fl_wire_about(session, about, out);
    fl_buffer_add(out, "}}", 2);
}

void fl_message_subscribed(struct fl_buffer *out, uint32_t seq, const struct fl_request *request, uint32_t subscription)
{
    begin_response(out, seq, request->seq, true, request->name);
    begin_body(out);
    fl_json_unsigned_field(out, "subscription", subscription);
    fl_buffer_add(out, "}}", 2);
}

void fl_message_processes(struct fl_buffer *out, uint32_t seq, const struct fl_request *request,
                          const struct fl_discovery *discovery)
{
    begin_response(out, seq, request->seq, true, request->name);
    begin_body(out);
    fl_json_key(out, "processes");
    fl_discovery_list(discovery, out);
    fl_buffer_add(out, "}}", 2);
}

void fl_message_refused(struct fl_buffer *out, uint32_t seq, const struct fl_request *request,
                        const struct fl_refusal *refusal)
{
    begin_response(out, seq, request->seq, false, request->name);
    fl_json_text_field(out, "message", refusal->text);
    begin_body(out);
    fl_json_key(out, "error");
    fl_buffer_add(out, "{", 1);
    fl_json_unsigned_field(out, "id", (uint64_t)refusal->id);
    fl_json_text_field(out, "format", refusal->text);
    fl_json_key(out, "showUser");
    fl_buffer_text(out, "true}");
    if (refusal->id == FL_REFUSED_PROTOCOL) {
        fl_json_key(out, "protocol");
        fl_buffer_add(out, "{", 1);
        fl_json_unsigned_field(out, "min", FL_PROTOCOL_MIN);
        fl_json_unsigned_field(out, "max", FL_PROTOCOL_MAX);
        fl_buffer_add(out, "}", 1);
    }
    fl_buffer_add(out, "}}", 2);
}

void fl_message_event(struct fl_buffer *out, uint32_t seq, const char *event)
{
    fl_buffer_add(out, "{", 1);
    fl_json_unsigned_field(out, "seq", seq);
    fl_json_text_field(out, "type", "event");
    fl_json_text_field(out, "event", event);
    fl_buffer_add(out, "}", 1);
}

void fl_message_update_head(struct fl_buffer *out, uint32_t seq, uint32_t subscription)
{
    fl_buffer_add(out, "{", 1);
    fl_json_unsigned_field(out, "seq", seq);
    fl_json_text_field(out, "type", "event");
    fl_json_text_field(out, "event", "flamelet/update");
    begin_body(out);
    fl_json_unsigned_field(out, "subscription", subscription);
    fl_buffer_add(out, ",", 1);
}
