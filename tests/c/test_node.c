/* node.h: nodes of one thread in chunks, their ids, the index that finds children, and what a reader may see. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "node.h"

static struct fl_table nodes;
static _Atomic uint32_t count;
static struct fl_node_maker maker, second;

static void begin(uint32_t budget)
{
    count = 0;
    second = (struct fl_node_maker){0};
    assert_int_equal(fl_table_init(&nodes, sizeof(struct fl_node), FL_NODE_BITS, FL_NODE_CHUNKS), 0);
    assert_int_equal(fl_node_maker_init(&maker, &nodes, &count, budget, 3), 0);
}

static int teardown(void **state)
{
    (void)state;
    fl_node_maker_fini(&maker);
    fl_node_maker_fini(&second);
    fl_table_fini(&nodes);
    return 0;
}

/* GIVEN a path, THEN it is one node, whoever asks; another parent or function is another node. */
static void test_a_path_is_one_node(void **state)
{
    (void)state;
    begin(1000);
    struct fl_node *root = fl_node_child(&maker, NULL, FL_ROOT_FUNCTION | 5);
    struct fl_node *a = fl_node_child(&maker, root, 7), *b = fl_node_child(&maker, root, 8);
    struct fl_node *under_a = fl_node_child(&maker, a, 7);
    assert_true(root && a && b && under_a);
    assert_true(a != b && a != under_a && b != under_a);
    assert_ptr_equal(fl_node_child(&maker, root, 7), a);
    assert_ptr_equal(fl_node_child(&maker, root, 8), b);
    assert_ptr_equal(fl_node_child(&maker, a, 7), under_a);
    assert_ptr_equal(fl_node_child(&maker, NULL, FL_ROOT_FUNCTION | 5), root);
    assert_ptr_not_equal(fl_node_child(&maker, NULL, FL_ROOT_FUNCTION | 6), root);
    assert_int_equal(fl_node_parent(root), 0);
    assert_null(root->up);
    assert_int_equal(fl_node_parent(a), fl_node_id_of(root));
    assert_ptr_equal(a->up, root);
    assert_int_equal(a->function, 7);
    assert_int_equal(fl_node_parent(under_a), fl_node_id_of(a));
    assert_ptr_equal(a->last_child, &fl__no_child);
    assert_int_equal(atomic_load(&a->calls), 0);
    assert_false(fl_node_is_entry(root));
    assert_true(fl_node_is_entry(a));
    assert_false(fl_node_is_entry(under_a));
    assert_int_equal(count, 5);
}

/* GIVEN the sentinel that stands for no child, THEN it is no child for any function, a root's included. */
static void test_the_sentinel_is_nobodys_child(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(fl__no_child.function, FL_NO_FUNCTION);
    assert_true(FL_NO_FUNCTION > (1u << 22)); /* function.h: ids end there */
    assert_true(FL_NO_FUNCTION != (FL_ROOT_FUNCTION | 0xffffu));
    assert_ptr_equal(fl__no_child.last_child, &fl__no_child);
}

/* GIVEN a chain over many chunks, THEN ids grow, follow from addresses and lead back, and nothing moves. */
static void test_ids_and_addresses(void **state)
{
    (void)state;
    enum { DEEP = 5000 };
    begin(DEEP);
    static struct fl_node *chain[DEEP];
    for (uint32_t i = 0; i < DEEP; i++) {
        chain[i] = fl_node_child(&maker, i ? chain[i - 1] : NULL, i ? i : FL_ROOT_FUNCTION);
        assert_non_null(chain[i]);
        assert_int_equal((uintptr_t)chain[i] % 64, 0);
    }
    for (uint32_t i = 0; i < DEEP; i++) {
        uint32_t id = fl_node_id_of(chain[i]);
        assert_ptr_equal(fl_table_row(&nodes, id), chain[i]);
        assert_true(id % (1u << FL_NODE_BITS) != 0); /* slot 0 is the header */
        assert_true(i == 0 || fl_node_id_of(chain[i - 1]) < id);
        assert_int_equal(fl_node_chunk_of(chain[i])->thread, 3);
        assert_ptr_equal(fl_node_child(&maker, i ? chain[i - 1] : NULL, i ? i : FL_ROOT_FUNCTION), chain[i]);
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < fl_table_used(&nodes); i++)
        used += ((struct fl_node_chunk *)fl_table_chunk(&nodes, i))->used - 1;
    assert_int_equal(used, DEEP);
}

