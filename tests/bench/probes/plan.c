/*
 * Plans beside runs. Bodies take 10 to 35 us. Runs with one worker measure each of them. Meanwhile
 * another thread keeps a second processor as busy as a second worker would: two busy processors are
 * slower than one. From these durations a plan predicts how long two workers take, and then two
 * workers do the same. All tasks are submitted while the workers wait at gates.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "waits.h"

enum { TASKS = 2500, KEYS = 1000, ACCOUNTS = 40, WIDE = 256, CUT_LANES = 64, WORKERS = 2 };
enum { RUNS_ALONE = 5, RUNS = 15, BODIES = 26 };
#define SHORTEST_NS 10e3
#define LONGEST_NS  35e3
#define PAUSE_NS    20e6 /* after each run, for other programs */

enum workload { INDEPENDENT, HOT, TRANSFERS, ROLLUPS, CUTS, WORKLOADS };

struct job {
    lanepool_claim *claims;
    size_t claim_count;
    uint64_t rounds;
    double took_ns[RUNS_ALONE];
    double visits_ns[RUNS_ALONE]; /* of all visits together */
    double ended_ns;
    bool is_cut;
};

static struct job *jobs;
static lanepool_claim *claims;
static size_t job_count;
static unsigned run_alone;         /* the number of the run with one worker; RUNS_ALONE: none */
static uint64_t rounds_of[BODIES]; /* of bodies of 10, 11, ... 35 us */

/* --- tasks --- */

static int run_job(lanepool_run *run, void *context)
{
    struct job *job = context;
    double begin = probe_now_ns();
    (void)run;
    waits_body(job->rounds);
    job->ended_ns = probe_now_ns();
    if (run_alone < RUNS_ALONE)
        job->took_ns[run_alone] = job->ended_ns - begin;
    return 0;
}

static int visit_job(lanepool_run *run, void *context, size_t index)
{
    struct job *job = context;
    double begin = probe_now_ns();
    (void)run;
    (void)index;
    waits_body(rounds_of[0]);
    if (run_alone < RUNS_ALONE)
        job->visits_ns[run_alone] += probe_now_ns() - begin;
    return 0;
}

static void submit(lanepool_pool *pool, struct job *job)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = run_job;
    task.context = job;
    task.claims = job->claims;
    task.claim_count = job->claim_count;
    task.at_lane = job->is_cut ? visit_job : NULL;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "submits");
}

static atomic_bool is_measured; /* all bodies are measured: the busy thread ends */

static void *keep_busy(void *unused)
{
    while (!atomic_load(&is_measured))
        waits_body(rounds_of[0]);
    return unused;
}

/* --- workloads --- */

static void claim_many(struct job *job, size_t count, uint64_t first)
{
    job->claim_count = count;
    for (size_t i = 0; i < count; i++)
        job->claims[i] = lanepool_exclusive((first + i) % KEYS);
}

static void make_job(struct job *job, enum workload workload, size_t i, uint64_t *random)
{
    bool is_hundredth = i % 100 == 99;
    uint64_t first = probe_random(random);
    *job = (struct job){ .claims = claims + i * WIDE,
                         .claim_count = 1,
                         .rounds = rounds_of[probe_random(random) % BODIES] };
    job->claims[0] = lanepool_exclusive(first % KEYS);
    if (workload == HOT && first % 100 < 60)
        job->claims[0] = lanepool_exclusive(0);
    if (workload == TRANSFERS) {
        job->claims[0] = lanepool_exclusive(first % ACCOUNTS);
        job->claims[1] = lanepool_exclusive((first % ACCOUNTS + 1 + first / ACCOUNTS % 39) % 40);
        job->claim_count = 2;
    }
    if (workload == ROLLUPS && is_hundredth)
        claim_many(job, WIDE, first);
    if (workload == CUTS && is_hundredth) {
        claim_many(job, CUT_LANES, first);
        job->is_cut = true;
    }
}

