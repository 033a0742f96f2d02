/* Owns the table of what each sort of pool offers; see offers.h. */
#include "route/offers.h"

static const uint8_t offering_sorts[] = {
#define OFFERING_SORTS(feature, sorts) [LANEPOOL_I_##feature] = (sorts),
    LANEPOOL_I_OFFERS(OFFERING_SORTS)
#undef OFFERING_SORTS
};

bool lanepool_i_options_offer(const lanepool_options *options, lanepool_i_offer feature)
{
    bool per_worker = options->layout == LANEPOOL_PER_WORKER;
    unsigned by_keys = per_worker ? LANEPOOL_I_WORKERS_BY_KEYS : LANEPOOL_I_BY_KEYS;
    unsigned by_rule = per_worker ? LANEPOOL_I_WORKERS_BY_RULE : LANEPOOL_I_BY_RULE;
    unsigned sort = options->is_compatible != NULL ? by_rule : by_keys;
    return (offering_sorts[feature] & sort) != 0;
}
