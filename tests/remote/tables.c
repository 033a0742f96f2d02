/* The tables: transactions, crashes, and the comparison with the serial run. */
#include "remote/tables.h"

#include <stdlib.h>
#include <string.h>

#include "remote/door.h"
#include "support/random.h"

bool server_draws(struct server *server, unsigned one_in)
{
    return random_below(&server->random, one_in) == 0;
}

/* --- memory --- */

static void *keep(struct server *server, size_t size)
{
    struct block *block = malloc(sizeof *block + size + 1);
    if (block == NULL)
        door_fail("no memory");
    block->next = server->arena;
    server->arena = block;
    return block->data;
}

void *server_keep_rows(struct server *server, const void *rows, size_t count, size_t size)
{
    void *copy = keep(server, count * size);
    if (count > 0)
        memcpy(copy, rows, count * size);
    return copy;
}

lanepool_remote_bytes server_keep(struct server *server, lanepool_remote_bytes bytes)
{
    return (lanepool_remote_bytes){ server_keep_rows(server, bytes.data, bytes.size, 1),
                                    bytes.size };
}

/* --- transactions --- */

void server_commit(struct server *server, bool is_durable)
{
    server->commits++;
    if (server->history == NULL)
        return;
    if (server->history_count == HISTORY_MAX) {
        memmove(server->history, server->history + 1, (HISTORY_MAX - 1) * sizeof *server->history);
        server->history_count--;
    }
    server->history[server->history_count++] = server->now;
    if (is_durable || server_draws(server, 5))
        server->history_count = 0;
}

static void crash(struct server *server)
{
    server->epoch++;
    server->late = NULL;
    memset(server->is_locked, 0, sizeof server->is_locked);
    memset(server->at, 0, sizeof server->at);
    uint32_t kept = random_below(&server->random, (uint32_t)server->history_count + 1);
    if (kept < server->history_count)
        server->now = server->history[kept];
    server->history_count = 0;
}

static void end_late_step(struct server *server)
{
    struct late *late = server->late;
    server->late = late->next;
    server->is_locked[late->node - 1] = false;
    if (server_draws(server, 3))
        return; /* it never commits */
    server_commit(server, false);
    server_store_step(server, late->node, &late->step);
}

void server_pause(struct server *server)
{
    door_yield();
    if (server->late != NULL && server_draws(server, 6))
        end_late_step(server);
    if (server->faults.crashes > 0 && server_draws(server, 150)) {
        server->faults.crashes--;
        crash(server);
    }
}

/* --- checks --- */

bool server_owns(const struct server *server, uint64_t node, uint32_t shard)
{
    return server->now.shards[shard].owner == node;
}

/* The task's parts are in these shards: a lane's row is written by its owner, or by the owner of
 * the home of the task that has passed last. */
static bool may_write_lane(const struct server *server, uint64_t node,
                           const lanepool_remote_lane_row *row)
{
    if (server_owns(server, node, row->shard))
        return true;
    for (size_t i = 0; i < server->now.entry_count; i++) {
        const lanepool_remote_entry_row *entry = &server->now.entries[i];
        if (entry->seq == row->last_seq && entry->shard == row->shard)
            return server_owns(server, node, entry->home);
    }
    return false;
}

static void check_lane(const struct server *server, uint64_t node,
                       const lanepool_remote_lane_row *row)
{
    if (model_last_task(server->model, row->lane, row->last_seq) != row->last_seq)
        door_fail("lane %llu: task %llu does not claim it", (unsigned long long)row->lane,
                  (unsigned long long)row->last_seq);
    if (model_number(row->state) != model_state(server->model, row->lane, row->last_seq))
        door_fail("lane %llu has a wrong state behind task %llu", (unsigned long long)row->lane,
                  (unsigned long long)row->last_seq);
    if (server->planted != STORE_NO_FENCE && !may_write_lane(server, node, row))
        door_fail("lane %llu is written by a node that does not own it",
                  (unsigned long long)row->lane);
}

