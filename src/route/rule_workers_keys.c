/* Owns the places of keys, and the choice of a covering set by them; see rule_workers.h.
 *
 * The claims of a key are runs: the claims of one run overlap with one another, and with none of
 * the next run. A claim waits for all claims of the run before its own, which wait for older ones.
 * A key has places for the tasks of its last run, and, if its claims may get company, for those of
 * the run before.
 *
 * A task with several lanes has a place in each of them, and all are passed at once. Of a run that
 * is one task, a key has two of these, and a later task may wait in either. Of any other run it has
 * one for each lane, which stands for all tasks of the run there. If these do not fit, one place
 * stands for all tasks of all lanes up to a ticket.
 */
#include "route/worker_lanes.h"

/* --- places --- */

/*
 * A place, from its highest bit:
 *
 *     ticket (40) | mode (2) | worker (20) | sort (2)
 */
enum { NO_PLACE, IN_ONE_LANE, IN_ALL_LANES };

#define SORT_BITS   2
#define SORT_MASK   (((uint64_t)1 << SORT_BITS) - 1)
#define WORKER_BITS 20
#define WORKER_MASK (((uint64_t)1 << WORKER_BITS) - 1)
#define MODE_SHIFT  (SORT_BITS + WORKER_BITS)

_Static_assert(MODE_SHIFT + LANEPOOL_I_MODE_BITS == LANEPOOL_I_TICKET_SHIFT, "a place is a word");
_Static_assert(LANEPOOL_WORKERS_MAX <= WORKER_MASK, "a place names a worker");

#define PLACES 2

/* A key in the index of keys. It uses the memory of a lane. Guard: R. */
struct worker_key {
    lanepool_i_key key;
    uint64_t stamp;          /* R: a lane's stamp */
    uint64_t latest[PLACES]; /* R: of the last run */
    uint64_t before;         /* R: of the run before that; NO_PLACE if that need not be known */
};

_Static_assert(sizeof(struct worker_key) <= sizeof(lanepool_i_lane), "a key fits into a lane");
_Static_assert(offsetof(struct worker_key, stamp) == offsetof(lanepool_i_lane, use.stamp),
               "a key begins like a lane");

static struct worker_key *worker_key_of(const lanepool_i_claim_entry *entry)
{
    return (struct worker_key *)entry->claim.entry.at.lane;
}

static uint64_t sort_of(uint64_t place)
{
    return place & SORT_MASK;
}

static size_t worker_of(uint64_t place)
{
    return (size_t)(place >> SORT_BITS & WORKER_MASK);
}

static uint64_t ticket_of(uint64_t place)
{
    return place >> LANEPOOL_I_TICKET_SHIFT;
}

static lanepool_mode mode_of(uint64_t place)
{
    return lanepool_i_mode_at(place, MODE_SHIFT);
}

static uint64_t place_in_lane(size_t worker, lanepool_mode mode, uint64_t ticket)
{
    return ticket << LANEPOOL_I_TICKET_SHIFT | lanepool_i_mode_put(mode, MODE_SHIFT) |
           (uint64_t)worker << SORT_BITS | IN_ONE_LANE;
}

static uint64_t place_in_all_lanes(lanepool_mode mode, uint64_t ticket)
{
    return ticket << LANEPOOL_I_TICKET_SHIFT | lanepool_i_mode_put(mode, MODE_SHIFT) | IN_ALL_LANES;
}

/* A ticket that is half of all tickets old counts as one to come: then a task waits in vain. */
static bool has_finished(const lanepool_i_worker_lane *lane, uint64_t finished, uint64_t ticket)
{
    return finished == lane->last_ticket || !lanepool_i_ticket_before(finished, ticket);
}

/* Returns true if all tasks that the place stands for had finished when the lanes were last looked
 * at. */
