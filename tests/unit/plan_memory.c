/* Plans whose memory is refused: nothing has changed, and nothing is lost. */
#include "inspect_memory.h"

#include "lanepool/plan.h"
#include "support/test.h"

enum { KEYS = 40, TASKS = 20 };

/* Adds a task with many keys again and again. Returns true if a request was refused. */
static bool add_with_refusal(lanepool_plan *plan, size_t number)
{
    static const char text[KEYS + TASKS] = "";
    lanepool_claim claims[KEYS];
    lanepool_plan_task task = { .claims = claims, .claim_count = KEYS, .duration_ns = 5 };
    bool was_refused = false;

    refuse_request(number);
    for (uint32_t i = 0; i < TASKS; i++) {
        for (uint32_t j = 0; j < KEYS; j++) {
            claims[j] = lanepool_claim_of(lanepool_key_bytes(text, i + j), LANEPOOL_EXCLUSIVE);
        }
        lanepool_status status = lanepool_plan_add(plan, &task);
        if (status == LANEPOOL_NOMEM) {
            was_refused = true;
            expect_eq(lanepool_plan_count(plan), i);
            status = lanepool_plan_add(plan, &task);
        }
        expect_ok(status);
    }
    return was_refused;
}

static void expect_whole(const lanepool_plan *plan)
{
    lanepool_plan_pool pool = { .workers = 3 };
    lanepool_plan_result result;

    expect_ok(lanepool_plan_run(plan, &pool, &result, NULL));
    expect_eq(result.work_ns, 5 * TASKS);
    expect_eq(result.path_ns, 5 * TASKS);
    expect_eq(result.makespan_ns, 5 * TASKS);
}

Test(plan_memory, task_can_be_added_again_after_each_refusal)
{
    size_t live = pieces_in_use();
    size_t refused = 0;
    bool was_refused = true;

    while (was_refused) {
        lanepool_plan *plan;

        expect_ok(lanepool_plan_create(&plan));
        was_refused = add_with_refusal(plan, ++refused);
        refuse_request(0);
        expect_whole(plan);
        lanepool_plan_destroy(plan);
        expect_eq(pieces_in_use(), live);
    }
    expect(refused > KEYS); /* each byte string is a piece */
}

Test(plan_memory, calls_answer_nomem)
{
    lanepool_plan_pool pool = { .workers = 3 };
    lanepool_plan_result result;
    lanepool_plan_row row;
    lanepool_plan *plan;
    size_t count;
    size_t refused = 0;
    lanepool_status status = LANEPOOL_NOMEM;

    refuse_request(1);
    expect_status(lanepool_plan_create(&plan), LANEPOOL_NOMEM);
    expect(plan == NULL);
    refuse_request(0);
    expect_ok(lanepool_plan_create(&plan));
    (void)add_with_refusal(plan, 0);
    size_t live = pieces_in_use();
    while (status == LANEPOOL_NOMEM) {
        refuse_request(++refused);
        status = lanepool_plan_run(plan, &pool, &result, NULL);
        expect_eq(pieces_in_use(), live);
    }
    expect_ok(status);
    expect(refused > 1);
    for (refused = 0, status = LANEPOOL_NOMEM; status == LANEPOOL_NOMEM;) {
        refuse_request(++refused);
        status = lanepool_plan_worst(plan, &pool, &row, 1, &count);
        expect_eq(pieces_in_use(), live);
        expect_eq(count, status == LANEPOOL_OK);
    }
    refuse_request(1);
    expect_status(lanepool_plan_path(plan, NULL, 0, &count), LANEPOOL_NOMEM);
    refuse_request(0);
    lanepool_plan_destroy(plan);
    expect_ok(status);
}
