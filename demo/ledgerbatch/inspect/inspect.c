/* Owns the commands that only read a database. */
#include "inspect/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inspect/list_held.h"
#include "publish/output.h"
#include "store/store.h"
#include "store/stored_book.h"

/* How many tasks have been done, by outcome. */
struct tally {
    size_t posted, refused, rollups;
};

static struct store *open_existing(const char *database, struct store_facts *facts,
                                   struct problem *problem)
{
    struct store *store = store_open(database, STORE_READ, problem);
    if (!store) {
        return NULL;
    }
    if (store_read_facts(store, facts, problem) &&
        (facts->state != STORE_EMPTY ||
         problem_set(problem, EXIT_CODE_OTHER, "%s: the database is empty", database))) {
        return store;
    }
    store_close(store);
    return NULL;
}

static bool flush_output(struct problem *problem)
{
    return (!ferror(stdout) && fflush(stdout) == 0) ||
           problem_set(problem, EXIT_CODE_IO, "standard output: %s", strerror(errno));
}

bool inspect_balances(const char *database, struct problem *problem)
{
    struct store_facts facts;
    struct stored_book book;
    struct store *store = open_existing(database, &facts, problem);
    if (!store) {
        return false;
    }
    bool loaded = stored_book_load(&book, store, problem);
    if (loaded) {
        struct buffer text = { 0 };
        output_balances(&book, &text);
        fwrite(text.data, 1, text.size, stdout);
        buffer_fini(&text);
        if (facts.state == STORE_UNFINISHED) {
            fprintf(stderr, "ledgerbatch: %s is not finished: these are the balances so far\n",
                    database);
        }
    }
    stored_book_fini(&book);
    store_close(store);
    return loaded && flush_output(problem);
}

static bool count_transactions(struct store *store, struct tally *tally, struct problem *problem)
{
    struct stored_transaction transaction;
    struct store_cursor *cursor = store_cursor_open(store, STORE_TRANSACTIONS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &transaction, problem);
        if (step != STORE_ROW) {
            break;
        }
        if (slice_equal(transaction.kind, slice_of("post"))) {
            tally->posted++;
        } else if (slice_equal(transaction.kind, slice_of("refused"))) {
            tally->refused++;
        } else {
            tally->rollups++;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool print_refusals(struct store *store, struct problem *problem)
{
    struct stored_refusal refusal;
    struct store_cursor *cursor = store_cursor_open(store, STORE_REFUSALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &refusal, problem);
        if (step == STORE_ROW) {
            /* The first line of the entry has its date, code and text. */
            const char *newline = memchr(refusal.entry.data, '\n', refusal.entry.size);
            struct slice header = { refusal.entry.data, newline
                                                            ? (size_t)(newline - refusal.entry.data)
                                                            : refusal.entry.size };
            printf("refused: task %u, %.*s: %.*s\n", refusal.seq, SLICE_ARGUMENTS(header),
                   SLICE_ARGUMENTS(refusal.reason));
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

bool inspect_status(const char *database, struct problem *problem)
{
    struct store_facts facts;
    struct stored_book book = { 0 };
    struct tally tally = { 0, 0, 0 };
    struct store *store = open_existing(database, &facts, problem);
    if (!store) {
        return false;
    }
    bool good =
        stored_book_load(&book, store, problem) && count_transactions(store, &tally, problem);
    if (good) {
        printf("state: %s\n", facts.state == STORE_FINISHED ? "finished" : "unfinished");
        printf("tasks: %zu of %u done\n", tally.posted + tally.refused + tally.rollups,
               facts.task_count);
        printf("posted: %zu\nrefused: %zu\nmonth-end rollups: %zu\n", tally.posted, tally.refused,
               tally.rollups);
        good = list_held(store, &book, facts.task_count, database, problem) &&
               print_refusals(store, problem);
    }
    stored_book_fini(&book);
    store_close(store);
    return good && flush_output(problem);
}
