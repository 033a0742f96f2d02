/* Promises S0.1 to S0.12 of README.md, the striped executor: tasks of one key in order, different
 * keys in parallel. */
#include <string.h>

#include "support/memory.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { KEYS = 100, TASKS_PER_KEY = 20 };

Test(seed_s0, s0_1_one_key_keeps_submission_order_and_many_keys_share_few_workers)
{
    static struct journal journals[KEYS];
    static struct step steps[KEYS][TASKS_PER_KEY];
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < TASKS_PER_KEY; i++) {
        for (uint32_t key = 0; key < KEYS; key++) {
            steps[key][i].id = i;
            steps[key][i].journal = &journals[key];
            expect_ok(step_submit_on(pool, &steps[key][i], key));
        }
    }
    pool_end(pool);
    for (uint32_t key = 0; key < KEYS; key++) {
        expect_eq(journals[key].count, TASKS_PER_KEY);
        expect_eq(journals[key].most_running, 1);
        for (uint32_t i = 0; i < TASKS_PER_KEY; i++) {
            expect_eq(journal_place(&journals[key], i), i);
            expect(steps[key][i].worker < 2);
        }
    }
}

Test(seed_s0, s0_2_key_can_be_the_identity_of_an_object)
{
    int first = 7;
    int equal = 7;
    struct gate gate;
    struct journal *journal = memory_get(1, sizeof *journal);
    struct step holder = { .id = 0, .gate = &gate, .journal = journal };
    struct step same = { .id = 1, .journal = journal };
    struct step other = { .id = 2, .gate = &gate, .journal = journal };
    lanepool_claim on_first = lanepool_claim_of(lanepool_key_pointer(&first), LANEPOOL_EXCLUSIVE);
    lanepool_claim on_equal = lanepool_claim_of(lanepool_key_pointer(&equal), LANEPOOL_EXCLUSIVE);
    lanepool_task tasks[3] = { step_task(&holder, &on_first, 1), step_task(&same, &on_first, 1),
                               step_task(&other, &on_equal, 1) };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_pool_submit(pool, &tasks[i]));
    }
    /* An equal object at another address is another key: both bodies are at the gate at the same
     * time. */
    expect(gate_await(&gate, 2));
    expect(!step_was_called(&same));
    gate_open(&gate, 2);
    pool_end(pool);
    expect_eq(same.runs, 1);
    gate_fini(&gate);
    free(journal);
}

Test(seed_s0, s0_3_tasks_with_and_without_result_mix_in_one_lane)
{
    enum { COUNT = 50 };
    static struct journal journal;
    static struct step steps[COUNT];
    lanepool_future *futures[COUNT] = { NULL };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < COUNT; i++) {
        lanepool_task task = step_task(&steps[i], &claim, 1);

        steps[i].id = i;
        steps[i].journal = &journal;
        if (i % 2 == 0) {
            steps[i].value = &steps[i];
            task.future = &futures[i];
        }
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    for (uint32_t i = 0; i < COUNT; i += 2) {
        lanepool_result result;

        expect_ok(lanepool_future_wait(futures[i], LANEPOOL_FOREVER, &result));
        expect_status(result.status, LANEPOOL_OK);
        expect(result.value == &steps[i]);
        lanepool_future_release(futures[i]);
    }
    pool_end(pool);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
}

Test(seed_s0, s0_4_task_without_key_passes_all_lanes_by)
{
    struct gate gate;
    struct gate done;
    struct step holder = { .gate = &gate };
    struct step waiting[10] = { { 0 } };
    struct step free_task = { .gate = &done };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    gate_init(&done);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 10; i++) {
        expect_ok(step_submit_on(pool, &waiting[i], 1));
    }
    expect_ok(step_submit(pool, &free_task));
    expect(gate_await(&done, 1));
    expect(!step_was_called(&waiting[0]));
    gate_open(&done, 1);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(waiting[9].runs, 1);
    gate_fini(&gate);
    gate_fini(&done);
}

Test(seed_s0, s0_5_lanes_disappear_when_they_have_drained)
{
    static struct step steps[10000];
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < 10000; i++) {
        expect_ok(step_submit_on(pool, &steps[i], i));
    }
    pool_settle(pool);
    expect_ok(lanepool_pool_trim(pool));
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.finished, 10000);
    expect_eq(stats.live_lanes, 0);
    pool_end(pool);
}

