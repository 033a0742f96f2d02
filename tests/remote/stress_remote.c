/*
 * Several nodes work on random batches, in a store in memory, on real threads.
 *
 *     stress_remote [--seed S] [--count N]
 *
 * The seed draws the batch and the faults. Threads run as they like, so a failure may not repeat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/batch.h"
#include "stress/arguments.h"
#include "support/tally.h"

int main(int argc, char **argv)
{
    uint64_t seed = argument_number(argc, argv, "--seed", 1);
    uint64_t count = argument_number(argc, argv, "--count", 100);
    static struct run run;
    for (uint64_t i = 0; i < count; i++) {
        memset(&run, 0, sizeof run);
        run.seed = seed + i;
        run.has_threads = true;
        run_batch(&run);
    }
    printf("%llu batches on real threads\n", (unsigned long long)count);
    tally(count, "batches of several nodes on real threads");
    return EXIT_SUCCESS;
}
