/* page_file.h: a file of the page, in memory. The embedder has them; the server hands them out. */
#ifndef FL_PAGE_FILE_H
#define FL_PAGE_FILE_H

#include <stddef.h>

/* Borrowed for the life of the server. */
struct fl_page_file {
    const char *path; /* as in the URL, "/" for the page itself */
    const char *type; /* Content-Type */
    const unsigned char *data;
    size_t size; /* bytes */
};

#endif
