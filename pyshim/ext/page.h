/* page.h: the page's files, built from web/app/dist by cmake/EmbedPage.cmake into page.c. Static storage. */
#ifndef FL_EXT_PAGE_H
#define FL_EXT_PAGE_H

#include <stddef.h>

#include "http.h"

extern const struct fl_page_file fl_page_files[];
extern const size_t fl_page_file_count;

#endif
