/* A worker's ring of ready tasks: order, edges, and two threads at once. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sched/ready_ring.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/blocks.h"

enum { SLOTS = LANEPOOL_I_READY_SLOTS, HALF_MAX = LANEPOOL_I_TAKE_MAX, MANY = 20000 };

struct fixture {
    lanepool_i_ready_ring ring;
    lanepool_i_tasks left;    /* tasks that are not in the ring yet */
    struct plain_block *all;  /* the ticket is the task's index */
    uint64_t put_count;       /* tasks that were added to the list */
    uint64_t expected_number; /* index of the task to be taken next */
};

static void fixture_init(struct fixture *ready, size_t count)
{
    *ready = (struct fixture){ .put_count = 0 };
    lanepool_i_ready_ring_init(&ready->ring, true);
    ready->all = aligned_alloc(64, count * sizeof *ready->all);
    expect(ready->all != NULL);
    for (size_t i = 0; i < count; i++) {
        plain_init(&ready->all[i], i, 1);
    }
}

static void fixture_fini(struct fixture *ready)
{
    free(ready->all);
}

static void add_to_list(struct fixture *ready, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_i_tasks_add(&ready->left, &ready->all[ready->put_count++].task);
    }
}

/* Puts tasks that must all fit. */
static void put(struct fixture *ready, size_t count)
{
    add_to_list(ready, count);
    lanepool_i_ready_ring_put(&ready->ring, &ready->left);
    expect_eq(ready->left.count, 0);
    expect(ready->left.first == NULL);
}

static void expect_next(struct fixture *ready, const lanepool_i_task *task)
{
    expect(task != NULL);
    expect_eq(lanepool_i_task_ticket(task), ready->expected_number);
    ready->expected_number++;
}

static void take(struct fixture *ready, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_next(ready, lanepool_i_ready_ring_take(&ready->ring));
    }
}

/* Takes the older half. Returns how many tasks that were. */
static size_t take_half(struct fixture *ready)
{
    lanepool_i_tasks taken = { NULL, NULL, 0 };
    size_t count = lanepool_i_ready_ring_take_half(&ready->ring, &taken);

    expect_eq(taken.count, count);
    while (taken.count > 0) {
        expect_next(ready, lanepool_i_tasks_take(&taken));
    }
    return count;
}

/* In a pool the ring's worker follows its ring in memory. */
Test(ready_ring, is_initialised_within_its_bounds)
{
    struct {
        lanepool_i_ready_ring ring;
        unsigned char behind[64];
    } place;

    memset(&place, 0x5a, sizeof place);
    lanepool_i_ready_ring_init(&place.ring, true);
    for (size_t i = 0; i < SLOTS; i++) {
        expect(load_relaxed(&place.ring.slots[i]) == NULL);
    }
    for (size_t i = 0; i < sizeof place.behind; i++) {
        expect_eq(place.behind[i], 0x5a);
    }
}

Test(ready_ring, an_empty_ring_has_nothing_to_take)
{
    struct fixture ready;
    lanepool_i_tasks none = { NULL, NULL, 0 };

    fixture_init(&ready, 1);
    expect(lanepool_i_ready_ring_take(&ready.ring) == NULL);
    expect_eq(take_half(&ready), 0);
    lanepool_i_ready_ring_put(&ready.ring, &none);
    expect_eq(lanepool_i_ready_ring_count(&ready.ring), 0);
    put(&ready, 1);
    take(&ready, 1);
    expect(lanepool_i_ready_ring_take(&ready.ring) == NULL);
    fixture_fini(&ready);
}

Test(ready_ring, tasks_are_taken_in_the_order_in_which_they_were_put)
{
    struct fixture ready;

    fixture_init(&ready, 5 * SLOTS);
    for (size_t round = 0; round < 10; round++) { /* twice around the ring */
        put(&ready, SLOTS / 2 - 3);
        expect_eq(lanepool_i_ready_ring_count(&ready.ring), SLOTS / 2 - 3);
        take(&ready, SLOTS / 2 - 3);
    }
    expect_eq(lanepool_i_ready_ring_count(&ready.ring), 0);
    fixture_fini(&ready);
}

Test(ready_ring, what_does_not_fit_stays_in_the_list)
{
    struct fixture ready;

    fixture_init(&ready, SLOTS + 3);
    put(&ready, 1);
    add_to_list(&ready, SLOTS + 2);
    lanepool_i_ready_ring_put(&ready.ring, &ready.left);
    expect_eq(ready.left.count, 3);
    expect_eq(lanepool_i_ready_ring_count(&ready.ring), SLOTS);
    lanepool_i_ready_ring_put(&ready.ring, &ready.left); /* the ring is full */
    expect_eq(ready.left.count, 3);
    take(&ready, 2);
    lanepool_i_ready_ring_put(&ready.ring, &ready.left);
    expect_eq(ready.left.count, 1);
    take(&ready, SLOTS);
    lanepool_i_ready_ring_put(&ready.ring, &ready.left);
    take(&ready, 1);
    fixture_fini(&ready);
}

