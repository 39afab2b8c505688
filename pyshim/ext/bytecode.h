/* bytecode.h: what a code object calls at an instruction, as its source has it. GIL. */
#ifndef FL_EXT_BYTECODE_H
#define FL_EXT_BYTECODE_H

#include "compat.h"

/*
 * The name of what is called at this instruction (byte offset, as PyFrame_GetLasti() gives it): a new str, or NULL
 * where it cannot be told (no exception is kept). "queue.get" for `self.queue.get(1)`, "sleep" for `sleep(1)`, "with
 * lock" for `with lock:`, "for queue" for an iteration over `queue`; likewise for what is awaited where a coroutine
 * yields.
 */
PyObject *fl_bytecode_call_name(PyCodeObject *code, int instruction);

#endif
