#include "remote/pg/work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUTCOME_REFUSED = 1, BODY_NS = 1000000 };

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static void draw_lanes(struct work_task *task, uint64_t random)
{
    uint64_t first = random % WORK_LANES;
    uint64_t distance = 1 + random / WORK_LANES % 3;
    for (size_t i = 0; i < task->claim_count; i++)
        task->lanes[i] = 1 + (first + i * distance) % WORK_LANES;
}

void work_draw(struct work_task *task, uint64_t seq)
{
    uint64_t random = mix(seq * UINT64_C(0x9e3779b97f4a7c15));
    memset(task, 0, sizeof *task);
    task->kind = random % 100 < 90 ? WORK_POST : random % 100 < 97 ? WORK_ROLLUP : WORK_CUT;
    task->claim_count = task->kind == WORK_POST ? 1 : 2 + random / 100 % (WORK_CLAIMS_MOST - 1);
    task->amount = (int64_t)(random / 10000 % 2000) - 900;
    draw_lanes(task, random >> 32);
}

/* --- what a task does, for nodes and for the serial run --- */

static void change(struct work_state *state, uint64_t seq, int64_t amount)
{
    state->balance += amount;
    state->hash = mix(state->hash + seq * 31 + (uint64_t)state->balance);
}

/* Changes the states of all claims. Returns the task's code. */
static int run_task(const struct work_task *task, uint64_t seq, struct work_state *states)
{
    int64_t sum = 0;
    for (size_t i = 0; i < task->claim_count; i++)
        sum += states[i].balance;
    if (task->kind == WORK_POST && sum + task->amount < 0)
        return OUTCOME_REFUSED;
    for (size_t i = 0; i < task->claim_count && task->kind != WORK_CUT; i++)
        change(&states[i], seq, task->kind == WORK_POST ? task->amount : sum % 7 + (int64_t)i);
    return 0;
}

/* Returns the effect of a claim. That of a cut has no hash, but the sum. */
static struct work_state effect_of(const struct work_task *task, const struct work_state *states,
                                   size_t claim)
{
    struct work_state effect = states[claim];
    for (size_t i = 0; task->kind == WORK_CUT && i < claim; i++)
        effect.balance += states[i].balance;
    return effect;
}

/* --- on a node --- */

static int run_on_node(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    struct timespec pause = { 0, BODY_NS };
    struct work_task drawn;
    struct work_state states[WORK_CLAIMS_MOST] = { { 0, 0 } };
    uint64_t seq = lanepool_remote_run_seq(run);
    (void)user;
    (void)nanosleep(&pause, NULL);
    work_draw(&drawn, seq);
    if (task->payload.size != sizeof drawn.amount ||
        memcmp(task->payload.data, &drawn.amount, sizeof drawn.amount) != 0)
        abort();
    for (size_t i = 0; i < drawn.claim_count; i++) {
        lanepool_remote_bytes state = lanepool_remote_state(run, i);
        if (state.size > 0)
            memcpy(&states[i], state.data, sizeof states[i]);
    }
    int code = run_task(&drawn, seq, states);
    for (size_t i = 0; i < drawn.claim_count; i++) {
        struct work_state effect = effect_of(&drawn, states, i);
        if (lanepool_remote_put(run, &effect, sizeof effect) != LANEPOOL_OK)
            abort();
        if (drawn.kind != WORK_CUT &&
            lanepool_remote_set_state(run, i, &states[i], sizeof states[i]) != LANEPOOL_OK)
            abort();
    }
    return code;
}

const lanepool_remote_kind work_kinds[WORK_KIND_COUNT] = {
    [WORK_POST] = { .run = run_on_node },
    [WORK_ROLLUP] = { .run = run_on_node },
    [WORK_CUT] = { .run = run_on_node, .is_cut = true },
};

/* --- one after the other --- */

static void add_effects(struct work_result *result, const struct work_task *task, uint64_t seq,
                        const struct work_state *states)
{
    for (uint32_t i = 0; i < task->claim_count; i++)
        result->effects[result->effect_count++] =
            (struct work_effect){ seq, i, effect_of(task, states, i) };
}

void work_run_serially(struct work_result *result)
{
    memset(result, 0, sizeof *result);
    result->effects = calloc((size_t)WORK_TASKS * WORK_CLAIMS_MOST, sizeof *result->effects);
    result->refused = calloc(WORK_TASKS, sizeof *result->refused);
    if (result->effects == NULL || result->refused == NULL)
        abort();
    for (uint64_t seq = 1; seq <= WORK_TASKS; seq++) {
        struct work_task task;
        struct work_state states[WORK_CLAIMS_MOST];
        work_draw(&task, seq);
        for (size_t i = 0; i < task.claim_count; i++)
            states[i] = result->states[task.lanes[i] - 1];
        if (run_task(&task, seq, states) != 0) {
            result->refused[result->refused_count++] = seq;
            continue;
        }
        add_effects(result, &task, seq, states);
        for (size_t i = 0; i < task.claim_count; i++)
            result->states[task.lanes[i] - 1] = states[i];
    }
}

void work_free(struct work_result *result)
{
    free(result->effects);
    free(result->refused);
}
