/* Owns the month-end rollups of a group: statement, accrual, fees and close. */
#include "batch/month_end.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "batch/effect.h"
#include "memory.h"

/* A running rollup. It gathers entries, and changes nothing else before it has all of them. */
struct rollup {
    struct batch *batch;
    const struct task *task;
    struct lane_list *missing; /* clients that it runs without, in order */
    size_t next_missing;
    const struct month_end_step *step;
    const uint32_t *targets; /* see struct step_cells */
    uint32_t cell_number;    /* the number of the current cell among those of the whole group */
    struct effect *effect;
    int64_t *working; /* balances of the client's cells after the entries so far */
    size_t working_capacity;
};

/* The two postings that a cell causes: its own, and the opposite one. */
enum side { SIDE_OWN = 1, SIDE_OTHER = 2 };

static bool fail_cell(const struct rollup *rollup, uint32_t cell, const char *what)
{
    const struct plan *plan = rollup->batch->plan;
    struct slice name = book_account_name(&plan->book, plan->clients.cells[cell].account);
    batch_fail(rollup->batch, rollup->task, rollup->task->member,
               "the %s of %.*s has too many digits", what, SLICE_ARGUMENTS(name));
    return false;
}

/*
 * Adds a posting to a cell of the current client or of the house. Its number depends only on the
 * group, so that a rollup has the same postings whether it is done at once or in parts. The
 * committer knows the balances of the house.
 */
static bool add_generated_entry(struct rollup *rollup, const struct client *client, enum side side,
                                uint32_t cell, int64_t amount)
{
    int64_t balance = 0;
    if (rollup->batch->plan->clients.cells[cell].client != NO_INDEX) {
        int64_t *working = &rollup->working[cell - client->first_cell];
        if (!amount_add(*working, amount, working)) {
            return fail_cell(rollup, cell, "balance");
        }
        balance = *working;
    }
    effect_add(rollup->effect,
               (struct effect_entry){ cell, 2 * rollup->cell_number + side, amount, balance });
    return true;
}

/* Moves an amount from the target of a cell to the cell. */
static bool add_pair(struct rollup *rollup, const struct client *client, uint32_t number,
                     int64_t amount)
{
    return amount == 0 ||
           (add_generated_entry(rollup, client, SIDE_OWN, number, amount) &&
            add_generated_entry(rollup, client, SIDE_OTHER, rollup->targets[number], -amount));
}

/* Returns how many of the periods of a rate are in a year: months, or days. */
static unsigned periods_of_year(const struct month_end_step *step, uint32_t month)
{
    uint32_t february = date_month_end(month / 12 * 12 + 1) % 100;
    switch (step->balances) {
    case BALANCES_MONTH_END:
        return 12;
    case BALANCES_DAILY_365:
        return 365;
    case BALANCES_DAILY_360:
        return 360;
    case BALANCES_DAILY_ACTUAL:
        break;
    }
    return february == 29 ? 366 : 365;
}

/* Returns the sum of balance x rate over the periods of the month, in units of the rate. */
static wide sum_of_month(const struct rollup *rollup, uint32_t cell, int64_t balance)
{
    const struct month_end_step *step = rollup->step;
    uint32_t month = rollup->task->month;
    if (step->balances != BALANCES_MONTH_END) {
        return month_tally_sum(&rollup->batch->tally, rollup->task->step, cell, balance, month);
    }
    uint32_t commodity = rollup->batch->plan->clients.cells[cell].commodity;
    bool earns = !step_amounts_is_below(&step->minimum_balance, commodity, balance);
    return earns ? (wide)balance * month_end_step_rate(step, date_month_end(month)) : 0;
}

/* Computes the interest of a month, rounded at the decimals that the commodity shows. */
static bool compute_interest(const struct rollup *rollup, uint32_t cell, int64_t *interest)
{
    const struct month_end_step *step = rollup->step;
    const struct plan *plan = rollup->batch->plan;
    const struct commodity *commodity =
        &plan->book.commodities[plan->clients.cells[cell].commodity];
    unsigned hidden = (unsigned)(commodity->storage_scale - commodity->scale);
    unsigned periods = periods_of_year(step, rollup->task->month);
    wide denominator;
    if (__builtin_mul_overflow(power_of_ten(step->rate_scale + hidden), (wide)periods,
                               &denominator)) {
        return false;
    }
    wide sum = sum_of_month(rollup, cell, rollup->batch->balances[cell]);
    wide shown = divide_rounded(sum, denominator, step->rounding);
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
    uint32_t commodity = rollup->batch->plan->clients.cells[number].commodity;
    int64_t interest;
    if (rollup->targets[number] == NO_INDEX) {
        return true;
    }
    if (!compute_interest(rollup, number, &interest)) {
        return fail_cell(rollup, number, "interest");
    }
    return step_amounts_is_below(&rollup->step->minimum_interest, commodity,
                                 interest < 0 ? -interest : interest) ||
           add_pair(rollup, client, number, interest);
}

/* Moves one cell's balance to the client's retained earnings. */
static bool close_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    return rollup->targets[number] == NO_INDEX ||
           add_pair(rollup, client, number, -rollup->batch->balances[number]);
}

/* Takes the fee of one cell. An account without a balance pays none, and one with enough. */
static bool charge_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    const struct month_end_step *step = rollup->step;
    uint32_t commodity = rollup->batch->plan->clients.cells[number].commodity;
    const int64_t *fee = step_amounts_find(&step->fees, commodity);
    const int64_t *waived_from = step_amounts_find(&step->waived_from, commodity);
    int64_t balance = rollup->batch->balances[number];
    if (rollup->targets[number] == NO_INDEX || !fee || (waived_from && balance >= *waived_from)) {
        return true;
    }
    wide count = step->is_per_posting
                     ? month_tally_postings(&rollup->batch->tally, rollup->task->step, number,
                                            rollup->task->month)
                     : balance != 0;
    wide charged;
    if (__builtin_mul_overflow(count, (wide)*fee, &charged) || !amount_fits(charged)) {
        return fail_cell(rollup, number, "fee");
    }
    return add_pair(rollup, client, number, -(int64_t)charged);
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
    struct rollup rollup = { .batch = batch,
                             .task = task,
                             .missing = missing,
                             .step = &batch->plan->rules.steps.items[task->step],
                             .targets = batch->plan->clients.steps[task->step].targets,
                             .effect = effect };
    bool gathered = visit_group(&rollup, visit);
    free(rollup.working);
    if (!gathered) {
        effect_destroy(effect);
        return BATCH_FAILED;
    }
    /* A statement has SHARED claims and must not write, not even an unchanged value. */
    for (size_t i = 0; task->kind != TASK_STATEMENT && i < effect->count; i++) {
        uint32_t cell = effect->entries[i].cell;
        if (batch->plan->clients.cells[cell].client != NO_INDEX) {
            month_tally_end_balance(&batch->tally, cell, batch->balances[cell],
                                    date_month_end(task->month));
            batch->balances[cell] = effect->entries[i].balance;
        }
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

int month_end_fees(struct batch *batch, struct task *task, struct lane_list *missing)
{
    return run_rollup(batch, task, missing, charge_cell);
}
