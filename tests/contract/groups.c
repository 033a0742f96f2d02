/* Groups: waiting for members, taking them in completion order, and the state after a group's
 * end. */
#include <poll.h>
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

enum { COUNT = 3 };

static lanepool_group *taken_from;

static lanepool_group *group_make(bool keeps)
{
    lanepool_group *group;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;

    options.keeps_completions = keeps;
    expect_ok(lanepool_group_create(&options, &group));
    return group;
}

static lanepool_task member_task(lanepool_group *group, struct step *step,
                                 const lanepool_claim *claim)
{
    lanepool_task task = step_task(step, claim, claim ? 1 : 0);

    task.group = group;
    return task;
}

/* Members that each stop at their own gate, on a pool with as many workers. */
struct members {
    lanepool_pool *pool;
    lanepool_group *group;
    struct step steps[COUNT];
    struct gate gates[COUNT];
};

static void start(struct members *members, bool keeps)
{
    *members =
        (struct members){ .pool = pool_make(COUNT, LANEPOOL_PER_KEY), .group = group_make(keeps) };
    for (int i = 0; i < COUNT; i++) {
        lanepool_task task = member_task(members->group, &members->steps[i], NULL);

        gate_init(&members->gates[i]);
        members->steps[i].gate = &members->gates[i];
        members->steps[i].code = i;
        members->steps[i].value = &members->steps[i];
        expect_ok(lanepool_pool_submit(members->pool, &task));
        expect(gate_await(&members->gates[i], 1));
    }
}

static void end(struct members *members)
{
    pool_end(members->pool);
    lanepool_group_destroy(members->group);
    for (int i = 0; i < COUNT; i++) {
        gate_fini(&members->gates[i]);
    }
}

/* --- waiting --- */

Test(groups, wait_ends_when_every_member_has_ended)
{
    struct members members;

    start(&members, false);
    expect_eq(lanepool_group_pending(members.group), COUNT);
    expect_status(lanepool_group_wait(members.group, 0), LANEPOOL_TIMED_OUT);
    for (int i = 0; i < COUNT; i++) {
        expect_status(lanepool_group_wait(members.group, 1000), LANEPOOL_TIMED_OUT);
        gate_open(&members.gates[i], 1);
    }
    expect_ok(lanepool_group_wait(members.group, LANEPOOL_FOREVER));
    expect_eq(lanepool_group_pending(members.group), 0);
    for (int i = 0; i < COUNT; i++) {
        expect_eq(members.steps[i].runs, 1);
    }
    expect_ok(lanepool_group_wait(members.group, 0));
    end(&members);
}

Test(groups, group_without_members_has_nothing_to_wait_for)
{
    lanepool_group *group = group_make(true);
    lanepool_completion completion;

    expect_ok(lanepool_group_wait(group, LANEPOOL_FOREVER));
    expect_status(lanepool_group_next(group, 0, &completion), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_group_next(group, 1000, &completion), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_group_close(group));
    expect_status(lanepool_group_next(group, LANEPOOL_FOREVER, &completion), LANEPOOL_DONE);
    expect_eq(lanepool_group_pending(group), 0);
    lanepool_group_destroy(group);
    lanepool_group_destroy(NULL);
}

Test(groups, members_may_be_of_several_pools_and_come_in_batches)
{
    enum { TASKS = 200 };
    static struct step steps[2][TASKS];
    lanepool_group *groups[2] = { group_make(false), group_make(true) };
    lanepool_pool *pools[2] = { pool_make(2, LANEPOOL_PER_KEY), pool_make(2, LANEPOOL_PER_WORKER) };
    lanepool_completion completion;
    size_t taken = 0;

    for (int pool = 0; pool < 2; pool++) {
        lanepool_task tasks[TASKS];
        lanepool_claim claims[TASKS];
        size_t accepted;

        for (int i = 0; i < TASKS; i++) {
            claims[i] = lanepool_exclusive((uint64_t)i % 7);
            tasks[i] = member_task(i % 3 == 2 ? NULL : groups[i % 3], &steps[pool][i], &claims[i]);
        }
        expect_ok(
            lanepool_pool_submit_batch(pools[pool], tasks, TASKS, LANEPOOL_FOREVER, &accepted));
        expect_eq(accepted, TASKS);
    }
    for (int group = 0; group < 2; group++) {
        expect_ok(lanepool_group_wait(groups[group], LANEPOOL_FOREVER));
        for (int i = 0; i < TASKS; i++) {
            expect(i % 3 != group || (steps[0][i].runs == 1 && steps[1][i].runs == 1));
        }
    }
    expect_ok(lanepool_group_close(groups[1]));
    while (lanepool_group_next(groups[1], LANEPOOL_FOREVER, &completion) == LANEPOOL_OK) {
        taken++;
    }
    expect_eq(taken, 2 * (TASKS / 3 + 1));
    for (int i = 0; i < 2; i++) {
        pool_end(pools[i]);
        lanepool_group_destroy(groups[i]);
    }
}

