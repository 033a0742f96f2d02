/*
 * Owns the postings of a journal: [*|!] ACCOUNT  [AMOUNT [LOT] [@|@@ AMOUNT]] [= AMOUNT] [;
 * comment]
 */
#include "read/journal_lex.h"

static struct extra *require_extra(struct journal_parser *parser, struct posting *posting)
{
    if (posting->extra == NO_INDEX) {
        posting->extra = book_add_extra(parser->book);
    }
    return &parser->book->extras[posting->extra];
}

bool journal_price(struct journal_parser *parser, struct posting *posting, uint32_t commodity)
{
    struct money price;
    uint8_t flag = EXTRA_PRICE_UNIT;
    parser->at++;
    if (parser->at < parser->end && *parser->at == '@') {
        flag = EXTRA_PRICE_TOTAL;
        parser->at++;
    }
    journal_skip_blanks(parser);
    if (!journal_amount(parser, &price) || !journal_check_default(parser, &price)) {
        return false;
    }
    if (price.units < 0) {
        return journal_problem(parser, "a price is not negative");
    }
    if (price.commodity == commodity) {
        return journal_problem(parser, "a price is in another commodity than its amount");
    }
    parser->seen_price = true;
    struct extra *extra = require_extra(parser, posting);
    extra->price = price;
    extra->flags |= flag;
    journal_skip_blanks(parser);
    return true;
}

static bool read_assertion(struct journal_parser *parser, struct posting *posting)
{
    struct money asserted;
    parser->at++;
    if (parser->at < parser->end && (*parser->at == '=' || *parser->at == '*')) {
        return journal_problem(parser, "ledger does not read '==' and '=*': write '= AMOUNT'");
    }
    journal_skip_blanks(parser);
    if (!journal_amount(parser, &asserted) || !journal_check_default(parser, &asserted)) {
        return false;
    }
    journal_skip_blanks(parser);
    if (parser->at < parser->end && *parser->at == '@') {
        return journal_problem(parser, "an asserted balance has no price");
    }
    struct extra *extra = require_extra(parser, posting);
    extra->assertion = asserted;
    extra->flags |= EXTRA_ASSERTION;
    return true;
}

/*
 * ledger compares an asserted balance in another commodity than the amount's with a wrong one. It
 * takes a balance without a commodity for that of all.
 */
static bool check_asserted_commodity(struct journal_parser *parser, const struct posting *posting,
                                     const struct money *money)
{
    uint32_t asserted = parser->book->extras[posting->extra].assertion.commodity;
    return asserted == money->commodity || money->units == 0 ||
           book_is_nameless(parser->book, asserted) ||
           journal_problem(parser, "ledger asserts balances in the commodity of the amount only: "
                                   "write a posting of 0 for the other one");
}

static bool read_written_amount(struct journal_parser *parser, struct posting *posting,
                                uint32_t account)
{
    struct money money;
    if (!journal_amount(parser, &money) || !journal_check_default(parser, &money)) {
        return false;
    }
    book_see_scale(parser->book, money.commodity, money.scale);
    posting->cell = book_cell(parser->book, account, money.commodity);
    posting->amount = money.units;
    posting->scale = money.scale;
    journal_skip_blanks(parser);
    if (!journal_lot_and_price(parser, posting, money)) {
        return false;
    }
    return parser->at == parser->end || *parser->at != '=' ||
           (read_assertion(parser, posting) && check_asserted_commodity(parser, posting, &money));
}

