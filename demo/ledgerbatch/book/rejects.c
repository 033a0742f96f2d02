/* Owns the list of rejected transactions; see book/rejects.h. */
#include "book/rejects.h"

#include <stdio.h>
#include <stdlib.h>

#include "book/book.h"
#include "memory.h"

/* Begins a hint at a place, in the reason of a fault. */
#define HINT_BEGIN "; see "

/* Smaller sums have at most 36 digits, which the database keeps. */
#define REJECT_SUM_MAX power_of_ten(36)

void rejects_fini(struct rejects *rejects)
{
    for (size_t i = 0; i < rejects->count; i++) {
        free(rejects->items[i].reason);
    }
    for (size_t i = 0; i < rejects->sum_count; i++) {
        free(rejects->sums[i].symbol);
    }
    free(rejects->items);
    free(rejects->sums);
    *rejects = (struct rejects){ 0 };
}

void rejects_restart(struct rejects *rejects)
{
    rejects->has_new = false;
    for (size_t i = 0; i < rejects->count; i++) {
        rejects->items[i].is_new = false;
        rejects->items[i].transaction = NO_INDEX;
    }
}

/* Returns the index of the first one that is not before a place. */
static size_t find_place(const struct rejects *rejects, uint32_t source, uint32_t line)
{
    size_t begin = 0;
    size_t end = rejects->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        const struct reject *item = &rejects->items[middle];
        bool is_before = item->source < source || (item->source == source && item->line < line);
        begin = is_before ? middle + 1 : begin;
        end = is_before ? end : middle;
    }
    return begin;
}

struct reject *rejects_find(const struct rejects *rejects, uint32_t source, uint32_t line)
{
    size_t at = find_place(rejects, source, line);
    bool is_found = at < rejects->count && rejects->items[at].source == source &&
                    rejects->items[at].line == line;
    return is_found ? &rejects->items[at] : NULL;
}

/* Makes the first of them faults of the input, since there are too many. */
static bool exceed(struct book *book)
{
    struct problem problem;
    book->rejects.is_exceeded = true;
    for (size_t i = 0; i < book->rejects.count; i++) {
        problem_set_place(&problem, "%s", book->rejects.items[i].reason);
        if (!faults_take(&book->faults, &problem)) {
            break;
        }
    }
    return false;
}

static void insert(struct rejects *rejects, size_t at, struct reject item)
{
    rejects->items =
        memory_grow(rejects->items, &rejects->capacity, rejects->count + 1, sizeof item);
    memmove(&rejects->items[at + 1], &rejects->items[at], (rejects->count - at) * sizeof item);
    rejects->items[at] = item;
    rejects->count++;
    rejects->has_new = true;
}

/* Only the first fault of a transaction counts. */
bool book_take_fault(struct book *book, uint32_t source, uint32_t line,
                     const struct problem *problem)
{
    struct rejects *rejects = &book->rejects;
    const struct reject *known = rejects_find(rejects, source, line);
    if (!rejects->is_on || line == 0 || !problem->has_place || (known && !known->is_new)) {
        return faults_take(&book->faults, problem);
    }
    if (known) {
        return true;
    }
    const char *hint = strstr(problem->text, HINT_BEGIN);
    insert(rejects, find_place(rejects, source, line),
           (struct reject){ .source = source,
                            .line = line,
                            .reason = memory_copy_text(problem->text),
                            .reason_size =
                                hint ? (size_t)(hint - problem->text) : strlen(problem->text),
                            .is_new = true,
                            .transaction = NO_INDEX });
    return rejects->count <= rejects->limit || exceed(book);
}

bool book_can_reject(const struct book *book, uint32_t transaction)
{
    const struct transaction *rejected = &book->transactions[transaction];
    return book->rejects.is_on && rejected->deferred_seq == 0 && rejected->reversed_seq == 0;
}

bool book_take_transaction(struct book *book, uint32_t transaction, const struct problem *problem)
{
    const struct transaction *faulty = &book->transactions[transaction];
    if (!book_can_reject(book, transaction)) {
        return faults_take(&book->faults, problem);
    }
    bool is_known = rejects_find(&book->rejects, faulty->source, faulty->line) != NULL;
    bool goes_on = book_take_fault(book, faulty->source, faulty->line, problem);
    struct reject *item = rejects_find(&book->rejects, faulty->source, faulty->line);
    if (item && !is_known) {
        item->transaction = transaction;
        book_add_reject_sums(book, transaction);
    }
    return goes_on;
}

/* --- sums --- */