struct inside {
    lanepool_group *own;
    lanepool_group *other;
    struct step steps[2];
    lanepool_status waited_own;
    lanepool_status waited_other;
    lanepool_status waited_behind;
    lanepool_status next;
    lanepool_status polled;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_claim claims[2] = { lanepool_exclusive(2), lanepool_exclusive(1) };
    lanepool_completion completion;

    inside->waited_own = lanepool_group_wait(inside->own, LANEPOOL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lanepool_task task = member_task(inside->other, &inside->steps[i], &claims[i]);

        if (lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
            return 1;
        }
        *(i == 0 ? &inside->waited_other : &inside->waited_behind) =
            lanepool_group_wait(inside->other, LANEPOOL_FOREVER);
    }
    if (lanepool_group_next(inside->other, LANEPOOL_FOREVER, &completion) != LANEPOOL_OK) {
        return 1;
    }
    inside->next = lanepool_group_next(inside->other, LANEPOOL_FOREVER, &completion);
    inside->polled = lanepool_group_next(inside->other, 0, &completion);
    return 0;
}

Test(groups, inside_a_task_the_wait_is_judged_for_each_member)
{
    struct inside inside = { .own = group_make(true), .other = group_make(true) };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_completion completion;

    task.function = wait_inside;
    task.context = &inside;
    task.claims = &claim;
    task.claim_count = 1;
    task.group = inside.own;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_ok(lanepool_group_next(inside.own, 0, &completion));
    expect_ok(completion.result.status);
    expect_status(inside.waited_own, LANEPOOL_DEADLOCK);
    expect_ok(inside.waited_other);
    expect_status(inside.waited_behind, LANEPOOL_DEADLOCK);
    expect_status(inside.next, LANEPOOL_DEADLOCK);
    expect_status(inside.polled, LANEPOOL_TIMED_OUT);
    lanepool_group_destroy(inside.own);
    lanepool_group_destroy(inside.other);
}

struct handing_over {
    lanepool_task heir;
    lanepool_status status;
};

static int hand_over(lanepool_run *run, void *context)
{
    struct handing_over *handing_over = context;

    handing_over->status = lanepool_run_hand_over(run, &handing_over->heir);
    return 0;
}

Test(groups, task_that_lanes_are_handed_over_to_is_a_member_and_may_be_a_pumps)
{
    struct step step = { 0 };
    struct handing_over handing_over;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pump *pump;
    lanepool_completion completion;

    expect_ok(lanepool_pump_create(pool, &pump));
    handing_over.heir = member_task(group, &step, NULL);
    handing_over.heir.pump = pump;
    task.function = hand_over;
    task.context = &handing_over;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL));
    expect_ok(handing_over.status);
    expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &completion));
    expect(completion.context == &step);
    expect_eq(step.worker, SIZE_MAX);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
    lanepool_group_destroy(group);
}

/* --- cancelling --- */

struct asked {
    struct gate gate;
    bool was_cancelled;
    _Atomic uint32_t cancelling_calls;
};

static int look_whether_asked(lanepool_run *run, void *context)
{
    struct asked *asked = context;

    gate_pass(&asked->gate);
    asked->was_cancelled = lanepool_run_is_cancelled(run);
    return 0;
}

static void count_cancelled(void *context, lanepool_status why)
{
    struct asked *asked = context;

    (void)why;
    asked->cancelling_calls++;
}

