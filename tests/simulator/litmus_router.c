/*
 * Litmus programs of the inbox and the router role: submitters append nodes, workers route them and
 * sleep. The pool has only the parts that routing needs, and a rule that records what is routed. A
 * worker takes the steps of worker.c and worker_loop.c. If a wake-up is lost, all threads wait.
 */
#include <string.h>

#include "route/pool.h"
#include "sched/worker.h"
#include "simulator/litmus.h"

enum { SUBMITTERS_MAX = 3, EACH_MAX = 3, WORKERS_MAX = 2, THREADS_MAX = 6 };

struct node {
    _Alignas(64) lanepool_i_task task;
    uint32_t submitter; /* written before the append */
    uint32_t number;
};

static struct {
    lanepool_pool pool;
    lanepool_i_thread_record records[THREADS_MAX];
    lanepool_i_worker workers[WORKERS_MAX];
    struct node nodes[SUBMITTERS_MAX][EACH_MAX];
    uint32_t worker_count;
    uint32_t submitters;
    uint32_t each;
    bool reaps;                         /* nodes are put on the list of finished tasks */
    bool batch;                         /* each submitter appends all of its nodes at once */
    uint32_t routed_of[SUBMITTERS_MAX]; /* R */
    uint32_t routed;                    /* R */
    bool found[WORKERS_MAX + SUBMITTERS_MAX];
    _Atomic uint32_t done;
} all;

static void count_routed(void)
{
    if (++all.routed != all.submitters * all.each)
        return;
    store_seq(&all.done, 1);
    lanepool_i_sleepers_wake_all(&all.pool.workers.sleepers);
}

static struct node *node_of(lanepool_i_task *task)
{
    return (struct node *)(void *)task;
}

static void route(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                  lanepool_i_grants *grants)
{
    const struct node *node = node_of(task);

    (void)pool, (void)grants;
    if (node->number != all.routed_of[node->submitter]++)
        sim_fail("node %u of submitter %u is routed out of order", node->number, node->submitter);
    all.found[record - all.records] = true;
    count_routed();
}

static void reap(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    (void)pool, (void)record;
    all.routed_of[node_of(task)->submitter]++;
    count_routed();
}

static void dispose(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    (void)pool, (void)record, (void)task;
}

static const lanepool_i_rule rule = { .route = route, .reap = reap, .route_max = 1 };
static const lanepool_i_router_host host = { .dispose = dispose, .dispose_silently = dispose };

/* --- submitters --- */

static void submit_all(uint32_t submitter, lanepool_i_thread_record *record)
{
    struct node *nodes = all.nodes[submitter];
    lanepool_i_inbox *inbox = &all.pool.router.inbox;

    for (uint32_t i = 0; i < all.each; i++) {
        memset(&nodes[i].task, 0, sizeof nodes[i].task);
        nodes[i].submitter = submitter;
        nodes[i].number = i;
        atomic_init(&nodes[i].task.word, 0);
        atomic_init(&nodes[i].task.next, &nodes[i].task); /* from an earlier list */
        if (all.reaps) {
            lanepool_i_router_reap_later(&all.pool, record, &nodes[i].task);
        } else if (!all.batch) {
            if (!lanepool_i_inbox_append(inbox, &nodes[i].task, &nodes[i].task, NULL))
                sim_fail("the inbox is closed");
            lanepool_i_router_after_append(&all.pool, record);
        } else if (i > 0) {
            store_relaxed(&nodes[i - 1].task.next, &nodes[i].task);
        }
    }
    if (!all.batch)
        return;
    if (!lanepool_i_inbox_append(inbox, &nodes[0].task, &nodes[all.each - 1].task, NULL))
        sim_fail("the inbox is closed");
    lanepool_i_router_after_append(&all.pool, record);
}

/* --- workers --- */

static bool is_work_left(void)
{
    return load_seq(&all.done) != 0 || (load_seq(&all.pool.router.inbox.role) == 0 &&
                                        lanepool_i_router_has_work(&all.pool.router));
}