static bool is_passed(const lanepool_pool *pool, uint64_t place)
{
    const lanepool_i_worker_lane *lanes = pool->worker_lanes.lanes;
    size_t first = sort_of(place) == IN_ALL_LANES ? 0 : worker_of(place);
    size_t end = sort_of(place) == IN_ALL_LANES ? pool->workers.worker_count : first + 1;
    if (sort_of(place) == NO_PLACE)
        return true;
    while (first < end &&
           has_finished(&lanes[first], lanes[first].finished_before, ticket_of(place)))
        first++;
    return first == end;
}

/* --- runs --- */

static bool is_one_task(const struct worker_key *key)
{
    return lanepool_i_mode_is_alone(mode_of(key->latest[0]));
}

/* Forgets tasks that have finished. */
static void forget_passed(const lanepool_pool *pool, struct worker_key *key)
{
    if (is_passed(pool, key->latest[0])) {
        key->latest[0] = is_one_task(key) ? NO_PLACE : key->latest[1];
        key->latest[1] = NO_PLACE;
    }
    if (is_passed(pool, key->latest[1]))
        key->latest[1] = NO_PLACE;
    if (is_passed(pool, key->latest[0])) /* the second place has become the first */
        key->latest[0] = NO_PLACE;
    if (is_passed(pool, key->before))
        key->before = NO_PLACE;
}

static bool joins_latest(const struct worker_key *key, lanepool_mode mode)
{
    return sort_of(key->latest[0]) != NO_PLACE &&
           lanepool_modes_overlap(mode, mode_of(key->latest[0]));
}

/* Makes the last run the one before. A task that is alone waits for all of it, so only those that
 * get company need to know it. */
static void begin_run(struct worker_key *key, lanepool_mode mode)
{
    key->before = key->latest[0];
    if (!is_one_task(key) && sort_of(key->latest[1]) != NO_PLACE) {
        uint64_t first = ticket_of(key->latest[0]);
        uint64_t second = ticket_of(key->latest[1]);
        key->before = place_in_all_lanes(LANEPOOL_SHARED,
                                         lanepool_i_ticket_before(first, second) ? second : first);
    }
    if (lanepool_i_mode_is_alone(mode))
        key->before = NO_PLACE;
    key->latest[0] = NO_PLACE;
    key->latest[1] = NO_PLACE;
}

/* --- the covering set --- */

static void require_lane(lanepool_pool *pool, lanepool_i_task *task, size_t index)
{
    lanepool_i_worker_lane *lane = &pool->worker_lanes.lanes[index];
    if (!lane->is_chosen)
        lanepool_i_worker_lanes_add(pool, task, index);
    lane->is_chosen = true;
}

/* Enters the lanes that no other lane can stand for. */
static void require_place(lanepool_pool *pool, lanepool_i_task *task, uint64_t place)
{
    if (sort_of(place) == IN_ONE_LANE)
        require_lane(pool, task, worker_of(place));
    if (sort_of(place) != IN_ALL_LANES)
        return;
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        const lanepool_i_worker_lane *lane = &pool->worker_lanes.lanes[i];
        if (!has_finished(lane, lane->finished_before, ticket_of(place)))
            require_lane(pool, task, i);
    }
}

/* Returns true if the claim's task waits for one task that it may wait for in either of two lanes.
 */
static bool has_choice(const struct worker_key *key, lanepool_mode mode)
{
    return !joins_latest(key, mode) && is_one_task(key) && sort_of(key->latest[1]) != NO_PLACE;
}

static void require_lanes_of_claim(lanepool_pool *pool, lanepool_i_task *task,
                                   const lanepool_i_claim_entry *claim)
{
    struct worker_key *key = worker_key_of(claim);
    lanepool_mode mode = lanepool_i_claim_mode(claim);
    forget_passed(pool, key);
    if (joins_latest(key, mode)) {
        require_place(pool, task, key->before);
    } else if (!has_choice(key, mode)) {
        require_place(pool, task, key->latest[0]);
        require_place(pool, task, key->latest[1]);
    }
}

