/* Owns cuts, except what the pool calls and what is written; see batch/cut.h. */
#include "batch/cut.h"

#include <stdlib.h>

#include "batch/batch_run.h"
#include "batch/effect.h"
#include "memory.h"

struct cut *cut_create(const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(task->batch->plan, task, &lanes);
    struct cut *cut = memory_zeroed(1, sizeof *cut + lanes.count * sizeof *cut->visits);
    cut->task = task;
    cut->count = lanes.count;
    cut->unwritten_count = lanes.count;
    for (size_t i = 0; i < lanes.count; i++) {
        cut->visits[i].part = *task;
        cut->visits[i].part.member = lanes.items[i];
    }
    free(lanes.items);
    return cut;
}

void cut_destroy(struct cut *cut)
{
    for (size_t i = 0; i < cut->count; i++) {
        effect_drop(&cut->visits[i].part, 1);
    }
    free(cut);
}

int cut_visit(struct cut *cut, size_t number)
{
    struct visit *visit = &cut->visits[number];
    struct lane_list missing = { 0 };
    int code = batch_run(cut->task->batch, &visit->part, &missing);
    if (code == 0) {
        visit->is_done = true;
        visit->part.effect->cut = cut;
    }
    return code;
}

void cut_end(struct cut *cut)
{
    struct lane_list missing = { 0 };
    for (size_t i = 0; i < cut->count; i++) {
        if (!cut->visits[i].is_done) {
            lane_list_add(&missing, cut->visits[i].part.member);
        }
    }
    (void)quarantine_judge(&cut->task->batch->quarantine, cut->task, &missing);
    free(missing.items);
}
