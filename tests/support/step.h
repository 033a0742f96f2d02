/*
 * A step: the task of most tests. It writes into a journal that it has started, may stop at a
 * gate, and ends as it is told. The test reads what it left behind after the task has finished.
 */
#ifndef TESTS_SUPPORT_STEP_H
#define TESTS_SUPPORT_STEP_H

#include <stdatomic.h>
#include <stdint.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { JOURNAL_MAX = 1 << 14 };

/* The order in which steps started, and how many ran at once. */
struct journal {
    _Atomic uint32_t count;
    _Atomic uint32_t ids[JOURNAL_MAX];
    _Atomic uint32_t running;
    _Atomic uint32_t most_running;
};

struct step {
    uint32_t id;
    struct journal *journal; /* may be NULL */
    struct gate *gate;       /* may be NULL */
    int code;                /* what the function returns */
    void *value;             /* the result it sets */
    _Atomic uint64_t ticket; /* of the last task that started it: several may share a step */
    _Atomic size_t worker;   /* that ran it */
    _Atomic uint32_t runs;
    _Atomic uint32_t cancels;
    _Atomic uint32_t releases; /* counted by step_release */
};

int step_body(lanepool_run *run, void *context, lanepool_call call);

/* A lanepool_release_fn that counts. */
void step_release(void *context);

/* A task that runs the step, with the claims given, which must outlive the description. */
lanepool_task step_task(struct step *step, const lanepool_claim *claims, size_t claim_count);

/* Submits the step with one exclusive claim on a number; without any claim. */
lanepool_status step_submit_on(lanepool_pool *pool, struct step *step, uint64_t key);
lanepool_status step_submit(lanepool_pool *pool, struct step *step);

/* Submits the step with exclusive claims on two numbers. */
lanepool_status step_submit_rollup(lanepool_pool *pool, struct step *step, uint64_t a, uint64_t b);

/* Whether the step has started or been cancelled by now. */
bool step_was_called(struct step *step);

/* The place of a step in the journal, from 0; JOURNAL_MAX when it did not start. */
uint32_t journal_place(struct journal *journal, uint32_t id);

/* A pool of so many workers with the layout given and defaults otherwise; fails the test if not. */
lanepool_pool *pool_make(unsigned workers, lanepool_layout layout);

/* The same from options. */
lanepool_pool *pool_make_with(const lanepool_options *options);

/* Destroys the pool; fails the test if that is refused. */
void pool_end(lanepool_pool *pool);

/* Waits until the pool is idle; fails the test if that does not work. */
void pool_settle(lanepool_pool *pool);

/* Waits for a task and lets go of its future; fails the test if that does not work. */
void future_finish(lanepool_future *future);

/* A lanepool_write_fn: adds to the text in `context`, which has room for it. */
void text_append(void *context, const char *text, size_t size);

#endif
