/* Admission with limits per lane: a full lane blocks only the submitters of that lane. */
#include "lanepool/pool.h"
#include "unit/admission_threads.h"

enum { SEED = 7, CHARGES = 8 };

static const uint64_t past = 1;

/* Each key may have one pending task. */
struct lanes {
    struct fixture all;
    lanepool_i_lane_quotas quotas;
    lanepool_i_lane_quota made[CHARGES];
    lanepool_i_charge charges[CHARGES];
    size_t count;
};

static void lanes_init(struct lanes *lanes, size_t pool_limit)
{
    memset(lanes, 0, sizeof *lanes);
    expect(lanepool_i_lane_quotas_init(&lanes->quotas, SEED, 1, NULL));
    fixture_init(&lanes->all, pool_limit, &lanes->quotas);
}

static void ignore_key(lanepool_i_key *key, void *context)
{
    (void)key;
    (void)context;
}

static void lanes_fini(struct lanes *lanes)
{
    fixture_fini(&lanes->all);
    lanepool_i_lane_quotas_fini(&lanes->quotas, ignore_key, NULL);
}

/* Returns the charge of a new task that claims the key. */
static lanepool_i_charge *charge_for(struct lanes *lanes, uint64_t id)
{
    lanepool_i_charge *charge = &lanes->charges[lanes->count];
    lanepool_i_lane_quota *quota = &lanes->made[lanes->count++];
    lanepool_i_key *spare = NULL;

    quota->key = lanepool_i_key_of_word(SEED, id, LANEPOOL_I_TYPE_ID);
    charge->quotas[charge->count++] = lanepool_i_lane_quotas_add(&lanes->quotas, quota, &spare);
    return charge;
}

static bool try_charge(struct lanes *lanes, lanepool_i_charge *charge)
{
    return lanepool_i_admission_try(&lanes->all.admission, lanes->all.record, charge);
}

/* A task of this charge ends. */
static void end_charge(struct lanes *lanes, lanepool_i_charge *charge)
{
    lanepool_i_charge_end(charge);
    finish(&lanes->all, 1);
}

Test(lane_admission, a_full_lane_refuses_and_others_admit)
{
    struct lanes lanes;
    lanepool_i_charge *first;

    lanes_init(&lanes, LANEPOOL_UNLIMITED);
    first = charge_for(&lanes, 1);
    expect(try_charge(&lanes, first));
    expect(!try_charge(&lanes, charge_for(&lanes, 1)));
    expect(try_charge(&lanes, charge_for(&lanes, 2)));
    expect(try_charge(&lanes, NULL)); /* it claims nothing */
    end_charge(&lanes, first);
    expect(try_charge(&lanes, charge_for(&lanes, 1)));
    lanes_fini(&lanes);
}

Test(lane_admission, the_pools_limit_holds_too)
{
    struct lanes lanes;
    lanepool_i_charge *first;

    lanes_init(&lanes, 1);
    first = charge_for(&lanes, 1);
    expect(try_charge(&lanes, first));
    expect(!try_charge(&lanes, charge_for(&lanes, 2)));
    end_charge(&lanes, first);
    expect(try_charge(&lanes, charge_for(&lanes, 2)));
    lanes_fini(&lanes);
}

Test(lane_admission, a_thread_has_credits_for_the_pool_and_asks_for_its_lanes)
{
    struct lanes lanes;

    lanes_init(&lanes, 5000); /* a credit has 4 tasks */
    expect(try_charge(&lanes, charge_for(&lanes, 1)));
    expect_eq(lanes.all.record->lane_credits, 3);
    expect_eq(lanes.all.record->admitted, 0);
    expect(try_charge(&lanes, NULL));
    expect_eq(lanes.all.record->lane_credits, 2);
    expect(!try_charge(&lanes, charge_for(&lanes, 1)));
    expect_eq(lanes.all.record->lane_credits, 0); /* left to those that wait */
    lanes_fini(&lanes);
}

