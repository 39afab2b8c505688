#include "json_writer.h"

#include <stdbool.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434"
                            "44546474849505152535455565758596061626364656667686970717273747576777879808182838485868788"
                            "8990919293949596979899";

static unsigned length_of(uint64_t value)
{
    unsigned length = 1;

    for (; value >= 10000; value /= 10000)
        length += 4;
    return length + (value >= 10) + (value >= 100) + (value >= 1000);
}

unsigned char *fl_json_digits(unsigned char *at, uint64_t value)
{
    if (value < 10) { /* most of a profile's numbers */
        *at = (unsigned char)('0' + value);
        return at + 1;
    }
    unsigned char *end = at + length_of(value), *last = end;
    while (value >= 100) {
        last -= 2;
        memcpy(last, &pairs[value % 100 * 2], 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(last - 2, &pairs[value * 2], 2);
    else
        last[-1] = (unsigned char)('0' + value);
    return end;
}

void fl_json_unsigned(struct fl_buffer *buffer, uint64_t value)
{
    if (fl_buffer_reserve(buffer, FL_JSON_INTEGER_MAX))
        buffer->length = (size_t)(fl_json_digits(buffer->data + buffer->length, value) - buffer->data);
}

void fl_json_signed(struct fl_buffer *buffer, int64_t value)
{
    if (value < 0)
        fl_buffer_text(buffer, "-");
    fl_json_unsigned(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/*
 * Length of the UTF-8 sequence at `at`: 1 to 4 when it is valid (RFC 3629: no overlong forms, no surrogates, nothing
 * past U+10FFFF). Otherwise the length of the part that could have begun one, at least 1, and *valid is false.
 */
static size_t sequence(const unsigned char *at, const unsigned char *end, bool *valid)
{
    unsigned char lead = at[0];
    /* The second byte has a narrower range after some leads; that excludes all the forbidden values. */
    unsigned char low = 0x80, high = 0xbf;
    size_t length;

    *valid = false;
    if (lead < 0x80) {
        *valid = true;
        return 1;
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 1;
    }
    for (size_t i = 1; i < length; i++) {
        if (at + i == end || at[i] < low || at[i] > high)
            return i;
        low = 0x80;
        high = 0xbf;
    }
    *valid = true;
    return length;
}

/* How many bytes from `at` on can be copied as they are. */
static size_t plain(const unsigned char *at, const unsigned char *end)
{
    const unsigned char *first = at;

    while (at < end) {
        bool valid;
        if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
            break;
        size_t length = sequence(at, end, &valid);
        if (!valid)
            break;
        at += length;
    }
    return (size_t)(at - first);
}

void fl_json_string(struct fl_buffer *buffer, const char *text, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;

    fl_buffer_add(buffer, "\"", 1);
    while (at < end) {
        size_t run = plain(at, end);
        fl_buffer_add(buffer, at, run);
        at += run;
        if (at == end)
            break;
        if (*at == '"' || *at == '\\') {
            const char escape[2] = {'\\', (char)*at++};
            fl_buffer_add(buffer, escape, sizeof escape);
        } else if (*at < 0x80) {
            const char escape[6] = {'\\', 'u', '0', '0', hex[*at >> 4], hex[*at & 15]};
            fl_buffer_add(buffer, escape, sizeof escape);
            at++;
        } else {
            bool valid;
            at += sequence(at, end, &valid);
            fl_buffer_add(buffer, "\xef\xbf\xbd", 3); /* U+FFFD */
        }
    }
    fl_buffer_add(buffer, "\"", 1);
}

void fl_json_comma(struct fl_buffer *buffer)
{
    unsigned char last = buffer->length > 0 ? buffer->data[buffer->length - 1] : '{';
    if (last != '{' && last != '[')
        fl_buffer_add(buffer, ",", 1);
}

void fl_json_key(struct fl_buffer *buffer, const char *name)
{
    fl_json_comma(buffer);
    fl_buffer_add(buffer, "\"", 1);
    fl_buffer_text(buffer, name);
    fl_buffer_add(buffer, "\":", 2);
}

void fl_json_unsigned_field(struct fl_buffer *buffer, const char *name, uint64_t value)
{
    fl_json_key(buffer, name);
    fl_json_unsigned(buffer, value);
}

void fl_json_text_field(struct fl_buffer *buffer, const char *name, const char *text)
{
    fl_json_key(buffer, name);
    fl_json_string(buffer, text ? text : "", text ? strlen(text) : 0);
}
