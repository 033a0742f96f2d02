/*
 * Each option of a pool with each other option, in pools of each sort: what the creation answers,
 * and that the pool works.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"
#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

/* The sorts of pools that offer an option, as a set; docs/features.md has the same table. */
enum {
    KEYS = 1,
    RULE = 2,
    WORKERS_KEYS = 4,
    WORKERS_RULE = 8,
    PER_KEY = KEYS | RULE,
    CLAIMING = KEYS | WORKERS_KEYS,
    ANY = PER_KEY | WORKERS_KEYS | WORKERS_RULE,
    /* Not sorts: a setting for a pool without threads, and one that such a pool does not offer. */
    STEPPED = 16,
    THREADED = 32
};

enum { WORKERS = 2, STEPS = 6, REFUSALS_MAX = 8 };

/* --- the program's side of the options --- */

static struct store store;
static lanepool_allocator allocator;
static lanepool_allocator half_an_allocator; /* without its `deallocate` */

static _Atomic unsigned shifts_begun, shifts_ended;

static void *begin_shift(void *user, size_t worker_index)
{
    (void)user;
    (void)worker_index;
    atomic_fetch_add(&shifts_begun, 1);
    return &shifts_begun;
}

static void end_shift(void *user, size_t worker_index, void *context)
{
    (void)user;
    (void)worker_index;
    atomic_fetch_add(&shifts_ended, context == &shifts_begun);
}

static void ignore_slow_task(void *user, const lanepool_slow_task *task)
{
    (void)user;
    (void)task;
}

static void ignore_stall(void *user, const lanepool_stall *stall)
{
    (void)user;
    (void)stall;
}

static void ignore_error(void *user, const lanepool_error *error)
{
    (void)user;
    (void)error;
}

static void ignore_check(void *user, const lanepool_failed_check *failed)
{
    (void)user;
    (void)failed;
}

static size_t name_key(void *user, lanepool_key key, char *text, size_t size)
{
    (void)user;
    (void)key;
    if (size > 0) {
        text[0] = 'k';
    }
    return size > 0;
}

static int open_context(void *user, lanepool_key key, void **context)
{
    (void)key;
    *context = user;
    return 0;
}

static bool nothing_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                  void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

static const lanepool_context_options contexts = { .struct_size = sizeof contexts,
                                                   .open = open_context };
static const lanepool_context_options contexts_without_open = { .struct_size = sizeof contexts };
static const char *const tag_names[] = { "a", NULL };

static int write_nothing(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    (void)user;
    (void)entries;
    (void)count;
    (void)watermark;
    return 0;
}

static const lanepool_journal_options journal = { .struct_size = sizeof journal,
                                                  .write = write_nothing,
                                                  .completes_when_written = true,
                                                  .lane_numbers = true };
static const lanepool_journal_options journal_without_write = { .struct_size = sizeof journal };

#define POLICY(...)                                                 \
    {                                                               \
        .struct_size = sizeof(lanepool_failure_policy), __VA_ARGS__ \
    }
static const lanepool_failure_policy retrying = POLICY(.retries = 2);
static const lanepool_failure_policy poisoning = POLICY(.at_end = LANEPOOL_FAILURE_POISON);
static const lanepool_failure_policy pausing = POLICY(.at_end = LANEPOOL_FAILURE_PAUSE);
static const lanepool_failure_policy failing = POLICY(.at_poison = LANEPOOL_AT_POISON_FAIL);
static const lanepool_failure_policy leaving = POLICY(.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT);
static const lanepool_failure_policy ends_unknown = POLICY(.at_end = (lanepool_failure_end)9);

/* --- settings --- */

/* One value of an option, or of some options that belong together. */
struct setting {
    const char *option; /* two settings of one option never meet */
    const char *value;
    unsigned sorts;          /* that offer it; 0: the value is wrong everywhere */
    lanepool_options values; /* those that are not 0 are set */
};

