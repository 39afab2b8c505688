/* Start and end of the server, and that the process around it stays as it was. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "error.h"
#include "live_core.h"
#include "process.h"
#include "server.h"
#include "ws_client.h"

static struct live_core core;

static int begin(void **state)
{
    (void)state;
    live_core_begin(&core);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    live_core_end(&core);
    return 0;
}

static struct fl_server *start(void)
{
    const struct fl_server_options options = {.about = {.version = "9", .program = "p", .python = "3", .pid = 1}};
    struct fl_server *server = NULL;
    assert_int_equal(fl_server_start(&options, core.session, &server), 0);
    return server;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* The server's thread, once it has given itself a name. */
static int server_thread(void)
{
    int tid = 0;
    for (int i = 0; i < 500 && tid == 0; i++) {
        tid = thread_named("flamelet");
        if (tid == 0)
            sleep_ms(10);
    }
    assert_int_not_equal(tid, 0);
    return tid;
}

/* Does somebody accept on this port? */
static bool is_open(uint16_t port)
{
    int fd = tcp_connect(port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void test_ports_and_tokens(void **state)
{
    (void)state;
    struct fl_server *first = start(), *second = NULL;
    char token[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct fl_server_options options = {.port = fl_server_port(first)};
    assert_int_equal(fl_server_start(&options, core.session, &second), FL_EADDRESS_IN_USE);
    assert_null(second);
    uint16_t port = fl_server_port(first);
    struct ws ws;
    ws_join(&ws, port, fl_server_token(first));
    ws.silent = true; /* so that the server closes first, and the kernel remembers the connection for a minute */
    fl_server_stop(first);
    assert_int_equal(ws_wait_closed(&ws, 5000), 1000);
    ws_drop(&ws);

    /* Free again at once, all the same. */
    options.token = token;
    assert_int_equal(fl_server_start(&options, core.session, &second), 0);
    assert_int_equal(fl_server_port(second), port);
    memset(token, 'x', 64); /* it was copied */
    assert_string_equal(fl_server_token(second), "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
    fl_server_stop(second);

    options.token = "short";
    assert_int_equal(fl_server_start(&options, core.session, &second), FL_ERANGE);

    first = start();
    second = start();
    assert_int_not_equal(fl_server_port(first), fl_server_port(second));
    assert_string_not_equal(fl_server_token(first), fl_server_token(second));
    fl_server_stop(first);
    fl_server_stop(second);
    fl_server_stop(NULL);
}

/* GIVEN 50 servers one after the other, some with clients, THEN no thread, descriptor or memory is left. */
static void test_nothing_is_left_behind(void **state)
{
    (void)state;
    fl_server_stop(start()); /* whatever is made once */
    int threads = thread_count(), descriptors = descriptor_count();
    size_t bytes = allocated_bytes();
    for (int i = 0; i < 50; i++) {
        struct fl_server *server = start();
        assert_int_equal(thread_count(), threads + 1);
        if (i % 5 == 0) {
            struct ws ws;
            ws_join(&ws, fl_server_port(server), fl_server_token(server));
            if (i % 10 == 0)
                json_decref(ws_request(&ws, "flamelet/subscribe", NULL));
            ws_drop(&ws);
        }
        fl_server_stop(server);
    }
    /* A thread that was joined may be listed for a moment longer. */
    for (int i = 0; i < 100 && thread_count() > threads; i++)
        sleep_ms(10);
    assert_int_equal(thread_count(), threads);
    assert_int_equal(descriptor_count(), descriptors);
    if (allocated_bytes() > bytes + 2000000) /* the core goes on and grows a little */
        fail_msg("%zu bytes before, %zu after", bytes, allocated_bytes());
}

static void own_handler(int signal_number)
{
    (void)signal_number;
}

static void test_signals_stay_as_they_were(void **state)
{
    (void)state;
    static void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, own_handler};
    sigset_t mask_before, mask_after;
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {.sa_handler = handlers[i]}, after;
        sigaction(SIGPIPE, &action, NULL);
        pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
        struct fl_server *server = start();
        sigaction(SIGPIPE, NULL, &after);
        assert_ptr_equal(after.sa_handler, handlers[i]);
        pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
        assert_int_equal(sigismember(&mask_before, SIGINT), sigismember(&mask_after, SIGINT));
        assert_int_equal(sigismember(&mask_after, SIGTERM), 0);
        int tid = server_thread();
        /* All but SIGKILL, SIGSTOP and the two that libc keeps for itself. */
        assert_int_equal(hex_of_thread(tid, "SigBlk:") & 0x7fffffff, 0x7ffbfeff);
        fl_server_stop(server);
        sigaction(SIGPIPE, NULL, &after);
        assert_ptr_equal(after.sa_handler, handlers[i]);
    }
    signal(SIGPIPE, SIG_DFL);
}

/* GIVEN SIGPIPE with its default action, WHEN a client goes away in the middle, THEN nobody is killed. */
static void test_a_client_that_goes_away_kills_nobody(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    struct fl_server *server = start();
    for (int i = 0; i < 20; i++) {
        struct ws ws;
        ws_join(&ws, fl_server_port(server), fl_server_token(server));
        json_decref(ws_request(&ws, "flamelet/subscribe", "{\"rate\":20}"));
        const struct linger reset = {.l_onoff = 1};
        setsockopt(ws.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        sleep_ms(i);
        ws_drop(&ws);
    }
    struct ws ws;
    ws_join(&ws, fl_server_port(server), fl_server_token(server));
    ws_drop(&ws);
    fl_server_stop(server);
}

static void test_the_end_is_told_to_everybody(void **state)
{
    (void)state;
    struct fl_server *server = start();
    struct ws told, silent, stranger;
    ws_join(&told, fl_server_port(server), fl_server_token(server));
    ws_join(&silent, fl_server_port(server), fl_server_token(server));
    assert_int_equal(ws_open(&stranger, fl_server_port(server), NULL, NULL), 101);
    json_decref(ws_request(&told, "flamelet/subscribe", "{\"rate\":0.1}"));
    json_decref(ws_receive(&told, 5000));

    fl_session_end(core.session);
    pthread_t stopper;
    assert_int_equal(pthread_create(&stopper, NULL, (void *(*)(void *))(void (*)(void))fl_server_stop, server), 0);
    json_t *message = ws_receive(&told, 5000);
    assert_non_null(message);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json_object_get(message, "body"), "status"), "state")),
        "ended");
    json_decref(message);
    message = ws_receive(&told, 5000);
    assert_string_equal(json_string_value(json_object_get(message, "event")), "terminated");
    json_decref(message);
    assert_int_equal(ws_wait_closed(&told, 5000), 1000);
    message = ws_receive(&silent, 5000);
    assert_string_equal(json_string_value(json_object_get(message, "event")), "terminated");
    json_decref(message);
    assert_int_equal(ws_wait_closed(&silent, 5000), 1000);
    assert_int_equal(ws_wait_closed(&stranger, 5000), 1001);
    pthread_join(stopper, NULL);
    ws_drop(&told);
    ws_drop(&silent);
    ws_drop(&stranger);
}

