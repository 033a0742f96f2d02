/* The gain from serving requests of customers in parallel, with only the requests of one customer
 * in order, instead of one after the other. A request waits for another program, or works, or does
 * both. With sessions, a customer's session has to be opened first, which is another wait. */
#include <stdio.h>

#include "waits.h"

#define REQUESTS  2000
#define CUSTOMERS 64
#define WAIT_NS   200e3 /* for a disk, a bank, a database */
#define WORK_NS   20e3
#define OPEN_NS   500e3

/* The parts of a request. */
struct kind {
    const char *name;
    double wait_ns;
    double work_ns;
    bool has_session;
};

static const struct kind *kind;
static uint64_t body_rounds;

static void serve(void)
{
    if (kind->wait_ns > 0)
        waits_sleep(kind->wait_ns);
    if (kind->work_ns > 0)
        waits_body(body_rounds);
}

/* --- one after the other --- */

/* Every customer's session stays open from the first request on. */
static double serve_in_series(size_t requests)
{
    static bool open[CUSTOMERS];
    uint64_t state = 1;
    double begin = probe_now_ns();
    for (size_t i = 0; i < CUSTOMERS; i++)
        open[i] = false;
    for (size_t i = 0; i < requests; i++) {
        bool *session = &open[probe_random(&state) % CUSTOMERS];
        if (kind->has_session && !*session)
            waits_sleep(OPEN_NS);
        *session = true;
        serve();
    }
    return probe_now_ns() - begin;
}

/* --- in lanes --- */

static int open_session(void *user, lanepool_key customer, void **session)
{
    (void)user, (void)customer, (void)session;
    waits_sleep(OPEN_NS);
    return 0;
}

static int serve_one(lanepool_run *run, void *context)
{
    timing_be_punctual();
    if (kind->has_session)
        probe_require(lanepool_run_context(run, lanepool_key_none(), &context, NULL) == LANEPOOL_OK,
                      "a session");
    serve();
    return 0;
}

static double serve_in_lanes(size_t requests, unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_context_options sessions = LANEPOOL_CONTEXT_OPTIONS_INIT;
    sessions.open = open_session;
    sessions.linger_min_ns = LANEPOOL_FOREVER;
    options.workers = workers;
    options.contexts = kind->has_session ? &sessions : NULL;
    lanepool_pool *pool = probe_pool_create(&options);
    uint64_t state = 1;
    double begin = probe_now_ns();
    for (size_t i = 0; i < requests; i++) {
        char name[32];
        int size =
            snprintf(name, sizeof name, "customer-%d", (int)(probe_random(&state) % CUSTOMERS));
        lanepool_claim customer =
            lanepool_claim_of(lanepool_key_bytes(name, (size_t)size), LANEPOOL_EXCLUSIVE);
        lanepool_task task = LANEPOOL_TASK_INIT;
        task.function = serve_one;
        task.claims = &customer;
        task.claim_count = 1;
        probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "a submit");
    }
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
    double took = probe_now_ns() - begin;
    probe_pool_destroy(pool);
    return took;
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        { "waits", WAIT_NS, 0, false },
        { "waits and works", WAIT_NS, WORK_NS, false },
        { "waits, in a session", WAIT_NS, 0, true },
        { "works", 0, WORK_NS, false },
    };
    static const unsigned workers[] = { 1, 2, 4, 8, 16 };
    struct probe_options options = probe_options_read(argc, argv);
    size_t requests = probe_scaled(&options, REQUESTS, 100);
    timing_be_punctual();
    body_rounds = waits_body_rounds(WORK_NS);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kind = &kinds[i];
        double series_ns = serve_in_series(requests);
        probe_point("serial_us", kind->name, 1, series_ns / 1e3 / (double)requests, "us");
        for (size_t j = 0; j < sizeof workers / sizeof *workers; j++)
            probe_point("serial_gain", kind->name, workers[j],
                        series_ns / serve_in_lanes(requests, workers[j]), "times as fast");
    }
    return 0;
}
