/* A quiesce ends although tasks that are submitted later keep all workers busy. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { ENDLESS = 4, QUIESCES = 40 };

/* For each key, a task that submits itself again until all quiesces have returned. */
static uint64_t keys[ENDLESS];
static _Atomic bool is_quiet;

static lanepool_status submit_endless(uint64_t *key);

static int run_and_submit_again(lanepool_run *run, void *context)
{
    (void)run;
    sim_sleep(1);
    if (!atomic_load(&is_quiet))
        EXPECT_STATUS(OK, submit_endless(context));
    return 0;
}

static lanepool_status submit_endless(uint64_t *key)
{
    lanepool_claim claim = lanepool_exclusive(*key);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = run_and_submit_again;
    task.context = key;
    task.claims = &claim;
    task.claim_count = scene.options.is_compatible == NULL;
    return lanepool_pool_submit(scene.pool, &task);
}

static bool is_another(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)user;
    return a->context != b->context;
}

/* Finished tasks may be reaped by a thread that has run later tasks already. */
SCENARIO(scenario_02_quiesce_beside_workers_that_never_run_dry, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint32_t variant = scene_variant(4);

    options.workers = 2;
    options.quantum_tasks = 2;
    options.layout = variant == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    options.is_compatible = variant > 0 ? is_another : NULL;
    scene_open(&options);
    atomic_store(&is_quiet, false);
    for (uint64_t i = 0; i < ENDLESS; i++) {
        keys[i] = i;
        EXPECT_STATUS(OK, submit_endless(&keys[i]));
    }
    for (int i = 0; i < QUIESCES; i++)
        EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    atomic_store(&is_quiet, true);
    scene_close();
}