/* GIVEN clients that never read or never answer, THEN the end waits a second for them and no longer. */
static void test_slow_clients_hold_nobody_up(void **state)
{
    (void)state;
    struct fl_server *server = start();
    struct ws deaf, mute;
    atomic_store(&core.names, 4000);
    ws_join(&deaf, fl_server_port(server), fl_server_token(server));
    json_decref(ws_request(&deaf, "flamelet/subscribe", "{\"rate\":20}"));
    ws_join(&mute, fl_server_port(server), fl_server_token(server));
    mute.silent = true;
    sleep_ms(1500);
    int64_t before = now_ms();
    fl_server_stop(server);
    int64_t took = now_ms() - before;
    assert_in_range(took, 500, 1500); /* 900 ms, and a loaded machine */
    ws_drop(&deaf);
    ws_drop(&mute);
}

static void test_the_end_is_quick_without_clients(void **state)
{
    (void)state;
    struct fl_server *server = start();
    int64_t before = now_ms();
    fl_server_stop(server);
    assert_true(now_ms() - before < 200);
}

/*
 * GIVEN a server with a client, WHEN the process forks, THEN the child has none of its sockets and may start its own,
 * and the parent's goes on.
 */
static void test_a_fork_leaves_the_server_to_the_parent(void **state)
{
    (void)state;
    struct fl_server *server = start();
    struct ws ws;
    ws_join(&ws, fl_server_port(server), fl_server_token(server));
    json_decref(ws_request(&ws, "flamelet/subscribe", "{\"rate\":20}"));
    int descriptors = descriptor_count();
    int reports[2], hold[2];
    assert_int_equal(pipe(reports), 0);
    assert_int_equal(pipe(hold), 0);

    pid_t child = fork();
    if (child == 0) {
        /* No cmocka here: its failures jump. */
        unsigned char report[4] = {0};
        report[0] = (unsigned char)descriptor_count();
        fl_server_stop(server); /* of the parent: nothing happens */
#ifdef THREAD_SANITIZED
        report[1] = 1; /* this sanitizer cannot follow a child that starts threads */
#else
        struct live_core own;
        live_core_begin(&own);
        const struct fl_server_options options = {.port = 0};
        struct fl_server *mine = NULL;
        if (fl_server_start(&options, own.session, &mine) == 0) {
            report[1] = is_open(fl_server_port(mine));
            fl_server_stop(mine);
        }
#endif
        report[2] = 1;
        if (write(reports[1], report, sizeof report) != sizeof report)
            _exit(1);
        /* Stays until the parent has seen that its port is free, or has failed. */
        char byte;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    unsigned char report[4];
    assert_int_equal(read(reports[0], report, sizeof report), (ssize_t)sizeof report);
    close(hold[0]);
    assert_int_equal(report[1], 1);
    assert_int_equal(report[2], 1);
    /* Listener and connection are closed; two more of the library (an eventfd and /dev/urandom) are not ours to know.
     */
    assert_int_equal(report[0], descriptors + 4 - 2);

    for (int i = 0; i < 10; i++) {
        json_t *message = ws_receive(&ws, 5000);
        assert_non_null(message);
        json_decref(message);
    }
    uint16_t port = fl_server_port(server);
    fl_server_stop(server);
    ws_drop(&ws);
    assert_false(is_open(port)); /* the child does not hold it open */
    close(hold[1]);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(reports[0]);
    close(reports[1]);
}

static bool comes_true(atomic_uchar *flag, int64_t ms)
{
    for (int64_t end = now_ms() + ms; atomic_load(flag) == 0 && now_ms() < end;)
        sleep_ms(5);
    return atomic_load(flag) != 0;
}

/* GIVEN a server that is to listen later THEN it has no port until then, and everybody finds it from then on. */
static void test_it_listens_later(void **state)
{
    (void)state;
    char folder[] = P_tmpdir "/flamelet-test-life-XXXXXX";
    char own[64];
    atomic_uchar began = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(own, sizeof own, "%s/%d.json", folder, (int)getpid());
    const struct fl_server_options options = {
        .about = {.version = "9", .program = "p", .python = "3", .pid = getpid()},
        .after_ms = 300,
        .runtime = folder,
        .began = &began,
    };
    int descriptors = descriptor_count();
    int64_t start_ms = now_ms();
    struct fl_server *server = NULL;
    assert_int_equal(fl_server_start(&options, core.session, &server), 0);
    if (now_ms() - start_ms < 200) {
        assert_int_equal(fl_server_port(server), 0);
        assert_int_equal(descriptor_count(), descriptors); /* nothing that a daemon could close */
        assert_int_equal(access(own, F_OK), -1);
    }
    /* A pause meanwhile does not put it off. */
    fl_server_pause(server);
    assert_int_equal(fl_server_resume(server), 0);
    assert_true(comes_true(&began, 5000));
    assert_true(now_ms() - start_ms >= 300);
    assert_int_not_equal(fl_server_port(server), 0);
    assert_int_equal(access(own, F_OK), 0);

    struct ws ws;
    ws_join(&ws, fl_server_port(server), fl_server_token(server));
    json_t *answer = ws_request(&ws, "flamelet/processes", NULL);
    json_t *rows = json_object_get(json_object_get(answer, "body"), "processes");
    assert_int_equal(json_array_size(rows), 1);
    assert_true(json_is_true(json_object_get(json_array_get(rows, 0), "self")));
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/#t=%s", fl_server_port(server), fl_server_token(server));
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "url")), url);
    json_decref(answer);
    ws_drop(&ws);
    fl_server_stop(server);
    assert_int_equal(access(own, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
}

/* GIVEN a server that is to listen much later THEN it can be stopped, and paused and stopped, at once. */
static void test_it_ends_before_it_listens(void **state)
{
    (void)state;
    atomic_uchar began = 0;
    const struct fl_server_options options = {
        .about = {.version = "9", .program = "p", .python = "3", .pid = 1}, .after_ms = 60000, .began = &began};
    int threads = thread_count(), descriptors = descriptor_count();
    int64_t start_ms = now_ms();
    for (int i = 0; i < 20; i++) {
        struct fl_server *server = NULL;
        assert_int_equal(fl_server_start(&options, core.session, &server), 0);
        if (i % 2)
            fl_server_pause(server);
        if (i % 4 == 3)
            assert_int_equal(fl_server_resume(server), 0);
        fl_server_stop(server);
    }
    assert_true(now_ms() - start_ms < 30000);
    assert_int_equal(began, 0);
    assert_int_equal(thread_count(), threads);
    assert_int_equal(descriptor_count(), descriptors);
}

/* GIVEN forks all the time while clients come and go, THEN no child hangs and no connection is hurt. */
static void test_many_forks(void **state)
{
    (void)state;
    struct fl_server *server = start();
    for (int i = 0; i < 40; i++) {
        struct ws ws;
        ws_join(&ws, fl_server_port(server), fl_server_token(server));
        json_decref(ws_request(&ws, "flamelet/subscribe", "{\"rate\":20}"));
        pid_t child = fork();
        if (child == 0)
            _exit(is_open(fl_server_port(server)) ? 7 : 8);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), 7); /* the parent's server, which the child may well visit */
        json_t *message = ws_receive(&ws, 5000);
        assert_non_null(message);
        json_decref(message);
        ws_drop(&ws);
    }
    fl_server_stop(server);
}

