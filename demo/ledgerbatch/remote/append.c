/* Owns the tasks of a batch of many machines as lanepool gets them. */
#include "remote/append.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/stop.h"
#include "memory.h"
#include "remote/run_task.h"
#include "remote/wire.h"

/* How many tasks are appended in one call. */
#define CHUNK_SIZE 4096
#define WAIT_NS    UINT64_C(1000000000)

#define PAYLOAD_SIZE 4

struct chunk {
    lanepool_remote_task tasks[CHUNK_SIZE];
    size_t first_claims[CHUNK_SIZE]; /* the index of each task's first claim */
    size_t count;
    lanepool_remote_claim *claims;
    size_t claim_count, claim_capacity;
    struct buffer payloads;
    struct lane_list lanes;
};

/*
 * Clients of one group are at one machine, so that the group's rollups need no other one. Without
 * rollups, or with a single group, all clients are apart.
 */
static bool has_groups(const struct plan *plan)
{
    return plan->task_count > plan->book.transaction_count && plan->clients.group_count > 1;
}

static uint64_t group_of(const struct plan *plan, uint32_t lane)
{
    bool has = lane != plan_house_lane(plan) && has_groups(plan);
    return has ? (uint64_t)plan->clients.items[lane].group + 1 : 0;
}

static void add_claim(struct chunk *chunk, const struct plan *plan, uint32_t lane)
{
    chunk->claims = memory_grow(chunk->claims, &chunk->claim_capacity, chunk->claim_count + 1,
                                sizeof *chunk->claims);
    chunk->claims[chunk->claim_count++] =
        (lanepool_remote_claim){ lane, group_of(plan, lane), LANEPOOL_EXCLUSIVE };
}

static void add_task(struct chunk *chunk, const struct plan *plan, const struct task *task)
{
    plan_lanes(plan, task, &chunk->lanes);
    chunk->first_claims[chunk->count] = chunk->claim_count;
    for (size_t i = 0; i < chunk->lanes.count; i++) {
        add_claim(chunk, plan, chunk->lanes.items[i]);
    }
    wire_put(&chunk->payloads, task->seq, PAYLOAD_SIZE);
    chunk->tasks[chunk->count++] = (lanepool_remote_task){
        .kind = task->kind == TASK_STATEMENT ? RUN_TASK_READS : RUN_TASK_WRITES,
        .claim_count = chunk->lanes.count,
    };
}

static void fill_chunk(struct chunk *chunk, const struct plan *plan, size_t first)
{
    chunk->count = 0;
    chunk->claim_count = 0;
    chunk->payloads.size = 0;
    while (chunk->count < CHUNK_SIZE && first + chunk->count < plan->task_count) {
        add_task(chunk, plan, &plan->tasks[first + chunk->count]);
    }
    for (size_t i = 0; i < chunk->count; i++) {
        chunk->tasks[i].claims = chunk->claims + chunk->first_claims[i];
        chunk->tasks[i].payload =
            (lanepool_remote_bytes){ chunk->payloads.data + i * PAYLOAD_SIZE, PAYLOAD_SIZE };
    }
}

static enum answer answer_of(lanepool_status status, struct problem *problem)
{
    if (status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT) {
        return status == LANEPOOL_OK ? ANSWER_DONE : ANSWER_AWAY;
    }
    problem_set(problem, EXIT_CODE_IO, "the store: tasks cannot be appended: %s",
                lanepool_status_text(status));
    return ANSWER_REFUSED;
}

static enum answer append_chunk(lanepool_remote *node, struct record *record, struct chunk *chunk,
                                const struct plan *plan, struct problem *problem)
{
    lanepool_status status =
        lanepool_remote_submit_many(node, chunk->tasks, chunk->count, WAIT_NS, NULL);
    if (status == LANEPOOL_SHUT_DOWN) { /* another process has sealed the batch: all are there */
        return record_set_appended(record, plan->task_count, true, problem);
    }
    enum answer answer = answer_of(status, problem);
    return answer != ANSWER_DONE
               ? answer
               : record_set_appended(record, record->appended + chunk->count, false, problem);
}

static enum answer seal(lanepool_remote *node, struct record *record, struct problem *problem)
{
    enum answer answer = answer_of(lanepool_remote_seal(node, WAIT_NS), problem);
    return answer != ANSWER_DONE ? answer
                                 : record_set_appended(record, record->appended, true, problem);
}

enum answer append_tasks(lanepool_remote *node, struct record *record, const struct plan *plan,
                         struct problem *problem)
{
    struct chunk *chunk = memory_zeroed(1, sizeof *chunk);
    enum answer answer = ANSWER_DONE;
    while (answer == ANSWER_DONE && record->appended < plan->task_count && !stop_is_asked()) {
        fill_chunk(chunk, plan, record->appended);
        answer = append_chunk(node, record, chunk, plan, problem);
    }
    if (answer == ANSWER_DONE && record->appended == plan->task_count) {
        answer = seal(node, record, problem);
    }
    free(chunk->claims);
    free(chunk->lanes.items);
    buffer_fini(&chunk->payloads);
    free(chunk);
    return answer;
}
