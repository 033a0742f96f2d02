/* Rings of events: which thread has which ring, what is read back, and what is missed. */
#include "route/pool.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/blocks.h"

enum { EVENTS = 7, CAPACITY = 8, WORKERS = 2, READ_MAX = 64 };

/* A pool with nothing but rings. Readers use no other part. */
struct fixture {
    lanepool_pool *pool;
    _Atomic uint32_t state;
    lanepool_i_ring *ring;
    lanepool_trace_reader *reader;
    lanepool_event events[READ_MAX];
    size_t count;
};

static void fixture_init(struct fixture *all, size_t events)
{
    memset(all, 0, sizeof *all);
    atomic_init(&all->state, LANEPOOL_I_RUNNING);
    all->pool = memory_get(1, sizeof *all->pool);
    all->pool->lifecycle.state = &all->state;
    expect(lanepool_i_rings_init(&all->pool->rings, events, WORKERS));
    expect(lanepool_i_rings_join(&all->pool->rings, &all->ring));
    expect_ok(lanepool_trace_open(all->pool, &all->reader));
}

static void fixture_fini(struct fixture *all)
{
    lanepool_trace_close(all->reader);
    lanepool_i_rings_fini(&all->pool->rings);
    free(all->pool);
}

static void read_all(struct fixture *all)
{
    expect_ok(lanepool_trace_read(all->reader, all->events, READ_MAX, &all->count));
    expect(all->count < READ_MAX);
}

/* Writes one event for each ticket from `first` up to `end`. */
static void write_events(lanepool_i_ring *ring, uint64_t first, uint64_t end)
{
    for (uint64_t ticket = first; ticket < end; ticket++) {
        lanepool_i_ring_write(ring, LANEPOOL_EVENT_START, ticket, 0, 0, 0);
    }
}

static void expect_tickets(const struct fixture *all, uint64_t first, uint64_t end)
{
    expect_eq(all->count, end - first);
    for (size_t i = 0; i < all->count; i++) {
        expect_eq(all->events[i].task, first + i);
    }
}

Test(event_ring, a_pool_that_records_nothing_has_no_rings)
{
    lanepool_i_rings rings;
    lanepool_i_ring *ring;

    expect(lanepool_i_rings_init(&rings, 0, WORKERS));
    expect(lanepool_i_rings_join(&rings, &ring));
    expect(ring == NULL);
    expect(!lanepool_i_records(ring, LANEPOOL_EVENT_START));
    lanepool_i_rings_leave(ring);
    lanepool_i_rings_fini(&rings);
}

Test(event_ring, threads_that_are_not_workers_have_numbers_of_their_own)
{
    struct fixture all;
    lanepool_i_ring *rings[WORKERS + 2];

    fixture_init(&all, EVENTS);
    rings[0] = all.ring;
    for (size_t i = 1; i < WORKERS + 2; i++) {
        expect(lanepool_i_rings_join(&all.pool->rings, &rings[i]));
    }
    for (size_t i = 0; i < WORKERS + 2; i++) {
        expect_eq(rings[i]->thread, i < WORKERS ? i : LANEPOOL_EVENT_OUTSIDE + i - WORKERS);
    }
    fixture_fini(&all);
}

Test(event_ring, a_ring_that_was_left_goes_to_the_next_thread_with_its_events)
{
    struct fixture all;
    lanepool_i_ring *next;
    lanepool_i_ring *other;

    fixture_init(&all, EVENTS);
    expect(lanepool_i_rings_join(&all.pool->rings, &other));
    expect(other != all.ring);
    write_events(all.ring, 0, 2);
    lanepool_i_rings_leave(all.ring);
    expect(lanepool_i_rings_join(&all.pool->rings, &next));
    expect(next == all.ring);
    write_events(next, 2, 3);
    read_all(&all);
    expect_tickets(&all, 0, 3);
    fixture_fini(&all);
}

Test(event_ring, an_event_is_read_back_as_it_was_written)
{
    struct fixture all;
    const lanepool_event *event = all.events;
    lanepool_i_ring *ring = NULL;

    fixture_init(&all, EVENTS);
    for (size_t i = 0; i < WORKERS; i++) {
        expect(lanepool_i_rings_join(&all.pool->rings, &ring));
    }
    lanepool_i_ring_write(ring, LANEPOOL_EVENT_ENTER, 41, UINT64_MAX - 1, LANEPOOL_EVENT_LANE_BYTES,
                          UINT32_MAX);
    read_all(&all);
    expect_eq(all.count, 1);
    expect_eq(event->type, LANEPOOL_EVENT_ENTER);
    expect_eq(event->task, 41);
    expect(event->object == UINT64_MAX - 1);
    expect_eq(event->object_type, LANEPOOL_EVENT_LANE_BYTES);
    expect_eq(event->detail, UINT32_MAX);
    expect_eq(event->thread, LANEPOOL_EVENT_OUTSIDE);
    expect(event->time_ns != 0);
    read_all(&all);
    expect_eq(all.count, 0);
    fixture_fini(&all);
}

Test(event_ring, as_many_events_as_were_asked_for_are_there)
{
    for (size_t events = 1; events <= 2 * CAPACITY; events++) {
        struct fixture all;

        fixture_init(&all, events);
        write_events(all.ring, 0, events);
        read_all(&all);
        expect_tickets(&all, 0, events);
        expect_eq(lanepool_trace_missed(all.reader), 0);
        fixture_fini(&all);
    }
}

