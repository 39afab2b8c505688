#include "recorder.h"
#include "background.h"
#include "clock.h"
#include "error.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { STACK_SIZE = 512 * 1024, PERIOD_MS = 1000, GZIP = 15 + 16, LEVEL = 1, PACK = 64 * 1024 };
#define LIMIT ((size_t)256 << 20)

struct fl_recorder {
    struct fl_session *session;
    struct fl_about about;
    char *path, *temporary; /* owned */
    uint64_t period_ns;
    size_t limit;

    atomic_uchar *began;
    bool last; /* one more update before the end: written before the thread is asked to end */
    struct fl_background thread;

    /* The thread's. */
    struct fl_shadow *shadow;
    struct fl_cursor cursor; /* version 0: the file has nothing yet */
    struct fl_buffer lines;
    uint32_t seq;
    size_t written;
    uint64_t due; /* monotonic ns: of the next update; kept over a pause */
    int fd;       /* -1: none */
    int error;    /* errno; nothing is written any more */
};

static bool write_all(struct fl_recorder *recorder, const unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(recorder->fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            recorder->error = done < 0 ? errno : EIO;
            return false;
        }
        data += done;
        size -= (size_t)done;
        recorder->written += (size_t)done;
    }
    return true;
}

/* The lines as one gzip member. */
static bool append_member(struct fl_recorder *recorder)
{
    unsigned char packed[PACK];
    z_stream stream = {0};
    int state = Z_OK;
    if (recorder->lines.failed || deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        recorder->error = ENOMEM;
        return false;
    }
    const unsigned char *next = recorder->lines.data;
    size_t left = recorder->lines.length;
    while (state != Z_STREAM_END && recorder->error == 0) {
        if (stream.avail_in == 0 && left > 0) {
            stream.next_in = (unsigned char *)(uintptr_t)next;
            stream.avail_in = left > (1u << 30) ? 1u << 30 : (unsigned)left;
            next += stream.avail_in;
            left -= stream.avail_in;
        }
        stream.next_out = packed;
        stream.avail_out = sizeof packed;
        state = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
        (void)write_all(recorder, packed, sizeof packed - stream.avail_out);
    }
    deflateEnd(&stream);
    return recorder->error == 0;
}

static void write_lines(struct fl_recorder *recorder)
{
    const struct fl_selection everything = {.sections = FL_SECTION_ALL};
    struct fl_buffer *lines = &recorder->lines;
    fl_buffer_clear(lines);
    if (recorder->cursor.version == 0) {
        recorder->seq = 1;
        fl_message_about(lines, recorder->seq++, 1, recorder->session, &recorder->about);
        fl_buffer_add(lines, "\n", 1);
        fl_message_event(lines, recorder->seq++, "initialized");
        fl_buffer_add(lines, "\n", 1);
    }
    fl_message_update_head(lines, recorder->seq++, 0);
    fl_wire_update(recorder->shadow, &recorder->cursor, &everything, lines, &recorder->cursor);
    fl_buffer_text(lines, FL_MESSAGE_UPDATE_TAIL "\n");
}

/* A new file beside the old one; false: `error` is set. */
static bool open_new(struct fl_recorder *recorder)
{
    if (recorder->fd >= 0)
        close(recorder->fd);
    recorder->cursor = (struct fl_cursor){0};
    recorder->written = 0;
    recorder->fd = open(recorder->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0666);
    if (recorder->fd < 0)
        recorder->error = errno;
    return recorder->fd >= 0;
}

static void update(struct fl_recorder *recorder)
{
    bool is_first = recorder->fd < 0 || recorder->written > recorder->limit;
    if (recorder->error != 0 || fl_shadow_refresh(recorder->shadow) != 0)
        return; /* memory was at its end: the next one tries again */
    if (!is_first && !fl_wire_is_news(recorder->shadow, &recorder->cursor))
        return;
    if (is_first && !open_new(recorder))
        return;
    write_lines(recorder);
    bool done = append_member(recorder);
    if (is_first && (!done || rename(recorder->temporary, recorder->path) != 0)) {
        if (done)
            recorder->error = errno;
        (void)unlink(recorder->temporary);
    }
    if (is_first && recorder->error == 0 && recorder->began)
        atomic_store(recorder->began, 1);
}

static void *record(void *argument)
{
    struct fl_recorder *recorder = argument;
    pthread_setname_np(pthread_self(), "flamelet-rec");
    /* The first one too comes after a while: a program of less than a second is written once, at its end. */
    while (fl_background_wait_until(&recorder->thread, recorder->due)) {
        uint64_t begin = fl__monotonic_ns();
        update(recorder);
        uint64_t now = fl__monotonic_ns();
        /* At most a tenth of a processor, however large the picture is. */
        recorder->due = now + ((now - begin) * 10 > recorder->period_ns ? (now - begin) * 10 : recorder->period_ns);
    }
    if (recorder->last)
        update(recorder);
    return NULL;
}

static int start_thread(struct fl_recorder *recorder)
{
    return fl_background_start(&recorder->thread, STACK_SIZE, record, recorder);
}

static void end_thread(struct fl_recorder *recorder, bool last)
{
    recorder->last = last; /* the mutex of the next call publishes it */
    fl_background_ask_to_end(&recorder->thread);
    fl_background_join(&recorder->thread);
}

static void destroy(struct fl_recorder *recorder)
{
    if (recorder->fd >= 0)
        close(recorder->fd);
    fl_buffer_fini(&recorder->lines);
    fl_shadow_destroy(recorder->shadow);
    fl_background_fini(&recorder->thread);
    free(recorder->path);
    free(recorder->temporary);
    free(recorder);
}

int fl_recorder_start(const struct fl_recorder_options *options, struct fl_session *session,
                      struct fl_recorder **recorder)
{
    struct fl_recorder *made = calloc(1, sizeof *made);
    *recorder = NULL;
    if (!made)
        return FL_ENOMEM;
    if (fl_background_init(&made->thread) != 0) {
        free(made);
        return FL_ENOMEM;
    }
    made->session = session;
    made->about = options->about;
    made->period_ns = (uint64_t)(options->period_ms ? options->period_ms : PERIOD_MS) * 1000000u;
    made->due = fl__monotonic_ns() + made->period_ns;
    made->limit = options->limit ? options->limit : LIMIT;
    made->began = options->began;
    made->fd = -1;
    made->path = strdup(options->path);
    made->temporary = strdup(options->temporary);
    int error = made->path && made->temporary ? fl_shadow_create(session, &made->shadow) : FL_ENOMEM;
    if (error == 0)
        error = start_thread(made);
    if (error != 0) {
        destroy(made);
        return error;
    }
    *recorder = made;
    return 0;
}

int fl_recorder_stop(struct fl_recorder *recorder, bool last)
{
    end_thread(recorder, last);
    int error = recorder->error;
    destroy(recorder);
    return error;
}

void fl_recorder_pause(struct fl_recorder *recorder)
{
    end_thread(recorder, false);
}

void fl_recorder_resume(struct fl_recorder *recorder)
{
    if (!recorder->thread.runs)
        (void)start_thread(recorder);
}