Test(seed_s0, s0_6_shutdown_refuses_new_tasks_and_runs_accepted_ones)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step accepted[20] = { { 0 } };
    struct step late = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 0));
    expect(gate_await(&gate, 1));
    for (uint32_t i = 0; i < 20; i++) {
        expect_ok(step_submit_on(pool, &accepted[i], i % 3));
    }
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(step_submit_on(pool, &late, 0), LANEPOOL_SHUT_DOWN);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    for (int i = 0; i < 20; i++) {
        expect_eq(accepted[i].runs, 1);
    }
    expect(!step_was_called(&late));
    pool_end(pool);
    gate_fini(&gate);
}

struct handed_back {
    uint32_t count;
    void *contexts[64];
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct handed_back *back = context;

    (void)ticket;
    back->contexts[back->count++ % 64] = task->context;
}

Test(seed_s0, s0_7_shutdown_now_hands_back_what_has_not_started_in_order)
{
    struct gate gate;
    struct handed_back back = { 0 };
    struct step running = { .gate = &gate };
    struct step waiting[30] = { { 0 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &running, 0));
    expect(gate_await(&gate, 1));
    for (uint32_t i = 0; i < 30; i++) {
        expect_ok(step_submit_on(pool, &waiting[i], i % 4));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(running.runs, 1);
    expect_eq(back.count, 30);
    for (int i = 0; i < 30; i++) {
        expect(back.contexts[i] == &waiting[i]);
        expect(!step_was_called(&waiting[i]));
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(seed_s0, s0_8_states_of_a_pool_and_its_threads_are_gone_afterwards)
{
    struct gate gate;
    struct step running = { .gate = &gate };
    size_t threads_before = process_thread_count();
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect(process_has_threads(threads_before + 3));
    expect(!lanepool_pool_is_shut_down(pool));
    expect_ok(step_submit(pool, &running));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_shutdown(pool));
    expect(lanepool_pool_is_shut_down(pool));
    expect(!lanepool_pool_is_terminated(pool));
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect(lanepool_pool_is_terminated(pool));
    expect(process_has_threads(threads_before));
    pool_end(pool);
    gate_fini(&gate);
}

Test(seed_s0, s0_9_failing_task_does_not_break_its_lane)
{
    static struct journal journal;
    struct step steps[10] = { { 0 } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < 10; i++) {
        steps[i].id = i;
        steps[i].journal = &journal;
        steps[i].code = i % 2 ? -1 : 0;
        expect_ok(step_submit_on(pool, &steps[i], 5));
    }
    pool_end(pool);
    for (uint32_t i = 0; i < 10; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
}

/* A completion queue made of continuations. */
struct completions {
    struct gate gate;
    _Atomic uint32_t count;
    _Atomic uint32_t ids[4];
};

struct completion {
    struct completions *all;
    uint32_t id;
};

static void note_completion(void *context, const lanepool_result *result)
{
    struct completion *completion = context;

    (void)result;
    atomic_store(&completion->all->ids[atomic_fetch_add(&completion->all->count, 1)],
                 completion->id);
    gate_arrive(&completion->all->gate);
}

Test(seed_s0, s0_10_completion_queue_gives_results_in_completion_order)
{
    static const uint32_t wanted[3] = { 2, 0, 1 };
    struct gate gates[3];
    struct step steps[3] = { { 0 } };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);
    lanepool_group *group;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_completion completion;

    options.keeps_completions = true;
    expect_ok(lanepool_group_create(&options, &group));
    for (uint32_t i = 0; i < 3; i++) {
        lanepool_task task = step_task(&steps[i], NULL, 0);

        gate_init(&gates[i]);
        steps[i].gate = &gates[i];
        steps[i].value = &gates[i];
        task.group = group;
        expect_ok(lanepool_pool_submit(pool, &task));
        expect(gate_await(&gates[i], 1));
    }
    for (uint32_t i = 0; i < 3; i++) {
        gate_open(&gates[wanted[i]], 1);
        expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &completion));
        expect(completion.context == &steps[wanted[i]]);
        expect(completion.result.value == &gates[wanted[i]]);
    }
    expect_ok(lanepool_group_close(group));
    expect_status(lanepool_group_next(group, LANEPOOL_FOREVER, &completion), LANEPOOL_DONE);
    pool_end(pool);
    lanepool_group_destroy(group);
    for (uint32_t i = 0; i < 3; i++) {
        gate_fini(&gates[i]);
    }
}

