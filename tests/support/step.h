/*
 * A step: the task of most tests. It records its start in a journal, may stop at a gate, and
 * returns the given code. The test reads its records after the task has finished.
 */
#ifndef TESTS_SUPPORT_STEP_H
#define TESTS_SUPPORT_STEP_H

#include <stdatomic.h>
#include <stdint.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { JOURNAL_MAX = 1 << 14 };

/* The order in which steps started, and how many ran at the same time. */
struct journal {
    _Atomic uint32_t count;
    _Atomic uint32_t ids[JOURNAL_MAX];
    _Atomic uint32_t running;
    _Atomic uint32_t most_running;
};

struct step {
    uint32_t id;
    struct journal *journal; /* or NULL */
    struct gate *gate;       /* or NULL */
    int code;                /* returned by the function */
    void *value;             /* the result that it sets */
    _Atomic uint64_t ticket; /* of the last task that started the step: several may share it */
    _Atomic size_t worker;   /* the worker that ran it */
    _Atomic uint32_t runs;
    _Atomic uint32_t cancels;
    _Atomic lanepool_status why; /* of the last cancel */
    _Atomic uint32_t releases;   /* counted by step_release */
};

int step_body(lanepool_run *run, void *context);

/* A lanepool_cancelled_fn that counts its calls. step_task() sets it. */
void step_cancelled(void *context, lanepool_status why);

/* A lanepool_release_fn that counts its calls. */
void step_release(void *context);

/* Returns a task that runs the step with the claims, which must outlive the description. */
lanepool_task step_task(struct step *step, const lanepool_claim *claims, size_t claim_count);

/* Returns a task that runs the step as a member of the group, with the claim if it is not NULL. */
lanepool_task member_task(lanepool_group *group, struct step *step, const lanepool_claim *claim);

/* Submit the step with one exclusive claim on a number, or without a claim. */
lanepool_status step_submit_on(lanepool_pool *pool, struct step *step, uint64_t key);
lanepool_status step_submit(lanepool_pool *pool, struct step *step);

/* Submits the step with exclusive claims on two numbers. */
lanepool_status step_submit_rollup(lanepool_pool *pool, struct step *step, uint64_t a, uint64_t b);

/* Returns true if the step has started or has been cancelled. */
bool step_was_called(struct step *step);

/* Returns the position of a step in the journal, from 0; JOURNAL_MAX if it did not start. */
uint32_t journal_place(struct journal *journal, uint32_t id);

/* Creates a pool with `workers` workers, the layout, and defaults; fails the test on error. */
lanepool_pool *pool_make(unsigned workers, lanepool_layout layout);

/* Creates a pool with the options; fails the test on error. */
lanepool_pool *pool_make_with(const lanepool_options *options);

/* Destroys the pool; fails the test on error. */
void pool_end(lanepool_pool *pool);

/* Creates a group that keeps completions or not; fails the test on error. */
lanepool_group *group_make(bool keeps);

/* Waits until the pool is idle; fails the test on error. */
void pool_settle(lanepool_pool *pool);

/* Waits until only parked tasks and the tasks behind them are left; fails the test on error. */
void pool_settle_parked(lanepool_pool *pool);

/* Returns the number of parked tasks. */
size_t pool_parked_count(lanepool_pool *pool);

/* Waits for a task and releases its future; fails the test on error. */
void future_finish(lanepool_future *future);

/* A lanepool_write_fn: appends to the text in `context`, which must have room for it. */
void text_append(void *context, const char *text, size_t size);

#endif
