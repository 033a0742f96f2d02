/*
 * Several nodes work on random batches, in a simulated store, on the simulated platform.
 *
 *     simulate_remote [--seed S] [--count N] [--planted E] [--threads] [--verbose]
 *
 * Each node is a fiber with a pool without threads; with --threads its pool has threads, which are
 * fibers, too. The seed decides everything. A failure is printed with the command that repeats it.
 *
 * With --planted E the error E is planted (src/remote/planted.h; those of the store follow), and
 * one of the runs must fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/batch.h"
#include "remote/planted.h"
#include "simulator/simulator.h"
#include "stress/arguments.h"
#include "support/random.h"
#include "support/tally.h"

int lanepool_i_remote_planted;

enum { STEPS_MAX = 3000000 };

/* --- a run --- */

static void play(void *argument)
{
    run_batch(argument);
}

/* Stores are visible at once: the nodes share nothing but the store. */
static bool play_seed(struct run *run, struct sim_report *report)
{
    struct sim_options options = sim_options_draw(random_mix(run->seed));
    options.buffers = run->has_threads && options.buffers;
    options.eager = false;
    options.step_ns = 1;
    options.steps_max = STEPS_MAX;
    if (!run->has_threads && options.strategy == SIM_PARTIAL)
        options.strategy = SIM_BURSTS;
    return sim_run(&options, play, run, report);
}

static void print_failure(const struct run *run, const struct sim_report *report, int planted)
{
    printf("%s\n    build/bin/simulate_remote --seed %llu --count 1%s", report->why,
           (unsigned long long)run->seed, run->has_threads ? " --threads" : "");
    if (planted != 0)
        printf(" --planted %d", planted);
    printf("\n");
}

/* A planted error is to be found. */
static int end_failed(int planted, uint64_t runs)
{
    if (planted == 0)
        return EXIT_FAILURE;
    printf("planted error %d: found after %llu runs\n", planted, (unsigned long long)runs);
    tally(1, "planted bugs found");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    uint64_t seed = argument_number(argc, argv, "--seed", 1);
    uint64_t count = argument_number(argc, argv, "--count", 1000);
    int planted = (int)argument_number(argc, argv, "--planted", 0);
    bool is_verbose = argument_flag(argc, argv, "--verbose");
    lanepool_remote_counts counts = { 0 };
    uint64_t steps = 0;
    if (planted <= LANEPOOL_I_REMOTE_PLANTED_COUNT)
        lanepool_i_remote_planted = planted;
    static struct run run;
    for (uint64_t i = 0; i < count; i++) {
        struct sim_report report;
        memset(&run, 0, sizeof run);
        run.seed = seed + i;
        run.has_threads = argument_flag(argc, argv, "--threads");
        if (planted > LANEPOOL_I_REMOTE_PLANTED_COUNT)
            run.planted = (enum store_planted)(planted - LANEPOOL_I_REMOTE_PLANTED_COUNT);
        bool is_right = play_seed(&run, &report);
        if (is_verbose)
            printf("seed %llu: %llu steps\n", (unsigned long long)run.seed,
                   (unsigned long long)report.steps);
        if (!is_right) {
            print_failure(&run, &report, planted);
            return end_failed(planted, i + 1);
        }
        steps += report.steps;
        counts.incarnations += run.counts.incarnations;
        counts.letters += run.counts.letters;
        counts.steps += run.counts.steps;
        counts.given_up += run.counts.given_up;
    }
    printf("%llu runs, %llu steps: at least %llu nodes, %llu transactions, %llu letters, "
           "%llu shards given up\n",
           (unsigned long long)count, (unsigned long long)steps,
           (unsigned long long)counts.incarnations, (unsigned long long)counts.steps,
           (unsigned long long)counts.letters, (unsigned long long)counts.given_up);
    if (planted != 0) {
        printf("planted error %d: NOT FOUND\n", planted);
        return EXIT_FAILURE;
    }
    tally(count, "batches of several nodes");
    return EXIT_SUCCESS;
}
