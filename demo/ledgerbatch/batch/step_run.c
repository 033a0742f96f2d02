/* Owns what a user's step does to balances, and the numbers of its postings. */
#include "batch/step_run.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "batch/effect.h"
#include "memory.h"

/* --- contributions --- */

uint32_t step_member_number(const struct plan *plan, uint32_t client)
{
    const struct group *group = &plan->clients.groups[plan->clients.items[client].group];
    const uint32_t *members = plan->clients.members + group->first_member;
    uint32_t begin = 0;
    uint32_t end = group->member_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (members[middle] == client) {
            return middle;
        }
        begin = members[middle] < client ? middle + 1 : begin;
        end = members[middle] < client ? end : middle;
    }
    return NO_INDEX;
}

struct step_contributions step_contributions_create(const struct plan *plan,
                                                    const struct task *task)
{
    size_t count = plan->clients.groups[task->subject].member_count;
    return (struct step_contributions){ memory_zeroed(count + 1, sizeof(struct buffer)), count };
}

void step_contributions_fini(struct step_contributions *contributions)
{
    for (size_t i = 0; i < contributions->count; i++) {
        buffer_fini(&contributions->items[i]);
    }
    free(contributions->items);
    *contributions = (struct step_contributions){ 0 };
}

struct gathering *step_gathering_add(struct batch *batch, const struct task *task)
{
    batch->gatherings = memory_grow(batch->gatherings, &batch->gathering_capacity,
                                    batch->gathering_count + 1, sizeof *batch->gatherings);
    struct gathering *gathering = &batch->gatherings[batch->gathering_count++];
    *gathering =
        (struct gathering){ task->seq, step_contributions_create(batch->plan, task), NULL };
    gathering->is_visited = memory_zeroed(gathering->contributions.count + 1, sizeof(bool));
    return gathering;
}

void step_gatherings_free(struct batch *batch)
{
    for (size_t i = 0; i < batch->gathering_count; i++) {
        step_contributions_fini(&batch->gatherings[i].contributions);
        free(batch->gatherings[i].is_visited);
    }
    free(batch->gatherings);
}

bool step_gathering_is_whole(const struct batch *batch, uint32_t seq)
{
    const struct gathering *gathering = step_gathering_find(batch, seq);
    size_t visited = 0;
    while (visited < gathering->contributions.count && gathering->is_visited[visited]) {
        visited++;
    }
    return visited == gathering->contributions.count;
}

struct gathering *step_gathering_find(const struct batch *batch, uint32_t seq)
{
    size_t begin = 0;
    size_t end = batch->gathering_count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (batch->gatherings[middle].seq == seq) {
            return &batch->gatherings[middle];
        }
        begin = batch->gatherings[middle].seq < seq ? middle + 1 : begin;
        end = batch->gatherings[middle].seq < seq ? end : middle;
    }
    return NULL;
}

/* --- entries --- */

static uint32_t count_group_cells(const struct plan *plan, const struct group *group)
{
    const struct client *last =
        &plan->clients.items[plan->clients.members[group->first_member + group->member_count - 1]];
    return last->group_cell + last->cell_count;
}

/*
 * Returns the number of a posting. It depends only on the group and the account, so that a step has
 * the same numbers whether it is done at once or in parts. A visit has numbers for the cells of its
 * client and for the house cells; the call of `group` has numbers behind those of all visits.
 */
static uint32_t posting_number(const struct step_call *call, uint32_t cell)
{
    const struct plan *plan = call->batch->plan;
    const struct user_step *user = plan_user_step(plan, call->task);
    const struct group *group = &plan->clients.groups[call->task->subject];
    uint32_t houses = (uint32_t)user->house_cell_count;
    uint32_t owner = plan->clients.cells[cell].client;
    uint32_t group_cells = count_group_cells(plan, group);
    uint32_t base = 1;
    uint32_t own_cells = group_cells;
    uint32_t own_first = 0;
    if (call->client == NO_INDEX) {
        base += group_cells + group->member_count * houses;
    } else {
        const struct client *client = &plan->clients.items[call->client];
        base += client->group_cell + step_member_number(plan, call->client) * houses;
        own_cells = client->cell_count;
        own_first = client->group_cell;
    }
    if (owner != NO_INDEX) {
        const struct client *client = &plan->clients.items[owner];
        return base + client->group_cell - own_first + cell - client->first_cell;
    }
    uint32_t house = 0;
    while (user->house_cells[house] != cell) {
        house++;
    }
    return base + own_cells + house;
}

/* Takes back the entries from `first` on. */
static void take_back(struct batch *batch, const struct effect *effect, size_t first)
{
    for (size_t i = effect->count; i-- > first;) {
        const struct effect_entry *entry = &effect->entries[i];
        if (batch->plan->clients.cells[entry->cell].client != NO_INDEX) {
            batch->balances[entry->cell] -= entry->amount;
        }
    }
}