static bool read_assignment(struct journal_parser *parser, struct posting *posting,
                            uint32_t account)
{
    if (parser->seen_elided) {
        return journal_problem(parser,
                               "a balance assignment goes before the posting without an amount");
    }
    if (!read_assertion(parser, posting)) {
        return false;
    }
    struct book *book = parser->book;
    const struct money *target = &book->extras[posting->extra].assertion;
    if (parser->scope.has_default && book_is_nameless(book, target->commodity)) {
        return journal_problem(parser,
                               "hledger gives '= %lld' the commodity of 'D', ledger gives it "
                               "none: write the commodity",
                               (long long)target->units);
    }
    book_see_scale(book, target->commodity, target->scale);
    posting->cell = book_cell(book, account, target->commodity);
    posting->flags |= POSTING_ASSIGNED;
    book->transactions[book->transaction_count - 1].has_assigned = true;
    return true;
}

static bool read_missing_amount(struct journal_parser *parser, struct posting *posting,
                                uint32_t account)
{
    if (parser->seen_elided) {
        return journal_problem(parser,
                               "only one posting of a transaction may lack its amount, and line %u "
                               "has none either (two spaces go before an amount)",
                               parser->elided_line);
    }
    parser->elided_line = parser->line;
    parser->seen_elided = true;
    posting->cell = account;
    posting->flags |= POSTING_ELIDED;
    return true;
}

static bool check_end_of_posting(struct journal_parser *parser)
{
    journal_skip_blanks(parser);
    if (journal_at_end(parser)) {
        return journal_comment(parser, slice_between(parser->at, parser->end), true);
    }
    if (*parser->at == '{' || *parser->at == '[') {
        return journal_problem(parser,
                               "a lot goes right behind the amount: '10 X {5 USD} @ 5 USD'");
    }
    if (*parser->at == '(') {
        return journal_problem(parser, "hledger does not read the note of a lot: leave it out");
    }
    return journal_problem(parser, "unexpected '%.*s' after the amount",
                           (int)(parser->end - parser->at), parser->at);
}

/* A posting's mark changes no balance. posted.journal leaves it out. */
static void skip_mark(struct journal_parser *parser)
{
    if (*parser->at == '*' || *parser->at == '!') {
        parser->at++;
        journal_skip_blanks(parser);
    }
}

/* Reads ACCOUNT or [ACCOUNT]. */
static bool read_account(struct journal_parser *parser, struct posting *posting, uint32_t *account)
{
    struct slice name = journal_name(parser);
    struct transaction *transaction =
        &parser->book->transactions[parser->book->transaction_count - 1];
    bool is_bracketed = name.size > 2 && name.data[0] == '[' && name.data[name.size - 1] == ']';
    if (name.size > 2 && name.data[0] == '(' && name.data[name.size - 1] == ')') {
        return journal_problem(parser,
                               "the posting '%.*s' has no other side, so that nothing balances it: "
                               "write '[ACCOUNT]' and another one, or leave it out, as 'ledger "
                               "--real' and 'hledger --real' do",
                               SLICE_ARGUMENTS(name));
    }
    if (is_bracketed) {
        name = (struct slice){ name.data + 1, name.size - 2 };
        posting->flags |= POSTING_BRACKETED;
        transaction->has_bracketed = true;
    }
    if (!journal_posting_account(parser, name, account)) {
        return false;
    }
    struct account *found = &parser->book->accounts[*account];
    found->has_bracketed = found->has_bracketed || is_bracketed;
    found->has_plain = found->has_plain || !is_bracketed;
    return true;
}

bool journal_posting(struct journal_parser *parser)
{
    uint32_t account;
    struct posting posting = { .extra = NO_INDEX, .line = parser->line };
    skip_mark(parser);
    if (!read_account(parser, &posting, &account)) {
        return false;
    }
    bool read;
    if (journal_at_end(parser)) {
        read = read_missing_amount(parser, &posting, account);
    } else if (*parser->at == '=') {
        read = read_assignment(parser, &posting, account);
    } else {
        read = read_written_amount(parser, &posting, account);
    }
    if (!read || !check_end_of_posting(parser)) {
        return false;
    }
    *book_add_posting(parser->book) = posting;
    parser->book->transactions[parser->book->transaction_count - 1].posting_count++;
    return true;
}
