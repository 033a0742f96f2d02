/*
 * Owns the writing of effects to the store.
 *
 * A commit writes its effects in the order of seq: so adjacent rows are in one page of the
 * database. The order does not matter otherwise: the commit is atomic, and the effects of one lane
 * are in the order of seq already.
 */
#include "commit/committer.h"

#include <stdlib.h>

#include "batch/cut.h"
#include "batch/effect.h"
#include "commit/name_rows.h"
#include "commit/task_header.h"
#include "commit/unposted.h"
#include "memory.h"
#include "store/stored_book.h"

enum cell_flag {
    CELL_STORED = 1, /* the store has its balance */
    CELL_DIRTY = 2   /* its balance is to be written in this commit */
};

#define LANE_DIRTY 1 /* its progress is to be written in this commit */

void committer_init(struct committer *committer, struct batch *batch, struct store *store)
{
    const struct plan *plan = batch->plan;
    size_t cells = plan->clients.cell_count;
    size_t lanes = plan->clients.count + 1;
    *committer = (struct committer){ .batch = batch, .store = store };
    committer->balances = memory_zeroed(cells, sizeof *committer->balances);
    committer->cell_flags = memory_zeroed(cells, sizeof *committer->cell_flags);
    committer->dirty_cells = memory_zeroed(cells, sizeof *committer->dirty_cells);
    committer->last_seqs = memory_zeroed(lanes, sizeof *committer->last_seqs);
    committer->lane_flags = memory_zeroed(lanes, sizeof *committer->lane_flags);
    committer->dirty_lanes = memory_zeroed(lanes, sizeof *committer->dirty_lanes);
    committer->commodities =
        memory_zeroed(plan->book.commodity_names.count, sizeof *committer->commodities);
    for (uint32_t i = 0; i < plan->book.commodity_names.count; i++) {
        committer->commodities[i] = name_rows_commodity(plan, i);
    }
}

void committer_fini(struct committer *committer)
{
    free(committer->balances);
    free(committer->cell_flags);
    free(committer->dirty_cells);
    free(committer->last_seqs);
    free(committer->lane_flags);
    free(committer->dirty_lanes);
    free(committer->commodities);
    free(committer->lanes.items);
    free(committer->taken);
    free(committer->touched);
    buffer_fini(&committer->text);
}

/* --- loading an unfinished store --- */

static bool report_wrong_rows(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO,
                       "the database is damaged: its rows do not belong to this input");
}

static bool load_balance(struct committer *committer, const struct cell_index *index,
                         const struct stored_balance *balance, struct problem *problem)
{
    uint32_t cell = cell_index_find(index, balance->account, balance->commodity);
    if (cell == CELL_NONE) {
        return report_wrong_rows(problem);
    }
    if (!amount_fits(balance->amount)) {
        return stored_book_damaged(problem, "a balance has more digits than an amount has");
    }
    committer->balances[cell] = balance->amount;
    committer->cell_flags[cell] = CELL_STORED;
    if (committer_cell(committer, cell)->client != NO_INDEX) {
        committer->batch->balances[cell] = balance->amount;
    }
    return true;
}

