/* The heap of timers, without a clock thread: which timer is taken next. */
#include "base/timer_heap.h"
#include "support/random.h"
#include "support/test.h"

enum { TIMERS = 64, MOMENTS = 12, STEPS = 4000 };

static const uint64_t long_past = 1;
static const uint64_t far_future = UINT64_MAX - 1;

struct fixture {
    lanepool_i_timers timers;
    lanepool_i_timer all[TIMERS];
};

static void fixture_init(struct fixture *heap)
{
    *heap = (struct fixture){ .all = { { 0 } } };
    expect(lanepool_i_timers_init(&heap->timers, NULL, NULL, NULL));
}

static void fixture_fini(struct fixture *heap)
{
    lanepool_i_timers_fini(&heap->timers);
}

static void add(struct fixture *heap, size_t i, uint64_t due_ns)
{
    lanepool_i_timers_add(&heap->timers, &heap->all[i], due_ns);
}

/* Takes a timer. Returns its index, or TIMERS if there is none. */
static size_t take(struct fixture *heap)
{
    lanepool_i_timer *timer = lanepool_i_timers_take(&heap->timers);

    return timer != NULL ? (size_t)(timer - heap->all) : TIMERS;
}

static size_t take_due(struct fixture *heap, uint64_t *next_ns)
{
    lanepool_i_timer *timer = lanepool_i_timers_take_due(&heap->timers, next_ns);

    return timer != NULL ? (size_t)(timer - heap->all) : TIMERS;
}

Test(timer_heap, an_empty_heap_has_nothing_to_take)
{
    struct fixture heap;
    uint64_t next_ns = 0;

    fixture_init(&heap);
    expect_eq(take(&heap), TIMERS);
    expect_eq(take_due(&heap, &next_ns), TIMERS);
    expect(next_ns == UINT64_MAX);
    fixture_fini(&heap);
}

Test(timer_heap, the_earliest_is_taken_first)
{
    static const uint64_t orders[][5] = {
        { 1, 2, 3, 4, 5 }, { 5, 4, 3, 2, 1 }, { 3, 1, 4, 2, 5 }, { 2, 5, 1, 4, 3 }
    };
    struct fixture heap;

    fixture_init(&heap);
    for (size_t order = 0; order < sizeof orders / sizeof *orders; order++) {
        for (size_t i = 0; i < 5; i++) {
            add(&heap, i, far_future - orders[order][i]);
        }
        for (uint64_t at = 5; at > 0; at--) {
            expect_eq(orders[order][take(&heap)], at);
        }
        expect_eq(take(&heap), TIMERS);
    }
    fixture_fini(&heap);
}

Test(timer_heap, timers_of_one_moment_are_taken_in_the_order_of_adding)
{
    struct fixture heap;

    fixture_init(&heap);
    for (size_t i = 0; i < TIMERS; i++) {
        add(&heap, i, 7);
    }
    for (size_t i = 0; i < TIMERS; i++) {
        expect_eq(take(&heap), i);
    }
    fixture_fini(&heap);
}

Test(timer_heap, remove_says_whether_the_timer_was_waiting)
{
    struct fixture heap;

    fixture_init(&heap);
    expect(!lanepool_i_timers_remove(&heap.timers, &heap.all[0]));
    add(&heap, 0, 5);
    add(&heap, 1, 6);
    expect(lanepool_i_timers_remove(&heap.timers, &heap.all[0]));
    expect(!lanepool_i_timers_remove(&heap.timers, &heap.all[0]));
    expect_eq(take(&heap), 1);
    expect(!lanepool_i_timers_remove(&heap.timers, &heap.all[1]));
    fixture_fini(&heap);
}

Test(timer_heap, a_timer_may_be_added_again_once_it_is_out)
{
    struct fixture heap;

    fixture_init(&heap);
    add(&heap, 0, 5);
    add(&heap, 1, 6);
    expect_eq(take(&heap), 0);
    add(&heap, 0, 7);
    expect(lanepool_i_timers_remove(&heap.timers, &heap.all[1]));
    add(&heap, 1, 8);
    expect_eq(take(&heap), 0);
    expect_eq(take(&heap), 1);
    expect_eq(take(&heap), TIMERS);
    fixture_fini(&heap);
}

/* Searches all waiting timers for the earliest. Returns its index, or TIMERS. */
static size_t find_earliest(const struct fixture *heap, const bool *waits)
{
    size_t earliest = TIMERS;

    for (size_t i = 0; i < TIMERS; i++) {
        const lanepool_i_timer *timer = &heap->all[i];
        const lanepool_i_timer *best = &heap->all[earliest % TIMERS];

        if (waits[i] && (earliest == TIMERS || timer->due_ns < best->due_ns ||
                         (timer->due_ns == best->due_ns && timer->number < best->number))) {
            earliest = i;
        }
    }
    return earliest;
}

