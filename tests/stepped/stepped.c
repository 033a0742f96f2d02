/*
 * Runs random workloads in pools without threads (step_seed), and has each order judged.
 *
 *     stepped [--seed S] [--count N] [--step-seed X] [--plain-from D] [--keep TASK,TASK,...]
 *             [--verbose]
 *     stepped --planted [--count N] NUMBER...
 *
 * The seed of run number i is S + i; workload and step_seed follow from it. Each run is made twice,
 * and must do the same. A failing case is made smaller, and printed with the command that repeats
 * it. With --planted, one of the first N workloads must find each of these planted errors
 * (src/base/planted.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/planted.h"
#include "stepped/stepped_property.h"
#include "stress/arguments.h"
#include "support/tally.h"

enum { PLANTED_WITHIN = 500 };

struct request {
    uint64_t seed;
    uint64_t count;
    uint64_t step_seed;  /* 0: follows from the seed */
    uint64_t plain_from; /* 0: the seed draws to the end */
    const char *keep;
    bool verbose;
};

static void keep_only(struct workload *workload, const char *list)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        workload->tasks[i].dropped = true;
    }
    while (*list) {
        char *end;
        uint64_t task = strtoull(list, &end, 10);

        if (end == list || task >= workload->params.task_count) {
            break;
        }
        workload->tasks[task].dropped = false;
        list = *end ? end + 1 : end;
    }
}

static void print_case(const struct workload *workload, const struct stepped_report *report)
{
    const struct workload_params *params = &workload->params;
    bool any_dropped = false;
    const char *before = " --keep ";

    workload_print_params(workload, stdout);
    workload_print_tasks(workload, stdout);
    printf("hash %016llx\n", (unsigned long long)report->hash);
    printf("to repeat: stepped --seed %llu --count 1 --step-seed %llu",
           (unsigned long long)params->seed, (unsigned long long)params->step_seed);
    if (params->step_plain_from != 0) {
        printf(" --plain-from %llu", (unsigned long long)params->step_plain_from);
    }
    for (uint32_t i = 0; i < params->task_count; i++) {
        any_dropped |= workload->tasks[i].dropped;
    }
    for (uint32_t i = 0; any_dropped && i < params->task_count; i++) {
        if (!workload->tasks[i].dropped) {
            printf("%s%u", before, i);
            before = ",";
        }
    }
    printf("\n");
}

static bool repeats_itself(const struct workload *workload, struct stepped_report *report)
{
    struct stepped_report again;

    (void)stepped_holds(workload, &again);
    if (again.hash == report->hash && again.failed == report->failed) {
        return true;
    }
    report->failed = true;
    snprintf(report->why, sizeof report->why, "the same seed did something else");
    return false;
}

static bool run_one(const struct request *request, uint64_t seed)
{
    struct workload workload;
    struct stepped_report report;
    bool passed;

    stepped_draw(&workload, seed);
    workload.params.step_seed =
        request->step_seed != 0 ? request->step_seed : workload.params.step_seed;
    workload.params.step_plain_from = request->plain_from;
    if (request->keep) {
        keep_only(&workload, request->keep);
    }
    passed = stepped_holds(&workload, &report);
    if (!passed) {
        printf("FAILED: %s\n", report.why);
        print_case(&workload, &report);
        fflush(stdout);
        if (!request->keep) {
            stepped_shrink(&workload, &report);
            printf("made smaller: %s\n", report.why);
            print_case(&workload, &report);
        }
    } else if (!repeats_itself(&workload, &report)) {
        passed = false;
        printf("FAILED: %s\n", report.why);
        print_case(&workload, &report);
    } else if (request->verbose) {
        print_case(&workload, &report);
    }
    workload_fini(&workload);
    return passed;
}

static bool run_all(const struct request *request)
{
    for (uint64_t i = 0; i < request->count; i++) {
        if (!run_one(request, request->seed + i)) {
            return false;
        }
    }
    printf("%llu seeds, each twice, ", (unsigned long long)request->count);
    oracle_print_counts(stepped_counts(), stdout);
    printf(", 0 violations\n");
    tally(request->count, "seeds of pools without threads");
    return true;
}

/* --- planted errors --- */

static bool is_found(int error, uint64_t count)
{
    bool found = false;

    lanepool_i_planted = error;
    for (uint64_t seed = 1; seed <= count && !found; seed++) {
        struct workload workload;
        struct stepped_report report;

        stepped_draw(&workload, seed);
        found = !stepped_holds(&workload, &report);
        if (found) {
            printf("error %d: seed %llu: %s\n", error, (unsigned long long)seed, report.why);
        }
        workload_fini(&workload);
    }
    lanepool_i_planted = 0;
    if (!found) {
        printf("error %d: NOT FOUND by %llu seeds\n", error, (unsigned long long)count);
    }
    return found;
}

static bool find_all(int argc, char **argv)
{
    uint64_t count = argument_number(argc, argv, "--count", PLANTED_WITHIN);
    bool all = true;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0) {
            i++;
        } else if (strcmp(argv[i], "--planted") != 0) {
            all = is_found(atoi(argv[i]), count) && all;
        }
    }
    return all;
}

int main(int argc, char **argv)
{
    if (argument_flag(argc, argv, "--planted")) {
        return find_all(argc, argv) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    static const char *const names[] = { "--seed", "--count",   "--step-seed", "--plain-from",
                                         "--keep", "--verbose", NULL };

    arguments_only(argc, argv, names);
    struct request request = { .seed = argument_number(argc, argv, "--seed", 1),
                               .count = argument_number(argc, argv, "--count", 10000),
                               .step_seed = argument_number(argc, argv, "--step-seed", 0),
                               .plain_from = argument_number(argc, argv, "--plain-from", 0),
                               .keep = argument_text(argc, argv, "--keep"),
                               .verbose = argument_flag(argc, argv, "--verbose") };

    return run_all(&request) ? EXIT_SUCCESS : EXIT_FAILURE;
}