static bool load_balances(struct committer *committer, struct problem *problem)
{
    const struct plan *plan = committer->batch->plan;
    struct cell_index index = { 0 };
    for (uint32_t i = 0; i < plan->clients.cell_count; i++) {
        const struct client_cell *cell = &plan->clients.cells[i];
        cell_index_add(&index, cell->account, cell->commodity, i);
    }
    struct store_cursor *cursor = store_cursor_open(committer->store, STORE_BALANCES, problem);
    struct stored_balance balance;
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &balance, problem);
        if (step == STORE_ROW && !load_balance(committer, &index, &balance, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    cell_index_fini(&index);
    return step == STORE_END;
}

bool committer_load(struct committer *committer, struct problem *problem)
{
    struct store_cursor *cursor = store_cursor_open(committer->store, STORE_LANES, problem);
    struct stored_lane lane;
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &lane, problem);
        if (step == STORE_ROW && lane.number > plan_house_lane(committer->batch->plan)) {
            report_wrong_rows(problem);
            step = STORE_FAILED;
        } else if (step == STORE_ROW) {
            committer->last_seqs[lane.number] = lane.last_seq;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END && load_balances(committer, problem);
}

/* --- writing effects --- */

static void set_cell_dirty(struct committer *committer, uint32_t cell)
{
    if (!(committer->cell_flags[cell] & CELL_DIRTY)) {
        committer->cell_flags[cell] |= CELL_DIRTY;
        committer->dirty_cells[committer->dirty_cell_count++] = cell;
    }
}

/* Two statements of a client without a task between them may come in any order. */
static void advance_lanes(struct committer *committer, const struct task *task)
{
    if (plan_is_group_part(committer->batch->plan, task)) {
        return; /* it has no lane */
    }
    size_t missing_count = task->effect ? task->effect->missing.count : 0;
    size_t passed = 0; /* the number of missing lanes passed: both lists have the same order */
    plan_lanes(committer->batch->plan, task, &committer->lanes);
    for (size_t i = 0; i < committer->lanes.count; i++) {
        uint32_t lane = committer->lanes.items[i];
        if (passed < missing_count && task->effect->missing.items[passed] == lane) {
            passed++;
            continue;
        }
        if (!(committer->lane_flags[lane] & LANE_DIRTY)) {
            committer->lane_flags[lane] |= LANE_DIRTY;
            committer->dirty_lanes[committer->dirty_lane_count++] = lane;
        }
        if (committer->last_seqs[lane] < task->seq) {
            committer->last_seqs[lane] = task->seq;
        }
    }
}

static void add_price(const struct committer *committer, const struct posting *posting, char *text,
                      struct stored_posting *stored)
{
    if (posting->extra == NO_INDEX) {
        return;
    }
    const struct extra *extra = &committer->batch->plan->book.extras[posting->extra];
    if (extra->flags & (EXTRA_PRICE_UNIT | EXTRA_PRICE_TOTAL)) {
        size_t size =
            amount_write(text, extra->price.units, extra->price.scale, extra->price.scale);
        stored->price = (struct slice){ text, size };
        stored->price_commodity = extra->price.commodity;
        stored->price_is_total = (extra->flags & EXTRA_PRICE_TOTAL) != 0;
    }
}

struct stored_posting committer_posting_row(const struct committer *committer, uint32_t seq,
                                            const struct transaction *transaction, uint32_t i,
                                            char *price_text)
{
    const struct batch *batch = committer->batch;
    const struct posting *posting = &batch->plan->book.postings[transaction->first_posting + i];
    const struct client_cell *cell = committer_cell(committer, posting->cell);
    struct stored_posting stored = { .seq = seq,
                                     .number = i + 1,
                                     .account = cell->account,
                                     .commodity = cell->commodity,
                                     .amount = posting->amount,
                                     .has_balance = cell->client != NO_INDEX,
                                     .balance = batch->after[transaction->first_posting + i] };
    add_price(committer, posting, price_text, &stored);
    return stored;
}

static bool write_postings(struct committer *committer, uint32_t seq,
                           const struct transaction *transaction)
{
    char price_text[AMOUNT_TEXT_SIZE];
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        struct stored_posting stored =
            committer_posting_row(committer, seq, transaction, i, price_text);
        uint32_t cell = committer->batch->plan->book.postings[transaction->first_posting + i].cell;
        if (stored.has_balance) {
            committer->balances[cell] = stored.balance;
        } else {
            committer->balances[cell] += stored.amount;
        }
        set_cell_dirty(committer, cell);
        if (!store_put_posting(committer->store, &stored, &committer->problem)) {
            return false;
        }
    }
    return true;
}

