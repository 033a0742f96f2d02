/* The timer heap alone: each timer fires once or is removed, in order, never early. */
#include "base/timer_heap.h"

#include "simulated/scenarios.h"
#include "simulated/scene.h"

#include <string.h>

enum { TIMERS = 12, DUES = 5 };

struct alarm {
    lanepool_i_timer timer;
    uint64_t due_ns;
    uint32_t fired;
    bool removed;
    bool adds; /* adds the next timer when it fires */
};

static struct {
    lanepool_i_timers timers;
    struct alarm alarms[TIMERS];
    const struct alarm *last; /* the one that fired last; written by the clock thread */
    uint32_t pauses;
    uint64_t base_ns;
    _Atomic uint32_t fired;
} clocks;

static void add(struct alarm *alarm, uint64_t after_ns)
{
    alarm->due_ns = clocks.base_ns + after_ns;
    lanepool_i_timers_add(&clocks.timers, &alarm->timer, alarm->due_ns);
}

static void fire(lanepool_i_timer *timer)
{
    struct alarm *alarm = (struct alarm *)timer;
    const struct alarm *last = clocks.last;

    EXPECT(sim_now() >= alarm->due_ns);
    EXPECT(alarm->fired++ == 0);
    EXPECT(last == NULL || last->due_ns <= alarm->due_ns ||
           last->timer.number < alarm->timer.number);
    EXPECT(last == NULL || last->due_ns != alarm->due_ns ||
           last->timer.number < alarm->timer.number);
    clocks.last = alarm;
    if (alarm->adds)
        add(alarm + 1, 1);
    atomic_fetch_add(&clocks.fired, 1);
}

static bool begin(void *owner)
{
    EXPECT(owner == &clocks);
    return true;
}

static uint64_t pause_noted(void *owner)
{
    EXPECT(owner == &clocks);
    clocks.pauses++;
    return UINT64_MAX;
}

static void end(void *owner)
{
    EXPECT(owner == &clocks);
}

static const lanepool_i_clock_work work = { begin, pause_noted, end };

static void open_timers(void)
{
    memset(&scene, 0, sizeof scene);
    memset(&clocks, 0, sizeof clocks);
    for (int i = 0; i < TIMERS; i++)
        clocks.alarms[i].timer.fire = fire;
    EXPECT(lanepool_i_timers_init(&clocks.timers, NULL, &work, &clocks));
    clocks.base_ns = sim_now();
}

/* Needed because time may pass faster than the clock thread runs. */
static void wait_until_fired(uint32_t count)
{
    while (atomic_load(&clocks.fired) < count)
        sim_sleep(100);
}

static uint32_t count_removed(void)
{
    uint32_t count = 0;
    for (int i = 0; i < TIMERS; i++)
        count += clocks.alarms[i].removed;
    return count;
}

/* Returns a number that follows from the run's seed. */
static uint64_t drawn(uint32_t place)
{
    return (scene_seed + place + 1) * 0x9E3779B97F4A7C15u >> 33;
}

static void add_half(void *argument)
{
    struct alarm *alarms = argument;

    EXPECT(lanepool_i_timers_start(&clocks.timers));
    for (uint32_t i = 0; i < TIMERS / 2; i++)
        add(&alarms[i], drawn((uint32_t)(alarms - clocks.alarms) + i) % DUES * 100);
}

static void remove_some(void *argument)
{
    struct alarm *alarms = argument;

    for (uint32_t i = 0; i < TIMERS / 2; i += 2)
        alarms[i].removed = lanepool_i_timers_remove(&clocks.timers, &alarms[i].timer);
}

/* Two threads start the clock thread and add timers. Timers are removed while they become due. */
SCENARIO(scenario_timers_fire_once_in_order_or_are_removed, RANDOM)
{
    open_timers();
    scene_spawn(add_half, &clocks.alarms[TIMERS / 2]);
    add_half(clocks.alarms);
    scene_join();
    scene_spawn(remove_some, clocks.alarms);
    sim_sleep(100 * (drawn(TIMERS) % DUES));
    remove_some(&clocks.alarms[TIMERS / 2]);
    scene_join();
    wait_until_fired(TIMERS - count_removed());
    for (int i = 0; i < TIMERS; i++)
        EXPECT(clocks.alarms[i].fired + clocks.alarms[i].removed == 1);
    EXPECT(lanepool_i_timers_take(&clocks.timers) == NULL);
    lanepool_i_timers_fini(&clocks.timers);
    EXPECT(clocks.pauses > 0);
}

/* The clock thread goes to sleep for a distant timer while a near one is added. */
SCENARIO(scenario_timers_an_earlier_one_wakes_the_clock, EXHAUSTIVE)
{
    open_timers();
    EXPECT(lanepool_i_timers_start(&clocks.timers));
    add(&clocks.alarms[0], UINT64_MAX - clocks.base_ns); /* never */
    sim_sleep(10);
    sim_explore_from_here();
    add(&clocks.alarms[1], 20);
    wait_until_fired(1);
    sim_explore_to_here();
    EXPECT(clocks.alarms[1].fired == 1);
    EXPECT(clocks.alarms[0].fired == 0);
    EXPECT(lanepool_i_timers_take(&clocks.timers) == &clocks.alarms[0].timer);
    lanepool_i_timers_fini(&clocks.timers);
}

SCENARIO(scenario_timers_one_that_fires_adds_another, RANDOM)
{
    open_timers();
    EXPECT(lanepool_i_timers_start(&clocks.timers));
    for (int i = 0; i < TIMERS - 1; i++)
        clocks.alarms[i].adds = true;
    add(&clocks.alarms[0], 0);
    wait_until_fired(TIMERS);
    lanepool_i_timers_fini(&clocks.timers);
}

/* The timers are ended while they are started and while some are due. */
SCENARIO(scenario_timers_end_beside_the_start, RANDOM)
{
    open_timers();
    scene_spawn(add_half, clocks.alarms);
    lanepool_i_timers_interrupt(&clocks.timers);
    sim_sleep(drawn(0) % 300);
    scene_join();
    lanepool_i_timers_end(&clocks.timers);
    EXPECT(!lanepool_i_timers_start(&clocks.timers) || clocks.timers.ends);
    lanepool_i_timers_join(&clocks.timers);
    uint32_t left = 0;
    while (lanepool_i_timers_take(&clocks.timers) != NULL)
        left++;
    EXPECT(left + atomic_load(&clocks.fired) == TIMERS / 2);
    lanepool_i_timers_fini(&clocks.timers);
}
