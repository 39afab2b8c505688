/* Any bytes as a client's message: fl_request_parse() must survive them, and what it hands on must be within bounds. */
#include <stdlib.h>
#include <string.h>

#include "request.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fl_request request;
    struct fl_refusal refusal;

    switch (fl_request_parse((const char *)data, size, &request, &refusal)) {
    case FL_REQUEST_OK:
        CHECK(request.seq >= 1 && request.seq <= FL_REQUEST_SEQ_MAX);
        CHECK(request.command != FL_COMMAND_SUBSCRIBE || (request.rate >= FL_RATE_MIN && request.rate <= FL_RATE_MAX));
        CHECK((request.selection.sections & ~(unsigned)(FL_SECTION_ALL | FL_SECTION_TIMELINE)) == 0);
        CHECK(request.command != FL_COMMAND_INITIALIZE || request.protocol_min <= request.protocol_max);
        CHECK(memchr(request.token, '\0', sizeof request.token));
        break;
    case FL_REQUEST_REFUSED:
        CHECK(request.seq >= 1 && request.seq <= FL_REQUEST_SEQ_MAX);
        CHECK(refusal.id >= FL_REFUSED_NO_REQUEST && refusal.id <= FL_REFUSED_TWICE);
        CHECK(refusal.text[0] != '\0' && memchr(refusal.text, '\0', sizeof refusal.text));
        break;
    case FL_REQUEST_GARBAGE:
    default:
        break;
    }
    CHECK(memchr(request.name, '\0', sizeof request.name));
    return 0;
}