/* Notes that a transaction is tried again, if it was deferred in this batch or an earlier one. */
static bool set_deferral_done(struct committer *committer, const struct task *task)
{
    const struct plan *plan = committer->batch->plan;
    uint32_t seq = plan_is_late(plan, task) ? plan_early_seq(plan, task)
                                            : committer_transaction(committer, task)->deferred_seq;
    return seq == 0 ||
           store_set_deferral_done(committer->store, seq, task->seq, &committer->problem);
}

/* Notes what a transaction is about that an operator has asked for. */
static bool note_origin(struct committer *committer, const struct task *task)
{
    uint32_t reversed_seq = committer_transaction(committer, task)->reversed_seq;
    bool reverses = reversed_seq != 0 && task->outcome != OUTCOME_REFUSED;
    return set_deferral_done(committer, task) &&
           (!reverses ||
            store_put_reversal(committer->store, reversed_seq, task->seq, &committer->problem));
}

static bool write_posted_or_refused(struct committer *committer, const struct task *task)
{
    const struct transaction *transaction = committer_transaction(committer, task);
    bool refused = task->outcome == OUTCOME_REFUSED;
    struct stored_transaction header = task_header(committer->batch->plan, task, &committer->text);
    if (refused) {
        header.kind = slice_of("refused");
    }
    if (!note_origin(committer, task) ||
        !store_put_transaction(committer->store, &header, &committer->problem)) {
        return false;
    }
    return refused ? unposted_write_refusal(committer, task, &header)
                   : write_postings(committer, task->seq, transaction);
}

static bool write_entry(struct committer *committer, const struct task *task, size_t i,
                        bool is_statement)
{
    const struct effect_entry *entry = &task->effect->entries[i];
    const struct client_cell *cell = committer_cell(committer, entry->cell);
    if (is_statement) {
        struct stored_closing closing = { task->seq, cell->account, cell->commodity,
                                          entry->balance };
        return store_put_closing(committer->store, &closing, &committer->problem);
    }
    struct stored_posting posting = { .seq = task->seq,
                                      .number = entry->number,
                                      .account = cell->account,
                                      .commodity = cell->commodity,
                                      .amount = entry->amount,
                                      .has_balance = cell->client != NO_INDEX,
                                      .balance = entry->balance };
    if (posting.has_balance) {
        committer->balances[entry->cell] = entry->balance;
    } else {
        committer->balances[entry->cell] += entry->amount;
    }
    set_cell_dirty(committer, entry->cell);
    return store_put_posting(committer->store, &posting, &committer->problem);
}

/* Puts the clients that a rollup was done without, so that a later run makes up for them. */
static bool put_missing(struct committer *committer, const struct task *task)
{
    bool put = true;
    for (size_t i = 0; put && i < task->effect->missing.count; i++) {
        struct stored_share missing = { task->seq, task->effect->missing.items[i] };
        put = store_put_missing(committer->store, &missing, &committer->problem);
    }
    return put;
}

static bool remove_missing(struct committer *committer, const struct task *part)
{
    struct stored_share missing = { part->seq, part->member };
    return store_remove_missing(committer->store, &missing, &committer->problem);
}

/* Writes a rollup that failed because clients are held. The reason names these clients. */
static bool write_failed(struct committer *committer, const struct task *task)
{
    const struct plan *plan = committer->batch->plan;
    struct buffer *text = &committer->text;
    struct stored_transaction header = task_header(plan, task, text);
    size_t code_size = header.code.size;
    const char *before = "held: ";
    for (size_t i = 0; i < task->effect->missing.count; i++) {
        buffer_add_text(text, before);
        buffer_add(text, plan->clients.items[task->effect->missing.items[i]].name);
        before = ", ";
    }
    struct stored_failed failed = { task->seq,
                                    { text->data, code_size },
                                    { text->data + code_size, text->size - code_size } };
    return store_put_failed(committer->store, &failed, &committer->problem);
}

static bool put_rollup(struct committer *committer, const struct task *task)
{
    struct stored_transaction header = task_header(committer->batch->plan, task, &committer->text);
    return store_put_transaction(committer->store, &header, &committer->problem);
}

