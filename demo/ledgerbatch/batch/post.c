/* Owns the posting and the refusal of transactions of the input. */
#include "batch/post.h"

#include "batch/effect.h"

struct poster {
    struct batch *batch;
    struct task *task;
    const struct posting *postings;
    int64_t *after; /* by posting: the balance after it */
    uint32_t count;
    uint32_t date; /* the day that it is booked on */
};

static const struct client_cell *posting_cell(const struct poster *poster, uint32_t index)
{
    return &poster->batch->plan->clients.cells[poster->postings[index].cell];
}

/* Takes back the first `count` postings, so that a transaction is posted wholly or not at all. */
static void take_back(const struct poster *poster, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (posting_cell(poster, i)->client != NO_INDEX) {
            poster->batch->balances[poster->postings[i].cell] -= poster->postings[i].amount;
            month_tally_count_posting(&poster->batch->tally, poster->postings[i].cell, poster->date,
                                      -1);
        }
    }
}

/* Adds all postings of clients to the balances. Returns false if a balance does not fit. */
static bool apply_postings(const struct poster *poster)
{
    for (uint32_t i = 0; i < poster->count; i++) {
        const struct posting *posting = &poster->postings[i];
        int64_t *balance = &poster->batch->balances[posting->cell];
        if (posting_cell(poster, i)->client == NO_INDEX) {
            continue;
        }
        int64_t sum;
        if (!amount_add(*balance, posting->amount, &sum)) {
            take_back(poster, i);
            struct slice name =
                book_account_name(&poster->batch->plan->book, posting_cell(poster, i)->account);
            batch_fail(poster->batch, poster->task, posting_cell(poster, i)->client,
                       "the balance of %.*s has too many digits", SLICE_ARGUMENTS(name));
            return false;
        }
        month_tally_end_balance(&poster->batch->tally, posting->cell, *balance, poster->date);
        month_tally_count_posting(&poster->batch->tally, posting->cell, poster->date, 1);
        *balance = sum;
        poster->after[i] = sum;
    }
    return true;
}

static bool is_negative_guarded(const struct poster *poster, uint32_t index)
{
    return (posting_cell(poster, index)->flags & ACCOUNT_GUARDED) &&
           poster->batch->balances[poster->postings[index].cell] < 0;
}

/* Finds the balance of each cell before the transaction. The first posting of a cell decides. */
static void find_balances_before(const struct poster *poster)
{
    for (uint32_t i = poster->count; i-- > 0;) {
        const struct posting *posting = &poster->postings[i];
        if (posting_cell(poster, i)->client != NO_INDEX) {
            poster->batch->before[posting->cell] = poster->after[i] - posting->amount;
        }
    }
}

/* Returns the first cell that --no-overdraft guards and the transaction overdraws, or NO_INDEX. */
static uint32_t find_overdraft(const struct poster *poster)
{
    uint32_t first = 0;
    while (first < poster->count && !is_negative_guarded(poster, first)) {
        first++;
    }
    if (first == poster->count) {
        return NO_INDEX;
    }
    find_balances_before(poster);
    for (uint32_t i = first; i < poster->count; i++) {
        uint32_t cell = poster->postings[i].cell;
        if (is_negative_guarded(poster, i) &&
            poster->batch->balances[cell] < poster->batch->before[cell]) {
            return cell;
        }
    }
    return NO_INDEX;
}

/* Fails the task, before it changes anything, if it touches an account of --fail-on. */
static bool fail_if_broken(const struct poster *poster)
{
    for (uint32_t i = 0; i < poster->count; i++) {
        if (poster->batch->broken_cells[poster->postings[i].cell]) {
            struct slice name =
                book_account_name(&poster->batch->plan->book, posting_cell(poster, i)->account);
            batch_fail(poster->batch, poster->task, posting_cell(poster, i)->client,
                       "%.*s is one of --fail-on", SLICE_ARGUMENTS(name));
            return true;
        }
    }
    return false;
}

/* Refuses a transaction that has been applied. */
static void refuse(const struct poster *poster, uint32_t overdrawn)
{
    struct batch *batch = poster->batch;
    struct task *task = poster->task;
    task->outcome = OUTCOME_REFUSED;
    task->effect = effect_create();
    effect_add(task->effect,
               (struct effect_entry){ .cell = overdrawn, .balance = batch->balances[overdrawn] });
    deferral_add_earlier(batch, task);
    take_back(poster, poster->count);
}

int post_transaction(struct batch *batch, struct task *task)
{
    const struct book *book = &batch->plan->book;
    const struct transaction *transaction = &book->transactions[task->subject];
    struct poster poster = { batch,
                             task,
                             &book->postings[transaction->first_posting],
                             &batch->after[transaction->first_posting],
                             transaction->posting_count,
                             plan_date(batch->plan, task) };
    if ((batch->broken_cells && fail_if_broken(&poster)) || !apply_postings(&poster)) {
        return BATCH_FAILED;
    }
    uint32_t overdrawn = find_overdraft(&poster);
    if (overdrawn != NO_INDEX) {
        refuse(&poster, overdrawn);
    } else {
        task->outcome = OUTCOME_POSTED;
    }
    return 0;
}

bool post_is_skipped(struct batch *batch, struct task *task)
{
    if (!batch->plan->book.transactions[task->subject].skip_reason) {
        return false;
    }
    task->outcome = OUTCOME_REFUSED;
    task->effect = effect_create();
    return true;
}
