/* Cold keys, which have few tasks, and a flooded key, which has very many: if q ready tasks precede
 * it, a task starts within (q + 1) * (quantum + 1) starts. */
#include "simulated/notes.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { FLOOD = 16, COLD = 4, QUANTUM = 2 };

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

static uint32_t starts_between(uint64_t from, uint64_t to)
{
    uint32_t starts = 0;

    for (uint32_t i = 0; i < scene.task_count; i++) {
        uint64_t start = noted_at(&scene.tasks[i].call_begin);
        starts += start > from && start < to;
    }
    return starts;
}

/* All tasks are ready before the tasks of the busy key begin to run, more than the worker's ring
 * holds. There is one worker, so that the order of starts does not depend on which fiber is
 * delayed. */
SCENARIO(flooded_key_passes_over_no_cold_one_in_a_full_queue, RANDOM)
{
    static const char *const keys[COLD] = { "B", "C", "D", "E" };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct scene_task *cold[COLD];
    lanepool_snapshot *routed;

    options.workers = 1;
    options.quantum_tasks = QUANTUM;
    options.routing = LANEPOOL_ROUTING_SUBMITTER;
    scene_open(&options);
    scene_make_gates(1);
    struct scene_task *first = scene_task("A");
    first->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(first));
    while (!scene_has_begun(first))
        sim_sleep(1);
    for (int i = 1; i < FLOOD; i++)
        EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    for (int i = 0; i < COLD; i++) {
        cold[i] = scene_task(keys[i]);
        EXPECT_STATUS(OK, scene_submit(cold[i]));
    }
    /* Routes the tasks that are still in the inbox. */
    EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &routed));
    lanepool_snapshot_release(routed);
    sim_explore_from_here();
    scene_open_gate(0);
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    for (uint32_t i = 0; i < COLD; i++)
        EXPECT(starts_between(noted_at(&cold[i]->submit_end), noted_at(&cold[i]->call_begin)) <
               (i + 2) * (QUANTUM + 1));
}