static struct reject_sum *find_sum(struct rejects *rejects, struct slice symbol)
{
    for (size_t i = 0; i < rejects->sum_count; i++) {
        if (slice_equal(slice_of(rejects->sums[i].symbol), symbol)) {
            return &rejects->sums[i];
        }
    }
    rejects->sums = memory_grow(rejects->sums, &rejects->sum_capacity, rejects->sum_count + 1,
                                sizeof *rejects->sums);
    struct reject_sum *sum = &rejects->sums[rejects->sum_count++];
    *sum = (struct reject_sum){ .symbol = memory_zeroed(symbol.size + 1, 1) };
    memcpy(sum->symbol, symbol.data, symbol.size);
    return sum;
}

static bool knows_amounts(const struct book *book, const struct transaction *transaction)
{
    bool knows = !transaction->has_assigned;
    for (uint32_t i = 0; knows && i < transaction->posting_count; i++) {
        knows = !(book->postings[transaction->first_posting + i].flags & POSTING_ELIDED);
    }
    return knows;
}

/* Adds a posting. Returns false if the sum has too many digits. */
static bool add_amount(struct book *book, const struct posting *posting)
{
    struct rejects *rejects = &book->rejects;
    struct slice symbol = book_symbol(book, book->cells[posting->cell].commodity);
    struct reject_sum *sum = find_sum(rejects, symbol);
    struct decimal *total = posting->amount < 0 ? &sum->credits : &sum->debits;
    struct decimal amount = { posting->amount, posting->scale };
    decimal_trim(&amount);
    sum->transactions += sum->last_transaction != rejects->summed_count;
    sum->last_transaction = (uint32_t)rejects->summed_count;
    struct decimal *other = posting->amount < 0 ? &sum->debits : &sum->credits;
    return decimal_add(total, amount) && decimal_add(other, (struct decimal){ 0, total->scale }) &&
           sum->credits.units > -REJECT_SUM_MAX && sum->debits.units < REJECT_SUM_MAX;
}

/* Takes back to what it was before a transaction. */
static void restore_sums(struct rejects *rejects, const struct reject_sum *saved, size_t count)
{
    while (rejects->sum_count > count) {
        free(rejects->sums[--rejects->sum_count].symbol);
    }
    if (count > 0) {
        memcpy(rejects->sums, saved, count * sizeof *saved);
    }
    rejects->summed_count--;
}

void book_add_reject_sums(struct book *book, uint32_t transaction)
{
    struct rejects *rejects = &book->rejects;
    const struct transaction *added = &book->transactions[transaction];
    if (!knows_amounts(book, added)) {
        return;
    }
    size_t count = rejects->sum_count;
    struct reject_sum *saved = memory_zeroed(count, sizeof *saved);
    if (count > 0) {
        memcpy(saved, rejects->sums, count * sizeof *saved);
    }
    bool fits = true;
    rejects->summed_count++;
    for (uint32_t i = 0; fits && i < added->posting_count; i++) {
        fits = add_amount(book, &book->postings[added->first_posting + i]);
    }
    if (!fits) {
        restore_sums(rejects, saved, count);
    }
    free(saved);
}

/* --- hints --- */

/* Returns true if the account's name is in a text, between what can be around a name. */
static bool names_account(struct slice text, struct slice account)
{
    const char *at = text.data;
    const char *end = text.data + text.size;
    while ((at = memmem(at, (size_t)(end - at), account.data, account.size))) {
        const char *after = at + account.size;
        bool begins = at == text.data || memchr(" \t,\"\n*!([", at[-1], 9);
        bool ends = after == end || memchr("\t\r\n,\")]", *after, 7) ||
                    (*after == ' ' && (after + 1 == end || memchr(" \t\r\n", after[1], 4)));
        if (begins && ends) {
            return true;
        }
        at++;
    }
    return false;
}

static bool has_posting(const struct book *book, uint32_t transaction, struct slice account)
{
    const struct transaction *searched = &book->transactions[transaction];
    for (uint32_t i = 0; i < searched->posting_count; i++) {
        const struct posting *posting = &book->postings[searched->first_posting + i];
        uint32_t number =
            posting->flags & POSTING_ELIDED ? posting->cell : book->cells[posting->cell].account;
        if (slice_equal(book_account_name(book, number), account)) {
            return true;
        }
    }
    return false;
}

void book_hint_reject(const struct book *book, struct slice account, struct problem *problem)
{
    for (size_t i = 0; i < book->rejects.count; i++) {
        const struct reject *item = &book->rejects.items[i];
        if (item->transaction != NO_INDEX ? has_posting(book, item->transaction, account)
                                          : names_account(item->text, account)) {
            size_t size = strlen(problem->text);
            snprintf(problem->text + size, sizeof problem->text - size,
                     HINT_BEGIN "%s:%u, which is rejected and has this account",
                     book->sources.items[item->source]->name, item->line);
            return;
        }
    }
}