/* GIVEN two threads, THEN they never share a chunk, and each one's ids grow. */
static void test_threads_do_not_share_chunks(void **state)
{
    (void)state;
    begin(5000);
    assert_int_equal(fl_node_maker_init(&second, &nodes, &count, 5000, 4), 0);
    struct fl_node *a = fl_node_child(&maker, NULL, FL_ROOT_FUNCTION);
    struct fl_node *b = fl_node_child(&second, NULL, FL_ROOT_FUNCTION);
    assert_ptr_not_equal(a, b);
    for (uint32_t i = 1; i < 1500; i++) {
        struct fl_node *next_a = fl_node_child(&maker, a, i), *next_b = fl_node_child(&second, b, i);
        assert_int_equal(fl_node_chunk_of(next_a)->thread, 3);
        assert_int_equal(fl_node_chunk_of(next_b)->thread, 4);
        assert_true(fl_node_id_of(next_a) > fl_node_id_of(a) && fl_node_id_of(next_b) > fl_node_id_of(b));
        a = next_a;
        b = next_b;
    }
}

/* GIVEN a budget, THEN there is no node past it, and the old ones are found still. */
static void test_the_budget_holds(void **state)
{
    (void)state;
    begin(300);
    struct fl_node *root = fl_node_child(&maker, NULL, FL_ROOT_FUNCTION);
    for (uint32_t i = 1; i < 300; i++)
        assert_non_null(fl_node_child(&maker, root, i));
    assert_null(fl_node_child(&maker, root, 300));
    assert_null(fl_node_child(&maker, root, 301));
    assert_non_null(fl_node_child(&maker, root, 299));
    assert_int_equal(count, 300);
}

/* GIVEN a wide tree, THEN each child is found among 100,000. */
static void test_a_wide_tree(void **state)
{
    (void)state;
    enum { WIDE = 100000 };
    begin(WIDE + 1);
    struct fl_node **children = calloc(WIDE + 1, sizeof(struct fl_node *));
    struct fl_node *root = fl_node_child(&maker, NULL, FL_ROOT_FUNCTION);
    assert_non_null(children);
    for (uint32_t i = 1; i <= WIDE; i++)
        children[i] = fl_node_child(&maker, root, i);
    for (uint32_t i = 1; i <= WIDE; i++)
        if (!children[i] || children[i]->function != i || fl_node_child(&maker, root, i) != children[i])
            fail_msg("child %u is lost", i);
    free(children);
}

enum { FOLLOWED = 200000 };

static void *make_nodes(void *arg)
{
    struct fl_node *root = arg, *parent = root;
    for (uint32_t i = 1; i <= FOLLOWED; i++) {
        struct fl_node *made = fl_node_child(&maker, parent, i);
        parent = i % 7 ? made : root;
        for (volatile int wait = 0; wait < 20; wait++)
            ;
    }
    return NULL;
}

/* GIVEN a reader that follows the owner as close as it can, THEN a node that is published is whole. */
static void test_published_nodes_are_whole(void **state)
{
    (void)state;
    begin(FOLLOWED + 1);
    pthread_t owner;
    struct fl_node *root = fl_node_child(&maker, NULL, FL_ROOT_FUNCTION);
    uint32_t last = 0;
    assert_int_equal(pthread_create(&owner, NULL, make_nodes, root), 0);
    while (last < FOLLOWED) {
        uint32_t chunks = fl_table_used(&nodes);
        const struct fl_node_chunk *chunk = fl_table_chunk(&nodes, chunks - 1);
        uint32_t used = chunk ? atomic_load_explicit(&chunk->used, memory_order_acquire) : 0;
        if (used <= 1)
            continue;
        const struct fl_node *newest = (const struct fl_node *)(const void *)chunk + used - 1;
        if (newest == root)
            continue;
        if (newest->function < last || fl_node_parent(newest) == 0 || fl_node_parent(newest) >= fl_node_id_of(newest))
            fail_msg("a node after %u is not whole", last);
        last = newest->function;
    }
    pthread_join(owner, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_path_is_one_node),        TEST(test_the_sentinel_is_nobodys_child),
        TEST(test_ids_and_addresses),         TEST(test_threads_do_not_share_chunks),
        TEST(test_the_budget_holds),          TEST(test_a_wide_tree),
        TEST(test_published_nodes_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
