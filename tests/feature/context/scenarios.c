/* Contexts of keys: used while they are closed, opened without success, too many at once, at the
 * end of the pool. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/scene.h"

#include <string.h>

enum { KEY_MAX = 4, LINGER_NS = 40 };

/* The record of one key's callbacks. `cell` is guarded only by the right to use the context. */
struct kept {
    _Atomic bool calling; /* a callback is being called */
    _Atomic bool open;
    _Atomic uint32_t users;
    _Atomic uint32_t opens, closes, failures;
    uint64_t closed_ns;
    uint64_t cell;
};

static struct kept kept[KEY_MAX];
static uint32_t fail_one_in; /* 0: opens do not fail */
static uint32_t stale_one_in;
static _Atomic uint32_t calls;

static struct kept *kept_of(lanepool_key key)
{
    EXPECT(key.type == LANEPOOL_KEY_ID && key.id < KEY_MAX);
    return &kept[key.id];
}

static void begin_call(struct kept *one)
{
    EXPECT(!atomic_exchange(&one->calling, true));
    EXPECT(atomic_load(&one->users) == 0);
    one->cell++;
}

static void end_call(struct kept *one)
{
    one->cell++;
    atomic_store(&one->calling, false);
}

static bool happens(uint32_t one_in)
{
    return one_in != 0 && (atomic_fetch_add(&calls, 1) + scene_seed) % one_in == 0;
}

static int open_kept(void *user, lanepool_key key, void **context)
{
    struct kept *one = kept_of(key);

    EXPECT(user == kept);
    begin_call(one);
    EXPECT(!atomic_load(&one->open));
    sim_sleep(scene_seed % 3 * 5);
    bool fails = happens(fail_one_in);
    atomic_fetch_add(fails ? &one->failures : &one->opens, 1);
    atomic_store(&one->open, !fails);
    *context = one;
    end_call(one);
    return fails;
}

static bool use_kept(void *user, lanepool_key key, void *context)
{
    struct kept *one = kept_of(key);

    EXPECT(user == kept && context == one && atomic_load(&one->open));
    begin_call(one);
    bool good = !happens(stale_one_in);
    end_call(one);
    return good;
}

static void close_kept(void *user, lanepool_key key, void *context)
{
    struct kept *one = kept_of(key);

    EXPECT(user == kept && context == one);
    begin_call(one);
    EXPECT(atomic_exchange(&one->open, false));
    one->closed_ns = sim_now();
    atomic_fetch_add(&one->closes, 1);
    sim_sleep(scene_seed % 2 * 5);
    end_call(one);
}

static lanepool_context_options some_contexts(void)
{
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;

    contexts.open = open_kept;
    contexts.use = scene_variant(2) != 0 ? use_kept : NULL;
    contexts.close = close_kept;
    contexts.linger_min_ns = LINGER_NS;
    contexts.linger_max_ns = LINGER_NS;
    return contexts;
}

static void open_contexts(unsigned workers, const lanepool_context_options *contexts)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    memset(kept, 0, sizeof kept);
    atomic_store(&calls, 0);
    options.workers = workers;
    options.contexts = contexts;
    options.user = kept;
    scene_open(&options);
}

/* Checks that every opened context was closed, whichever way the pool ended. */
static void judge_contexts(void)
{
    for (uint32_t i = 0; i < KEY_MAX; i++) {
        EXPECT(!atomic_load(&kept[i].open) && !atomic_load(&kept[i].calling));
        EXPECT(atomic_load(&kept[i].opens) == atomic_load(&kept[i].closes));
    }
    fail_one_in = 0;
    stale_one_in = 0;
}

/* --- tasks --- */

struct user {
    uint64_t key;
    lanepool_mode mode;
    uint64_t takes;
    uint64_t ended_ns;
    lanepool_status status;
    /* Where the task stores its detached handle, if it detaches; or NULL. */
    _Atomic(lanepool_detached *) *detached;
    bool gives_up;
};

static int use_context(lanepool_run *run, void *argument)
{
    struct user *self = argument;
    struct kept *one = &kept[self->key];
    lanepool_key wanted = lanepool_key_id(self->key);
    void *context;

    self->status = lanepool_run_context(run, wanted, &context, NULL);
    if (self->status != LANEPOOL_OK)
        return 1;
    EXPECT(context == one && atomic_load(&one->open) && !atomic_load(&one->calling));
    atomic_fetch_add(&one->users, 1);
    if (self->mode == LANEPOOL_EXCLUSIVE)
        one->cell++;
    sim_sleep(self->takes);
    EXPECT(atomic_load(&one->open) && !atomic_load(&one->calling));
    atomic_fetch_sub(&one->users, 1);
    if (self->gives_up)
        EXPECT_STATUS(OK, lanepool_run_release(run, wanted));
    if (self->detached != NULL) {
        atomic_fetch_add(&one->users, 1);
        lanepool_detached *detached;
        EXPECT_STATUS(OK, lanepool_run_detach(run, &detached));
        atomic_store(self->detached, detached);
    }
    self->ended_ns = sim_now();
    return 0;
}

