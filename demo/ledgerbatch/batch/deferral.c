/* Owns the clients that are held while their transactions are deferred. */
#include "batch/deferral.h"

#include <stdlib.h>

#include "batch/batch.h"
#include "batch/effect.h"
#include "memory.h"

void deferral_init(struct deferral *deferral, const struct plan *plan, bool is_used)
{
    size_t lanes = plan->clients.count + 1;
    *deferral = (struct deferral){ .is_used = is_used };
    deferral->held_since = memory_zeroed(lanes, sizeof *deferral->held_since);
    deferral->first_seqs = memory_zeroed(lanes, sizeof *deferral->first_seqs);
}

void deferral_fini(struct deferral *deferral)
{
    free(deferral->held_since);
    free(deferral->first_seqs);
}

void deferral_note(struct deferral *deferral, uint32_t lane, uint32_t seq)
{
    uint32_t *first = &deferral->first_seqs[lane];
    *first = *first ? *first : seq;
}

/* Notes the first deferred transaction of each of its lanes. */
static void note_first(struct deferral *deferral, const struct lane_list *lanes, uint32_t seq)
{
    for (size_t i = 0; i < lanes->count; i++) {
        deferral_note(deferral, lanes->items[i], seq);
    }
}

static void hold_client(struct deferral *deferral, uint32_t lane, uint32_t seq)
{
    if (lane != NO_INDEX && deferral->held_since[lane] == 0) {
        deferral->held_since[lane] = seq;
    }
}

void deferral_hold(struct deferral *deferral, uint32_t lane, uint32_t root_seq)
{
    hold_client(deferral, lane, root_seq);
    deferral->is_used = true;
}

void deferral_restore(struct deferral *deferral, const struct plan *plan, const struct task *task,
                      uint32_t lane, uint32_t root_seq)
{
    struct lane_list lanes = { 0 };
    plan_lanes(plan, task, &lanes);
    note_first(deferral, &lanes, task->seq);
    deferral_hold(deferral, lane, root_seq);
    free(lanes.items);
}

static void defer(struct batch *batch, struct task *task, const struct lane_list *lanes,
                  uint32_t lane, uint32_t root_seq)
{
    task->outcome = OUTCOME_DEFERRED;
    task->effect = effect_create();
    effect_add(task->effect, (struct effect_entry){ .cell = lane, .number = root_seq });
    note_first(&batch->deferral, lanes, task->seq);
}

bool deferral_skip(struct batch *batch, struct task *task)
{
    struct lane_list lanes = { 0 };
    uint32_t lane = NO_INDEX;
    plan_lanes(batch->plan, task, &lanes);
    for (size_t i = 0; i < lanes.count && lane == NO_INDEX; i++) {
        lane = batch->deferral.held_since[lanes.items[i]] ? lanes.items[i] : NO_INDEX;
    }
    if (lane != NO_INDEX) {
        defer(batch, task, &lanes, lane, batch->deferral.held_since[lane]);
    }
    free(lanes.items);
    return lane != NO_INDEX;
}

void deferral_fail(struct batch *batch, struct task *task)
{
    struct lane_list lanes = { 0 };
    uint32_t client = quarantine_failed_client(&batch->quarantine, task);
    plan_lanes(batch->plan, task, &lanes);
    hold_client(&batch->deferral, client, task->seq);
    defer(batch, task, &lanes, client, task->seq);
    free(lanes.items);
}

void deferral_add_earlier(struct batch *batch, struct task *task)
{
    struct lane_list lanes = { 0 };
    if (!batch->deferral.is_used) {
        return;
    }
    plan_lanes(batch->plan, task, &lanes);
    for (size_t i = 0; i < lanes.count; i++) {
        uint32_t first = batch->deferral.first_seqs[lanes.items[i]];
        if (first != 0 && lanes.items[i] != plan_house_lane(batch->plan)) {
            effect_add(task->effect,
                       (struct effect_entry){ .cell = lanes.items[i], .number = first });
        }
    }
    free(lanes.items);
}
