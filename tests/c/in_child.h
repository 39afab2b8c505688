/* in_child.h: the clocks are chosen once per process, so each choice is tested in a process of its own. */
#ifndef IN_CHILD_H
#define IN_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A check that holds in a child, where cmocka's cannot be used: the test fails, and says where. */
#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { NOT_HERE = 77 }; /* a child's answer: this machine cannot do that */

/* The answer of `child`, run in a process of its own; -1 where it was killed. */
static inline int in_child(int (*child)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int answer = child();
        fflush(NULL);
        _exit(answer);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

#endif
