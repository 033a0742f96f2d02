/*
 * A workload: everything that a run of many tasks is asked to do, fixed in plain data by a seed.
 *
 * The same workload can be run under several rules and layouts; the oracle (oracle.h) judges what
 * happened by the workload alone.
 */
#ifndef TESTS_SUPPORT_WORKLOAD_H
#define TESTS_SUPPORT_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lanepool/lanepool.h"

/* What decides which tasks conflict. */
enum workload_rule {
    RULE_CLAIMS,              /* the default rule */
    RULE_CLAIMS_AS_PREDICATE, /* the same claims, compared by an is_compatible */
    RULE_RELATION,            /* random, neither symmetric nor transitive */
    RULE_KINDS,               /* random between kinds; some tasks have none */
};

/* How tasks are submitted. */
enum workload_form { FORM_ONE_BY_ONE, FORM_BATCH, FORM_OR_RUN, FORM_COUNT };

struct workload_params {
    uint64_t seed;
    uint32_t task_count;
    uint32_t workers;
    uint32_t submitters;
    uint32_t key_count;
    uint32_t kind_count;
    uint32_t pending_max; /* 0: the default */
    lanepool_layout layout;
    lanepool_routing routing;
    enum workload_rule rule;
    enum workload_form form;
    bool nested;     /* some tasks are submitted from inside an earlier one */
    bool held_lanes; /* claims of odd keys go by handle */
};

struct workload_claim {
    uint32_t key;
    lanepool_mode mode;
};

#define WORKLOAD_NO_PARENT UINT32_MAX

struct workload_task {
    struct workload_claim *claims; /* as submitted, duplicates included */
    struct workload_claim *merged; /* by ascending key, the strongest mode of each */
    uint32_t claim_count;
    uint32_t merged_count;
    uint32_t submitter; /* that of a nested task is its parent's */
    uint32_t parent;    /* an earlier task, or WORKLOAD_NO_PARENT */
    uint32_t kind;      /* 0: none */
    uint32_t spin;      /* how long the body keeps its worker */
};

struct workload {
    struct workload_params params;
    struct workload_task *tasks;
    struct workload_claim *claim_store; /* all the tasks' claims */
};

/* Draws parameters from the whole space that the library allows a test machine. */
struct workload_params workload_params_draw(uint64_t seed, uint32_t task_count);

/* Makes the tasks; ends the program when memory is lacking. Give it back with workload_fini. */
void workload_init(struct workload *workload, const struct workload_params *params);
void workload_fini(struct workload *workload);

/* What an is_compatible would answer for tasks a and b, in this order, by the workload's rule. */
bool workload_allows(const struct workload *workload, uint32_t a, uint32_t b);

/* Whether two tasks conflict. */
static inline bool workload_conflict(const struct workload *workload, uint32_t a, uint32_t b)
{
    return !(workload_allows(workload, a, b) && workload_allows(workload, b, a));
}

/* Whether conflicts come from claims. */
static inline bool workload_has_claims(const struct workload *workload)
{
    return workload->params.rule == RULE_CLAIMS ||
           workload->params.rule == RULE_CLAIMS_AS_PREDICATE;
}

void workload_params_print(const struct workload_params *params, FILE *out);

#endif
