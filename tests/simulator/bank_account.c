/*
 * How many postings run at once if each of them touches the bank's own account, in virtual time.
 *
 *     bank_account [--postings COUNT] [--body NS]
 *
 * Each posting changes one of 4,500 clients' accounts and the bank's, and takes 20 µs unless
 * another time is given. At the end of each month a cut reads the bank's balance, which must be
 * exact. Sizes are those of the Berka data set. The bank's account is a lane that postings claim
 * EXCLUSIVE or COMMUTING; or no lane, but an accumulator that nobody can read at a place in the
 * order. Each step of the library takes time, as in crowding.c. The program fails if COMMUTING
 * claims lose a tenth of the parallelism without a lane, or if EXCLUSIVE ones do not. probe_bank
 * measures the same on threads.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "lanepool/lanepool.h"
#include "simulator/simulator.h"
#include "stress/arguments.h"
#include "support/random.h"

#define STEP_NS   UINT64_C(3) /* as in crowding.c */
#define LEAST     0.9
#define UNCLAIMED 3 /* in place of a mode */

enum { CLIENTS = 4500, BANK = CLIENTS, MONTH = 14671, WORKERS = 2 };

static size_t posting_count;
static uint64_t body_ns;
static unsigned mode;
static _Atomic uint64_t bank; /* postings that have been made */
static uint64_t took_ns;

static int post(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    sim_sleep(body_ns);
    atomic_fetch_add(&bank, 1);
    return 0;
}

static int read_bank(lanepool_run *run, void *context, size_t index)
{
    (void)run;
    (void)index;
    if (atomic_load(&bank) != *(const uint64_t *)context) {
        sim_fail("the bank's balance is not that of its place");
    }
    return 0;
}

static int end_month(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static void submit(lanepool_pool *pool, const lanepool_task *task)
{
    if (lanepool_pool_submit(pool, task) != LANEPOOL_OK) {
        sim_fail("a task was refused");
    }
}

static void submit_posting(lanepool_pool *pool, uint64_t *state)
{
    lanepool_claim claims[2] = { lanepool_exclusive(random_below(state, CLIENTS)),
                                 { .key = lanepool_key_id(BANK) } };

    claims[1].mode = mode == UNCLAIMED ? LANEPOOL_EXCLUSIVE : (lanepool_mode)mode;
    submit(pool, LANEPOOL_TASK(.function = post, .claims = claims,
                               .claim_count = mode == UNCLAIMED ? 1 : 2));
}

static void serve(void *argument)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claim = lanepool_shared(BANK);
    uint64_t befores[64];
    size_t months = 0;
    lanepool_pool *pool;
    uint64_t state = 1;

    (void)argument;
    options.workers = WORKERS;
    options.pending_max = LANEPOOL_UNLIMITED;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK) {
        sim_fail("the pool was not created");
    }
    uint64_t begin_ns = sim_now();
    for (size_t i = 1; i <= posting_count; i++) {
        submit_posting(pool, &state);
        if (i % MONTH == 0 && mode != UNCLAIMED && months < 64) {
            befores[months] = i;
            submit(pool, LANEPOOL_TASK(.function = end_month, .at_lane = read_bank,
                                       .context = &befores[months++], .claims = &claim,
                                       .claim_count = 1));
        }
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        sim_fail("the pool does not end");
    }
    took_ns = sim_now() - begin_ns;
}

/* Returns how many bodies ran at the same time on average; 0 if the run has failed. */
static double measure(unsigned how, const char *name)
{
    struct sim_options options = {
        .seed = 1, .strategy = SIM_BURSTS, .step_ns = STEP_NS, .steps_max = UINT64_MAX
    };
    struct sim_report report;

    mode = how;
    atomic_store(&bank, 0);
    if (!sim_run(&options, serve, NULL, &report)) {
        printf("%s\n", report.why);
        return 0;
    }
    double at_once = (double)(posting_count * body_ns) / (double)took_ns;
    printf("%s: %.3f postings at once\n", name, at_once);
    return at_once;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--postings", "--body", NULL };

    arguments_only(argc, argv, names);
    posting_count = argument_number(argc, argv, "--postings", 44013);
    body_ns = argument_number(argc, argv, "--body", 20000);
    double exclusive = measure(LANEPOOL_EXCLUSIVE, "EXCLUSIVE");
    double commuting = measure(LANEPOOL_COMMUTING, "COMMUTING");
    double accumulator = measure(UNCLAIMED, "accumulator");

    return exclusive > 0 && commuting >= LEAST * accumulator && exclusive < LEAST * accumulator ? 0
                                                                                                : 1;
}
