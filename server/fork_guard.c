#include "fork_guard.h"
#include "error.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and all files; held across a fork */
static struct fl_fork_guard *guards;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int install_error;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* Async-signal-safe, as everything must be here. */
static void after_fork_in_child(void)
{
    for (struct fl_fork_guard *guard = guards; guard; guard = guard->next) {
        atomic_store(&guard->orphaned, true);
        for (int i = 0; i < FL_GUARDED_MAX; i++) {
            struct stat status;
            int fd = guard->files[i].fd;
            if (fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == guard->files[i].device &&
                status.st_ino == guard->files[i].inode)
                close(fd);
        }
    }
    guards = NULL;
    pthread_mutex_unlock(&lock);
}

static void install(void)
{
    install_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int fl_fork_guard_init(struct fl_fork_guard *guard)
{
    pthread_once(&once, install);
    if (install_error != 0)
        return FL_ENOMEM;
    for (int i = 0; i < FL_GUARDED_MAX; i++)
        guard->files[i].fd = -1;
    atomic_init(&guard->orphaned, false);
    pthread_mutex_lock(&lock);
    guard->next = guards;
    guards = guard;
    pthread_mutex_unlock(&lock);
    return 0;
}

void fl_fork_guard_fini(struct fl_fork_guard *guard)
{
    pthread_mutex_lock(&lock);
    struct fl_fork_guard **at = &guards;
    while (*at && *at != guard)
        at = &(*at)->next;
    if (*at)
        *at = guard->next;
    pthread_mutex_unlock(&lock);
}

bool fl_fork_guard_add(struct fl_fork_guard *guard, int fd)
{
    struct stat status;
    bool added = false;

    if (fstat(fd, &status) != 0)
        return false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < FL_GUARDED_MAX && !added; i++) {
        if (guard->files[i].fd >= 0)
            continue;
        guard->files[i].fd = fd;
        guard->files[i].device = status.st_dev;
        guard->files[i].inode = status.st_ino;
        added = true;
    }
    pthread_mutex_unlock(&lock);
    return added;
}

bool fl_fork_guard_remove(struct fl_fork_guard *guard, int fd)
{
    bool known = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < FL_GUARDED_MAX && !known; i++) {
        known = guard->files[i].fd == fd;
        if (known)
            guard->files[i].fd = -1;
    }
    pthread_mutex_unlock(&lock);
    return known;
}
