/* Owns the rows of transactions that are refused or deferred. */
#include "commit/unposted.h"

#include "batch/effect.h"
#include "commit/task_header.h"
#include "store/entry.h"

/*
 * Adds a transaction that is not posted as journal text, and puts its postings. Returns false after
 * a problem.
 */
static bool put_unposted(struct committer *committer, const struct task *task,
                         const struct stored_transaction *header)
{
    const struct book *book = &committer->batch->plan->book;
    const struct transaction *transaction = &book->transactions[task->subject];
    char price_text[AMOUNT_TEXT_SIZE];
    bool put = true;
    entry_header(&committer->text, header);
    for (uint32_t i = 0; put && i < transaction->posting_count; i++) {
        struct stored_posting posting =
            committer_posting_row(committer, task->seq, transaction, i, price_text);
        struct stored_unposted unposted = { posting.seq, posting.number, posting.account,
                                            posting.commodity, posting.amount };
        posting.has_balance = false;
        entry_posting(&committer->text, book_account_name(book, posting.account),
                      &committer->commodities[posting.commodity], &posting,
                      &committer->commodities[posting.price_commodity]);
        put = store_put_unposted(committer->store, &unposted, &committer->problem);
    }
    return put;
}

/* Says in a refusal which of its clients have an earlier transaction that is deferred. */
static void add_earlier_deferrals(struct committer *committer, const struct task *task)
{
    const struct plan *plan = committer->batch->plan;
    for (size_t i = 1; i < task->effect->count; i++) {
        buffer_add_text(&committer->text, "; task ");
        buffer_add_number(&committer->text, task->effect->entries[i].number);
        buffer_add_text(&committer->text, " of ");
        buffer_add(&committer->text, plan->clients.items[task->effect->entries[i].cell].name);
        buffer_add_text(&committer->text, " is deferred");
    }
}

static void add_deferral_reason(struct committer *committer, const struct task *task)
{
    const struct plan *plan = committer->batch->plan;
    const struct effect_entry *entry = &task->effect->entries[0];
    struct buffer *text = &committer->text;
    char reason[200];
    if (entry->number == task->seq) {
        quarantine_copy_reason(&committer->batch->quarantine, entry->number, reason, sizeof reason);
        buffer_add_text(text, "failed: ");
        buffer_add_text(text, reason);
        return;
    }
    buffer_add(text, entry->cell < plan->clients.count ? plan->clients.items[entry->cell].name
                                                       : slice_of(PLAN_HOUSE_NAME));
    buffer_add_text(text, " is held since task ");
    buffer_add_number(text, entry->number);
}

bool unposted_write_deferral(struct committer *committer, const struct task *task)
{
    const struct effect_entry *entry = &task->effect->entries[0];
    struct buffer *text = &committer->text;
    struct stored_transaction header = task_header(committer->batch->plan, task, text);
    uint32_t value_date = committer_transaction(committer, task)->value_date;
    text->size = 0;
    add_deferral_reason(committer, task);
    size_t reason_size = text->size;
    header.date = value_date ? value_date : header.date;
    if (!put_unposted(committer, task, &header)) {
        return false;
    }
    struct stored_deferral deferral = { .seq = task->seq,
                                        .date = header.date,
                                        .has_lane = entry->cell != NO_INDEX,
                                        .lane = entry->cell,
                                        .root_seq = entry->number,
                                        .reason = { text->data, reason_size },
                                        .entry = { text->data + reason_size,
                                                   text->size - reason_size } };
    return store_put_deferral(committer->store, &deferral, &committer->problem);
}

static void add_refusal_reason(struct committer *committer, const struct task *task)
{
    const char *skip_reason = committer_transaction(committer, task)->skip_reason;
    struct buffer *text = &committer->text;
    if (skip_reason) {
        buffer_add_text(text, "skipped: ");
        buffer_add_text(text, skip_reason);
        return;
    }
    const struct book *book = &committer->batch->plan->book;
    const struct effect_entry *overdrawn = &task->effect->entries[0];
    const struct client_cell *cell = committer_cell(committer, overdrawn->cell);
    buffer_add_text(text, "overdraft: ");
    buffer_add(text, book_account_name(book, cell->account));
    buffer_add_text(text, " would be ");
    entry_number(text, &committer->commodities[cell->commodity], overdrawn->balance);
    buffer_add_byte(text, ' ');
    buffer_add(text, book_symbol(book, cell->commodity));
    add_earlier_deferrals(committer, task);
}

bool unposted_write_refusal(struct committer *committer, const struct task *task,
                            const struct stored_transaction *header)
{
    struct buffer *text = &committer->text;
    text->size = 0;
    add_refusal_reason(committer, task);
    size_t reason_size = text->size;
    if (!put_unposted(committer, task, header)) {
        return false;
    }
    struct stored_refusal refusal = { task->seq,
                                      { text->data, reason_size },
                                      { text->data + reason_size, text->size - reason_size } };
    return store_put_refusal(committer->store, &refusal, &committer->problem);
}