/* GIVEN a program started by exec, THEN it inherits nothing. */
static void test_exec_inherits_nothing(void **state)
{
    (void)state;
    struct fl_server *server = start();
    struct ws ws;
    ws_join(&ws, fl_server_port(server), fl_server_token(server));
    for (int fd = 3; fd < 200; fd++) {
        char path[64], target[256];
        int flags = fcntl(fd, F_GETFD);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (flags < 0 || length < 0)
            continue;
        target[length] = '\0';
        if (strstr(target, "socket:") || strstr(target, "eventfd") || strstr(target, "urandom"))
            if (!(flags & FD_CLOEXEC))
                fail_msg("%d (%s) would be inherited", fd, target);
    }
    ws_drop(&ws);
    fl_server_stop(server);
}

/* GIVEN no client, THEN the server costs next to nothing. */
static void test_it_is_idle_without_clients(void **state)
{
    (void)state;
    struct fl_server *server = start();
    sleep_ms(300);
    int tid = server_thread();
    uint64_t before = cpu_of_thread(tid);
    sleep_ms(2000);
    uint64_t used = cpu_of_thread(tid) - before;
    print_message("idle server: %.3f %% of a core\n", (double)used / 2e9 * 100);
#ifndef SANITIZED
    assert_true(used < 2000000000 / 100); /* usually a tenth of that; machines in CI are slow */
#endif
    assert_true(used > 0);
    fl_server_stop(server);
}

