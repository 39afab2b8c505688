/*
 * filters.h: which Python code is shown, by module or file. Code that is not has no function id: its time stays with
 * the nearest caller that is shown, its events cost next to nothing. Decided once for each code object. GIL for
 * everything.
 */
#ifndef FL_EXT_FILTERS_H
#define FL_EXT_FILTERS_H

#include "compat.h"

/*
 * From here on these patterns hold. `include`, `exclude`: sequences of str. A pattern with a slash, an ending .py or a
 * leading "<" is a glob for the file, "*" standing for slashes too; a relative one may begin at any folder. Every other
 * pattern is a glob for the module, as it is imported; it stands for what lies below it, too. Empty `include`: all is.
 * `stdlib`: a sequence of folders whose files, but for those in site-packages, are hidden unless they are included; so
 * is frozen code. Empty: none.
 *
 * Code objects are looked at again as they are met. 0, or -1 with an exception set: then nothing has changed.
 */
int fl_filters_set(PyObject *include, PyObject *exclude, PyObject *stdlib);

/* Is this code hidden? A hub's own function never is: without it nothing would tell its waiting from work. */
bool fl_filters_hide(const PyCodeObject *code);

#endif
