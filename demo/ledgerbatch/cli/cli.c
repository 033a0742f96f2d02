/* Owns the reading of the command line. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "base/sha256.h"
#include "cli/cli_day.h"
#include "cli/cli_plan.h"
#include "cli/cli_value.h"
#include "memory.h"

#define COMMIT_SIZE 8192
#define WORKERS_MAX 1024

static bool take_monthly(struct arguments *arguments, struct rules *rules)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--monthly", &value)) {
        return false;
    }
    if (rules->steps.count > 0) {
        return arguments_fail(arguments, "--monthly is given twice", "");
    }
    const char *wrong = month_end_steps_read_list(&rules->steps, value);
    return !wrong || arguments_fail(arguments, wrong, "");
}

static bool take_rules(struct arguments *arguments, struct rules *rules)
{
    return (!rules->file || arguments_fail(arguments, "--rules is given twice", "")) &&
           arguments_take_value(arguments, "--rules", &rules->file);
}

static bool take_client_by(struct arguments *arguments, struct rules *rules)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--client-by", &value)) {
        return false;
    }
    rules->given |= RULES_CLIENT_BY;
    return rules_read_client_by(rules, value) ||
           arguments_fail(arguments, "--client-by takes depth, file, payee or tag:NAME, not ",
                          value);
}

/* Reads an option about rules. Sets *known to whether the argument is one. */
static bool take_rule(struct arguments *arguments, struct rules *rules, const char *argument,
                      bool *known)
{
    unsigned long number;
    *known = true;
    if (strcmp(argument, "--csv") == 0) {
        rules->csv = true;
        return true;
    }
    if (strcmp(argument, "--end-month") == 0) {
        rules->ends_month = true;
        return true;
    }
    if (arguments_is_option(argument, "--client-depth")) {
        bool read = cli_take_number(arguments, "--client-depth", 1, 1000, &number);
        rules->client_depth = (unsigned)number;
        rules->given |= RULES_CLIENT_DEPTH;
        return read;
    }
    if (arguments_is_option(argument, "--client-by")) {
        return take_client_by(arguments, rules);
    }
    if (arguments_is_option(argument, "--commutative")) {
        rules->given |= RULES_COMMUTATIVE;
        return cli_take_pattern(arguments, "--commutative", &rules->commutative);
    }
    if (arguments_is_option(argument, "--no-overdraft")) {
        rules->given |= RULES_NO_OVERDRAFT;
        return cli_take_pattern(arguments, "--no-overdraft", &rules->no_overdraft);
    }
    if (arguments_is_option(argument, "--monthly")) {
        rules->given |= RULES_MONTH_END;
        return take_monthly(arguments, rules);
    }
    if (arguments_is_option(argument, "--until")) {
        return cli_take_day(arguments, "--until", "--until takes a day such as 2024-03-05, not ",
                            &rules->until);
    }
    if (arguments_is_option(argument, "--rules")) {
        return take_rules(arguments, rules);
    }
    if (arguments_is_option(argument, "--accrual-accounts")) {
        rules->given |= RULES_MONTH_END;
        return arguments_take_value(arguments, "--accrual-accounts", &rules->accrual_accounts);
    }
    *known = false;
    return true;
}

/* Reads an option about watching. Sets *known to whether the argument is one. */
static bool take_watch(struct arguments *arguments, struct watch_options *watch,
                       const char *argument, bool *known)
{
    *known = true;
    if (arguments_is_option(argument, "--trace")) {
        return arguments_take_value(arguments, "--trace", &watch->trace);
    }
    if (strcmp(argument, "--live") == 0) {
        watch->is_live = true;
        return true;
    }
    if (strcmp(argument, "--ascii") == 0) {
        watch->is_ascii = true;
        return true;
    }
    *known = false;
    return true;
}

