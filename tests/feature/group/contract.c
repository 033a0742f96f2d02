/* Groups: waiting for members, cancelling them, taking them in completion order, and closing and
 * destroying a group. Which tasks are members: contract_members.c. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "support/step.h"
#include "support/test.h"

enum { COUNT = 3 };

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

Test(group, wait_ends_when_every_member_has_ended)
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

Test(group, group_without_members_has_nothing_to_wait_for)
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

Test(group, inside_a_task_the_wait_is_judged_for_each_member)
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

Test(group, cancelling_ends_members_that_have_not_started_and_asks_those_that_run)
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

Test(group, completions_come_in_completion_order_with_their_results)
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

Test(group, descriptor_is_readable_while_something_can_be_taken)
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

Test(group, group_can_be_destroyed_before_its_members_have_ended)
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

/* By then the program uses the number for a pipe of its own. */
Test(group, members_of_a_destroyed_group_do_not_use_its_descriptor)
{
    struct members members;
    int ends[2];
    int fd;

    expect_eq(pipe(ends), 0);
    start(&members, true);
    expect_ok(lanepool_group_fd(members.group, &fd));
    expect_ok(lanepool_group_close(members.group));
    lanepool_group_destroy(members.group);
    members.group = NULL;
    expect_eq(dup2(ends[1], fd), fd);
    for (int i = 0; i < COUNT; i++) {
        gate_open(&members.gates[i], 1);
    }
    end(&members);
    expect(!is_readable(ends[0]));
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

/* --- closing --- */

static lanepool_group *taken_from;

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
Test(group, consumers_beside_a_submitter_wait_until_the_group_is_closed)
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

Test(group, closed_group_takes_no_more_members_and_ends_those_it_has)
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

/* --- bad arguments --- */

Test(group, bad_arguments_are_invalid)
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
