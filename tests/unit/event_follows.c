/* Events that follow another one of their thread and get its time. */
#include "support/test.h"
#include "task/event_ring.h"
#include "unit/blocks.h"

enum { EVENTS = 7, LONG_AGO = 1 };

struct fixture {
    lanepool_i_rings rings;
    lanepool_i_ring *ring;
};

static void fixture_init(struct fixture *all)
{
    expect(lanepool_i_rings_init(&all->rings, EVENTS, 1));
    expect(lanepool_i_rings_join(&all->rings, &all->ring));
}

static void fixture_fini(struct fixture *all)
{
    lanepool_i_rings_fini(&all->rings);
}

/* Returns the words of the newest event. The time is the first word. */
static _Atomic uint64_t *newest_words(lanepool_i_ring *ring)
{
    uint64_t number = load_relaxed(&ring->written) - 1;

    return &ring->words[(number & (ring->capacity - 1)) * LANEPOOL_I_EVENT_WORDS];
}

/* Returns true if the event `type` gets the time of the event `before` of ticket 5. */
static bool follows(lanepool_i_ring *ring, lanepool_event_type type, uint64_t ticket,
                    lanepool_event_type before, uint32_t detail)
{
    struct plain_block task;

    plain_init(&task, ticket, 1);
    lanepool_i_ring_write(ring, before, 5, 0, 0, detail);
    store_relaxed(newest_words(ring), LONG_AGO);
    lanepool_i_ring_write_next(ring, type, &task.task, 0, 0);
    return load_relaxed(newest_words(ring)) == LONG_AGO;
}

Test(event_follows, ready_follows_an_enter_that_was_granted_at_once)
{
    const lanepool_event_type ready = LANEPOOL_EVENT_READY;
    struct fixture all;

    fixture_init(&all);
    expect(follows(all.ring, ready, 5, LANEPOOL_EVENT_ENTER, LANEPOOL_EVENT_GRANTED));
    expect(!follows(all.ring, ready, 5, LANEPOOL_EVENT_ENTER, 0));
    expect(!follows(all.ring, ready, 6, LANEPOOL_EVENT_ENTER, LANEPOOL_EVENT_GRANTED));
    expect(!follows(all.ring, ready, 5, LANEPOOL_EVENT_ROUTE, 0));
    fixture_fini(&all);
}

Test(event_follows, release_follows_the_end_or_another_release_of_the_task)
{
    const lanepool_event_type release = LANEPOOL_EVENT_RELEASE;
    struct fixture all;

    fixture_init(&all);
    expect(follows(all.ring, release, 5, LANEPOOL_EVENT_END, LANEPOOL_OK));
    expect(!follows(all.ring, release, 5, LANEPOOL_EVENT_END, LANEPOOL_CANCELLED));
    expect(follows(all.ring, release, 5, LANEPOOL_EVENT_RELEASE, 0));
    expect(!follows(all.ring, release, 5, LANEPOOL_EVENT_RELEASE, LANEPOOL_EVENT_EARLY));
    expect(!follows(all.ring, release, 6, LANEPOOL_EVENT_END, LANEPOOL_OK));
    fixture_fini(&all);
}

Test(event_follows, an_event_of_no_lane_is_not_written)
{
    struct fixture all;
    struct plain_block task;

    fixture_init(&all);
    plain_init(&task, 5, 1);
    lanepool_i_ring_write_next(all.ring, LANEPOOL_EVENT_RELEASE, &task.task, LANEPOOL_I_NO_LANE,
                               LANEPOOL_EVENT_LANE_WORKER);
    expect_eq(load_relaxed(&all.ring->written), 0);
    fixture_fini(&all);
}

Test(event_follows, route_follows_the_task_before_if_both_were_taken_together)
{
    struct fixture all;
    struct plain_block task;

    fixture_init(&all);
    for (uint64_t news = 1; news <= 2; news++) {
        plain_init(&task, 6, 1);
        all.ring->news = 1; /* the last ROUTE's */
        lanepool_i_ring_write(all.ring, LANEPOOL_EVENT_READY, 5, 0, 0, 0);
        store_relaxed(newest_words(all.ring), LONG_AGO);
        lanepool_i_ring_write_route(all.ring, &task.task, news);
        expect_eq(load_relaxed(newest_words(all.ring)) == LONG_AGO, news == 1);
        expect_eq(all.ring->news, news);
    }
    fixture_fini(&all);
}
