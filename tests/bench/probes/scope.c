/* The cost of a submit in a pool with a rule of the program whose scope is the tasks' claims, with
 * 1,000 to 1,000,000 pending tasks. The only worker waits at a gate; the submitter calls the
 * rule. */
#include "probe.h"

#include <stdlib.h>

#define DEPTH_MAX   1000000
#define ONE_KEY_MAX 10000
#define PER_KEY     8
#define GROUP       64 /* keys whose submits are measured at once */
#define GROUPS_MAX  16
#define GROUP_SHARE 16 /* a sixteenth of the keys is measured, at most */
#define TIMES_MAX   9

enum where {
    KEYS_IN_CACHE,     /* the key had a submit just before */
    KEYS_OUT_OF_CACHE, /* another key's turn comes each time */
    ONE_KEY            /* all tasks claim it */
};

static lanepool_pool *pool;
static struct probe_countdown *countdown;
static double clock_ns;
static uint64_t questions;

static int run_task(lanepool_run *run, void *context)
{
    (void)context;
    return probe_countdown_run(run, countdown);
}

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    questions++;
    return true;
}

static void submit(uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = run_task;
    task.claims = &claim;
    task.claim_count = 1;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "submits");
}

static size_t groups_at(enum where where, size_t depth)
{
    size_t groups = depth / PER_KEY / GROUP / GROUP_SHARE;
    if (groups > GROUPS_MAX)
        groups = GROUPS_MAX;
    return groups == 0 || where == ONE_KEY ? 1 : groups;
}

/* Returns the key of the measured submit `i` of a group. Keys at a distance are not neighbours in
 * memory. */
static uint64_t measured_key(enum where where, size_t depth, size_t group, size_t i)
{
    size_t keys = depth / PER_KEY;
    if (where == ONE_KEY)
        return 0;
    return where == KEYS_IN_CACHE ? group * GROUP + i : (group * GROUP + i) * 7919 % keys;
}

/* The measured keys get their eighth task in the group's turn. */
static void fill(enum where where, size_t depth)
{
    size_t hot_keys = where == KEYS_IN_CACHE ? groups_at(where, depth) * GROUP : 0;
    for (size_t i = 0; i < depth; i++) {
        uint64_t key = where == ONE_KEY ? 0 : i % (depth / PER_KEY);
        if (key >= hot_keys || i >= depth / PER_KEY)
            submit(key);
    }
}

/* Returns the time of each of some submits with about `depth` pending tasks. */
static double submit_once_ns(enum where where, size_t depth)
{
    size_t groups = groups_at(where, depth);
    size_t warm = where == KEYS_IN_CACHE ? groups * GROUP : 0;
    double took = 0;
    struct probe_gate *gate = probe_gate_shut(pool, 0);
    probe_countdown_set(countdown, depth + groups * GROUP);
    fill(where, depth);
    for (size_t group = 0; group < groups; group++) {
        for (size_t i = 0; i < GROUP && warm > 0; i++)
            submit(measured_key(where, depth, group, i));
        questions = 0;
        double begin = probe_now_ns();
        for (size_t i = 0; i < GROUP; i++)
            submit(measured_key(where, depth, group, i));
        took += probe_now_ns() - begin - clock_ns;
        probe_require(where == ONE_KEY || questions <= (2 * PER_KEY + 2) * GROUP,
                      "the rule is asked about one key's tasks");
    }
    probe_gate_open(gate);
    probe_countdown_wait(countdown);
    probe_gate_gone(gate);
    return took / (double)(groups * GROUP);
}

static void measure(const char *name, enum where where, size_t depth_max)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.is_compatible = is_compatible;
    pool = probe_pool_create(&options);
    for (size_t depth = 1000; depth <= depth_max; depth *= 10) {
        double measured[TIMES_MAX];
        submit_once_ns(where, depth);
        size_t times = depth < DEPTH_MAX ? TIMES_MAX : 3;
        for (size_t i = 0; i < times; i++)
            measured[i] = submit_once_ns(where, depth);
        probe_point("scope", name, (double)depth, probe_median(measured, times), "ns");
    }
    probe_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t depth_max = probe_scaled(&options, DEPTH_MAX, 1000);
    size_t one_key_max = depth_max < ONE_KEY_MAX ? depth_max : ONE_KEY_MAX;
    countdown = probe_countdown_create();
    clock_ns = probe_clock_ns();
    measure("8 tasks a key, key in the cache", KEYS_IN_CACHE, depth_max);
    measure("8 tasks a key, key not in the cache", KEYS_OUT_OF_CACHE, depth_max);
    measure("one key, all compatible", ONE_KEY, one_key_max);
    probe_countdown_destroy(countdown);
    return 0;
}