static bool may_be_hidden(lanepool_i_thread_record *record)
{
    if (load_seq(&all.pool.router.inbox.role) != 0) {
        if (!lanepool_i_role_try_or_ask(&all.pool.router))
            return false;
        lanepool_i_role_give_back(&all.pool, record);
    }
    return lanepool_i_inbox_is_half_linked(&all.pool.router.inbox);
}

/* Returns true if this thread has routed a node: then the worker has a task to run. */
static bool find(lanepool_i_thread_record *record)
{
    bool *found = &all.found[record - all.records];

    *found = false;
    if (lanepool_i_router_may_have_work(&all.pool.router))
        lanepool_i_router_try_route(&all.pool, record);
    return *found;
}

static void work(uint32_t worker, lanepool_i_thread_record *record)
{
    lanepool_i_sleepers *sleepers = &all.pool.workers.sleepers;
    bool searching = false;

    while (load_acquire(&all.done) == 0) {
        if (find(record)) {
            if (searching && lanepool_i_sleepers_end_search(sleepers) &&
                (is_work_left() || may_be_hidden(record)))
                lanepool_i_sleepers_wake(sleepers);
            searching = false;
            continue;
        }
        if (!searching) {
            lanepool_i_sleepers_start_search(sleepers);
            searching = true;
            continue;
        }
        lanepool_i_sleepers_prepare(sleepers, worker);
        lanepool_i_router_refresh(&all.pool, record);
        if (is_work_left())
            lanepool_i_sleepers_stay_awake(sleepers, worker);
        else
            lanepool_i_sleepers_sleep(sleepers, worker);
    }
}

static void work_or_submit(uint32_t thread)
{
    lanepool_i_thread_record *record = &all.records[thread];

    if (thread < all.worker_count)
        work(thread, record);
    else
        submit_all(thread - all.worker_count, record);
}

static void play(uint32_t workers, uint32_t submitters, uint32_t each, bool submitter_routes)
{
    memset(&all.pool, 0, sizeof all.pool);
    memset(all.records, 0, sizeof all.records);
    memset(all.routed_of, 0, sizeof all.routed_of);
    all.worker_count = workers;
    all.submitters = submitters;
    all.each = each;
    all.routed = 0;
    atomic_init(&all.done, 0);
    all.pool.rule = &rule;
    all.pool.host = &host;
    all.pool.submitter_routes = submitter_routes;
    for (uint32_t i = 0; i < workers; i++)
        all.records[i].worker = &all.workers[i];
    lanepool_i_router_init(&all.pool.router);
    if (!lanepool_i_waits_init(&all.pool.waits) ||
        !lanepool_i_sleepers_init(&all.pool.workers.sleepers, workers, workers, NULL, NULL))
        sim_fail("no parts");
    litmus_threads(workers + submitters, work_or_submit);
    if (all.routed != submitters * each)
        sim_fail("%u nodes were routed", all.routed);
    lanepool_i_sleepers_fini(&all.pool.workers.sleepers);
    lanepool_i_waits_fini(&all.pool.waits);
}

static void play_kind(bool reaps, bool batch, uint32_t workers, uint32_t submitters, uint32_t each,
                      bool submitter_routes)
{
    all.reaps = reaps;
    all.batch = batch;
    play(workers, submitters, each, submitter_routes);
}

LITMUS(router_one)
{
    (void)unused;
    play_kind(false, false, 1, 1, 2, false);
}

LITMUS(router_two)
{
    (void)unused;
    play_kind(false, false, 1, 2, 2, false);
}

LITMUS(router_workers)
{
    (void)unused;
    play_kind(false, false, 2, 2, 2, false);
}

LITMUS(router_submitters)
{
    (void)unused;
    play_kind(false, false, 1, 2, 2, true);
}

LITMUS(router_batches)
{
    (void)unused;
    play_kind(false, true, 1, 2, 3, false);
}

LITMUS(router_reaps)
{
    (void)unused;
    play_kind(true, false, 1, 2, 2, false);
}
