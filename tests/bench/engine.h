/* What an engine is to the benchmark: a program of its own that defines `bench_engine` and is
 * linked with the rest. C11 and C++17.
 *
 * Hooks are called in this order: option (for each option of the command line that only the engine
 * knows), start, submit or submit_batch, wait, stop. */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most keys of one task, submitting threads, and tasks of one batch. */
#define BENCH_KEYS_MAX       256
#define BENCH_SUBMITTERS_MAX 16
#define BENCH_BATCH_MAX      1024

/* What an engine can do. A workload that needs more is not measured with it. */
enum bench_feature {
    BENCH_SEVERAL_KEYS = 1,       /* tasks with more than one key */
    BENCH_SHARED = 2,             /* tasks that share a key run at once */
    BENCH_GATES = 4,              /* a task may block its worker, and the others go on */
    BENCH_SEVERAL_SUBMITTERS = 8, /* submit from several threads at once */
    BENCH_UNORDERED = 16          /* knows no keys: order is not promised, and not checked */
};

/* One task. It lives until the run is over. */
struct bench_task {
    uint32_t key_count; /* 0: a gate, which has a key of its own all the same */
    uint32_t key;       /* the key; of several, where the first is in bench_keys */
    uint32_t sequence;  /* how many tasks of this submitter with this key came before */
    uint16_t submitter;
    uint16_t is_shared;
};

/* The keys of tasks that have several: ascending and different for each task. */
extern const uint32_t *bench_keys;

/* How many lanes the task needs. */
static inline uint32_t bench_task_lanes(const struct bench_task *task)
{
    return task->key_count > 1 ? task->key_count : 1;
}

/* The key of its lane `index`. */
static inline uint32_t bench_task_key(const struct bench_task *task, uint32_t index)
{
    return task->key_count > 1 ? bench_keys[task->key + index] : task->key;
}

/* Runs the task: its body and the checks. For engines to call, once for each submitted task. */
void bench_task_run(const struct bench_task *task);

struct bench_setup {
    unsigned workers;
    unsigned submitters;
    uint32_t key_count; /* every key is smaller */
};

struct bench_hooks {
    const char *name;
    unsigned features; /* of enum bench_feature */

    /* Takes an option `--name value`; false: there is no such option or value. May be NULL. */
    bool (*option)(const char *name, const char *value);

    void (*start)(const struct bench_setup *setup);

    /* Submits one task. NULL for an engine that only has run_all. */
    void (*submit)(const struct bench_task *task);

    /* Submits several tasks of one submitter, in their order. May be NULL. */
    void (*submit_batch)(const struct bench_task *tasks, size_t count);

    /* Returns when all submitted tasks are done, if the engine has something for it. May be NULL:
     * then a thread looks from time to time. The benchmark makes sure of it in any case. */
    void (*wait)(void);

    /* Ends the engine's threads. */
    void (*stop)(void);

    /* Runs all tasks, in place of submit and wait. May be NULL. */
    void (*run_all)(const struct bench_task *tasks, size_t count);

    /* Calls `measured`, which submits and waits, from where the engine wants it to be called (such
     * as inside a parallel region). May be NULL. Needs one submitter. */
    void (*enter)(void (*measured)(void));
};

extern const struct bench_hooks bench_engine;

/* Ends the program when `happened` is false, saying what did not. */
void bench_require(bool happened, const char *what);

#ifdef __cplusplus
}
#endif

#endif
