/*
 * A report on a plan: how long it takes with some numbers of workers, and what would save time.
 */
#ifndef DEMO_PLAN_REPORT_H
#define DEMO_PLAN_REPORT_H

#include "lanepool/plan.h"
#include "problem.h"

#define PLAN_REPORT_NAME_SIZE 128
#define PLAN_REPORT_TAGS      256
#define PLAN_REPORT_WORKERS   16 /* the most numbers of workers */

/* The names of a plan's parts. Each writes a name with a final zero. */
struct plan_names {
    const void *context;
    void (*task)(const void *context, size_t task, char name[PLAN_REPORT_NAME_SIZE]);
    void (*key)(const void *context, size_t task, size_t claim, char name[PLAN_REPORT_NAME_SIZE]);
    const char *(*tag)(const void *context, unsigned tag); /* or NULL */
};

/* Receives a piece of the report. */
typedef void (*plan_write_fn)(void *context, const char *text);

/*
 * Writes the report. Shows `worker_counts`, of which there are `count`, at most
 * PLAN_REPORT_WORKERS. Changes are tried with `workers`.
 */
bool plan_report(const lanepool_plan *plan, const unsigned *worker_counts, size_t count,
                 unsigned workers, const struct plan_names *names, plan_write_fn write,
                 void *context, struct problem *problem);

/* Writes a time as people do: 12.50 ms. */
void plan_format_ns(char text[32], uint64_t ns);

#endif
