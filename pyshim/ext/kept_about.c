#include "kept_about.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fl_kept_about_set(struct fl_kept_about *kept, const char *program, const char *python, const char *version)
{
    fl_kept_about_drop(kept);
    kept->texts[0] = strdup(program);
    kept->texts[1] = strdup(python);
    kept->texts[2] = strdup(version);
    if (!kept->texts[0] || !kept->texts[1] || !kept->texts[2]) {
        fl_kept_about_drop(kept);
        return false;
    }
    kept->about = (struct fl_about){
        .program = kept->texts[0], .python = kept->texts[1], .version = kept->texts[2], .pid = getpid()};
    return true;
}

void fl_kept_about_drop(struct fl_kept_about *kept)
{
    for (size_t i = 0; i < sizeof kept->texts / sizeof *kept->texts; i++)
        free(kept->texts[i]);
    *kept = (struct fl_kept_about){0};
}

bool fl_kept_about_is_of_this_process(const struct fl_kept_about *kept)
{
    return kept->about.pid == getpid();
}
