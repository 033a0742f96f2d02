/*
 * Runs many random workloads over the whole space of parameters, and has each judged.
 *
 *     random_workloads [--seed S] [--count N] [--tasks M] [--noise D]
 *
 * The seed of workload number i is S + i, and everything follows from it. A failure prints the
 * command that repeats it.
 *
 * With the default rule, PER_KEY and one submitter, the same claims are run again with an
 * is_compatible. Both runs must leave the same history in every key. If OpenMP is available, its
 * tasks get the same claims, and must leave that history, too.
 *
 * If built as noisy_workloads, about one in D operations of the platform is disturbed
 * (noise/noise.h). By default each workload draws its own D, because errors differ in how much must
 * happen elsewhere while one thread is delayed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "property/workload_run.h"
#include "stress/arguments.h"
#include "support/tally.h"

#if defined(TESTS_OPENMP)
#include "property/openmp_replay.h"
#endif

#if defined(TESTS_NOISE)
#include "noise/noise.h"
static const char program[] = "noisy_workloads";
enum { STRETCH = 16 };
#else
static const char program[] = "random_workloads";
enum { STRETCH = 1 };
#endif

enum { SECONDS_PER_WORKLOAD = 120 };

struct request {
    uint32_t task_count; /* of each workload */
    uint32_t noise;      /* 0: each workload draws its own */
};

struct totals {
    uint64_t submitted;
    uint64_t tasks; /* tasks that ran */
    uint64_t compared_with_predicate;
    uint64_t compared_with_openmp;
};

/* The command that repeats the current workload. It is prepared in advance, because a signal
 * handler cannot format. */
static char repeat[160];

static void prepare_repeat(uint64_t seed, const struct request *request)
{
    int length = snprintf(repeat, sizeof repeat, "to repeat: %s --seed %llu --count 1 --tasks %u",
                          program, (unsigned long long)seed, request->task_count);

    if (request->noise > 0) {
        length += snprintf(repeat + length, sizeof repeat - (size_t)length, " --noise %u",
                           request->noise);
    }
    snprintf(repeat + length, sizeof repeat - (size_t)length, "\n");
}

static void report(const struct workload *workload, const char *why)
{
    printf("FAILED: %s\n", why);
    workload_print_params(workload, stdout);
    printf("%s", repeat);
}

static void write_text(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

/* A workload that does not end is a failure, too. */
static void report_hang(int number)
{
    (void)number;
    write_text("FAILED: the workload does not end\n");
    write_text(repeat);
    _exit(EXIT_FAILURE);
}

static void report_death(int number)
{
    write_text("FAILED: the program was killed\n");
    write_text(repeat);
    signal(number, SIG_DFL);
    raise(number);
}

static void make_noise(const struct request *request, uint64_t seed)
{
#if defined(TESTS_NOISE)
    uint64_t state = seed;

    noise_set(seed, request->noise > 0 ? request->noise : 4u << 2 * random_below(&state, 5));
#else
    (void)request;
    (void)seed;
#endif
}

/* Runs and judges the workload. The caller frees the log. */
static bool run_and_judge(const struct workload *workload, struct oracle_log *log,
                          struct totals *totals)
{
    struct oracle_verdict verdict;
    lanepool_status status;

    oracle_log_init(log, workload);
    alarm(SECONDS_PER_WORKLOAD); /* for the pool, not for the judgement */
    status = workload_run(workload, log, NULL);
    alarm(0);
    if (status != LANEPOOL_OK) {
        report(workload, lanepool_status_name(status));
        return false;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        totals->submitted += oracle_when(&log->tasks[i].submit_begin) != 0;
        totals->tasks += log->tasks[i].call == CALL_RUN;
    }
    verdict = oracle_judge(log, workload);
    if (!verdict.passed) {
        report(workload, verdict.why);
    }
    return verdict.passed;
}

/* --- comparing with other implementations --- */

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

static bool closes_groups(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->visit_count; i++) {
        if (workload->visits[i].closes) {
            return true;
        }
    }
    return false;
}

/* Returns true if two runs of the workload must have equal histories. Nested tasks are accepted
 * when their parents run. Refusals by a shutdown, a full pool or a closed group, cancels, and
 * deadlines also depend on time. */
static bool is_the_same_again(const struct workload *workload)
{
    const struct workload_params *params = &workload->params;

    return params->rule == RULE_CLAIMS && params->layout == LANEPOOL_PER_KEY &&
           params->submitters == 1 && !params->nested && params->ending == END_DESTROY &&
           params->pending_max == 0 && params->lane_pending_max == 0 && params->cancellers == 0 &&
           !params->holds && params->pausers == 0 && !params->delays && !params->failures &&
           !params->deadlines && workload->series_count == 0 && !closes_groups(workload);
}

