/* Promises S1.1 to S1.12 of README.md, the grouped pool: tasks say themselves whether they may
 * overlap; rollups span lanes. */
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

/* Each client is one letter; a task involves the clients in its text. */
struct client_task {
    struct step step;
    const char *clients;
};

static bool share_no_client(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct client_task *first = a->context;
    const struct client_task *second = b->context;

    (void)user;
    for (const char *c = first->clients; *c; c++) {
        for (const char *d = second->clients; *d; d++) {
            if (*c == *d) {
                return false;
            }
        }
    }
    return true;
}

static lanepool_pool *client_pool(unsigned workers, lanepool_layout layout,
                                  lanepool_compatible_fn rule)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.is_compatible = rule;
    return pool_make_with(&options);
}

static lanepool_status submit_client(lanepool_pool *pool, struct client_task *task)
{
    return step_submit(pool, &task->step);
}

/* A rule that answers no for (older, newer) or for (newer, older) only. Identifiers grow with
 * submission. */
struct one_sided {
    bool newer_asks;
};

static bool one_side_says_no(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct step *first = a->context;
    const struct step *second = b->context;
    const struct one_sided *side = user;

    return (first->id > second->id) != side->newer_asks;
}

static void conflict_by_one_side(bool newer_asks)
{
    struct one_sided side = { newer_asks };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct journal journal = { 0 };
    struct step steps[40] = { { 0 } };
    lanepool_pool *pool;

    options.workers = 4;
    options.is_compatible = one_side_says_no;
    options.user = &side;
    pool = pool_make_with(&options);
    for (uint32_t i = 0; i < 40; i++) {
        steps[i].id = i;
        steps[i].journal = &journal;
        expect_ok(step_submit(pool, &steps[i]));
    }
    pool_end(pool);
    expect_eq(journal.most_running, 1);
    for (uint32_t i = 0; i < 40; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
}

Test(seed_s1, s1_1_no_of_the_newer_task_is_a_conflict)
{
    conflict_by_one_side(true);
}

Test(seed_s1, s1_1_no_of_the_older_task_is_a_conflict)
{
    conflict_by_one_side(false);
}

Test(seed_s1, s1_2_no_conflict_goes_to_the_worker_with_the_fewest_entries)
{
    struct gate gate;
    struct client_task tasks[3] = { { .clients = "a" }, { .clients = "b" }, { .clients = "c" } };
    lanepool_pool *pool = client_pool(3, LANEPOOL_PER_WORKER, share_no_client);

    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        tasks[i].step.gate = &gate;
        expect_ok(submit_client(pool, &tasks[i]));
    }
    /* All three run at once: none was queued behind another while a worker had no entry. */
    expect(gate_await(&gate, 3));
    gate_open(&gate, 3);
    pool_end(pool);
    expect(tasks[0].step.worker != tasks[1].step.worker);
    expect(tasks[0].step.worker != tasks[2].step.worker);
    expect(tasks[1].step.worker != tasks[2].step.worker);
    gate_fini(&gate);
}

Test(seed_s1, s1_2_conflict_with_one_lane_goes_behind_it)
{
    struct gate gate;
    struct client_task first = { .clients = "a" };
    struct client_task behind[5] = { { .clients = "a" },
                                     { .clients = "a" },
                                     { .clients = "a" },
                                     { .clients = "a" },
                                     { .clients = "a" } };
    lanepool_pool *pool = client_pool(3, LANEPOOL_PER_WORKER, share_no_client);

    gate_init(&gate);
    first.step.gate = &gate;
    expect_ok(submit_client(pool, &first));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 5; i++) {
        expect_ok(submit_client(pool, &behind[i]));
    }
    gate_open(&gate, 1);
    pool_end(pool);
    for (int i = 0; i < 5; i++) {
        expect_eq(behind[i].step.worker, first.step.worker);
    }
    gate_fini(&gate);
}

Test(seed_s1, s1_3_every_worker_is_woken_for_work_of_its_own)
{
    enum { WORKERS = 6, ROUNDS = 50 };
    struct gate gate;
    struct step steps[WORKERS];
    lanepool_pool *pool = pool_make(WORKERS, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WORKERS; i++) {
            steps[i] = (struct step){ .gate = &gate };
            expect_ok(step_submit_on(pool, &steps[i], i));
        }
        expect(gate_await(&gate, WORKERS)); /* a lost wake-up would fail here */
        gate_open(&gate, WORKERS);
        pool_settle(pool);
        for (int i = 0; i < WORKERS; i++) {
            for (int j = 0; j < i; j++) {
                expect(steps[i].worker != steps[j].worker);
            }
        }
    }
    pool_end(pool);
    gate_fini(&gate);
}

