/* The cost of a submit alone, compared with an atomic exchange on a cache line that no other thread
 * uses. Also the cost of a task from its submit to its end if no other thread is involved: inside
 * the pool's only worker. */
#include "fill.h"

#include <stdatomic.h>
#include <stdlib.h>

#define KEYS       1024  /* if tasks have keys in common */
#define KEYS_APART 16384 /* if they do not */
#define SUBMITS    1000
#define CLAIMS_MAX 10
#define CLAIMS     (SUBMITS * CLAIMS_MAX)
#define EXCHANGES  100000
#define ATTEMPTS   200

static const size_t claim_counts[] = { 0, 1, 2, 3, 5, CLAIMS_MAX };

/* A task of the pool that submits all others from inside the only worker. */
struct inside {
    const struct fill *fill;
    double began_ns;
};

static double exchange_ns(void)
{
    static _Alignas(PROBE_LINE) atomic_uint_least64_t word;
    double measured[ATTEMPTS];
    for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        double begin = probe_now_ns();
        for (uint64_t i = 0; i < EXCHANGES; i++)
            atomic_exchange_explicit(&word, i, memory_order_acq_rel);
        measured[attempt] = (probe_now_ns() - begin) / EXCHANGES;
    }
    return probe_median(measured, ATTEMPTS);
}

static int submit_all(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_task task = LANEPOOL_TASK_INIT;
    bool are_accepted = true;
    task.function = probe_countdown_run;
    task.context = inside->fill->countdown;
    task.claims = inside->fill->claims;
    task.claim_count = inside->fill->claim_count;
    inside->began_ns = probe_now_ns();
    for (size_t i = 0; i < inside->fill->task_count; i++) {
        are_accepted &= lanepool_pool_submit(lanepool_run_pool(run), &task) == LANEPOOL_OK;
        task.claims += task.claim_count;
    }
    probe_require(are_accepted, "submits from inside");
    return 0;
}

/* Returns the time from the first submit until the last task has run. */
static double whole_ns(const struct fill *fill)
{
    double measured[ATTEMPTS];
    for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct inside inside = { .fill = fill };
        lanepool_task task = LANEPOOL_TASK_INIT;
        task.function = submit_all;
        task.context = &inside;
        probe_countdown_set(fill->countdown, fill->task_count);
        probe_require(lanepool_pool_submit(fill->pool, &task) == LANEPOOL_OK, "a submit");
        double ended_ns = probe_countdown_wait(fill->countdown);
        measured[attempt] = ended_ns - inside.began_ns;
    }
    return probe_median(measured, ATTEMPTS);
}

int main(int argc, char **argv)
{
    probe_options_read(argc, argv);
    lanepool_claim *crowded = fill_claims(CLAIMS, KEYS);
    lanepool_claim *apart = fill_claims(CLAIMS, KEYS_APART);
    struct fill fill = { .task_count = SUBMITS };
    double exchange = exchange_ns();
    fill_begin(&fill);
    for (size_t i = 0; i < sizeof claim_counts / sizeof *claim_counts; i++) {
        double x = (double)claim_counts[i];
        fill.claims = crowded;
        fill.claim_count = claim_counts[i];
        probe_point("submit", "submit", x, fill_measure(&fill).submit_ns / SUBMITS, "ns");
        probe_point("submit", "an exchange", x, exchange, "ns");
        probe_point("inside", "keys in common", x, whole_ns(&fill) / SUBMITS, "ns");
        fill.claims = apart;
        probe_point("inside", "no conflicts", x, whole_ns(&fill) / SUBMITS, "ns");
    }
    fill_end(&fill);
    free(crowded);
    free(apart);
    return 0;
}