static void make_jobs(enum workload workload)
{
    uint64_t random = 1;
    for (size_t i = 0; i < job_count; i++)
        make_job(&jobs[i], workload, i, &random);
}

/* --- runs --- */

/* Returns how long the workers take, from the opening of the gates to the end of the last task. */
static double run_all(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct probe_gate *gates[WORKERS];
    double end = 0;
    options.workers = workers;
    options.pending_max = LANEPOOL_UNLIMITED;
    lanepool_pool *pool = probe_pool_create(&options);
    for (unsigned i = 0; i < workers; i++)
        gates[i] = probe_gate_shut(pool, 0);
    for (size_t i = 0; i < job_count; i++)
        submit(pool, &jobs[i]);
    double begin = probe_now_ns();
    for (unsigned i = 0; i < workers; i++)
        probe_gate_open(gates[i]);
    for (unsigned i = 0; i < workers; i++)
        probe_gate_gone(gates[i]);
    probe_pool_destroy(pool);
    for (size_t i = 0; i < job_count; i++)
        end = jobs[i].ended_ns > end ? jobs[i].ended_ns : end;
    return end - begin;
}

static double predict_ns(void)
{
    lanepool_plan_pool pool = { .workers = WORKERS };
    lanepool_plan_result result;
    lanepool_plan *plan;
    probe_require(lanepool_plan_create(&plan) == LANEPOOL_OK, "makes a plan");
    for (size_t i = 0; i < job_count; i++) {
        struct job *job = &jobs[i];
        lanepool_plan_task task = { .claims = job->claims,
                                    .claim_count = job->claim_count,
                                    .duration_ns =
                                        (uint64_t)probe_median(job->took_ns, RUNS_ALONE) };
        if (job->is_cut) {
            task.form = LANEPOOL_PLAN_CUT;
            task.visit_ns = (uint64_t)probe_median(job->visits_ns, RUNS_ALONE) / job->claim_count;
        }
        probe_require(lanepool_plan_add(plan, &task) == LANEPOOL_OK, "plans a task");
    }
    probe_require(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_OK, "runs the plan");
    lanepool_plan_destroy(plan);
    return (double)result.makespan_ns;
}

static void measure_bodies(void)
{
    pthread_t busy;
    for (run_alone = 0; run_alone < RUNS_ALONE; run_alone++) {
        atomic_store(&is_measured, false);
        probe_require(pthread_create(&busy, NULL, keep_busy, NULL) == 0, "starts a thread");
        (void)run_all(1);
        atomic_store(&is_measured, true);
        (void)pthread_join(busy, NULL);
        waits_sleep(PAUSE_NS);
    }
}

static void measure(enum workload workload)
{
    double measured[RUNS];
    make_jobs(workload);
    measure_bodies();
    double predicted = predict_ns();
    for (unsigned i = 0; i < RUNS; i++) {
        measured[i] = run_all(WORKERS);
        waits_sleep(PAUSE_NS);
    }
    double median = probe_median(measured, RUNS);
    probe_point("plan", "predicted", (double)workload, predicted / 1e6, "ms");
    probe_point("plan", "measured", (double)workload, median / 1e6, "ms");
    probe_point("plan_off", "", (double)workload, 100 * (predicted / median - 1), "%");
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    job_count = probe_scaled(&options, TASKS, 100);
    jobs = probe_memory(job_count, sizeof *jobs);
    claims = probe_memory(job_count * WIDE, sizeof *claims);
    for (size_t i = 0; i < BODIES; i++)
        rounds_of[i] =
            waits_body_rounds(SHORTEST_NS + (LONGEST_NS - SHORTEST_NS) * (double)i / (BODIES - 1));
    for (unsigned workload = INDEPENDENT; workload < WORKLOADS; workload++)
        measure((enum workload)workload);
    free(claims);
    free(jobs);
    return 0;
}