/* A rollup over a and b is latched, and waits for a running task of a. A task of c runs; one of b
 * waits. */
static void rollup_blocks_its_clients_only(lanepool_pool *pool)
{
    struct gate gate_a;
    struct gate done;
    struct client_task a = { .clients = "a" };
    struct client_task rollup = { .clients = "ab" };
    struct client_task b = { .clients = "b" };
    struct client_task c[4] = {
        { .clients = "c" }, { .clients = "c" }, { .clients = "d" }, { .clients = "c" }
    };

    gate_init(&gate_a);
    gate_init(&done);
    a.step.gate = &gate_a;
    expect_ok(submit_client(pool, &a));
    expect(gate_await(&gate_a, 1));
    expect_ok(submit_client(pool, &rollup));
    expect_ok(submit_client(pool, &b));
    for (int i = 0; i < 4; i++) {
        c[i].step.gate = &done;
        gate_open(&done, 1);
        expect_ok(submit_client(pool, &c[i]));
    }
    expect(gate_await(&done, 4));
    expect(!step_was_called(&rollup.step));
    expect(!step_was_called(&b.step));
    gate_open(&gate_a, 1);
    pool_end(pool);
    expect_eq(rollup.step.runs, 1);
    expect_eq(b.step.runs, 1);
    gate_fini(&gate_a);
    gate_fini(&done);
}

Test(seed_s1, s1_4_rollup_blocks_its_clients_and_no_more)
{
    rollup_blocks_its_clients_only(client_pool(3, LANEPOOL_PER_KEY, share_no_client));
}

Test(seed_s1, s1_4_rollup_blocks_its_clients_and_no_more_per_worker)
{
    rollup_blocks_its_clients_only(client_pool(3, LANEPOOL_PER_WORKER, share_no_client));
}

/* While the rollup runs, tasks of other clients run, too. */
static void running_rollup_blocks_its_clients_only(lanepool_pool *pool)
{
    struct gate gate;
    struct gate done;
    struct client_task rollup = { .clients = "ab" };
    struct client_task behind[2] = { { .clients = "a" }, { .clients = "b" } };
    struct client_task c = { .clients = "c" };

    gate_init(&gate);
    gate_init(&done);
    rollup.step.gate = &gate;
    c.step.gate = &done;
    gate_open(&done, 1);
    expect_ok(submit_client(pool, &rollup));
    expect(gate_await(&gate, 1));
    expect_ok(submit_client(pool, &behind[0]));
    expect_ok(submit_client(pool, &behind[1]));
    expect_ok(submit_client(pool, &c));
    expect(gate_await(&done, 1));
    expect(!step_was_called(&behind[0].step));
    expect(!step_was_called(&behind[1].step));
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
    gate_fini(&done);
}

Test(seed_s1, s1_4_running_rollup_lets_other_clients_go_on)
{
    running_rollup_blocks_its_clients_only(client_pool(3, LANEPOOL_PER_KEY, share_no_client));
}

Test(seed_s1, s1_4_running_rollup_lets_other_clients_go_on_per_worker)
{
    running_rollup_blocks_its_clients_only(client_pool(3, LANEPOOL_PER_WORKER, share_no_client));
}

static void order_around_a_rollup(lanepool_pool *pool)
{
    enum { EACH = 10 };
    struct journal journal = { 0 };
    struct client_task tasks[4 * EACH + 1];

    for (uint32_t i = 0; i <= 4 * EACH; i++) {
        const char *clients = i == 2 * EACH ? "ab" : (i % 2 ? "a" : "b");

        tasks[i] =
            (struct client_task){ .step = { .id = i, .journal = &journal }, .clients = clients };
        expect_ok(submit_client(pool, &tasks[i]));
    }
    pool_end(pool);
    expect_eq(journal_place(&journal, 2 * EACH), 2 * EACH);
    for (uint32_t i = 2; i <= 4 * EACH; i++) {
        if (i != 2 * EACH && i - 2 != 2 * EACH) {
            expect(journal_place(&journal, i - 2) < journal_place(&journal, i));
        }
    }
}

Test(seed_s1, s1_5_submission_order_is_kept_around_a_rollup)
{
    order_around_a_rollup(client_pool(3, LANEPOOL_PER_KEY, share_no_client));
}

Test(seed_s1, s1_5_submission_order_is_kept_around_a_rollup_per_worker)
{
    order_around_a_rollup(client_pool(3, LANEPOOL_PER_WORKER, share_no_client));
}

