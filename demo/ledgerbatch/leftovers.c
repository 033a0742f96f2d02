/* Owns the tasks that make up for what earlier runs have left; see leftovers.h. */
#include "leftovers.h"

#include <stdlib.h>

#include "memory.h"

static bool does_not_fit(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO,
                       "the database is damaged: what it says is missing is not of this input");
}

static bool is_member(const struct plan *plan, const struct task *rollup, uint32_t lane)
{
    return lane < plan->clients.count && plan->clients.items[lane].group == rollup->subject;
}

static bool add_part(struct leftovers *leftovers, const struct plan *plan, struct batch *batch,
                     const struct stored_share *missing, struct problem *problem)
{
    if (missing->seq < 1 || missing->seq > plan->task_count) {
        return does_not_fit(problem);
    }
    struct task part = plan->tasks[missing->seq - 1];
    if (part.kind == TASK_POST || !is_member(plan, &part, missing->lane)) {
        return does_not_fit(problem);
    }
    part.batch = batch;
    part.member = missing->lane;
    leftovers->parts = memory_grow(leftovers->parts, &leftovers->part_capacity,
                                   leftovers->part_count + 1, sizeof part);
    leftovers->parts[leftovers->part_count++] = part;
    return true;
}

bool leftovers_load(struct leftovers *leftovers, struct store *store, const struct plan *plan,
                    struct batch *batch, struct problem *problem)
{
    struct stored_share missing;
    struct store_cursor *cursor = store_cursor_open(store, STORE_MISSING, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &missing, problem);
        if (step == STORE_ROW && !add_part(leftovers, plan, batch, &missing, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

void leftovers_fini(struct leftovers *leftovers)
{
    free(leftovers->parts);
}