static void store_lane(struct server *server, const lanepool_remote_lane_row *row)
{
    struct tables *now = &server->now;
    size_t i = 0;
    while (i < now->lane_count && now->lanes[i].lane != row->lane)
        i++;
    if (i == now->lane_count)
        now->lanes[now->lane_count++] = (struct lane_row){ row->lane, row->shard, 0, { NULL, 0 } };
    if (now->lanes[i].last_seq >= row->last_seq)
        door_fail("lane %llu goes from task %llu to %llu", (unsigned long long)row->lane,
                  (unsigned long long)now->lanes[i].last_seq, (unsigned long long)row->last_seq);
    now->lanes[i].last_seq = row->last_seq;
    now->lanes[i].state = server_keep(server, row->state);
}

static void store_effect(struct server *server, const lanepool_remote_effect_row *row)
{
    struct tables *now = &server->now;
    const struct model_task *task = &server->model->tasks[row->seq - 1];
    for (size_t i = 0; i < now->effect_count; i++)
        if (now->effects[i].seq == row->seq && now->effects[i].part == row->part)
            door_fail("effect %u of task %llu is stored twice", row->part,
                      (unsigned long long)row->seq);
    if (row->part >= task->effect_count || model_number(row->data) != task->effects[row->part])
        door_fail("effect %u of task %llu is wrong", row->part, (unsigned long long)row->seq);
    now->effects[now->effect_count].seq = row->seq;
    now->effects[now->effect_count].part = row->part;
    now->effects[now->effect_count++].value = model_number(row->data);
}

static void store_outcome(struct server *server, const lanepool_remote_outcome_row *row)
{
    struct tables *now = &server->now;
    for (size_t i = 0; i < now->outcome_count; i++)
        if (now->outcomes[i].seq == row->seq)
            door_fail("the outcome of task %llu is stored twice", (unsigned long long)row->seq);
    if ((row->code != 0) != server->model->tasks[row->seq - 1].fails)
        door_fail("the outcome of task %llu is wrong", (unsigned long long)row->seq);
    now->outcomes[now->outcome_count++] = *row;
}

static void store_letter(struct server *server, uint64_t node, uint64_t step,
                         const lanepool_remote_letter_row *row)
{
    struct tables *now = &server->now;
    if (now->letter_count == LETTERS_MAX)
        door_fail("too many letters");
    struct letter_row *letter = &now->letters[now->letter_count++];
    letter->row = *row;
    letter->row.sender = node;
    letter->row.step = step;
    letter->row.body = server_keep(server, row->body);
    letter->commit = server->commits;
}

static void delete_letters(struct server *server, const lanepool_remote_progress *unneeded)
{
    struct tables *now = &server->now;
    size_t kept = 0;
    for (size_t i = 0; i < now->letter_count; i++) {
        const lanepool_remote_letter_row *row = &now->letters[i].row;
        if (row->shard != unneeded->shard || row->upto > unneeded->low)
            now->letters[kept++] = now->letters[i];
    }
    now->letter_count = kept;
}

/* Every lane of the shard has passed its last task up to there; so has the cut. */
static void check_progress(struct server *server, const lanepool_remote_progress *progress)
{
    const struct tables *now = &server->now;
    for (size_t i = 0; i < now->entry_count; i++) {
        const lanepool_remote_entry_row *entry = &now->entries[i];
        if (entry->shard != progress->shard || entry->seq > progress->low)
            continue;
        const struct model_task *task = &server->model->tasks[entry->seq - 1];
        for (size_t c = 0; c < task->claim_count; c++) {
            for (size_t l = 0; l < now->lane_count; l++)
                if (now->lanes[l].lane == task->claims[c].lane &&
                    now->lanes[l].shard == progress->shard && now->lanes[l].last_seq < entry->seq)
                    door_fail("shard %u says %llu, but task %llu is not done", progress->shard,
                              (unsigned long long)progress->low, (unsigned long long)entry->seq);
        }
    }
}