/* After the rollup, tasks of a and b must run at the same time, in every round. */
static void clients_part_after_a_rollup(lanepool_pool *pool)
{
    struct gate gate;
    struct gate apart;

    gate_init(&gate);
    gate_init(&apart);
    for (int round = 0; round < 50; round++) {
        struct client_task before[2] = { { .clients = "a" }, { .clients = "b" } };
        struct client_task rollup = { .clients = "ab" };
        struct client_task after[2] = { { .clients = "a" }, { .clients = "b" } };

        for (int i = 0; i < 2; i++) {
            before[i].step.gate = &gate;
            expect_ok(submit_client(pool, &before[i]));
        }
        expect(gate_await(&gate, 2));
        expect_ok(submit_client(pool, &rollup));
        for (int i = 0; i < 2; i++) {
            after[i].step.gate = &apart;
            expect_ok(submit_client(pool, &after[i]));
        }
        gate_open(&gate, 2);
        expect(gate_await(&apart, 2));
        gate_open(&apart, 2);
        pool_settle(pool);
        expect_eq(rollup.step.runs, 1);
    }
    pool_end(pool);
    gate_fini(&gate);
    gate_fini(&apart);
}

Test(seed_s1, s1_6_clients_go_on_in_parallel_after_a_rollup)
{
    clients_part_after_a_rollup(client_pool(2, LANEPOOL_PER_KEY, share_no_client));
}

Test(seed_s1, s1_6_clients_go_on_in_parallel_after_a_rollup_per_worker)
{
    clients_part_after_a_rollup(client_pool(2, LANEPOOL_PER_WORKER, share_no_client));
}

struct released {
    struct client_task task;
    struct gate gone;
};

static void say_released(void *context)
{
    struct released *released = context;

    gate_arrive(&released->gone);
}

Test(seed_s1, s1_7_finished_task_is_let_go_without_another_submit)
{
    struct released released = { .task = { .clients = "a" } };
    lanepool_task task;
    lanepool_pool *pool = client_pool(2, LANEPOOL_PER_KEY, share_no_client);

    gate_init(&released.gone);
    task = step_task(&released.task.step, NULL, 0);
    task.release = say_released;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&released.gone, 1));
    expect_eq(released.task.step.runs, 1);
    pool_end(pool);
    gate_fini(&released.gone);
}

static void collect(void *context, const lanepool_task *task, uint64_t ticket)
{
    void ***next = context;

    (void)ticket;
    *(*next)++ = task->context;
}

Test(seed_s1, s1_8_failing_rollup_frees_its_clients_and_shutdown_now_returns_the_rest)
{
    struct gate gate;
    struct client_task failing = { .clients = "ab", .step = { .code = 5 } };
    struct client_task running = { .clients = "a" };
    struct client_task rest[3] = { { .clients = "b" }, { .clients = "ab" }, { .clients = "a" } };
    void *back[3] = { NULL };
    void **next = back;
    lanepool_pool *pool = client_pool(1, LANEPOOL_PER_KEY, share_no_client);

    gate_init(&gate);
    running.step.gate = &gate;
    expect_ok(submit_client(pool, &failing));
    expect_ok(submit_client(pool, &running));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 3; i++) {
        expect_ok(submit_client(pool, &rest[i]));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, collect, &next));
    gate_open(&gate, 1);
    pool_end(pool);
    for (int i = 0; i < 3; i++) {
        expect(back[i] == &rest[i]);
    }
    expect_eq(next - back, 3);
    gate_fini(&gate);
}

/* A rule that compares addresses: it must get the very contexts that were submitted. */
struct identity_rule {
    const struct step *first;
    const struct step *last;
    _Atomic uint32_t foreign;
};

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    struct identity_rule *rule = user;
    const lanepool_task_view *views[2] = { a, b };

    for (int i = 0; i < 2; i++) {
        const struct step *step = views[i]->context;

        if (step < rule->first || step > rule->last || views[i]->function != step_body) {
            atomic_fetch_add(&rule->foreign, 1);
        }
    }
    return false;
}

