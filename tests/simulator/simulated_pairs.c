/* The program pairs: the options of pools with threads, on the simulated platform. See pairs.h. */
#include <string.h>

#include "simulator/pairs.h"
#include "simulator/simulated_property.h"

static void draw(struct workload *workload, uint64_t seed)
{
    struct choices choices = choices_from_seed(seed);

    workload_draw(workload, &workload_small, seed, &choices);
}

static bool holds(const struct workload *workload, uint64_t seed, char why[PAIRS_WHY_SIZE])
{
    struct sim_options schedule = sim_options_draw(random_mix(seed));
    struct sim_report report;
    bool passed = property_holds(workload, &schedule, &report);

    memcpy(why, report.why, PAIRS_WHY_SIZE);
    return passed;
}

int main(int argc, char **argv)
{
    static const struct pairs_subject subject = { "simulate", true, draw, holds };

    return pairs_main(&subject, argc, argv);
}
