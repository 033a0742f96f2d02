/*
 * The month-end rollups. Each function sets the outcome of one rollup, without the missing clients,
 * and takes over the list of them. The list is in the order of the group's members.
 */
#ifndef LEDGERBATCH_BATCH_MONTH_END_H
#define LEDGERBATCH_BATCH_MONTH_END_H

#include "batch/batch.h"

/* Each returns 0, or BATCH_FAILED; after a failure the list still belongs to the caller. */
int month_end_statement(struct batch *batch, struct task *task, struct lane_list *missing);
int month_end_accrual(struct batch *batch, struct task *task, struct lane_list *missing);
int month_end_close(struct batch *batch, struct task *task, struct lane_list *missing);
int month_end_fees(struct batch *batch, struct task *task, struct lane_list *missing);

/* Records that a rollup has failed because clients are missing. */
void month_end_fail(struct task *task, struct lane_list *missing);

#endif
