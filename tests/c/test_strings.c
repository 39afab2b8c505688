/* strings.h: each string once, ids in order, bounded, read while it grows. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "strings.h"

static struct fl_strings strings;

static int setup(void **state)
{
    (void)state;
    return fl_strings_init(&strings);
}

static int teardown(void **state)
{
    (void)state;
    fl_strings_fini(&strings);
    return 0;
}

static uint32_t add(const char *text)
{
    return fl_strings_add(&strings, text, strlen(text));
}

/* GIVEN strings, THEN ids count up from 1, an old string keeps its id, and the empty one is 0. */
static void test_each_string_once(void **state)
{
    (void)state;
    assert_int_equal(fl_strings_count(&strings), 1);
    assert_int_equal(add("one"), 1);
    assert_int_equal(add("two"), 2);
    assert_int_equal(add("one"), 1);
    assert_int_equal(add(""), 0);
    assert_int_equal(fl_strings_count(&strings), 3);
    assert_string_equal(fl_strings_get(&strings, 1)->text, "one");
    assert_string_equal(fl_strings_get(&strings, 2)->text, "two");
    assert_int_equal(fl_strings_get(&strings, 2)->length, 3);
}

/* GIVEN an id that is not there, THEN it is the empty string. */
static void test_unknown_ids_are_empty(void **state)
{
    (void)state;
    add("one");
    const uint32_t ids[] = {0, 2, 5000, UINT32_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_int_equal(fl_strings_get(&strings, ids[i])->length, 0);
        assert_string_equal(fl_strings_get(&strings, ids[i])->text, "");
    }
}

/* GIVEN bytes with NULs in them, THEN they are told apart by all their bytes. */
static void test_bytes_are_bytes(void **state)
{
    (void)state;
    uint32_t a = fl_strings_add(&strings, "x\0y", 3), b = fl_strings_add(&strings, "x\0z", 3);
    uint32_t c = fl_strings_add(&strings, "x", 1), d = fl_strings_add(&strings, "\xff\xfe", 2);
    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(c, 3);
    assert_int_equal(d, 4);
    assert_memory_equal(fl_strings_get(&strings, b)->text, "x\0z", 4);
}

/* GIVEN a text that is changed or freed later, THEN the table has its own copy. */
static void test_strings_are_copied(void **state)
{
    (void)state;
    char *text = strdup("mine");
    uint32_t id = add(text);
    memset(text, 'x', 4);
    free(text);
    assert_string_equal(fl_strings_get(&strings, id)->text, "mine");
}

/* GIVEN a string that is too long, THEN it is cut, and two that differ after the cut are one. */
static void test_long_strings_are_cut(void **state)
{
    (void)state;
    static char text[FL_STRING_MAX_LENGTH + 10];
    memset(text, 'a', sizeof text);
    uint32_t id = fl_strings_add(&strings, text, sizeof text);
    assert_int_equal(fl_strings_get(&strings, id)->length, FL_STRING_MAX_LENGTH);
    assert_int_equal(strlen(fl_strings_get(&strings, id)->text), FL_STRING_MAX_LENGTH);
    text[FL_STRING_MAX_LENGTH] = 'b';
    assert_int_equal(fl_strings_add(&strings, text, sizeof text), id);
    text[FL_STRING_MAX_LENGTH - 1] = 'b';
    assert_int_equal(fl_strings_add(&strings, text, sizeof text), id + 1);
}

/* GIVEN a string that is too long, THEN no character of UTF-8 is cut in two. */
static void test_long_strings_are_cut_between_characters(void **state)
{
    (void)state;
    static char text[FL_STRING_MAX_LENGTH + 10];
    memset(text, 'a', sizeof text);
    /* Three bytes of the euro sign, the last of them past the bound. */
    memcpy(text + FL_STRING_MAX_LENGTH - 2, "\xe2\x82\xac", 3);
    uint32_t id = fl_strings_add(&strings, text, sizeof text);
    assert_int_equal(fl_strings_get(&strings, id)->length, FL_STRING_MAX_LENGTH - 2);
    /* What is no UTF-8 at all is cut somewhere near. */
    memset(text, '\x80', sizeof text);
    id = fl_strings_add(&strings, text, sizeof text);
    assert_in_range(fl_strings_get(&strings, id)->length, FL_STRING_MAX_LENGTH - 4, FL_STRING_MAX_LENGTH);
}

/* GIVEN many strings, THEN all are found again, none has moved, and past the bound the answer is 0 and counted. */
static void test_many_strings_up_to_the_bound(void **state)
{
    (void)state;
    char text[16];
    uint32_t first = add("first");
    const char *where = fl_strings_get(&strings, first)->text;
    for (uint32_t i = 2; i < FL_STRINGS_MAX; i++) {
        int length = snprintf(text, sizeof text, "s%u", i);
        if (fl_strings_add(&strings, text, (size_t)length) != i)
            fail_msg("string %u has another id", i);
    }
    assert_ptr_equal(fl_strings_get(&strings, first)->text, where);
    assert_int_equal(fl_strings_count(&strings), FL_STRINGS_MAX);
    assert_int_equal(strings.lost, 0);
    assert_int_equal(add("one too many"), 0);
    assert_int_equal(add("another"), 0);
    assert_int_equal(strings.lost, 2);
    assert_int_equal(add("first"), first);
    assert_int_equal(add("s777777"), 777777);
    assert_int_equal(strings.lost, 2);
}

enum { WRITERS = 3, PER_WRITER = 20000 };

static void *write_strings(void *arg)
{
    char text[16];
    (void)arg;
    for (uint32_t i = 0; i < PER_WRITER; i++) {
        int length = snprintf(text, sizeof text, "t%u", i);
        uint32_t id = fl_strings_add(&strings, text, (size_t)length);
        if (id == 0 || strcmp(fl_strings_get(&strings, id)->text, text) != 0)
            return "a writer does not find its string";
    }
    return NULL;
}

static void *read_strings(void *arg)
{
    (void)arg;
    for (uint32_t count = 1; count < PER_WRITER + 1;) {
        count = fl_strings_count(&strings);
        for (uint32_t id = count > 50 ? count - 50 : 1; id < count; id++) {
            const struct fl_string *row = fl_strings_get(&strings, id);
            if (row->text[0] != 't' || row->length != strlen(row->text))
                return "a reader sees a string that is not finished";
        }
    }
    return NULL;
}

/* GIVEN several writers of the same strings and a reader, THEN each string is there once, and whole from the beginning.
 */
static void test_writers_and_a_reader(void **state)
{
    (void)state;
    pthread_t writers[WRITERS], reader;
    void *complaint;
    assert_int_equal(pthread_create(&reader, NULL, read_strings, NULL), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_strings, NULL), 0);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], &complaint);
        assert_null(complaint);
    }
    pthread_join(reader, &complaint);
    assert_null(complaint);
    assert_int_equal(fl_strings_count(&strings), PER_WRITER + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_string_once),
        TEST(test_unknown_ids_are_empty),
        TEST(test_bytes_are_bytes),
        TEST(test_strings_are_copied),
        TEST(test_long_strings_are_cut),
        TEST(test_many_strings_up_to_the_bound),
        TEST(test_strings_are_copied),
        TEST(test_long_strings_are_cut_between_characters),
        TEST(test_many_strings_up_to_the_bound),
        TEST(test_writers_and_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
