/*
 * The values of options. Each function reads the value of the option that was read last, and
 * returns false after a problem.
 */
#ifndef LEDGERBATCH_CLI_CLI_VALUE_H
#define LEDGERBATCH_CLI_CLI_VALUE_H

#include "arguments.h"
#include "plan/rules.h"

bool cli_take_number(struct arguments *arguments, const char *name, unsigned long minimum,
                     unsigned long maximum, unsigned long *number);
bool cli_take_pattern(struct arguments *arguments, const char *name, struct patterns *patterns);

/* Reads a date. `wrong` says what the option takes. */
bool cli_take_day(struct arguments *arguments, const char *option, const char *wrong,
                  uint32_t *day);

#endif
