/*
 * Any bytes as a name: the text must be a JSON string that a strict parser takes, and the same name where it was valid
 * UTF-8. And as Host and Origin headers: only the three right names pass.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "auth.h"
#include "json_writer.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static void check_string(const char *text, size_t length)
{
    struct fl_buffer out = {0};
    fl_json_string(&out, text, length);
    CHECK(!out.failed);
    json_t *parsed = json_loadb((const char *)out.data, out.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    CHECK(json_is_string(parsed));
    json_t *same = json_stringn(text, length); /* NULL where it is not valid */
    CHECK(!same || json_equal(parsed, same));
    json_decref(same);
    json_decref(parsed);
    fl_buffer_fini(&out);
}

static void check_headers(const char *text)
{
    if (fl_host_allowed(text))
        CHECK(strchr("lL1[", text[0]) && strspn(text, "localhostLOCALHOST0123456789.:[]") == strlen(text));
    if (fl_origin_allowed(text, "localhost:1"))
        CHECK(strlen(text) == strlen("http://localhost:1") || strlen(text) == strlen("https://localhost:1"));
    char token[FL_TOKEN_DIGITS + 1];
    memset(token, 'a', FL_TOKEN_DIGITS);
    token[FL_TOKEN_DIGITS] = '\0';
    CHECK(fl_token_is(token, text) == (strcmp(token, text) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* exact, so that a byte too many is seen */
    CHECK(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_string(text, size);
    check_headers(text);
    free(text);
    return 0;
}
