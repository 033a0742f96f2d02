/*
 * The report of a run: the summary, and what an operator must decide.
 */
#ifndef LEDGERBATCH_RUN_RUN_REPORT_H
#define LEDGERBATCH_RUN_RUN_REPORT_H

#include "plan/plan.h"
#include "run/run_command.h"

struct run_report {
    const struct run_options *options;
    const struct plan *plan;
    struct store *store;
    const struct output_report *totals;
    const char *folder; /* of the outputs */
    size_t skipped;     /* how many tasks were done before */
};

/* Returns how many transactions are still deferred, those of earlier batches too. */
size_t run_report_deferred(const struct output_report *totals);

/* Prints the head, so that verify can be told it later. */
bool run_report_head(struct store *store, struct problem *problem);

/* Prints the summary and the totals; of a check, also what would not be posted. */
bool run_report_print(const struct run_report *report, struct problem *problem);

/* Tells how far a failure reaches. The batch is closed: all else is posted, and all is written. */
bool run_report_check_deferred(const struct run_report *report, struct problem *problem);

/*
 * Checks --max-refused. The refused transactions are results, so all is written before: the exit
 * code is for the operator.
 */
bool run_report_check_refusals(const struct run_report *report, struct problem *problem);

#endif
