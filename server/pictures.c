#include "pictures.h"
#include "message.h"

#include <stdlib.h>

static bool same_cursor(const struct fl_cursor *a, const struct fl_cursor *b)
{
    return a->version == b->version && a->now == b->now && a->state == b->state && a->strings == b->strings &&
           a->functions == b->functions && a->slices == b->slices && a->timeline == b->timeline;
}

static bool same_selection(const struct fl_selection *a, const struct fl_selection *b)
{
    return a->sections == b->sections && a->one_group == b->one_group && a->group == b->group && a->task == b->task;
}

static struct fl_picture *make(const struct fl_shadow *shadow, const struct fl_cursor *from,
                               const struct fl_selection *selection)
{
    struct fl_picture *picture = calloc(1, sizeof *picture);
    if (!picture)
        return NULL;
    picture->references = 1;
    picture->from = *from;
    picture->selection = *selection;
    fl_wire_update(shadow, from, selection, &picture->bytes, &picture->next);
    fl_buffer_text(&picture->bytes, FL_MESSAGE_UPDATE_TAIL);
    if (picture->bytes.failed) {
        fl_picture_release(picture);
        return NULL;
    }
    return picture;
}

struct fl_picture *fl_pictures_get(struct fl_pictures *pictures, const struct fl_shadow *shadow,
                                   const struct fl_cursor *from, const struct fl_selection *selection)
{
    struct fl_picture *picture = NULL;

    for (unsigned i = 0; i < pictures->count && !picture; i++)
        if (same_cursor(&pictures->kept[i]->from, from) && same_selection(&pictures->kept[i]->selection, selection))
            picture = pictures->kept[i];
    if (picture) {
        picture->references++;
        return picture;
    }
    picture = make(shadow, from, selection);
    if (picture && pictures->count < FL_PICTURES_MAX) {
        pictures->kept[pictures->count++] = picture;
        picture->references++;
    }
    return picture;
}

void fl_picture_release(struct fl_picture *picture)
{
    if (!picture || --picture->references > 0)
        return;
    fl_buffer_fini(&picture->bytes);
    free(picture);
}

void fl_pictures_forget(struct fl_pictures *pictures)
{
    for (unsigned i = 0; i < pictures->count; i++)
        fl_picture_release(pictures->kept[i]);
    pictures->count = 0;
}
