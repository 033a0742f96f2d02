/* Owns the bytes that travel between machines; see remote/wire.h. */
#include "remote/wire.h"

#include "batch/effect.h"

/* The bytes of an entry of an effect. */
#define ENTRY_SIZE 24

__extension__ typedef unsigned __int128 unsigned_wide;

void wire_put(struct buffer *buffer, uint64_t number, unsigned size)
{
    char *room = buffer_room(buffer, size);
    for (unsigned i = 0; i < size; i++) {
        room[i] = (char)(number >> (8 * i) & 0xff);
    }
    buffer->size += size;
}

uint64_t wire_get(struct wire *wire, unsigned size)
{
    uint64_t number = 0;
    if (wire->left < size) {
        wire->is_damaged = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++) {
        number |= (uint64_t)wire->at[i] << (8 * i);
    }
    wire->at += size;
    wire->left -= size;
    return number;
}

/* --- states --- */

static void put_tally(struct buffer *buffer, const struct cell_tally *tally)
{
    unsigned_wide sum = (unsigned_wide)tally->sum;
    wire_put(buffer, (uint64_t)sum, 8);
    wire_put(buffer, (uint64_t)(sum >> 64), 8);
    wire_put(buffer, tally->month, 4);
    wire_put(buffer, tally->day, 4);
}

static struct cell_tally get_tally(struct wire *wire)
{
    uint64_t low = wire_get(wire, 8);
    uint64_t high = wire_get(wire, 8);
    struct cell_tally tally = { .sum = (wide)((unsigned_wide)high << 64 | low) };
    tally.month = (uint32_t)wire_get(wire, 4);
    tally.day = (uint32_t)wire_get(wire, 4);
    return tally;
}

void wire_put_state(struct buffer *buffer, const struct batch *batch, uint32_t lane, uint32_t seq)
{
    wire_put(buffer, seq, 4);
    if (lane == plan_house_lane(batch->plan)) {
        return;
    }
    const struct client *client = &batch->plan->clients.items[lane];
    uint32_t end = client->first_cell + client->cell_count;
    for (uint32_t cell = client->first_cell; cell < end; cell++) {
        wire_put(buffer, (uint64_t)batch->balances[cell], 8);
    }
    for (size_t i = 0; i < MONTH_END_STEPS_MAX; i++) {
        for (uint32_t cell = client->first_cell; batch->tally.cells[i] && cell < end; cell++) {
            put_tally(buffer, &batch->tally.cells[i][cell]);
        }
    }
}

/* Missing bytes are zeroes: this is the state at the beginning. */
void wire_get_state(struct wire wire, struct batch *batch, uint32_t lane, uint32_t *seq)
{
    *seq = (uint32_t)wire_get(&wire, 4);
    if (lane == plan_house_lane(batch->plan)) {
        return;
    }
    const struct client *client = &batch->plan->clients.items[lane];
    uint32_t end = client->first_cell + client->cell_count;
    for (uint32_t cell = client->first_cell; cell < end; cell++) {
        batch->balances[cell] = (int64_t)wire_get(&wire, 8);
    }
    for (size_t i = 0; i < MONTH_END_STEPS_MAX; i++) {
        for (uint32_t cell = client->first_cell; batch->tally.cells[i] && cell < end; cell++) {
            batch->tally.cells[i][cell] = get_tally(&wire);
        }
    }
}

/* --- effects --- */

static void put_entry(struct buffer *buffer, const struct effect_entry *entry)
{
    wire_put(buffer, entry->cell, 4);
    wire_put(buffer, entry->number, 4);
    wire_put(buffer, (uint64_t)entry->amount, 8);
    wire_put(buffer, (uint64_t)entry->balance, 8);
}

void wire_put_effect(struct buffer *buffer, const struct batch *batch, const struct task *task)
{
    wire_put(buffer, task->seq, 4);
    wire_put(buffer, task->outcome, 1);
    if (task->outcome == OUTCOME_POSTED) {
        const struct transaction *transaction = &batch->plan->book.transactions[task->subject];
        for (uint32_t i = 0; i < transaction->posting_count; i++) {
            wire_put(buffer, (uint64_t)batch->after[transaction->first_posting + i], 8);
        }
        return;
    }
    for (size_t i = 0; i < task->effect->count; i++) {
        put_entry(buffer, &task->effect->entries[i]);
    }
}

static void get_balances(struct wire *wire, struct batch *batch, const struct task *task)
{
    const struct transaction *transaction = &batch->plan->book.transactions[task->subject];
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        batch->after[transaction->first_posting + i] = (int64_t)wire_get(wire, 8);
    }
}

static void get_entries(struct wire *wire, const struct batch *batch, struct task *task)
{
    task->effect = effect_create();
    while (wire->left >= ENTRY_SIZE) {
        struct effect_entry entry;
        entry.cell = (uint32_t)wire_get(wire, 4);
        entry.number = (uint32_t)wire_get(wire, 4);
        entry.amount = (int64_t)wire_get(wire, 8);
        entry.balance = (int64_t)wire_get(wire, 8);
        wire->is_damaged |= entry.cell >= batch->plan->clients.cell_count;
        effect_add(task->effect, entry);
    }
    wire->is_damaged |= task->outcome == OUTCOME_REFUSED && task->effect->count == 0;
}

bool wire_get_effect(struct wire *wire, struct batch *batch, struct task *task)
{
    task->outcome = (uint8_t)wire_get(wire, 1);
    bool is_post = task->kind == TASK_POST;
    if (is_post && task->outcome == OUTCOME_POSTED) {
        get_balances(wire, batch, task);
    } else if (task->outcome == (is_post ? OUTCOME_REFUSED : OUTCOME_ROLLUP)) {
        get_entries(wire, batch, task);
    } else {
        wire->is_damaged = true;
    }
    return !wire->is_damaged && wire->left == 0;
}