Test(lane_admission, a_submitter_that_waits_for_a_lane_has_no_credits)
{
    enum { POOL_LIMIT = 2048 }; /* a credit has 2 tasks */
    struct lanes lanes;
    lanepool_i_charge *first;

    lanes_init(&lanes, POOL_LIMIT);
    first = charge_for(&lanes, 1);
    expect(try_charge(&lanes, first));
    expect_eq(lanes.all.record->lane_credits, 1);
    expect_eq(lanepool_i_admission_wait(&lanes.all.admission, lanes.all.record,
                                        charge_for(&lanes, 1), past),
              LANEPOOL_TIMED_OUT);
    expect_eq(lanes.all.record->lane_credits, 0);
    for (size_t i = 1; i < POOL_LIMIT; i++) {
        expect(try_charge(&lanes, NULL));
    }
    expect(!try_charge(&lanes, NULL));
    lanes_fini(&lanes);
}

Test(lane_admission, a_credit_does_not_overtake_a_submitter_that_waits_for_the_pool)
{
    enum { POOL_LIMIT = 2048 }; /* a credit has 2 tasks */
    struct lanes lanes;
    struct waiter waiter;
    lanepool_i_thread_record *other;

    lanes_init(&lanes, POOL_LIMIT);
    other = record_make(&lanes.all);
    expect(try_charge(&lanes, charge_for(&lanes, 1)));
    expect_eq(lanes.all.record->lane_credits, 1);
    for (size_t i = 2; i < POOL_LIMIT; i++) {
        expect(lanepool_i_admission_try(&lanes.all.admission, other, NULL));
    }
    waiter_start(&waiter, &lanes.all, charge_for(&lanes, 2));
    expect(!try_charge(&lanes, charge_for(&lanes, 2)));
    expect_ok(waiter_join(&waiter)); /* it got the credit */
    lanepool_i_thread_record_retire(other);
    lanes_fini(&lanes);
}

Test(lane_admission, a_blocked_submitter_blocks_only_others_for_its_lane)
{
    struct lanes lanes;
    struct waiter waiter;
    lanepool_i_charge *first;
    lanepool_i_charge *late;

    lanes_init(&lanes, LANEPOOL_UNLIMITED);
    first = charge_for(&lanes, 1);
    expect(try_charge(&lanes, first));
    waiter_start(&waiter, &lanes.all, charge_for(&lanes, 1));
    late = charge_for(&lanes, 1);
    expect(!try_charge(&lanes, late));
    expect(try_charge(&lanes, charge_for(&lanes, 2)));
    end_charge(&lanes, first);
    expect_eq(count_waiting(&lanes.all), 0);
    expect_ok(waiter_join(&waiter));
    expect(!try_charge(&lanes, late)); /* the waiter has the room */
    lanes_fini(&lanes);
}

Test(lane_admission, room_in_a_lane_is_given_to_its_oldest_waiter)
{
    struct lanes lanes;
    struct waiter waiters[3];
    lanepool_i_charge *ones[3];
    lanepool_i_charge *two;

    lanes_init(&lanes, LANEPOOL_UNLIMITED);
    for (size_t i = 0; i < 3; i++) {
        ones[i] = charge_for(&lanes, 1);
    }
    two = charge_for(&lanes, 2);
    expect(try_charge(&lanes, ones[0]));
    expect(try_charge(&lanes, two));
    waiter_start(&waiters[0], &lanes.all, ones[1]);
    waiter_start(&waiters[1], &lanes.all, charge_for(&lanes, 2));
    waiter_start(&waiters[2], &lanes.all, ones[2]);
    end_charge(&lanes, two);
    expect_ok(waiter_join(&waiters[1])); /* before an older waiter of another lane */
    end_charge(&lanes, ones[0]);
    expect_ok(waiter_join(&waiters[0]));
    expect_eq(count_waiting(&lanes.all), 1);
    end_charge(&lanes, ones[1]);
    expect_ok(waiter_join(&waiters[2]));
    lanes_fini(&lanes);
}
