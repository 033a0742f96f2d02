/* Owns the table of the codes that are in use; see plan/codes.h. */
#include "plan/codes.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"

/* The user of a code: a task of an earlier batch, or a transaction of the input. */
struct code_user {
    uint32_t seq; /* 0: it is of the input */
    uint32_t date;
    uint32_t source, line;
    bool is_deferred;
};

struct code_table {
    struct names codes;
    struct code_user *users; /* by the number of the code */
    size_t capacity;
};

/* Adds a code, unless it is there. Returns who uses it. */
static const struct code_user *add_code(struct code_table *table, struct slice code,
                                        struct code_user user)
{
    size_t known = table->codes.count;
    uint32_t number = names_intern(&table->codes, code);
    if (number == known) {
        table->users = memory_grow(table->users, &table->capacity, known + 1, sizeof *table->users);
        table->users[number] = user;
    }
    return &table->users[number];
}

/* Reads the codes of all earlier batches: of a store without an index. */
static bool add_posted(struct code_table *table, const struct opening *opening,
                       struct problem *problem)
{
    struct stored_transaction transaction;
    struct store_cursor *cursor = store_cursor_open(opening->store, STORE_EARLIER_CODES, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &transaction, problem);
        if (step == STORE_ROW) {
            (void)add_code(table, transaction.code,
                           (struct code_user){ .seq = transaction.seq, .date = transaction.date });
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* Finds the code in the header of a transaction: DATE [*|!] [(CODE)] TEXT. */
static struct slice code_of(struct slice entry)
{
    const char *end = entry.data + entry.size;
    const char *at = entry.data + (entry.size < DATE_SIZE ? entry.size : DATE_SIZE);
    while (at < end && memchr(" *!", *at, 3)) {
        at++;
    }
    const char *close = at < end && *at == '(' ? memchr(at, ')', (size_t)(end - at)) : NULL;
    return close ? slice_between(at + 1, close) : slice_of("");
}

/* Returns true if the day posts or skips a deferred transaction. */
static bool is_taken(const struct opening *opening, uint32_t seq)
{
    bool is_found = false;
    for (size_t i = 0; i < opening->item_count && !is_found; i++) {
        is_found = opening->items[i].kind != ITEM_REVERSE && opening->items[i].seq == seq;
    }
    return is_found;
}

static bool add_deferred(struct code_table *table, const struct opening *opening,
                         struct problem *problem)
{
    struct stored_deferral deferral;
    struct store_cursor *cursor = store_cursor_open(opening->store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        struct slice code = step == STORE_ROW ? code_of(deferral.entry) : slice_of("");
        if (code.size > 0 && deferral.seq <= opening->base_seq && deferral.done_seq == 0 &&
            !is_taken(opening, deferral.seq)) {
            (void)add_code(table, code,
                           (struct code_user){ .seq = deferral.seq, .is_deferred = true });
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool report(struct book *book, uint32_t number, const struct code_user *user,
                   struct problem *problem)
{
    const struct transaction *transaction = &book->transactions[number];
    struct slice code = { transaction->code, transaction->code_size };
    char date[DATE_SIZE];
    if (user->seq == 0) {
        book_problem(book, problem, transaction->source, transaction->line,
                     "the code '%.*s' was used before; see %s:%u", SLICE_ARGUMENTS(code),
                     book->sources.items[user->source]->name, user->line);
    } else if (user->is_deferred) {
        book_problem(book, problem, transaction->source, transaction->line,
                     "the code '%.*s' was used before, by task %u, which is deferred",
                     SLICE_ARGUMENTS(code), user->seq);
    } else {
        date_write(date, user->date);
        book_problem(book, problem, transaction->source, transaction->line,
                     "the code '%.*s' was used before, by task %u of %.*s", SLICE_ARGUMENTS(code),
                     user->seq, DATE_SIZE, date);
    }
    return book_take_transaction(book, number, problem);
}

/*
 * Checks one transaction. A reversal has the code of what it takes back. A skipped one does not
 * use its code any more, so that its replacement can have it.
 */
static bool check_code(struct code_table *table, struct book *book, const struct opening *indexed,
                       uint32_t number, struct problem *problem)
{
    const struct transaction *transaction = &book->transactions[number];
    struct slice code = { transaction->code, transaction->code_size };
    struct code_user user = { .seq = transaction->deferred_seq,
                              .source = transaction->source,
                              .line = transaction->line,
                              .is_deferred = transaction->deferred_seq != 0 };
    if (!transaction->has_code || code.size == 0 || transaction->reversed_seq != 0 ||
        transaction->skip_reason) {
        return true;
    }
    size_t known = table->codes.count;
    const struct code_user *first = add_code(table, code, user);
    if (transaction->deferred_seq != 0) {
        return true;
    }
    if (table->codes.count == known) {
        return report(book, number, first, problem);
    }
    struct code_user earlier = { 0 };
    return !indexed ||
           (store_find_code(indexed->store, code, &earlier.seq, &earlier.date, problem) &&
            (earlier.seq == 0 || report(book, number, &earlier, problem)));
}

bool codes_check(struct book *book, const struct opening *opening, struct problem *problem)
{
    struct code_table table = { 0 };
    bool has_index = false;
    bool good = !opening || !opening->store ||
                (store_has_code_index(opening->store, &has_index, problem) &&
                 (has_index || add_posted(&table, opening, problem)) &&
                 add_deferred(&table, opening, problem));
    for (uint32_t i = 0; good && i < book->transaction_count; i++) {
        good = check_code(&table, book, has_index ? opening : NULL, i, problem);
    }
    names_fini(&table.codes);
    free(table.users);
    return good && faults_none(&book->faults, problem);
}
