/* A recording that grows while the program runs: whatever is on disk at any moment is one. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "error.h"
#include "in_child.h"
#include "live_core.h"
#include "process.h"
#include "recorder.h"

static struct live_core core;
static char folder[] = P_tmpdir "/flamelet-test-recorder-XXXXXX";
static char path[128], temporary[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(temporary, sizeof temporary, "%s/out.tmp", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    assert_int_not_equal(access(temporary, F_OK), 0); /* nothing is left behind */
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static int begin(void **state)
{
    make_folder(state);
    live_core_begin(&core);
    return 0;
}

static int finish(void **state)
{
    live_core_end(&core);
    return remove_folder(state);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static struct fl_recorder *start(unsigned period_ms, size_t limit)
{
    const struct fl_recorder_options options = {
        .path = path,
        .temporary = temporary,
        .about = {.version = "9", .program = "p", .python = "3", .pid = 1},
        .period_ms = period_ms,
        .limit = limit,
    };
    struct fl_recorder *recorder = NULL;
    assert_int_equal(fl_recorder_start(&options, core.session, &recorder), 0);
    return recorder;
}

static off_t size_now(void)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* Until the file has more bytes than that. */
static off_t wait_for_more(off_t than)
{
    for (int i = 0; i < 1000 && size_now() <= than; i++)
        sleep_ms(10);
    assert_true(size_now() > than);
    return size_now();
}

/* What a file holds at this moment. */
struct content {
    int lines, updates, whole;
    bool torn; /* the last member is not complete */
};

static void take_line(struct content *content, const char *line, size_t length, json_int_t *version)
{
    json_t *message = json_loadb(line, length, 0, NULL);
    assert_non_null(message);
    assert_int_equal(json_integer_value(json_object_get(message, "seq")), ++content->lines);
    const char *event = json_string_value(json_object_get(message, "event"));
    if (content->lines == 1)
        assert_string_equal(json_string_value(json_object_get(message, "command")), "initialize");
    else if (content->lines == 2)
        assert_string_equal(event, "initialized");
    else
        assert_string_equal(event, "flamelet/update");
    if (content->lines > 2) {
        json_t *body = json_object_get(message, "body");
        assert_int_equal(json_integer_value(json_object_get(body, "since")), *version);
        content->whole += *version == 0;
        *version = json_integer_value(json_object_get(body, "version"));
        content->updates++;
    }
    json_decref(message);
}

/* Each line is a message, and each update builds on the one before. */
static struct content read_content(void)
{
    enum { MOST = 64 << 20 };
    struct content content = {0};
    json_int_t version = 0;
    gzFile file = gzopen(path, "rb");
    char *text = malloc(MOST);
    assert_non_null(file);
    assert_non_null(text);
    int length = gzread(file, text, MOST), error = Z_OK;
    (void)gzerror(file, &error);
    content.torn = error != Z_OK;
    gzclose(file);
    assert_true(length >= 0 && length < MOST);
    for (char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + length - line))) != NULL; line = end + 1)
        take_line(&content, line, (size_t)(end - line), &version);
    free(text);
    return content;
}

/* GIVEN a program that runs, THEN the file is there at once, grows by what is new, and is a recording at any moment. */
static void test_it_grows(void **state)
{
    (void)state;
    FILE *old = fopen(path, "w");
    assert_non_null(old);
    fputs("what stood there before", old);
    fclose(old);
    struct fl_recorder *recorder = start(20, 0);
    for (int i = 0; i < 5; i++) {
        atomic_store(&core.names, 10u * (unsigned)i + 2);
        wait_for_more(size_now());
    }
    struct content middle = read_content();
    assert_true(middle.updates >= 3);
    assert_int_equal(middle.whole, 1);
    assert_int_equal(fl_recorder_stop(recorder, true), 0);
    struct content end = read_content();
    assert_true(end.updates > middle.updates && !end.torn);
    assert_int_equal(end.whole, 1);
}

/* GIVEN a file that may not grow far, THEN it is written anew as one picture, again and again. */
static void test_a_limit(void **state)
{
    (void)state;
    enum { LIMIT = 20000 };
    struct fl_recorder *recorder = start(5, LIMIT);
    off_t before = 0;
    int anew = 0;
    for (int i = 0; i < 3000 && anew < 3; i++) {
        off_t now = size_now();
        anew += now < before;
        before = now;
        assert_true(now < 4 * LIMIT);
        sleep_ms(2);
    }
    assert_true(anew >= 3);
    assert_int_equal(fl_recorder_stop(recorder, true), 0);
    assert_int_equal(read_content().whole, 1);
}

/* GIVEN a fork of the program, for which the thread is away, THEN the recording goes on behind it. */
static void test_a_pause(void **state)
{
    (void)state;
    struct fl_recorder *recorder = start(5, 0);
    wait_for_more(0);
    fl_recorder_pause(recorder);
    assert_int_equal(thread_named("flamelet-rec"), 0);
    off_t size = size_now();
    sleep_ms(50);
    assert_int_equal(size_now(), size);
    fl_recorder_resume(recorder);
    wait_for_more(size);
    assert_int_equal(fl_recorder_stop(recorder, false), 0);
    struct content content = read_content();
    assert_int_equal(content.whole, 1);
    assert_false(content.torn);
}

/* GIVEN a folder that is gone, THEN the error is kept, and nothing else happens. */
static void test_no_folder(void **state)
{
    (void)state;
    strcat(path, "/is/no/folder");
    strcat(temporary, "/is/no/folder");
    struct fl_recorder *recorder = start(1, 0);
    sleep_ms(20);
    assert_int_equal(fl_recorder_stop(recorder, true), ENOENT);
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(temporary, sizeof temporary, "%s/out.tmp", folder);
}

/* GIVEN a thread with a signal blocked and another not, WHEN it starts a recorder, THEN both are as before. */
static void test_signals_stay_as_they_were(void **state)
{
    (void)state;
    sigset_t one, before, after;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    struct fl_recorder *recorder = start(1, 0);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    assert_int_equal(sigismember(&after, SIGUSR2), 1);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
    assert_int_equal(sigismember(&after, SIGINT), 0);
    assert_int_equal(fl_recorder_stop(recorder, true), 0);
}

/* A file that is larger than it may be is as a disk that is full, but for the signal: that is blocked in our thread. */
static int record_with_no_room(void)
{
    struct rlimit limit = {4000, 4000};
    live_core_begin(&core);
    HOLDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    struct fl_recorder *recorder = start(1, 0);
    for (int i = 0; i < 2000 && size_now() < 4000; i++) {
        atomic_store(&core.names, 2u + (unsigned)i);
        sleep_ms(5);
    }
    sleep_ms(20);
    HOLDS(fl_recorder_stop(recorder, true) == EFBIG);
    return 0;
}

/* GIVEN a disk that fills up, THEN what was written before is a recording, and the program goes on. */
static void test_no_room(void **state)
{
    (void)state;
    assert_int_equal(in_child(record_with_no_room), 0);
    struct content content = read_content();
    assert_true(content.torn);
    assert_int_equal(content.whole, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_it_grows),
        TEST(test_a_limit),
        TEST(test_a_pause),
        TEST(test_no_folder),
        TEST(test_signals_stay_as_they_were),
        /* In a child, which makes its own threads: there is none when it begins. */
        cmocka_unit_test_setup_teardown(test_no_room, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