/* Runs the workload's claims as a predicate, and compares the histories. */
static bool agrees_with_predicate(const struct workload *by_claims, const struct oracle_log *log,
                                  struct totals *totals)
{
    struct workload by_predicate = *by_claims;
    struct oracle_log other;
    bool passed;

    if (!is_the_same_again(by_claims)) {
        return true;
    }
    by_predicate.params.rule = RULE_CLAIMS_AS_PREDICATE;
    by_predicate.params.held_lanes = false;
    by_predicate.params.contexts = false;
    by_predicate.params.cuts = false;
    passed = run_and_judge(&by_predicate, &other, totals);
    if (passed && !same_histories(log, &other, by_claims->params.key_count)) {
        report(by_claims, "claims and predicate left different histories");
        passed = false;
    }
    oracle_log_fini(&other);
    totals->compared_with_predicate++;
    return passed;
}

#if defined(TESTS_OPENMP)

enum { OPENMP_THREADS_LEAST = 2, OPENMP_THREADS_MOST = 4 };

/* OpenMP gets the tasks that ran, in the pool's order; therefore any run can be compared. */
static bool agrees_with_openmp(const struct workload *workload, const struct oracle_log *log,
                               struct totals *totals)
{
    uint64_t choices = OPENMP_THREADS_MOST - OPENMP_THREADS_LEAST + 1;

    if (!workload_has_claims(workload)) {
        return true;
    }
    totals->compared_with_openmp++;
    if (openmp_replay_agrees(log, workload,
                             OPENMP_THREADS_LEAST + (int)(workload->params.seed % choices))) {
        return true;
    }
    report(workload, "OpenMP left different histories");
    return false;
}

#else

static bool agrees_with_openmp(const struct workload *workload, const struct oracle_log *log,
                               struct totals *totals)
{
    (void)workload;
    (void)log;
    (void)totals;
    return true;
}

#endif

/* --- all workloads --- */

/* Stretches a time that was drawn for virtual time, in which a workload takes some hundred ns. On
 * threads each task takes that long, and longer when disturbed. The pool must end while its tasks
 * run. */
static uint32_t stretched(uint32_t ns, uint32_t task_count)
{
    uint64_t long_ns = (uint64_t)ns * task_count * STRETCH;

    return long_ns < UINT32_MAX ? (uint32_t)long_ns : UINT32_MAX;
}

static bool run_one(const struct request *request, uint64_t seed, struct totals *totals)
{
    struct workload_scale scale = workload_large;
    struct choices choices = choices_from_seed(seed);
    struct workload workload;
    struct oracle_log log;
    bool passed;

    prepare_repeat(seed, request);
    make_noise(request, seed);
    scale.tasks_most = request->task_count;
    workload_draw(&workload, &scale, seed, &choices);
    workload.params.ending_at = stretched(workload.params.ending_at, request->task_count);
    workload.params.quiesce_at = stretched(workload.params.quiesce_at, request->task_count);
    passed = run_and_judge(&workload, &log, totals) &&
             agrees_with_predicate(&workload, &log, totals) &&
             agrees_with_openmp(&workload, &log, totals);
    oracle_log_fini(&log);
    workload_fini(&workload);
    return passed;
}

int main(int argc, char **argv)
{
    uint64_t seed = argument_number(argc, argv, "--seed", (uint64_t)time(NULL));
    uint64_t count = argument_number(argc, argv, "--count", 1000);
    struct request request = { (uint32_t)argument_number(argc, argv, "--tasks", 1000),
                               (uint32_t)argument_number(argc, argv, "--noise", 0) };
    struct totals totals = { 0 };

    printf("%llu workloads of %u tasks from seed %llu\n", (unsigned long long)count,
           request.task_count, (unsigned long long)seed);
    fflush(stdout);
    signal(SIGALRM, report_hang);
    signal(SIGABRT, report_death);
    signal(SIGSEGV, report_death);
    signal(SIGBUS, report_death);
    for (uint64_t i = 0; i < count; i++) {
        if (!run_one(&request, seed + i, &totals)) {
            return EXIT_FAILURE;
        }
    }
    printf("passed: %llu tasks submitted, %llu ran; compared: %llu workloads with is_compatible, "
           "%llu with OpenMP\n",
           (unsigned long long)totals.submitted, (unsigned long long)totals.tasks,
           (unsigned long long)totals.compared_with_predicate,
           (unsigned long long)totals.compared_with_openmp);
    tally(totals.tasks, "tasks");
    return EXIT_SUCCESS;
}
