/* Owns the month-end rollups: statement, accrual and close of a group. */
#include "batch/month_end.h"

#include <stdlib.h>

#include "batch/effect.h"
#include "memory.h"

/* A running rollup. It gathers entries, and changes nothing else before it has all of them. */
struct rollup {
    struct batch *batch;
    const struct task *task;
    struct lane_list *missing; /* clients that it runs without, in order */
    size_t next_missing;
    uint32_t cell_number; /* the number of the current cell among those of the whole group */
    struct effect *effect;
    int64_t *working; /* balances of the client's cells after the entries so far */
    size_t working_capacity;
};

/* The two postings that a cell causes: its own, and the opposite one. */
enum side { SIDE_OWN = 1, SIDE_OTHER = 2 };

/*
 * Adds a posting to a cell of the current client. Its number depends only on the group, so that a
 * rollup has the same postings whether it is done at once or in parts.
 */
static bool add_generated_entry(struct rollup *rollup, const struct client *client, enum side side,
                                uint32_t cell, int64_t amount)
{
    int64_t *balance = &rollup->working[cell - client->first_cell];
    if (!amount_add(*balance, amount, balance)) {
        const struct plan *plan = rollup->batch->plan;
        struct slice name = book_account_name(&plan->book, plan->clients.cells[cell].account);
        batch_fail(rollup->batch, rollup->task, rollup->task->member,
                   "the balance of %.*s has too many digits", SLICE_ARGUMENTS(name));
        return false;
    }
    effect_add(rollup->effect,
               (struct effect_entry){ cell, 2 * rollup->cell_number + side, amount, *balance });
    return true;
}

/* Computes balance x rate / 12, rounded half to even at the decimals that the commodity shows. */
static bool compute_interest(const struct plan *plan, const struct client_cell *cell,
                             int64_t balance, int64_t *interest)
{
    const struct commodity *commodity = &plan->book.commodities[cell->commodity];
    unsigned hidden = (unsigned)(commodity->storage_scale - commodity->scale);
    wide denominator;
    if (__builtin_mul_overflow(power_of_ten(plan->rules.rate_scale + hidden), (wide)12,
                               &denominator)) {
        return false;
    }
    wide shown = divide_half_even((wide)balance * plan->rules.rate_units, denominator);
    wide stored;
    if (__builtin_mul_overflow(shown, power_of_ten(hidden), &stored) || !amount_fits(stored)) {
        return false;
    }
    *interest = (int64_t)stored;
    return true;
}

/* Adds the interest of one cell: one posting for the account, and the opposite one. */
static bool accrue_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    const struct plan *plan = rollup->batch->plan;
    const struct client_cell *cell = &plan->clients.cells[number];
    int64_t balance = rollup->batch->balances[number];
    int64_t interest;
    if (cell->interest == NO_INDEX || balance == 0) {
        return true;
    }
    if (!compute_interest(plan, cell, balance, &interest)) {
        struct slice name = book_account_name(&plan->book, cell->account);
        batch_fail(rollup->batch, rollup->task, rollup->task->member,
                   "the interest of %.*s has too many digits", SLICE_ARGUMENTS(name));
        return false;
    }
    return interest == 0 ||
           (add_generated_entry(rollup, client, SIDE_OWN, number, interest) &&
            add_generated_entry(rollup, client, SIDE_OTHER, cell->interest, -interest));
}

/* Moves one cell's balance to the client's retained earnings. */
static bool close_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    const struct plan *plan = rollup->batch->plan;
    const struct client_cell *cell = &plan->clients.cells[number];
    int64_t balance = rollup->batch->balances[number];
    if (cell->retained == NO_INDEX || balance == 0) {
        return true;
    }
    return add_generated_entry(rollup, client, SIDE_OWN, number, -balance) &&
           add_generated_entry(rollup, client, SIDE_OTHER, cell->retained, balance);
}

/* Adds the closing balance of one cell, for a statement. */
static bool read_closing_balance(struct rollup *rollup, const struct client *client,
                                 uint32_t number)
{
    int64_t balance = rollup->batch->balances[number];
    (void)client;
    if (balance != 0) {
        effect_add(rollup->effect, (struct effect_entry){ .cell = number, .balance = balance });
    }
    return true;
}

typedef bool (*cell_visitor)(struct rollup *rollup, const struct client *client, uint32_t number);

static bool visit_client(struct rollup *rollup, const struct client *client, cell_visitor visit)
{
    rollup->working = memory_grow(rollup->working, &rollup->working_capacity,
                                  (size_t)client->cell_count + 1, sizeof *rollup->working);
    for (uint32_t i = 0; i < client->cell_count; i++) {
        rollup->working[i] = rollup->batch->balances[client->first_cell + i];
    }
    rollup->cell_number = client->group_cell;
    for (uint32_t i = 0; i < client->cell_count; i++, rollup->cell_number++) {
        if (!visit(rollup, client, client->first_cell + i)) {
            return false;
        }
    }
    return true;
}

/* Returns true if the rollup includes a member. Called for the members in ascending order. */
static bool includes_member(struct rollup *rollup, uint32_t member)
{
    bool is_missing = rollup->next_missing < rollup->missing->count &&
                      rollup->missing->items[rollup->next_missing] == member;
    rollup->next_missing += is_missing;
    return !is_missing;
}

static bool visit_group(struct rollup *rollup, cell_visitor visit)
{
    const struct clients *clients = &rollup->batch->plan->clients;
    const struct group *group = &clients->groups[rollup->task->subject];
    if (rollup->task->member != NO_INDEX) {
        return visit_client(rollup, &clients->items[rollup->task->member], visit);
    }
    for (uint32_t i = 0; i < group->member_count; i++) {
        uint32_t member = clients->members[group->first_member + i];
        if (includes_member(rollup, member) &&
            !visit_client(rollup, &clients->items[member], visit)) {
            return false;
        }
    }
    return true;
}

/* Sets the effect of a rollup, which takes over the list of missing clients. */
static void set_effect(struct task *task, enum outcome outcome, struct effect *effect,
                       struct lane_list *missing)
{
    effect->missing = *missing;
    *missing = (struct lane_list){ 0 };
    task->outcome = (uint8_t)outcome;
    task->effect = effect;
}

static int run_rollup(struct batch *batch, struct task *task, struct lane_list *missing,
                      cell_visitor visit)
{
    struct effect *effect = effect_create();
    struct rollup rollup = { .batch = batch, .task = task, .missing = missing, .effect = effect };
    bool gathered = visit_group(&rollup, visit);
    free(rollup.working);
    if (!gathered) {
        effect_destroy(effect);
        return BATCH_FAILED;
    }
    /* A statement has SHARED claims and must not write, not even an unchanged value. */
    for (size_t i = 0; task->kind != TASK_STATEMENT && i < effect->count; i++) {
        batch->balances[effect->entries[i].cell] = effect->entries[i].balance;
    }
    set_effect(task, OUTCOME_ROLLUP, effect, missing);
    return 0;
}

void month_end_fail(struct task *task, struct lane_list *missing)
{
    set_effect(task, OUTCOME_FAILED, effect_create(), missing);
}

int month_end_statement(struct batch *batch, struct task *task, struct lane_list *missing)
{
    return run_rollup(batch, task, missing, read_closing_balance);
}

int month_end_accrual(struct batch *batch, struct task *task, struct lane_list *missing)
{
    return run_rollup(batch, task, missing, accrue_cell);
}

int month_end_close(struct batch *batch, struct task *task, struct lane_list *missing)
{
    return run_rollup(batch, task, missing, close_cell);
}