static void touch_cut(struct committer *committer, struct cut *cut)
{
    if (cut->is_touched) {
        return;
    }
    cut->is_touched = true;
    committer->touched = memory_grow(committer->touched, &committer->touched_capacity,
                                     committer->touched_count + 1, sizeof(struct cut *));
    committer->touched[committer->touched_count++] = cut;
}

/* Puts the rollup with the first visit. From the second commit on, its client was missing. */
static bool begin_visit(struct committer *committer, struct task *part)
{
    struct cut *cut = part->effect->cut;
    bool begun = (cut->has_row || put_rollup(committer, cut->task)) &&
                 (!cut->is_listed || remove_missing(committer, part));
    cut->has_row = true;
    cut->unwritten_count--;
    ((struct visit *)part)->is_written = true;
    touch_cut(committer, cut);
    return begun;
}

static bool put_contribution(struct committer *committer, const struct task *part,
                             const struct buffer *bytes)
{
    struct stored_contribution contribution = { part->seq, part->member, buffer_slice(bytes) };
    return store_put_contribution(committer->store, &contribution, &committer->problem);
}

/*
 * Stores the contributions to a step whose `group` is not written yet: after a crash the clients
 * are not visited again.
 */
static bool put_cut_contributions(struct committer *committer, struct cut *cut)
{
    bool put = true;
    for (size_t i = 0; put && i < cut->visit_count; i++) {
        struct visit *visit = &cut->visits[i];
        if (visit->is_written && !visit->is_stored) {
            put = put_contribution(committer, &visit->part, &visit->contribution);
            visit->is_stored = true;
        }
    }
    return put;
}

/* Lists the parts of cuts that are not written yet. Most cuts are written in one commit. */
static bool list_unwritten(struct committer *committer)
{
    bool listed = true;
    for (size_t i = 0; i < committer->touched_count; i++) {
        struct cut *cut = committer->touched[i];
        bool is_first = !cut->is_listed && cut->unwritten_count > 0;
        cut->is_touched = false;
        for (size_t j = 0; is_first && listed && j < cut->count; j++) {
            struct stored_share missing = { cut->task->seq, cut->visits[j].part.member };
            listed = cut->visits[j].is_written ||
                     store_put_missing(committer->store, &missing, &committer->problem);
        }
        cut->is_listed |= is_first;
        if (listed && cut->unwritten_count > 0 && cut->count > cut->visit_count) {
            listed = put_cut_contributions(committer, cut);
        }
    }
    committer->touched_count = 0;
    return listed;
}

static bool begin_rollup(struct committer *committer, struct task *task)
{
    if (task->effect->cut) {
        return begin_visit(committer, task);
    }
    if (task->member != NO_INDEX) {
        return remove_missing(committer, task);
    }
    return put_rollup(committer, task) && put_missing(committer, task);
}

/* Writes what a step of the user's leaves besides postings. */
static bool write_step(struct committer *committer, const struct task *task)
{
    const struct effect *effect = task->effect;
    const struct user_step *user = plan_user_step(committer->batch->plan, task);
    bool is_group = plan_is_group_part(committer->batch->plan, task);
    bool is_stored = effect->cut ? effect->cut->is_listed : task->member != NO_INDEX;
    struct stored_report report = { task->seq, buffer_slice(&effect->report) };
    bool written = true;
    if (is_stored && is_group) {
        written = store_remove_contributions(committer->store, task->seq, &committer->problem);
    } else if (is_stored && !effect->cut && user_step_has_group(user)) {
        written = put_contribution(committer, task, &effect->contribution);
    }
    return written && (report.text.size == 0 ||
                       store_put_report(committer->store, &report, &committer->problem));
}