Test(ready_ring, positions_may_wrap_around)
{
    struct fixture ready;

    fixture_init(&ready, 3 * SLOTS);
    atomic_init(&ready.ring.head, UINT32_MAX - SLOTS / 2);
    atomic_init(&ready.ring.tail, UINT32_MAX - SLOTS / 2);
    put(&ready, SLOTS);
    expect_eq(lanepool_i_ready_ring_count(&ready.ring), SLOTS);
    expect_eq(take_half(&ready), HALF_MAX);
    take(&ready, SLOTS - HALF_MAX);
    expect(lanepool_i_ready_ring_take(&ready.ring) == NULL);
    put(&ready, SLOTS);
    take(&ready, SLOTS);
    fixture_fini(&ready);
}

Test(ready_ring, the_older_half_is_taken_rounded_up_and_limited)
{
    for (size_t count = 1; count <= 2 * HALF_MAX + 3; count++) {
        struct fixture ready;
        size_t half = (count + 1) / 2;

        fixture_init(&ready, count);
        put(&ready, count);
        expect_eq(take_half(&ready), half < HALF_MAX ? half : HALF_MAX);
        expect_eq(lanepool_i_ready_ring_count(&ready.ring), count - ready.expected_number);
        take(&ready, count - ready.expected_number);
        fixture_fini(&ready);
    }
}

Test(ready_ring, a_ring_that_takes_no_tasks_leaves_all)
{
    struct fixture ready;

    fixture_init(&ready, 2);
    lanepool_i_ready_ring_init(&ready.ring, false);
    add_to_list(&ready, 2);
    lanepool_i_ready_ring_put(&ready.ring, &ready.left);
    expect_eq(ready.left.count, 2);
    expect(lanepool_i_ready_ring_take(&ready.ring) == NULL);
    fixture_fini(&ready);
}

Test(ready_ring, taken_counts_what_was_ever_taken)
{
    struct fixture ready;
    uint32_t before;

    fixture_init(&ready, 8);
    before = lanepool_i_ready_ring_taken(&ready.ring);
    put(&ready, 8);
    expect_eq(lanepool_i_ready_ring_taken(&ready.ring), before);
    take(&ready, 1);
    expect_eq(take_half(&ready), 4);
    expect_eq(lanepool_i_ready_ring_taken(&ready.ring), before + 5);
    fixture_fini(&ready);
}

static void visit(lanepool_i_task *task, void *context)
{
    expect_next(context, task);
}

Test(ready_ring, each_visits_the_tasks_oldest_first_and_takes_none)
{
    struct fixture ready;

    fixture_init(&ready, 2 * SLOTS);
    put(&ready, SLOTS);
    take(&ready, SLOTS - 2);
    put(&ready, SLOTS - 2); /* full, and across the ring's end */
    lanepool_i_ready_ring_each(&ready.ring, visit, &ready);
    expect_eq(ready.expected_number, ready.put_count);
    expect_eq(lanepool_i_ready_ring_count(&ready.ring), SLOTS);
    fixture_fini(&ready);
}

/* --- two threads --- */

struct taker {
    struct fixture *ready;
    _Atomic uint64_t *taken; /* of both threads */
    uint32_t *times;         /* how often this thread has taken each task */
    bool in_order;
};

static void note_taken(struct taker *taker, const lanepool_i_task *task, uint64_t *last)
{
    uint64_t number = lanepool_i_task_ticket(task) + 1;

    taker->in_order = taker->in_order && number > *last;
    *last = number;
    taker->times[number - 1]++;
    atomic_fetch_add(taker->taken, 1);
}

/* Takes one task and then half of the tasks, until all are taken. */
static void *take_until_none_is_left(void *context)
{
    struct taker *taker = context;
    uint64_t last = 0;

    while (atomic_load(taker->taken) < MANY) {
        lanepool_i_tasks half = { NULL, NULL, 0 };
        lanepool_i_task *task = lanepool_i_ready_ring_take(&taker->ready->ring);

        if (task != NULL) {
            note_taken(taker, task, &last);
        }
        (void)lanepool_i_ready_ring_take_half(&taker->ready->ring, &half);
        while ((task = lanepool_i_tasks_take(&half)) != NULL) {
            note_taken(taker, task, &last);
        }
        sched_yield();
    }
    return NULL;
}

Test(ready_ring, each_task_is_taken_once_by_one_of_two_threads)
{
    struct fixture ready;
    _Atomic uint64_t taken = 0;
    struct taker takers[2];
    pthread_t thread;
    uint64_t last = 0;

    fixture_init(&ready, MANY);
    for (int i = 0; i < 2; i++) {
        takers[i] = (struct taker){ .ready = &ready, .taken = &taken, .in_order = true };
        takers[i].times = memory_get(MANY, sizeof *takers[i].times);
    }
    add_to_list(&ready, MANY);
    expect_eq(pthread_create(&thread, NULL, take_until_none_is_left, &takers[1]), 0);
    while (ready.left.count > 0) {
        lanepool_i_task *task;

        lanepool_i_ready_ring_put(&ready.ring, &ready.left);
        task = lanepool_i_ready_ring_take(&ready.ring);
        if (task != NULL) {
            note_taken(&takers[0], task, &last);
        }
    }
    expect_eq(pthread_join(thread, NULL), 0);
    expect(takers[0].in_order && takers[1].in_order);
    for (size_t i = 0; i < MANY; i++) {
        expect_eq(takers[0].times[i] + takers[1].times[i], 1);
    }
    free(takers[0].times);
    free(takers[1].times);
    fixture_fini(&ready);
}
