#include "remote/model.h"

#include <string.h>

#include "support/random.h"

#define MODULUS UINT64_C(1000003)

void (*model_fail)(const char *why, uint64_t seq, uint64_t lane);

uint64_t model_number(lanepool_remote_bytes bytes)
{
    uint64_t number = 0;
    if (bytes.size == sizeof number)
        memcpy(&number, bytes.data, sizeof number);
    return number;
}

/* --- what tasks do --- */

static uint64_t sum_of(const uint64_t *before, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = sum * 7 + before[i];
    return sum % MODULUS;
}

/* Fills `after` and the effects from `before`. */
static void work_out(struct model_task *task, uint64_t seq)
{
    uint64_t sum = sum_of(task->before, task->claim_count);
    task->effect_count = 0;
    for (size_t i = 0; i < task->claim_count; i++) {
        uint64_t state = task->before[i];
        if (task->kind == MODEL_POST)
            state = (state * 3 + seq + (uint64_t)task->payload) % MODULUS;
        else if (task->kind == MODEL_ROLLUP)
            state = (state * 5 + sum + seq) % MODULUS;
        task->after[i] = task->fails ? task->before[i] : state;
        if (!task->fails && task->kind != MODEL_CUT)
            task->effects[task->effect_count++] = state;
    }
    if (!task->fails && task->kind == MODEL_CUT)
        task->effects[task->effect_count++] = sum;
}

static int run_task(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    const struct model *model = user;
    uint64_t seq = lanepool_remote_run_seq(run);
    const struct model_task *wanted = &model->tasks[seq - 1];
    struct model_task mine = { .kind = (enum model_kind)task->kind,
                               .claim_count = task->claim_count };
    memcpy(&mine.payload, task->payload.data, sizeof mine.payload);
    mine.fails = wanted->fails;
    for (size_t i = 0; i < task->claim_count; i++) {
        mine.before[i] = model_number(lanepool_remote_state(run, i));
        if (mine.before[i] != wanted->before[i] || task->claims[i].lane != wanted->claims[i].lane)
            model_fail("a task got a wrong state", seq, task->claims[i].lane);
    }
    work_out(&mine, seq);
    for (size_t i = 0; i < task->claim_count && task->kind != MODEL_CUT; i++)
        if (lanepool_remote_set_state(run, i, &mine.after[i], sizeof mine.after[i]) != LANEPOOL_OK)
            model_fail("a state was not set", seq, task->claims[i].lane);
    for (size_t i = 0; i < mine.effect_count; i++)
        if (lanepool_remote_put(run, &mine.effects[i], sizeof mine.effects[i]) != LANEPOOL_OK)
            model_fail("an effect was not put", seq, 0);
    return mine.fails ? 7 : 0;
}

const lanepool_remote_kind *model_kinds(void)
{
    static const lanepool_remote_kind kinds[MODEL_KINDS] = { [MODEL_POST] = { run_task, false },
                                                             [MODEL_ROLLUP] = { run_task, false },
                                                             [MODEL_CUT] = { run_task, true } };
    return kinds;
}

/* --- drawing --- */

static void draw_claims(const struct model *model, struct model_task *task, uint64_t *random)
{
    bool taken[MODEL_LANES_MAX] = { false };
    for (size_t i = 0; i < task->claim_count;) {
        unsigned lane = random_below(random, (uint32_t)model->lane_count);
        if (taken[lane])
            continue;
        taken[lane] = true;
        task->lanes[i] = lane;
        task->claims[i++] =
            (lanepool_remote_claim){ model->lanes[lane], model->groups[lane], LANEPOOL_EXCLUSIVE };
    }
}

static void draw_task(struct model *model, uint64_t seq, uint64_t *random)
{
    struct model_task *task = &model->tasks[seq - 1];
    *task = (struct model_task){ .kind = MODEL_POST, .claim_count = 1 };
    if (random_below(random, 100) < 40) {
        size_t most = model->lane_count < MODEL_CLAIMS_MAX ? model->lane_count : MODEL_CLAIMS_MAX;
        task->kind = random_below(random, 3) == 0 ? MODEL_CUT : MODEL_ROLLUP;
        task->claim_count = 2 + random_below(random, (uint32_t)most - 1);
    }
    task->payload = (int64_t)random_below(random, 100);
    task->fails = random_below(random, 20) == 0;
    draw_claims(model, task, random);
    for (size_t i = 0; i < task->claim_count; i++)
        task->before[i] = model->last[task->lanes[i]];
    work_out(task, seq);
    for (size_t i = 0; i < task->claim_count; i++)
        model->last[task->lanes[i]] = task->after[i];
}

void model_draw(struct model *model, uint64_t *random)
{
    memset(model, 0, sizeof *model);
    model->lane_count = 3 + random_below(random, MODEL_LANES_MAX - 2);
    for (size_t i = 0; i < model->lane_count; i++) {
        model->lanes[i] = 1 + i * 1000 + random_below(random, 1000);
        model->groups[i] = random_below(random, 4) == 0 ? 5 : 0;
    }
    model->task_count = 8 + random_below(random, MODEL_TASKS_MAX - 7);
    for (uint64_t seq = 1; seq <= model->task_count; seq++)
        draw_task(model, seq, random);
}

void model_describe(const struct model *model, lanepool_remote_task *tasks)
{
    for (size_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        tasks[i] = (lanepool_remote_task){ (uint32_t)task->kind,
                                           task->claims,
                                           task->claim_count,
                                           { &task->payload, sizeof task->payload } };
    }
}

/* --- the serial run --- */

static const struct model_task *find_last(const struct model *model, uint64_t lane, uint64_t seq,
                                          size_t *claim)
{
    if (seq > model->task_count)
        seq = model->task_count;
    for (; seq > 0; seq--) {
        const struct model_task *task = &model->tasks[seq - 1];
        for (*claim = 0; *claim < task->claim_count; ++*claim)
            if (task->claims[*claim].lane == lane)
                return task;
    }
    return NULL;
}

uint64_t model_state(const struct model *model, uint64_t lane, uint64_t seq)
{
    size_t claim;
    const struct model_task *task = find_last(model, lane, seq, &claim);
    return task != NULL ? task->after[claim] : 0;
}

uint64_t model_last_task(const struct model *model, uint64_t lane, uint64_t seq)
{
    size_t claim;
    const struct model_task *task = find_last(model, lane, seq, &claim);
    return task != NULL ? (uint64_t)(task - model->tasks) + 1 : 0;
}
