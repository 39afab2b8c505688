#include "process.h"

#include <dirent.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef SANITIZED
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

size_t allocated_bytes(void)
{
#ifdef SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

static int entries_of(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int thread_count(void)
{
    return entries_of("/proc/self/task");
}

int descriptor_count(void)
{
    return entries_of("/proc/self/fd") - 1; /* that of the folder itself */
}

/* The text of a small file of /proc, "" where it is gone. */
static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (!file)
        return;
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

int thread_named(const char *name)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char path[300], text[64];
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        read_file(path, text, sizeof text);
        if (strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == '\n')
            found = atoi(entry->d_name);
    }
    closedir(folder);
    return found;
}

uint64_t cpu_of_thread(int tid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    read_file(path, text, sizeof text);
    return strtoull(text, NULL, 10);
}

uint64_t hex_of_thread(int tid, const char *field)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    read_file(path, text, sizeof text);
    const char *line = strstr(text, field);
    return line ? strtoull(line + strlen(field) + 1, NULL, 16) : 0;
}
