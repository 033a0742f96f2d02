/* Runs the command that the command line names. */
#include <signal.h>
#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/pool_commands.h"
#include "cli/recording_commands.h"
#include "lanepool/lanepool.h"
#include "memory.h"
#include "session/scenario.h"
#include "show/signals.h"

static bool add_scenario_steps(struct text *text, const char *name, struct problem *problem)
{
    struct scenario scenario;
    bool done = scenario_read(&scenario, name, problem);
    if (done) {
        scenario_describe(text, &scenario);
    }
    scenario_fini(&scenario);
    return done;
}

/* Runs a command that needs no recording and prints a text. */
static bool run_text_command(const struct cli *cli, struct problem *problem)
{
    struct text text = { 0 };
    bool done = true;
    if (cli->command == CLI_HELP) {
        text_add(&text, "%s", cli->help);
    } else if (cli->command == CLI_VERSION) {
        text_add(&text, "laneview %s\n", lanepool_version());
    } else if (cli->file) {
        done = add_scenario_steps(&text, cli->file, problem);
    } else {
        done = scenario_list(&text, problem);
    }
    done = done && file_write(NULL, text.data, text.size, problem);
    text_fini(&text);
    return done;
}

static bool run_command(const struct cli *cli, struct problem *problem)
{
    switch (cli->command) {
    case CLI_HELP:
    case CLI_VERSION:
    case CLI_SCENARIO:
        return run_text_command(cli, problem);
    case CLI_RECORD:
    case CLI_PLAY:
    case CLI_COMPARE:
        return pool_commands_run(cli, problem);
    default:
        return recording_commands_run(cli, problem);
    }
}

int main(int argument_count, char **arguments)
{
    struct cli cli;
    struct problem problem;
    signal(SIGPIPE, SIG_IGN);
    memory_set_message("laneview: out of memory");
    if (!cli_read(&cli, argument_count, arguments, &problem) || !run_command(&cli, &problem)) {
        fprintf(stderr, "%s%s\n", problem.has_place ? "" : "laneview: ", problem.text);
        return (int)problem.code;
    }
    if (signals_end() != 0) {
        signals_die(signals_end());
    }
    return EXIT_CODE_DONE;
}
