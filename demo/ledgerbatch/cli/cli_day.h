/*
 * The options of the command day, and those about rejected input.
 */
#ifndef LEDGERBATCH_CLI_CLI_DAY_H
#define LEDGERBATCH_CLI_CLI_DAY_H

#include "arguments.h"
#include "run/run_command.h"

/* Reads an option of the command day. Sets *known to whether it is one. */
bool cli_take_day_option(struct arguments *arguments, struct run_options *run, bool is_day,
                         const char *argument, bool *known);

/* Reads an option about input that is not posted. Sets *known to whether it is one. */
bool cli_take_input_option(struct arguments *arguments, struct run_options *run,
                           const char *argument, bool *known);

/* Checks the options that were read. */
bool cli_check_day(const struct run_options *run, bool is_day, struct arguments *arguments);

#endif
