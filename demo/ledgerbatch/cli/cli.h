/*
 * The command line.
 */
#ifndef LEDGERBATCH_CLI_CLI_H
#define LEDGERBATCH_CLI_CLI_H

#include "generate/smallbank.h"
#include "run/forecast.h"
#include "run/run_command.h"

enum cli_command {
    CLI_RUN,
    CLI_PLAN,
    CLI_BALANCES,
    CLI_STATUS,
    CLI_REGISTER,
    CLI_STATEMENT,
    CLI_TRIAL_BALANCE,
    CLI_VERIFY,
    CLI_GENERATE,
    CLI_HELP,
    CLI_VERSION
};

struct cli {
    enum cli_command command;
    struct run_options run;
    struct forecast_options forecast; /* of plan, with `run` */
    struct generate_options generate;
    const char *database; /* of the commands that only read one */
    const char *store;    /* of status: the URI of a batch of many machines; or NULL */
    unsigned long task;   /* of status with a store: the task to explain; or 0 */
    const char *name;     /* of the account of register, or of the client of statement */
    const char *head;     /* of verify, or NULL */
    const char *outputs;  /* of verify: their folder, or NULL */
    uint32_t from_day;    /* of statement; 0 without --from */
    uint32_t day;         /* of statement and trial-balance: the last one; UINT32_MAX without it */
};

/*
 * Reads the command line. Returns false after a problem. The texts in *cli point into the
 * arguments.
 */
bool cli_read(struct cli *cli, int argument_count, char **arguments, struct problem *problem);
void cli_fini(struct cli *cli);

extern const char cli_help[];

#endif
