/*
 * User's steps as rollups, as cuts and in parts.
 */
#ifndef LEDGERBATCH_BATCH_STEP_RUN_H
#define LEDGERBATCH_BATCH_STEP_RUN_H

#include "batch/batch.h"
#include "batch/step_call.h"

/*
 * The contributions to a step that an earlier run has left undone in part. Parts add theirs; each
 * part accesses its own entry only. The part that calls `group` comes after all of them.
 */
struct gathering {
    uint32_t seq;
    struct step_contributions contributions;
    bool *is_visited; /* by member: it has contributed, if only nothing */
};

/* Returns the number of a client among the members of its group. */
uint32_t step_member_number(const struct plan *plan, uint32_t client);

/* Returns entries for all members of a step's group. */
struct step_contributions step_contributions_create(const struct plan *plan,
                                                    const struct task *task);
void step_contributions_fini(struct step_contributions *contributions);

/* Adds a gathering for a step. Called before any task, in the order of seq. */
struct gathering *step_gathering_add(struct batch *batch, const struct task *task);
/* Returns the gathering of a seq, or NULL. */
struct gathering *step_gathering_find(const struct batch *batch, uint32_t seq);

/*
 * Does a step, or a part of one, and sets its outcome. With all clients, it visits each of them,
 * and then calls `group`. A part is a visit, or the call of `group`, which takes the contributions
 * from the step's gathering. Returns 0, or BATCH_FAILED.
 */
int step_run(struct batch *batch, struct task *task);

/* Returns true if all members have contributed. */
bool step_gathering_is_whole(const struct batch *batch, uint32_t seq);
void step_gatherings_free(struct batch *batch);

/* Does the part of a step that calls `group`, with contributions from elsewhere. */
int step_run_group(struct batch *batch, struct task *part,
                   const struct step_contributions *contributions);

#endif