static lanepool_status submit_user(struct user *user)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(user->key), user->mode);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = use_context;
    task.context = user;
    task.claims = &claim;
    task.claim_count = 1;
    return lanepool_pool_submit(scene.pool, &task);
}

/* --- due while it is taken into use --- */

/* Returns the moment at which the only context is due to be closed; now, if it is closed
 * already. */
static uint64_t due_ns(void)
{
    lanepool_snapshot *snapshot;
    uint64_t due = sim_now();

    EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
    if (snapshot->context_count > 0 && !snapshot->contexts[0].busy)
        due = snapshot->contexts[0].due_ns;
    lanepool_snapshot_release(snapshot);
    return due;
}

/* The keeper and the task's submitter wake at the same moment, or nearly so. */
static void use_beside_close(void)
{
    lanepool_context_options contexts = some_contexts();
    struct user first = { .key = 0 };
    struct user second = { .key = 0, .mode = LANEPOOL_SHARED };

    open_contexts(1, &contexts);
    EXPECT_STATUS(OK, submit_user(&first));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    uint64_t wake_ns = due_ns() + 2 - (scene_variant(5) + 2) % 5;
    sim_explore_from_here();
    sim_sleep(wake_ns > sim_now() ? wake_ns - sim_now() : 0);
    EXPECT_STATUS(OK, submit_user(&second));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    EXPECT(first.status == LANEPOOL_OK && second.status == LANEPOOL_OK);
    EXPECT(atomic_load(&kept[0].opens) <= 2);
}

SCENARIO(scenario_contexts_used_as_it_is_due, EXHAUSTIVE)
{
    use_beside_close();
    while (atomic_load(&kept[0].open))
        sim_sleep(LINGER_NS);
    scene_close();
    judge_contexts();
}

SCENARIO(scenario_contexts_used_as_it_is_due_then_the_end, EXHAUSTIVE)
{
    use_beside_close();
    scene_close();
    judge_contexts();
}

/* --- readers, failures, stale contexts --- */

SCENARIO(scenario_contexts_readers_open_in_vain_and_find_it_stale, RANDOM)
{
    enum { USERS = 8 };
    static struct user users[USERS];
    lanepool_context_options contexts = some_contexts();

    contexts.use = use_kept;
    fail_one_in = 3;
    stale_one_in = 2;
    open_contexts(3, &contexts);
    for (uint32_t i = 0; i < USERS; i++) {
        users[i] = (struct user){ .key = i % 5 == 4,
                                  .mode = i % 4 == 3 ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED,
                                  .takes = i % 3 * 10 };
        EXPECT_STATUS(OK, submit_user(&users[i]));
        sim_sleep(i % 2 * (scene_seed % 4) * 15);
    }
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    for (uint32_t i = 0; i < USERS; i++)
        EXPECT(users[i].status == LANEPOOL_OK || users[i].status == LANEPOOL_NO_CONTEXT);
    scene_close();
    judge_contexts();
}

/* --- too many --- */

SCENARIO(scenario_contexts_longest_idle_context_makes_room, RANDOM)
{
    lanepool_context_options contexts = some_contexts();
    static struct user users[3 * KEY_MAX];
    lanepool_stats stats;

    contexts.linger_min_ns = LANEPOOL_FOREVER;
    contexts.linger_max_ns = LANEPOOL_FOREVER;
    contexts.lingering_max = 1 + scene_seed % 2;
    open_contexts(2, &contexts);
    for (uint32_t i = 0; i < 3 * KEY_MAX; i++) {
        users[i] = (struct user){ .key = (i * 3 + scene_seed) % KEY_MAX, .takes = i % 2 * 5 };
        EXPECT_STATUS(OK, submit_user(&users[i]));
        sim_sleep(scene_seed / 2 % 3 * 4);
    }
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    /* Wait until the keeper has closed the contexts that are too many. */
    do {
        sim_sleep(10);
        EXPECT_STATUS(OK, lanepool_pool_stats(scene.pool, &stats, NULL, 0));
    } while (stats.contexts > contexts.lingering_max);
    scene_close();
    judge_contexts();
}

/* Uses the context of key 1. Returns how long it was idle, at least, before it was closed. */
static uint64_t idle_time_after_use(void)
{
    struct user user = { .key = 1 };
    uint32_t closes = atomic_load(&kept[1].closes);

    EXPECT_STATUS(OK, submit_user(&user));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, user.status);
    while (atomic_load(&kept[1].closes) == closes)
        sim_sleep(LANEPOOL_LINGER_MIN_DEFAULT);
    return kept[1].closed_ns - user.ended_ns;
}

/* A key without a known gap lingers for the shorter default. After a gap of more than half of the
 * longer default, it lingers for that. */
SCENARIO(scenario_contexts_linger_by_default, RANDOM)
{
    lanepool_context_options contexts = some_contexts();

    contexts.linger_min_ns = contexts.linger_max_ns = 0;
    open_contexts(2, &contexts);
    EXPECT(idle_time_after_use() >= LANEPOOL_LINGER_MIN_DEFAULT);
    sim_sleep(LANEPOOL_LINGER_MAX_DEFAULT / 2);
    EXPECT(idle_time_after_use() >= LANEPOOL_LINGER_MAX_DEFAULT);
    scene_close();
    judge_contexts();
}

