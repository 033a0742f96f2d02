/* The workloads W1 to W11 and their tasks; README.md describes them. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

struct bench_pace;

struct bench_workload {
    const char *name;
    uint32_t key_count;
    unsigned workers; /* the default */
    unsigned submitters;
    unsigned needs; /* a set of enum bench_feature */
    bool has_body;  /* bodies take one microsecond; otherwise a task only counts */
    bool is_gated;  /* all tasks are pending before the first runs */
    /* Sets key_count, is_shared, and the keys. */
    void (*draw)(struct bench_task *task, uint32_t *keys);
    /* When the tasks arrive; NULL: all at once. */
    const struct bench_pace *pace;
};

/* The tasks of each submitter, and the counts that must be found after the run. */
struct bench_tasks {
    struct bench_task *of[BENCH_SUBMITTERS_MAX];
    size_t count[BENCH_SUBMITTERS_MAX];
    size_t total;
    uint32_t *expected; /* at [submitter * key_count + key]: how many tasks change the key */
};

/* Returns the workload of that name, or NULL. */
const struct bench_workload *bench_workload_find(const char *name);

/* Makes `total` tasks, in equal shares for the submitters. */
void bench_tasks_make(struct bench_tasks *tasks, const struct bench_workload *workload,
                      size_t total);

#endif
