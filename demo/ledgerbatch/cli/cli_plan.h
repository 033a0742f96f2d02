/*
 * The options of the command plan.
 */
#ifndef LEDGERBATCH_CLI_CLI_PLAN_H
#define LEDGERBATCH_CLI_CLI_PLAN_H

#include "arguments.h"
#include "run/forecast.h"

/* Reads an option that only the command plan has. Sets *known to whether it is one. */
bool cli_take_plan_option(struct arguments *arguments, struct forecast_options *options,
                          const char *argument, bool *known);

#endif
