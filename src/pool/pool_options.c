/* Owns which pool options are valid, and their defaults. */
#include "pool/pool_options.h"

#include "base/versioned.h"

#define QUANTUM_TASKS_DEFAULT   64u
#define QUANTUM_NS_DEFAULT      1000000u
#define SLOW_TASK_NS_DEFAULT    UINT64_C(1000000000)
#define STALLED_NS_DEFAULT      UINT64_C(10000000000)
#define IDLE_NS_DEFAULT         UINT64_C(10000000000)
#define PRIORITY_AGE_NS_DEFAULT UINT64_C(1000000000)

/* With lanes per worker there are no priorities: each worker runs its lane in order. */
static bool may_have_priorities(const lanepool_options *options)
{
    return options->priorities ? options->layout == LANEPOOL_PER_KEY
                               : options->priority_age_ns == 0;
}

static bool copy_valid_options(const lanepool_options *given, lanepool_options *options)
{
    *options = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    if (given == NULL)
        return true;
    if (!lanepool_i_struct_is_valid(given, given->struct_size, sizeof *given))
        return false;
    *options = *given;
    options->struct_size = sizeof *options;
    return options->workers <= LANEPOOL_WORKERS_MAX &&
           (unsigned)options->layout <= LANEPOOL_PER_WORKER &&
           (unsigned)options->routing <= LANEPOOL_ROUTING_SUBMITTER &&
           options->trace_events <= LANEPOOL_TRACE_EVENTS_MAX &&
           (options->on_slow_task != NULL || options->slow_task_ns == 0) &&
           (options->on_stalled != NULL || options->stalled_ns == 0) &&
           (options->allocator == NULL ||
            (options->allocator->allocate != NULL && options->allocator->deallocate != NULL)) &&
           (options->tag_names != NULL || options->tag_name_count == 0) &&
           (options->workers_min != 0 || options->worker_idle_ns == 0) &&
           may_have_priorities(options) &&
           (options->lane_pending_max == 0 || options->is_compatible == NULL);
}

static void fill_option_defaults(lanepool_options *options)
{
    if (options->workers == 0)
        options->workers = lanepool_i_cpu_count();
    if (options->workers > LANEPOOL_WORKERS_MAX)
        options->workers = LANEPOOL_WORKERS_MAX;
    if (options->workers_min == 0)
        options->workers_min = options->workers;
    if (options->worker_idle_ns == 0)
        options->worker_idle_ns = IDLE_NS_DEFAULT;
    if (options->pending_max == 0)
        options->pending_max = LANEPOOL_PENDING_DEFAULT;
    if (options->quantum_tasks == 0)
        options->quantum_tasks = QUANTUM_TASKS_DEFAULT;
    if (options->quantum_ns == 0)
        options->quantum_ns = QUANTUM_NS_DEFAULT;
    if (options->slow_task_ns == 0)
        options->slow_task_ns = SLOW_TASK_NS_DEFAULT;
    if (options->stalled_ns == 0)
        options->stalled_ns = STALLED_NS_DEFAULT;
    if (options->priority_age_ns == 0)
        options->priority_age_ns = PRIORITY_AGE_NS_DEFAULT;
    bool plain = options->is_compatible == NULL && options->layout == LANEPOOL_PER_KEY;
    if (options->routing == LANEPOOL_ROUTING_DEFAULT)
        options->routing = plain ? LANEPOOL_ROUTING_AUTO : LANEPOOL_ROUTING_SUBMITTER;
}

/* To be called once the defaults are filled in. An elastic pool needs lanes per key, since a
 * worker's own lane needs its thread. */
static bool do_options_fit(const lanepool_options *options)
{
    return options->workers_min <= options->workers &&
           (options->workers_min == options->workers || options->layout == LANEPOOL_PER_KEY);
}

bool lanepool_i_options_read(const lanepool_options *given, lanepool_options *options)
{
    if (!copy_valid_options(given, options))
        return false;
    fill_option_defaults(options);
    return do_options_fit(options);
}

const lanepool_i_rule *lanepool_i_options_rule(const lanepool_options *options)
{
    if (options->layout == LANEPOOL_PER_WORKER)
        return &lanepool_i_rule_workers;
    if (options->is_compatible != NULL)
        return &lanepool_i_rule_predicate;
    return options->priorities ? &lanepool_i_rule_keys_priorities : &lanepool_i_rule_keys;
}
