/* Cuts in pools with priorities: a lane becomes urgent while a worker chooses. */
#include "property/world.h"
#include <string.h>

#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { LANES = 2 };

/* Moments are numbered. 0: not yet. */
static struct {
    lanepool_pool *pool;
    _Atomic uint64_t now;
    _Atomic uint64_t visits[LANES];
    _Atomic uint64_t function;
    uint64_t ran;       /* the first task, whose end is a choice, has ended */
    uint64_t submitted; /* the submit of the urgent task has returned */
    uint64_t middle, urgent;
} moments;

static uint64_t moment(void)
{
    return atomic_fetch_add(&moments.now, 1) + 1;
}

static int note(lanepool_run *run, void *context)
{
    (void)run;
    *(uint64_t *)context = moment();
    return 0;
}

static int take_time(lanepool_run *run, void *context)
{
    sim_sleep(5);
    return note(run, context);
}

static int visit(lanepool_run *run, void *context, size_t index)
{
    (void)run;
    (void)context;
    atomic_store(&moments.visits[index], moment());
    sim_sleep(5);
    return 0;
}

static int sum_up(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    atomic_store(&moments.function, moment());
    return 0;
}

static void open_with_priorities(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    memset(&moments, 0, sizeof moments);
    options.workers = workers;
    options.priorities = true;
    options.priority_age_ns = LANEPOOL_FOREVER;
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &moments.pool));
}

static void submit(lanepool_task_fn function, uint64_t *at, uint64_t key, uint32_t priority)
{
    lanepool_claim claim = lanepool_exclusive(key);

    EXPECT_STATUS(
        OK, lanepool_pool_submit(moments.pool, LANEPOOL_TASK(.function = function, .context = at,
                                                             .claims = &claim, .claim_count = 1,
                                                             .priority = priority)));
}

static void submit_cut(void)
{
    lanepool_claim claims[LANES] = { lanepool_exclusive(0), lanepool_exclusive(1) };

    EXPECT_STATUS(OK, lanepool_pool_submit(moments.pool,
                                           LANEPOOL_TASK(.function = sum_up, .at_lane = visit,
                                                         .claims = claims, .claim_count = LANES)));
}

static void submit_urgent(void *argument)
{
    (void)argument;
    submit(note, &moments.urgent, 1, 5);
    moments.submitted = moment();
}

static void close_scene(void)
{
    EXPECT_STATUS(OK, lanepool_pool_destroy(moments.pool));
    EXPECT(moments.urgent > atomic_load(&moments.visits[1]));
    EXPECT(atomic_load(&moments.function) > atomic_load(&moments.visits[0]));
    EXPECT(atomic_load(&moments.function) > atomic_load(&moments.visits[1]));
    EXPECT(moments.middle > 0);
}

/* Plays all schedules of a submit behind the cut's second lane. If it had returned before the
 * worker chose, that lane is visited first, and the task runs before the others. */
static void explore_urgent_submit(void)
{
    submit_cut();
    sim_sleep(5);
    sim_explore_from_here();
    scene_spawn(submit_urgent, NULL);
    sim_sleep(30);
    sim_explore_to_here();
    scene_join();
    close_scene();
    if (sim_is_strict() && moments.submitted < moments.ran) {
        EXPECT(atomic_load(&moments.visits[1]) < moments.middle);
        EXPECT(moments.urgent < moments.middle);
        EXPECT(moments.middle < atomic_load(&moments.visits[0]));
    }
}

/* A task is submitted behind a cut's second lane just when the worker chooses. */
SCENARIO(scenario_85_a_lane_of_a_cut_becomes_urgent_at_a_choice, EXHAUSTIVE)
{
    open_with_priorities(1);
    submit(take_time, &moments.ran, 7, 7);
    submit(note, &moments.middle, 8, 3);
    explore_urgent_submit();
}

/* The second lane is urgent before it is granted: a task in front of the cut has it. When it is
 * granted, the visitor is queued already, at a lower level. */
SCENARIO(scenario_85_an_urgent_lane_of_a_cut_is_granted_late, EXHAUSTIVE)
{
    open_with_priorities(1);
    submit(take_time, &moments.ran, 1, 7);
    submit(note, &moments.middle, 8, 3);
    explore_urgent_submit();
}

/* With two workers, visits and tasks of all levels overlap; each is made once. */
SCENARIO(scenario_85_two_workers_visit_an_urgent_lane, RANDOM)
{
    open_with_priorities(2);
    submit_cut();
    submit(note, &moments.middle, 8, 3);
    scene_spawn(submit_urgent, NULL);
    scene_join();
    close_scene();
}