Test(groups, cancelling_ends_members_that_have_not_started_and_asks_those_that_run)
{
    enum { MEMBERS = 3 };
    struct asked asked = { .was_cancelled = false };
    struct step outsider = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_completion completion;
    size_t count = 7;

    gate_init(&asked.gate);
    for (int i = 0; i < MEMBERS; i++) {
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = look_whether_asked;
        task.cancelled = count_cancelled;
        task.context = &asked;
        task.claims = &claim;
        task.claim_count = 1;
        task.group = group;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(step_submit_on(pool, &outsider, 1));
    expect(gate_await(&asked.gate, 1));
    expect_ok(lanepool_group_cancel(group, &count));
    expect_eq(count, MEMBERS - 1);
    expect_eq(asked.cancelling_calls, MEMBERS - 1);
    expect_eq(lanepool_group_pending(group), 1);
    expect_ok(lanepool_group_cancel(group, &count));
    expect_eq(count, 0);
    gate_open(&asked.gate, 1);
    expect_ok(lanepool_group_wait(group, LANEPOOL_FOREVER));
    expect(asked.was_cancelled);
    for (int i = 0; i < MEMBERS; i++) {
        expect_ok(lanepool_group_next(group, 0, &completion));
        expect_status(completion.result.status, i < MEMBERS - 1 ? LANEPOOL_CANCELLED : LANEPOOL_OK);
    }
    expect_status(lanepool_group_cancel(NULL, &count), LANEPOOL_INVALID);
    pool_end(pool);
    expect_eq(outsider.runs, 1);
    lanepool_group_destroy(group);
    gate_fini(&asked.gate);
}

/* --- taking --- */

Test(groups, completions_come_in_completion_order_with_their_results)
{
    static const int order[COUNT] = { 2, 0, 1 };
    struct members members;
    lanepool_completion completion;

    start(&members, true);
    expect_status(lanepool_group_next(members.group, 0, &completion), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_group_next(members.group, 1000, &completion), LANEPOOL_TIMED_OUT);
    for (int i = 0; i < COUNT; i++) {
        gate_open(&members.gates[order[i]], 1);
        expect_ok(lanepool_group_next(members.group, LANEPOOL_FOREVER, &completion));
        expect(completion.context == &members.steps[order[i]]);
        expect_status(completion.result.status, order[i] == 0 ? LANEPOOL_OK : LANEPOOL_FAILED);
        expect_eq(completion.result.code, order[i]);
        expect(completion.result.value == &members.steps[order[i]]);
    }
    expect_ok(lanepool_group_close(members.group));
    expect_status(lanepool_group_next(members.group, LANEPOOL_FOREVER, &completion), LANEPOOL_DONE);
    end(&members);
}

static bool is_readable(int fd)
{
    struct pollfd pollfd = { .fd = fd, .events = POLLIN };

    return poll(&pollfd, 1, 0) == 1;
}

Test(groups, descriptor_is_readable_while_something_can_be_taken)
{
    struct members members;
    lanepool_completion completion;
    struct pollfd pollfd = { .events = POLLIN };
    int again;

    start(&members, true);
    gate_open(&members.gates[0], 1);
    while (lanepool_group_pending(members.group) == COUNT) {
        expect_status(lanepool_group_wait(members.group, 1000000), LANEPOOL_TIMED_OUT);
    }
    expect_ok(lanepool_group_fd(members.group, &pollfd.fd));
    expect_ok(lanepool_group_fd(members.group, &again));
    expect_eq(pollfd.fd, again);
    expect(is_readable(again));
    expect_ok(lanepool_group_next(members.group, 0, &completion));
    expect(!is_readable(again));
    gate_open(&members.gates[1], 1);
    gate_open(&members.gates[2], 1);
    expect_eq(poll(&pollfd, 1, 60000), 1);
    expect_ok(lanepool_group_wait(members.group, LANEPOOL_FOREVER));
    expect_ok(lanepool_group_next(members.group, 0, &completion));
    expect(is_readable(again));
    expect_ok(lanepool_group_next(members.group, 0, &completion));
    expect(!is_readable(again));
    expect_ok(lanepool_group_close(members.group));
    expect(is_readable(again));
    expect_status(lanepool_group_next(members.group, 0, &completion), LANEPOOL_DONE);
    expect(is_readable(again));
    end(&members);
}

/* --- the end --- */

Test(groups, group_can_be_destroyed_before_its_members_have_ended)
{
    struct members members;

    start(&members, true);
    gate_open(&members.gates[0], 1);
    while (lanepool_group_pending(members.group) == COUNT) {
        expect_status(lanepool_group_wait(members.group, 1000000), LANEPOOL_TIMED_OUT);
    }
    lanepool_group_destroy(members.group);
    members.group = NULL;
    gate_open(&members.gates[1], 1);
    gate_open(&members.gates[2], 1);
    end(&members);
}

struct returned {
    lanepool_pool *pool;
    lanepool_group *group;
    uint32_t count;
    bool had_group;
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct returned *returned = context;

    (void)ticket;
    returned->count++;
    returned->had_group = task->group == returned->group;
}

/* --- closing --- */

static void *take_all(void *context)
{
    lanepool_completion completion;
    size_t *taken = context;

    while (lanepool_group_next(taken_from, LANEPOOL_FOREVER, &completion) == LANEPOOL_OK) {
        ++*taken;
    }
    return NULL;
}

/* Each member is submitted only when the consumers have taken all earlier ones. */
Test(groups, consumers_beside_a_submitter_wait_until_the_group_is_closed)
{
    enum { CONSUMERS = 2, TASKS = 20 };
    static struct step steps[TASKS];
    pthread_t threads[CONSUMERS];
    size_t taken[CONSUMERS] = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    taken_from = group_make(true);
    for (int i = 0; i < CONSUMERS; i++) {
        expect_eq(pthread_create(&threads[i], NULL, take_all, &taken[i]), 0);
    }
    for (int i = 0; i < TASKS; i++) {
        lanepool_task task = member_task(taken_from, &steps[i], NULL);

        expect_ok(lanepool_pool_submit(pool, &task));
        expect_ok(lanepool_group_wait(taken_from, LANEPOOL_FOREVER));
    }
    expect_ok(lanepool_group_close(taken_from));
    for (int i = 0; i < CONSUMERS; i++) {
        expect_eq(pthread_join(threads[i], NULL), 0);
    }
    expect_eq(taken[0] + taken[1], TASKS);
    pool_end(pool);
    lanepool_group_destroy(taken_from);
}

Test(groups, closed_group_takes_no_more_members_and_ends_those_it_has)
{
    struct members members;
    struct step late = { 0 };
    lanepool_completion completion;
    size_t accepted;

    start(&members, true);
    lanepool_task task = member_task(members.group, &late, NULL);
    lanepool_task batch[2] = { step_task(&members.steps[0], NULL, 0), task };
    expect_ok(lanepool_group_close(members.group));
    expect_ok(lanepool_group_close(members.group));
    expect_status(lanepool_pool_submit(members.pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_or_run(members.pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_batch(members.pool, &batch[1], 1, 0, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(accepted, 0);
    expect_eq(lanepool_group_pending(members.group), COUNT);
    expect_status(lanepool_group_next(members.group, 0, &completion), LANEPOOL_TIMED_OUT);
    for (int i = 0; i < COUNT; i++) {
        gate_open(&members.gates[i], 1);
        expect_ok(lanepool_group_next(members.group, LANEPOOL_FOREVER, &completion));
    }
    expect_status(lanepool_group_next(members.group, 0, &completion), LANEPOOL_DONE);
    expect_eq(late.runs, 0);
    end(&members);
}

Test(groups, batch_ends_at_the_first_member_of_a_closed_group)
{
    struct step steps[3] = { { 0 } };
    lanepool_group *group = group_make(false);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task tasks[3];
    size_t accepted;

    for (int i = 0; i < 3; i++) {
        tasks[i] = member_task(i == 1 ? group : NULL, &steps[i], NULL);
    }
    expect_ok(lanepool_group_close(group));
    expect_status(lanepool_pool_submit_batch(pool, tasks, 3, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(accepted, 1);
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs + steps[2].runs, 0);
    lanepool_group_destroy(group);
}

Test(groups, lanes_are_not_handed_over_to_a_member_of_a_closed_group)
{
    struct step step = { 0 };
    struct handing_over handing_over;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = LANEPOOL_TASK_INIT;

    expect_ok(lanepool_group_close(group));
    handing_over.heir = member_task(group, &step, NULL);
    task.function = hand_over;
    task.context = &handing_over;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_status(handing_over.status, LANEPOOL_SHUT_DOWN);
    expect_eq(step.runs, 0);
    expect_eq(lanepool_group_pending(group), 0);
    lanepool_group_destroy(group);
}

/* --- the state after a group's end --- */

/* One member runs, another waits behind it and is handed back. */
static void stop_with_a_member_behind(bool destroys_first)
{
    struct step steps[2] = { { 0 } };
    struct gate gate;
    struct returned returned = { .pool = pool_make(1, LANEPOOL_PER_KEY),
                                 .group = group_make(true) };
    lanepool_completion completion;

    gate_init(&gate);
    steps[0].gate = &gate;
    for (int i = 0; i < 2; i++) {
        lanepool_claim claim = lanepool_exclusive(1);
        lanepool_task task = member_task(returned.group, &steps[i], &claim);

        expect_ok(lanepool_pool_submit(returned.pool, &task));
    }
    expect(gate_await(&gate, 1));
    if (destroys_first) {
        lanepool_group_destroy(returned.group);
    }
    expect_ok(lanepool_pool_shutdown_now(returned.pool, take_back, &returned));
    gate_open(&gate, 1);
    pool_end(returned.pool);
    expect_eq(returned.count, 1);
    expect(returned.had_group == !destroys_first);
    if (!destroys_first) {
        expect_ok(lanepool_group_next(returned.group, 0, &completion));
        expect(completion.context == &steps[0]);
        expect_ok(lanepool_group_next(returned.group, 0, &completion));
        expect(completion.context == &steps[1]);
        expect_status(completion.result.status, LANEPOOL_CANCELLED);
        expect_ok(lanepool_group_close(returned.group));
        expect_status(lanepool_group_next(returned.group, 0, &completion), LANEPOOL_DONE);
        lanepool_group_destroy(returned.group);
    }
    gate_fini(&gate);
}

Test(groups, members_that_are_handed_back_end_as_cancelled_and_bring_their_group)
{
    stop_with_a_member_behind(false);
}

Test(groups, members_that_are_handed_back_bring_no_group_that_is_destroyed)
{
    stop_with_a_member_behind(true);
}

Test(groups, refused_tasks_are_no_members)
{
    struct step step = { 0 };
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = member_task(group, &step, NULL);
    lanepool_completion completion;
    size_t accepted;

    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_or_run(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_batch(pool, &task, 1, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(lanepool_group_pending(group), 0);
    expect_status(lanepool_group_next(group, 0, &completion), LANEPOOL_TIMED_OUT);
    pool_end(pool);
    lanepool_group_destroy(group);
}

Test(groups, member_that_its_submitter_runs_is_a_member_too)
{
    struct step steps[2] = { { 0 } };
    struct gate gate;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_group *group = group_make(true);
    lanepool_future *future;
    lanepool_completion completion;

    options.workers = 1;
    options.pending_max = 1;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_task task = member_task(group, &steps[1], NULL);
    gate_init(&gate);
    steps[0].gate = &gate;
    steps[1].code = 5;
    task.future = &future;
    expect_ok(step_submit(pool, &steps[0]));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit_or_run(pool, &task));
    expect_eq(steps[1].runs, 1);
    expect_ok(lanepool_group_next(group, 0, &completion));
    expect_eq(completion.result.code, 5);
    expect_ok(lanepool_future_wait(future, 0, &completion.result));
    lanepool_future_release(future);
    gate_open(&gate, 1);
    pool_end(pool);
    lanepool_group_destroy(group);
    gate_fini(&gate);
}

Test(groups, bad_arguments_are_invalid)
{
    lanepool_group *group = NULL;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_completion completion;
    int fd;

    expect_status(lanepool_group_create(NULL, NULL), LANEPOOL_INVALID);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    struct step step = { 0 };
    lanepool_timer *timer;
    expect_ok(lanepool_group_create(NULL, &group));
    lanepool_task task = member_task(group, &step, NULL);
    expect_status(lanepool_pool_submit_after(pool, &task, 1000), LANEPOOL_UNSUPPORTED);
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1000, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    pool_end(pool);
    lanepool_group_destroy(group);
    options.struct_size--;
    expect_status(lanepool_group_create(&options, &group), LANEPOOL_INVALID);
    expect(group == NULL);
    expect_status(lanepool_group_wait(NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_group_next(NULL, 0, &completion), LANEPOOL_INVALID);
    expect_status(lanepool_group_fd(NULL, &fd), LANEPOOL_INVALID);
    expect_status(lanepool_group_close(NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_group_create(NULL, &group));
    expect_status(lanepool_group_next(group, 0, &completion), LANEPOOL_INVALID);
    expect_status(lanepool_group_fd(group, &fd), LANEPOOL_INVALID);
    lanepool_group_destroy(group);
}
