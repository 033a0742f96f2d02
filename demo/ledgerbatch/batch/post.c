/* Owns the posting of the input's transactions, and their refusal. */
#include "batch/post.h"

#include <stdlib.h>

#include "memory.h"

struct poster {
    struct batch *batch;
    const struct task *task;
    const struct posting *postings;
    int64_t *after; /* beside `postings` */
    uint32_t count;
};

static const struct client_cell *cell_of(const struct poster *poster, uint32_t index)
{
    return &poster->batch->plan->clients.cells[poster->postings[index].cell];
}

/* Takes back the first `count` postings: the effect of a transaction is all or nothing. */
static void take_back(const struct poster *poster, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (cell_of(poster, i)->client != NO_INDEX) {
            poster->batch->balances[poster->postings[i].cell] -= poster->postings[i].amount;
        }
    }
}

/* Adds all client postings to the balances; false if one does not fit. */
static bool add_up(const struct poster *poster)
{
    for (uint32_t i = 0; i < poster->count; i++) {
        const struct posting *posting = &poster->postings[i];
        int64_t *balance = &poster->batch->balances[posting->cell];
        if (cell_of(poster, i)->client == NO_INDEX) {
            continue;
        }
        int64_t sum;
        if (!amount_add(*balance, posting->amount, &sum)) {
            take_back(poster, i);
            struct slice name =
                book_account_name(&poster->batch->plan->book, cell_of(poster, i)->account);
            batch_fail(poster->batch, poster->task, "the balance of %.*s has too many digits",
                       SLICE_ARGUMENTS(name));
            return false;
        }
        *balance = sum;
        poster->after[i] = sum;
    }
    return true;
}

static bool is_negative_guarded(const struct poster *poster, uint32_t index)
{
    return (cell_of(poster, index)->flags & ACCOUNT_GUARDED) &&
           poster->batch->balances[poster->postings[index].cell] < 0;
}

/* From the last posting to the first: what stays is from before the first of each cell. */
static void find_before(const struct poster *poster)
{
    for (uint32_t i = poster->count; i-- > 0;) {
        const struct posting *posting = &poster->postings[i];
        if (cell_of(poster, i)->client != NO_INDEX) {
            poster->batch->before[posting->cell] = poster->after[i] - posting->amount;
        }
    }
}

/* The first cell that --no-overdraft guards and this transaction overdraws, or NO_INDEX. */
static uint32_t find_overdraft(const struct poster *poster)
{
    uint32_t first = 0;
    while (first < poster->count && !is_negative_guarded(poster, first)) {
        first++;
    }
    if (first == poster->count) {
        return NO_INDEX;
    }
    find_before(poster);
    for (uint32_t i = first; i < poster->count; i++) {
        uint32_t cell = poster->postings[i].cell;
        if (is_negative_guarded(poster, i) &&
            poster->batch->balances[cell] < poster->batch->before[cell]) {
            return cell;
        }
    }
    return NO_INDEX;
}

/* As if the code of the posting had broken: before it has changed anything. */
static bool is_broken(const struct poster *poster)
{
    for (uint32_t i = 0; i < poster->count; i++) {
        if (poster->batch->broken_cells[poster->postings[i].cell]) {
            struct slice name =
                book_account_name(&poster->batch->plan->book, cell_of(poster, i)->account);
            batch_fail(poster->batch, poster->task, "%.*s is one of --fail-on",
                       SLICE_ARGUMENTS(name));
            return true;
        }
    }
    return false;
}

int post_transaction(struct batch *batch, const struct task *task)
{
    const struct book *book = &batch->plan->book;
    const struct transaction *transaction = &book->transactions[task->subject];
    struct poster poster = { batch, task, &book->postings[transaction->first_posting],
                             &batch->after[transaction->first_posting],
                             transaction->posting_count };
    struct effect effect = { .task = task, .outcome = EFFECT_POSTED };
    if ((batch->broken_cells && is_broken(&poster)) || !add_up(&poster)) {
        return BATCH_FAILED;
    }
    uint32_t overdrawn = find_overdraft(&poster);
    if (overdrawn != NO_INDEX) {
        effect.outcome = EFFECT_REFUSED;
        effect.entries = memory_zeroed(1, sizeof *effect.entries + sizeof(struct effect_entry));
        effect.entries->count = 1;
        effect.entries->items[0] =
            (struct effect_entry){ .cell = overdrawn, .balance = batch->balances[overdrawn] };
        take_back(&poster, poster.count);
    }
    commit_queue_append(&batch->queue, effect);
    return 0;
}
