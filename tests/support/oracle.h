/*
 * Judges a finished run of a workload by what its tasks recorded.
 *
 * Stamps come from one counter, incremented with relaxed order: they order the events of a run
 * without making the library under test look better synchronised than it is.
 */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/workload.h"

/* What one task recorded; written by its submitter and by its body. */
struct oracle_task {
    uint64_t submit_begin;
    uint64_t submit_end;
    uint64_t body_begin;
    uint64_t body_end;
    uint64_t ticket;
    size_t worker;
    pthread_t thread;
    uint64_t seen; /* folds the histories of the keys that it shares */
    atomic_uint calls;
};

/*
 * What the tasks of one key did to it. The history is plain on purpose: a second task beside an
 * exclusive one is a data race, which ThreadSanitizer reports.
 */
struct oracle_key {
    uint64_t history;         /* a hash chain over the exclusive tasks */
    _Atomic uint64_t readers; /* the shared ones since the last exclusive one, as a set */
};

struct oracle_log {
    struct oracle_task *tasks;
    struct oracle_key *keys;
    _Atomic uint64_t clock;
};

struct oracle_verdict {
    bool passed;
    char why[256];
};

void oracle_log_init(struct oracle_log *log, const struct workload_params *params);
void oracle_log_fini(struct oracle_log *log);

static inline uint64_t oracle_stamp(struct oracle_log *log)
{
    return atomic_fetch_add_explicit(&log->clock, 1, memory_order_relaxed) + 1;
}

/* What the body of task does to the keys it claims. */
void oracle_touch_keys(struct oracle_log *log, const struct workload *workload, uint32_t task);

/* Checks everything; the first violation is described. */
struct oracle_verdict oracle_judge(const struct oracle_log *log, const struct workload *workload);

#endif