static bool take_on_quarantine(struct arguments *arguments, enum on_quarantine *on_quarantine)
{
    static const char *const words[] = { [ON_QUARANTINE_EXCLUDE] = "exclude",
                                         [ON_QUARANTINE_HOLD] = "hold",
                                         [ON_QUARANTINE_FAIL] = "fail" };
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--on-quarantine", &value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i]) == 0) {
            *on_quarantine = (enum on_quarantine)i;
            return true;
        }
    }
    return arguments_fail(arguments, "--on-quarantine takes exclude, hold or fail, not ", value);
}

static bool take_statements(struct arguments *arguments, enum statement_files *files)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--statements", &value)) {
        return false;
    }
    *files = strcmp(value, "client") == 0 ? STATEMENT_FILES_CLIENT : STATEMENT_FILES_GROUP;
    return *files == STATEMENT_FILES_CLIENT || strcmp(value, "group") == 0 ||
           arguments_fail(arguments, "--statements takes group or client, not ", value);
}

static bool take_on_failure(struct arguments *arguments, bool *defers)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--on-failure", &value)) {
        return false;
    }
    *defers = strcmp(value, "defer") == 0;
    return *defers || strcmp(value, "hold") == 0 ||
           arguments_fail(arguments, "--on-failure takes hold or defer, not ", value);
}

static bool take_max_refused(struct arguments *arguments, struct refusal_limit *limit)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, "--max-refused", &value)) {
        return false;
    }
    return refusal_limit_read(limit, value) ||
           arguments_fail(arguments,
                          "--max-refused takes a number or per cent, as in 10 or 2.5%, not ",
                          value);
}

