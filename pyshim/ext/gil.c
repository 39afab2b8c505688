#include "gil.h"
#include "compat.h"

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* 3.12's private header defines it again, as a function */
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

const struct fl_global_lock fl_gil = {.holder = fl_gil_holder, .wait_of = fl_gil_wait_of};

/* Where the main interpreter's lock is. It lies in static memory of the runtime, so it can be read at any time. */
static struct {
    uintptr_t lock;           /* the structure, with its mutex and condition variables */
    uintptr_t locked;         /* int: 1 while it is held */
    uintptr_t holder;         /* PyThreadState *: who holds it, or held it last */
    _Atomic bool holder_sure; /* tried out */
} gil;

static void find_words(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    /* The running interpreter says itself where things are, whichever patch release we were built with. */
    uintptr_t interpreter = (uintptr_t)PyInterpreterState_Main();
    gil.lock = interpreter + _PyRuntime.debug_offsets.interpreter_state.gil_runtime_state;
    gil.locked = interpreter + _PyRuntime.debug_offsets.interpreter_state.gil_runtime_state_locked;
    gil.holder = interpreter + _PyRuntime.debug_offsets.interpreter_state.gil_runtime_state_holder;
#else
#if PY_VERSION_HEX >= 0x030c0000
    struct _gil_runtime_state *lock = PyInterpreterState_Main()->ceval.gil;
#else
    struct _gil_runtime_state *lock = &_PyRuntime.ceval.gil;
#endif
    gil.lock = (uintptr_t)lock;
    gil.locked = (uintptr_t)&lock->locked;
    gil.holder = (uintptr_t)&lock->last_holder;
#endif
}

/* Copies memory of this process that may have been unmapped by now. */
static bool copy(void *to, uintptr_t from, size_t size)
{
    const struct iovec local = {to, size}, remote = {(void *)from, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The holder's thread state is its own: it may be freed as soon as it gave the lock back. So it is copied, and counts
 * only if the lock did not move meanwhile. */
static uint32_t read_holder(void)
{
    uintptr_t state, again;
    int locked;
    unsigned long tid;
    if (!copy(&state, gil.holder, sizeof state) || !copy(&locked, gil.locked, sizeof locked) || locked != 1 || !state)
        return 0;
    if (!copy(&tid, state + offsetof(PyThreadState, native_thread_id), sizeof tid) || tid > UINT32_MAX)
        return 0;
    if (!copy(&again, gil.holder, sizeof again) || again != state)
        return 0;
    return copy(&locked, gil.locked, sizeof locked) && locked == 1 ? (uint32_t)tid : 0;
}

uint32_t fl_gil_holder(void)
{
    return atomic_load_explicit(&gil.holder_sure, memory_order_acquire) ? read_holder() : 0;
}

void fl_gil_init(void)
{
    find_words();
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    bool right = read_holder() == tid; /* we hold it */
    uint32_t other;
    Py_BEGIN_ALLOW_THREADS
    other = read_holder();
    Py_END_ALLOW_THREADS
    // cppcheck-suppress legacyUninitvar ; it does not know Python's macros, behind which it forgets what was set
    right = right && other != tid && read_holder() == tid;
    atomic_store_explicit(&gil.holder_sure, right, memory_order_release);
}

enum fl_lock_wait fl_gil_wait_of(uint32_t tid)
{
#ifdef __GLIBC__
    char path[64], line[256];
    if (!atomic_load_explicit(&gil.holder_sure, memory_order_acquire))
        return FL_LOCK_WAIT_UNKNOWN;
    (void)snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return FL_LOCK_WAIT_UNKNOWN;
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0)
        return FL_LOCK_WAIT_UNKNOWN;
    line[length] = '\0';
    /* "NUMBER ARGUMENT ..." while it is in a system call, else "running", which is said of a thread too that only waits
     * for a processor. Whoever waits for the GIL sleeps in a futex, whose address, the first argument, lies in the
     * lock's mutex or condition variable; now and then it wakes up to insist. */
    char *end;
    long number = strtol(line, &end, 10);
    if (end == line)
        return read_holder() == tid ? FL_LOCK_NOT_AWAITED : FL_LOCK_WAIT_UNKNOWN;
    if (number != SYS_futex)
        return FL_LOCK_NOT_AWAITED;
    uintptr_t address = (uintptr_t)strtoull(end, NULL, 16);
    return address - gil.lock < sizeof(struct _gil_runtime_state) ? FL_LOCK_AWAITED : FL_LOCK_NOT_AWAITED;
#else
    (void)tid;
    return FL_LOCK_WAIT_UNKNOWN; /* another C library may let a condition's waiters sleep elsewhere */
#endif
}
