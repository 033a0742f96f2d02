/*
 * The interface of an engine to the benchmark. An engine is a program of its own that defines
 * `bench_engine` and is linked with the rest. For C11 and C++17.
 *
 * Hooks are called in this order: option (for each option of the command line that only the engine
 * knows), start, submit or submit_batch, wait, stop.
 */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of keys of one task, of submitting threads, and of tasks in one batch. */
#define BENCH_KEYS_MAX       256
#define BENCH_SUBMITTERS_MAX 16
#define BENCH_BATCH_MAX      1024

/* The features of an engine. A workload that needs more features is not measured with it. */
enum bench_feature {
    BENCH_SEVERAL_KEYS = 1,       /* tasks with more than one key */
    BENCH_SHARED = 2,             /* tasks that share a key run at the same time */
    BENCH_GATES = 4,              /* a task may block its worker while the others continue */
    BENCH_SEVERAL_SUBMITTERS = 8, /* several threads may submit at the same time */
    BENCH_UNORDERED = 16          /* knows no keys: promises no order, and none is checked */
};

/* One task. It exists until the end of the run. */
struct bench_task {
    uint32_t key_count; /* 0: a gate, which nevertheless has a key of its own */
    uint32_t key;       /* the key; if there are several, the index of the first in bench_keys */
    uint32_t sequence;  /* how many tasks of this submitter with this key precede it */
    uint16_t submitter;
    uint16_t is_shared;
};

/* The keys of tasks that have several: ascending, different within a task. */
extern const uint32_t *bench_keys;

/* Returns how many lanes the task needs. */
static inline uint32_t bench_task_lanes(const struct bench_task *task)
{
    return task->key_count > 1 ? task->key_count : 1;
}

/* Returns the key of lane number `index` of the task. */
static inline uint32_t bench_task_key(const struct bench_task *task, uint32_t index)
{
    return task->key_count > 1 ? bench_keys[task->key + index] : task->key;
}

/* Runs the task: its body and the checks. An engine calls this once for each submitted task. */
void bench_task_run(const struct bench_task *task);

struct bench_setup {
    unsigned workers;
    unsigned submitters;
    uint32_t key_count; /* all keys are smaller */
};

struct bench_hooks {
    const char *name;
    unsigned features; /* a set of enum bench_feature */

    /* Takes an option `--name value`. Returns false if there is no such option or value. May be
     * NULL. */
    bool (*option)(const char *name, const char *value);

    void (*start)(const struct bench_setup *setup);

    /* Submits one task. NULL for an engine that only has run_all. */
    void (*submit)(const struct bench_task *task);

    /* Submits several tasks of one submitter, in their order. May be NULL. */
    void (*submit_batch)(const struct bench_task *tasks, size_t count);

    /* Returns when all submitted tasks have run. May be NULL: then a thread polls. The benchmark
     * checks that they have in any case. */
    void (*wait)(void);

    /* Ends the engine's threads. */
    void (*stop)(void);

    /* Runs all tasks, instead of submit and wait. May be NULL. */
    void (*run_all)(const struct bench_task *tasks, size_t count);

    /* Calls `measured`, which submits and waits, in the context that the engine needs, e.g. inside
     * a parallel region. May be NULL. Needs one submitter. */
    void (*enter)(void (*measured)(void));
};

extern const struct bench_hooks bench_engine;

/* Ends the program with a message about `what` if `happened` is false. */
void bench_require(bool happened, const char *what);

#ifdef __cplusplus
}
#endif

#endif
