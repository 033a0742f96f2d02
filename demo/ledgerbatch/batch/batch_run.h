/*
 * The work of a task, whatever its kind; needs no pool.
 */
#ifndef LEDGERBATCH_BATCH_BATCH_RUN_H
#define LEDGERBATCH_BATCH_BATCH_RUN_H

#include "batch/batch.h"

/*
 * Runs a task without those of its lanes that are held: `missing`, in the order of plan_lanes().
 * Sets its outcome. Returns 0, BATCH_FAILED or BATCH_HELD. The caller frees what is left in the
 * list.
 */
int batch_run(struct batch *batch, struct task *task, struct lane_list *missing);

#endif
