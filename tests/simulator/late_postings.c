/*
 * How late postings start while totals over all lanes are made, in virtual time.
 *
 *     late_postings [--postings COUNT] [--lanes COUNT] [--seeds COUNT]
 *
 * A submitter posts every 8 µs, and now and then submits a total, which reads every lane. A posting
 * takes 1 µs. Each step of the library takes time, too, as if all threads had one processor. With
 * these steps, a lane of a total takes 90 ns in all, as much as probe_totals measures. One client
 * is slow for 50 ms: a posting of the client right before each total, or the total in that client's
 * lane. All other clients' postings are measured. The engine has its real sizes. probe_totals
 * measures the same on threads, where a posting is also late if the system takes the processor
 * away.
 *
 * Each total must have read, in every lane, exactly the postings that were submitted before it. The
 * program fails if a posting is late beside cuts, or if none is beside rollups of a slow client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanepool/lanepool.h"
#include "simulator/simulator.h"
#include "stress/arguments.h"
#include "support/memory.h"
#include "support/random.h"

#define PERIOD_NS UINT64_C(8000)
#define BODY_NS   1000
#define VISIT_NS  40
#define SLOW_NS   UINT64_C(50000000)
#define EVERY_NS  UINT64_C(100000000) /* from one total to the next */
#define LATE_NS   UINT64_C(2000000)
#define STEP_NS   UINT64_C(2)
#define SLOW_LANE 0

enum { WORKERS = 2, TOTALS_MAX = 1000 };
enum slow { NOT_SLOW, SLOW_BEFORE, SLOW_INSIDE, SLOWS };

static const char *const slow_names[] = { "none", "before", "inside" };

struct posting {
    uint32_t lane;
    uint64_t started_ns;
};

static struct {
    size_t posting_count, lane_count, total_count;
    bool cuts;
    enum slow slow;
    struct posting *postings; /* in the order of their submits */
    uint32_t *balances;       /* of each lane: how many postings have run; guarded by the lanes */
    uint32_t *contributions;  /* of each total, and in it of each lane */
    lanepool_claim *claims;
    uint64_t begin_ns;
} till;

/* --- tasks --- */

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;

    (void)run;
    posting->started_ns = sim_now();
    sim_sleep(BODY_NS);
    till.balances[posting->lane]++;
    return 0;
}

static int post_slowly(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    sim_sleep(SLOW_NS);
    till.balances[SLOW_LANE]++;
    return 0;
}

static int read_lane(lanepool_run *run, void *context, size_t lane)
{
    uint32_t *contributions = context;

    (void)run;
    sim_sleep(VISIT_NS);
    contributions[lane] = till.balances[lane];
    if (lane == SLOW_LANE && till.slow == SLOW_INSIDE) {
        sim_sleep(SLOW_NS);
    }
    return 0;
}

static int end_total(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static int read_all_lanes(lanepool_run *run, void *context)
{
    for (size_t lane = 0; lane < till.lane_count; lane++) {
        (void)read_lane(run, context, lane);
    }
    return 0;
}

/* --- submits --- */

static void submit(lanepool_pool *pool, lanepool_task_fn function, void *context, uint32_t lane)
{
    lanepool_claim claim = lanepool_exclusive(lane);

    if (lanepool_pool_submit(pool, LANEPOOL_TASK(.function = function, .context = context,
                                                 .claims = &claim, .claim_count = 1)) !=
        LANEPOOL_OK) {
        sim_fail("a posting was refused");
    }
}

static void submit_total(lanepool_pool *pool, size_t number)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = till.cuts ? end_total : read_all_lanes;
    task.at_lane = till.cuts ? read_lane : NULL;
    task.context = &till.contributions[number * till.lane_count];
    task.claims = till.claims;
    task.claim_count = till.lane_count;
    if (lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
        sim_fail("a total was refused");
    }
}

static bool is_total_before(size_t posting)
{
    return posting > 0 && posting % (EVERY_NS / PERIOD_NS) == 0;
}

