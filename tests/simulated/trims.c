/* Memory goes back while tasks are submitted and run: by idle workers, busy ones, and a call. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

/* So many wide tasks take more memory than the reserve. */
enum { TASKS = 40, CLAIMS = 8, ROUNDS = 3, LONG = 1000 };

static _Atomic uint32_t runs;

static int run_for_a_while(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    sim_sleep(1);
    atomic_fetch_add(&runs, 1);
    return 0;
}

static void submit_wide_tasks(void)
{
    lanepool_claim claims[CLAIMS];

    for (uint64_t i = 0; i < CLAIMS; i++)
        claims[i] = lanepool_shared(i);
    for (int i = 0; i < TASKS; i++) {
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = run_for_a_while;
        task.claims = claims;
        task.claim_count = CLAIMS;
        EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    }
}

static void trim_again_and_again(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        sim_sleep(TASKS);
        EXPECT_STATUS(OK, lanepool_pool_trim(scene.pool));
    }
}

SCENARIO(scenario_80_memory_goes_back_while_tasks_are_submitted, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint32_t variant = scene_variant(3);

    options.workers = 2;
    options.quantum_tasks = 2;
    options.layout = variant == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    scene_open(&options);
    atomic_store(&runs, 0);
    if (variant == 2)
        scene_spawn(trim_again_and_again, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        submit_wide_tasks();
        EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
        sim_sleep(LONG); /* the workers sleep, and find memory to give back */
    }
    scene_join();
    scene_close();
    EXPECT(atomic_load(&runs) == ROUNDS * TASKS);
}
