/* Owns the tasks that make up for undone rollups; see commit/leftovers.h. */
#include "commit/leftovers.h"

#include <stdlib.h>

#include "batch/batch.h"
#include "batch/effect.h"
#include "batch/step_run.h"
#include "memory.h"

static bool report_wrong_rollup(struct problem *problem)
{
    return problem_set(
        problem, EXIT_CODE_IO,
        "the database is damaged: it lacks parts of rollups that are not in this input");
}

static bool is_member(const struct plan *plan, const struct task *rollup, uint32_t lane)
{
    const struct user_step *user = plan_user_step(plan, rollup);
    if (lane == plan_house_lane(plan)) {
        return user && user_step_has_group(user);
    }
    return lane < plan->clients.count && plan->clients.items[lane].group == rollup->subject;
}

/* Returns the rollup of a seq; NULL if there is none. */
static const struct task *find_rollup(const struct plan *plan, uint32_t seq)
{
    const struct task *task = plan_find(plan, seq);
    return task && task->kind != TASK_POST ? task : NULL;
}

static bool report_wrong_deferral(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO,
                       "the database is damaged: it defers what is not in this input");
}

struct loading {
    struct leftovers *leftovers;
    const struct plan *plan;
    struct batch *batch;
    bool is_retry;
    struct problem *problem;
};

static bool add_part(const struct loading *loading, const void *row)
{
    const struct stored_share *missing = row;
    struct leftovers *leftovers = loading->leftovers;
    const struct task *rollup = find_rollup(loading->plan, missing->seq);
    if (!rollup || !is_member(loading->plan, rollup, missing->lane)) {
        return report_wrong_rollup(loading->problem);
    }
    struct task part = *rollup;
    part.batch = loading->batch;
    part.member = missing->lane;
    leftovers->parts = memory_grow(leftovers->parts, &leftovers->part_capacity,
                                   leftovers->part_count + 1, sizeof part);
    leftovers->parts[leftovers->part_count++] = part;
    if (plan_is_group_part(loading->plan, &part)) {
        step_gathering_add(loading->batch, rollup);
    }
    return true;
}

/* Takes what a client has contributed to a step in an earlier run. */
static bool add_contribution(const struct loading *loading, const void *row)
{
    const struct stored_contribution *contribution = row;
    struct gathering *gathering = step_gathering_find(loading->batch, contribution->seq);
    const struct task *rollup = find_rollup(loading->plan, contribution->seq);
    if (!gathering || contribution->lane >= loading->plan->clients.count ||
        !is_member(loading->plan, rollup, contribution->lane)) {
        return report_wrong_rollup(loading->problem);
    }
    uint32_t number = step_member_number(loading->plan, contribution->lane);
    buffer_add(&gathering->contributions.items[number], contribution->bytes);
    gathering->is_visited[number] = true;
    return true;
}

/* Returns true if a step has a contribution of each client, or else a part that is left for it. */
static bool is_complete(const struct loading *loading, const struct gathering *gathering,
                        size_t *part)
{
    const struct leftovers *leftovers = loading->leftovers;
    size_t known = 0;
    bool fits = true;
    for (size_t i = 0; i < gathering->contributions.count; i++) {
        known += gathering->is_visited[i];
    }
    for (; *part < leftovers->part_count && leftovers->parts[*part].seq <= gathering->seq;
         ++*part) {
        const struct task *left = &leftovers->parts[*part];
        if (left->seq == gathering->seq && !plan_is_group_part(loading->plan, left)) {
            fits = fits && !gathering->is_visited[step_member_number(loading->plan, left->member)];
            known++;
        }
    }
    return fits && known == gathering->contributions.count;
}

static bool check_gatherings(const struct loading *loading)
{
    size_t part = 0;
    bool fits = true;
    for (size_t i = 0; i < loading->batch->gathering_count; i++) {
        fits = is_complete(loading, &loading->batch->gatherings[i], &part) && fits;
    }
    return fits || report_wrong_rollup(loading->problem);
}

static void add_late_task(const struct loading *loading, const struct task *task)
{
    struct leftovers *leftovers = loading->leftovers;
    struct task late = *task;
    late.batch = loading->batch;
    late.seq = plan_late_seq(loading->plan, task->seq);
    leftovers->late = memory_grow(leftovers->late, &leftovers->late_capacity,
                                  leftovers->late_count + 1, sizeof late);
    leftovers->late[leftovers->late_count++] = late;
}

