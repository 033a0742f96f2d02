/* Owns the postings of a journal: ACCOUNT  [AMOUNT [@|@@ AMOUNT]] [= AMOUNT]  [; comment] */
#include "read/journal_lex.h"

static struct extra *require_extra(struct journal_parser *parser, struct posting *posting)
{
    if (posting->extra == NO_INDEX) {
        posting->extra = book_add_extra(parser->book);
    }
    return &parser->book->extras[posting->extra];
}

static bool read_price(struct journal_parser *parser, struct posting *posting, uint32_t commodity)
{
    struct money price;
    uint8_t flag = EXTRA_PRICE_UNIT;
    parser->at++;
    if (parser->at < parser->end && *parser->at == '@') {
        flag = EXTRA_PRICE_TOTAL;
        parser->at++;
    }
    journal_skip_blanks(parser);
    if (!journal_amount(parser, &price)) {
        return false;
    }
    if (price.units < 0) {
        return journal_problem(parser, "a price is not negative");
    }
    if (price.commodity == commodity) {
        return journal_problem(parser, "a price is in another commodity than its amount");
    }
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
        return journal_problem(parser, "'==' and '=*' are not in the portable subset");
    }
    journal_skip_blanks(parser);
    if (!journal_amount(parser, &asserted)) {
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

static bool read_written_amount(struct journal_parser *parser, struct posting *posting,
                                uint32_t account)
{
    struct money money;
    if (!journal_amount(parser, &money)) {
        return false;
    }
    book_see_scale(parser->book, money.commodity, money.scale);
    posting->cell = book_cell(parser->book, account, money.commodity);
    posting->amount = money.units;
    posting->scale = money.scale;
    journal_skip_blanks(parser);
    if (parser->at < parser->end && *parser->at == '@' &&
        !read_price(parser, posting, money.commodity)) {
        return false;
    }
    return parser->at == parser->end || *parser->at != '=' || read_assertion(parser, posting);
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
    book_see_scale(book, target->commodity, target->scale);
    posting->cell = book_cell(book, account, target->commodity);
    posting->flags = POSTING_ASSIGNED;
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
    posting->flags = POSTING_ELIDED;
    return true;
}

static bool check_end_of_posting(struct journal_parser *parser)
{
    journal_skip_blanks(parser);
    if (journal_at_end(parser)) {
        return true;
    }
    if (*parser->at == '{' || *parser->at == '[') {
        return journal_problem(parser, "lots are not in the portable subset; write '@ PRICE'");
    }
    return journal_problem(parser, "unexpected '%.*s' after the amount",
                           (int)(parser->end - parser->at), parser->at);
}

bool journal_posting(struct journal_parser *parser)
{
    uint32_t account;
    if (!journal_account(parser, &account)) {
        return false;
    }
    struct posting posting = { .extra = NO_INDEX, .line = parser->line };
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
