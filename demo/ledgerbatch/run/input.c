/* Owns the reading of what a command is given: its rules file, and its journals. */
#include "run/input.h"

#include <stdio.h>

#include "plan/pattern_check.h"
#include "plan/rules_file.h"

/* Checks that the day of a retry is not before the end of the batch. */
static bool set_retry_day(struct plan *plan, uint32_t day, struct problem *problem)
{
    uint32_t last = plan_last_day(plan);
    plan->retry_day = day;
    if (plan->has_opening && day != 0 && day != last) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--day is not for days; to post deferred transactions on a later day: "
                           "ledgerbatch day --post-deferred");
    }
    return day == 0 || day >= last ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "--day %04u-%02u-%02u is before the last day of the batch, %04u-%02u-%02u",
                       day / 10000, day / 100 % 100, day % 100, last / 10000, last / 100 % 100,
                       last % 100);
}

/*
 * Checks that the options fit the month-ends. A rollup that has to know about the days of its month
 * cannot run late, since they are over then.
 */
static bool check_steps(const struct rules *rules, enum on_quarantine on_quarantine,
                        struct problem *problem)
{
    const struct month_end_steps *steps = &rules->steps;
    if (rules->ends_month && steps->count == 0) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--end-month is about month-ends, and neither --monthly nor the rules "
                           "have any");
    }
    bool fails = on_quarantine == ON_QUARANTINE_FAIL;
    for (size_t i = 0; fails && i < steps->count; i++) {
        if (month_end_step_has_tally(&steps->items[i])) {
            return problem_set(problem, EXIT_CODE_INPUT,
                               "--on-quarantine fail is not for daily balances or fees per "
                               "posting: a rollup that runs late does not know its month");
        }
    }
    return true;
}

/* Prints several faults, and sets the problem to their number. Otherwise, the problem stays. */
static bool report_faults(const struct faults *faults, const char *where, struct problem *problem)
{
    if (faults->count < 2 || !problem->has_place) {
        return false;
    }
    for (size_t i = 0; i < faults->count; i++) {
        fprintf(stderr, "%s\n", faults->items[i].text);
    }
    return problem_set(problem, EXIT_CODE_INPUT, "%s%zu errors in %s; nothing was written",
                       faults->count == FAULTS_MAX ? "the first " : "", faults->count, where);
}

/* Adds the rules of the file that the rules name, if they name one. */
static bool read_rules(struct rules *rules, struct problem *problem)
{
    struct faults faults = { 0 };
    bool read = !rules->file || rules_file_read(rules, rules->file, &faults, problem) ||
                report_faults(&faults, "the rules", problem);
    faults_fini(&faults);
    return read;
}

bool input_begin(struct plan *plan, struct run_options *options, struct problem *problem)
{
    plan_init(plan);
    plan->rules = options->rules;
    plan->book.rejects.is_on = options->rejects != NULL;
    plan->book.rejects.limit = options->max_rejects;
    rules_init(&options->rules);
    return (!options->include_root ||
            sources_set_include_root(&plan->book.sources, options->include_root, problem)) &&
           read_rules(&plan->rules, problem);
}

/* Prints the first transactions that are rejected, since there are too many. */
static bool report_exceeded(const struct faults *faults, size_t limit, struct problem *problem)
{
    for (size_t i = 0; i < faults->count; i++) {
        fprintf(stderr, "%s\n", faults->items[i].text);
    }
    return problem_set(problem, EXIT_CODE_INPUT,
                       "more than %zu transactions are rejected (--max-rejects), %s%zu of them "
                       "above; nothing was written",
                       limit, faults->count == FAULTS_MAX ? "the first " : "", faults->count);
}

bool input_make_plan(struct plan *plan, const struct run_options *options, struct problem *problem)
{
    const struct faults *faults = &plan->book.faults;
    if (plan_make(plan, options->files, options->file_count, problem)) {
        return pattern_check(&options->fail_on, "--fail-on", &plan->book, problem) &&
               (options->statement_files == STATEMENT_FILES_GROUP ||
                plan_check_folders(plan, problem)) &&
               check_steps(&plan->rules, options->on_quarantine, problem) &&
               set_retry_day(plan, options->retry_day, problem);
    }
    return plan->book.rejects.is_exceeded ? report_exceeded(faults, options->max_rejects, problem)
                                          : report_faults(faults, "the input", problem);
}
