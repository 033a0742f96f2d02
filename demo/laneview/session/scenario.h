/*
 * Scenarios: text files that say which tasks to submit. docs/laneview.md describes them.
 */
#ifndef LANEVIEW_SCENARIO_H
#define LANEVIEW_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lanepool/pool.h"
#include "lanepool/task.h"
#include "problem.h"

#define SCENARIO_TAGS 256

struct scenario_claim {
    size_t key; /* of scenario->keys */
    lanepool_mode mode;
};

/* How a task fails, and what follows. */
struct scenario_failure {
    unsigned fails;    /* this many attempts fail, the next one succeeds; 0: none fails */
    unsigned retries;  /* this many times it is retried */
    uint64_t delay_ns; /* before each retry */
    bool is_parked;    /* parked after the last retry, not ended */
};

enum scenario_step_kind {
    SCENARIO_SUBMIT,
    SCENARIO_PAUSE, /* of the submitter */
    SCENARIO_RESOLVE
};

struct scenario_step {
    enum scenario_step_kind kind;
    uint64_t duration_ns;            /* how long the task runs, or the pause lasts */
    bool is_cut;                     /* the task is a cut: it visits its clients */
    uint64_t visit_ns;               /* of a cut: how long each visit takes */
    unsigned tag;                    /* 0: the task has no label */
    size_t first_claim, claim_count; /* of scenario->claims */
    struct scenario_failure failure;
    lanepool_at_poison at_poison; /* what the task does if a lane is poisoned */
    size_t key;                   /* resolve: the client of the parked task */
    lanepool_resolution resolution;
};

struct scenario {
    unsigned worker_count;
    lanepool_layout layout;
    char **keys; /* the names of the clients */
    size_t key_count, key_capacity;
    char *tags[SCENARIO_TAGS]; /* labels, from 1 to tag_count */
    unsigned tag_count;
    struct scenario_claim *claims;
    size_t claim_count, claim_capacity;
    struct scenario_step *steps; /* in the order of the file */
    size_t step_count, step_capacity;
};

/*
 * Reads a scenario: a file, or by name one that comes with laneview. Call scenario_fini() in either
 * case.
 */
bool scenario_read(struct scenario *scenario, const char *name, struct problem *problem);
void scenario_fini(struct scenario *scenario);

/* Whether a step submits a task that claims a client. */
bool scenario_claims(const struct scenario *scenario, const struct scenario_step *step, size_t key);

/* Returns true if a task is a cut, may be retried or parked, or does not wait in poisoned lanes.
 * Only pools with lanes per key can run such scenarios. */
bool scenario_needs_lanes_per_key(const struct scenario *scenario);

/* The words of a scenario for each lanepool_at_poison, and for each lanepool_resolution. */
extern const char *const scenario_at_poison[3];
extern const char *const scenario_resolutions[3];

/* Adds the steps of a scenario, one a line. */
void scenario_describe(struct text *text, const struct scenario *scenario);

/* Adds the names of the scenarios that come with laneview, each with its first line. */
bool scenario_list(struct text *text, struct problem *problem);

#endif
