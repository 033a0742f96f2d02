/* Owns what a task does on one of many machines: from the states of its lanes to its effect. */
#include "remote/run_task.h"

#include <stdlib.h>

#include "batch/batch_run.h"
#include "batch/effect.h"
#include "memory.h"
#include "remote/wire.h"

bool run_tables_init(struct run_tables *tables, struct plan *plan, size_t workers,
                     unsigned task_wait_us, struct problem *problem)
{
    *tables = (struct run_tables){ .count = 0 };
    if (pthread_mutex_init(&tables->mutex, NULL) != 0 ||
        pthread_cond_init(&tables->is_given_back, NULL) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "a mutex cannot be created");
    }
    tables->items = memory_zeroed(workers, sizeof *tables->items);
    tables->unused = memory_zeroed(workers, sizeof *tables->unused);
    while (tables->count < workers) {
        struct batch *batch = &tables->items[tables->count];
        if (!batch_init(batch, plan, false, problem)) {
            return false;
        }
        batch->task_wait_us = task_wait_us;
        tables->unused[tables->unused_count++] = tables->count++;
    }
    return true;
}

void run_tables_fini(struct run_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        batch_fini(&tables->items[i]);
    }
    free(tables->items);
    free(tables->unused);
}

static size_t take_tables(struct run_tables *tables)
{
    pthread_mutex_lock(&tables->mutex);
    while (tables->unused_count == 0) {
        pthread_cond_wait(&tables->is_given_back, &tables->mutex);
    }
    size_t number = tables->unused[--tables->unused_count];
    pthread_mutex_unlock(&tables->mutex);
    return number;
}

static void give_back(struct run_tables *tables, size_t number)
{
    pthread_mutex_lock(&tables->mutex);
    tables->unused[tables->unused_count++] = number;
    pthread_cond_signal(&tables->is_given_back);
    pthread_mutex_unlock(&tables->mutex);
}

/* Sets the balances of the claimed lanes. Returns the last task of the first lane. */
static uint32_t load_states(const lanepool_remote_run *run, const lanepool_remote_task *task,
                            struct batch *batch)
{
    uint32_t first_seq = 0;
    for (size_t i = 0; i < task->claim_count; i++) {
        uint32_t seq;
        lanepool_remote_bytes state = lanepool_remote_state(run, i);
        struct wire wire = { state.data, state.size, false };
        wire_get_state(wire, batch, (uint32_t)task->claims[i].lane, &seq);
        first_seq = i == 0 ? seq : first_seq;
    }
    return first_seq;
}

static void save_states(lanepool_remote_run *run, const lanepool_remote_task *task,
                        const struct batch *batch, uint32_t seq)
{
    struct buffer buffer = { 0 };
    for (size_t i = 0; i < task->claim_count; i++) {
        buffer.size = 0;
        wire_put_state(&buffer, batch, (uint32_t)task->claims[i].lane, seq);
        if (lanepool_remote_set_state(run, i, buffer.data, buffer.size) != LANEPOOL_OK) {
            memory_fail();
        }
    }
    buffer_fini(&buffer);
}

static void put_failure(struct buffer *buffer, struct batch *batch, const struct task *task)
{
    char reason[200];
    quarantine_copy_reason(&batch->quarantine, task->seq, reason, sizeof reason);
    wire_put(buffer, task->seq, 4);
    wire_put(buffer, OUTCOME_NONE, 1);
    buffer_add_text(buffer, reason);
}

static void put_effect(lanepool_remote_run *run, struct batch *batch, struct task *task, int code)
{
    struct buffer buffer = { 0 };
    if (code == 0) {
        wire_put_effect(&buffer, batch, task);
    } else {
        put_failure(&buffer, batch, task);
    }
    if (lanepool_remote_put(run, buffer.data, buffer.size) != LANEPOOL_OK) {
        memory_fail();
    }
    buffer_fini(&buffer);
}

/* Finds the task of the plan; NULL if the store has something else. */
static const struct task *find_task(const struct plan *plan, const lanepool_remote_task *task)
{
    struct wire payload = { task->payload.data, task->payload.size, false };
    for (size_t i = 0; i < task->claim_count; i++) {
        payload.is_damaged |= task->claims[i].lane > plan_house_lane(plan);
    }
    uint32_t seq = (uint32_t)wire_get(&payload, 4);
    return payload.is_damaged ? NULL : plan_find(plan, seq);
}

static void run_in(struct batch *batch, lanepool_remote_run *run, const lanepool_remote_task *task,
                   const struct task *planned)
{
    struct task copy = *planned;
    struct lane_list missing = { 0 };
    uint32_t last_seq = load_states(run, task, batch);
    if (task->kind == RUN_TASK_WRITES && last_seq >= copy.seq) {
        return;
    }
    copy.batch = batch;
    batch_wait_first(batch);
    int code = batch_run(batch, &copy, &missing);
    free(missing.items);
    put_effect(run, batch, &copy, code);
    effect_drop(&copy, 1);
    if (task->kind == RUN_TASK_WRITES) {
        save_states(run, task, batch, copy.seq);
    }
}

int run_task(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    struct run_tables *tables = user;
    const struct task *planned = find_task(tables->items[0].plan, task);
    if (!planned) {
        return BATCH_FAILED;
    }
    size_t number = take_tables(tables);
    run_in(&tables->items[number], run, task, planned);
    give_back(tables, number);
    return 0;
}
