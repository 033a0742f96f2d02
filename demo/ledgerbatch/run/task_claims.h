/*
 * The claims of the tasks of a batch, and which of the tasks are cuts.
 */
#ifndef LEDGERBATCH_RUN_TASK_CLAIMS_H
#define LEDGERBATCH_RUN_TASK_CLAIMS_H

#include "batch/quarantine.h"
#include "lanepool/key.h"
#include "plan/plan.h"

/* The claims of some tasks, one task after the other. The caller frees the items. */
struct task_claims {
    lanepool_claim *items;
    size_t count, capacity;
};

/*
 * Returns true if the clients of a task do not wait for one another. A rollup that is held if one
 * of its clients is, or fails then, must have all of them before it begins. A late one has no task
 * behind it.
 */
bool task_is_cut(const struct plan *plan, enum on_quarantine on_quarantine,
                 const struct task *task);

/*
 * Adds the claims of a task with these lanes. The keys are the numbers of the lanes. Above them is
 * a key for each group, which a rollup that is no cut claims EXCLUSIVE: two statements of a group
 * have SHARED claims on their clients, and would otherwise enter the journal in any order. A part
 * of a rollup claims only the lane of its client, EXCLUSIVE. A part of a user's step claims the key
 * of the step, too.
 */
void task_claims_add(struct task_claims *claims, const struct plan *plan, const struct task *task,
                     const struct lane_list *lanes, bool is_cut);

#endif
