/* Owns the parsing of the command line, and the texts of --help. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "base/units.h"

#define OPTION_OUTPUT  1u
#define OPTION_ASCII   2u
#define OPTION_JSON    4u
#define OPTION_WINDOW  8u
#define OPTION_AT      16u
#define OPTION_SPEED   32u
#define OPTION_WORKERS 64u
#define OPTION_LAYOUT  128u

static const char help[] =
    "laneview: shows what a lanepool did, from a recording of its events\n"
    "\n"
    "laneview timeline FILE     workers and lanes as text, time to the right\n"
    "laneview svg FILE          the same as a picture\n"
    "laneview html FILE         the same as a page to zoom and search in, in one file\n"
    "laneview chrome FILE       for ui.perfetto.dev or chrome://tracing\n"
    "laneview stats FILE        how long tasks waited and ran, what workers did\n"
    "laneview plan FILE         how long the run would take with more or fewer workers\n"
    "laneview dot FILE          who waits for whom at one moment, for Graphviz\n"
    "laneview replay FILE       the run again, frame by frame\n"
    "laneview record NAME -o FILE   runs a scenario on a real pool and records what happens\n"
    "laneview play NAME         runs a scenario on a real pool and shows it as it happens\n"
    "laneview compare NAME      the same scenario with both layouts, in figures\n"
    "laneview scenario [NAME]   what a scenario does; without a NAME, which there are\n"
    "laneview COMMAND --help    the options of a command\n"
    "laneview --help | --version\n"
    "\n"
    "FILE may be -, standard input. Times are written 12.5ms, 3s, 200us, and count from the\n"
    "beginning of the recording.\n"
    "\n"
    "Exit codes: 0 done; 1 reading or writing failed; 2 wrong file or usage.\n";

#define POOL_HELP                                                                  \
    "  --workers N            so many workers, not as many as the scenario says\n" \
    "  --layout worker|key    where lanes live, not as the scenario says\n"

#define KEYS_HELP                                                                                  \
    "Keys: p or space: pause, and go on. s: a step, to the next task that comes in, reaches the\n" \
    "head of a lane, starts or ends. d: a graph of the moment, in the file laneview-N.dot; N is\n" \
    "the first number that is free. q: quit.\n"

static const struct command {
    const char *name;
    enum cli_command command;
    unsigned options;
    const char *help;
} commands[] = {
    { "timeline", CLI_TIMELINE, OPTION_ASCII | OPTION_WINDOW | OPTION_OUTPUT,
      "laneview timeline [OPTION]... FILE   one row for each worker and lane, time to the right;\n"
      "                         as wide as $COLUMNS says, or 100 columns\n"
      "  --from TIME, --to TIME show this part only\n"
      "  --ascii                no other characters than those of ASCII\n"
      "  -o FILE                write there, not to standard output\n" },
    { "svg", CLI_SVG, OPTION_WINDOW | OPTION_OUTPUT,
      "laneview svg [OPTION]... FILE   a picture: workers above, lanes below, one time axis\n"
      "  --from TIME, --to TIME show this part only\n"
      "  -o FILE                write there, not to standard output\n" },
    { "html", CLI_HTML, OPTION_OUTPUT,
      "laneview html [OPTION]... FILE   a page for a browser, in one file that needs no network:\n"
      "                         zoom, search, and for each task what it waited for\n"
      "  -o FILE                write there, not to standard output\n" },
    { "chrome", CLI_CHROME, OPTION_OUTPUT,
      "laneview chrome [OPTION]... FILE   Trace Event Format, which ui.perfetto.dev and\n"
      "                         chrome://tracing read: process 1 workers, process 2 lanes\n"
      "  -o FILE                write there, not to standard output\n" },
    { "stats", CLI_STATS, OPTION_JSON | OPTION_OUTPUT,
      "laneview stats [OPTION]... FILE   how long tasks waited, were latched and ran, for each\n"
      "                         lane and tag; what workers did; what lanes cost\n"
      "  --json                 as JSON, with histograms, in nanoseconds\n"
      "  -o FILE                write there, not to standard output\n" },
    { "plan", CLI_PLAN, OPTION_WORKERS | OPTION_OUTPUT,
      "laneview plan [OPTION]... FILE   how long the tasks of the run would take with 1, 2, 4, 8 "
      "and\n"
      "                         16 workers, and which rollups and lanes cost the most time\n"
      "  --workers N            what would save time with N workers, not with those of the run\n"
      "  -o FILE                write there, not to standard output\n" },
    { "dot", CLI_DOT, OPTION_AT | OPTION_OUTPUT,
      "laneview dot --at TIME [OPTION]... FILE   who waits for whom then; for dot -Tsvg\n"
      "  --at TIME              the moment\n"
      "  -o FILE                write there, not to standard output\n" },
    { "replay", CLI_REPLAY, OPTION_ASCII | OPTION_SPEED,
      "laneview replay [OPTION]... FILE   the run again as the live view shows it; without a\n"
      "                         terminal, one line for each second of it\n"
      "  --speed X              so many times as fast (1); a slow motion is 0.1\n"
      "  --ascii                no other characters than those of ASCII\n" KEYS_HELP
      "While the run is paused no time goes by. It ends by itself where keys cannot be read.\n" },
    { "record", CLI_RECORD, OPTION_OUTPUT | OPTION_WORKERS | OPTION_LAYOUT | OPTION_SPEED,
      "laneview record [OPTION]... NAME|FILE -o FILE   runs a scenario's tasks on a real pool; "
      "they\n"
      "                         sleep for as long as they are to take. SIGINT ends the run: what\n"
      "                         has happened until then is written\n"
      "  -o FILE                the recording; - is standard output\n" POOL_HELP
      "  --speed X              so many times as fast (1)\n" },
    { "play", CLI_PLAY, OPTION_ASCII | OPTION_WORKERS | OPTION_LAYOUT | OPTION_SPEED,
      "laneview play [OPTION]... NAME|FILE   runs a scenario's tasks on a real pool and draws "
      "what\n"
      "                         workers and lanes do, 20 times a second; without a terminal, one\n"
      "                         line a second\n"
      "  --speed X              so many times as fast (1): what takes 10 ms takes 100 ms with "
      "0.1\n" POOL_HELP
      "  --ascii                no other characters than those of ASCII\n" KEYS_HELP
      "Pausing stops the submitter and the picture, not the pool: tasks that were submitted go\n"
      "on, and what they do is kept. s shows it bit by bit, and submits the next task when there\n"
      "is nothing left; p goes on with what is now.\n" },
    { "compare", CLI_COMPARE, OPTION_WORKERS | OPTION_SPEED,
      "laneview compare [OPTION]... NAME|FILE   runs a scenario's tasks with lanes per key, then "
      "with\n"
      "                         lanes per worker, and prints what that took, side by side\n"
      "  --speed X              so many times as fast (1)\n"
      "  --workers N            so many workers, not as many as the scenario says\n" },
    { "scenario", CLI_SCENARIO, 0,
      "laneview scenario [NAME|FILE]   checks a scenario and prints its steps; without one, the\n"
      "                         names of those that come with laneview\n" },
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static bool take_time(struct arguments *arguments, const char *name, uint64_t *time)
{
    const char *value = NULL;
    return arguments_take_value(arguments, name, &value) &&
           (units_parse(value, time) ||
            arguments_fail(arguments, "not a time such as 12.5ms: ", value));
}

static bool take_speed(struct arguments *arguments, unsigned *percent)
{
    const char *value = NULL;
    char *end = NULL;
    if (!arguments_take_value(arguments, "--speed", &value)) {
        return false;
    }
    double speed = value[strspn(value, "0123456789.")] == 0 ? strtod(value, &end) : 0;
    if (!end || *end || !(speed >= 0.01 && speed <= 10000)) {
        return arguments_fail(arguments, "not a speed from 0.01 to 10000: ", value);
    }
    *percent = (unsigned)(speed * 100 + 0.5);
    return true;
}

static bool take_workers(struct arguments *arguments, unsigned *count)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--workers", &value)) {
        return false;
    }
    size_t digits = strspn(value, "0123456789");
    unsigned long number = digits > 0 && digits < 6 ? strtoul(value, NULL, 10) : 0;
    if (value[digits] != 0 || number < 1 || number > LANEPOOL_WORKERS_MAX) {
        return arguments_fail(arguments, "not a number of workers from 1 to 1024: ", value);
    }
    *count = (unsigned)number;
    return true;
}

static bool take_layout(struct arguments *arguments, struct cli *cli)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--layout", &value)) {
        return false;
    }
    cli->has_layout = true;
    cli->layout = strcmp(value, "worker") == 0 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    return strcmp(value, "worker") == 0 || strcmp(value, "key") == 0 ||
           arguments_fail(arguments, "not a layout, worker or key: ", value);
}

/* Reads one option. An option that the command does not have is a usage problem. */
static bool take_option(struct cli *cli, struct arguments *arguments, unsigned options)
{
    const char *argument = arguments->items[arguments->next - 1];
    if (strcmp(argument, "--ascii") == 0 && (options & OPTION_ASCII) != 0) {
        cli->is_ascii = true;
        return true;
    }
    if (strcmp(argument, "--json") == 0 && (options & OPTION_JSON) != 0) {
        cli->is_json = true;
        return true;
    }
    if (arguments_is_option(argument, "-o") && (options & OPTION_OUTPUT) != 0) {
        return arguments_take_value(arguments, "-o", &cli->output);
    }
    if (arguments_is_option(argument, "--from") && (options & OPTION_WINDOW) != 0) {
        return take_time(arguments, "--from", &cli->from);
    }
    if (arguments_is_option(argument, "--to") && (options & OPTION_WINDOW) != 0) {
        return take_time(arguments, "--to", &cli->to);
    }
    if (arguments_is_option(argument, "--at") && (options & OPTION_AT) != 0) {
        return take_time(arguments, "--at", &cli->at);
    }
    if (arguments_is_option(argument, "--speed") && (options & OPTION_SPEED) != 0) {
        return take_speed(arguments, &cli->speed_percent);
    }
    if (arguments_is_option(argument, "--workers") && (options & OPTION_WORKERS) != 0) {
        return take_workers(arguments, &cli->worker_count);
    }
    if (arguments_is_option(argument, "--layout") && (options & OPTION_LAYOUT) != 0) {
        return take_layout(arguments, cli);
    }
    return arguments_fail(arguments, "unknown option ", argument);
}

