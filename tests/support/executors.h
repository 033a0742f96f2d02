/*
 * The executors that sequences are tested on, one table for each test program: a pool, one that
 * runs inside of `execute`, threads of the test's own; and, where they are there, GLib's and
 * libuv's.
 */
#ifndef TESTS_SUPPORT_EXECUTORS_H
#define TESTS_SUPPORT_EXECUTORS_H

#include <stdio.h>

#include "lanepool/lanepool.h"

struct executor_under_test {
    const char *name;
    lanepool_executor *(*make)(void); /* with what is behind it; fails the test if it cannot */
    void (*end)(lanepool_executor *); /* both; no sequence uses it any more */
    bool has_many_threads;            /* a task that does not return leaves others to run */
};

/* Ends with a name that is NULL. */
extern const struct executor_under_test executors_under_test[];

#define FOR_EACH_EXECUTOR(under)                                         \
    for (const struct executor_under_test *under = executors_under_test; \
         under->name != NULL && printf("    on %s\n", under->name) > 0; under++)

#endif
