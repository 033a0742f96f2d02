/* Owns the month-end rollups: statement, accrual and close of a group. */
#include <stdlib.h>

#include "batch.h"
#include "memory.h"

/* What a rollup gathers: nothing outside changes before all of it is known. */
struct rollup {
    struct batch *batch;
    const struct task *task;
    struct effect_entries *entries;
    size_t capacity;  /* in bytes */
    int64_t *working; /* balances of the client's cells, with what is gathered so far */
    size_t working_capacity;
};

static void add_entry(struct rollup *rollup, struct effect_entry entry)
{
    size_t count = rollup->entries ? rollup->entries->count : 0;
    size_t needed = sizeof *rollup->entries + (count + 1) * sizeof entry;
    rollup->entries = memory_grow(rollup->entries, &rollup->capacity, needed, 1);
    rollup->entries->items[count] = entry;
    rollup->entries->count = count + 1;
}

/* Adds an amount to a cell of the client whose first cell is given. */
static bool add_generated(struct rollup *rollup, const struct client *client, uint32_t cell,
                          int64_t amount)
{
    int64_t *balance = &rollup->working[cell - client->first_cell];
    if (!amount_add(*balance, amount, balance)) {
        const struct plan *plan = rollup->batch->plan;
        struct slice name = book_account_name(&plan->book, plan->clients.cells[cell].account);
        batch_fail(rollup->batch, rollup->task, "the balance of %.*s has too many digits",
                   SLICE_ARGUMENTS(name));
        return false;
    }
    add_entry(rollup, (struct effect_entry){ cell, amount, *balance });
    return true;
}

/* balance x rate / 12, half to even at the decimals that the commodity shows. */
static bool interest_of(const struct plan *plan, const struct client_cell *cell, int64_t balance,
                        int64_t *interest)
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

/* One cell's interest: one posting for the account, one against it. */
static bool accrue_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    const struct plan *plan = rollup->batch->plan;
    const struct client_cell *cell = &plan->clients.cells[number];
    int64_t balance = rollup->batch->balances[number];
    int64_t interest;
    if (cell->interest == NO_INDEX || balance == 0) {
        return true;
    }
    if (!interest_of(plan, cell, balance, &interest)) {
        struct slice name = book_account_name(&plan->book, cell->account);
        batch_fail(rollup->batch, rollup->task, "the interest of %.*s has too many digits",
                   SLICE_ARGUMENTS(name));
        return false;
    }
    return interest == 0 || (add_generated(rollup, client, number, interest) &&
                             add_generated(rollup, client, cell->interest, -interest));
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
    return add_generated(rollup, client, number, -balance) &&
           add_generated(rollup, client, cell->retained, balance);
}

/* What a statement sees: the closing balance of each cell that has one. */
static bool read_cell(struct rollup *rollup, const struct client *client, uint32_t number)
{
    int64_t balance = rollup->batch->balances[number];
    (void)client;
    if (balance != 0) {
        add_entry(rollup, (struct effect_entry){ number, 0, balance });
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
    for (uint32_t i = 0; i < client->cell_count; i++) {
        if (!visit(rollup, client, client->first_cell + i)) {
            return false;
        }
    }
    return true;
}

static bool visit_group(struct rollup *rollup, cell_visitor visit)
{
    const struct clients *clients = &rollup->batch->plan->clients;
    const struct group *group = &clients->groups[rollup->task->subject];
    for (uint32_t i = 0; i < group->member_count; i++) {
        uint32_t member = clients->members[group->first_member + i];
        if (!visit_client(rollup, &clients->items[member], visit)) {
            return false;
        }
    }
    return true;
}

static int run_rollup(struct batch *batch, const struct task *task, cell_visitor visit)
{
    struct rollup rollup = { .batch = batch, .task = task };
    bool gathered = visit_group(&rollup, visit);
    free(rollup.working);
    if (!gathered) {
        free(rollup.entries);
        return BATCH_FAILED;
    }
    /* A statement only reads: it claims its lanes SHARED and must not write, even the same value.
     */
    for (size_t i = 0; rollup.entries && task->kind != TASK_STATEMENT && i < rollup.entries->count;
         i++) {
        const struct effect_entry *entry = &rollup.entries->items[i];
        batch->balances[entry->cell] = entry->balance;
    }
    struct effect effect = { plan_seq(batch->plan, task), EFFECT_ROLLUP, rollup.entries };
    commit_queue_append(&batch->queue, effect);
    return 0;
}

int month_end_statement(struct batch *batch, const struct task *task)
{
    return run_rollup(batch, task, read_cell);
}

int month_end_accrual(struct batch *batch, const struct task *task)
{
    return run_rollup(batch, task, accrue_cell);
}

int month_end_close(struct batch *batch, const struct task *task)
{
    return run_rollup(batch, task, close_cell);
}
