/* Owns the serial posting of a plan and the two checks of what came out. */
#include "posted_book.h"

#include <stdio.h>
#include <stdlib.h>

#include "batch/batch_run.h"
#include "batch/effect.h"
#include "input_files.h"
#include "memory.h"
#include "steps.h"
#include "store/entry.h"

/* Larger plans are only made, not posted: they are many month-ends with nothing in them. */
#define TASK_COUNT_MAX 3000
/* Reading again needs a little more room in a line than the input took. */
#define TEXT_SIZE_MAX 3900
/* For each task, cell of a rollup, and byte of what was posted. */
#define STEPS_A_PART 300

struct posted {
    const struct plan *plan;
    struct batch batch;
    wide *balances;     /* by cell: what the postings add up to */
    struct buffer text; /* what tasks have done, as a journal */
};

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void allow_steps(const struct plan *plan)
{
    uint64_t parts = plan->task_count;
    for (size_t i = 0; i < plan->task_count; i++) {
        if (plan->tasks[i].kind != TASK_POST) {
            const struct group *group = &plan->clients.groups[plan->tasks[i].subject];
            for (uint32_t j = 0; j < group->member_count; j++) {
                uint32_t member = plan->clients.members[group->first_member + j];
                parts += 1 + plan->clients.items[member].cell_count;
            }
        }
    }
    steps_allow(parts * STEPS_A_PART);
}

/* What the pool does: a task that has failed keeps its lanes, and later ones go without them. */
static void run_task(struct posted *posted, struct task *task, bool *held)
{
    struct lane_list lanes = { 0 };
    struct lane_list missing = { 0 };
    plan_lanes(posted->plan, task, &lanes);
    for (size_t i = 0; i < lanes.count; i++) {
        if (held[lanes.items[i]]) {
            lane_list_add(&missing, lanes.items[i]);
        }
    }
    bool has_failed = batch_run(&posted->batch, task, &missing) != 0;
    for (size_t i = 0; i < lanes.count; i++) {
        held[lanes.items[i]] |= has_failed;
    }
    free(lanes.items);
    free(missing.items);
}

static void run_tasks(struct posted *posted)
{
    struct batch *batch = &posted->batch;
    bool *held = memory_zeroed((size_t)plan_house_lane(posted->plan) + 1, sizeof *held);
    size_t done = 0;
    for (size_t i = 0; i < batch->plan->task_count; i++) {
        struct task *task = &batch->plan->tasks[i];
        run_task(posted, task, held);
        done += task->outcome != OUTCOME_NONE;
    }
    free(held);
    quarantine_settle(&batch->quarantine);
    must(done + batch->quarantine.task_count == batch->plan->task_count,
         "every task has an outcome, has failed or is held");
}

/* --- what tasks have done, as a journal --- */

static struct stored_commodity style_of(const struct book *book, uint32_t commodity)
{
    const struct commodity *style = &book->commodities[commodity];
    return (struct stored_commodity){ commodity,           book_symbol(book, commodity),
                                      style->scale,        style->storage_scale,
                                      style->symbol_first, style->spaced };
}

static void add_posting(struct posted *posted, uint32_t cell, const struct extra *extra,
                        struct stored_posting posting)
{
    char price_text[AMOUNT_TEXT_SIZE];
    const struct book *book = &posted->plan->book;
    const struct client_cell *place = &posted->plan->clients.cells[cell];
    struct stored_commodity commodity = style_of(book, place->commodity);
    struct stored_commodity price_commodity = commodity;
    posting.has_balance = place->client != NO_INDEX;
    if (extra && extra->flags & (EXTRA_PRICE_UNIT | EXTRA_PRICE_TOTAL)) {
        const struct money *price = &extra->price;
        posting.price.data = price_text;
        posting.price.size = amount_write(price_text, price->units, price->scale, price->scale);
        posting.price_is_total = (extra->flags & EXTRA_PRICE_TOTAL) != 0;
        price_commodity = style_of(book, price->commodity);
    }
    posted->balances[cell] += posting.amount;
    must(!posting.has_balance || posted->balances[cell] == posting.balance,
         "a running balance is not what its postings add up to");
    entry_posting(&posted->text, book_account_name(book, place->account), &commodity, &posting,
                  &price_commodity);
}

static void add_transaction(struct posted *posted, const struct transaction *transaction)
{
    const struct book *book = &posted->plan->book;
    struct stored_transaction header = { .date = transaction->date,
                                         .status = transaction->status,
                                         .has_code = transaction->has_code,
                                         .code = { transaction->code, transaction->code_size },
                                         .text = { transaction->text, transaction->text_size } };
    entry_header(&posted->text, &header);
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        const struct posting *posting = &book->postings[transaction->first_posting + i];
        const struct extra *extra =
            posting->extra == NO_INDEX ? NULL : &book->extras[posting->extra];
        struct stored_posting stored = { .amount = posting->amount,
                                         .balance =
                                             posted->batch.after[transaction->first_posting + i] };
        add_posting(posted, posting->cell, extra, stored);
    }
}

