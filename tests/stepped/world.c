/*
 * Implements property/world.h for pools without threads. The threads of a workload take turns: one
 * runs until it sleeps, waits in vain, or ends. So a run depends on the seed alone. The first
 * thread gives the turns, and makes steps of the pool between them, as a seed draws.
 *
 * A thread sleeps in the pool's virtual time. A call that waits makes steps itself until nothing is
 * left to do. Then the thread gives up its turn, and repeats the call when others have acted.
 */
#include "stepped/world.h"

#include <stdlib.h>

#include "property/world.h"
#include "route/pool.h"
#include "simulator/memory.h"
#include "simulator/state.h"
#include "support/random.h"

enum actor_state { READY, WAITS_AGAIN, HOPELESS, ENDED };

struct actor {
    void (*main)(void *argument);
    void *argument;
    enum actor_state state;
    uint64_t sleeps_until_ns;
    uint64_t progress; /* of all others, when it began to wait */
    lanepool_i_semaphore turn;
};

static struct {
    lanepool_pool **at;  /* where the run stores its pool, until it destroys the pool */
    lanepool_pool *pool; /* the run's pool, once a thread has asked for the time */
    uint64_t random;
    uint64_t progress; /* counts what may change the outcome of a wait */
    struct actor *actors;
    uint32_t count;
    struct actor *current; /* whose turn it is; NULL: the first thread's */
    lanepool_i_semaphore back;
} world;

void stepped_world_begin(lanepool_pool **pool, uint64_t seed)
{
    world.at = pool;
    world.pool = NULL;
    world.random = seed;
    world.progress = 0;
    world.current = NULL;
}

/* Tasks may run until the pool is destroyed. */
static lanepool_pool *find_pool(void)
{
    if (*world.at != NULL) {
        world.pool = *world.at;
    }
    return world.pool;
}

uint64_t world_now(void)
{
    return lanepool_pool_time(find_pool());
}

/* --- turns --- */

static void give_back_turn(void)
{
    struct actor *self = world.current;

    lanepool_i_semaphore_post(&world.back);
    lanepool_i_semaphore_wait(&self->turn);
}

static void *actor_main(void *argument)
{
    struct actor *self = argument;

    lanepool_i_semaphore_wait(&self->turn);
    self->main(self->argument);
    self->state = ENDED;
    world.progress++;
    lanepool_i_semaphore_post(&world.back);
    return NULL;
}

static void give_turn(struct actor *actor)
{
    actor->state = READY;
    world.current = actor;
    lanepool_i_semaphore_post(&actor->turn);
    lanepool_i_semaphore_wait(&world.back);
    world.current = NULL;
}

static bool is_ready(const struct actor *actor)
{
    if (actor->state == WAITS_AGAIN) {
        return actor->progress != world.progress;
    }
    return actor->state == READY && actor->sleeps_until_ns <= world_now();
}

/* Returns the ready actor of this number; NULL if there are fewer. */
static struct actor *find_ready(uint32_t number)
{
    for (uint32_t i = 0; i < world.count; i++) {
        if (is_ready(&world.actors[i]) && number-- == 0) {
            return &world.actors[i];
        }
    }
    return NULL;
}

static uint32_t count_ready(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < world.count; i++) {
        count += is_ready(&world.actors[i]);
    }
    return count;
}

/* Returns when the first sleeper wakes up; UINT64_MAX if none sleeps. */
static uint64_t first_wake_up(void)
{
    uint64_t first_ns = UINT64_MAX;

    for (uint32_t i = 0; i < world.count; i++) {
        if (world.actors[i].state == READY && world.actors[i].sleeps_until_ns < first_ns) {
            first_ns = world.actors[i].sleeps_until_ns;
        }
    }
    return first_ns;
}

static bool step(void)
{
    lanepool_i_driver *driver = find_pool()->driver;
    bool stepped = driver->step(driver);

    world.progress += stepped;
    return stepped;
}

/* No actor is ready, and no step can be made. Returns false if time cannot help either. */
static bool pass_time(void)
{
    lanepool_i_driver *driver = find_pool()->driver;
    uint64_t before_ns = world_now();
    uint64_t until_ns = first_wake_up();
    bool passed = driver->pass_time(driver, until_ns) || world_now() != before_ns;

    world.progress += passed;
    return passed;
}

/* Actors that wait in vain learn so: then their calls answer TIMED_OUT. Returns false if there is
 * none. */
static bool end_hope(void)
{
    for (uint32_t i = 0; i < world.count; i++) {
        if (world.actors[i].state == WAITS_AGAIN) {
            world.actors[i].state = HOPELESS;
            world.current = &world.actors[i];
            lanepool_i_semaphore_post(&world.actors[i].turn);
            lanepool_i_semaphore_wait(&world.back);
            world.current = NULL;
            return true;
        }
    }
    return false;
}

/* Returns false if all actors have ended. */
static bool act_once(void)
{
    uint32_t ready = count_ready();
    uint32_t drawn = random_below(&world.random, ready + 1);

    if (drawn < ready) {
        give_turn(find_ready(drawn));
        return true;
    }
    if (step()) {
        return true;
    }
    ready = count_ready();
    if (ready > 0) {
        give_turn(find_ready(random_below(&world.random, ready)));
        return true;
    }
    return pass_time() || end_hope();
}

void world_run_threads(void (*main)(void *argument), void *const *arguments, uint32_t count)
{
    struct actor actors[SIM_FIBERS_MAX] = { 0 };
    struct sim_fiber *fibers[SIM_FIBERS_MAX];

    world.actors = actors;
    world.count = count;
    if (!lanepool_i_semaphore_init(&world.back)) {
        abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        actors[i] = (struct actor){ .main = main, .argument = arguments[i] };
        if (!lanepool_i_semaphore_init(&actors[i].turn)) {
            abort();
        }
        fibers[i] = sim_start(actor_main, &actors[i]);
    }
    while (act_once()) {
    }
    for (uint32_t i = 0; i < count; i++) {
        sim_join(fibers[i]);
        lanepool_i_semaphore_fini(&actors[i].turn);
    }
    lanepool_i_semaphore_fini(&world.back);
    world.count = 0;
}

void world_show_all(void)
{
}

bool world_waits_again(void)
{
    struct actor *self = world.current;

    if (self == NULL || lanepool_i_thread_is_inside_any()) {
        return false;
    }
    self->state = WAITS_AGAIN;
    self->progress = world.progress;
    give_back_turn();
    return self->state != HOPELESS;
}

/* --- time --- */

/* A body takes virtual time: the clock advances under it. */
void world_pass(uint64_t ns)
{
    if (lanepool_pool_advance(find_pool(), ns) != LANEPOOL_OK) {
        sim_fail("the clock cannot be advanced");
    }
}

void world_sleep(uint64_t ns)
{
    if (world.current == NULL) {
        world_pass(ns);
        return;
    }
    world.current->sleeps_until_ns = world_now() + ns;
    world.progress++;
    give_back_turn();
}

void world_rest(uint64_t ns)
{
    world_sleep(ns);
}

bool world_is_strict(void)
{
    return false;
}
