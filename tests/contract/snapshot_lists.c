/* Snapshots: of long lists of reasons and of blocking tasks, the last are counted. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { TEXT_MAX = 1 << 14, KEYS_MAX = 66, BLOCKERS_MAX = 5 };

/* Submits the step with an exclusive claim on each of the keys 0 to `keys` - 1. */
static lanepool_future *submit_on_keys(lanepool_pool *pool, struct step *step, size_t keys)
{
    lanepool_claim claims[KEYS_MAX];
    lanepool_future *future;

    for (size_t i = 0; i < keys; i++) {
        claims[i] = (lanepool_claim)lanepool_exclusive(i);
    }
    lanepool_task task = step_task(step, claims, keys);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* Explains a task that waits for another in so many lanes. The witness is routed last. */
static void explain_in_lanes(size_t lanes, char *text)
{
    struct gate gate;
    struct step runs = { .gate = &gate }, waits = { 0 }, witness = { .gate = &gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *running = submit_on_keys(pool, &runs, lanes);
    expect(gate_await(&gate, 1));
    lanepool_future *waiting = submit_on_keys(pool, &waits, lanes);
    expect_ok(step_submit_on(pool, &witness, KEYS_MAX));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_explain(waiting, text_append, text));
    gate_open(&gate, 2);
    future_finish(running);
    future_finish(waiting);
    pool_end(pool);
    gate_fini(&gate);
}

Test(snapshot_lists, of_many_reasons_the_last_are_counted)
{
    static char all[TEXT_MAX], but_one[TEXT_MAX], but_two[TEXT_MAX];

    explain_in_lanes(64, all);
    expect(strstr(all, " runs on worker ") != NULL);
    expect(strstr(all, "more reason") == NULL);
    explain_in_lanes(65, but_one);
    expect(strstr(but_one, "\n  and 1 more reason\n") != NULL);
    explain_in_lanes(66, but_two);
    expect(strstr(but_two, "\n  and 2 more reasons\n") != NULL);
}

/* Writes a pool with an idle worker. Each of `blockers` running tasks has one behind it. */
static void write_blocked(unsigned blockers, char *text)
{
    struct gate gate;
    struct step runs[BLOCKERS_MAX] = { 0 }, waits[BLOCKERS_MAX] = { 0 };
    struct step witness = { .gate = &gate };
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = pool_make(blockers + 2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (unsigned i = 0; i < blockers; i++) {
        runs[i].gate = &gate;
        expect_ok(step_submit_on(pool, &runs[i], i));
    }
    expect(gate_await(&gate, blockers));
    for (unsigned i = 0; i < blockers; i++) {
        expect_ok(step_submit_on(pool, &waits[i], i));
    }
    expect_ok(step_submit_on(pool, &witness, blockers));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_ok(lanepool_snapshot_write_text(snapshot, text_append, text));
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, blockers + 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(snapshot_lists, an_idle_worker_names_three_blockers_and_counts_the_rest)
{
    static char three[TEXT_MAX], five[TEXT_MAX];

    write_blocked(3, three);
    expect(strstr(three, " idles: 3 waiting tasks need the end of task ") != NULL);
    expect(strstr(three, " more\n") == NULL);
    write_blocked(5, five);
    expect(strstr(five, " idles: 5 waiting tasks need the end of task ") != NULL);
    expect(strstr(five, " and 2 more\n") != NULL);
}
