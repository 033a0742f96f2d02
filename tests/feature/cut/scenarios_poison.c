/* Cuts beside tasks that are parked: a cut visits exactly the lanes in which no earlier task is. */
#include <string.h>

#include "route/router.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { LANES = 3, POSTINGS = 6, CUTS = 2 };

struct posting {
    uint32_t lanes[2];
    bool fails;
    uint64_t ticket;
    _Atomic uint32_t runs;
};

struct cut {
    uint64_t ticket; /* written by the function */
    _Atomic uint32_t visits[LANES];
    _Atomic uint32_t calls, cancels, releases;
};

static struct {
    lanepool_pool *pool;
    struct posting postings[POSTINGS];
    struct cut cuts[CUTS];
    _Atomic uint32_t inside[LANES]; /* tasks that have the lane */
} ward;

/* Tickets wrap around. */
static uint64_t ticket_of(const lanepool_run *run)
{
    return (lanepool_run_ticket(run) - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << 40) - 1);
}

static void use_lane(uint32_t lane)
{
    EXPECT(atomic_fetch_add(&ward.inside[lane], 1) == 0);
    lanepool_i_yield();
    atomic_fetch_sub(&ward.inside[lane], 1);
}

static int post(lanepool_run *run, void *context)
{
    struct posting *self = context;

    self->ticket = ticket_of(run);
    for (uint32_t i = 0; i < 2; i++)
        if (lanepool_run_holds(run, lanepool_key_id(self->lanes[i])) &&
            (i == 0 || self->lanes[1] != self->lanes[0]))
            use_lane(self->lanes[i]);
    atomic_fetch_add(&self->runs, 1);
    return self->fails;
}

static int visit(lanepool_run *run, void *context, size_t index)
{
    struct cut *self = context;

    EXPECT(lanepool_run_claim_count(run) == 1);
    EXPECT(atomic_fetch_add(&self->visits[index], 1) == 0);
    use_lane((uint32_t)index);
    return 0;
}

static int sum_up(lanepool_run *run, void *context)
{
    struct cut *self = context;

    EXPECT(lanepool_run_claim_count(run) == 0);
    self->ticket = ticket_of(run);
    atomic_fetch_add(&self->calls, 1);
    return 0;
}

static void cut_cancelled(void *context, lanepool_status why)
{
    (void)why;
    atomic_fetch_add(&((struct cut *)context)->cancels, 1);
}

static void cut_released(void *context)
{
    atomic_fetch_add(&((struct cut *)context)->releases, 1);
}

static void submit_posting(uint32_t i)
{
    struct posting *self = &ward.postings[i];

    self->lanes[0] = (uint32_t)((scene_seed >> i) % LANES);
    self->lanes[1] = (uint32_t)((scene_seed >> 2 * i) % LANES);
    self->fails = (scene_seed >> 3 * i) % 4 == 0;
    lanepool_claim claims[2] = { lanepool_exclusive(self->lanes[0]),
                                 lanepool_exclusive(self->lanes[1]) };
    EXPECT_STATUS(
        OK, lanepool_pool_submit(ward.pool, LANEPOOL_TASK(.function = post, .context = self,
                                                          .claims = claims, .claim_count = 2)));
}

static void submit_some_postings(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < POSTINGS / 2; i++)
        submit_posting(i);
}

static void submit_cut(struct cut *self)
{
    lanepool_claim claims[LANES];

    for (uint32_t i = 0; i < LANES; i++)
        claims[i] = lanepool_exclusive(i);
    EXPECT_STATUS(
        OK, lanepool_pool_submit(
                ward.pool, LANEPOOL_TASK(.function = sum_up, .context = self, .claims = claims,
                                         .claim_count = LANES, .at_lane = visit,
                                         .cancelled = cut_cancelled, .release = cut_released)));
}

/* A posting that has left the lane found an earlier one parked there. */
static bool is_poisoned_before(uint32_t lane, uint64_t ticket)
{
    bool found = false;

    for (uint32_t i = 0; i < POSTINGS; i++) {
        const struct posting *posting = &ward.postings[i];
        found |= posting->fails && posting->ticket < ticket &&
                 (posting->lanes[0] == lane || posting->lanes[1] == lane);
    }
    return found;
}

static void judge_ward(void)
{
    for (uint32_t i = 0; i < POSTINGS; i++)
        EXPECT(atomic_load(&ward.postings[i].runs) == 1);
    for (uint32_t i = 0; i < CUTS; i++) {
        const struct cut *cut = &ward.cuts[i];
        EXPECT(atomic_load(&cut->calls) == 1);
        for (uint32_t lane = 0; lane < LANES; lane++)
            EXPECT(atomic_load(&cut->visits[lane]) == !is_poisoned_before(lane, cut->ticket));
    }
}

/* All tasks run, since none waits for a parked one. */
SCENARIO(scenario_84_cuts_leave_poisoned_lanes, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    memset(&ward, 0, sizeof ward);
    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    options.workers = 1 + scene_variant(3);
    options.on_failure = &policy;
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &ward.pool));
    scene_spawn(submit_some_postings, NULL);
    submit_posting(POSTINGS / 2);
    submit_cut(&ward.cuts[0]);
    submit_posting(POSTINGS / 2 + 1);
    submit_cut(&ward.cuts[1]);
    submit_posting(POSTINGS / 2 + 2);
    scene_join();
    lanepool_status status = lanepool_pool_quiesce(ward.pool, LANEPOOL_FOREVER);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_PARKED);
    judge_ward();
    EXPECT_STATUS(OK, lanepool_pool_shutdown_now(ward.pool, NULL, NULL));
    EXPECT_STATUS(OK, lanepool_pool_destroy(ward.pool));
    for (uint32_t i = 0; i < CUTS; i++) {
        EXPECT(atomic_load(&ward.cuts[i].releases) == 1);
        EXPECT(atomic_load(&ward.cuts[i].cancels) == 0);
    }
}
