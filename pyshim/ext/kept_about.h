/* kept_about.h: what is told of this process to clients, with the texts, for a thread that borrows them. GIL. */
#ifndef FL_EXT_KEPT_ABOUT_H
#define FL_EXT_KEPT_ABOUT_H

#include "compat.h"
#include "wire.h"

/* All zeros is one that has nothing. */
struct fl_kept_about {
    struct fl_about about;
    char *texts[3]; /* owned; what `about` points to */
};

/* Copies the texts, with the pid of the calling process. False: no memory, and nothing is kept. */
bool fl_kept_about_set(struct fl_kept_about *kept, const char *program, const char *python, const char *version);

void fl_kept_about_drop(struct fl_kept_about *kept);

/* False in the child of the process that set it. */
bool fl_kept_about_is_of_this_process(const struct fl_kept_about *kept);

#endif
