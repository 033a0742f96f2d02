/* A lane with two threads: the router appends while a worker runs and releases. */
#include <pthread.h>
#include <stdlib.h>

#include "sched/ready_ring.h"
#include "support/memory.h"
#include "support/random.h"
#include "unit/lane_tasks.h"

enum { MANY = 20000 };

struct fixture {
    lanepool_i_lane lane;
    lanepool_i_ready_ring ring; /* from the router to the worker */
    struct plain_block *blocks;
    bool *is_shared;
    uint64_t *order; /* tickets in the order in which the worker ran the tasks */
};

static void fixture_init(struct fixture *all, uint32_t exclusive_of_ten)
{
    uint64_t random = 1;

    memset(all, 0, sizeof *all);
    lanepool_i_lane_init(&all->lane);
    lanepool_i_ready_ring_init(&all->ring, true);
    all->blocks = aligned_alloc(64, MANY * sizeof *all->blocks);
    all->is_shared = memory_get(MANY, sizeof *all->is_shared);
    all->order = memory_get(MANY, sizeof *all->order);
    expect(all->blocks != NULL);
    for (size_t i = 0; i < MANY; i++) {
        plain_init(&all->blocks[i], i, 1);
        all->is_shared[i] = random_below(&random, 10) >= exclusive_of_ten;
    }
}

static void fixture_fini(struct fixture *all)
{
    free(all->blocks);
    free(all->is_shared);
    free(all->order);
}

static void *run_all(void *context)
{
    struct fixture *all = context;
    lanepool_i_grants grants = lanepool_i_no_grants(NULL);

    for (size_t count = 0; count < MANY;) {
        lanepool_i_task *task = lanepool_i_tasks_take(&grants.ready);

        if (task == NULL) {
            task = lanepool_i_ready_ring_take(&all->ring);
        }
        if (task == NULL) {
            lanepool_i_yield();
            continue;
        }
        all->order[count++] = lanepool_i_task_ticket(task);
        lanepool_i_lane_release(&all->lane, &grants);
    }
    return NULL;
}

static void append_all(struct fixture *all)
{
    lanepool_i_grants grants = lanepool_i_no_grants(NULL);

    for (size_t i = 0; i < MANY; i++) {
        lanepool_mode mode = all->is_shared[i] ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;

        if (lanepool_i_lane_append(&all->lane, plain_link(&all->blocks[i], 0, mode), &grants)) {
            lanepool_i_grants_add(&grants, &all->blocks[i].task);
        }
        lanepool_i_ready_ring_put(&all->ring, &grants.ready);
    }
    while (grants.ready.count > 0) {
        lanepool_i_ready_ring_put(&all->ring, &grants.ready);
        lanepool_i_yield();
    }
}

static void run(struct fixture *all)
{
    pthread_t worker;

    expect_eq(pthread_create(&worker, NULL, run_all, all), 0);
    append_all(all);
    expect_eq(pthread_join(worker, NULL), 0);
    expect(lanepool_i_lane_is_idle(&all->lane));
}

Test(lane_two_threads, exclusive_tasks_run_once_each_in_their_order)
{
    struct fixture all;

    fixture_init(&all, 10);
    run(&all);
    for (size_t i = 0; i < MANY; i++) {
        expect_eq(all.order[i], i);
    }
    fixture_fini(&all);
}

/* SHARED tasks may swap with each other, but not with an EXCLUSIVE one. */
Test(lane_two_threads, no_task_passes_an_exclusive_one)
{
    struct fixture all;
    bool *has_run = memory_get(MANY, sizeof *has_run);
    size_t first_missing = 0; /* all tasks before it have run */

    fixture_init(&all, 3);
    run(&all);
    for (size_t at = 0; at < MANY; at++) {
        size_t ticket = all.order[at];

        expect(!has_run[ticket]);
        has_run[ticket] = true;
        for (size_t i = first_missing; i < ticket; i++) {
            expect(has_run[i] || (all.is_shared[i] && all.is_shared[ticket]));
        }
        while (first_missing < MANY && has_run[first_missing]) {
            first_missing++;
        }
    }
    free(has_run);
    fixture_fini(&all);
}
