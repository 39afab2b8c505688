/*
 * core_script.h: a core that is driven by hand, so that a test can say what happens and when, and check every number.
 *
 *     script_begin(NULL);
 *     call("main"), busy(10), call("recv"), off(5), ret("recv");
 *     assert_times(node("main", "main/recv"), 1, .blocked = 5);
 *
 * One session, one shadow, one current thread, all in `script`. One tick is one nanosecond; the clocks move only where
 * a test says so. A test program that uses it links flcore_fake. Not for several OS threads.
 */
#ifndef CORE_SCRIPT_H
#define CORE_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "event.h"
#include "session.h"
#include "shadow.h"
#include "thread.h"

#define SCRIPT_THREADS 32

struct script {
    struct fl_session *session;
    struct fl_shadow *shadow;
    struct fl_thread *thread;     /* whom the functions below drive */
    uint64_t cpu[SCRIPT_THREADS]; /* CPU clocks of the others, by index */
};
extern struct script script;

/* A running session with one attached thread (id 1, tid 1001) at trace time 0. `options` may be NULL. */
void script_begin(const struct fl_session_options *options);
/* cmocka teardown: destroys everything. */
int script_end(void **state);

/* One more thread, which is driven from here on; its CPU clock begins at 0. */
struct fl_thread *attach(uint32_t tid);
/* Another thread is driven from here on. While it is not, its CPU clock stands. */
void drive(struct fl_thread *thread);
/* The driven thread ends. */
void detach(void);

/* Time passes: on the processor, off it, or as told for each clock. */
void busy(uint64_t ns);
void off(uint64_t ns);
void pass(uint64_t wall_ns, uint64_t cpu_ns);

/* Events of the current thread, at this moment. */
void call(const char *name);
void resume(const char *name); /* entered, but no call: a generator goes on */
void ret(const char *name);
void to(struct fl_task *task);
struct fl_task *spawn(void);
void end(struct fl_task *task);

struct fl_task *current_task(void);
fl_function_id function(const char *name);

/* Reads the shadow anew; what the functions below find. */
void look(void);

/* The node at `path` ("a/b/c", "" is the root) in the tree of the group whose entry function is `group` ("" is group 0)
 * on the current thread, in the last picture. NULL where there is none. */
const struct fl_shadow_node *find_node(const char *group, const char *path);
/* Looks first, and fails the test where there is none; so do the three below. */
const struct fl_shadow_node *node(const char *group, const char *path);
const struct fl_shadow_task *task(uint32_t id);
const struct fl_shadow_group *group(const char *entry);
const struct fl_shadow_thread *thread(void);

/* In the last picture; NULL where there is none. */
const struct fl_shadow_task *find_task(uint32_t id);

struct times {
    uint64_t cpu, blocked, idle, waited;
};

void check_times(const char *what, uint64_t cpu, uint64_t blocked, uint64_t idle, uint64_t waited, struct times wanted,
                 const char *file, int line);

/* Of a node, a task or a group; what is not named is 0. */
#define assert_node(row, wanted_calls, ...)                                                                            \
    do {                                                                                                               \
        const struct fl_shadow_node *row_ = (row);                                                                     \
        check_times(#row, row_->cpu, row_->blocked, row_->idle, row_->waited, (struct times){__VA_ARGS__}, __FILE__,   \
                    __LINE__);                                                                                         \
        assert_int_equal(row_->calls, wanted_calls);                                                                   \
    } while (0)

#define assert_sums(row, ...)                                                                                          \
    do {                                                                                                               \
        const struct fl_shadow_sums *sums_ = &(row)->sums;                                                             \
        check_times(#row, sums_->cpu, sums_->blocked, sums_->idle, sums_->waited, (struct times){__VA_ARGS__},         \
                    __FILE__, __LINE__);                                                                               \
    } while (0)

#define assert_thread(row, ...)                                                                                        \
    do {                                                                                                               \
        const struct fl_shadow_thread *row_ = (row);                                                                   \
        check_times(#row, row_->cpu, row_->blocked, row_->idle, 0, (struct times){__VA_ARGS__}, __FILE__, __LINE__);   \
    } while (0)

#endif
