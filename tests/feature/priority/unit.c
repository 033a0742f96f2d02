/* Ready tasks by level. model.c compares random steps with a plain list. */
#include "feature/priority/priority_queue.h"
#include "lanepool/future.h"
#include "support/test.h"

enum { TASKS = 6, AGE_NS = 100 };

struct ranked_block {
    _Alignas(64) lanepool_i_task task;
    lanepool_i_rank rank;
    lanepool_i_rank_entry entries[2];
};

struct fixture {
    lanepool_i_priority_queue queue;
    struct ranked_block all[TASKS];
    size_t visited; /* how many tasks were visited, in the order of their index */
};

static void fixture_init(struct fixture *ready, uint64_t age_ns)
{
    *ready = (struct fixture){ .queue = { .age_ns = age_ns } };
}

static void add(struct fixture *ready, size_t i, uint32_t priority, uint64_t now_ns)
{
    lanepool_i_rank_init(&ready->all[i].rank, priority, false);
    lanepool_i_priority_queue_add(&ready->queue, &ready->all[i].rank, now_ns);
}

/* Takes a task. Returns its index, or TASKS if there is none. */
static size_t take(struct fixture *ready, uint64_t now_ns)
{
    const lanepool_i_task *task = lanepool_i_priority_queue_take(&ready->queue, now_ns, 0);

    for (size_t i = 0; i < TASKS; i++) {
        if (task == &ready->all[i].task) {
            return i;
        }
    }
    expect(task == NULL);
    return TASKS;
}

Test(priority, the_highest_level_is_taken_first_and_in_it_the_oldest)
{
    static const uint32_t priorities[TASKS] = { 1, 0, LANEPOOL_PRIORITY_MAX, 1, 0, 1 };
    static const size_t order[TASKS] = { 2, 0, 3, 5, 1, 4 };
    struct fixture ready;

    fixture_init(&ready, LANEPOOL_FOREVER);
    expect_eq(take(&ready, 1), TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        add(&ready, i, priorities[i], 1);
    }
    for (size_t i = 0; i < TASKS; i++) {
        expect_eq(take(&ready, UINT64_MAX), order[i]); /* no task rises by waiting */
    }
    expect_eq(take(&ready, 1), TASKS);
}

Test(priority, a_raised_task_moves_to_the_end_of_its_new_level)
{
    struct fixture ready;

    fixture_init(&ready, LANEPOOL_FOREVER);
    add(&ready, 0, 0, 1);
    add(&ready, 1, 2, 1);
    add(&ready, 2, 0, 1);
    lanepool_i_priority_queue_raise(&ready.queue, &ready.all[2].rank, 2, 1);
    add(&ready, 3, 0, 1);
    expect_eq(take(&ready, 1), 1);
    expect_eq(take(&ready, 1), 2);
    expect_eq(take(&ready, 1), 0);
    expect_eq(take(&ready, 1), 3);
}

Test(priority, a_level_raised_before_the_task_is_ready_counts_then)
{
    struct fixture ready;

    fixture_init(&ready, LANEPOOL_FOREVER);
    add(&ready, 0, 1, 1);
    lanepool_i_rank_init(&ready.all[1].rank, 0, false);
    lanepool_i_priority_queue_raise(&ready.queue, &ready.all[1].rank, 2, 1);
    lanepool_i_priority_queue_add(&ready.queue, &ready.all[1].rank, 1);
    expect_eq(take(&ready, 1), 1);
    expect_eq(take(&ready, 1), 0);
}

Test(priority, a_task_rises_by_one_level_when_it_has_waited_for_the_age)
{
    struct fixture ready;

    fixture_init(&ready, AGE_NS);
    add(&ready, 0, 0, 1);
    add(&ready, 1, 1, AGE_NS);
    add(&ready, 2, 1, AGE_NS);
    expect_eq(take(&ready, AGE_NS), 1); /* too early for task 0 */
    add(&ready, 3, 1, AGE_NS);
    expect_eq(take(&ready, 1 + AGE_NS), 2); /* task 0 rises behind task 3 */
    add(&ready, 4, 1, 1 + AGE_NS);
    expect_eq(take(&ready, 1 + AGE_NS), 3);
    expect_eq(take(&ready, 1 + AGE_NS), 0);
    expect_eq(take(&ready, 1 + AGE_NS), 4);
}

Test(priority, a_task_that_has_risen_waits_for_the_age_again)
{
    struct fixture ready;

    fixture_init(&ready, AGE_NS);
    add(&ready, 0, 0, 1);
    for (size_t i = 1; i <= 3; i++) {
        add(&ready, i, LANEPOOL_PRIORITY_MAX, 1 + AGE_NS);
    }
    for (size_t i = 1; i <= 3; i++) {
        expect_eq(take(&ready, 1 + AGE_NS), i); /* task 0 rises to level 1 by the first */
    }
    add(&ready, 4, 2, 1 + AGE_NS);
    expect_eq(take(&ready, 1 + AGE_NS), 4);
    expect_eq(take(&ready, 1 + AGE_NS), 0);
}

static void visit(lanepool_i_task *task, void *context)
{
    struct fixture *ready = context;

    expect(task == &ready->all[ready->visited].task);
    ready->visited++;
}

Test(priority, each_visits_the_highest_first_and_takes_none)
{
    struct fixture ready;

    fixture_init(&ready, LANEPOOL_FOREVER);
    add(&ready, 2, 3, 1);
    add(&ready, 4, 0, 1);
    add(&ready, 0, LANEPOOL_PRIORITY_MAX, 1);
    add(&ready, 1, LANEPOOL_PRIORITY_MAX, 1);
    add(&ready, 3, 3, 1);
    lanepool_i_priority_queue_each(&ready.queue, visit, &ready);
    expect_eq(ready.visited, 5);
    expect_eq(ready.queue.count, 5);
}
