/* Owns the command that checks a database. */
#include <string.h>

#include "base/print.h"
#include "inspect/existing.h"
#include "inspect/inspect.h"
#include "inspect/pass.h"
#include "inspect/verify_outputs.h"
#include "publish/output.h"
#include "store/store.h"

static bool check_posting(struct pass *pass, const struct stored_transaction *transaction,
                          const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    (void)transaction;
    return stored_book_add_posting(&pass->book, posting, &cell, problem) &&
           (!posting->has_balance || cell->running == posting->balance ||
            stored_book_damaged(problem, "a running balance does not add up"));
}

static bool check_sums(struct pass *pass, struct problem *problem)
{
    struct output_report report = { 0 };
    bool good = pass_take_all(pass, check_posting, problem) &&
                stored_book_check_balances(&pass->book, problem);
    store_set_window(pass->store, &pass->facts);
    good = good && output_report(pass->store, pass->facts.state != STORE_FINISHED, "held", &report,
                                 problem);
    output_report_fini(&report);
    return good;
}

static bool compare_heads(const char *database, const char *head, const char *wanted,
                          struct problem *problem)
{
    return !wanted || strcmp(head, wanted) == 0 ||
           problem_set(problem, EXIT_CODE_OTHER,
                       "%s: the database has changed, or is an older one: its head is %s, not %s",
                       database, head, wanted);
}

/* Prints which objects of user's steps the batches have used, each once. */
static bool print_steps(struct store *store, struct problem *problem)
{
    struct stored_step row;
    struct names printed = { 0 };
    struct buffer line = { 0 };
    struct store_cursor *cursor = store_cursor_open(store, STORE_STEPS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        if (step != STORE_ROW) {
            break;
        }
        line.size = 0;
        buffer_add_text(&line, "the step ");
        buffer_add(&line, row.name);
        buffer_add_text(&line, ": SHA-256 ");
        buffer_add(&line, row.digest);
        buffer_add_byte(&line, '\n');
        if (names_find(&printed, buffer_slice(&line)) == NAME_NONE) {
            names_intern(&printed, buffer_slice(&line));
            buffer_print(&line);
        }
    }
    store_cursor_close(cursor);
    names_fini(&printed);
    buffer_fini(&line);
    return step == STORE_END;
}

bool inspect_verify(const char *database, const char *wanted, const char *folder,
                    struct problem *problem)
{
    size_t file_count = 0;
    char head[SHA256_TEXT_SIZE];
    struct pass pass = { .lane = 0 };
    bool good = pass_begin(&pass, database, problem) && store_check_file(pass.store, problem) &&
                check_sums(&pass, problem) && store_check_chain(pass.store, problem) &&
                store_read_head(pass.store, head, problem) &&
                compare_heads(database, head, wanted, problem) &&
                (!folder || verify_outputs(pass.store, folder, &file_count, problem));
    if (good) {
        inspect_warn(database, &pass.facts, "sums");
        print_format("%s: all sums tie\n", database);
        if (folder) {
            print_format("%s: all %zu files are as they were written\n", folder, file_count);
        }
        good = print_steps(pass.store, problem);
        print_format("head %s\n", head);
    }
    return pass_end(&pass, good, problem);
}
