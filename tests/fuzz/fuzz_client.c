/*
 * Any bytes as a whole conversation of a client that may know the token. The input is a list of pieces: one byte of
 * flags, one of length, then so many bytes. What comes out must be JSON, with `seq` counting up, in bounded memory, and
 * nothing but the end may be told to one who is not known.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "event.h"
#include "session.h"
#include "thread.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

/* Bits of a piece's flags. */
enum { LAST = 1, BINARY = 2, IS_INITIALIZE = 4, READS = 8, TIME_PASSES = 16, ENDS = 32 };

static struct fl_service service;

static void make_service(void)
{
    struct fl_session *session;
    CHECK(fl_session_create(NULL, &session) == 0);
    fl_session_start(session);
    struct fl_thread *thread = fl_thread_attach(session, 1, 0);
    struct fl_function function = {.name = fl_strings_add(&session->strings, "f\xff", 2)};
    fl_enter(thread, fl_functions_add(&session->functions, &function), true, fl_now(thread));
    CHECK(fl_shadow_create(session, &service.shadow) == 0);
    memset(service.token, 'a', FL_TOKEN_DIGITS);
}

static void read_all(struct fl_client *client, uint64_t now, json_int_t *seq)
{
    static unsigned char text[1 << 20];
    bool known = client->known;
    for (;;) {
        size_t length = 0;
        bool first, last = false;
        while (!last) {
            size_t size = fl_client_take(client, &service, now, text + length, 1000, &first, &last);
            if (size == 0)
                return;
            CHECK(first == (length == 0));
            length += size;
            CHECK(length < sizeof text - 1000);
        }
        json_t *message = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, NULL);
        CHECK(json_is_object(message));
        CHECK(json_integer_value(json_object_get(message, "seq")) == ++*seq);
        CHECK(known || !json_object_get(message, "event") ||
              strcmp(json_string_value(json_object_get(message, "event")), "flamelet/update") != 0);
        json_decref(message);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char initialize[] =
        "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"adapterID\":\"flamelet\","
        "\"token\":"
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"protocol\":{\"min\":1,\"max\":1}}}";
    struct fl_client client;
    uint64_t now = 1000000000;
    json_int_t seq = 0;

    if (!service.shadow)
        make_service();
    fl_client_init(&client, now);
    while (size >= 2) {
        uint8_t flags = data[0];
        size_t length = data[1] < size - 2 ? data[1] : size - 2;
        if (flags & IS_INITIALIZE)
            fl_client_receive(&client, &service, now, initialize, strlen(initialize), false, true);
        else
            fl_client_receive(&client, &service, now, data + 2, length, flags & BINARY, flags & LAST);
        if (flags & TIME_PASSES) {
            now += 60000000;
            fl_client_tick(&client, now);
        }
        if (flags & ENDS)
            fl_client_finish(&client);
        if (flags & READS)
            read_all(&client, now, &seq);
        CHECK(client.queue_count <= FL_CLIENT_QUEUE && client.in.length <= FL_REQUEST_MAX);
        data += 2 + length;
        size -= 2 + length;
    }
    fl_client_fini(&client);
    fl_pictures_forget(&service.pictures);
    return 0;
}
