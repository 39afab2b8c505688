/* Bytes that grow, and JSON text of any content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "buffer.h"
#include "columns.h"
#include "json_writer.h"

static void assert_text(const struct fl_buffer *buffer, const char *wanted)
{
    assert_false(buffer->failed);
    assert_int_equal(buffer->length, strlen(wanted));
    assert_memory_equal(buffer->data, wanted, buffer->length);
}

static void test_a_buffer_keeps_what_is_added(void **state)
{
    (void)state;
    struct fl_buffer buffer = {0};
    for (int i = 0; i < 10000; i++)
        fl_buffer_add(&buffer, "abc", 3);
    assert_int_equal(buffer.length, 30000);
    assert_memory_equal(buffer.data + 29997, "abc", 3);
    fl_buffer_add(&buffer, NULL, 0);
    assert_int_equal(buffer.length, 30000);
    fl_buffer_fini(&buffer);
    assert_null(buffer.data);
}

/* GIVEN a buffer that could not grow once, THEN it says so, whatever is added afterwards. */
static void test_a_failure_is_sticky(void **state)
{
    (void)state;
    struct fl_buffer buffer = {.limit = 10};
    fl_buffer_add(&buffer, "12345678", 8);
    assert_false(buffer.failed);
    fl_buffer_add(&buffer, "123", 3);
    assert_true(buffer.failed);
    fl_buffer_add(&buffer, "1", 1);
    assert_true(buffer.failed);
    assert_int_equal(buffer.length, 8);
    fl_buffer_clear(&buffer);
    fl_buffer_add(&buffer, "1234567890", 10);
    assert_text(&buffer, "1234567890");
    fl_buffer_fini(&buffer);
}

static void test_a_size_that_cannot_be_is_a_failure(void **state)
{
    (void)state;
    struct fl_buffer buffer = {0};
    assert_false(fl_buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    fl_buffer_fini(&buffer);
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } cases[] = {{0, "0"},     {9, "9"},     {10, "10"},       {99, "99"},
                 {100, "100"}, {101, "101"}, {65536, "65536"}, {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fl_buffer buffer = {0};
        fl_json_unsigned(&buffer, cases[i].value);
        assert_text(&buffer, cases[i].text);
        fl_buffer_fini(&buffer);
    }
    for (uint64_t value = 1; value < UINT64_MAX / 7; value = value * 7 + 3) {
        struct fl_buffer buffer = {0};
        fl_json_unsigned(&buffer, value);
        fl_buffer_add(&buffer, "", 1);
        assert_true(strtoull((const char *)buffer.data, NULL, 10) == value);
        fl_buffer_fini(&buffer);
    }
    struct fl_buffer buffer = {0};
    fl_json_signed(&buffer, INT64_MIN);
    assert_text(&buffer, "-9223372036854775808");
    fl_buffer_fini(&buffer);
}

#define BAD "\xef\xbf\xbd"

/* GIVEN names of any bytes, THEN valid JSON with what could not be kept as U+FFFD, one for each maximal part. */
static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *wanted;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\0\n\x1f\x7f", 4, "\"\\u0000\\u000a\\u001f\\u007f\""},
        {"<lambda>/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 18, "\"<lambda>/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", 1, "\"" BAD "\""},
        {"\x80z", 2, "\"" BAD "z\""},
        {"\xc3", 1, "\"" BAD "\""},
        {"\xc3(", 2, "\"" BAD "(\""},
        {"\xe2\x82", 2, "\"" BAD "\""},
        {"\xe2\x82z", 3, "\"" BAD "z\""},
        {"\xf0\x9f\x98", 3, "\"" BAD "\""},
        {"\xc0\xaf", 2, "\"" BAD BAD "\""},                 /* overlong "/" */
        {"\xe0\x80\xaf", 3, "\"" BAD BAD BAD "\""},         /* overlong */
        {"\xed\xa0\x80", 3, "\"" BAD BAD BAD "\""},         /* surrogate, as surrogateescape makes them */
        {"\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\""}, /* past U+10FFFF */
        {"\xf5\x80", 2, "\"" BAD BAD "\""},
        {"\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\""},
        {"\xed\x9f\xbf", 3, "\"\xed\x9f\xbf\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fl_buffer buffer = {0};
        fl_json_string(&buffer, cases[i].text, cases[i].length);
        assert_text(&buffer, cases[i].wanted);
        fl_buffer_fini(&buffer);
    }
}

/* GIVEN random bytes, THEN a strict parser takes the text, and valid UTF-8 comes out as it was. */
static void test_random_strings_are_valid_json(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[24];
        size_t length = (size_t)(round % (int)sizeof text);
        for (size_t i = 0; i < length; i++) {
            static const unsigned char likely[] = {0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xf0, 0x9f, 0, '"'};
            seed = seed * 1664525u + 1013904223u;
            text[i] = (char)(seed & 0x100000 ? likely[(seed >> 8) % sizeof likely] : seed >> 24);
        }
        struct fl_buffer buffer = {0};
        fl_json_string(&buffer, text, length);
        json_error_t error;
        json_t *parsed = json_loadb((const char *)buffer.data, buffer.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        assert_non_null(parsed);
        json_t *same = json_stringn(text, length); /* NULL where it is not valid */
        if (same)
            assert_true(json_equal(parsed, same));
        json_decref(same);
        json_decref(parsed);
        fl_buffer_fini(&buffer);
    }
}

struct row {
    uint32_t narrow;
    uint64_t wide;
};

static void test_columns(void **state)
{
    (void)state;
    static const struct fl_column columns[] = {FL_COLUMN_OF_ID, FL_COLUMN_OF(struct row, "n", narrow),
                                               FL_COLUMN_OF(struct row, "w", wide)};
    const struct row rows[] = {{UINT32_MAX, 1}, {0, UINT64_MAX}};
    struct fl_picks picks = {0};
    struct fl_buffer out = {0};
    fl_columns_write(&out, "none", columns, 3, &picks);
    assert_int_equal(out.length, 0);
    fl_picks_add(&picks, 7, &rows[0]);
    fl_picks_add(&picks, 8, &rows[1]);
    fl_columns_write(&out, "add", columns, 3, &picks);
    fl_columns_write_ids(&out, "del", &picks);
    assert_text(&out, "\"add\":{\"id\":[7,8],\"n\":[4294967295,0],\"w\":[1,18446744073709551615]},\"del\":[7,8]");
    fl_buffer_fini(&out);

    picks.bytes.failed = true;
    fl_columns_write(&out, "add", columns, 3, &picks);
    assert_true(out.failed);
    fl_buffer_fini(&picks.bytes);
    fl_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_keeps_what_is_added),
        cmocka_unit_test(test_a_failure_is_sticky),
        cmocka_unit_test(test_a_size_that_cannot_be_is_a_failure),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_random_strings_are_valid_json),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