/* This program is not built with ThreadSanitizer. */
#define NOWHERE         (1u << 31)
#define TOO_MANY_EVENTS (LANEPOOL_TRACE_EVENTS_MAX + 1)
/* Sanitizers need more stack. */
#define LEAST_STACK (PROCESS_IS_SANITIZED ? (size_t)4 << 20 : (size_t)PTHREAD_STACK_MIN)

static const struct setting settings[] = {
    { "layout", "unknown", 0, { .layout = (lanepool_layout)2 } },
    { "routing", "auto", ANY, { .routing = LANEPOOL_ROUTING_AUTO } },
    { "routing", "submitter", ANY, { .routing = LANEPOOL_ROUTING_SUBMITTER } },
    { "routing", "unknown", 0, { .routing = (lanepool_routing)3 } },
    { "workers", "more", ANY, { .workers = WORKERS + 1 } },
    { "workers", "too many", 0, { .workers = LANEPOOL_WORKERS_MAX + 1 } },
    { "workers_min", "elastic", PER_KEY | THREADED, { .workers_min = 1 } },
    { "workers_min", "not idle", PER_KEY | THREADED, { .workers_min = 1, .worker_idle_ns = 1 } },
    { "workers_min", "above workers", 0, { .workers_min = WORKERS + 2 } },
    { "workers_min", "only idle time", 0, { .worker_idle_ns = 1 } },
    { "pending_max", "one", ANY, { .pending_max = 1 } },
    { "pending_max", "unlimited", ANY, { .pending_max = LANEPOOL_UNLIMITED } },
    { "lane_pending_max", "one", CLAIMING, { .lane_pending_max = 1 } },
    { "lane_pending_max", "counted", CLAIMING, { .lane_pending_max = LANEPOOL_UNLIMITED } },
    { "quantum_tasks", "one", ANY, { .quantum_tasks = 1 } },
    { "quantum_tasks", "most", ANY, { .quantum_tasks = UINT32_MAX } },
    { "quantum_ns", "short", ANY, { .quantum_ns = 1 } },
    { "quantum_ns", "longest", ANY, { .quantum_ns = UINT64_MAX } },
    { "on_error", "given", ANY, { .on_error = ignore_error } },
    { "on_check", "given", ANY, { .on_check = ignore_check } },
    { "user", "given", ANY, { .user = &store } },
    { "trace_events", "few", ANY, { .trace_events = 16 } },
    { "trace_events", "too many", 0, { .trace_events = TOO_MANY_EVENTS } },
    { "key_name", "given", ANY, { .key_name = name_key } },
    { "tag_names", "given", ANY, { .tag_names = tag_names, .tag_name_count = 2 } },
    { "tag_names", "only count", 0, { .tag_name_count = 2 } },
    { "drain_waits_for_delayed", "true", ANY, { .drain_waits_for_delayed = true } },
    { "name", "given", ANY, { .name = "pairs" } },
    { "worker_start", "given", ANY, { .worker_start = begin_shift, .worker_stop = end_shift } },
    { "slow tasks",
      "at once",
      ANY | THREADED,
      { .on_slow_task = ignore_slow_task, .slow_task_ns = 1 } },
    { "slow tasks",
      "never",
      ANY | THREADED,
      { .on_slow_task = ignore_slow_task, .slow_task_ns = UINT64_MAX } },
    { "slow tasks", "only time", 0, { .slow_task_ns = 1 } },
    { "stalls", "at once", ANY | THREADED, { .on_stalled = ignore_stall, .stalled_ns = 1 } },
    { "stalls", "never", ANY | THREADED, { .on_stalled = ignore_stall, .stalled_ns = UINT64_MAX } },
    { "stalls", "only time", 0, { .stalled_ns = 1 } },
    { "allocator", "counting", ANY, { .allocator = &allocator } },
    { "allocator", "half", 0, { .allocator = &half_an_allocator } },
    { "contexts", "given", KEYS, { .contexts = &contexts } },
    { "contexts", "without open", 0, { .contexts = &contexts_without_open } },
    { "on_failure", "retries", PER_KEY, { .on_failure = &retrying } },
    { "on_failure", "poison", PER_KEY, { .on_failure = &poisoning } },
    { "on_failure", "pause", KEYS, { .on_failure = &pausing } },
    { "on_failure", "fail at poison", KEYS, { .on_failure = &failing } },
    { "on_failure", "run without", KEYS, { .on_failure = &leaving } },
    { "on_failure", "unknown", 0, { .on_failure = &ends_unknown } },
    { "priorities", "default age", PER_KEY, { .priorities = true } },
    { "priorities", "short age", PER_KEY, { .priorities = true, .priority_age_ns = 1 } },
    { "priorities",
      "no age",
      PER_KEY,
      { .priorities = true, .priority_age_ns = LANEPOOL_FOREVER } },
    { "priorities", "only age", 0, { .priority_age_ns = 1 } },
    { "worker_stack_size", "least", ANY, { .worker_stack_size = LEAST_STACK } },
    { "worker_stack_size", "large", ANY, { .worker_stack_size = (size_t)5 << 20 } },
    { "worker_stack_size", "too small", 0, { .worker_stack_size = 1 } },
    { "step_seed", "least", PER_KEY | STEPPED, { .step_seed = 1 } },
    { "step_seed", "most", PER_KEY | STEPPED, { .step_seed = UINT64_MAX } },
    { "step_plain_from", "first", ANY, { .step_plain_from = 1 } },
    { "checks", "a rule", ANY & ~CLAIMING, { .checks = LANEPOOL_CHECK_RULE } },
    { "checks", "claims", PER_KEY & ~CLAIMING, { .checks = LANEPOOL_CHECK_RULE_CLAIMS } },
    { "checks", "accesses", NOWHERE, { .checks = LANEPOOL_CHECK_ACCESSES } },
    { "checks", "unknown", 0, { .checks = 8 } },
    { "search_ns", "shortest", ANY, { .search_ns = 1 } },
    { "search_ns", "longest", ANY, { .search_ns = UINT64_MAX } },
    { "journal", "that counts lanes", ANY, { .journal = &journal } },
    { "journal", "without write", 0, { .journal = &journal_without_write } },
};

