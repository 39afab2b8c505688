/* A fork in the middle of what the guard does: the child closes what is listed, and the list is whole. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fork_guard.h"
#include "in_child.h"

static struct fl_fork_guard guard;
static int listed[2], other[2], file[2];

/* While a fork is under way, another thread wants to change the list. */
static struct {
    bool wanted;
    pthread_t thread;
    atomic_bool done;
    bool done_in_fork;
} change;

static void *change_list(void *unused)
{
    (void)unused;
    (void)fl_fork_guard_add(&guard, other[0]);
    atomic_store(&change.done, true);
    return NULL;
}

/* Registered before the guard's own handler, and so called after it. Nothing tells that the other thread waits for the
 * lock now, but time: where the machine is slow, the test passes. */
static void in_fork(void)
{
    if (!change.wanted || pthread_create(&change.thread, NULL, change_list, NULL) != 0)
        return;
    for (int i = 0; i < 50 && !atomic_load(&change.done); i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    change.done_in_fork = atomic_load(&change.done);
}

static int begin(void **state)
{
    (void)state;
    assert_int_equal(fl_fork_guard_init(&guard), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, listed), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    assert_int_equal(pipe(file), 0);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    fl_fork_guard_fini(&guard);
    for (int i = 0; i < 2; i++) {
        close(listed[i]);
        close(other[i]);
        close(file[i]);
    }
    return 0;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int what_is_open(void)
{
    HOLDS(atomic_load(&guard.orphaned));
    return (is_open(listed[0]) ? 1 : 0) | (is_open(listed[1]) ? 2 : 0) | (is_open(other[0]) ? 4 : 0) |
           (is_open(file[1]) ? 8 : 0);
}

/* GIVEN sockets of which one is listed, THEN a child has all but that; the parent has all. */
static void test_a_child_closes_what_is_listed(void **state)
{
    (void)state;
    assert_true(fl_fork_guard_add(&guard, listed[0]));
    assert_int_equal(in_child(what_is_open), 2 + 4 + 8);
    assert_true(is_open(listed[0]));
    assert_false(atomic_load(&guard.orphaned));
    /* Once more: the lock is free again. */
    assert_true(fl_fork_guard_add(&guard, other[0]));
    assert_int_equal(in_child(what_is_open), 2 + 8);
    assert_true(fl_fork_guard_remove(&guard, listed[0]));
    assert_false(fl_fork_guard_remove(&guard, listed[0]));
    assert_int_equal(in_child(what_is_open), 1 + 2 + 8);
}

/* GIVEN a listed socket whose number has become that of something else, THEN a child leaves that alone. */
static void test_a_number_that_is_used_again(void **state)
{
    (void)state;
    assert_true(fl_fork_guard_add(&guard, listed[0]));
    assert_int_equal(dup2(other[1], listed[0]), listed[0]); /* another socket */
    assert_int_equal(in_child(what_is_open), 1 + 2 + 4 + 8);
    assert_int_equal(dup2(file[1], listed[0]), listed[0]); /* no socket at all */
    assert_int_equal(in_child(what_is_open), 1 + 2 + 4 + 8);
}

static int a_guard_of_the_child(void)
{
    HOLDS(atomic_load(&guard.orphaned));
    struct fl_fork_guard own;
    HOLDS(fl_fork_guard_init(&own) == 0);
    HOLDS(fl_fork_guard_add(&own, other[0]));
    HOLDS(in_child(what_is_open) == 2 + 8); /* a grandchild */
    HOLDS(!atomic_load(&own.orphaned));
    fl_fork_guard_fini(&own);
    HOLDS(in_child(what_is_open) == 2 + 4 + 8);
    return 0;
}

/* GIVEN a child, THEN its list is empty, and it can have guards of its own. */
static void test_a_child_begins_anew(void **state)
{
    (void)state;
    assert_true(fl_fork_guard_add(&guard, listed[0]));
    assert_int_equal(in_child(a_guard_of_the_child), 0);
}

/* GIVEN more sockets than there is room, THEN the rest is not listed, and says so; no number is listed that is none. */
static void test_there_is_no_room(void **state)
{
    (void)state;
    for (int i = 0; i < FL_GUARDED_MAX; i++)
        assert_true(fl_fork_guard_add(&guard, listed[1]));
    assert_false(fl_fork_guard_add(&guard, other[0]));
    assert_true(fl_fork_guard_remove(&guard, listed[1]));
    assert_true(fl_fork_guard_add(&guard, other[0]));
    assert_int_equal(in_child(what_is_open), 1 + 8);
    assert_false(fl_fork_guard_add(&guard, 9999));
}

/* GIVEN a thread that wants to list a socket during a fork, THEN it waits until that is over: a child never sees half a
 * list, and no socket gets into it that the list does not have. */
static void test_the_list_stands_while_a_fork_is_under_way(void **state)
{
    (void)state;
    assert_true(fl_fork_guard_add(&guard, listed[0]));
    change.wanted = true;
    int open = in_child(what_is_open);
    change.wanted = false;
    assert_int_equal(pthread_join(change.thread, NULL), 0);
    assert_false(change.done_in_fork);
    assert_int_equal(open, 2 + 4 + 8);
    assert_true(atomic_load(&change.done));
    assert_true(fl_fork_guard_remove(&guard, other[0]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_a_child_closes_what_is_listed),
        TEST(test_a_number_that_is_used_again),
        TEST(test_a_child_begins_anew),
        TEST(test_there_is_no_room),
        TEST(test_the_list_stands_while_a_fork_is_under_way),
    };
    if (pthread_atfork(in_fork, NULL, NULL) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
