/* Owns which pool options are valid, and their defaults. */
#include "pool/pool_options.h"

#include "base/sizes.h"
#include "base/versioned.h"
#include "core/task_check.h"
#include "feature/context.h"
#include "feature/journal.h"
#include "lanepool/check.h"
#include "pool/features.h"

#define QUANTUM_TASKS_DEFAULT 64u
#define QUANTUM_NS_DEFAULT    1000000u
#define SLOW_TASK_NS_DEFAULT  UINT64_C(1000000000)
#define STALLED_NS_DEFAULT    UINT64_C(10000000000)
#define IDLE_NS_DEFAULT       UINT64_C(10000000000)

#define RULE_CHECKS (LANEPOOL_CHECK_RULE | LANEPOOL_CHECK_RULE_CLAIMS)
#define ALL_CHECKS  ((uint64_t)(LANEPOOL_CHECK_ACCESSES | RULE_CHECKS))

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_options, journal);
LANEPOOL_I_ASSERT_NO_TAIL(lanepool_allocator, user);

/* Futures use the allocator after the pool, so it is not copied. */
static bool is_valid_allocator(const lanepool_allocator *allocator)
{
    return allocator == NULL ||
           (lanepool_i_struct_is_valid(allocator, allocator->struct_size,
                                       LANEPOOL_I_SIZE_WITH(lanepool_allocator, user),
                                       sizeof *allocator) &&
            allocator->allocate != NULL && allocator->deallocate != NULL);
}

static bool is_valid_policy(const lanepool_failure_policy *given)
{
    lanepool_failure_policy policy;
    return given == NULL || lanepool_i_policy_read(&policy, given);
}

static bool is_valid_journal(const lanepool_journal_options *given)
{
    lanepool_journal_options options;
    return lanepool_i_journal_read_options(given, &options);
}

static bool copy_valid_options(const lanepool_options *given, lanepool_options *options)
{
    *options = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    if (given == NULL)
        return true;
    if (!LANEPOOL_I_STRUCT_READ(options, given, lanepool_options, journal))
        return false;
    return options->workers <= LANEPOOL_WORKERS_MAX &&
           (unsigned)options->layout <= LANEPOOL_PER_WORKER &&
           (unsigned)options->routing <= LANEPOOL_ROUTING_SUBMITTER &&
           options->trace_events <= LANEPOOL_TRACE_EVENTS_MAX &&
           (options->on_slow_task != NULL || options->slow_task_ns == 0) &&
           (options->on_stalled != NULL || options->stalled_ns == 0) &&
           is_valid_allocator(options->allocator) && is_valid_policy(options->on_failure) &&
           is_valid_journal(options->journal) &&
           (options->tag_names != NULL || options->tag_name_count == 0) &&
           (options->workers_min != 0 || options->worker_idle_ns == 0) &&
           (options->priorities || options->priority_age_ns == 0) &&
           (options->checks & ~ALL_CHECKS) == 0 &&
           (options->worker_stack_size == 0 ||
            lanepool_i_stack_size_is_valid(options->worker_stack_size));
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
    if (options->search_ns == 0)
        options->search_ns = LANEPOOL_I_SEARCH_NS;
    if (options->slow_task_ns == 0)
        options->slow_task_ns = SLOW_TASK_NS_DEFAULT;
    if (options->stalled_ns == 0)
        options->stalled_ns = STALLED_NS_DEFAULT;
    bool by_keys = options->is_compatible == NULL;
    if (options->routing == LANEPOOL_ROUTING_DEFAULT)
        options->routing = by_keys ? LANEPOOL_ROUTING_AUTO : LANEPOOL_ROUTING_SUBMITTER;
}

/* Returns true if this sort of pool offers the feature, and the feature is listed. */
static bool has_feature(const lanepool_options *options, lanepool_i_offer offer)
{
    const lanepool_i_feature *const *feature = lanepool_i_features;
    while (*feature != NULL && ((*feature)->is_wanted == NULL || (*feature)->offer != offer))
        feature++;
    return *feature != NULL && lanepool_i_options_offer(options, offer);
}

/* A pool without threads has one worker. Nothing happens while a task runs for long, and a call
 * that waits for a stalled pool returns, so there is nothing for a watchdog to report. */
static bool is_steppable(const lanepool_options *options)
{
    return has_feature(options, LANEPOOL_I_STEPS) && options->workers_min == options->workers &&
           options->on_slow_task == NULL && options->on_stalled == NULL;
}

/* To be called once the defaults are filled in. Contexts belong to keys, so they need lanes per
 * key. Policies are checked later: they need the pool. */
static bool is_all_offered(const lanepool_options *options)
{
    return (options->step_seed == 0 || is_steppable(options)) &&
           ((options->checks & LANEPOOL_CHECK_ACCESSES) == 0 ||
            lanepool_check_accesses_missing() == NULL) &&
           ((options->checks & RULE_CHECKS) == 0 || has_feature(options, LANEPOOL_I_RULE_CHECKS)) &&
           ((options->checks & LANEPOOL_CHECK_RULE_CLAIMS) == 0 ||
            options->layout == LANEPOOL_PER_KEY) &&
           (!options->priorities || has_feature(options, LANEPOOL_I_PRIORITIES)) &&
           (options->lane_pending_max == 0 || has_feature(options, LANEPOOL_I_LANE_LIMITS)) &&
           (options->contexts == NULL || lanepool_i_options_offer(options, LANEPOOL_I_CONTEXTS)) &&
           (options->workers_min == options->workers ||
            lanepool_i_options_offer(options, LANEPOOL_I_ELASTIC_WORKERS));
}

lanepool_status lanepool_i_options_read(const lanepool_options *given, lanepool_options *options,
                                        lanepool_context_options *contexts)
{
    if (!copy_valid_options(given, options) ||
        !lanepool_i_contexts_read_options(options->contexts, contexts))
        return LANEPOOL_INVALID;
    fill_option_defaults(options);
    if (options->workers_min > options->workers)
        return LANEPOOL_INVALID;
    if (!is_all_offered(options))
        return LANEPOOL_UNSUPPORTED;
    if (options->step_seed != 0)
        options->workers = options->workers_min = 1;
    return LANEPOOL_OK;
}

const lanepool_i_rule *lanepool_i_options_rule(const lanepool_options *options)
{
    bool has_predicate = options->is_compatible != NULL;
    if (options->layout == LANEPOOL_PER_WORKER)
        return has_predicate ? &lanepool_i_rule_workers_predicate : &lanepool_i_rule_workers_keys;
    return has_predicate ? &lanepool_i_rule_predicate : &lanepool_i_rule_keys;
}
