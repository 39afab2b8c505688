/*
 * fork_guard.h: a child of fork() inherits our sockets, but not the thread that serves them.
 *
 * If it kept the listener open, connections would still be accepted by the kernel on behalf of a server that is not
 * there, and the port would stay taken after the parent's end. So each server tells here which sockets and files it
 * has, and a child closes them right after the fork. Nothing else is done there: the memory of the server is in an
 * unknown state, since its thread may have been anywhere.
 *
 * A file is known by its number, device and inode: a number that was closed and given to another file meanwhile is
 * left alone.
 */
#ifndef FL_FORK_GUARD_H
#define FL_FORK_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define FL_GUARDED_MAX 64

struct fl_fork_guard {
    struct {
        int fd; /* -1: this place is free */
        dev_t device;
        ino_t inode;
    } files[FL_GUARDED_MAX];
    atomic_bool orphaned; /* set in a child: the server is not there any more */
    struct fl_fork_guard *next;
};

/* Makes a guard, in memory of the caller, that holds until fl_fork_guard_fini(). Returns 0 or FL_ENOMEM. Any thread. */
int fl_fork_guard_init(struct fl_fork_guard *guard);

/* Not in a child, whose lists are not its own any more. Any thread. */
void fl_fork_guard_fini(struct fl_fork_guard *guard);

/* A socket or file of the server. False: there are FL_GUARDED_MAX. Any thread. */
bool fl_fork_guard_add(struct fl_fork_guard *guard, int fd);

/* This one is about to be closed, or has just been. False: it was not known. Any thread. */
bool fl_fork_guard_remove(struct fl_fork_guard *guard, int fd);

#endif
