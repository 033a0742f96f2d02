/* Quotas of keys: how long they exist, which tasks fit, and the order within a walk. */
#include "sched/lane_quota.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

enum { SEED = 7, LIMIT = 2, MANY = 40000, CHARGES = 32, CHARGED_MAX = 3 };

struct fixture {
    struct counted_memory memory;
    lanepool_i_lane_quotas quotas;
    lanepool_i_lane_quota *made; /* room for MANY */
    size_t made_count;
    lanepool_i_key *spare; /* quotas that the table does not need */
    lanepool_i_charge charges[CHARGES];
    lanepool_i_lane_quota *blocks[CHARGES][CHARGED_MAX];
    size_t charge_count;
    _Atomic uint32_t waiting;
};

static void fixture_init(struct fixture *all, size_t limit)
{
    memset(all, 0, sizeof *all);
    counted_memory_init(&all->memory);
    all->made = memory_get(MANY, sizeof *all->made);
    expect(lanepool_i_lane_quotas_init(&all->quotas, SEED, limit, &all->memory.allocator));
}

static void count_key(lanepool_i_key *key, void *context)
{
    (void)key;
    ++*(size_t *)context;
}

static size_t count_spare(const struct fixture *all)
{
    size_t count = 0;

    for (const lanepool_i_key *key = all->spare; key != NULL; key = key->next) {
        count++;
    }
    return count;
}

/* Checks that so many quotas are left in the table, and that all others are spare. */
static void fixture_fini(struct fixture *all, size_t left)
{
    size_t count = 0;

    lanepool_i_lane_quotas_fini(&all->quotas, count_key, &count);
    expect_eq(count, left);
    expect_eq(count + count_spare(all), all->made_count);
    expect_eq(all->memory.live, 0);
    free(all->made);
}

static lanepool_i_key key_of(uint64_t id)
{
    return lanepool_i_key_of_word(SEED, id, LANEPOOL_I_TYPE_ID);
}

static lanepool_i_lane_quota *keep(struct fixture *all, uint64_t id)
{
    lanepool_i_key key = key_of(id);
    lanepool_i_lane_quota *quota = lanepool_i_lane_quotas_reference(&all->quotas, &key);

    if (quota == NULL) {
        quota = &all->made[all->made_count++];
        quota->key = key;
        quota = lanepool_i_lane_quotas_add(&all->quotas, quota, &all->spare);
    }
    return quota;
}

static void unkeep(struct fixture *all, lanepool_i_lane_quota *quota)
{
    lanepool_i_lane_quotas_unreference(&all->quotas, quota);
}

static bool is_there(struct fixture *all, uint64_t id)
{
    lanepool_i_key key = key_of(id);
    lanepool_i_lane_quota *quota = lanepool_i_lane_quotas_reference(&all->quotas, &key);

    if (quota != NULL) {
        unkeep(all, quota);
    }
    return quota != NULL;
}

static uint64_t read_quota(struct fixture *all, uint64_t id, uint64_t *max)
{
    lanepool_i_key key = key_of(id);
    uint64_t count;

    lanepool_i_lane_quotas_read(&all->quotas, &key, &count, max);
    return count;
}

static uint64_t pending(struct fixture *all, uint64_t id)
{
    uint64_t max;

    return read_quota(all, id, &max);
}

static uint64_t pending_max(struct fixture *all, uint64_t id)
{
    uint64_t max;

    read_quota(all, id, &max);
    return max;
}

static void trim(struct fixture *all)
{
    lanepool_i_quota_trim at = { 0 };

    while (lanepool_i_lane_quotas_trim_some(&all->quotas, &at, &all->spare)) {
    }
}

/* Returns the charge of a new task with up to three claims; 0 is no claim. */
static lanepool_i_charge *enter(struct fixture *all, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t ids[CHARGED_MAX] = { a, b, c };
    lanepool_i_charge *charge = &all->charges[all->charge_count];

    *charge = (lanepool_i_charge){ .has_block = true, .block = all->blocks[all->charge_count++] };
    for (size_t i = 0; i < CHARGED_MAX && ids[i] != 0; i++) {
        charge->block[charge->count++] = keep(all, ids[i]);
    }
    lanepool_i_lane_quotas_merge(&all->quotas, charge);
    return charge;
}

static bool fits(struct fixture *all, lanepool_i_charge *charge)
{
    return lanepool_i_lane_quotas_count_in_turn(&all->quotas, charge);
}

/* Admits the task if it fits. Returns false if it does not. */
static bool admit(struct fixture *all, lanepool_i_charge *charge)
{
    lanepool_i_lane_quotas_begin_walk(&all->quotas);
    return fits(all, charge);
}

