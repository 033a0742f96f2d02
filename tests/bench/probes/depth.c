/* The cost of a submit and of a drain with 1 to 1,000,000 pending tasks, each with one of 1,024
 * keys. */
#include "fill.h"

#include <stdlib.h>

#define KEYS      1024
#define DEPTH_MAX 1000000

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t depth_max = probe_scaled(&options, DEPTH_MAX, 1000);
    lanepool_claim *claims = probe_memory(depth_max, sizeof *claims);
    struct fill fill = { .claims = claims, .claim_count = 1 };
    uint64_t state = 1;
    for (size_t i = 0; i < depth_max; i++)
        claims[i] = lanepool_exclusive(probe_random(&state) % KEYS);
    fill_begin(&fill);
    for (size_t depth = 1; depth <= depth_max; depth *= 10) {
        fill.task_count = depth;
        struct fill_cost cost = fill_measure(&fill);
        probe_point("depth", "submit", (double)depth, cost.submit_ns / (double)depth, "ns");
        probe_point("depth", "drain", (double)depth, cost.drain_ns / (double)depth, "ns");
    }
    fill_end(&fill);
    free(claims);
    return 0;
}
