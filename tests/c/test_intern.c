/* intern.h and function.h: each row once, ids in order, bounded, read while it grows. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "function.h"
#include "intern.h"

static struct fl_intern table;

static int teardown(void **state)
{
    (void)state;
    fl_intern_fini(&table);
    return 0;
}

/* GIVEN rows, THEN ids count up from 1, an old row keeps its id, and any word makes a row another one. */
static void test_each_row_once(void **state)
{
    (void)state;
    assert_int_equal(fl_functions_init(&table), 0);
    const struct fl_function base = {.name = 1, .qualname = 2, .file = 3, .line = 4, .kind = FL_FUNCTION_C};
    assert_int_equal(fl_functions_add(&table, &base), 1);
    for (uint32_t word = 0; word < 5; word++) {
        struct fl_function other = base;
        (&other.name)[word] += 7;
        assert_int_equal(fl_functions_add(&table, &other), 2 + word);
    }
    assert_int_equal(fl_functions_add(&table, &base), 1);
    assert_int_equal(fl_intern_count(&table), 7);
    assert_memory_equal(fl_functions_get(&table, 1), &base, sizeof base);
    assert_int_equal(fl_functions_get(&table, 5)->line, 11);
}

/* GIVEN an id that is not there, THEN it is the row of zeros. */
static void test_unknown_ids_are_zeros(void **state)
{
    (void)state;
    assert_int_equal(fl_functions_init(&table), 0);
    const struct fl_function zeros = {0}, row = {.name = 9};
    fl_functions_add(&table, &row);
    assert_memory_equal(fl_functions_get(&table, 0), &zeros, sizeof zeros);
    assert_memory_equal(fl_functions_get(&table, 2), &zeros, sizeof zeros);
    assert_memory_equal(fl_functions_get(&table, UINT32_MAX), &zeros, sizeof zeros);
}

/* GIVEN a row of zeros that somebody adds, THEN it has an id of its own: 0 means that there is no room. */
static void test_a_row_of_zeros(void **state)
{
    (void)state;
    assert_int_equal(fl_groups_init(&table), 0);
    assert_int_equal(fl_groups_add(&table, 0, 0), 1);
    assert_int_equal(fl_groups_add(&table, 0, 0), 1);
}

/* GIVEN more rows than the limit, THEN those past it get 0, and the others are found still, where they were. */
static void test_many_rows_up_to_the_limit(void **state)
{
    (void)state;
    assert_int_equal(fl_groups_init(&table), 0);
    uint32_t first = fl_groups_add(&table, 1, 1);
    const struct fl_group *where = fl_groups_get(&table, first);
    uint32_t last = first;
    for (uint32_t i = 2; last != 0; i++) {
        uint32_t id = fl_groups_add(&table, i, i * 3);
        assert_true(id == last + 1 || id == 0);
        last = id;
        assert_true(i < FL_GROUPS_MAX + 2000);
    }
    uint32_t count = fl_intern_count(&table);
    assert_in_range(count, FL_GROUPS_MAX, FL_GROUPS_MAX + 1024); /* a chunk is not left half full */
    assert_ptr_equal(fl_groups_get(&table, first), where);
    assert_int_equal(fl_groups_add(&table, 1, 1), first);
    for (uint32_t id = 2; id < count; id++)
        if (fl_groups_get(&table, id)->label != id * 3 || fl_groups_add(&table, id, id * 3) != id)
            fail_msg("group %u is not found", id);
}

enum { ROWS = 50000 };

static void *write_rows(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= ROWS; i++)
        if (fl_groups_get(&table, fl_groups_add(&table, i, ~i))->label != ~i)
            return "a writer does not find its row";
    return NULL;
}

static void *read_rows(void *arg)
{
    (void)arg;
    for (uint32_t count = 1; count < ROWS + 1;) {
        count = fl_intern_count(&table);
        const struct fl_group *row = fl_groups_get(&table, count - 1);
        if (count > 1 && row->label != ~row->entry)
            return "a reader sees a row that is not finished";
    }
    return NULL;
}

/* GIVEN two writers of the same rows and a reader, THEN each row is there once, and whole from the beginning. */
static void test_writers_and_a_reader(void **state)
{
    (void)state;
    pthread_t threads[3];
    void *complaint;
    assert_int_equal(fl_groups_init(&table), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i ? write_rows : read_rows, NULL), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    assert_int_equal(fl_intern_count(&table), ROWS + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_row_once),        TEST(test_unknown_ids_are_zeros),
        TEST(test_a_row_of_zeros),       TEST(test_many_rows_up_to_the_limit),
        TEST(test_writers_and_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
