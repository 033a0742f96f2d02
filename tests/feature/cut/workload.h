/* Cuts of random workloads: what their visits do, and the oracle's part. */
#ifndef TESTS_FEATURE_CUT_WORKLOAD_H
#define TESTS_FEATURE_CUT_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"
#include "support/random.h"

/* --- the run --- */

/* Returns true if the tasks inside this one are submitted by a visit. */
bool workload_submits_in_visit(const struct workload *workload, uint32_t task);
/* The next two are inline: the simulator's oracle, which no sanitizer watches, calls them, too. */
static inline uint64_t workload_dice_of(const struct workload *workload, uint32_t task,
                                        uint32_t number)
{
    return random_mix(workload->params.seed ^ random_mix((uint64_t)task << 32 | number));
}

/* Returns how long the visits of one lane of a cut take. */
static inline uint32_t workload_visit_takes(const struct workload *workload, uint32_t task,
                                            uint32_t lane)
{
    return (uint32_t)(workload_dice_of(workload, task, 200 + lane) %
                      (1 + (uint64_t)workload->tasks[task].duration));
}

/* Records that the cut's function is called. Returns true if this is its first call. */
bool workload_begin_body_of_cut(struct task_context *self, lanepool_run *call);
/* Records that `cancelled` was called with IN_PARTS. */
void workload_end_cut_in_parts(struct task_context *self);
/* In a visit: checks the claims that it has. In workload_checks.c. */
void workload_check_visit_claims(struct task_context *self, const lanepool_run *call,
                                 uint32_t lane);

/* --- the oracle --- */

/*
 * The same run, in which each cut is split up. For each lane there is a task with that claim alone;
 * its call is from the lane's first visit to the moment when the lane may go on. The cut itself has
 * no claims, its call begins with its function, and it waits for those tasks. They are behind all
 * other tasks, and have the cut's ticket.
 */
struct oracle_split {
    struct oracle_log log;
    struct workload workload;
    bool is_split; /* otherwise there are no cuts, and nothing was copied */
};

/* Splits the cuts up. The log and the workload must not change before oracle_split_fini(). */
void oracle_split_cuts(struct oracle_split *split, const struct oracle_log *log,
                       const struct workload *workload);
void oracle_split_fini(struct oracle_split *split);

/* Returns true if a visit of the task found that the task was asked to end. */
bool judge_was_visit_asked(const struct judge *judge, uint32_t task);

void judge_cuts(struct judge *judge);

#endif
