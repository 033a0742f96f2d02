/* Owns the command that checks a database. */
#include <string.h>

#include "base/print.h"
#include "inspect/existing.h"
#include "inspect/inspect.h"
#include "inspect/pass.h"
#include "publish/output.h"

static bool check_posting(struct pass *pass, const struct stored_transaction *transaction,
                          const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    (void)transaction;
    return pass_add_posting(pass, posting, &cell, problem) &&
           (!posting->has_balance || cell->running == posting->balance ||
            stored_book_damaged(problem, "a running balance does not add up"));
}

static bool check_balances(const struct stored_book *book, struct problem *problem)
{
    for (size_t i = 0; i < book->cell_count; i++) {
        if (book->cells[i].running != book->cells[i].balance) {
            return stored_book_damaged(problem, "a balance is not what its postings add up to");
        }
    }
    return true;
}

static bool check_sums(struct store *store, const struct store_facts *facts,
                       struct problem *problem)
{
    struct pass pass = { .account = 0 };
    struct output_report report = { 0 };
    bool good = stored_book_load(&pass.book, store, problem) &&
                pass_take_all(&pass, store, check_posting, problem) &&
                check_balances(&pass.book, problem) &&
                output_report(store, facts->state != STORE_FINISHED, "held", &report, problem);
    buffer_fini(&report.text);
    stored_book_fini(&pass.book);
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

bool inspect_verify(const char *database, const char *wanted, struct problem *problem)
{
    struct store_facts facts;
    char head[SHA256_TEXT_SIZE];
    struct store *store = inspect_open(database, &facts, problem);
    bool good = store && store_check_file(store, problem) && check_sums(store, &facts, problem) &&
                store_read_head(store, head, problem) &&
                compare_heads(database, head, wanted, problem);
    if (good) {
        inspect_warn(database, &facts, "sums");
        print_format("%s: all sums tie\nhead %s\n", database, head);
    }
    store_close(store);
    return good && inspect_flush(problem);
}
