/* One account that every task credits, beside a client of its own: by the mode in which tasks claim
 * that account. Every thousandth task reads the account instead. */
#include <stdatomic.h>

#include "waits.h"

#define CLIENTS     1024
#define TASKS       200000
#define READ_EACH   1000
#define BODY_NS     2000
#define TIMES       5
#define HOT_ACCOUNT CLIENTS
#define UNCLAIMED   3 /* in place of a mode */

static uint64_t body_rounds;
static _Atomic uint64_t credited;
static _Atomic uint64_t wrong;

/* A task's context is its number. */
static uint64_t number_of(const void *context)
{
    return (uint64_t)(uintptr_t)context;
}

static int credit(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    waits_body(body_rounds);
    atomic_fetch_add_explicit(&credited, 1, memory_order_relaxed);
    return 0;
}

/* Conflicts with every credit. Of the tasks before it one in READ_EACH was a read. */
static int read_account(lanepool_run *run, void *context)
{
    (void)run;
    uint64_t before = number_of(context);
    atomic_fetch_add_explicit(&wrong,
                              atomic_load_explicit(&credited, memory_order_relaxed) !=
                                  before - before / READ_EACH,
                              memory_order_relaxed);
    return 0;
}

static void submit(lanepool_pool *pool, size_t number, unsigned mode, uint64_t *state)
{
    lanepool_claim claims[2];
    lanepool_task task = LANEPOOL_TASK_INIT;
    bool reads = mode != UNCLAIMED && number % READ_EACH == READ_EACH - 1;
    task.function = reads ? read_account : credit;
    task.context = (void *)(uintptr_t)number;
    task.claims = claims;
    if (!reads)
        claims[task.claim_count++] = lanepool_exclusive(probe_random(state) % CLIENTS);
    if (reads)
        mode = mode == LANEPOOL_COMMUTING ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    if (mode != UNCLAIMED)
        claims[task.claim_count++] =
            lanepool_claim_of(lanepool_key_id(HOT_ACCOUNT), (lanepool_mode)mode);
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "a submit");
}

/* Returns the time of each task. */
static double run_once_ns(unsigned mode, size_t tasks)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 2;
    options.pending_max = LANEPOOL_UNLIMITED;
    lanepool_pool *pool = probe_pool_create(&options);
    uint64_t state = 1;
    atomic_store(&credited, 0);
    double begin_ns = probe_now_ns();
    for (size_t i = 0; i < tasks; i++)
        submit(pool, i, mode, &state);
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
    double took_ns = probe_now_ns() - begin_ns;
    probe_pool_destroy(pool);
    return took_ns / (double)tasks;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { [LANEPOOL_EXCLUSIVE] = "EXCLUSIVE",
                                         [LANEPOOL_SHARED] = "SHARED",
                                         [LANEPOOL_COMMUTING] = "COMMUTING",
                                         [UNCLAIMED] = "unclaimed" };
    struct probe_options options = probe_options_read(argc, argv);
    size_t tasks = probe_scaled(&options, TASKS, READ_EACH);
    body_rounds = waits_body_rounds(BODY_NS);
    double measured[UNCLAIMED + 1][TIMES];
    for (size_t time = 0; time < TIMES; time++)
        for (unsigned mode = 0; mode <= UNCLAIMED; mode++)
            measured[mode][time] = run_once_ns(mode, tasks);
    for (unsigned mode = 0; mode <= UNCLAIMED; mode++)
        probe_point("hot", names[mode], 1, probe_median(measured[mode], TIMES), "ns");
    probe_require(wrong == 0, "reads are exact");
    return 0;
}
