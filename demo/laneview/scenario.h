/*
 * Scenarios: text files that say which tasks a program submits. docs/laneview.md describes them.
 */
#ifndef LANEVIEW_SCENARIO_H
#define LANEVIEW_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/pool.h"
#include "problem.h"
#include "text.h"

#define SCENARIO_TAGS 256

struct scenario_claim {
    size_t key; /* of scenario->keys */
    bool is_shared;
};

/* A submit, or with is_pause a pause of the submitter. */
struct scenario_step {
    bool is_pause;
    uint64_t duration_ns;            /* for how long the task runs, or the pause lasts */
    unsigned tag;                    /* 0: the task has no label */
    size_t first_claim, claim_count; /* of scenario->claims */
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

/* What it does, a step a line. */
void scenario_describe(struct text *text, const struct scenario *scenario);

/* The names of those that come with laneview, each with its first line. */
bool scenario_list(struct text *text, struct problem *problem);

#endif
