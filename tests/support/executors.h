/*
 * The executors that sequences are tested on, one table for each test program: a pool, one that
 * runs works inside `execute`, threads of the test; and GLib's and libuv's if available.
 */
#ifndef TESTS_SUPPORT_EXECUTORS_H
#define TESTS_SUPPORT_EXECUTORS_H

#include <stdio.h>

#include "lanepool/lanepool.h"

struct executor_under_test {
    const char *name;
    /* Creates the executor and its threads; fails the test on error. */
    lanepool_executor *(*make)(void);
    void (*end)(lanepool_executor *); /* ends them; no sequence may use the executor any more */
    bool has_many_threads;            /* other works run while a task does not return */
};

/* Its last element has a NULL name. */
extern const struct executor_under_test executors_under_test[];

#define FOR_EACH_EXECUTOR(under)                                         \
    for (const struct executor_under_test *under = executors_under_test; \
         under->name != NULL && printf("    on %s\n", under->name) > 0; under++)

#endif
