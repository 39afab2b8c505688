#include "client.h"
#include "message.h"

enum {
    QUEUE_PLACES = FL_CLIENT_QUEUE + 1,
    QUEUE_FULL = FL_CLIENT_QUEUE / 2, /* no more is read until the client has */
};

#define NS_PER_S      1000000000.0
#define PERIOD_MIN_NS ((uint64_t)(NS_PER_S / FL_RATE_MAX))

void fl_client_init(struct fl_client *client, uint64_t now)
{
    *client = (struct fl_client){.connected = now, .in.limit = FL_REQUEST_MAX};
}

void fl_client_fini(struct fl_client *client)
{
    fl_buffer_fini(&client->in);
    fl_buffer_fini(&client->head);
    for (unsigned i = 0; i < QUEUE_PLACES; i++)
        fl_buffer_fini(&client->queue[i]);
    fl_picture_release(client->picture);
    *client = (struct fl_client){0};
}

static void close_with(struct fl_client *client, enum fl_close_code code)
{
    if (client->close_code == 0)
        client->close_code = code;
    client->subscribed = client->update_due = false;
    fl_buffer_fini(&client->in);
}

void fl_client_turn_away(struct fl_client *client)
{
    close_with(client, FL_CLOSE_FULL);
}

/*
 * A place for one more short message, empty; client->seq is its number. Where the queue is full, the message is written
 * into the free place and never sent: the client asks on and on and does not listen, though it is not read from any
 * more (fl_client_wants_input()), so it is closed.
 */
static struct fl_buffer *enqueue(struct fl_client *client)
{
    struct fl_buffer *message = &client->queue[(client->queue_first + client->queue_count) % QUEUE_PLACES];
    fl_buffer_clear(message);
    if (client->queue_count < FL_CLIENT_QUEUE) {
        client->queue_count++;
        client->seq++;
    } else {
        close_with(client, FL_CLOSE_POLICY);
    }
    return message;
}

static void refuse(struct fl_client *client, const struct fl_request *request, const struct fl_refusal *refusal)
{
    struct fl_buffer *message = enqueue(client);
    fl_message_refused(message, client->seq, request, refusal);
    if (!client->known)
        close_with(client, FL_CLOSE_POLICY);
}

static void refuse_as(struct fl_client *client, const struct fl_request *request, enum fl_refusal_id id,
                      const char *text)
{
    struct fl_refusal refusal;
    fl_refuse(&refusal, id, "%s", text);
    refuse(client, request, &refusal);
}

/* The first message. `refusal`: what the parser found wrong with it, or NULL. */
static void introduce(struct fl_client *client, const struct fl_service *service, const struct fl_request *request,
                      const struct fl_refusal *refusal)
{
    bool is_request = !refusal || refusal->id != FL_REFUSED_NO_REQUEST;

    if (is_request && strcmp(request->name, "initialize") != 0) {
        refuse_as(client, request, FL_REFUSED_NOT_INITIALIZED, "the first message must be \"initialize\"");
    } else if (is_request && !fl_token_is(service->token, request->token)) {
        refuse_as(client, request, FL_REFUSED_TOKEN,
                  "the token is missing or wrong: use the whole URL that the program printed");
    } else if (refusal) {
        refuse(client, request, refusal);
    } else if (request->protocol_max < FL_PROTOCOL_MIN || request->protocol_min > FL_PROTOCOL_MAX) {
        refuse_as(client, request, FL_REFUSED_PROTOCOL, "client and server have no protocol version in common");
    } else {
        client->known = true;
        struct fl_buffer *message = enqueue(client);
        fl_message_about(message, client->seq, request->seq, service->shadow->session, &service->about);
        message = enqueue(client);
        fl_message_event(message, client->seq, "initialized");
    }
}

