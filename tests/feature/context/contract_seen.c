/* Contexts of keys in snapshots, and in the reasons why a task waits. */
#include <string.h>

#include "support/process.h"
#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_future *submit(lanepool_pool *pool, struct visit *visit)
{
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = visit_body;
    task.context = visit;
    task.claims = &visit->claim;
    task.claim_count = 1;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

Test(context_seen, snapshot_shows_who_uses_them_and_when_they_are_due)
{
    struct gate gate;
    struct shop shop = { 0 };
    struct visit holder = { .shop = &shop, .claim = lanepool_exclusive(1), .gate = &gate };
    struct visit lingering = {
        .shop = &shop, .claim = lanepool_claim_of(lanepool_key_string("2-two"), LANEPOOL_EXCLUSIVE)
    };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);
    lanepool_snapshot *snapshot;
    char text[2000] = "";

    gate_init(&gate);
    future_finish(submit(pool, &lingering));
    pool_settle(pool);
    lanepool_future *held = submit(pool, &holder);
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->context_count, 2);
    for (size_t i = 0; i < snapshot->context_count; i++) {
        const lanepool_snapshot_context *context = &snapshot->contexts[i];
        bool lingers = strcmp(context->name, "2-two") == 0;

        expect_eq(context->users, !lingers);
        expect(context->context == &shop.opens[lingers ? 2 : 1]);
        expect((context->idle_since_ns != 0) == lingers);
        expect_eq(context->due_ns, lingers ? UINT64_MAX : 0);
    }
    expect_ok(lanepool_snapshot_write_text(snapshot, text_append, text));
    expect(strstr(text, "context 1: used by 1 task\n") != NULL);
    expect(strstr(text, "context 2-two: idle for ") != NULL);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    future_finish(held);
    pool_end(pool);
    gate_fini(&gate);
}

static size_t task_of(const lanepool_snapshot *snapshot, const struct visit *visit)
{
    size_t task = 0;

    while (task < snapshot->task_count && snapshot->tasks[task].context != visit) {
        task++;
    }
    expect(task < snapshot->task_count);
    return task;
}

Test(context_seen, who_opens_one_and_who_waits_for_that_is_explained)
{
    struct gate gate;
    struct shop shop = { 0 };
    struct visit opens = { .shop = &shop, .claim = lanepool_shared(1) };
    struct visit waits = opens, behind = { .shop = &shop, .claim = lanepool_exclusive(1) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);
    lanepool_snapshot *snapshot;
    lanepool_future *futures[3];
    char text[2000] = "";

    gate_init(&gate);
    shop.opening = &gate;
    futures[0] = submit(pool, &opens);
    expect(gate_await(&gate, 1));
    futures[1] = submit(pool, &waits);
    futures[2] = submit(pool, &behind);
    expect(process_other_threads_sleep());
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->context_count, 1);
    expect(snapshot->contexts[0].busy && !snapshot->contexts[0].closing);
    expect(snapshot->contexts[0].context == NULL);
    expect_eq(snapshot->contexts[0].task, task_of(snapshot, &opens));
    expect_eq(snapshot->contexts[0].waiting, 1);
    expect_eq(snapshot->tasks[task_of(snapshot, &opens)].busy_context, 0);
    expect_eq(snapshot->tasks[task_of(snapshot, &waits)].busy_context, 0);
    expect_eq(snapshot->tasks[task_of(snapshot, &behind)].busy_context, LANEPOOL_SNAPSHOT_NONE);
    expect_ok(lanepool_snapshot_write_text(snapshot, text_append, text));
    expect(strstr(text, "context 1: being opened or asked by task ") != NULL);
    expect(strstr(text, ", 1 task waits\n") != NULL);
    lanepool_snapshot_release(snapshot);
    text[0] = '\0';
    expect_ok(lanepool_explain(futures[2], text_append, text));
    expect(strstr(text, ", and opens or asks context 1\n") != NULL);
    expect(strstr(text, ", and waits for context 1, which is being opened or asked by ") != NULL);
    gate_open(&gate, 1);
    for (int i = 0; i < 3; i++) {
        future_finish(futures[i]);
    }
    pool_end(pool);
    gate_fini(&gate);
}

static size_t name_in_full(void *user, lanepool_key key, char *text, size_t size)
{
    (void)user, (void)key;
    memset(text, 'x', size);
    return size;
}

Test(context_seen, names_that_fill_their_room_end_with_a_zero)
{
    struct shop shop = { 0 };
    struct visit visits[] = { { .shop = &shop, .claim = lanepool_exclusive(1) },
                              { .shop = &shop, .claim = lanepool_exclusive(2) } };
    lanepool_context_options contexts = shop_options();
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_snapshot *snapshot;

    options.workers = 1;
    options.contexts = &contexts;
    options.user = &shop;
    options.key_name = name_in_full;
    lanepool_pool *pool = pool_make_with(&options);
    for (int i = 0; i < 2; i++) {
        future_finish(submit(pool, &visits[i]));
    }
    pool_settle(pool);
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->context_count, 2);
    expect(snapshot->contexts[0].name[0] == 'x');
    expect_eq(strlen(snapshot->contexts[0].name), strlen(snapshot->contexts[1].name));
    lanepool_snapshot_release(snapshot);
    pool_end(pool);
}
