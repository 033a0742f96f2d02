/*
 * Reads what a command is given. If it has several faults, all of them are printed.
 */
#ifndef LEDGERBATCH_RUN_INPUT_H
#define LEDGERBATCH_RUN_INPUT_H

#include "plan/plan.h"
#include "run/run_command.h"

/* Begins a plan with the rules of the options, which it owns from here on, and those of their file.
 * plan_fini() must be called in either case. */
bool input_begin(struct plan *plan, struct run_options *options, struct problem *problem);

/* Makes the plan of the files, and checks that the options fit it. */
bool input_make_plan(struct plan *plan, const struct run_options *options, struct problem *problem);

#endif