/*
 * Checks the order of a heap and its ranks, which bound its right sides by the logarithm of the
 * timers. Returns how many steps to the right there are.
 */
static uint32_t check_heap(const lanepool_i_timer *timer)
{
    const lanepool_i_timer *below[2];
    uint32_t steps[2] = { 0, 0 };

    below[0] = timer->left;
    below[1] = timer->right;
    for (size_t i = 0; i < 2; i++) {
        if (below[i] != NULL) {
            expect(below[i]->parent == timer);
            expect(below[i]->due_ns >= timer->due_ns);
            steps[i] = check_heap(below[i]);
        }
    }
    expect(steps[0] >= steps[1]);
    expect_eq(timer->rank, steps[1] + 1);
    return steps[1] + 1;
}

static void expect_heap(const struct fixture *heap)
{
    const lanepool_i_timer *first = heap->timers.first[false];

    if (first != NULL) {
        expect(first->parent == NULL);
        (void)check_heap(first);
    }
}

Test(timer_heap, adding_removing_and_taking_agree_with_a_plain_search)
{
    struct fixture heap;
    bool waits[TIMERS] = { false };
    size_t count = 0;
    uint64_t random = 1;

    fixture_init(&heap);
    for (int step = 0; step < STEPS; step++) {
        size_t i = random_below(&random, TIMERS);

        if (!waits[i]) {
            add(&heap, i, random_below(&random, MOMENTS));
        } else if (random_below(&random, 2) == 0) {
            expect(lanepool_i_timers_remove(&heap.timers, &heap.all[i]));
        } else {
            i = find_earliest(&heap, waits);
            expect_eq(take(&heap), i);
        }
        waits[i] = !waits[i];
        count += waits[i] ? 1 : (size_t)-1;
        expect_heap(&heap);
    }
    for (; count > 0; count--) {
        size_t i = find_earliest(&heap, waits);

        expect_eq(take(&heap), i);
        waits[i] = false;
    }
    expect_eq(take(&heap), TIMERS);
    fixture_fini(&heap);
}

Test(timer_heap, right_sides_stay_short_for_sorted_timers)
{
    for (int descending = 0; descending < 2; descending++) {
        struct fixture heap;

        fixture_init(&heap);
        for (size_t i = 0; i < TIMERS; i++) {
            add(&heap, i, descending ? TIMERS - i : i);
            expect_heap(&heap);
        }
        fixture_fini(&heap);
    }
}

Test(timer_heap, take_due_leaves_what_is_not_due_and_says_when_it_will_be)
{
    struct fixture heap;
    uint64_t next_ns = 0;

    fixture_init(&heap);
    add(&heap, 0, far_future);
    add(&heap, 1, long_past);
    add(&heap, 2, long_past + 1);
    expect_eq(take_due(&heap, &next_ns), 1);
    expect_eq(take_due(&heap, &next_ns), 2);
    expect_eq(take_due(&heap, &next_ns), TIMERS);
    expect(next_ns == far_future);
    expect(lanepool_i_timers_remove(&heap.timers, &heap.all[0]));
    fixture_fini(&heap);
}

Test(timer_heap, timers_that_keep_their_time_are_not_taken_before_it)
{
    struct fixture heap;
    uint64_t next_ns = 0;

    fixture_init(&heap);
    heap.all[0].keeps_its_time = true;
    heap.all[1].keeps_its_time = true;
    add(&heap, 0, long_past);
    add(&heap, 1, far_future - 1);
    add(&heap, 2, far_future);
    expect_eq(take(&heap), 2);
    expect_eq(take(&heap), TIMERS);
    expect_eq(take_due(&heap, &next_ns), 0);
    expect_eq(take_due(&heap, &next_ns), TIMERS);
    expect(next_ns == far_future - 1);
    expect(lanepool_i_timers_remove(&heap.timers, &heap.all[1]));
    fixture_fini(&heap);
}

Test(timer_heap, take_due_takes_the_earliest_of_both_sorts)
{
    struct fixture heap;
    uint64_t next_ns = 0;

    fixture_init(&heap);
    for (size_t i = 0; i < 6; i++) {
        heap.all[i].keeps_its_time = i % 2 == 0;
        add(&heap, i, long_past + (i == 3 ? 2 : i)); /* timers 2 and 3 are due at one moment */
    }
    for (size_t i = 0; i < 6; i++) {
        expect_eq(take_due(&heap, &next_ns), i);
    }
    fixture_fini(&heap);
}
