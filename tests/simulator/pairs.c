/* Owns the table of the options and their values, and the counts of the pairs. */
#include "simulator/pairs.h"

#include <stdio.h>
#include <stdlib.h>

#include "stress/arguments.h"
#include "support/tally.h"

/* The sorts of pools, as a set; docs/features.md says what each of them offers. */
enum {
    KEYS = 1,
    RULE = 2,
    WORKERS_KEYS = 4,
    WORKERS_RULE = 8,
    PER_KEY = KEYS | RULE,
    PER_WORKER = WORKERS_KEYS | WORKERS_RULE,
    CLAIMING = KEYS | WORKERS_KEYS,
    RULED = RULE | WORKERS_RULE,
    ANY = PER_KEY | PER_WORKER,
    THREADED = 16 /* no sort: pools without threads do not offer it */
};

enum { VALUES_MAX = 5, SEEDS_MAX = 1000000 };

struct option {
    const char *name;
    /* Returns which of the values the workload has. */
    uint32_t (*value_of)(const struct workload_params *params);
    struct {
        const char *name;
        unsigned sorts; /* that offer it */
    } values[VALUES_MAX];
};

#define OPTION(option, expression)                                          \
    static uint32_t value_of_##option(const struct workload_params *params) \
    {                                                                       \
        return (uint32_t)(expression);                                      \
    }
OPTION(layout, params->layout)
OPTION(rule, params->rule)
OPTION(routing, params->routing)
OPTION(workers_min, params->workers_min == 0 ? 0 : params->workers_min < params->workers ? 1 : 2)
OPTION(pending_max, params->pending_max != 0)
OPTION(lane_pending_max, params->lane_pending_max != 0)
OPTION(quantum_tasks, params->quantum_tasks != 0)
OPTION(trace_events, params->traced)
OPTION(drain_waits, params->waits_for_delayed)
OPTION(contexts, !params->contexts ? 0 : params->uses_fail != 0 ? 2 : 1)
OPTION(on_failure, !params->failures ? 0 : 1 + params->policy.at_end)
OPTION(priorities, !params->has_priorities                       ? 0
                   : params->priority_age_ns == LANEPOOL_FOREVER ? 1
                                                                 : 2)
OPTION(allocator, (params->options & WORKLOAD_ALLOCATOR) != 0)
OPTION(watchdog, (params->options & WORKLOAD_WATCHDOG) != 0)
OPTION(worker_start, (params->options & WORKLOAD_SHIFTS) != 0)
OPTION(key_name, (params->options & WORKLOAD_KEY_NAMES) != 0)
OPTION(quantum_ns, (params->options & WORKLOAD_QUANTUM_NS) != 0)
OPTION(search_ns, (params->options & WORKLOAD_SEARCH_NS) != 0)
OPTION(name, (params->options & WORKLOAD_NAME) != 0)
OPTION(tag_names, (params->options & WORKLOAD_TAG_NAMES) != 0)
OPTION(on_check, (params->options & WORKLOAD_ON_CHECK) != 0)
OPTION(stack_size, (params->options & WORKLOAD_STACK_SIZE) != 0)

static const struct option options[] = {
    { "layout", value_of_layout, { { "per key", PER_KEY }, { "per worker", PER_WORKER } } },
    { "rule",
      value_of_rule,
      { { "claims", CLAIMING },
        { "claims as predicate", RULED },
        { "relation", RULED },
        { "kinds", RULED },
        { "scoped", RULE } } },
    { "routing", value_of_routing, { { "default", ANY }, { "auto", ANY }, { "submitter", ANY } } },
    { "workers_min",
      value_of_workers_min,
      { { "default", ANY }, { "elastic", PER_KEY | THREADED }, { "all", PER_KEY } } },
    { "pending_max", value_of_pending_max, { { "default", ANY }, { "few", ANY } } },
    { "lane_pending_max", value_of_lane_pending_max, { { "none", ANY }, { "few", CLAIMING } } },
    { "quantum_tasks", value_of_quantum_tasks, { { "default", ANY }, { "few", ANY } } },
    { "trace_events", value_of_trace_events, { { "none", ANY }, { "recorded", ANY } } },
    { "drain_waits_for_delayed", value_of_drain_waits, { { "no", ANY }, { "yes", ANY } } },
    { "contexts",
      value_of_contexts,
      { { "none", ANY }, { "always good", KEYS }, { "checked", KEYS } } },
    { "on_failure",
      value_of_on_failure,
      { { "none", ANY }, { "retries", PER_KEY }, { "poison", PER_KEY }, { "pause", KEYS } } },
    { "priorities",
      value_of_priorities,
      { { "none", ANY }, { "without age", PER_KEY }, { "with age", PER_KEY } } },
    { "allocator", value_of_allocator, { { "system", ANY }, { "program", ANY } } },
    { "watchdog", value_of_watchdog, { { "none", ANY }, { "both", ANY | THREADED } } },
    { "worker_start", value_of_worker_start, { { "none", ANY }, { "given", ANY } } },
    { "key_name", value_of_key_name, { { "none", ANY }, { "given", ANY } } },
    { "name", value_of_name, { { "none", ANY }, { "given", ANY } } },
    { "tag_names", value_of_tag_names, { { "none", ANY }, { "given", ANY } } },
    { "on_check", value_of_on_check, { { "none", ANY }, { "given", ANY } } },
    { "quantum_ns", value_of_quantum_ns, { { "default", ANY }, { "short", ANY } } },
    { "search_ns", value_of_search_ns, { { "default", ANY }, { "long", ANY | THREADED } } },
    { "worker_stack_size", value_of_stack_size, { { "default", ANY }, { "given", ANY } } },
};

