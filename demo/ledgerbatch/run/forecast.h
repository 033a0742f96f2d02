/*
 * The command plan: how long a batch would take with some numbers of workers, and what would save
 * time. Reads the input, and no database.
 */
#ifndef LEDGERBATCH_RUN_FORECAST_H
#define LEDGERBATCH_RUN_FORECAST_H

#include "plan_report.h"
#include "run/run_command.h"

struct forecast_options {
    unsigned worker_counts[PLAN_REPORT_WORKERS];
    size_t count;      /* of worker_counts; 0: 1, 2, 4, 8 and 16 */
    const char *trace; /* a recording with the durations, or NULL for assumed ones */
};

/* Prints the plan. Returns false after a problem. */
bool forecast_command(struct run_options *run, const struct forecast_options *options,
                      struct problem *problem);

#endif