Test(seed_s0, s0_10_results_can_be_taken_in_completion_order)
{
    static const uint32_t wanted[3] = { 2, 0, 1 };
    struct completions all = { 0 };
    struct completion completions[3];
    struct gate gates[3];
    struct step steps[3] = { { 0 } };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    gate_init(&all.gate);
    for (uint32_t i = 0; i < 3; i++) {
        lanepool_future *future;
        lanepool_task task = step_task(&steps[i], NULL, 0);

        gate_init(&gates[i]);
        steps[i].gate = &gates[i];
        completions[i].all = &all;
        completions[i].id = i;
        task.future = &future;
        expect_ok(lanepool_pool_submit(pool, &task));
        expect_ok(lanepool_future_then(future, note_completion, &completions[i]));
        lanepool_future_release(future);
        expect(gate_await(&gates[i], 1));
    }
    for (uint32_t i = 0; i < 3; i++) {
        gate_open(&gates[wanted[i]], 1);
        expect(gate_await(&all.gate, 1));
        expect_eq(all.ids[i], wanted[i]);
    }
    pool_end(pool);
    for (uint32_t i = 0; i < 3; i++) {
        gate_fini(&gates[i]);
    }
    gate_fini(&all.gate);
}

Test(seed_s0, s0_11_pool_grows_with_demand_and_shrinks_when_idle)
{
    enum { MOST = 4, ROUNDS = 3 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct step steps[MOST] = { { .id = 0 } };
    size_t threads_before = process_thread_count();
    lanepool_pool *pool;
    struct gate gate;

    options.workers = MOST;
    options.workers_min = 1;
    options.worker_idle_ns = 1000000;
    gate_init(&gate);
    pool = pool_make_with(&options);
    for (int round = 0; round < ROUNDS; round++) {
        expect(process_has_threads(threads_before + 1));
        for (int i = 0; i < MOST; i++) {
            steps[i].gate = &gate;
            expect_ok(step_submit(pool, &steps[i]));
        }
        expect(gate_await(&gate, MOST)); /* all of them run at once */
        expect(process_has_threads(threads_before + MOST));
        gate_open(&gate, MOST);
        pool_settle(pool); /* no task is left at the gate */
    }
    pool_end(pool);
    expect(process_has_threads(threads_before));
    gate_fini(&gate);
}

/* Checks what needs no clock: many keys need no threads of their own, and as many keys as workers
 * keep all workers busy at once. tests/bench measures the speed. */
Test(seed_s0, s0_12_keys_in_order_keep_all_workers_of_a_small_pool_busy)
{
    enum { MANY = 128, EACH = 60, WORKERS = 4, STOP = 20 };
    static struct journal journals[MANY];
    static struct step steps[MANY][EACH];
    struct gate gate;
    size_t threads_before = process_thread_count();
    lanepool_pool *pool = pool_make(WORKERS, LANEPOOL_PER_KEY);
    unsigned seen = 0;

    gate_init(&gate);
    for (uint32_t i = 0; i < EACH; i++) {
        for (uint32_t key = 0; key < MANY; key++) {
            steps[key][i].id = i;
            steps[key][i].journal = &journals[key];
            steps[key][i].gate = i == STOP && key % (MANY / WORKERS) == 7 ? &gate : NULL;
            expect_ok(step_submit_on(pool, &steps[key][i], key));
        }
    }
    /* Four keys stop in the middle of their tasks, each on a worker of its own. */
    expect(gate_await(&gate, WORKERS));
    expect(process_has_threads(threads_before + WORKERS));
    gate_open(&gate, WORKERS);
    pool_end(pool);
    for (uint32_t key = 0; key < MANY; key++) {
        expect_eq(journals[key].count, EACH);
        expect_eq(journals[key].most_running, 1);
        for (uint32_t i = 0; i < EACH; i++) {
            expect_eq(journal_place(&journals[key], i), i);
        }
        seen |= key % (MANY / WORKERS) == 7 ? 1u << steps[key][STOP].worker : 0;
    }
    expect_eq(seen, (1u << WORKERS) - 1);
    gate_fini(&gate);
}
