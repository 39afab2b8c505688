/* How processes that serve find each other: files that only their living owner keeps. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "discovery.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char parent[] = P_tmpdir "/flamelet-test-discovery-XXXXXX";
static char folder[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(parent + strlen(parent) - 6, "XXXXXX");
    assert_non_null(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/flamelet", parent);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)rmdir(folder); /* fails where something was left behind, and so does the next */
    assert_int_equal(rmdir(parent), 0);
    return 0;
}

static const char *path_of(int64_t pid)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%lld.json", folder, (long long)pid);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct fl_about about(const char *program)
{
    return (struct fl_about){.version = "9", .program = program, .python = "3.12.1", .pid = getpid()};
}

/* What is listed, checked by a parser of its own. The caller frees. */
static json_t *list(const struct fl_discovery *discovery)
{
    struct fl_buffer out = {0};
    fl_discovery_list(discovery, &out);
    assert_false(out.failed);
    json_t *rows = json_loadb((const char *)out.data, out.length, JSON_REJECT_DUPLICATES, NULL);
    fl_buffer_fini(&out);
    assert_true(json_is_array(rows));
    return rows;
}

static const char *text(const json_t *rows, size_t row, const char *name)
{
    const char *value = json_string_value(json_object_get(json_array_get(rows, row), name));
    assert_non_null(value);
    return value;
}

static json_int_t number(const json_t *rows, size_t row, const char *name)
{
    return json_integer_value(json_object_get(json_array_get(rows, row), name));
}

/* Another process that announces itself and lives until `ends` is closed. */
struct other {
    pid_t pid;
    int ends;
};