static bool runs_a_scenario(const struct cli *cli)
{
    return cli->command == CLI_RECORD || cli->command == CLI_PLAY || cli->command == CLI_COMPARE;
}

/* Checks that a command has what it needs, once all of its arguments are read. */
static bool check_arguments(const struct cli *cli, struct arguments *arguments, const char *command)
{
    if (!cli->file && cli->command != CLI_SCENARIO) {
        return arguments_fail(arguments, command,
                              runs_a_scenario(cli) ? " needs the NAME of a scenario"
                                                   : " needs a FILE");
    }
    if (cli->command == CLI_RECORD && !cli->output) {
        return arguments_fail(arguments, "record needs to know where: -o FILE", "");
    }
    if (cli->command == CLI_DOT && cli->at == UINT64_MAX) {
        return arguments_fail(arguments, "dot needs a moment: --at TIME", "");
    }
    return cli->from < cli->to || arguments_fail(arguments, "--from must be before --to", "");
}

static bool read_command(struct cli *cli, struct arguments *arguments,
                         const struct command *command)
{
    bool only_files = false;
    cli->command = command->command;
    while (arguments->next < arguments->count) {
        const char *argument = arguments->items[arguments->next++];
        bool is_file = only_files || argument[0] != '-' || argument[1] == 0;
        if (!only_files && strcmp(argument, "--") == 0) {
            only_files = true;
        } else if (!is_file && !take_option(cli, arguments, command->options)) {
            return false;
        } else if (is_file && cli->file) {
            return arguments_fail(arguments, "only one file at a time, not also ", argument);
        } else if (is_file) {
            cli->file = argument;
        }
    }
    return check_arguments(cli, arguments, command->name);
}

/* Returns true if help is asked for, before or after a command. */
static bool wants_help(int argument_count, char **arguments)
{
    for (int i = 1; i < argument_count && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

bool cli_read(struct cli *cli, int argument_count, char **argument_items, struct problem *problem)
{
    struct arguments arguments = { "laneview", argument_items, argument_count, 2, problem };
    *cli = (struct cli){
        .command = CLI_HELP, .help = help, .to = UINT64_MAX, .at = UINT64_MAX, .speed_percent = 100
    };
    if (argument_count < 2) {
        return arguments_fail(&arguments, "a command is missing", "");
    }
    const struct command *command = find_command(argument_items[1]);
    if (wants_help(argument_count, argument_items)) {
        cli->help = command ? command->help : help;
        return true;
    }
    if (strcmp(argument_items[1], "--version") == 0) {
        cli->command = CLI_VERSION;
        return true;
    }
    return command ? read_command(cli, &arguments, command)
                   : arguments_fail(&arguments, "unknown command ", argument_items[1]);
}
