/*
 * The tasks of a batch that several processes run, and what the serial order makes of them. A task
 * follows from its number alone, so that processes and judge agree. The results depend on the
 * order.
 */
#ifndef TESTS_REMOTE_PG_WORK_H
#define TESTS_REMOTE_PG_WORK_H

#include "lanepool/remote.h"

enum { WORK_LANES = 24, WORK_CLAIMS_MOST = 6, WORK_TASKS = 4000 };

enum work_kind { WORK_POST, WORK_ROLLUP, WORK_CUT, WORK_KIND_COUNT };

/* The state of a lane. */
struct work_state {
    int64_t balance;
    uint64_t hash; /* of all that has happened to the lane, in order */
};

struct work_task {
    enum work_kind kind;
    size_t claim_count;
    uint64_t lanes[WORK_CLAIMS_MOST];
    int64_t amount;
};

/* An effect of the serial run. */
struct work_effect {
    uint64_t seq;
    uint32_t part;
    struct work_state state;
};

/* The result of the serial run. */
struct work_result {
    struct work_state states[WORK_LANES];
    struct work_effect *effects; /* by seq and part */
    size_t effect_count;
    uint64_t *refused; /* the tasks whose outcome is 1, in order */
    size_t refused_count;
};

void work_draw(struct work_task *task, uint64_t seq);

/* The kinds of a node. Each function takes about a millisecond, in which it sleeps. */
extern const lanepool_remote_kind work_kinds[WORK_KIND_COUNT];

void work_run_serially(struct work_result *result);
void work_free(struct work_result *result);

#endif
