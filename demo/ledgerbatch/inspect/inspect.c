/* Owns the commands that only read a database. */
#include "inspect/inspect.h"

#include <string.h>

#include "base/print.h"
#include "inspect/existing.h"
#include "inspect/list_held.h"
#include "inspect/running.h"
#include "publish/output.h"
#include "store/store.h"
#include "store/stored_book.h"

/* How many refusals, and how many deferred transactions, the status lists. */
#define LISTED_MAX 10

bool inspect_balances(const char *database, struct problem *problem)
{
    struct store_facts facts;
    struct stored_book book;
    struct store *store = inspect_open(database, &facts, problem);
    if (!store) {
        return false;
    }
    bool loaded = stored_book_load(&book, store, problem);
    if (loaded) {
        struct buffer text = { 0 };
        output_balances(&book, &text);
        buffer_print(&text);
        buffer_fini(&text);
        inspect_warn(database, &facts, "balances");
    }
    stored_book_fini(&book);
    store_close(store);
    return loaded && inspect_flush(problem);
}

/* Returns the first line of a transaction as journal text: its date, code and text. */
static struct slice first_line(struct slice entry)
{
    const char *newline = memchr(entry.data, '\n', entry.size);
    return (struct slice){ entry.data, newline ? (size_t)(newline - entry.data) : entry.size };
}

/* Prints a task that was not posted, if it is one of the first `count`. */
static void print_one(const char *what, size_t count, uint32_t seq, struct slice entry,
                      struct slice reason)
{
    struct slice header = first_line(entry);
    if (count <= LISTED_MAX) {
        print_format("%s: task %u, %.*s: %.*s\n", what, seq, SLICE_ARGUMENTS(header),
                     SLICE_ARGUMENTS(reason));
    }
}

/* Says how many of `count` tasks were not printed, and which file has them. */
static void print_more(const char *what, size_t count, bool has_files)
{
    if (count > LISTED_MAX && has_files) {
        print_format("%s: %zu more, which %s.csv lists\n", what, count - LISTED_MAX, what);
    } else if (count > LISTED_MAX) {
        print_format("%s: %zu more\n", what, count - LISTED_MAX);
    }
}

/* Prints the first refusals; refused.csv has all. */
static bool print_refusals(struct store *store, bool has_files, struct problem *problem)
{
    size_t count = 0;
    struct stored_refusal refusal;
    struct store_cursor *cursor = store_cursor_open(store, STORE_REFUSALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &refusal, problem);
        if (step == STORE_ROW) {
            print_one("refused", ++count, refusal.seq, refusal.entry, refusal.reason);
        }
    }
    store_cursor_close(cursor);
    print_more("refused", count, has_files);
    return step == STORE_END;
}

/* Prints the first transactions that are still deferred; deferred.csv has all. */
static bool print_deferrals(struct store *store, bool has_files, struct problem *problem)
{
    size_t count = 0;
    struct stored_deferral deferral;
    struct store_cursor *cursor = store_cursor_open(store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW && deferral.done_seq == 0) {
            print_one("deferred", ++count, deferral.seq, deferral.entry, deferral.reason);
        }
    }
    store_cursor_close(cursor);
    print_more("deferred", count, has_files);
    return step == STORE_END;
}

/* Prints the first rejected transactions of the input. */
static bool print_rejects(struct store *store, struct problem *problem)
{
    size_t count = 0;
    struct stored_reject reject;
    struct store_cursor *cursor = store_cursor_open(store, STORE_REJECTS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &reject, problem);
        if (step == STORE_ROW && ++count <= LISTED_MAX) {
            struct slice header = first_line(reject.entry);
            print_format("rejected: %.*s, line %.*s\n", SLICE_ARGUMENTS(header),
                         SLICE_ARGUMENTS(reject.reason));
        }
    }
    store_cursor_close(cursor);
    print_more("rejected", count, false);
    return step == STORE_END;
}

/* Prints the closed months that were reopened for the batch. */
static bool print_reopenings(struct store *store, struct problem *problem)
{
    struct stored_reopening reopening;
    struct store_cursor *cursor = store_cursor_open(store, STORE_REOPENINGS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &reopening, problem);
        if (step == STORE_ROW) {
            print_format("backdated: %.*s: %.*s\n", SLICE_ARGUMENTS(reopening.month),
                         SLICE_ARGUMENTS(reopening.reason));
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

bool inspect_list_unposted(struct store *store, bool has_files, struct problem *problem)
{
    return print_reopenings(store, problem) && print_rejects(store, problem) &&
           print_refusals(store, has_files, problem) && print_deferrals(store, has_files, problem);
}

/* Prints how much is done, and the control totals. */
static bool print_progress(struct store *store, const struct store_facts *facts, bool is_held,
                           struct problem *problem)
{
    struct output_report report = { 0 };
    bool is_finished = facts->state == STORE_FINISHED;
    bool good = output_report(store, !is_finished, is_held ? "held" : "to do", &report, problem);
    if (good) {
        const size_t *counts = report.counts;
        size_t done = counts[TOTAL_POSTED] + counts[TOTAL_REFUSED] + counts[TOTAL_GENERATED];
        size_t over = done + counts[TOTAL_DEFERRED];
        if (facts->is_day) {
            print_format("day: %04u-%02u-%02u\n", facts->date / 10000, facts->date / 100 % 100,
                         facts->date % 100);
        }
        print_format("state: %s\n", is_finished ? "finished"
                                    : facts->state == STORE_CLOSED
                                        ? "closed with deferred transactions"
                                        : "unfinished");
        print_format("tasks: %zu of %u done\n", done, facts->task_count);
        if (!is_finished) {
            running_print(store_activity(store),
                          over < facts->task_count ? facts->task_count - over : 0);
        }
        print_format("posted: %zu\nrefused: %zu\nmonth-end rollups: %zu\n", counts[TOTAL_POSTED],
                     counts[TOTAL_REFUSED], counts[TOTAL_GENERATED]);
        if (counts[TOTAL_DEFERRED] > 0) {
            print_format("deferred: %zu, of %zu held and %zu other clients\n",
                         counts[TOTAL_DEFERRED], report.held_clients, report.other_clients);
        }
        if (report.carried > 0) {
            print_format("deferred by earlier days: %zu\n", report.carried);
        }
        buffer_print(&report.text);
    }
    output_report_fini(&report);
    return good;
}

/* Prints all about a batch. The totals are last, where they stay on the screen. */
bool inspect_status(const char *database, struct problem *problem)
{
    struct store_facts facts;
    struct stored_book book = { 0 };
    struct buffer advice = { 0 };
    struct store *store = inspect_open(database, &facts, problem);
    if (!store) {
        return false;
    }
    store_set_window(store, &facts);
    bool good = stored_book_load(&book, store, problem) &&
                inspect_list_unposted(store, facts.state != STORE_UNFINISHED, problem) &&
                list_held(store, &book, facts.task_count, database, &advice, problem) &&
                print_progress(store, &facts, advice.size > 0, problem);
    if (good) {
        buffer_print(&advice);
    }
    buffer_fini(&advice);
    stored_book_fini(&book);
    store_close(store);
    return good && inspect_flush(problem);
}