static bool take_store(struct arguments *arguments, const char **store)
{
    static const char *const schemes[] = { "postgresql://", "postgres://" };
    if (!arguments_take_value(arguments, "--store", store)) {
        return false;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncmp(*store, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return arguments_fail(arguments, "--store takes an URI such as postgresql://server/books", "");
}

static bool take_run_option(struct arguments *arguments, struct run_options *run,
                            const char *argument)
{
    unsigned long number;
    bool known;
    bool read_rule = take_rule(arguments, &run->rules, argument, &known);
    if (known) {
        return read_rule;
    }
    bool read_watch = take_watch(arguments, &run->watch, argument, &known);
    if (known) {
        return read_watch;
    }
    bool read_input = cli_take_input_option(arguments, run, argument, &known);
    if (known) {
        return read_input;
    }
    if (arguments_is_option(argument, "--db")) {
        return arguments_take_value(arguments, "--db", &run->database);
    }
    if (arguments_is_option(argument, "--store")) {
        return take_store(arguments, &run->store);
    }
    if (strcmp(argument, "--join") == 0) {
        run->joins = true;
        return true;
    }
    if (arguments_is_option(argument, "--out")) {
        return arguments_take_value(arguments, "--out", &run->folder);
    }
    if (arguments_is_option(argument, "--statements")) {
        return take_statements(arguments, &run->statement_files);
    }
    if (arguments_is_option(argument, "--workers")) {
        bool read = cli_take_number(arguments, "--workers", 1, WORKERS_MAX, &number);
        run->workers = (unsigned)number;
        return read;
    }
    if (arguments_is_option(argument, "--task-wait-us")) {
        bool read = cli_take_number(arguments, "--task-wait-us", 0, 1000000, &number);
        run->task_wait_us = (unsigned)number;
        return read;
    }
    if (arguments_is_option(argument, "--on-quarantine")) {
        run->has_on_quarantine = true;
        return take_on_quarantine(arguments, &run->on_quarantine);
    }
    if (arguments_is_option(argument, "--on-failure")) {
        return take_on_failure(arguments, &run->defers);
    }
    if (arguments_is_option(argument, "--max-refused")) {
        return take_max_refused(arguments, &run->max_refused);
    }
    if (arguments_is_option(argument, "--fail-on")) {
        return cli_take_pattern(arguments, "--fail-on", &run->fail_on);
    }
    if (arguments_is_option(argument, "--commit-size")) {
        bool read = cli_take_number(arguments, "--commit-size", 1, 1 << 24, &number);
        run->commit_size = number;
        return read;
    }
    return arguments_fail(arguments, "unknown option ", argument);
}

/* Reads an option about what a retry resumes, and when. Sets *known to whether it is one. */
static bool take_choice(struct arguments *arguments, struct run_options *run, const char **clients,
                        const char *argument, bool *known)
{
    struct held_choice *choice = &run->resumed;
    *known = true;
    if (choice->is_retry && arguments_is_option(argument, "--day")) {
        return cli_take_day(arguments, "--day", "--day takes a day such as 2024-03-05, not ",
                            &run->retry_day);
    }
    if (choice->is_retry && strcmp(argument, "--all") == 0) {
        choice->all = true;
        return true;
    }
    if (choice->is_retry && arguments_is_option(argument, "--lane")) {
        return arguments_take_value(arguments, "--lane", &clients[choice->client_count++]);
    }
    *known = false;
    return true;
}

enum run_kind { KIND_RUN, KIND_DAY, KIND_RETRY, KIND_CHECK, KIND_PLAN };

/* Checks the options of a batch that processes of many machines run. */
static bool check_store(const struct run_options *run, enum run_kind kind,
                        struct arguments *arguments)
{
    if (run->joins && !run->store) {
        return arguments_fail(arguments, "--join is about --store, which is not given", "");
    }
    return !run->store || kind == KIND_RUN ||
           arguments_fail(arguments, "--store is for the command run only", "");
}

static bool check_run(const struct run_options *run, enum run_kind kind,
                      struct arguments *arguments)
{
    const struct held_choice *resumed = &run->resumed;
    if (run->database[0] == 0 || (run->folder && run->folder[0] == 0)) {
        return arguments_fail(arguments, "--db and --out need a name", "");
    }
    if (run->watch.is_ascii && !run->watch.is_live) {
        return arguments_fail(arguments, "--ascii is about --live, which is not given", "");
    }
    if (run->rules.accrual_accounts && !rules_accrue(&run->rules)) {
        return arguments_fail(
            arguments, "--accrual-accounts is about accrual, which --monthly does not name", "");
    }
    if (run->defers && run->has_on_quarantine) {
        return arguments_fail(
            arguments,
            "--on-quarantine is not for --on-failure defer: month-end rollups then "
            "run for all clients",
            "");
    }
    if (resumed->is_retry && resumed->all == (resumed->client_count > 0)) {
        return arguments_fail(arguments, "retry needs either --all, or --lane with a client", "");
    }
    if (!check_store(run, kind, arguments) || !cli_check_day(run, kind == KIND_DAY, arguments)) {
        return false;
    }
    return run->file_count > 0 || run->day != 0 || run->requests.posts_deferred ||
           arguments_fail(arguments, "a FILE is missing, or - for standard input", "");
}

static bool take_option(struct cli *cli, struct arguments *arguments, enum run_kind kind,
                        const char **clients, const char *argument)
{
    bool known = false;
    bool taken =
        kind != KIND_PLAN || cli_take_plan_option(arguments, &cli->forecast, argument, &known);
    if (known) {
        return taken;
    }
    taken = cli_take_day_option(arguments, &cli->run, kind == KIND_DAY || kind == KIND_CHECK,
                                argument, &known);
    if (known) {
        return taken;
    }
    taken = take_choice(arguments, &cli->run, clients, argument, &known);
    return known ? taken : take_run_option(arguments, &cli->run, argument);
}

static bool read_run(struct cli *cli, struct arguments *arguments, enum run_kind kind)
{
    bool only_files = false;
    const char **files = memory_zeroed((size_t)arguments->count, sizeof *files);
    const char **clients = memory_zeroed((size_t)arguments->count, sizeof *clients);
    cli->command = kind == KIND_PLAN ? CLI_PLAN : CLI_RUN;
    cli->run.files = files;
    cli->run.is_check = kind == KIND_CHECK;
    cli->run.folder = kind == KIND_CHECK ? NULL : cli->run.folder;
    cli->run.resumed = (struct held_choice){ .is_retry = kind == KIND_RETRY, .clients = clients };
    while (arguments->next < arguments->count) {
        const char *argument = arguments->items[arguments->next++];
        if (!only_files && strcmp(argument, "--") == 0) {
            only_files = true;
        } else if (only_files || argument[0] != '-' || argument[1] == 0) {
            files[cli->run.file_count++] = argument;
        } else if (!take_option(cli, arguments, kind, clients, argument)) {
            return false;
        }
    }
    return check_run(&cli->run, kind, arguments);
}

static bool take_head(struct cli *cli, struct arguments *arguments)
{
    return arguments_take_value(arguments, "--head", &cli->head) &&
           ((strspn(cli->head, "0123456789abcdef") == SHA256_TEXT_SIZE - 1 &&
             cli->head[SHA256_TEXT_SIZE - 1] == 0) ||
            arguments_fail(arguments, "--head takes the 64 digits that a run printed, not ",
                           cli->head));
}

static bool takes_name(enum cli_command command)
{
    return command == CLI_REGISTER || command == CLI_STATEMENT;
}

static bool take_read_argument(struct cli *cli, struct arguments *arguments, const char *argument)
{
    if (arguments_is_option(argument, "--db")) {
        return arguments_take_value(arguments, "--db", &cli->database);
    }
    if (cli->command == CLI_TRIAL_BALANCE && arguments_is_option(argument, "--at")) {
        return cli_take_day(arguments, "--at", "--at takes a day such as 2024-03-05, not ",
                            &cli->day);
    }
    if (cli->command == CLI_STATEMENT && arguments_is_option(argument, "--from")) {
        return cli_take_day(arguments, "--from", "--from takes a day such as 2024-03-05, not ",
                            &cli->from_day);
    }
    if (cli->command == CLI_STATEMENT && arguments_is_option(argument, "--to")) {
        return cli_take_day(arguments, "--to", "--to takes a day such as 2024-03-05, not ",
                            &cli->day);
    }
    if (cli->command == CLI_STATUS && arguments_is_option(argument, "--store")) {
        return take_store(arguments, &cli->store);
    }
    if (cli->command == CLI_STATUS && arguments_is_option(argument, "--task")) {
        return cli_take_number(arguments, "--task", 1, UINT32_MAX, &cli->task);
    }
    if (cli->command == CLI_VERIFY && arguments_is_option(argument, "--out")) {
        return arguments_take_value(arguments, "--out", &cli->outputs);
    }
    if (cli->command == CLI_VERIFY && arguments_is_option(argument, "--head")) {
        return take_head(cli, arguments);
    }
    if (takes_name(cli->command) && !cli->name && argument[0] != '-') {
        cli->name = argument;
        return true;
    }
    return arguments_fail(arguments, "unknown argument ", argument);
}

static bool read_database(struct cli *cli, struct arguments *arguments, enum cli_command command)
{
    cli->command = command;
    cli->database = "ledgerbatch.db";
    cli->day = UINT32_MAX;
    while (arguments->next < arguments->count) {
        if (!take_read_argument(cli, arguments, arguments->items[arguments->next++])) {
            return false;
        }
    }
    if (cli->task > 0 && !cli->store) {
        return arguments_fail(arguments, "--task is about --store, which is not given", "");
    }
    if (cli->from_day > cli->day) {
        return arguments_fail(arguments, "--from is a later day than --to", "");
    }
    return !takes_name(command) || cli->name ||
           arguments_fail(arguments,
                          command == CLI_REGISTER ? "register needs the name of an account"
                                                  : "statement needs the name of a client",
                          "");
}

static bool read_generate(struct cli *cli, struct arguments *arguments)
{
    struct generate_options *options = &cli->generate;
    cli->command = CLI_GENERATE;
    *options = (struct generate_options){ 1000, 10000, 12, 1 };
    if (arguments->next == arguments->count ||
        strcmp(arguments->items[arguments->next++], "smallbank") != 0) {
        return arguments_fail(arguments, "generate makes: smallbank", "");
    }
    while (arguments->next < arguments->count) {
        const char *argument = arguments->items[arguments->next++];
        bool read;
        if (arguments_is_option(argument, "--customers")) {
            read = cli_take_number(arguments, "--customers", 2, 999999, &options->customers);
        } else if (arguments_is_option(argument, "--transactions")) {
            read =
                cli_take_number(arguments, "--transactions", 0, 1000000000, &options->transactions);
        } else if (arguments_is_option(argument, "--months")) {
            read = cli_take_number(arguments, "--months", 1, 12000, &options->months);
        } else if (arguments_is_option(argument, "--seed")) {
            read = cli_take_number(arguments, "--seed", 0, UINT32_MAX, &options->seed);
        } else {
            return arguments_fail(arguments, "unknown argument ", argument);
        }
        if (!read) {
            return false;
        }
    }
    return true;
}

/* Returns true if there is an option for help, before or after the command. */
static bool wants_help(int argument_count, char **argument_items)
{
    for (int i = 1; i < argument_count && strcmp(argument_items[i], "--") != 0; i++) {
        if (strcmp(argument_items[i], "--help") == 0 || strcmp(argument_items[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* The commands that only read a database. */
static const struct {
    const char *name;
    enum cli_command command;
} readers[] = { { "balances", CLI_BALANCES }, { "status", CLI_STATUS },
                { "register", CLI_REGISTER }, { "statement", CLI_STATEMENT },
                { "verify", CLI_VERIFY },     { "trial-balance", CLI_TRIAL_BALANCE } };

bool cli_read(struct cli *cli, int argument_count, char **argument_items, struct problem *problem)
{
    struct arguments arguments = { "ledgerbatch", argument_items, argument_count, 2, problem };
    *cli = (struct cli){ .command = CLI_HELP };
    rules_init(&cli->run.rules);
    cli->run.database = "ledgerbatch.db";
    cli->run.folder = "ledgerbatch-out";
    cli->run.commit_size = COMMIT_SIZE;
    cli->run.max_rejects = REJECTS_MAX;
    if (argument_count < 2) {
        return arguments_fail(&arguments, "a command is missing", "");
    }
    if (wants_help(argument_count, argument_items)) {
        return true;
    }
    const char *command = argument_items[1];
    if (strcmp(command, "run") == 0) {
        return read_run(cli, &arguments, KIND_RUN);
    }
    if (strcmp(command, "day") == 0) {
        return read_run(cli, &arguments, KIND_DAY);
    }
    if (strcmp(command, "check") == 0) {
        return read_run(cli, &arguments, KIND_CHECK);
    }
    if (strcmp(command, "plan") == 0) {
        return read_run(cli, &arguments, KIND_PLAN);
    }
    if (strcmp(command, "retry") == 0) {
        return read_run(cli, &arguments, KIND_RETRY);
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (strcmp(command, readers[i].name) == 0) {
            return read_database(cli, &arguments, readers[i].command);
        }
    }
    if (strcmp(command, "generate") == 0) {
        return read_generate(cli, &arguments);
    }
    if (strcmp(command, "--version") == 0) {
        cli->command = CLI_VERSION;
        return true;
    }
    return arguments_fail(&arguments, "unknown command ", command);
}

void cli_fini(struct cli *cli)
{
    rules_fini(&cli->run.rules);
    free(cli->run.fail_on.items);
    free((void *)cli->run.files);
    free(cli->run.requests.skips);
    free(cli->run.requests.reversals);
    free(cli->run.requests.months);
    free((void *)cli->run.resumed.clients);
}
