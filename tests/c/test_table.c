/* table.h: chunks of rows that never move, added by several threads at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "error.h"
#include "table.h"

static struct fl_table table;

static int teardown(void **state)
{
    (void)state;
    fl_table_fini(&table);
    return 0;
}

/* GIVEN a table, THEN its chunks are numbered from 0, zeroed and apart, rows are found by id, and there is an end. */
static void test_rows_and_chunks(void **state)
{
    (void)state;
    assert_int_equal(fl_table_init(&table, 24, 3, 2), 0);
    assert_null(fl_table_row(&table, 0));
    assert_int_equal(fl_table_used(&table), 0);
    assert_int_equal(fl_table_add_chunk(&table), 0);
    assert_int_equal(fl_table_add_chunk(&table), 1);
    assert_int_equal(fl_table_add_chunk(&table), FL_ELIMIT);
    assert_int_equal(fl_table_used(&table), 2);
    char *first = fl_table_chunk(&table, 0), *second = fl_table_chunk(&table, 1);
    for (int i = 0; i < 24 * 8; i++) {
        assert_int_equal(first[i], 0);
        assert_int_equal(second[i], 0);
    }
    assert_ptr_equal(fl_table_row(&table, 0), first);
    assert_ptr_equal(fl_table_row(&table, 7), first + 7 * 24);
    assert_ptr_equal(fl_table_row(&table, 8), second);
    assert_ptr_equal(fl_table_row(&table, 15), second + 7 * 24);
    assert_null(fl_table_row(&table, 16));
    assert_null(fl_table_chunk(&table, UINT32_MAX));
}

static void has_alignment(size_t row, uint32_t bits, uintptr_t alignment)
{
    assert_int_equal(fl_table_init(&table, row, bits, 8), 0);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(fl_table_add_chunk(&table), i);
        assert_int_equal((uintptr_t)fl_table_chunk(&table, i) % alignment, 0);
    }
    fl_table_fini(&table);
}

/* GIVEN any size of rows, THEN chunks begin on cache lines; GIVEN a power of two, THEN at a multiple of their size. */
static void test_alignment(void **state)
{
    (void)state;
    has_alignment(64, 8, 16384);
    has_alignment(16, 10, 16384);
    has_alignment(24, 4, 64);
    has_alignment(1, 3, 64);
    assert_int_equal(fl_table_init(&table, 1, 0, 1), 0);
}

enum { THREADS = 4, CHUNKS = 500 };

static void *add_chunks(void *arg)
{
    uint32_t mark = (uint32_t)(uintptr_t)arg;
    for (int i = 0; i < CHUNKS; i++) {
        int64_t index = fl_table_add_chunk(&table);
        uint32_t *chunk = index < 0 ? NULL : fl_table_chunk(&table, (uint32_t)index);
        if (!chunk || *chunk != 0)
            return "no chunk of one's own";
        *chunk = mark;
    }
    return NULL;
}

/* GIVEN several threads, THEN each chunk belongs to one of them, and none is lost. */
static void test_several_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint32_t counts[THREADS + 1] = {0};
    assert_int_equal(fl_table_init(&table, 64, 1, THREADS * CHUNKS), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_chunks, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    for (uint32_t i = 0; i < THREADS * CHUNKS; i++)
        counts[*(uint32_t *)fl_table_chunk(&table, i)]++;
    for (int i = 1; i <= THREADS; i++)
        assert_int_equal(counts[i], CHUNKS);
}

/* GIVEN each code of the list, THEN it has a text of its own. */
static void test_error_texts(void **state)
{
    (void)state;
    assert_string_equal(fl_error_text(0), "no error");
    assert_string_equal(fl_error_text(FL_ENOMEM), "out of memory");
    assert_string_equal(fl_error_text(FL_ESYSTEM), "a system call failed");
    assert_string_equal(fl_error_text(1), "unknown error");
    assert_string_equal(fl_error_text(-1000), "unknown error");
    assert_int_equal(fl_table_init(&table, 1, 0, 1), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_rows_and_chunks),
        TEST(test_alignment),
        TEST(test_several_threads),
        TEST(test_error_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
