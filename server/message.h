/*
 * message.h: the envelope of what a server sends (protocol.md, "Messages"). Appends to a buffer; the caller counts
 * `seq`.
 */
#ifndef FL_MESSAGE_H
#define FL_MESSAGE_H

#include <stdint.h>

#include "buffer.h"
#include "discovery.h"
#include "request.h"
#include "wire.h"

/* A successful response without a body. `command` as in the request. */
void fl_message_done(struct fl_buffer *out, uint32_t seq, const struct fl_request *request);

/* The response to `initialize`. `request_seq`: of the request that is answered. */
void fl_message_about(struct fl_buffer *out, uint32_t seq, uint32_t request_seq, const struct fl_session *session,
                      const struct fl_about *about);

/* The response to `flamelet/subscribe`. */
void fl_message_subscribed(struct fl_buffer *out, uint32_t seq, const struct fl_request *request,
                           uint32_t subscription);

/* The response to `flamelet/processes`. */
void fl_message_processes(struct fl_buffer *out, uint32_t seq, const struct fl_request *request,
                          const struct fl_discovery *discovery);

/* The response to a request that was refused. */
void fl_message_refused(struct fl_buffer *out, uint32_t seq, const struct fl_request *request,
                        const struct fl_refusal *refusal);

/* An event without a body. */
void fl_message_event(struct fl_buffer *out, uint32_t seq, const char *event);

/* The head of an update and its tail; what fl_wire_update() writes comes between. */
void fl_message_update_head(struct fl_buffer *out, uint32_t seq, uint32_t subscription);
#define FL_MESSAGE_UPDATE_TAIL "}}"

#endif
