/* A bank's year: each posting changes a client's account and the bank's own, and the bank's balance
 * is read exactly at the end of each month. The sizes of a month are those of the Berka data set.
 * The bank's account is a lane that each posting claims EXCLUSIVE, or COMMUTING; or it is no lane,
 * but an accumulator that nobody can read at a place in the order. */
#include <stdatomic.h>
#include <time.h>

#include "waits.h"

#define CLIENTS   4500
#define POSTINGS  44000
#define MONTH     14671
#define BODY_NS   20000
#define WORKERS   2
#define TIMES     5
#define BANK      CLIENTS
#define UNCLAIMED 3 /* in place of a mode */

static uint64_t body_rounds;
static _Atomic uint64_t bank; /* postings that have been made */
static _Atomic uint64_t wrong;

static int post(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    waits_body(body_rounds);
    atomic_fetch_add_explicit(&bank, 1, memory_order_relaxed);
    return 0;
}

/* A month-end is a cut. Its context is the number of postings before it. */
static int read_bank(lanepool_run *run, void *context, size_t index)
{
    uint64_t before = (uint64_t)(uintptr_t)context;
    (void)run;
    (void)index;
    atomic_fetch_add_explicit(&wrong, atomic_load_explicit(&bank, memory_order_relaxed) != before,
                              memory_order_relaxed);
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
    probe_require(lanepool_pool_submit(pool, task) == LANEPOOL_OK, "a submit");
}

static void submit_posting(lanepool_pool *pool, unsigned mode, uint64_t *state)
{
    lanepool_claim claims[2] = { lanepool_exclusive(probe_random(state) % CLIENTS),
                                 { .key = lanepool_key_id(BANK) } };
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = post;
    task.claims = claims;
    task.claim_count = mode == UNCLAIMED ? 1 : 2;
    if (mode != UNCLAIMED)
        claims[1].mode = (lanepool_mode)mode;
    submit(pool, &task);
}

static void submit_month_end(lanepool_pool *pool, size_t postings)
{
    lanepool_claim claim = lanepool_shared(BANK);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = end_month;
    task.at_lane = read_bank;
    task.context = (void *)(uintptr_t)postings;
    task.claims = &claim;
    task.claim_count = 1;
    submit(pool, &task);
}

/* Returns how many bodies ran at the same time on average. */
static double run_once(unsigned mode, size_t postings, double body_ns)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = WORKERS;
    options.pending_max = LANEPOOL_UNLIMITED;
    lanepool_pool *pool = probe_pool_create(&options);
    uint64_t state = 1;
    atomic_store(&bank, 0);
    double begin_ns = probe_now_ns();
    for (size_t i = 1; i <= postings; i++) {
        submit_posting(pool, mode, &state);
        if (i % MONTH == 0 && mode != UNCLAIMED)
            submit_month_end(pool, i);
    }
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
    double took_ns = probe_now_ns() - begin_ns;
    probe_pool_destroy(pool);
    return (double)postings * body_ns / took_ns;
}

static double cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns the CPU time of a body. */
static double measure_body_ns(void)
{
    double begin_ns = cpu_now_ns();
    for (int i = 0; i < 100; i++)
        waits_body(body_rounds);
    return (cpu_now_ns() - begin_ns) / 100;
}

int main(int argc, char **argv)
{
    static const unsigned modes[] = { LANEPOOL_EXCLUSIVE, LANEPOOL_COMMUTING, UNCLAIMED };
    static const char *const names[] = { "EXCLUSIVE", "COMMUTING", "accumulator" };
    enum { MODES = sizeof modes / sizeof *modes };
    struct probe_options options = probe_options_read(argc, argv);
    size_t postings = probe_scaled(&options, POSTINGS, MONTH);
    double measured[MODES][TIMES], ratios[TIMES];
    body_rounds = waits_body_rounds(BODY_NS);
    double body_ns = measure_body_ns();
    for (size_t time = 0; time < TIMES; time++) {
        for (size_t i = 0; i < MODES; i++)
            measured[i][time] = run_once(modes[i], postings, body_ns);
        ratios[time] = measured[1][time] / measured[2][time];
    }
    for (size_t i = 0; i < MODES; i++)
        probe_point("bank", names[i], 0, probe_median(measured[i], TIMES), "bodies at once");
    probe_point("bank_ratio", "COMMUTING", 0, probe_median(ratios, TIMES), "of the accumulator");
    probe_require(wrong == 0, "reads are exact");
    return 0;
}
