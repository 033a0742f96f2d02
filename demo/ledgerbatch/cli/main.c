/* ledgerbatch: runs the command that the command line gives. */
#include <stdio.h>

#include "cli/cli.h"
#include "inspect/inspect.h"
#include "lanepool/lanepool.h"
#include "memory.h"
#include "remote/status.h"

static bool run_chosen_command(struct cli *cli, struct problem *problem)
{
    switch (cli->command) {
    case CLI_RUN:
        return run_command(&cli->run, problem);
    case CLI_PLAN:
        return forecast_command(&cli->run, &cli->forecast, problem);
    case CLI_BALANCES:
        return inspect_balances(cli->database, problem);
    case CLI_STATUS:
        return cli->store ? remote_status(cli->store, cli->task, problem)
                          : inspect_status(cli->database, problem);
    case CLI_REGISTER:
        return inspect_register(cli->database, cli->name, problem);
    case CLI_STATEMENT:
        return inspect_statement(cli->database, cli->name, cli->from_day, cli->day, problem);
    case CLI_TRIAL_BALANCE:
        return inspect_trial_balance(cli->database, cli->day, problem);
    case CLI_VERIFY:
        return inspect_verify(cli->database, cli->head, cli->outputs, problem);
    case CLI_GENERATE:
        return generate_smallbank(&cli->generate, problem);
    case CLI_HELP:
        fputs(cli_help, stdout);
        return true;
    case CLI_VERSION:
        printf("ledgerbatch %s\n", lanepool_version());
        return true;
    }
    return false;
}

int main(int argument_count, char **arguments)
{
    struct cli cli;
    struct problem problem;
    int code = EXIT_CODE_DONE;
    memory_set_message("ledgerbatch: out of memory; run the same command again to resume");
    if (!cli_read(&cli, argument_count, arguments, &problem) ||
        !run_chosen_command(&cli, &problem)) {
        fprintf(stderr, "%s%s\n", problem.has_place ? "" : "ledgerbatch: ", problem.text);
        code = (int)problem.code;
    } else if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("ledgerbatch: standard output cannot be written\n", stderr);
        code = EXIT_CODE_IO;
    }
    cli_fini(&cli);
    return code;
}
