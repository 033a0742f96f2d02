/*
 * Scenarios: text files that say which tasks a program submits. docs/laneview.md describes them.
 */
#ifndef LANEVIEW_SCENARIO_H
#define LANEVIEW_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lanepool/failure.h"
#include "lanepool/pool.h"
#include "problem.h"

#define SCENARIO_TAGS 256

struct scenario_claim {
    size_t key; /* of scenario->keys */
    bool is_shared;
};

/* What becomes of a task that fails. */
struct scenario_failure {
    unsigned fails;    /* so many attempts, then one is good; 0: none fails */
    unsigned retries;  /* it is tried again so often */
    uint64_t delay_ns; /* before each retry */
    bool is_parked;    /* when these have failed, too */
};

enum scenario_step_kind {
    SCENARIO_SUBMIT,
    SCENARIO_PAUSE, /* of the submitter */
    SCENARIO_RESOLVE
};

struct scenario_step {
    enum scenario_step_kind kind;
    uint64_t duration_ns;            /* for how long the task runs, or the pause lasts */
    unsigned tag;                    /* 0: the task has no label */
    size_t first_claim, claim_count; /* of scenario->claims */
    struct scenario_failure failure;
    lanepool_at_poison at_poison; /* what the task does in a poisoned lane */
    size_t key;                   /* whose kept tasks are resolved */
    lanepool_resolution resolution;
};

struct scenario {
    unsigned worker_count;
    lanepool_layout layout;
    char **keys; /* the names of the clients */
    size_t key_count, key_capacity;
    char *tags[SCENARIO_TAGS]; /* labels; those from 1 to tag_count are there */
    unsigned tag_count;
    struct scenario_claim *claims;
    size_t claim_count, claim_capacity;
    struct scenario_step *steps; /* in the order in which they are done */
    size_t step_count, step_capacity;
};

/*
 * Reads a scenario: a file, or the name of one that comes with laneview. The scenario has to be
 * finished in either case.
 */
bool scenario_read(struct scenario *scenario, const char *name, struct problem *problem);
void scenario_fini(struct scenario *scenario);

/* Whether a step submits a task that claims a client. */
bool scenario_claims(const struct scenario *scenario, const struct scenario_step *step, size_t key);

/* Whether tasks are tried again or kept, or do otherwise than to wait in poisoned lanes: only pools
 * with lanes per key do so. */
bool scenario_needs_lanes_per_key(const struct scenario *scenario);

/* The words of scenarios for what a task does in a poisoned lane, and for resolutions, each by its
 * number. */
extern const char *const scenario_at_poison[3];
extern const char *const scenario_resolutions[3];

/* What it does, a step a line. */
void scenario_describe(struct text *text, const struct scenario *scenario);

/* The names of those that come with laneview, each with its first line. */
bool scenario_list(struct text *text, struct problem *problem);

#endif
