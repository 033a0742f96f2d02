/* The events that a lane records, if its thread has an event ring. */
#include "unit/lane_tasks.h"

enum { EVENTS = 15, KEY = 4711, NONE = 0 };

struct fixture {
    struct lane_tasks all;
    lanepool_i_rings rings;
    uint64_t next; /* number of the next event to be checked */
};

static void fixture_init(struct fixture *traced)
{
    lane_tasks_init(&traced->all);
    traced->all.lane.key.type = LANEPOOL_I_TYPE_POINTER;
    traced->all.lane.key.value.id = KEY;
    expect(lanepool_i_rings_init(&traced->rings, EVENTS, 1));
    expect(lanepool_i_rings_join(&traced->rings, &traced->all.grants.ring));
    traced->next = 0;
}

static void fixture_fini(struct fixture *traced)
{
    lanepool_i_rings_fini(&traced->rings);
}

/* Checks the next event of the ring. READY names no lane. */
static void expect_event(struct fixture *traced, lanepool_event_type type, char name,
                         uint32_t detail)
{
    const lanepool_i_ring *ring = traced->all.grants.ring;
    const _Atomic uint64_t *words = &ring->words[traced->next++ * LANEPOOL_I_EVENT_WORDS];
    uint64_t rest = load_relaxed(&words[3]);
    bool has_lane = type != LANEPOOL_EVENT_READY;

    expect(traced->next <= load_relaxed(&ring->written));
    expect_eq(rest >> 48 & 0xff, type);
    expect_eq(load_relaxed(&words[1]), name - 'a' + 1);
    expect_eq((uint32_t)rest, detail);
    expect_eq(load_relaxed(&words[2]), has_lane ? KEY : 0);
    expect_eq(rest >> 56, has_lane ? LANEPOOL_EVENT_LANE_POINTER : 0);
}

static void expect_no_more(const struct fixture *traced)
{
    expect_eq(load_relaxed(&traced->all.grants.ring->written), traced->next);
}

Test(lane_events, an_entry_that_is_granted_at_once_enters_only)
{
    struct fixture traced;

    fixture_init(&traced);
    expect(append(&traced.all, 'a', LANEPOOL_EXCLUSIVE));
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'a', LANEPOOL_EVENT_GRANTED);
    release(&traced.all);
    expect(append(&traced.all, 'b', LANEPOOL_SHARED));
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'b',
                 LANEPOOL_EVENT_GRANTED | LANEPOOL_EVENT_SHARED);
    expect_no_more(&traced);
    fixture_fini(&traced);
}

Test(lane_events, an_entry_that_waits_enters_and_arrives)
{
    struct fixture traced;

    fixture_init(&traced);
    expect(append(&traced.all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&traced.all, "b", LANEPOOL_EXCLUSIVE);
    append_waiting(&traced.all, "c", LANEPOOL_SHARED);
    release(&traced.all);
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'a', LANEPOOL_EVENT_GRANTED);
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'b', NONE);
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'c', LANEPOOL_EVENT_SHARED);
    expect_event(&traced, LANEPOOL_EVENT_ARRIVE, 'b', NONE);
    expect_event(&traced, LANEPOOL_EVENT_READY, 'b', NONE);
    expect_no_more(&traced);
    fixture_fini(&traced);
}

Test(lane_events, an_entry_that_joins_arrives_as_it_enters)
{
    struct fixture traced;

    fixture_init(&traced);
    expect(append(&traced.all, 'a', LANEPOOL_SHARED));
    expect(append(&traced.all, 'b', LANEPOOL_SHARED));
    traced.next++;
    expect_event(&traced, LANEPOOL_EVENT_ENTER, 'b', LANEPOOL_EVENT_SHARED);
    expect_event(&traced, LANEPOOL_EVENT_ARRIVE, 'b', NONE);
    expect_no_more(&traced);
    fixture_fini(&traced);
}

Test(lane_events, a_tombstone_arrives_and_is_released_early)
{
    struct fixture traced;

    fixture_init(&traced);
    expect(append(&traced.all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&traced.all, "b", LANEPOOL_EXCLUSIVE);
    plain_make_tombstone(block_of(&traced.all, 'b'), 0);
    release(&traced.all);
    traced.next += 2;
    expect_event(&traced, LANEPOOL_EVENT_ARRIVE, 'b', NONE);
    expect_event(&traced, LANEPOOL_EVENT_RELEASE, 'b', LANEPOOL_EVENT_EARLY);
    expect_no_more(&traced);
    fixture_fini(&traced);
}
