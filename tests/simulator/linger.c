/*
 * Compares the pool's idle time, which follows the pace of each key, with fixed idle times: the
 * same tasks on a pool with contexts, in virtual time.
 *
 *     linger
 *
 * A context costs one open, and memory for as long as it is open. The program prints both costs for
 * each way. It fails if a fixed time opens no more contexts than the pool's rule with less than
 * LEAST_GAIN times its memory. It also fails if a fixed time with no more memory opens less than
 * LEAST_FEWER times as many contexts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "simulator/simulator.h"
#include "support/memory.h"
#include "support/random.h"

#define MS          UINT64_C(1000000)
#define DURATION    (20000 * MS)
#define LEAST_GAIN  1.5
#define LEAST_FEWER 1.2

enum { BUSY = 20, WARM = 60, RARE = 1500, IN_BURSTS = 40, BURST = 20, FIXED = 13 };
enum { KEYS = BUSY + WARM + RARE + IN_BURSTS, ARRIVALS_MAX = 100000 };

struct arrival {
    uint64_t at_ns;
    uint32_t key;
};

/* One way to choose the idle time, and its costs. */
struct way {
    uint64_t min_ns;
    uint64_t max_ns;
    uint64_t opens;
    double open_s; /* sum over all contexts of the seconds that each was open */
};

static struct arrival *arrivals;
static size_t arrival_count;
static uint64_t random_state = 1;
static uint64_t opened_ns[KEYS];
static struct way *way;

/* --- the tasks --- */

static uint64_t draw_gap(uint64_t mean_ns)
{
    double uniform = (random_below(&random_state, 1 << 20) + 0.5) / (1 << 20);

    return (uint64_t)(-log(uniform) * (double)mean_ns);
}

static void add(uint64_t at_ns, uint32_t key)
{
    if (at_ns < DURATION && arrival_count < ARRIVALS_MAX) {
        arrivals[arrival_count++] = (struct arrival){ at_ns, key };
    }
}

static void add_key(uint32_t key, uint64_t mean_ns, uint32_t at_once)
{
    for (uint64_t at = draw_gap(mean_ns); at < DURATION; at += draw_gap(mean_ns)) {
        uint64_t next = at;

        for (uint32_t i = 0; i < at_once; i++) {
            add(next, key);
            next += draw_gap(5 * MS);
        }
    }
}

static int by_time(const void *left, const void *right)
{
    const struct arrival *a = left;
    const struct arrival *b = right;

    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Some keys are busy, some get a task now and then, most get one rarely, and some get bursts. */
static void draw_arrivals(void)
{
    uint32_t key = 0;

    for (uint32_t i = 0; i < BUSY; i++) {
        add_key(key++, 20 * MS * (1 + i % 5), 1);
    }
    for (uint32_t i = 0; i < WARM; i++) {
        add_key(key++, 500 * MS, 1);
    }
    for (uint32_t i = 0; i < RARE; i++) {
        add_key(key++, 20000 * MS, 1);
    }
    for (uint32_t i = 0; i < IN_BURSTS; i++) {
        add_key(key++, 5000 * MS, BURST);
    }
    qsort(arrivals, arrival_count, sizeof *arrivals, by_time);
}

/* --- the pool --- */

static int open_one(void *user, lanepool_key key, void **context)
{
    (void)user, (void)context;
    opened_ns[key.id] = sim_now();
    way->opens++;
    return 0;
}

static void close_one(void *user, lanepool_key key, void *context)
{
    (void)user, (void)context;
    way->open_s += (double)(sim_now() - opened_ns[key.id]) / 1e9;
}

static int use(lanepool_run *run, void *context)
{
    (void)context;
    if (lanepool_run_context(run, lanepool_key_none(), &context, NULL) != LANEPOOL_OK) {
        sim_fail("a task got no context");
    }
    return 0;
}

static void submit(lanepool_pool *pool, const struct arrival *arrival)
{
    lanepool_claim claim = lanepool_exclusive(arrival->key);
    lanepool_task task = LANEPOOL_TASK_INIT;

    sim_sleep(arrival->at_ns > sim_now() ? arrival->at_ns - sim_now() : 0);
    task.function = use;
    task.claims = &claim;
    task.claim_count = 1;
    if (lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
        sim_fail("a task was refused");
    }
}

static void serve(void *argument)
{
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    (void)argument;
    contexts.open = open_one;
    contexts.close = close_one;
    contexts.linger_min_ns = way->min_ns;
    contexts.linger_max_ns = way->max_ns;
    contexts.lingering_max = KEYS;
    options.workers = 1;
    options.contexts = &contexts;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK) {
        sim_fail("the pool was not created");
    }
    for (size_t i = 0; i < arrival_count; i++) {
        submit(pool, &arrivals[i]);
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        sim_fail("the pool does not end");
    }
}

static bool measure(struct way *measured)
{
    struct sim_options options = { .seed = 1, .strategy = SIM_BURSTS, .steps_max = UINT64_MAX };
    struct sim_report report;

    way = measured;
    if (!sim_run(&options, serve, NULL, &report)) {
        printf("%s\n", report.why);
        return false;
    }
    printf("%6.0f to %6.0f ms: %6llu opened, %8.1f context seconds\n",
           (double)measured->min_ns / 1e6, (double)measured->max_ns / 1e6,
           (unsigned long long)measured->opens, measured->open_s);
    return true;
}

/* Compares two fixed times with the pool's rule: the one with the least memory among those that
 * open no more contexts, and the one with the fewest opens among those that use no more memory. */
static bool judge(const struct way *fixed, const struct way *adaptive)
{
    double memory = HUGE_VAL;
    double opens = HUGE_VAL;

    for (int i = 0; i < FIXED; i++) {
        if (fixed[i].opens <= adaptive->opens) {
            memory = fmin(memory, fixed[i].open_s);
        }
        if (fixed[i].open_s <= adaptive->open_s) {
            opens = fmin(opens, (double)fixed[i].opens);
        }
    }
    memory /= adaptive->open_s;
    opens /= (double)adaptive->opens;
    printf("a fixed time with as few opens needs %.2f times the memory; one with as little memory "
           "opens %.2f times as many\n",
           memory, opens);
    return memory >= LEAST_GAIN && opens >= LEAST_FEWER;
}

int main(void)
{
    struct way fixed[FIXED] = { { 0 } };
    struct way adaptive = { .min_ns = 10 * MS, .max_ns = 2000 * MS };
    bool passed = true;

    arrivals = memory_get(ARRIVALS_MAX, sizeof *arrivals);
    draw_arrivals();
    printf("%zu tasks on %d keys\n", arrival_count, KEYS);
    for (int i = 0; i < FIXED; i++) {
        fixed[i].min_ns = fixed[i].max_ns = (uint64_t)(50.0 * pow(1.42, i)) * MS;
        passed &= measure(&fixed[i]);
    }
    passed &= measure(&adaptive);
    passed = passed && judge(fixed, &adaptive);
    free(arrivals);
    return !passed;
}