static struct other start_other(const char *program, uint16_t port)
{
    int ready[2], ends[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct fl_discovery discovery;
        const struct fl_about mine = about(program);
        close(ends[1]);
        fl_discovery_announce(&discovery, folder, &mine, port, TOKEN);
        if (write(ready[1], "r", 1) != 1 || read(ends[0], &byte, 1) < 0)
            _exit(1);
        _exit(0); /* as a process that is killed: nothing is taken away */
    }
    assert_true(pid > 0);
    close(ready[1]);
    close(ends[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return (struct other){.pid = pid, .ends = ends[1]};
}

static void end_other(struct other other)
{
    close(other.ends);
    assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
}

/* GIVEN no folder WHEN a process announces itself THEN folder and file are the user's alone, and the file goes again */
static void test_the_file_is_private_and_goes(void **state)
{
    struct stat status;
    struct fl_discovery discovery;
    const struct fl_about mine = about("shop.py");
    (void)state;
    fl_discovery_announce(&discovery, folder, &mine, 4711, TOKEN);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(path_of(getpid()), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);

    json_t *of = json_load_file(path_of(getpid()), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(of, "pid")), getpid());
    assert_int_equal(json_integer_value(json_object_get(of, "parent")), getppid());
    assert_int_equal(json_integer_value(json_object_get(of, "port")), 4711);
    assert_string_equal(json_string_value(json_object_get(of, "token")), TOKEN);
    assert_string_equal(json_string_value(json_object_get(of, "script")), "shop.py");
    json_decref(of);

    /* The file was opened and closed here just now, which costs the process its lock: make another one. */
    fl_discovery_withdraw(&discovery);
    assert_int_not_equal(access(path_of(getpid()), F_OK), 0);
    fl_discovery_withdraw(&discovery); /* nothing */
}

/* GIVEN two processes WHEN one lists THEN both are there, by start, and exactly one is the one that answers */
static void test_processes_find_each_other(void **state)
{
    struct fl_discovery discovery;
    const struct fl_about mine = about("a \"shop\".py");
    (void)state;
    fl_discovery_announce(&discovery, folder, &mine, 4711, TOKEN);
    struct other other = start_other("worker.py", 4712);

    json_t *rows = list(&discovery);
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(number(rows, 0, "pid"), getpid());
    assert_string_equal(text(rows, 0, "script"), "a \"shop\".py");
    assert_true(json_is_true(json_object_get(json_array_get(rows, 0), "self")));
    assert_int_equal(number(rows, 1, "pid"), other.pid);
    assert_int_equal(number(rows, 1, "parent"), getpid());
    assert_string_equal(text(rows, 1, "script"), "worker.py");
    assert_string_equal(text(rows, 1, "url"), "http://127.0.0.1:4712/#t=" TOKEN);
    assert_true(json_is_false(json_object_get(json_array_get(rows, 1), "self")));
    double started = json_number_value(json_object_get(json_array_get(rows, 0), "started"));
    assert_true(started > 1e9 && started <= json_number_value(json_object_get(json_array_get(rows, 1), "started")));
    json_decref(rows);

    /* AND one that has ended without a word is not, and its file is taken away */
    end_other(other);
    assert_int_equal(access(path_of(other.pid), F_OK), 0);
    rows = list(&discovery);
    assert_int_equal(json_array_size(rows), 1);
    json_decref(rows);
    assert_int_not_equal(access(path_of(other.pid), F_OK), 0);
    fl_discovery_withdraw(&discovery);
}

/* GIVEN a process that runs another program in its place WHEN it is listed THEN it is gone, though its pid lives */
static void test_an_exec_ends_it(void **state)
{
    int ready[2];
    char byte;
    struct fl_discovery discovery;
    const struct fl_about mine = about("shop.py");
    (void)state;
    fl_discovery_announce(&discovery, folder, &mine, 1, TOKEN);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct fl_discovery its;
        const struct fl_about about_it = about("child.py");
        fl_discovery_announce(&its, folder, &about_it, 2, TOKEN);
        dup2(ready[1], 1);
        execlp("sh", "sh", "-c", "echo r; exec sleep 30", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    json_t *rows = list(&discovery);
    assert_int_equal(json_array_size(rows), 1);
    json_decref(rows);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    fl_discovery_withdraw(&discovery);
}

/* GIVEN files that no server wrote WHEN they are listed THEN they are left out, and other names are left alone */
static void test_what_is_not_ours_is_left_out(void **state)
{
    char path[160];
    struct fl_discovery discovery;
    const struct fl_about mine = about("shop.py");
    (void)state;
    fl_discovery_announce(&discovery, folder, &mine, 1, TOKEN);
    struct other other = start_other("worker.py", 4712);
    static const char *const bad[] = {
        "",
        "[]",
        "{\"pid\":1}",
        "{\"pid\":%d,\"parent\":1,\"script\":\"s\",\"python\":\"3\",\"token\":\"" TOKEN "\",\"started\":1,\"port\":0}",
        "{\"pid\":%d,\"parent\":1,\"script\":\"s\",\"python\":\"3\",\"token\":\"x\",\"started\":1,\"port\":5}",
        "{\"pid\":7,\"parent\":1,\"script\":\"s\",\"python\":\"3\",\"token\":\"" TOKEN "\",\"started\":1,\"port\":5}",
        "{\"pid\":%d,\"parent\":1,\"script\":4,\"python\":\"3\",\"token\":\"" TOKEN "\",\"started\":1,\"port\":5}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char content[512];
        FILE *file = fopen(path_of(other.pid), "r+"); /* the same file, which its owner has locked */
        assert_non_null(file);
        assert_int_equal(ftruncate(fileno(file), 0), 0);
        snprintf(content, sizeof content, bad[i], (int)other.pid);
        fputs(content, file);
        fclose(file);
        json_t *rows = list(&discovery);
        assert_int_equal(json_array_size(rows), 1);
        json_decref(rows);
    }
    end_other(other);
    unlink(path_of(other.pid));

    snprintf(path, sizeof path, "%s/notes.txt", folder);
    write_file(path, "mine");
    assert_int_equal(symlink("notes.txt", path_of(99)), 0);
    json_t *rows = list(&discovery);
    assert_int_equal(json_array_size(rows), 1);
    json_decref(rows);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(path_of(99)), 0);
    fl_discovery_withdraw(&discovery);
}

/* GIVEN a folder that others may look into, or that is none WHEN a process announces itself THEN it writes nothing
 * there and lists itself */
static void test_a_folder_of_others_is_not_used(void **state)
{
    const struct fl_about mine = about("shop.py");
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fl_discovery discovery;
        if (i == 0)
            assert_int_equal(mkdir(folder, 0755), 0);
        else if (i == 1)
            write_file(folder, "");
        else if (i == 2)
            assert_int_equal(symlink(parent, folder), 0);
        fl_discovery_announce(&discovery, i < 3 ? folder : NULL, &mine, 1, TOKEN);
        assert_null(discovery.own);
        assert_int_not_equal(access(path_of(getpid()), F_OK), 0);
        json_t *rows = list(&discovery);
        assert_int_equal(json_array_size(rows), 1);
        json_decref(rows);
        fl_discovery_withdraw(&discovery);
        assert_int_equal(i == 0 ? rmdir(folder) : i < 3 ? unlink(folder) : 0, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_file_is_private_and_goes), TEST(test_processes_find_each_other),      TEST(test_an_exec_ends_it),
        TEST(test_what_is_not_ours_is_left_out), TEST(test_a_folder_of_others_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