static bool write_rollup(struct committer *committer, struct task *task)
{
    bool written =
        begin_rollup(committer, task) && (task->kind != TASK_STEP || write_step(committer, task));
    for (size_t i = 0; written && i < task->effect->count; i++) {
        written = write_entry(committer, task, i, task->kind == TASK_STATEMENT);
    }
    return written;
}

static bool write_effect(struct committer *committer, struct task *task)
{
    switch ((enum outcome)task->outcome) {
    case OUTCOME_POSTED:
    case OUTCOME_REFUSED:
        return write_posted_or_refused(committer, task);
    case OUTCOME_ROLLUP:
        return write_rollup(committer, task);
    case OUTCOME_DEFERRED:
        return note_origin(committer, task) && unposted_write_deferral(committer, task);
    case OUTCOME_FAILED:
        return write_failed(committer, task);
    case OUTCOME_NONE:
        break;
    }
    return false;
}

static bool write_effects(struct committer *committer)
{
    for (size_t i = 0; i < committer->taken_count; i++) {
        struct task *task = committer->taken[i];
        if (!write_effect(committer, task)) {
            return false;
        }
        advance_lanes(committer, task);
    }
    return list_unwritten(committer);
}

static bool write_balance(struct committer *committer, uint32_t cell)
{
    const struct client_cell *place = committer_cell(committer, cell);
    bool stored = committer->cell_flags[cell] & CELL_STORED;
    if (!amount_fits(committer->balances[cell])) {
        struct slice name = book_account_name(&committer->batch->plan->book, place->account);
        return problem_set(&committer->problem, EXIT_CODE_IO,
                           "the balance of '%.*s' has too many digits", SLICE_ARGUMENTS(name));
    }
    struct stored_balance balance = { place->account, place->commodity,
                                      (int64_t)committer->balances[cell] };
    committer->cell_flags[cell] = CELL_STORED;
    return stored ? store_set_balance(committer->store, &balance, &committer->problem)
                  : store_put_balance(committer->store, &balance, &committer->problem);
}

/* Writes balances and progress, in the same commit as the postings that changed them. */
static bool write_dirty(struct committer *committer)
{
    for (size_t i = 0; i < committer->dirty_cell_count; i++) {
        if (!write_balance(committer, committer->dirty_cells[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < committer->dirty_lane_count; i++) {
        uint32_t lane = committer->dirty_lanes[i];
        committer->lane_flags[lane] = 0;
        if (!store_set_progress(committer->store, lane, committer->last_seqs[lane],
                                &committer->problem)) {
            return false;
        }
    }
    committer->dirty_cell_count = 0;
    committer->dirty_lane_count = 0;
    return true;
}

static int compare_tasks(const void *left, const void *right)
{
    uint32_t a = (*(const struct task *const *)left)->seq;
    uint32_t b = (*(const struct task *const *)right)->seq;
    return (a > b) - (a < b);
}

void committer_take(struct committer *committer, struct task *task)
{
    committer->taken = memory_grow(committer->taken, &committer->taken_capacity,
                                   committer->taken_count + 1, sizeof(struct task *));
    committer->taken[committer->taken_count++] = task;
}

/* Lets the next commit tell other programs how many tasks failed or are held. */
static void note_held(struct committer *committer)
{
    size_t failed;
    size_t held;
    quarantine_count(&committer->batch->quarantine, &failed, &held);
    store_note_held(committer->store, failed, held);
}

bool committer_commit(struct committer *committer)
{
    if (committer->taken_count == 0) {
        return true;
    }
    note_held(committer);
    qsort(committer->taken, committer->taken_count, sizeof *committer->taken, compare_tasks);
    bool committed = store_begin(committer->store, &committer->problem) &&
                     write_effects(committer) && write_dirty(committer) &&
                     store_commit(committer->store, &committer->problem);
    if (!committed) {
        store_rollback(committer->store);
    }
    for (size_t i = 0; i < committer->taken_count; i++) {
        effect_drop(committer->taken[i], 1);
    }
    committer->failed = !committed;
    committer->taken_count = 0;
    return committed;
}
