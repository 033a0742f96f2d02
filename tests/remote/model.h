/*
 * A random batch, and what a serial run of it leaves. The functions of its tasks check that they
 * get the states of the serial run, whenever and wherever they are called.
 */
#ifndef TESTS_REMOTE_MODEL_H
#define TESTS_REMOTE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/remote.h"

enum { MODEL_LANES_MAX = 8, MODEL_TASKS_MAX = 30, MODEL_CLAIMS_MAX = 5, MODEL_KINDS = 3 };

enum model_kind { MODEL_POST, MODEL_ROLLUP, MODEL_CUT };

/* A task, and what the serial run does in it. */
struct model_task {
    enum model_kind kind;
    size_t claim_count;
    lanepool_remote_claim claims[MODEL_CLAIMS_MAX];
    unsigned lanes[MODEL_CLAIMS_MAX]; /* indexes of the claims' lanes */
    int64_t payload;
    bool fails;
    size_t effect_count;
    uint64_t effects[MODEL_CLAIMS_MAX];
    uint64_t before[MODEL_CLAIMS_MAX]; /* states of the claimed lanes */
    uint64_t after[MODEL_CLAIMS_MAX];
};

struct model {
    size_t lane_count;
    uint64_t lanes[MODEL_LANES_MAX]; /* numbers of the lanes */
    uint64_t groups[MODEL_LANES_MAX];
    uint64_t last[MODEL_LANES_MAX]; /* states at the end */
    size_t task_count;
    struct model_task tasks[MODEL_TASKS_MAX]; /* the task with the number n is tasks[n - 1] */
};

void model_draw(struct model *model, uint64_t *random);
/* The kinds, for the options of a node; `user` is the model. */
const lanepool_remote_kind *model_kinds(void);
/* Fills descriptions of the tasks. */
void model_describe(const struct model *model, lanepool_remote_task *tasks);
/* Returns the state of a lane behind a task; 0 is before all tasks. */
uint64_t model_state(const struct model *model, uint64_t lane, uint64_t seq);
/* Returns the number of the last task of the lane that is not behind `seq`; 0: none. */
uint64_t model_last_task(const struct model *model, uint64_t lane, uint64_t seq);
uint64_t model_number(lanepool_remote_bytes bytes);

/* Called for a wrong state; must not return. */
extern void (*model_fail)(const char *why, uint64_t seq, uint64_t lane);

#endif