enum { SETTINGS_COUNT = sizeof settings / sizeof settings[0] };

static void apply(lanepool_options *options, const struct setting *setting)
{
    const unsigned char *from = (const unsigned char *)&setting->values;
    unsigned char *to = (unsigned char *)options;

    for (size_t i = 0; i < sizeof *options; i++) {
        if (from[i] != 0) {
            to[i] = from[i];
        }
    }
}

/* Returns options with both settings. */
static lanepool_options options_of(unsigned sort, const struct setting *a, const struct setting *b)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.layout = sort & PER_KEY ? LANEPOOL_PER_KEY : LANEPOOL_PER_WORKER;
    options.is_compatible = sort & CLAIMING ? NULL : nothing_is_compatible;
    apply(&options, a);
    apply(&options, b);
    if (options.workers == 0) {
        options.workers = WORKERS;
    }
    return options;
}

/* A wrong value is INVALID, also beside an option that the pool does not offer. */
static lanepool_status answer_to(unsigned sort, const struct setting *a, const struct setting *b)
{
    if (a->sorts == 0 || b->sorts == 0) {
        return LANEPOOL_INVALID;
    }
    if (((a->sorts | b->sorts) & (STEPPED | THREADED)) == (STEPPED | THREADED)) {
        return LANEPOOL_UNSUPPORTED;
    }
    return a->sorts & b->sorts & sort ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

/* --- pools --- */

static struct step steps[STEPS];

/* Returns the number of accepted steps. Each status but OK must be `other`. */
static unsigned submit_steps(lanepool_pool *pool, bool has_claims, lanepool_status other)
{
    unsigned accepted = 0;

    for (uint32_t i = 0; i < STEPS; i++) {
        lanepool_status status;

        steps[i] = (struct step){ .id = i };
        status = has_claims ? step_submit_rollup(pool, &steps[i], i % 2, 2 + i % 3)
                            : step_submit(pool, &steps[i]);
        expect(status == LANEPOOL_OK || status == other);
        accepted += status == LANEPOOL_OK;
    }
    return accepted;
}

static unsigned count_runs(void)
{
    unsigned runs = 0;

    for (int i = 0; i < STEPS; i++) {
        runs += steps[i].runs;
    }
    return runs;
}

static void open_store(void)
{
    allocator = store_open(&store);
    half_an_allocator = allocator;
    half_an_allocator.deallocate = NULL;
}

static void nothing_is_left(void)
{
    expect_eq(atomic_load(&shifts_begun), atomic_load(&shifts_ended));
    store_expect_empty(&store);
}

/* The pool's sort and settings, for the report of a failure. */
struct name {
    char text[128];
};

static struct name name_of(unsigned sort, const struct setting *a, const struct setting *b)
{
    struct name name;

    snprintf(name.text, sizeof name.text, "sort %u, %s: %s, %s: %s", sort, a->option, a->value,
             b->option, b->value);
    return name;
}

static void pair_answers(unsigned sort, const struct setting *a, const struct setting *b)
{
    lanepool_options options = options_of(sort, a, b);
    lanepool_status wanted = answer_to(sort, a, b);
    lanepool_pool *pool = (lanepool_pool *)&pool;
    lanepool_status status = lanepool_pool_create(&options, &pool);

    if (status != wanted) {
        printf("%s\n", name_of(sort, a, b).text);
    }
    expect_status(status, wanted);
    expect((pool != NULL) == (status == LANEPOOL_OK));
    if (pool) {
        expect_eq(submit_steps(pool, options.is_compatible == NULL, LANEPOOL_OK), STEPS);
        pool_settle(pool);
        pool_end(pool);
        expect_eq(count_runs(), STEPS);
    }
    nothing_is_left();
}

Test(option_pairs, each_two_options_are_answered_by_name_and_work_together)
{
    unsigned pairs = 0;

    open_store();
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(settings[i].option, settings[j].option) == 0) {
                continue;
            }
            for (unsigned sort = KEYS; sort <= WORKERS_RULE; sort *= 2) {
                pair_answers(sort, &settings[j], &settings[i]);
                pairs++;
            }
        }
    }
    expect(pairs > 3000);
}

