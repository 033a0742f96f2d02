/* The cost of a claim, to submit and to drain, in tasks with 1 to 100,000 claims. All tasks use the
 * same 131,072 keys, and each fill has about as many claims. */
#include "fill.h"

#include <stdlib.h>

#define KEYS       ((uint64_t)1 << 17)
#define CLAIMS_MAX 100000
#define CLAIMS_ALL 200000

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t claims_max = probe_scaled(&options, CLAIMS_MAX, 100);
    size_t claims_all = probe_scaled(&options, CLAIMS_ALL, 2000);
    lanepool_claim *claims = fill_claims(claims_all, KEYS);
    struct fill fill = { .claims = claims };
    fill_begin(&fill);
    for (size_t count = 1; count <= claims_max; count *= 10) {
        fill.claim_count = count;
        fill.task_count = claims_all / count;
        double submitted = (double)(count * fill.task_count);
        struct fill_cost cost = fill_measure(&fill);
        probe_point("claims", "submit", (double)count, cost.submit_ns / submitted, "ns");
        probe_point("claims", "drain", (double)count, cost.drain_ns / submitted, "ns");
    }
    fill_end(&fill);
    free(claims);
    return 0;
}