static void subscribe(struct fl_client *client, struct fl_service *service, const struct fl_request *request,
                      uint64_t now)
{
    client->subscribed = true;
    client->subscription++;
    client->selection = request->selection;
    if (request->selection.task)
        (void)fl_shadow_watch_task(service->shadow, request->selection.task); /* unknown: there is nothing to show */
    client->cursor = (struct fl_cursor){0};
    client->period = (uint64_t)(NS_PER_S / request->rate);
    /* At once; but whoever subscribes on and on gets no more than the highest rate. */
    client->due = client->told == 0 || now - client->told > PERIOD_MIN_NS ? now : client->told + PERIOD_MIN_NS;
    client->update_due = client->due <= now;
    struct fl_buffer *message = enqueue(client);
    fl_message_subscribed(message, client->seq, request, client->subscription);
}

static void answer(struct fl_client *client, const struct fl_request *request)
{
    struct fl_buffer *message = enqueue(client);
    fl_message_done(message, client->seq, request);
}

static void list_processes(struct fl_client *client, const struct fl_service *service, const struct fl_request *request)
{
    struct fl_buffer *message = enqueue(client);
    fl_message_processes(message, client->seq, request, &service->discovery);
}

static void serve(struct fl_client *client, struct fl_service *service, const struct fl_request *request, uint64_t now)
{
    switch (request->command) {
    case FL_COMMAND_INITIALIZE:
        refuse_as(client, request, FL_REFUSED_TWICE, "\"initialize\" was sent before");
        break;
    case FL_COMMAND_SUBSCRIBE:
        subscribe(client, service, request, now);
        break;
    case FL_COMMAND_UNSUBSCRIBE:
        client->subscribed = client->update_due = false;
        answer(client, request);
        break;
    case FL_COMMAND_PROCESSES:
        list_processes(client, service, request);
        break;
    case FL_COMMAND_DISCONNECT:
    default:
        answer(client, request);
        close_with(client, FL_CLOSE_NORMAL);
        break;
    }
}

static void handle_message(struct fl_client *client, struct fl_service *service, uint64_t now)
{
    struct fl_request request;
    struct fl_refusal refusal;
    enum fl_request_result result =
        fl_request_parse((const char *)client->in.data, client->in.length, &request, &refusal);

    if (result == FL_REQUEST_GARBAGE)
        close_with(client, FL_CLOSE_NOT_JSON);
    else if (!client->known)
        introduce(client, service, &request, result == FL_REQUEST_REFUSED ? &refusal : NULL);
    else if (result == FL_REQUEST_REFUSED)
        refuse(client, &request, &refusal);
    else
        serve(client, service, &request, now);
}

void fl_client_receive(struct fl_client *client, struct fl_service *service, uint64_t now, const void *bytes,
                       size_t length, bool binary, bool last)
{
    size_t limit = client->known ? FL_REQUEST_MAX : FL_REQUEST_FIRST_MAX;

    if (client->close_code != 0 || client->finishing)
        return;
    if (binary) {
        close_with(client, FL_CLOSE_BINARY);
        return;
    }
    if (length > limit - client->in.length) {
        close_with(client, FL_CLOSE_TOO_LARGE);
        return;
    }
    fl_buffer_add(&client->in, bytes, length);
    if (client->in.failed) {
        close_with(client, FL_CLOSE_INTERNAL);
        return;
    }
    if (!last)
        return;
    handle_message(client, service, now);
    fl_buffer_clear(&client->in);
}

bool fl_client_wants_input(const struct fl_client *client)
{
    return client->queue_count < QUEUE_FULL;
}

uint64_t fl_client_next_tick(const struct fl_client *client)
{
    if (client->close_code != 0)
        return UINT64_MAX;
    if (!client->known)
        return client->connected + FL_CLIENT_INITIALIZE_NS;
    return client->subscribed && !client->update_due ? client->due : UINT64_MAX;
}

void fl_client_tick(struct fl_client *client, uint64_t now)
{
    if (fl_client_next_tick(client) > now)
        return;
    if (!client->known)
        close_with(client, FL_CLOSE_POLICY);
    else
        client->update_due = true;
}