/* Returns true if the claim's task still needs one of two lanes. */
static bool must_choose(const lanepool_pool *pool, const lanepool_i_claim_entry *claim)
{
    const lanepool_i_worker_lane *lanes = pool->worker_lanes.lanes;
    const struct worker_key *key = worker_key_of(claim);
    return has_choice(key, lanepool_i_claim_mode(claim)) &&
           !lanes[worker_of(key->latest[0])].is_chosen &&
           !lanes[worker_of(key->latest[1])].is_chosen;
}

/* Counts how many claims each lane would cover. Returns whether there are any. */
static bool count_choices(lanepool_pool *pool, const lanepool_i_claim_entry *claims, uint32_t count)
{
    lanepool_i_worker_lane *lanes = pool->worker_lanes.lanes;
    bool any = false;
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        lanes[i].covered_conflicts = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!must_choose(pool, &claims[i]))
            continue;
        any = true;
        for (size_t k = 0; k < PLACES; k++)
            lanes[worker_of(worker_key_of(&claims[i])->latest[k])].covered_conflicts++;
    }
    return any;
}

/* Chooses the lanes to enter and sets the task's entries for them. First those without a choice;
 * then greedily: each further lane covers at least one more claim. */
static void choose_lanes_by_places(lanepool_pool *pool, lanepool_i_task *task, uint32_t count)
{
    const lanepool_i_claim_entry *claims = lanepool_i_claim_entries(pool, task);
    task->as.wide.count = 0;
    for (uint32_t i = 0; i < count; i++)
        require_lanes_of_claim(pool, task, &claims[i]);
    while (count_choices(pool, claims, count) || task->as.wide.count == 0)
        require_lane(pool, task, lanepool_i_worker_lanes_best(pool));
}

/* --- the places of the task --- */

/* Returns the task's lane that the key's last run is in, if it has one, else the task's first. So
 * two keys of a rollup keep lanes of their own. */
static size_t prefer_lane(const lanepool_pool *pool, lanepool_i_task *task, uint64_t latest)
{
    if (sort_of(latest) == IN_ONE_LANE && pool->worker_lanes.lanes[worker_of(latest)].is_chosen)
        return worker_of(latest);
    return lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, 0));
}

static size_t other_lane(lanepool_i_task *task, size_t index)
{
    size_t first = lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, 0));
    return first != index ? first : lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, 1));
}

static void store_place_of_one_task(struct worker_key *key, lanepool_i_task *task, size_t index)
{
    uint64_t ticket = lanepool_i_task_ticket(task);
    key->latest[0] = place_in_lane(index, LANEPOOL_EXCLUSIVE, ticket);
    if (lanepool_i_task_count(task) > 1)
        key->latest[1] = place_in_lane(other_lane(task, index), LANEPOOL_EXCLUSIVE, ticket);
}

static void join_run(struct worker_key *key, uint64_t place)
{
    size_t k = 0;
    while (k < PLACES && sort_of(key->latest[k]) == IN_ONE_LANE &&
           worker_of(key->latest[k]) != worker_of(place))
        k++;
    if (k < PLACES && sort_of(key->latest[k]) != IN_ALL_LANES) {
        key->latest[k] = place;
        return;
    }
    key->latest[0] = place_in_all_lanes(mode_of(place), ticket_of(place));
    key->latest[1] = NO_PLACE;
}

static void store_place(const lanepool_pool *pool, lanepool_i_task *task,
                        const lanepool_i_claim_entry *claim)
{
    struct worker_key *key = worker_key_of(claim);
    lanepool_mode mode = lanepool_i_claim_mode(claim);
    size_t index = prefer_lane(pool, task, key->latest[0]);
    if (!joins_latest(key, mode))
        begin_run(key, mode);
    if (lanepool_i_mode_is_alone(mode))
        store_place_of_one_task(key, task, index);
    else
        join_run(key, place_in_lane(index, mode, lanepool_i_task_ticket(task)));
}

static void store_places(lanepool_pool *pool, lanepool_i_task *task, uint32_t count)
{
    const lanepool_i_claim_entry *claims = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < count; i++)
        store_place(pool, task, &claims[i]);
    for (size_t i = 0; i < lanepool_i_task_count(task); i++)
        pool->worker_lanes.lanes[lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, i))]
            .is_chosen = false;
}