static void leave(struct fixture *all, lanepool_i_charge *charge)
{
    if (charge->counted) {
        lanepool_i_charge_end(charge);
    } else {
        lanepool_i_lane_quotas_drop(&all->quotas, charge);
    }
    charge->count = 0;
}

/* Counts a task with one or two claims at once; 0 is no second claim. */
static bool count_at_once(struct fixture *all, uint64_t a, uint64_t b, lanepool_i_charge *charge)
{
    lanepool_i_key first = key_of(a);
    lanepool_i_key second = key_of(b);

    *charge = (lanepool_i_charge){ .counted = true };
    if (b != 0) {
        if (!lanepool_i_lane_quotas_count_keys(&all->quotas, &first, &second, &all->waiting,
                                               charge->quotas)) {
            return false;
        }
        charge->count = charge->quotas[0] == charge->quotas[1] ? 1 : 2;
        return true;
    }
    charge->count = 1;
    charge->quotas[0] = lanepool_i_lane_quotas_count_key(&all->quotas, &first, &all->waiting);
    return charge->quotas[0] != NULL;
}

Test(lane_quota, a_key_has_one_quota_while_it_is_needed)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    expect(!is_there(&all, 1));
    quota = keep(&all, 1);
    expect(keep(&all, 1) == quota);
    unkeep(&all, quota);
    trim(&all);
    expect(is_there(&all, 1));
    unkeep(&all, quota);
    expect(is_there(&all, 1)); /* idle, and still in the table */
    trim(&all);
    expect(!is_there(&all, 1));
    fixture_fini(&all, 0);
}

Test(lane_quota, a_quota_that_another_thread_has_added_is_taken)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;
    lanepool_i_lane_quota late = { .key = key_of(1) };
    lanepool_i_key *spare = NULL;

    fixture_init(&all, LIMIT);
    quota = keep(&all, 1);
    expect(lanepool_i_lane_quotas_add(&all.quotas, &late, &spare) == quota);
    expect(spare == &late.key);
    expect_eq(quota->references, 2);
    fixture_fini(&all, 1);
}

Test(lane_quota, idle_quotas_are_swept_when_others_are_added)
{
    struct fixture all;
    lanepool_i_charge *charge;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    charge = enter(&all, 1, 0, 0);
    expect(admit(&all, charge));
    for (uint64_t id = 2; id <= MANY; id++) {
        quota = keep(&all, id);
        unkeep(&all, quota);
    }
    expect(count_spare(&all) > MANY / 2);
    expect(is_there(&all, 1)); /* a task counts there */
    expect_eq(pending(&all, 1), 1);
    leave(&all, charge);
    trim(&all);
    fixture_fini(&all, 0);
}

Test(lane_quota, a_quota_with_its_own_limit_stays_in_the_table)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    expect_eq(pending_max(&all, 1), LIMIT);
    quota = keep(&all, 1);
    expect_eq(pending_max(&all, 1), LIMIT);
    lanepool_i_lane_quotas_set_max(&all.quotas, quota, 5);
    expect_eq(pending_max(&all, 1), 5);
    unkeep(&all, quota);
    trim(&all);
    expect(is_there(&all, 1));
    fixture_fini(&all, 1);
}

Test(lane_quota, a_task_is_charged_to_each_key_once)
{
    struct fixture all;
    lanepool_i_charge *charge;

    fixture_init(&all, LIMIT);
    charge = enter(&all, 1, 2, 1);
    expect_eq(charge->count, 2);
    expect(admit(&all, charge));
    expect_eq(pending(&all, 1), 1);
    expect_eq(pending(&all, 2), 1);
    leave(&all, charge);
    expect_eq(pending(&all, 1), 0);
    trim(&all);
    fixture_fini(&all, 0);
}

Test(lane_quota, tasks_with_known_keys_are_counted_at_once)
{
    struct fixture all;
    lanepool_i_charge charges[LIMIT + 1];

    fixture_init(&all, LIMIT);
    expect(!count_at_once(&all, 1, 0, &charges[0])); /* the key has no quota yet */
    unkeep(&all, keep(&all, 1));
    unkeep(&all, keep(&all, 2));
    all.waiting = 1; /* a submitter is blocked */
    expect(!count_at_once(&all, 1, 0, &charges[0]));
    all.waiting = 0;
    expect(count_at_once(&all, 1, 1, &charges[0]));
    expect_eq(charges[0].count, 1);
    expect(count_at_once(&all, 2, 1, &charges[1]));
    expect_eq(pending(&all, 1), 2);
    expect_eq(pending(&all, 2), 1);
    expect(!count_at_once(&all, 2, 1, &charges[2])); /* key 1 is full */
    expect_eq(pending(&all, 2), 1);
    leave(&all, &charges[0]);
    expect(count_at_once(&all, 2, 1, &charges[2]));
    expect(!count_at_once(&all, 2, 0, &charges[0]));
    leave(&all, &charges[1]);
    leave(&all, &charges[2]);
    trim(&all);
    fixture_fini(&all, 0);
}

