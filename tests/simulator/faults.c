/*
 * Runs workloads on the simulated platform and lets each fault point fail: each allocation, and
 * each creation of a thread, lock or semaphore.
 *
 *     faults [--seed S] [--count N]
 *
 * Each workload runs once without a fault, to count its fault points. Then it runs twice for each
 * fault point: one run in which only that point fails, and one in which every later point fails,
 * too. A refused call must return an error and leave nothing behind. An accepted task must be
 * called exactly once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simulator/simulated_property.h"
#include "stress/arguments.h"
#include "support/tally.h"

static bool survives(const struct workload *workload, struct sim_options schedule, uint64_t seed,
                     uint64_t fault, bool stays)
{
    struct sim_report report;

    schedule.fault = fault;
    schedule.faults_stay = stays;
    if (property_holds(workload, &schedule, &report))
        return true;
    printf("FAILED: %s\nto repeat: simulate --seed %llu --count 1 --fault %llu%s\n", report.why,
           (unsigned long long)seed, (unsigned long long)fault, stays ? " --stay" : "");
    return false;
}

/* Returns the number of runs with a fault, or 0 if one of them failed. */
static uint64_t try_workload(uint64_t seed)
{
    struct choices choices = choices_from_seed(seed);
    struct sim_options schedule = sim_options_draw(random_mix(seed));
    struct workload workload;
    struct sim_report report;
    uint64_t tried = 0;
    bool passed;

    workload_draw(&workload, &workload_small, seed, &choices);
    passed = property_holds(&workload, &schedule, &report);
    if (!passed)
        printf("FAILED without a fault: %s\nto repeat: simulate --seed %llu --count 1\n",
               report.why, (unsigned long long)seed);
    for (uint64_t fault = 1; passed && fault <= report.fault_points; fault++, tried += 2)
        passed = survives(&workload, schedule, seed, fault, false) &&
                 survives(&workload, schedule, seed, fault, true);
    workload_fini(&workload);
    return passed ? tried : 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--seed", "--count", NULL };

    arguments_only(argc, argv, names);
    uint64_t seed = argument_number(argc, argv, "--seed", 1);
    uint64_t count = argument_number(argc, argv, "--count", 300);
    uint64_t tried = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t more = try_workload(seed + i);
        if (more == 0)
            return EXIT_FAILURE;
        tried += more;
    }
    printf("%llu workloads, %llu fault points, all survived\n", (unsigned long long)count,
           (unsigned long long)tried);
    tally(tried, "fault points");
    return EXIT_SUCCESS;
}