/* --- the rule --- */

/* Of the task that is probably routed next; or NULL. It is not read here. */
static void prefetch_claims(const lanepool_pool *pool, const lanepool_i_task *task)
{
    if (task != NULL)
        lanepool_i_prefetch((const char *)(task + 1) + pool->extension);
}

static void worker_keys_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants)
{
    prefetch_claims(pool, pool->router.inbox.next);
    uint32_t count = lanepool_i_lane_table_resolve_claims(pool, record, task);
    lanepool_i_queued_of(pool, task)->claim_count = count;
    lanepool_i_worker_lanes_look(pool);
    choose_lanes_by_places(pool, task, count);
    store_places(pool, task, count);
    lanepool_i_worker_lanes_enter(pool, task, grants);
}

/* Returns true if no unfinished task claims the key. The first run is enough: each task of a run
 * waits for the run before. */
static bool is_key_idle(const lanepool_i_lane *lane, const void *context)
{
    const lanepool_pool *pool = context;
    const struct worker_key *key = (const struct worker_key *)lane;
    return is_passed(pool, key->latest[0]) && is_passed(pool, key->latest[1]);
}

static bool worker_keys_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    pool->router.inbox.moment++;
    lanepool_i_worker_lanes_look(pool);
    return lanepool_i_lane_table_trim_some(pool, record);
}

/* --- claims --- */

static bool worker_keys_claims_lane(const lanepool_pool *pool, lanepool_i_task *task,
                                    const lanepool_i_lane *lane)
{
    return lanepool_i_claimants_have_claim(lanepool_i_claim_entries(pool, task),
                                           lanepool_i_queued_of(pool, task)->claim_count, lane);
}

static bool worker_keys_has_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                  lanepool_claim claim)
{
    return lanepool_i_claimants_have_mode(pool, lanepool_i_claim_entries(pool, task),
                                          lanepool_i_queued_of(pool, task)->claim_count, claim);
}

static void worker_keys_each_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                   void (*found)(const lanepool_pool *pool,
                                                 const lanepool_i_lane *lane, lanepool_mode mode))
{
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < lanepool_i_queued_of(pool, task)->claim_count; i++)
        found(pool, entries[i].claim.entry.at.lane, lanepool_i_claim_mode(&entries[i]));
}

static const lanepool_claim *worker_keys_read_claims(const lanepool_pool *pool,
                                                     lanepool_i_task *task,
                                                     lanepool_claim *plain_claims, size_t *count)
{
    (void)plain_claims;
    *count = lanepool_i_queued_of(pool, task)->claim_count;
    return lanepool_i_claimants_read_claims(lanepool_i_claim_entries(pool, task), *count);
}

/* --- beginning and end --- */

static bool worker_keys_init(lanepool_pool *pool)
{
    if (!lanepool_i_worker_lanes_init(pool))
        return false;
    if (lanepool_i_lane_table_init(&pool->lane_table, is_key_idle, pool->options.allocator, false))
        return true;
    lanepool_i_worker_lanes_fini(pool);
    return false;
}

static void worker_keys_fini(lanepool_pool *pool)
{
    lanepool_i_lane_table_fini(&pool->lane_table);
    lanepool_i_worker_lanes_fini(pool);
}

const lanepool_i_rule lanepool_i_rule_workers_keys = {
    LANEPOOL_I_WORKER_LANES_FUNCTIONS,
    .entry_size = sizeof(lanepool_i_claim_entry),
    .init = worker_keys_init,
    .fini = worker_keys_fini,
    .route = worker_keys_route,
    .batch_done = lanepool_i_lane_table_sweep,
    .finish = lanepool_i_worker_lanes_finish,
    .claims_lane = worker_keys_claims_lane,
    .has_claim = worker_keys_has_claim,
    .each_claim = worker_keys_each_claim,
    .trim_some = worker_keys_trim_some,
    .claims = worker_keys_read_claims,
};
