/* Quotas of keys: how long they exist, which tasks fit, and the order within a walk. */
#include "sched/lane_quota.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

enum { SEED = 7, LIMIT = 2, QUOTAS = 32, CHARGED_MAX = 3 };

struct fixture {
    struct counted_memory memory;
    lanepool_i_lane_quotas quotas;
    lanepool_i_lane_quota made[QUOTAS];
    size_t made_count;
    lanepool_i_key *spare; /* quotas that the table does not need */
    lanepool_i_charge *charges[QUOTAS];
    size_t charge_count;
};

static void fixture_init(struct fixture *all, size_t limit)
{
    memset(all, 0, sizeof *all);
    counted_memory_init(&all->memory);
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
    for (size_t i = 0; i < all->charge_count; i++) {
        free(all->charges[i]);
    }
}

static lanepool_i_lane_quota *make_quota(struct fixture *all, uint64_t id)
{
    lanepool_i_lane_quota *quota = &all->made[all->made_count++];

    quota->key.value.id = id;
    quota->key.type = LANEPOOL_I_TYPE_ID;
    lanepool_i_key_set_hash(&quota->key,
                            lanepool_i_key_index_hash_word(SEED, id, LANEPOOL_I_TYPE_ID));
    return quota;
}

static lanepool_i_lane_quota *keep(struct fixture *all, uint64_t id)
{
    return lanepool_i_lane_quotas_reference(&all->quotas, make_quota(all, id), &all->spare);
}

static void unkeep(struct fixture *all, lanepool_i_lane_quota *quota)
{
    lanepool_i_lane_quotas_unreference(&all->quotas, quota, &all->spare);
}

static const lanepool_i_lane_quota *find(const struct fixture *all, uint64_t id)
{
    lanepool_i_key key = { .value.id = id, .type = LANEPOOL_I_TYPE_ID };

    lanepool_i_key_set_hash(&key, lanepool_i_key_index_hash_word(SEED, id, LANEPOOL_I_TYPE_ID));
    return lanepool_i_lane_quotas_find(&all->quotas, &key);
}

/* Returns the charge of a new task with up to three claims; 0 is no claim. */
static lanepool_i_charge *enter(struct fixture *all, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t ids[CHARGED_MAX] = { a, b, c };
    lanepool_i_charge *charge =
        memory_get(1, sizeof *charge + CHARGED_MAX * sizeof charge->quotas[0]);

    for (size_t i = 0; i < CHARGED_MAX && ids[i] != 0; i++) {
        charge->quotas[charge->count++] = make_quota(all, ids[i]);
    }
    lanepool_i_lane_quotas_enter(&all->quotas, charge, &all->spare);
    all->charges[all->charge_count++] = charge;
    return charge;
}

static bool fits(struct fixture *all, lanepool_i_charge *charge)
{
    return lanepool_i_lane_quotas_fit(&all->quotas, charge);
}

/* Admits the task if it fits. Returns false if it does not. */
static bool admit(struct fixture *all, lanepool_i_charge *charge)
{
    lanepool_i_lane_quotas_begin_walk(&all->quotas);
    if (!fits(all, charge)) {
        return false;
    }
    lanepool_i_lane_quotas_count(charge);
    return true;
}

static void leave(struct fixture *all, lanepool_i_charge *charge)
{
    lanepool_i_lane_quotas_leave(&all->quotas, charge, &all->spare);
}

Test(lane_quota, a_key_has_one_quota_until_its_last_keeper_leaves)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    expect(find(&all, 1) == NULL);
    quota = keep(&all, 1);
    expect(keep(&all, 1) == quota);
    expect_eq(count_spare(&all), 1);
    expect(find(&all, 1) == quota);
    unkeep(&all, quota);
    expect(find(&all, 1) == quota);
    unkeep(&all, quota);
    expect(find(&all, 1) == NULL);
    fixture_fini(&all, 0);
}

Test(lane_quota, a_quota_with_its_own_limit_stays_in_the_table)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    quota = keep(&all, 1);
    expect_eq(lanepool_i_lane_quota_max(&all.quotas, NULL), LIMIT);
    expect_eq(lanepool_i_lane_quota_max(&all.quotas, quota), LIMIT);
    quota->pending_max = 5;
    expect_eq(lanepool_i_lane_quota_max(&all.quotas, quota), 5);
    unkeep(&all, quota);
    expect(find(&all, 1) == quota);
    fixture_fini(&all, 1);
}

Test(lane_quota, a_task_is_charged_to_each_key_once)
{
    struct fixture all;
    lanepool_i_charge *charge;

    fixture_init(&all, LIMIT);
    charge = enter(&all, 1, 2, 1);
    expect_eq(charge->count, 2);
    expect(charge->quotas[0] == find(&all, 1));
    expect(charge->quotas[1] == find(&all, 2));
    expect(admit(&all, charge));
    expect_eq(find(&all, 1)->pending, 1);
    expect_eq(find(&all, 2)->pending, 1);
    leave(&all, charge);
    expect(find(&all, 1) == NULL);
    fixture_fini(&all, 0);
}

Test(lane_quota, a_charge_by_a_handle_is_one_keeper_more)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;
    lanepool_i_charge *charge;

    fixture_init(&all, LIMIT);
    quota = keep(&all, 1);
    charge = memory_get(1, sizeof *charge + 2 * sizeof charge->quotas[0]);
    charge->quotas[charge->count++] = quota;
    charge->quotas[charge->count++] = quota; /* two handles of one key */
    lanepool_i_lane_quotas_enter(&all.quotas, charge, &all.spare);
    expect_eq(charge->count, 1);
    expect_eq(quota->references, 2);
    unkeep(&all, quota); /* the handle is released before the task ends */
    expect(find(&all, 1) == quota);
    leave(&all, charge);
    expect(find(&all, 1) == NULL);
    free(charge);
    fixture_fini(&all, 0);
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
    expect_eq(find(&all, 1)->pending, LIMIT - 1);
    expect(admit(&all, charges[LIMIT]));
    fixture_fini(&all, 1);
}

Test(lane_quota, a_task_that_was_not_admitted_counts_nowhere)
{
    struct fixture all;

    fixture_init(&all, LIMIT);
    expect(admit(&all, enter(&all, 1, 0, 0)));
    leave(&all, enter(&all, 1, 2, 0));
    expect_eq(find(&all, 1)->pending, 1);
    expect(find(&all, 2) == NULL);
    fixture_fini(&all, 1);
}

Test(lane_quota, a_quotas_own_limit_goes_before_the_tables)
{
    struct fixture all;
    lanepool_i_lane_quota *quota;

    fixture_init(&all, LIMIT);
    quota = keep(&all, 1);
    quota->pending_max = 1;
    expect(admit(&all, enter(&all, 1, 0, 0)));
    expect(!admit(&all, enter(&all, 1, 0, 0)));
    quota->pending_max = LIMIT + 1;
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
    expect(admit(&all, NULL));
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