static void rule_sees_the_users_tasks(lanepool_layout layout)
{
    struct step steps[30] = { { 0 } };
    struct identity_rule rule = { &steps[0], &steps[29], 0 };
    struct journal journal = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.workers = 3;
    options.layout = layout;
    options.is_compatible = never_compatible;
    options.user = &rule;
    pool = pool_make_with(&options);
    for (uint32_t i = 0; i < 30; i++) {
        steps[i].id = i;
        steps[i].journal = &journal;
        expect_ok(step_submit(pool, &steps[i]));
    }
    pool_end(pool);
    expect_eq(rule.foreign, 0);
    expect_eq(journal.most_running, 1);
    for (uint32_t i = 0; i < 30; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
}

Test(seed_s1, s1_9_rule_sees_the_users_own_tasks)
{
    rule_sees_the_users_tasks(LANEPOOL_PER_KEY);
}

Test(seed_s1, s1_9_rule_sees_the_users_own_tasks_per_worker)
{
    rule_sees_the_users_tasks(LANEPOOL_PER_WORKER);
}

struct submitter {
    lanepool_pool *pool;
    struct client_task tasks[100];
    lanepool_status worst;
    pthread_t thread;
};

static void *submit_hundred(void *argument)
{
    struct submitter *submitter = argument;

    for (int i = 0; i < 100; i++) {
        lanepool_status status = submit_client(submitter->pool, &submitter->tasks[i]);

        submitter->worst = status ? status : submitter->worst;
    }
    return NULL;
}

Test(seed_s1, s1_10_submitters_go_on_while_every_worker_is_busy)
{
    static struct submitter submitters[4];
    struct gate gate;
    struct client_task holders[2] = { { .clients = "a" }, { .clients = "b" } };
    lanepool_pool *pool = client_pool(2, LANEPOOL_PER_KEY, share_no_client);

    gate_init(&gate);
    for (int i = 0; i < 2; i++) {
        holders[i].step.gate = &gate;
        expect_ok(submit_client(pool, &holders[i]));
    }
    expect(gate_await(&gate, 2));
    for (int i = 0; i < 4; i++) {
        submitters[i].pool = pool;
        for (int t = 0; t < 100; t++) {
            submitters[i].tasks[t].clients = t % 2 ? "a" : "cd";
        }
        expect_eq(pthread_create(&submitters[i].thread, NULL, submit_hundred, &submitters[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        /* All calls have returned, although no task has run. */
        pthread_join(submitters[i].thread, NULL);
        expect_ok(submitters[i].worst);
        expect(!step_was_called(&submitters[i].tasks[99].step));
    }
    gate_open(&gate, 2);
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_eq(submitters[i].tasks[99].step.runs, 1);
    }
    gate_fini(&gate);
}

/* "*" involves every client. */
static bool share_no_client_nor_star(const lanepool_task_view *a, const lanepool_task_view *b,
                                     void *user)
{
    const struct client_task *first = a->context;
    const struct client_task *second = b->context;

    return first->clients[0] != '*' && second->clients[0] != '*' && share_no_client(a, b, user);
}

static void barrier_over_everything(lanepool_pool *pool)
{
    static const char *const clients[6] = { "a", "b", "c", "*", "a", "c" };
    struct gate gate;
    struct gate barrier;
    struct client_task tasks[6];

    gate_init(&gate);
    gate_init(&barrier);
    for (int i = 0; i < 6; i++) {
        tasks[i] = (struct client_task){ .clients = clients[i] };
        tasks[i].step.gate = i == 3 ? &barrier : &gate;
        expect_ok(submit_client(pool, &tasks[i]));
    }
    expect(gate_await(&gate, 3)); /* a, b and c before the barrier */
    expect(!step_was_called(&tasks[3].step));
    gate_open(&gate, 3);
    expect(gate_await(&barrier, 1));
    expect(!step_was_called(&tasks[4].step));
    expect(!step_was_called(&tasks[5].step));
    gate_open(&barrier, 1);
    expect(gate_await(&gate, 2)); /* in parallel again after the barrier */
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
    gate_fini(&barrier);
}

Test(seed_s1, s1_11_rollup_over_everything_is_a_barrier)
{
    barrier_over_everything(client_pool(3, LANEPOOL_PER_KEY, share_no_client_nor_star));
}

Test(seed_s1, s1_11_rollup_over_everything_is_a_barrier_per_worker)
{
    barrier_over_everything(client_pool(3, LANEPOOL_PER_WORKER, share_no_client_nor_star));
}

Test(seed_s1, s1_12_tasks_without_a_rule_are_compatible_with_everything)
{
    struct gate gate;
    struct step steps[4] = { { 0 } };
    lanepool_pool *pool = pool_make(4, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (int i = 0; i < 4; i++) {
        steps[i].gate = &gate;
    }
    expect_ok(step_submit_on(pool, &steps[0], 1));
    for (int i = 1; i < 4; i++) {
        expect_ok(step_submit(pool, &steps[i]));
    }
    expect(gate_await(&gate, 4));
    gate_open(&gate, 4);
    pool_end(pool);
    gate_fini(&gate);
}
