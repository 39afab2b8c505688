#include "discovery.h"
#include "auth.h"
#include "json_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 16384, NAME_MAX_LENGTH = 32, START_TIME_FIELD = 22 };

/* A process as it is told; texts are borrowed. */
struct process {
    int64_t pid, parent;
    const char *script, *python, *token;
    double started;
    int64_t port;
    json_t *of; /* what the texts belong to; NULL for this process */
};

/* When the system began, in whole seconds since the epoch: the same number for all processes, so that their starts can
 * be compared. 0 where it does not say. */
static uint64_t start_of_system(void)
{
    char *line = NULL;
    size_t room = 0;
    uint64_t seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && getline(&line, &room, file) > 0)
        if (strncmp(line, "btime ", 6) == 0)
            seconds = strtoull(line + 6, NULL, 10);
    free(line);
    if (file)
        (void)fclose(file);
    return seconds;
}

/* Seconds since the epoch at which this process began; 0 where the system does not say. */
static double start_of_process(void)
{
    char text[1024];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    /* The second field is a name in parentheses, of any characters. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < START_TIME_FIELD; field++)
        at = strchr(at + 1, ' ');
    long rate = sysconf(_SC_CLK_TCK);
    uint64_t booted = start_of_system();
    if (!at || rate <= 0 || booted == 0)
        return 0;
    /* In whole milliseconds: what is read back from a file is the same number. */
    uint64_t ms = booted * 1000 + strtoull(at + 1, NULL, 10) * 1000 / (uint64_t)rate;
    return (double)ms / 1000;
}

/* Whether this folder, made where it is missing, is the user's alone. */
static bool is_private(const char *folder)
{
    struct stat status;
    (void)mkdir(folder, 0700);
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 077) == 0;
}

/* Seconds with three places, whatever the program's locale says. */
static void add_seconds(struct fl_buffer *out, const char *name, double seconds)
{
    uint64_t ms = seconds > 0 ? (uint64_t)(seconds * 1000 + 0.5) : 0;
    fl_json_key(out, name);
    fl_json_unsigned(out, ms / 1000);
    const char places[] = {'.', (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), '\0'};
    fl_buffer_text(out, places);
}

static void add_about(struct fl_buffer *out, const struct process *process)
{
    fl_json_unsigned_field(out, "pid", (uint64_t)process->pid);
    fl_json_unsigned_field(out, "parent", (uint64_t)process->parent);
    fl_json_text_field(out, "script", process->script);
    fl_json_text_field(out, "python", process->python);
    add_seconds(out, "started", process->started);
}

static struct process of_this(const struct fl_discovery *discovery)
{
    return (struct process){.pid = discovery->about->pid,
                            .parent = discovery->parent,
                            .script = discovery->about->program,
                            .python = discovery->about->python,
                            .token = discovery->token,
                            .started = discovery->started,
                            .port = discovery->port};
}

static bool write_all(int file, const struct fl_buffer *text)
{
    return !text->failed && text->length <= FILE_MAX && write(file, text->data, text->length) == (ssize_t)text->length;
}

/* The text stands in the file, which is locked, when it gets its name: so nobody takes it for a stale one. */
static int make_file(const struct fl_discovery *discovery, const char *temporary)
{
    struct fl_buffer text = {0};
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const struct process process = of_this(discovery);
    (void)unlink(temporary); /* of a process with our number that was killed here */
    int file = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    fl_buffer_text(&text, "{");
    add_about(&text, &process);
    fl_json_unsigned_field(&text, "port", discovery->port);
    fl_json_text_field(&text, "token", discovery->token);
    fl_json_unsigned_field(&text, "protocol", FL_PROTOCOL_MAX);
    fl_json_text_field(&text, "flamelet", discovery->about->version);
    fl_buffer_text(&text, "}\n");
    bool done = write_all(file, &text) && fcntl(file, F_SETLK, &lock) == 0 && rename(temporary, discovery->own) == 0;
    fl_buffer_fini(&text);
    if (done)
        return file;
    (void)unlink(temporary);
    close(file);
    return -1;
}

void fl_discovery_announce(struct fl_discovery *discovery, const char *folder, const struct fl_about *about,
                           uint16_t port, const char *token)
{
    *discovery = (struct fl_discovery){
        .about = about, .token = token, .port = port, .parent = getppid(), .started = start_of_process(), .file = -1};
    if (!folder || !is_private(folder))
        return;
    size_t room = strlen(folder) + NAME_MAX_LENGTH;
    char *temporary = malloc(room);
    discovery->folder = strdup(folder);
    discovery->own = malloc(room);
    if (temporary && discovery->folder && discovery->own) {
        (void)snprintf(temporary, room, "%s/.%lld.tmp", folder, (long long)about->pid);
        (void)snprintf(discovery->own, room, "%s/%lld.json", folder, (long long)about->pid);
        discovery->file = make_file(discovery, temporary);
    }
    free(temporary);
    if (discovery->file < 0) {
        free(discovery->own);
        discovery->own = NULL; /* the others can still be listed */
    }
}

