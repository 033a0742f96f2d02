/* The clock thread: which timers it fires, and when it calls its owner. */
#include "base/timer_heap.h"
#include "support/gate.h"
#include "support/test.h"

enum { NOTES_MAX = 16 };

static const uint64_t far_future = UINT64_MAX - 1;

/* The steps of the clock thread. The test reads the notes after the join. */
struct fixture {
    lanepool_i_timers timers;
    lanepool_i_timer all[3];
    struct gate gate; /* the clock thread arrives for each fire and each pause */
    bool refuses;     /* `begin` returns false */
    int turns;        /* how many more turns the owner wants at once */
    char notes[NOTES_MAX + 1];
    size_t count;
};

static struct fixture clocks;

static void note(char what)
{
    if (clocks.count < NOTES_MAX) {
        clocks.notes[clocks.count++] = what;
    }
}

static void fire(lanepool_i_timer *timer)
{
    note((char)('0' + (timer - clocks.all)));
    gate_arrive(&clocks.gate);
}

static bool begin(void *owner)
{
    (void)owner;
    note('b');
    return !clocks.refuses;
}

static uint64_t pause_noted(void *owner)
{
    (void)owner;
    note('p');
    gate_arrive(&clocks.gate);
    return clocks.turns-- > 0 ? 1 : UINT64_MAX;
}

static void end(void *owner)
{
    note(owner == &clocks ? 'e' : '?');
}

static const lanepool_i_clock_work noted_work = { begin, pause_noted, end };

static void fixture_init(const lanepool_i_clock_work *work)
{
    clocks = (struct fixture){ .count = 0 };
    gate_init(&clocks.gate);
    expect(lanepool_i_timers_init(&clocks.timers, NULL, work, &clocks));
    for (size_t i = 0; i < 3; i++) {
        clocks.all[i].fire = fire;
    }
}

/* Joins the clock thread. */
static void fixture_fini(void)
{
    lanepool_i_timers_fini(&clocks.timers);
    gate_fini(&clocks.gate);
}

static size_t count_notes(char what)
{
    size_t count = 0;

    for (size_t i = 0; i < clocks.count; i++) {
        count += clocks.notes[i] == what;
    }
    return count;
}

Test(clock_thread, fires_due_timers_once_and_in_order)
{
    fixture_init(NULL);
    for (size_t i = 0; i < 3; i++) {
        lanepool_i_timers_add(&clocks.timers, &clocks.all[i], 3 - i);
    }
    expect(lanepool_i_timers_start(&clocks.timers));
    expect(gate_await(&clocks.gate, 3));
    for (size_t i = 0; i < 3; i++) {
        expect(!lanepool_i_timers_remove(&clocks.timers, &clocks.all[i]));
    }
    fixture_fini();
    expect_eq(clocks.count, 3);
    expect(clocks.notes[0] == '2' && clocks.notes[1] == '1' && clocks.notes[2] == '0');
}

Test(clock_thread, leaves_timers_that_are_not_due)
{
    fixture_init(NULL);
    expect(lanepool_i_timers_start(&clocks.timers));
    lanepool_i_timers_add(&clocks.timers, &clocks.all[0], far_future);
    lanepool_i_timers_add(&clocks.timers, &clocks.all[1], 1);
    expect(gate_await(&clocks.gate, 1));
    expect(lanepool_i_timers_remove(&clocks.timers, &clocks.all[0]));
    fixture_fini();
    expect_eq(clocks.count, 1);
    expect_eq(clocks.notes[0], '1');
}

/* When each timer is added, the clock thread may be asleep until a later one. */
Test(clock_thread, wakes_up_for_each_earlier_timer)
{
    fixture_init(NULL);
    expect(lanepool_i_timers_start(&clocks.timers));
    lanepool_i_timers_add(&clocks.timers, &clocks.all[0], far_future);
    for (int round = 0; round < 8; round++) {
        lanepool_i_timers_add(&clocks.timers, &clocks.all[1], 1);
        expect(gate_await(&clocks.gate, 1));
    }
    fixture_fini();
    expect_eq(count_notes('1'), 8);
    expect_eq(count_notes('0'), 0);
}

Test(clock_thread, nothing_fires_after_the_end)
{
    fixture_init(NULL);
    expect(lanepool_i_timers_start(&clocks.timers));
    lanepool_i_timers_end(&clocks.timers);
    lanepool_i_timers_join(&clocks.timers);
    lanepool_i_timers_add(&clocks.timers, &clocks.all[0], 1);
    expect(!lanepool_i_timers_start(&clocks.timers));
    expect(lanepool_i_timers_remove(&clocks.timers, &clocks.all[0]));
    fixture_fini();
    expect_eq(clocks.count, 0);
}

Test(clock_thread, is_not_started_once_it_was_joined)
{
    fixture_init(&noted_work);
    lanepool_i_timers_end(&clocks.timers);
    lanepool_i_timers_join(&clocks.timers);
    expect(!lanepool_i_timers_start(&clocks.timers));
    fixture_fini();
    expect_eq(clocks.count, 0);
}

Test(clock_thread, there_is_one_however_often_it_is_started)
{
    fixture_init(&noted_work);
    for (int i = 0; i < 3; i++) {
        expect(lanepool_i_timers_start(&clocks.timers));
    }
    fixture_fini();
    expect_eq(count_notes('b'), 1);
    expect_eq(count_notes('e'), 1);
}

Test(clock_thread, its_owner_is_called_from_begin_to_end)
{
    fixture_init(&noted_work);
    expect(lanepool_i_timers_start(&clocks.timers));
    for (size_t rounds = 0; rounds < 3; rounds++) {
        lanepool_i_timers_interrupt(&clocks.timers);
        expect(gate_await(&clocks.gate, 1));
    }
    fixture_fini();
    expect_eq(clocks.notes[0], 'b');
    expect_eq(count_notes('p'), 4); /* and once before the end */
    expect_eq(clocks.notes[clocks.count - 2], 'p');
    expect_eq(clocks.notes[clocks.count - 1], 'e');
}

Test(clock_thread, its_owner_has_its_next_turn_at_the_moment_it_names)
{
    fixture_init(&noted_work);
    clocks.turns = 3;
    expect(lanepool_i_timers_start(&clocks.timers));
    lanepool_i_timers_add(&clocks.timers, &clocks.all[0], far_future);
    lanepool_i_timers_interrupt(&clocks.timers);
    expect(gate_await(&clocks.gate, 4));
    fixture_fini();
    expect_eq(count_notes('p'), 5); /* with the turn at the end */
}

Test(clock_thread, its_owner_has_a_turn_after_a_timer)
{
    fixture_init(&noted_work);
    expect(lanepool_i_timers_start(&clocks.timers));
    lanepool_i_timers_add(&clocks.timers, &clocks.all[0], 1);
    expect(gate_await(&clocks.gate, 2));
    fixture_fini();
    expect(clocks.notes[1] == '0' && clocks.notes[2] == 'p');
}

Test(clock_thread, ends_at_once_if_begin_says_so)
{
    fixture_init(&noted_work);
    clocks.refuses = true;
    expect(lanepool_i_timers_start(&clocks.timers));
    fixture_fini();
    expect_eq(clocks.count, 1);
    expect_eq(clocks.notes[0], 'b');
}