static void add_rollup(struct posted *posted, const struct task *task)
{
    struct stored_transaction header = { .date = plan_date(posted->plan, task),
                                         .text = slice_of("month-end") };
    if (task->kind == TASK_STATEMENT || task->effect->count == 0) {
        return;
    }
    entry_header(&posted->text, &header);
    for (size_t i = 0; i < task->effect->count; i++) {
        const struct effect_entry *entry = &task->effect->entries[i];
        struct stored_posting stored = { .amount = entry->amount, .balance = entry->balance };
        add_posting(posted, entry->cell, NULL, stored);
    }
}

static void add_up(struct posted *posted)
{
    const struct plan *plan = posted->plan;
    uint32_t last_seq = 0;
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *task = &plan->tasks[i];
        must(task->seq > last_seq, "the tasks are in the planned order");
        last_seq = task->seq;
        if (task->outcome == OUTCOME_POSTED) {
            add_transaction(posted, &plan->book.transactions[task->subject]);
        } else if (task->outcome == OUTCOME_ROLLUP) {
            add_rollup(posted, task);
        }
    }
    for (size_t i = 0; i < plan->clients.cell_count; i++) {
        must(plan->clients.cells[i].client == NO_INDEX ||
                 posted->balances[i] == posted->batch.balances[i],
             "a balance is not what its postings add up to");
    }
}

/* --- reading it again --- */

/* The balances of a plan that is not run, by cell. The caller frees. */
static wide *balances_of(const struct plan *plan)
{
    wide *balances = memory_zeroed(plan->clients.cell_count, sizeof *balances);
    for (size_t i = 0; i < plan->book.transaction_count; i++) {
        const struct transaction *transaction = &plan->book.transactions[i];
        for (uint32_t j = 0; j < transaction->posting_count; j++) {
            const struct posting *posting = &plan->book.postings[transaction->first_posting + j];
            balances[posting->cell] += posting->amount;
        }
    }
    return balances;
}

/* Decimals that are equal, whatever their scales. */
static bool same_amount(wide a, unsigned scale_a, wide b, unsigned scale_b)
{
    struct decimal left = { a, scale_a };
    struct decimal right = { -b, scale_b };
    return decimal_add(&left, right) && left.units == 0;
}

static void compare(const struct posted *posted, const struct plan *again)
{
    const struct book *book = &posted->plan->book;
    struct cell_index index = { 0 };
    wide *balances = balances_of(again);
    for (uint32_t i = 0; i < again->clients.cell_count; i++) {
        const struct client_cell *place = &again->clients.cells[i];
        cell_index_add(&index, place->account, place->commodity, i);
    }
    for (uint32_t i = 0; i < posted->plan->clients.cell_count; i++) {
        const struct client_cell *place = &posted->plan->clients.cells[i];
        uint32_t commodity =
            names_find(&again->book.commodity_names, book_symbol(book, place->commodity));
        uint32_t cell = cell_index_find(
            &index, names_find(&again->book.account_names, book_account_name(book, place->account)),
            commodity);
        bool is_there = cell != CELL_NONE;
        unsigned scale = is_there ? again->book.commodities[commodity].storage_scale : 0;
        must(same_amount(posted->balances[i], book->commodities[place->commodity].storage_scale,
                         is_there ? balances[cell] : 0, scale),
             "what was posted leads to another balance when it is read again");
    }
    cell_index_fini(&index);
    free(balances);
}

static void read_again(const struct posted *posted)
{
    const char *const files[] = { INPUT_FILE_NAME };
    struct problem problem = { .text = "" };
    struct plan again;
    plan_init(&again);
    input_files_set(buffer_slice(&posted->text));
    if (!plan_make(&again, files, 1, &problem)) {
        must(false, problem.text);
    }
    steps_allow((uint64_t)posted->plan->clients.cell_count * STEPS_A_PART);
    compare(posted, &again);
    plan_fini(&again);
}

/*
 * Not where something was rounded away: an exact amount among what was posted can have more
 * decimals than the input, which ledger and hledger overlook, because the commodity's format stands
 * in front of it.
 */
static bool can_be_read_again(const struct posted *posted)
{
    const struct book *book = &posted->plan->book;
    for (size_t i = 0; i < book->transaction_count; i++) {
        if (book->transactions[i].text_size + book->transactions[i].code_size > TEXT_SIZE_MAX) {
            return false;
        }
    }
    return posted->text.size > 0 && book->remainder_count == 0;
}

void posted_book_check(struct plan *plan)
{
    struct posted posted = { .plan = plan };
    struct problem problem;
    if (plan->task_count > TASK_COUNT_MAX) {
        return;
    }
    allow_steps(plan);
    posted.balances = memory_zeroed(plan->clients.cell_count, sizeof *posted.balances);
    must(batch_init(&posted.batch, plan, false, &problem), "a batch can be made");
    run_tasks(&posted);
    add_up(&posted);
    if (can_be_read_again(&posted)) {
        read_again(&posted);
    }
    free(posted.balances);
    buffer_fini(&posted.text);
    batch_fini(&posted.batch);
}