void fl_discovery_withdraw(struct fl_discovery *discovery)
{
    if (discovery->own) {
        (void)unlink(discovery->own);
        close(discovery->file);
    }
    free(discovery->own);
    free(discovery->folder);
    *discovery = (struct fl_discovery){0};
}

/* The pid in a name "PID.json"; 0 for every other name. */
static int64_t pid_in(const char *name)
{
    char *end;
    if (*name < '1' || *name > '9')
        return 0;
    long long pid = strtoll(name, &end, 10);
    return strcmp(end, ".json") == 0 && pid < INT32_MAX ? pid : 0;
}

static bool is_held(int file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* The name may belong to a new process with this number by now. */
static void remove_stale(int folder, const char *name, const struct stat *found)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == found->st_ino)
        (void)unlinkat(folder, name, 0);
}

/* What the file says; NULL: it is stale, another user's, or no such file. */
static json_t *read_file(int folder, const char *name)
{
    char text[FILE_MAX];
    struct stat status;
    ssize_t length = -1;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
        if (is_held(file))
            length = read(file, text, sizeof text);
        else
            remove_stale(folder, name, &status);
    }
    close(file);
    return length > 0 ? json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

/* False: it is not what we write. */
static bool read_process(json_t *of, int64_t pid, struct process *process)
{
    const json_t *started = json_object_get(of, "started");
    *process = (struct process){.pid = json_integer_value(json_object_get(of, "pid")),
                                .parent = json_integer_value(json_object_get(of, "parent")),
                                .script = json_string_value(json_object_get(of, "script")),
                                .python = json_string_value(json_object_get(of, "python")),
                                .token = json_string_value(json_object_get(of, "token")),
                                .started = json_number_value(started),
                                .port = json_integer_value(json_object_get(of, "port")),
                                .of = of};
    return process->pid == pid && process->parent >= 0 && process->script && process->python && process->token &&
           strlen(process->token) == FL_TOKEN_DIGITS && strspn(process->token, "0123456789abcdef") == FL_TOKEN_DIGITS &&
           json_is_number(started) && process->started >= 0 && process->started < 1e12 && process->port > 0 &&
           process->port <= UINT16_MAX;
}

static int by_start(const void *left, const void *right)
{
    const struct process *a = left, *b = right;
    if (a->started != b->started)
        return a->started < b->started ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Of the others, up to `room`; returns how many. */
static size_t read_others(const struct fl_discovery *discovery, struct process *processes, size_t room)
{
    size_t count = 0;
    DIR *folder = discovery->folder && is_private(discovery->folder) ? opendir(discovery->folder) : NULL;
    if (!folder)
        return 0;
    for (struct dirent *entry = readdir(folder); entry && count < room; entry = readdir(folder)) {
        int64_t pid = pid_in(entry->d_name);
        if (pid == 0 || pid == discovery->about->pid)
            continue;
        json_t *of = read_file(dirfd(folder), entry->d_name);
        if (of && read_process(of, pid, &processes[count]))
            count++;
        else
            json_decref(of);
    }
    closedir(folder);
    return count;
}

static void add_process(struct fl_buffer *out, const struct process *process)
{
    char url[64 + FL_TOKEN_DIGITS];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/#t=%s", (int)process->port, process->token);
    fl_json_comma(out);
    fl_buffer_text(out, "{");
    add_about(out, process);
    fl_json_text_field(out, "url", url);
    fl_json_key(out, "self");
    fl_buffer_text(out, process->of ? "false}" : "true}");
}

void fl_discovery_list(const struct fl_discovery *discovery, struct fl_buffer *out)
{
    struct process *processes = calloc(FL_DISCOVERY_MAX, sizeof *processes);
    if (!processes) {
        out->failed = true;
        return;
    }
    size_t count = discovery->about ? 1 : 0;
    if (count)
        processes[0] = of_this(discovery);
    if (count)
        count += read_others(discovery, processes + 1, FL_DISCOVERY_MAX - 1);
    qsort(processes, count, sizeof *processes, by_start);
    fl_buffer_text(out, "[");
    for (size_t i = 0; i < count; i++) {
        add_process(out, &processes[i]);
        json_decref(processes[i].of);
    }
    fl_buffer_text(out, "]");
    free(processes);
}