Test(event_ring, overwritten_events_are_missed_and_counted)
{
    for (uint64_t more = 0; more <= 2 * CAPACITY; more++) {
        struct fixture all;

        fixture_init(&all, EVENTS);
        write_events(all.ring, 0, 3);
        read_all(&all);
        expect_tickets(&all, 0, 3);
        write_events(all.ring, 3, 3 + EVENTS + more);
        read_all(&all);
        expect_tickets(&all, 3 + more, 3 + EVENTS + more);
        expect_eq(lanepool_trace_missed(all.reader), more);
        fixture_fini(&all);
    }
}

Test(event_ring, a_reader_begins_with_what_the_rings_still_hold)
{
    struct fixture all;

    fixture_init(&all, EVENTS);
    write_events(all.ring, 0, 100);
    lanepool_trace_close(all.reader);
    expect_ok(lanepool_trace_open(all.pool, &all.reader));
    read_all(&all);
    expect_tickets(&all, 100 - EVENTS, 100);
    expect_eq(lanepool_trace_missed(all.reader), 100 - EVENTS);
    fixture_fini(&all);
}

Test(event_ring, only_chosen_types_and_tickets_are_recorded)
{
    struct fixture all;
    struct plain_block task;

    fixture_init(&all, EVENTS);
    expect_ok(lanepool_trace_choose(all.pool,
                                    1u << LANEPOOL_EVENT_START | 1u << LANEPOOL_EVENT_SUBMIT, 4));
    for (uint64_t ticket = 0; ticket <= 8; ticket++) {
        plain_init(&task, ticket, 1);
        lanepool_i_trace_task(all.ring, LANEPOOL_EVENT_START, &task.task, 0);
        lanepool_i_trace_task(all.ring, LANEPOOL_EVENT_END, &task.task, 0);
        lanepool_i_trace_at(all.ring, LANEPOOL_EVENT_START, &task.task, LANEPOOL_I_NO_LANE,
                            LANEPOOL_EVENT_LANE_WORKER, 0); /* no event without a lane */
    }
    lanepool_i_trace(all.ring, LANEPOOL_EVENT_SUBMIT, 0, 0); /* a sample has none */
    read_all(&all);
    expect_eq(all.count, 3);
    for (size_t i = 0; i < 3; i++) {
        expect_eq(all.events[i].type, LANEPOOL_EVENT_START);
        expect_eq(all.events[i].task, 4 * i);
    }
    fixture_fini(&all);
}

Test(event_ring, a_choice_holds_for_later_rings_too)
{
    struct fixture all;
    lanepool_i_ring *later;

    fixture_init(&all, EVENTS);
    expect_ok(lanepool_trace_choose(all.pool, 1u << LANEPOOL_EVENT_END, 1));
    expect(lanepool_i_rings_join(&all.pool->rings, &later));
    expect(lanepool_i_records(later, LANEPOOL_EVENT_END));
    expect(!lanepool_i_records(later, LANEPOOL_EVENT_START));
    fixture_fini(&all);
}

Test(event_ring, a_name_takes_an_event_for_each_eight_bytes_and_is_cut)
{
    static const char name[] = "0123456789012345678901234567890123456789012345678901234567890123+";
    static const size_t sizes[] = { 1, 8, 9, 64, 65 };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lanepool_i_rings rings;
        lanepool_i_ring *ring;
        size_t size = sizes[i] < LANEPOOL_EVENT_NAME_MAX ? sizes[i] : LANEPOOL_EVENT_NAME_MAX;
        char read[LANEPOOL_EVENT_NAME_MAX] = { 0 };

        expect(lanepool_i_rings_init(&rings, 15, WORKERS));
        expect(lanepool_i_rings_join(&rings, &ring));
        lanepool_i_trace_name(ring, 3, LANEPOOL_EVENT_LANE_ID, name, sizes[i]);
        expect_eq(load_relaxed(&ring->written), (size + 7) / 8);
        for (size_t part = 0; part < (size + 7) / 8; part++) {
            const _Atomic uint64_t *words = &ring->words[part * LANEPOOL_I_EVENT_WORDS];
            uint64_t bytes = load_relaxed(&words[1]);

            expect_eq(load_relaxed(&words[2]), 3);
            expect_eq((uint32_t)load_relaxed(&words[3]), part * 8 | size << 16);
            for (size_t at = 0; at < 8; at++) {
                read[part * 8 + at] = (char)(bytes >> (8 * at));
            }
        }
        expect(memcmp(read, name, size) == 0);
        for (size_t at = size; at < sizeof read; at++) {
            expect_eq(read[at], 0);
        }
        lanepool_i_rings_fini(&rings);
    }
}

/* Readers stop when a read gives no event. The processors' counters may differ, so an event may
 * seem to be younger than the read. */
Test(event_ring, the_last_events_are_read_even_if_they_seem_to_be_of_the_future)
{
    enum { AHEAD = 1 << 30 };
    struct fixture all;

    fixture_init(&all, EVENTS);
    write_events(all.ring, 1, 3);
    store_relaxed(&all.ring->words[LANEPOOL_I_EVENT_WORDS],
                  lanepool_i_ticks_now(all.ring->by_counter) + AHEAD);
    read_all(&all);
    expect_tickets(&all, 1, 3);
    fixture_fini(&all);
}
