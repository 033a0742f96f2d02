/* The options of pools without threads: step_seed, with each two others. See simulator/pairs.h. */
#include <string.h>

#include "simulator/pairs.h"
#include "stepped/stepped_property.h"

static bool holds(const struct workload *workload, uint64_t seed, char why[PAIRS_WHY_SIZE])
{
    struct stepped_report report;
    bool passed = stepped_holds(workload, &report);

    (void)seed;
    memcpy(why, report.why, PAIRS_WHY_SIZE);
    return passed;
}

int main(int argc, char **argv)
{
    static const struct pairs_subject subject = { "stepped", false, stepped_draw, holds };

    return pairs_main(&subject, argc, argv);
}