void fl_client_finish(struct fl_client *client)
{
    if (client->close_code != 0)
        return;
    client->finishing = client->known;
    client->update_due = client->known && client->subscribed;
    if (!client->known)
        close_with(client, FL_CLOSE_GOING_AWAY);
}

bool fl_client_has_output(const struct fl_client *client)
{
    return client->sending || client->queue_count > 0 || client->update_due || client->finishing ||
           client->close_code != 0;
}

/*
 * The next multiple of the period that is not too near: so clients with the same rate are due together, and share a
 * reading and a serialisation.
 */
static uint64_t next_due(uint64_t now, uint64_t period)
{
    return ((now + period / 2) / period + 1) * period;
}

/* Makes the next short message the one that is sent. The buffers change places, so their memory is used again. */
static void begin_queued(struct fl_client *client)
{
    struct fl_buffer *queued = &client->queue[client->queue_first];
    struct fl_buffer empty = client->head;

    if (queued->failed) {
        /* An answer is missing, and whoever waits for it must not wait for ever. */
        client->queue_count = 0;
        close_with(client, FL_CLOSE_INTERNAL);
        return;
    }
    client->head = *queued;
    *queued = empty;
    client->queue_first = (client->queue_first + 1) % QUEUE_PLACES;
    client->queue_count--;
    client->sending = true;
}

static void begin_update(struct fl_client *client, struct fl_service *service, uint64_t now)
{
    if (client->selection.sections & FL_SECTION_TIMELINE)
        service->shadow->timeline_wanted = true;
    fl_service_refresh(service, now, false);
    client->update_due = false;
    client->due = next_due(now, client->period);
    if (!fl_wire_is_news(service->shadow, &client->cursor))
        return;
    struct fl_picture *picture =
        fl_pictures_get(&service->pictures, service->shadow, &client->cursor, &client->selection);
    if (!picture)
        return; /* no memory now: the next one tells it all */
    fl_buffer_clear(&client->head);
    fl_message_update_head(&client->head, client->seq + 1, client->subscription);
    if (client->head.failed) {
        fl_picture_release(picture);
        return;
    }
    client->seq++;
    client->picture = picture;
    client->cursor = picture->next;
    client->told = now;
    client->sending = true;
}

/* Decides what is sent next. */
static void begin_message(struct fl_client *client, struct fl_service *service, uint64_t now)
{
    client->sent = 0;
    if (client->queue_count > 0)
        begin_queued(client);
    else if (client->update_due)
        begin_update(client, service, now);
    if (!client->sending && client->finishing && client->close_code == 0) {
        struct fl_buffer *message = enqueue(client);
        fl_message_event(message, client->seq, "terminated");
        client->finishing = false;
        close_with(client, FL_CLOSE_NORMAL);
        begin_queued(client);
    }
}

static void end_message(struct fl_client *client)
{
    fl_picture_release(client->picture);
    client->picture = NULL;
    client->sending = false;
    fl_buffer_clear(&client->head);
}

size_t fl_client_take(struct fl_client *client, struct fl_service *service, uint64_t now, unsigned char *chunk,
                      size_t room, bool *first, bool *last)
{
    size_t taken = 0;

    if (!client->sending)
        begin_message(client, service, now);
    if (!client->sending)
        return 0;
    *first = client->sent == 0;
    const struct fl_buffer *parts[2] = {&client->head, client->picture ? &client->picture->bytes : NULL};
    size_t skip = client->sent, total = 0;
    for (int i = 0; i < 2 && parts[i]; i++) {
        total += parts[i]->length;
        if (skip >= parts[i]->length) {
            skip -= parts[i]->length;
            continue;
        }
        size_t left = parts[i]->length - skip;
        size_t size = left < room - taken ? left : room - taken;
        memcpy(chunk + taken, parts[i]->data + skip, size);
        taken += size;
        skip = 0;
    }
    client->sent += taken;
    *last = client->sent == total;
    if (*last)
        end_message(client);
    return taken;
}

unsigned fl_client_closes_with(const struct fl_client *client)
{
    return client->sending || client->queue_count > 0 ? 0 : client->close_code;
}