Test(lane_quota, a_task_may_be_counted_without_room)
{
    struct fixture all;
    lanepool_i_charge *charge;

    fixture_init(&all, 1);
    expect(admit(&all, enter(&all, 1, 0, 0)));
    charge = enter(&all, 1, 2, 0);
    expect(!lanepool_i_lane_quotas_count(&all.quotas, charge, NULL));
    lanepool_i_lane_quotas_force(&all.quotas, charge);
    expect_eq(pending(&all, 1), 2);
    leave(&all, charge);
    expect_eq(pending(&all, 1), 1);
    expect(!admit(&all, enter(&all, 1, 0, 0)));
    fixture_fini(&all, 2);
}

Test(lane_quota, tasks_fit_up_to_the_limit_and_again_when_one_has_ended)
{
    struct fixture all;
    lanepool_i_charge *charges[LIMIT + 1];

    fixture_init(&all, LIMIT);
    for (size_t i = 0; i <= LIMIT; i++) {
        charges[i] = enter(&all, 1, 0, 0);
        expect_eq(admit(&all, charges[i]), i < LIMIT);
    }
    leave(&all, charges[0]);
    expect_eq(pending(&all, 1), LIMIT - 1);
    expect(admit(&all, charges[LIMIT]));
    fixture_fini(&all, 1);
}

Test(lane_quota, a_task_that_was_not_admitted_counts_nowhere)
{
    struct fixture all;

    fixture_init(&all, LIMIT);
    expect(admit(&all, enter(&all, 1, 0, 0)));
    leave(&all, enter(&all, 1, 2, 0));
    expect_eq(pending(&all, 1), 1);
    expect_eq(pending(&all, 2), 0);
    trim(&all);
    fixture_fini(&all, 1);
}

Test(lane_quota, a_quotas_own_limit_goes_before_the_tables)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    quota = keep(&all, 1);
    lanepool_i_lane_quotas_set_max(&all.quotas, quota, 1);
    expect(admit(&all, enter(&all, 1, 0, 0)));
    expect(!admit(&all, enter(&all, 1, 0, 0)));
    lanepool_i_lane_quotas_set_max(&all.quotas, quota, LIMIT + 1);
    for (size_t i = 1; i <= LIMIT; i++) {
        expect(admit(&all, enter(&all, 1, 0, 0)));
    }
    expect(!admit(&all, enter(&all, 1, 0, 0)));
    fixture_fini(&all, 1);
}

Test(lane_quota, each_of_its_keys_needs_room)
{
    for (uint64_t full = 1; full <= 3; full++) {
        struct fixture all;

        fixture_init(&all, 1);
        expect(admit(&all, enter(&all, full, 0, 0)));
        expect(!admit(&all, enter(&all, 1, 2, 3)));
        fixture_fini(&all, 3);
    }
}

Test(lane_quota, a_task_without_claims_always_fits)
{
    struct fixture all;

    fixture_init(&all, 1);
    expect(admit(&all, enter(&all, 0, 0, 0)));
    fixture_fini(&all, 0);
}

Test(lane_quota, in_one_walk_no_task_passes_another_that_wants_one_of_its_keys)
{
    struct fixture all;
    lanepool_i_charge *charges[4];

    fixture_init(&all, 1);
    expect(admit(&all, enter(&all, 1, 0, 0)));
    charges[0] = enter(&all, 2, 1, 0);
    charges[1] = enter(&all, 2, 3, 0);
    charges[2] = enter(&all, 3, 0, 0);
    charges[3] = enter(&all, 4, 0, 0);
    lanepool_i_lane_quotas_begin_walk(&all.quotas);
    expect(!fits(&all, charges[0])); /* key 1 is full */
    expect(!fits(&all, charges[1])); /* key 2 has room, but charge 0 is first */
    expect(!fits(&all, charges[2])); /* key 3 has room, but charge 1 is first */
    expect(fits(&all, charges[3]));
    lanepool_i_lane_quotas_begin_walk(&all.quotas);
    expect(fits(&all, charges[1])); /* in this walk it is the first */
    fixture_fini(&all, 4);
}
