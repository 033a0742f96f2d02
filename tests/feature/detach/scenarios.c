/* Regression tests for tasks that hand their lanes over. Each comment describes the former
 * error. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

/* Giver and receiver are not tasks of the scene. */
struct succession {
    lanepool_future *heir;
    lanepool_status waited; /* the answer to the giver's wait for the receiver, if it waits */
    lanepool_status (*meet)(struct succession *self);
    _Atomic uint32_t runs, cancels;
};

static struct succession succession;

static int be_heir(lanepool_run *run, void *context)
{
    struct succession *self = context;

    (void)run;
    atomic_fetch_add(&self->runs, 1);
    return 0;
}

static void heir_cancelled(void *context, lanepool_status why)
{
    struct succession *self = context;

    (void)why;
    atomic_fetch_add(&self->cancels, 1);
}

static int hand_over_and_meet(lanepool_run *run, void *context)
{
    struct succession *self = context;
    lanepool_task heir = LANEPOOL_TASK_INIT;

    heir.function = be_heir;
    heir.cancelled = heir_cancelled;
    heir.context = self;
    heir.future = &self->heir;
    EXPECT_STATUS(OK, lanepool_run_hand_over(run, &heir));
    self->waited = self->meet(self);
    return 0;
}

static void play(lanepool_status (*meet)(struct succession *self))
{
    lanepool_claim claims[] = { lanepool_exclusive('A'), lanepool_exclusive('B') };
    lanepool_task task = LANEPOOL_TASK_INIT;

    succession = (struct succession){ .meet = meet };
    scene_open_with(1 + scene_variant(2));
    task.function = hand_over_and_meet;
    task.context = &succession;
    task.claims = claims;
    task.claim_count = scene_variant(3);
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    scene_close();
    lanepool_future_release(succession.heir);
    EXPECT(atomic_load(&succession.runs) + atomic_load(&succession.cancels) == 1);
}

static lanepool_status wait_for_heir(struct succession *self)
{
    return lanepool_future_wait(self->heir, LANEPOOL_FOREVER, NULL);
}

/* A receiver starts when its giver has ended: a giver that waited for it waited for ever. */
SCENARIO(regress_wait_for_ones_own_heir_is_a_deadlock, EXHAUSTIVE)
{
    play(wait_for_heir);
    EXPECT_STATUS(DEADLOCK, succession.waited);
}

static lanepool_status cancel_all(struct succession *self)
{
    size_t count;

    (void)self;
    EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, &count));
    EXPECT(count == 1);
    return LANEPOOL_OK;
}

/* A cancel of all tasks did not find a receiver before its giver had ended. */
SCENARIO(regress_cancelling_everything_finds_heirs, RANDOM)
{
    play(cancel_all);
    EXPECT(atomic_load(&succession.cancels) == 1);
}

/* --- handles that the router uses while a task calls with them --- */

struct asking {
    lanepool_claim key;
    lanepool_lane *lane;
};

static struct asking asking;

static int ask_by_handle(lanepool_run *run, void *context)
{
    lanepool_key key = lanepool_key_lane(asking.lane);

    (void)context;
    EXPECT(lanepool_run_holds(run, key));
    EXPECT_STATUS(OK, lanepool_run_release(run, key));
    EXPECT(!lanepool_run_holds(run, key));
    return 0;
}

static int do_nothing(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static void submit_with_handle(void *unused)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_lane(asking.lane), LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;

    (void)unused;
    task.function = do_nothing;
    task.claims = &claim;
    task.claim_count = 1;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
}

/* A handle with which no task had been submitted counted as no lane at all. Which lane it was for
 * was read without the router role, by which it is written. */
SCENARIO(regress_handle_meets_the_router_while_a_task_asks_by_it, RANDOM)
{
    static const char text[] = "a key of some length";
    lanepool_task task = LANEPOOL_TASK_INIT;

    scene_open_with(2);
    asking.key = scene_variant(2) == 1
                     ? lanepool_claim_of(lanepool_key_string(text), LANEPOOL_EXCLUSIVE)
                     : lanepool_exclusive(1);
    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, asking.key.key, &asking.lane));
    task.function = ask_by_handle;
    task.claims = &asking.key;
    task.claim_count = 1;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    sim_explore_from_here();
    scene_spawn(submit_with_handle, NULL);
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    lanepool_lane_release(asking.lane);
    scene_close();
}