enum { OPTIONS_COUNT = sizeof options / sizeof options[0] };

/* How often each pair was judged: by the first option and value, then by the second. */
static uint64_t judged[OPTIONS_COUNT][VALUES_MAX][OPTIONS_COUNT][VALUES_MAX];

/* Counts the workload's pairs. Returns true if one was judged less than `times` times. */
static bool count_pairs(const struct workload_params *params, uint64_t times, uint64_t more)
{
    bool brings = false;

    for (uint32_t i = 0; i < OPTIONS_COUNT; i++) {
        for (uint32_t j = i + 1; j < OPTIONS_COUNT; j++) {
            uint64_t *count =
                &judged[i][options[i].value_of(params)][j][options[j].value_of(params)];

            brings |= *count < times;
            *count += more;
        }
    }
    return brings;
}

/* Returns the sorts of pools that offer a value; 0 if the option has no such value. */
static unsigned sorts_of(const struct pairs_subject *subject, uint32_t option, uint32_t value)
{
    unsigned sorts = options[option].values[value].sorts;

    if (subject->has_threads) {
        return sorts & ~(unsigned)THREADED;
    }
    return sorts & THREADED ? 0 : sorts & PER_KEY;
}

/* Returns the number of pairs that are offered; stores in *missing how many were judged less than
 * `times` times, and prints these on request. */
static uint64_t count_offered(const struct pairs_subject *subject, uint64_t times, bool prints,
                              uint64_t *missing)
{
    uint64_t offered = 0;

    *missing = 0;
    for (uint32_t i = 0; i < OPTIONS_COUNT; i++) {
        for (uint32_t j = i + 1; j < OPTIONS_COUNT; j++) {
            for (uint32_t both = 0; both < VALUES_MAX * VALUES_MAX; both++) {
                uint32_t a = both / VALUES_MAX, b = both % VALUES_MAX;
                bool is_offered = (sorts_of(subject, i, a) & sorts_of(subject, j, b)) != 0;
                bool lacks = is_offered && judged[i][a][j][b] < times;

                offered += is_offered;
                *missing += lacks;
                if (lacks && prints) {
                    printf("too rare: %s: %s, %s: %s\n", options[i].name, options[i].values[a].name,
                           options[j].name, options[j].values[b].name);
                }
            }
        }
    }
    return offered;
}

/* Draws the workload of the seed, and runs it if it brings a pair. Returns false if it fails. */
static bool try_seed(const struct pairs_subject *subject, uint64_t seed, uint64_t times,
                     uint64_t *runs)
{
    struct workload workload;
    char why[PAIRS_WHY_SIZE];
    bool passed = true;

    subject->draw(&workload, seed);
    if (count_pairs(&workload.params, times, 0)) {
        passed = subject->holds(&workload, seed, why);
        count_pairs(&workload.params, times, 1);
        ++*runs;
    }
    if (!passed) {
        printf("FAILED: %s\n", why);
        workload_print_params(&workload, stdout);
        printf("to repeat: %s --seed %llu --count 1\n", subject->program, (unsigned long long)seed);
    }
    workload_fini(&workload);
    return passed;
}

int pairs_main(const struct pairs_subject *subject, int argc, char **argv)
{
    static const char *const names[] = { "--times", NULL };

    arguments_only(argc, argv, names);
    uint64_t times = argument_number(argc, argv, "--times", 3);
    uint64_t runs = 0, seed = 0, missing = 1, offered = 0;

    while (missing > 0 && seed < SEEDS_MAX) {
        if (!try_seed(subject, ++seed, times, &runs))
            return EXIT_FAILURE;
        if (seed % 1000 == 0)
            offered = count_offered(subject, times, false, &missing);
    }
    count_offered(subject, times, true, &missing);
    printf("%llu pairs of options, each judged %llu times in %llu of %llu workloads\n",
           (unsigned long long)offered, (unsigned long long)times, (unsigned long long)runs,
           (unsigned long long)seed);
    tally(offered, "pairs of options");
    return missing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
