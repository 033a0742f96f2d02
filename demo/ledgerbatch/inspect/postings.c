/* Owns the commands that print postings or their sums: register, statement, trial-balance. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/nearest.h"
#include "base/syntax.h"
#include "inspect/existing.h"
#include "inspect/inspect.h"
#include "inspect/pass.h"
#include "publish/output.h"
#include "publish/statement_line.h"
#include "store/entry.h"

/* Enough text to print at once. */
#define PIECE_SIZE 65536

/* --- register --- */

static void print_piece(struct pass *pass, size_t at_least)
{
    if (pass->text.size >= at_least) {
        buffer_print(&pass->text);
        pass->text.size = 0;
    }
}

/* Adds a line SEQ,DATE,CODE,TEXT,COMMODITY,AMOUNT,BALANCE. */
static void add_register_line(struct pass *pass, const struct stored_transaction *transaction,
                              const struct stored_posting *posting, int64_t balance)
{
    const struct stored_commodity *commodity = &pass->book.commodities[posting->commodity];
    struct buffer *text = &pass->text;
    entry_place(text, transaction->seq, transaction->date);
    buffer_add_field(text, transaction->code);
    buffer_add_byte(text, ',');
    entry_text(text, transaction);
    entry_amounts(text, commodity, posting->amount, balance);
    print_piece(pass, PIECE_SIZE);
}

static bool take_for_register(struct pass *pass, const struct stored_transaction *transaction,
                              const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    if (!stored_book_add_posting(&pass->book, posting, &cell, problem)) {
        return false;
    }
    add_register_line(pass, transaction, posting, cell->running);
    return true;
}

static bool find_account(const struct pass *pass, const char *name, uint32_t *account,
                         struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    struct slice wanted = slice_of(name);
    struct nearest nearest = nearest_to(wanted);
    for (size_t i = 0; i < pass->book.account_count; i++) {
        *account = (uint32_t)i;
        if (slice_equal(pass->book.accounts[i].name, wanted)) {
            return true;
        }
        nearest_try(&nearest, pass->book.accounts[i].name);
    }
    return problem_set(problem, EXIT_CODE_INPUT, "no account has the name '%s'%s", name,
                       nearest_hint(&nearest, hint));
}

bool inspect_register(const char *database, const char *account, struct problem *problem)
{
    uint32_t number = 0;
    struct pass pass = { .lane = 0 };
    bool good =
        pass_begin(&pass, database, problem) && find_account(&pass, account, &number, problem);
    if (good) {
        buffer_add_text(&pass.text, "seq,date,code,text,commodity,amount,balance\n");
        good = pass_take_account(&pass, number, take_for_register, problem);
        print_piece(&pass, 0);
        inspect_warn(database, &pass.facts, "postings");
    }
    return pass_end(&pass, good, problem);
}

/* --- statement --- */

static bool take_for_statement(struct pass *pass, const struct stored_transaction *transaction,
                               const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    if (transaction->date > pass->day) {
        return true;
    }
    if (!stored_book_add_posting(&pass->book, posting, &cell, problem)) {
        return false;
    }
    if (transaction->date < pass->from_day) {
        cell->opening = cell->running;
        return true;
    }
    const struct stored_account *account = &pass->book.accounts[posting->account];
    if (account->has_lane && account->lane == pass->lane) {
        statement_line_posting(&pass->text, &pass->book, NULL, transaction, posting, cell->running);
    }
    return true;
}

static void print_balances(const struct pass *pass, const char *kind, bool is_opening)
{
    struct buffer text = { 0 };
    for (uint32_t i = pass->book.lane_cells[pass->lane]; i < pass->book.lane_cells[pass->lane + 1];
         i++) {
        const struct stored_cell *cell = &pass->book.cells[i];
        int64_t balance = is_opening ? cell->opening : cell->running;
        if (balance != 0) {
            statement_line_balance(&text, &pass->book, NULL, kind, cell, balance);
        }
    }
    buffer_print(&text);
    buffer_fini(&text);
}

static bool find_client(struct pass *pass, const char *name, struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    struct slice wanted = slice_of(name);
    struct nearest nearest = nearest_to(wanted);
    for (size_t i = 0; i < pass->book.lane_count; i++) {
        struct slice client = pass->book.lanes[i].client;
        pass->lane = (uint32_t)i;
        if (client.size > 0 && slice_equal(client, wanted)) {
            return true;
        }
        if (client.size > 0) {
            nearest_try(&nearest, client);
        }
    }
    return problem_set(problem, EXIT_CODE_INPUT, "no client has the name '%s'%s", name,
                       nearest_hint(&nearest, hint));
}

bool inspect_statement(const char *database, const char *client, uint32_t from_day, uint32_t day,
                       struct problem *problem)
{
    struct pass pass = { .from_day = from_day, .day = day };
    bool good = pass_begin(&pass, database, problem) && find_client(&pass, client, problem) &&
                pass_take_all(&pass, take_for_statement, problem);
    if (good) {
        fputs(STATEMENT_HEADER, stdout);
        print_balances(&pass, "opening", true);
        print_piece(&pass, 0);
        print_balances(&pass, "closing", false);
        inspect_warn(database, &pass.facts, "postings");
    }
    return pass_end(&pass, good, problem);
}

/* --- trial balance --- */

static bool take_for_trial_balance(struct pass *pass, const struct stored_transaction *transaction,
                                   const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    return transaction->date > pass->day ||
           stored_book_add_posting(&pass->book, posting, &cell, problem);
}

bool inspect_trial_balance(const char *database, uint32_t day, struct problem *problem)
{
    struct pass pass = { .day = day };
    bool good = pass_begin(&pass, database, problem) &&
                pass_take_all(&pass, take_for_trial_balance, problem);
    if (good) {
        output_trial_balance(&pass.book, &pass.text);
        print_piece(&pass, 0);
        inspect_warn(database, &pass.facts, "balances");
    }
    return pass_end(&pass, good, problem);
}