static void serve(void *argument)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    (void)argument;
    options.workers = WORKERS;
    options.pending_max = LANEPOOL_UNLIMITED;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK) {
        sim_fail("the pool was not created");
    }
    till.begin_ns = sim_now();
    till.total_count = 0;
    for (size_t i = 0; i < till.posting_count; i++) {
        uint64_t due_ns = till.begin_ns + i * PERIOD_NS;

        sim_sleep(due_ns > sim_now() ? due_ns - sim_now() : 0);
        if (is_total_before(i)) {
            if (till.slow == SLOW_BEFORE) {
                submit(pool, post_slowly, NULL, SLOW_LANE);
            }
            submit_total(pool, till.total_count++);
        }
        submit(pool, post, &till.postings[i], till.postings[i].lane);
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        sim_fail("the pool does not end");
    }
}

/* --- results --- */

static bool are_totals_exact(void)
{
    uint32_t *expected = memory_get(till.lane_count, sizeof *expected);
    size_t number = 0;
    bool exact = true;

    for (size_t i = 0; i < till.posting_count; i++) {
        if (is_total_before(i)) {
            expected[SLOW_LANE] += till.slow == SLOW_BEFORE;
            exact &= memcmp(expected, &till.contributions[number++ * till.lane_count],
                            till.lane_count * sizeof *expected) == 0;
        }
        expected[till.postings[i].lane]++;
    }
    free(expected);
    return exact;
}

/* Returns how many postings of other clients than the slow one started late. */
static size_t print_late(void)
{
    size_t late = 0;
    uint64_t latest_ns = 0;

    for (size_t i = 0; i < till.posting_count; i++) {
        uint64_t by_ns = till.postings[i].started_ns - (till.begin_ns + i * PERIOD_NS);

        if (till.postings[i].lane == SLOW_LANE) {
            continue;
        }
        late += by_ns > LATE_NS;
        latest_ns = by_ns > latest_ns ? by_ns : latest_ns;
    }
    printf("%s, slow: %s: %zu of %zu postings late by over 2 ms, the latest by %.3f ms; %zu "
           "totals\n",
           till.cuts ? "cuts" : "rollups", slow_names[till.slow], late, till.posting_count,
           (double)latest_ns / 1e6, till.total_count);
    return late;
}

static bool measure(uint64_t seed, bool cuts, enum slow slow)
{
    struct sim_options options = {
        .seed = seed, .strategy = SIM_BURSTS, .step_ns = STEP_NS, .steps_max = UINT64_MAX
    };
    struct sim_report report;
    uint64_t state = seed;

    till.cuts = cuts;
    till.slow = slow;
    memset(till.balances, 0, till.lane_count * sizeof *till.balances);
    for (size_t i = 0; i < till.posting_count; i++) {
        till.postings[i].lane = (uint32_t)random_below(&state, (uint32_t)till.lane_count);
    }
    if (!sim_run(&options, serve, NULL, &report)) {
        printf("%s\n", report.why);
        return false;
    }
    size_t late = print_late();
    if (!are_totals_exact()) {
        printf("a total has not read what was posted before it\n");
        return false;
    }
    return cuts ? late == 0 : slow == NOT_SLOW || late > 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--postings", "--lanes", "--seeds", NULL };
    bool passes = true;

    arguments_only(argc, argv, names);
    till.posting_count = argument_number(argc, argv, "--postings", 40000);
    till.lane_count = argument_number(argc, argv, "--lanes", 20000);
    size_t seeds = argument_number(argc, argv, "--seeds", 1);
    till.postings = memory_get(till.posting_count, sizeof *till.postings);
    till.balances = memory_get(till.lane_count, sizeof *till.balances);
    till.claims = memory_get(till.lane_count, sizeof *till.claims);
    till.contributions =
        memory_get((till.posting_count * PERIOD_NS / EVERY_NS + 1) * till.lane_count,
                   sizeof *till.contributions);
    for (size_t lane = 0; lane < till.lane_count; lane++) {
        till.claims[lane] = lanepool_shared(lane);
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        for (unsigned slow = NOT_SLOW; slow < SLOWS; slow++) {
            passes &= measure(seed, false, (enum slow)slow);
            passes &= measure(seed, true, (enum slow)slow);
        }
    }
    free(till.contributions);
    free(till.claims);
    free(till.balances);
    free(till.postings);
    return passes ? 0 : 1;
}