/* A pool with the setting and the allocator, which refuses one request or more. Accepted tasks
 * still run, and all memory is freed. Returns true if a request was refused. */
static bool survives_refusal(unsigned sort, const struct setting *setting, size_t refused_from,
                             bool goes_on)
{
    lanepool_options options = options_of(sort, setting, setting);
    lanepool_pool *pool;
    lanepool_status status;
    unsigned accepted;
    bool refused;

    options.allocator = &allocator;
    store.asked = 0;
    store.refused_from = refused_from;
    store.refuses_one = !goes_on;
    status = lanepool_pool_create(&options, &pool);
    expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM);
    if (status == LANEPOOL_OK) {
        accepted = submit_steps(pool, options.is_compatible == NULL, LANEPOOL_NOMEM);
        pool_end(pool);
        expect_eq(count_runs(), accepted);
    }
    refused = store.asked >= refused_from;
    store.refused_from = 0;
    nothing_is_left();
    return refused;
}

static unsigned count_refusals(unsigned sort, const struct setting *setting)
{
    unsigned refusals = 0;

    for (size_t from = 1; from <= REFUSALS_MAX; from++) {
        refusals += survives_refusal(sort, setting, from, false);
        refusals += survives_refusal(sort, setting, from, true);
    }
    return refusals;
}

Test(option_pairs, allocator_may_refuse_each_request_beside_each_option)
{
    open_store();
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        for (unsigned sort = KEYS; sort <= WORKERS_RULE; sort *= 2) {
            if (settings[i].sorts & sort) {
                expect(count_refusals(sort, &settings[i]) >= 2);
            }
        }
    }
}