/* --- ends of uses --- */

SCENARIO(scenario_contexts_of_a_detached_task_and_of_a_lane_given_up, RANDOM)
{
    lanepool_context_options contexts = some_contexts();
    _Atomic(lanepool_detached *) detached = NULL;
    struct user users[4] = { { .key = 0, .detached = &detached },
                             { .key = 1, .gives_up = true, .takes = 5 },
                             { .key = 1 },
                             { .key = 0 } };

    open_contexts(2, &contexts);
    for (uint32_t i = 0; i < 4; i++)
        EXPECT_STATUS(OK, submit_user(&users[i]));
    while (atomic_load(&kept[1].closes) == 0 || atomic_load(&detached) == NULL)
        sim_sleep(LINGER_NS);
    EXPECT(atomic_load(&kept[0].open) && atomic_load(&kept[0].opens) == 1);
    atomic_fetch_sub(&kept[0].users, 1);
    EXPECT_STATUS(OK, lanepool_task_complete(atomic_load(&detached), 0, NULL));
    scene_close();
    for (uint32_t i = 0; i < 4; i++)
        EXPECT(users[i].status == LANEPOOL_OK);
    judge_contexts();
}

/* --- ends of the pool --- */

static void stop_it(void *argument)
{
    (void)argument;
    sim_sleep(scene_seed % 5 * 10);
    if (scene_seed % 2 != 0)
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    else
        EXPECT_STATUS(OK, scene_stop(false));
}

SCENARIO(scenario_contexts_pool_ends_beside_contexts_that_linger, RANDOM)
{
    lanepool_context_options contexts = some_contexts();
    static struct user users[6];

    if (scene_seed % 3 == 0)
        contexts.linger_min_ns = contexts.linger_max_ns = LANEPOOL_FOREVER;
    open_contexts(2, &contexts);
    scene_spawn(stop_it, NULL);
    for (uint32_t i = 0; i < 6; i++) {
        users[i] = (struct user){ .key = i % 3, .takes = 10 };
        lanepool_status status = submit_user(&users[i]);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
        sim_sleep(scene_seed % 2 * 10);
    }
    scene_join();
    uint64_t before = sim_now();
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT(sim_now() - before < 10000); /* the end has a bound, and does not wait for idle times */
    judge_contexts();
    scene_end();
}

/* --- the rule for idle times --- */

/* After a while, the context of a key that is used often stays open between its tasks; that of a
 * key that is used rarely does not. In eager runs nothing can be checked. */
SCENARIO(scenario_contexts_linger_follows_the_pace_of_each_key, RANDOM)
{
    enum { ROUNDS = 10, FIRST = 3 };
    lanepool_context_options contexts = some_contexts();
    struct user often = { .key = 0 };
    struct user rarely = { .key = 1 };
    uint32_t opened = 0;
    bool eager = sim_options_draw(scene_seed).eager;

    contexts.use = NULL;
    contexts.linger_min_ns = 1;
    contexts.linger_max_ns = 1000000;
    open_contexts(1, &contexts);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EXPECT_STATUS(OK, submit_user(&often));
        EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
        if (i == FIRST)
            opened = atomic_load(&kept[0].opens);
        sim_sleep(100000);
    }
    EXPECT(eager || atomic_load(&kept[0].opens) == opened);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EXPECT_STATUS(OK, submit_user(&rarely));
        EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
        sim_sleep(2000);
        EXPECT(eager || !atomic_load(&kept[1].open));
        sim_sleep(2000000);
    }
    EXPECT(eager || atomic_load(&kept[1].opens) == ROUNDS);
    EXPECT(eager || !atomic_load(&kept[0].open));
    scene_close();
    judge_contexts();
}

/* --- failures --- */

SCENARIO(scenario_contexts_each_failure_in_turn, FAULTS)
{
    lanepool_context_options contexts = some_contexts();
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    static struct user users[6];

    memset(kept, 0, sizeof kept);
    options.workers = 2;
    options.user = kept;
    options.contexts = &contexts;
    if (!scene_try_open(&options))
        return;
    for (uint32_t i = 0; i < 6; i++) {
        users[i] = (struct user){ .key = i % 2,
                                  .mode = i < 4 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE,
                                  .takes = i % 2 * LINGER_NS };
        lanepool_status status = submit_user(&users[i]);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NOMEM);
    }
    sim_sleep(100 + scene_seed % 2 * LINGER_NS);
    world_stop_refusing();
    EXPECT_STATUS(OK, lanepool_pool_destroy(scene.pool));
    scene.pool = NULL;
    for (uint32_t i = 0; i < 6; i++)
        EXPECT(users[i].status == LANEPOOL_OK || users[i].status == LANEPOOL_NOMEM ||
               users[i].status == LANEPOOL_NO_RESOURCE);
    judge_contexts();
}