/* Records why a step fails. */
static bool fail(const struct step_call *call, const char *reason)
{
    const struct user_step *user = plan_user_step(call->batch->plan, call->task);
    if (call->client != NO_INDEX) {
        batch_fail(call->batch, call->task, call->client, "the step %s fails for %.*s: %s",
                   user->name, SLICE_ARGUMENTS(call->batch->plan->clients.items[call->client].name),
                   reason);
    } else {
        batch_fail(call->batch, call->task, call->task->member, "the step %s fails: %s", user->name,
                   reason);
    }
    return false;
}

/* Applies the postings of a call to the balances of clients, and adds them to the effect. */
static bool apply(const struct step_call *call, struct effect *effect)
{
    struct batch *batch = call->batch;
    size_t first = effect->count;
    for (size_t i = 0; i < call->count; i++) {
        const struct step_posting *posting = &call->postings[i];
        struct effect_entry entry = { posting->cell, posting_number(call, posting->cell),
                                      posting->amount, 0 };
        if (batch->plan->clients.cells[posting->cell].client != NO_INDEX) {
            if (!amount_add(batch->balances[posting->cell], posting->amount, &entry.balance)) {
                take_back(batch, effect, first);
                return fail(call, "a balance has too many digits");
            }
            month_tally_end_balance(&batch->tally, posting->cell, batch->balances[posting->cell],
                                    date_month_end(call->task->month));
            batch->balances[posting->cell] = entry.balance;
        }
        effect_add(effect, entry);
    }
    return true;
}

/* --- the calls of a step --- */

static void move_buffer(struct buffer *to, struct buffer *from)
{
    buffer_fini(to);
    *to = *from;
    *from = (struct buffer){ 0 };
}

static bool visit(struct batch *batch, const struct task *task, uint32_t client,
                  struct effect *effect, struct buffer *contribution)
{
    struct step_call call;
    bool done = step_call_visit(&call, batch, task, client) ? apply(&call, effect)
                                                            : fail(&call, call.reason);
    if (done) {
        move_buffer(contribution, &call.contribution);
    }
    step_call_fini(&call);
    return done;
}

static bool call_group(struct batch *batch, const struct task *task, struct effect *effect,
                       const struct step_contributions *contributions)
{
    struct step_call call;
    bool done = step_call_group(&call, batch, task, contributions) ? apply(&call, effect)
                                                                   : fail(&call, call.reason);
    if (done) {
        move_buffer(&effect->report, &call.report);
    }
    step_call_fini(&call);
    return done;
}

/* Does the whole step. It has all clients until it is done. */
static bool run_whole(struct batch *batch, const struct task *task, struct effect *effect)
{
    const struct plan *plan = batch->plan;
    const struct group *group = &plan->clients.groups[task->subject];
    struct step_contributions contributions = step_contributions_create(plan, task);
    bool done = true;
    for (uint32_t i = 0; done && i < group->member_count; i++) {
        done = visit(batch, task, plan->clients.members[group->first_member + i], effect,
                     &contributions.items[i]);
    }
    if (done && user_step_has_group(plan_user_step(plan, task))) {
        done = call_group(batch, task, effect, &contributions);
    }
    if (!done) {
        take_back(batch, effect, 0);
    }
    step_contributions_fini(&contributions);
    return done;
}

static int finish(struct task *task, struct effect *effect, bool done)
{
    if (!done) {
        effect_destroy(effect);
        return BATCH_FAILED;
    }
    task->outcome = OUTCOME_ROLLUP;
    task->effect = effect;
    return 0;
}

int step_run_group(struct batch *batch, struct task *part,
                   const struct step_contributions *contributions)
{
    struct effect *effect = effect_create();
    return finish(part, effect, call_group(batch, part, effect, contributions));
}

/* Does a visit. Its contribution is stored with it, and kept for the call of `group`. */
static bool run_visit(struct batch *batch, const struct task *part, struct effect *effect)
{
    if (!visit(batch, part, part->member, effect, &effect->contribution)) {
        return false;
    }
    struct gathering *gathering = step_gathering_find(batch, part->seq);
    if (gathering) {
        uint32_t number = step_member_number(batch->plan, part->member);
        buffer_add(&gathering->contributions.items[number], buffer_slice(&effect->contribution));
        gathering->is_visited[number] = true;
    }
    return true;
}

int step_run(struct batch *batch, struct task *task)
{
    if (plan_is_group_part(batch->plan, task)) {
        return step_run_group(batch, task, &step_gathering_find(batch, task->seq)->contributions);
    }
    struct effect *effect = effect_create();
    bool done =
        task->member == NO_INDEX ? run_whole(batch, task, effect) : run_visit(batch, task, effect);
    return finish(task, effect, done);
}