void server_store_step(struct server *server, uint64_t node, const lanepool_remote_step *step)
{
    struct tables *now = &server->now;
    for (size_t i = 0; i < step->lane_count; i++)
        check_lane(server, node, &step->lanes[i]);
    for (size_t i = 0; i < step->lane_count; i++)
        store_lane(server, &step->lanes[i]);
    for (size_t i = 0; i < step->effect_count; i++)
        store_effect(server, &step->effects[i]);
    for (size_t i = 0; i < step->outcome_count; i++)
        store_outcome(server, &step->outcomes[i]);
    for (size_t i = 0; i < step->letter_count; i++)
        store_letter(server, node, step->number, &step->letters[i]);
    for (size_t i = 0; i < step->progress_count; i++) {
        const lanepool_remote_progress *progress = &step->progress[i];
        if (server->planted != STORE_NO_FENCE && !server_owns(server, node, progress->shard))
            door_fail("progress of a shard of another node");
        check_progress(server, progress);
        now->shards[progress->shard].low = progress->low;
    }
    for (size_t i = 0; i < step->unneeded_count; i++)
        delete_letters(server, &step->unneeded[i]);
    for (size_t i = 0; i < step->given_up_count; i++)
        if (server_owns(server, node, step->given_up[i]))
            now->shards[step->given_up[i]].owner = 0;
    if (step->leaves)
        now->nodes[node - 1].is_dead = true;
}

/* --- the end --- */

/* What a crash would leave now. */
void server_judge(struct server *server)
{
    const struct model *model = server->model;
    const struct tables *now = server->history_count > 0 ? server->history : &server->now;
    size_t wanted = 0;
    for (size_t i = 0; i < model->task_count; i++)
        wanted += model->tasks[i].effect_count;
    if (now->effect_count != wanted)
        door_fail("%zu effects are stored, not %zu", now->effect_count, wanted);
    for (size_t i = 0; i < now->lane_count; i++)
        if (model_number(now->lanes[i].state) != model_state(model, now->lanes[i].lane, UINT64_MAX))
            door_fail("lane %llu has a wrong state at the end",
                      (unsigned long long)now->lanes[i].lane);
    for (uint64_t seq = 1; seq <= model->task_count; seq++) {
        bool has_failed = false;
        for (size_t i = 0; i < now->outcome_count; i++)
            has_failed = has_failed || (now->outcomes[i].seq == seq && now->outcomes[i].code != 0);
        if (has_failed != model->tasks[seq - 1].fails)
            door_fail("task %llu has the wrong outcome", (unsigned long long)seq);
    }
}

struct server *server_create(const struct model *model, uint32_t shard_count, uint64_t seed,
                             struct store_faults faults, enum store_planted planted)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        door_fail("no memory");
    server->model = model;
    server->shard_count = shard_count;
    server->random = seed;
    server->faults = faults;
    server->planted = planted;
    if (faults.crashes > 0)
        server->history = malloc(HISTORY_MAX * sizeof *server->history);
    for (uint32_t i = 0; i < shard_count; i++)
        server->now.shards[i].shard = i;
    return server;
}

void server_destroy(struct server *server)
{
    while (server->arena != NULL) {
        struct block *next = server->arena->next;
        free(server->arena);
        server->arena = next;
    }
    free(server->history);
    free(server);
}

void server_visit_progress(const struct server *server, const uint64_t *lanes, size_t lane_count,
                           const lanepool_remote_visitor *visitor)
{
    for (size_t i = 0; i < server->now.lane_count; i++) {
        const struct lane_row *row = &server->now.lanes[i];
        lanepool_remote_lane_row seen = { row->lane, row->shard, row->last_seq, { NULL, 0 } };
        for (size_t j = 0; j < lane_count; j++)
            if (lanes[j] == row->lane)
                visitor->lane(visitor->context, &seen);
    }
}
