/*
 * recorder.h: a recording that grows while the program runs, so that a killed program loses about a second of it.
 *
 * A thread of its own, which never takes the GIL, writes what one client would have received (recording.h), each update
 * as a gzip member: whatever was written is a recording. It begins in a file beside the one that was asked for and
 * takes its name once the first picture is in it. A file that has grown too large is written anew as one picture.
 *
 * Where writing fails the recording ends there, and the error is kept: the program never notices.
 */
#ifndef FL_RECORDER_H
#define FL_RECORDER_H

#include <stdatomic.h>

#include "wire.h"

struct fl_recorder;

struct fl_recorder_options {
    const char *path;      /* of the recording, absolute; copied */
    const char *temporary; /* in the same folder; copied. Must not exist */
    struct fl_about about; /* texts are borrowed for the recorder's life */
    unsigned period_ms;    /* between updates, 0: 1000 */
    size_t limit;          /* bytes of the file, then it is written anew; 0: 256 MiB */
    atomic_uchar *began;   /* set to 1 once the file stands under its name; borrowed, NULL: nobody asks */
};

/* Returns 0, FL_ENOMEM or FL_ESYSTEM. The session must live longer. Any thread. */
int fl_recorder_start(const struct fl_recorder_options *options, struct fl_session *session,
                      struct fl_recorder **recorder);

/* Ends the thread, with a last update when `last`, and frees everything; the file stays. Returns the errno for which
 * writing ended, or 0. Not in the child of a fork. Any thread. */
int fl_recorder_stop(struct fl_recorder *recorder, bool last);

/* Around a fork of the program: CPython warns of those in a process of several threads. Without resume nothing more is
 * written; resume where there can be no thread leaves it at that. Any thread. */
void fl_recorder_pause(struct fl_recorder *recorder);
void fl_recorder_resume(struct fl_recorder *recorder);

#endif