static bool add_late(const struct loading *loading, const void *row)
{
    const struct stored_failed *failed = row;
    const struct task *rollup = find_rollup(loading->plan, failed->seq);
    if (!rollup) {
        return report_wrong_rollup(loading->problem);
    }
    add_late_task(loading, rollup);
    return true;
}

/* Takes a deferral of an earlier batch. Its client is held, unless it is tried again. */
static bool carry(const struct loading *loading, const struct stored_deferral *deferral)
{
    if (!opening_has_deferred(&loading->plan->opening, deferral->seq)) {
        deferral_hold(&loading->batch->deferral, deferral->has_lane ? deferral->lane : NO_INDEX,
                      deferral->root_seq);
        loading->leftovers->carried_count++;
    }
    return true;
}

static bool add_carried_lane(const struct loading *loading, const void *row)
{
    const struct stored_share *share = row;
    if (share->lane > plan_house_lane(loading->plan)) {
        return report_wrong_deferral(loading->problem);
    }
    if (!opening_has_deferred(&loading->plan->opening, share->seq)) {
        deferral_note(&loading->batch->deferral, share->lane, share->seq);
    }
    return true;
}

static bool add_deferred(const struct loading *loading, const void *row)
{
    const struct stored_deferral *deferral = row;
    const struct plan *plan = loading->plan;
    const struct task *task = plan_find(plan, deferral->seq);
    if (deferral->has_lane && deferral->lane > plan_house_lane(plan)) {
        return report_wrong_deferral(loading->problem);
    }
    if (deferral->seq <= plan->base_seq) {
        return carry(loading, deferral);
    }
    if (!task || task->kind != TASK_POST) {
        return report_wrong_deferral(loading->problem);
    }
    loading->leftovers->deferral_count++;
    if (deferral->done_seq != 0) {
        return true;
    }
    if (!loading->is_retry) {
        deferral_restore(&loading->batch->deferral, plan, task,
                         deferral->has_lane ? deferral->lane : NO_INDEX, deferral->root_seq);
        return true;
    }
    add_late_task(loading, task);
    loading->leftovers->deferred_count++;
    return true;
}

static int compare_late(const void *left, const void *right)
{
    uint32_t a = ((const struct task *)left)->seq;
    uint32_t b = ((const struct task *)right)->seq;
    return (a > b) - (a < b);
}

union leftover_row {
    struct stored_deferral deferral;
    struct stored_share missing;
    struct stored_failed failed;
    struct stored_contribution contribution;
};

typedef bool (*row_adder)(const struct loading *loading, const void *row);

static bool load_leftovers(const struct loading *loading, struct store *store, enum store_rows rows,
                           row_adder add)
{
    union leftover_row row;
    struct store_cursor *cursor = store_cursor_open(store, rows, loading->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, loading->problem);
        if (step == STORE_ROW && !add(loading, &row)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* Adds the deferred transactions to the late rollups, in the order of seq. */
static bool load_deferred(const struct loading *loading, struct store *store)
{
    struct leftovers *leftovers = loading->leftovers;
    bool loaded = load_leftovers(loading, store, STORE_DEFERRALS, add_deferred) &&
                  load_leftovers(loading, store, STORE_CARRIED, add_carried_lane);
    if (loaded && leftovers->deferred_count > 0) {
        qsort(leftovers->late, leftovers->late_count, sizeof *leftovers->late, compare_late);
    }
    return loaded;
}

bool leftovers_load(struct leftovers *leftovers, struct store *store, const struct plan *plan,
                    struct batch *batch, bool is_retry, struct problem *problem)
{
    struct loading loading = { leftovers, plan, batch, is_retry, problem };
    return load_leftovers(&loading, store, STORE_MISSING, add_part) &&
           load_leftovers(&loading, store, STORE_CONTRIBUTIONS, add_contribution) &&
           check_gatherings(&loading) &&
           load_leftovers(&loading, store, STORE_FAILED_ROLLUPS, add_late) &&
           load_deferred(&loading, store);
}

void leftovers_fini(struct leftovers *leftovers)
{
    effect_drop(leftovers->parts, leftovers->part_count);
    effect_drop(leftovers->late, leftovers->late_count);
    free(leftovers->parts);
    free(leftovers->late);
}