/* GIVEN anything that happens here, THEN the library writes nothing to the program's stderr. */
static void test_nothing_is_printed(void **state)
{
    (void)state;
    int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    struct fl_server *server = start(), *second = NULL;
    struct ws ws;
    ws_join(&ws, fl_server_port(server), fl_server_token(server));
    const struct fl_server_options options = {.port = fl_server_port(server)};
    int error = fl_server_start(&options, core.session, &second);
    free(http_exchange(fl_server_port(server), "GET / HTTP/1.1\r\nHost: evil\r\n\r\n"));
    free(http_exchange(fl_server_port(server), "nonsense\r\n\r\n"));
    ws_drop(&ws);
    fl_server_stop(server);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(error, FL_EADDRESS_IN_USE);
    fseek(file, 0, SEEK_END);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_ports_and_tokens),
        TEST(test_nothing_is_left_behind),
        TEST(test_signals_stay_as_they_were),
        TEST(test_a_client_that_goes_away_kills_nobody),
        TEST(test_the_end_is_told_to_everybody),
        TEST(test_slow_clients_hold_nobody_up),
        TEST(test_the_end_is_quick_without_clients),
        TEST(test_a_fork_leaves_the_server_to_the_parent),
        TEST(test_many_forks),
        TEST(test_it_listens_later),
        TEST(test_it_ends_before_it_listens),
        TEST(test_exec_inherits_nothing),
        TEST(test_it_is_idle_without_clients),
        TEST(test_nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
