/*
 * Runs random workloads on the simulated platform and has each judged.
 *
 *     simulate [--seed S] [--count N] [--schedule X] [--keep TASK,TASK,...] [--fault F [--stay]]
 *              [--cuts] [--verbose]
 *
 * The seed of run number i is S + i; workload and schedule follow from it. One run in a hundred is
 * repeated and must take the same steps. With --cuts, seeds whose workloads have no cuts are left
 * out.
 *
 * A failing case is made smaller and printed with the command that repeats it. In that command,
 * --schedule is the seed of the schedule, and --keep lists the remaining tasks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "property/workload_look.h"
#include "simulator/distinct.h"
#include "simulator/simulated_property.h"
#include "stress/arguments.h"
#include "support/tally.h"

struct request {
    uint64_t seed;
    uint64_t count;
    uint64_t schedule; /* 0: the schedule follows from the seed */
    const char *keep;
    uint64_t fault;
    bool stay;
    bool cuts;
    bool verbose;
};

/* The command that repeats the current run. It is prepared in advance, because the run may crash
 * the program. */
static char repeat[512];

static void prepare_repeat(const struct request *request, uint64_t seed,
                           const struct sim_options *schedule, const struct workload *kept)
{
    int length =
        snprintf(repeat, sizeof repeat, "to repeat: simulate --seed %llu --count 1 --schedule %llu",
                 (unsigned long long)seed, (unsigned long long)schedule->seed);

    if (request->fault)
        length += snprintf(repeat + length, sizeof repeat - (size_t)length, " --fault %llu%s",
                           (unsigned long long)request->fault, request->stay ? " --stay" : "");
    for (uint32_t i = 0, any = 0; kept && i < kept->params.task_count; i++)
        if (!kept->tasks[i].dropped && (size_t)length < sizeof repeat)
            length += snprintf(repeat + length, sizeof repeat - (size_t)length, "%s%u",
                               any++ ? "," : " --keep ", i);
    if ((size_t)length < sizeof repeat - 1)
        strcat(repeat, "\n");
}

static void report_death(int number)
{
    (void)!write(STDOUT_FILENO, repeat, strlen(repeat));
    signal(number, SIG_DFL);
    raise(number);
}

static void keep_only(struct workload *workload, const char *list)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++)
        workload->tasks[i].dropped = true;
    while (*list) {
        char *end;
        uint64_t task = strtoull(list, &end, 10);
        if (end == list || task >= workload->params.task_count)
            break;
        workload->tasks[task].dropped = false;
        list = *end ? end + 1 : end;
    }
}

static void print_case(const struct workload *workload, const struct sim_options *schedule,
                       const struct sim_report *report)
{
    workload_print_params(workload, stdout);
    workload_print_tasks(workload, stdout);
    printf("schedule: %s%s%s, seed %llu; %llu steps, hash %016llx\n",
           sim_strategy_name(schedule->strategy), schedule->buffers ? ", store buffers" : "",
           schedule->eager ? ", eager" : "", (unsigned long long)schedule->seed,
           (unsigned long long)report->steps, (unsigned long long)report->schedule);
}

static void report_failure(const struct request *request, uint64_t seed, struct workload *workload,
                           struct sim_options *schedule, struct sim_report *report)
{
    printf("FAILED: %s\n%s", report->why, repeat);
    fflush(stdout);
    if (!request->keep) {
        property_shrink(workload, schedule, report);
        prepare_repeat(request, seed, schedule, workload);
        printf("made smaller: %s\n", report->why);
    }
    print_case(workload, schedule, report);
    printf("%s", repeat);
}

/* Runs the same workload and schedule again. Returns true if the run takes the same steps. */
static bool repeats_itself(const struct workload *workload, const struct sim_options *schedule,
                           struct sim_report *report)
{
    struct sim_report again;

    property_holds(workload, schedule, &again);
    if (again.schedule == report->schedule && again.failed == report->failed)
        return true;
    report->failed = true;
    snprintf(report->why, sizeof report->why, "the same seed took other steps");
    return false;
}

static bool run_one(const struct request *request, uint64_t seed, struct sim_report *report)
{
    struct choices choices = choices_from_seed(seed);
    struct sim_options schedule =
        sim_options_draw(request->schedule ? request->schedule : random_mix(seed));
    struct workload workload;
    bool passed;

    workload_draw(&workload, &workload_small, seed, &choices);
    if (request->keep)
        keep_only(&workload, request->keep);
    schedule.fault = request->fault;
    schedule.faults_stay = request->stay;
    prepare_repeat(request, seed, &schedule, NULL);
    passed = property_holds(&workload, &schedule, report);
    if (passed && seed % 100 == 0)
        passed = repeats_itself(&workload, &schedule, report);
    if (!passed)
        report_failure(request, seed, &workload, &schedule, report);
    else if (request->verbose)
        print_case(&workload, &schedule, report);
    workload_fini(&workload);
    return passed;
}

static bool is_left_out(const struct request *request, uint64_t seed)
{
    struct choices choices = choices_from_seed(seed);
    struct workload workload;

    if (!request->cuts)
        return false;
    workload_draw(&workload, &workload_small, seed, &choices);
    bool has_cuts = workload_has_cuts(&workload);
    workload_fini(&workload);
    return !has_cuts;
}

static bool run_all(const struct request *request)
{
    struct distinct distinct;
    uint64_t steps = 0;
    uint64_t seed = request->seed;
    bool passed = true;

    distinct_init(&distinct, request->count);
    for (uint64_t i = 0; i < request->count && passed; i++, seed++) {
        struct sim_report report;
        while (is_left_out(request, seed))
            seed++;
        passed = run_one(request, seed, &report);
        distinct_add(&distinct, random_mix(seed) ^ report.schedule);
        steps += report.steps;
    }
    if (passed) {
        printf("%llu interleavings, %llu of them different, %llu steps, %llu waiting tasks "
               "explained, ",
               (unsigned long long)request->count, (unsigned long long)distinct.count,
               (unsigned long long)steps, (unsigned long long)workload_explained());
        oracle_print_counts(property_counts(), stdout);
        printf(", 0 violations\n");
        tally(distinct.count, "interleavings");
    }
    distinct_fini(&distinct);
    return passed;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--seed", "--count", "--schedule", "--keep", "--fault",
                                         "--stay", "--cuts",  "--verbose",  NULL };

    arguments_only(argc, argv, names);
    struct request request = { .seed = argument_number(argc, argv, "--seed", 1),
                               .count = argument_number(argc, argv, "--count", 10000),
                               .schedule = argument_number(argc, argv, "--schedule", 0),
                               .keep = argument_text(argc, argv, "--keep"),
                               .fault = argument_number(argc, argv, "--fault", 0),
                               .stay = argument_flag(argc, argv, "--stay"),
                               .cuts = argument_flag(argc, argv, "--cuts"),
                               .verbose = argument_flag(argc, argv, "--verbose") };

    signal(SIGABRT, report_death);
    signal(SIGSEGV, report_death);
    signal(SIGBUS, report_death);
    return run_all(&request) ? EXIT_SUCCESS : EXIT_FAILURE;
}
