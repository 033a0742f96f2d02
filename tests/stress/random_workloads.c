/*
 * Runs many random workloads over the whole space of parameters and has each judged.
 *
 *     random_workloads [--seed S] [--count N] [--tasks M]
 *
 * Workload number i has the seed S + i, and everything follows from it: a failure prints the one
 * command that repeats it. With the default rule, in PER_KEY and with one submitter, the same
 * claims are run again as an is_compatible; both must leave the same history behind in every key.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "property/workload_run.h"
#include "stress/arguments.h"

enum { SECONDS_PER_WORKLOAD = 120 };

struct tally {
    uint64_t tasks;
    uint64_t compared;
};

/* How to repeat the workload at hand; kept ready, because a signal handler cannot format. */
static char repeat[128];

static void prepare_repeat(uint64_t seed, uint32_t task_count)
{
    snprintf(repeat, sizeof repeat,
             "to repeat: random_workloads --seed %llu --count 1 --tasks %u\n",
             (unsigned long long)seed, task_count);
}

static void report(const struct workload *workload, const char *why)
{
    printf("FAILED: %s\n", why);
    workload_print_params(workload, stdout);
    printf("%s", repeat);
}

/* A workload that does not end is a failure as well. */
static void report_hang(int signal_number)
{
    static const char text[] = "FAILED: the workload does not end\n";

    (void)signal_number;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    (void)!write(STDOUT_FILENO, repeat, strlen(repeat));
    _exit(EXIT_FAILURE);
}

/* Runs and judges; log is left to the caller, who gives it back. */
static bool run_and_judge(const struct workload *workload, struct oracle_log *log)
{
    struct oracle_verdict verdict;
    lanepool_status status;

    oracle_log_init(log, &workload->params);
    status = workload_run(workload, log, NULL);
    if (status != LANEPOOL_OK) {
        report(workload, lanepool_status_name(status));
        return false;
    }
    verdict = oracle_judge(log, workload);
    if (!verdict.passed) {
        report(workload, verdict.why);
    }
    return verdict.passed;
}

static bool same_histories(const struct oracle_log *left, const struct oracle_log *right,
                           uint32_t key_count)
{
    for (uint32_t key = 0; key < key_count; key++) {
        if (left->keys[key].history != right->keys[key].history) {
            return false;
        }
    }
    return true;
}

/* Runs the workload's claims as a predicate and compares. */
static bool agrees_with_predicate(const struct workload *by_claims, const struct oracle_log *log)
{
    struct workload by_predicate = *by_claims;
    struct oracle_log other;
    bool passed;

    by_predicate.params.rule = RULE_CLAIMS_AS_PREDICATE;
    by_predicate.params.held_lanes = false;
    passed = run_and_judge(&by_predicate, &other);
    if (passed && !same_histories(log, &other, by_claims->params.key_count)) {
        report(by_claims, "claims and predicate left different histories");
        passed = false;
    }
    oracle_log_fini(&other);
    return passed;
}

/* Nested tasks are accepted when their parents run, and what a shutdown or a full pool refuses is
 * a matter of time too: not the same in two runs. */
static bool is_comparable(const struct workload_params *params)
{
    return params->rule == RULE_CLAIMS && params->layout == LANEPOOL_PER_KEY &&
           params->submitters == 1 && !params->nested && params->ending == END_DESTROY &&
           params->pending_max == 0;
}

static bool run_one(uint64_t seed, uint32_t task_count, struct tally *tally)
{
    struct workload_scale scale = workload_large;
    struct choices choices = choices_from_seed(seed);
    struct workload workload;
    struct oracle_log log;
    bool passed;

    prepare_repeat(seed, task_count);
    alarm(SECONDS_PER_WORKLOAD);
    scale.tasks_most = task_count;
    workload_draw(&workload, &scale, seed, &choices);
    passed = run_and_judge(&workload, &log);
    tally->tasks += task_count;
    if (passed && is_comparable(&workload.params)) {
        passed = agrees_with_predicate(&workload, &log);
        tally->tasks += task_count;
        tally->compared++;
    }
    oracle_log_fini(&log);
    workload_fini(&workload);
    return passed;
}

int main(int argc, char **argv)
{
    uint64_t seed = argument_number(argc, argv, "--seed", (uint64_t)time(NULL));
    uint64_t count = argument_number(argc, argv, "--count", 1000);
    uint32_t tasks = (uint32_t)argument_number(argc, argv, "--tasks", 1000);
    struct tally tally = { 0, 0 };

    printf("%llu workloads of %u tasks from seed %llu\n", (unsigned long long)count, tasks,
           (unsigned long long)seed);
    fflush(stdout);
    signal(SIGALRM, report_hang);
    for (uint64_t i = 0; i < count; i++) {
        if (!run_one(seed + i, tasks, &tally)) {
            return EXIT_FAILURE;
        }
    }
    printf("passed: %llu tasks, %llu workloads under both rules\n", (unsigned long long)tally.tasks,
           (unsigned long long)tally.compared);
    return EXIT_SUCCESS;
}
