/* Owns the directives of a journal. */
#include "base/syntax.h"
#include "memory.h"
#include "read/journal_lex.h"

/* Finds the value of the tag "group:" in a comment: it ends at a comma or the end of the line. */
static bool find_group(struct slice comment, struct slice *group)
{
    static const char tag[] = "group:";
    const size_t tag_size = sizeof tag - 1;
    for (size_t i = 0; i + tag_size <= comment.size; i++) {
        bool begins = i == 0 || memchr(" \t,;", comment.data[i - 1], 4);
        if (!begins || memcmp(comment.data + i, tag, tag_size) != 0) {
            continue;
        }
        const char *begin = comment.data + i + tag_size;
        const char *end = comment.data + comment.size;
        const char *comma = memchr(begin, ',', (size_t)(end - begin));
        end = comma ? comma : end;
        while (begin < end && (*begin == ' ' || *begin == '\t')) {
            begin++;
        }
        while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
            end--;
        }
        *group = slice_between(begin, end);
        return true;
    }
    return false;
}

/* Returns true if a name can be a group's: it becomes part of file names and transaction codes. */
static bool is_group_name(struct slice name)
{
    if (name.size == 0 || name.size > 100 || name.data[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c < 0x20 || c == 0x7f || strchr("/()%;", c)) {
            return false;
        }
    }
    return true;
}

static bool read_account_comment(struct journal_parser *parser, uint32_t account)
{
    struct slice group;
    if (!find_group(slice_between(parser->at, parser->end), &group)) {
        return true;
    }
    if (account == NO_INDEX) {
        return journal_problem(parser, "with --client-by payee or tag, an account is not of one "
                                       "client, so it has no group");
    }
    if (!is_group_name(group)) {
        return journal_problem(parser, "'%.*s' cannot be a group's name", SLICE_ARGUMENTS(group));
    }
    struct group_tag tag = { group, account, parser->source, parser->line };
    book_add_group_tag(parser->book, tag);
    return true;
}

static bool read_account_directive(struct journal_parser *parser)
{
    uint32_t account;
    struct slice name = journal_name(parser);
    if (!journal_declared_account(parser, name, &account)) {
        return false;
    }
    parser->block = BLOCK_ACCOUNT;
    parser->block_subject = account;
    if (!journal_at_end(parser)) {
        return journal_problem(parser, "unexpected '%.*s' after the account's name",
                               (int)(parser->end - parser->at), parser->at);
    }
    return read_account_comment(parser, account);
}

static bool expect_end(struct journal_parser *parser, const char *after)
{
    journal_skip_blanks(parser);
    return journal_at_end(parser) ||
           journal_problem(parser, "unexpected '%.*s' after %s", (int)(parser->end - parser->at),
                           parser->at, after);
}

/* Reads a sample amount, which sets how a commodity is written and how many decimals are shown. */
static bool read_format(struct journal_parser *parser, uint32_t *commodity)
{
    struct money sample;
    const char *begin = parser->at;
    if (!journal_amount(parser, &sample)) {
        return false;
    }
    if (sample.scale == 0) {
        return journal_problem(parser, "a commodity's format shows its decimals, as in '1000.00'; "
                                       "without any, write the commodity alone");
    }
    if (book_is_nameless(parser->book, sample.commodity)) {
        return journal_problem(parser, "a format needs a commodity: '%.*s'",
                               (int)(parser->end - begin), begin);
    }
    book_see_scale(parser->book, sample.commodity, sample.scale);
    *commodity = sample.commodity;
    return expect_end(parser, "the amount");
}

static bool read_commodity_directive(struct journal_parser *parser)
{
    const char *begin = parser->at;
    parser->block = BLOCK_COMMODITY;
    if (parser->at < parser->end && ((*begin >= '0' && *begin <= '9') || *begin == '-')) {
        return read_format(parser, &parser->block_subject);
    }
    if (!journal_symbol(parser, &parser->block_subject)) {
        return false;
    }
    journal_skip_blanks(parser);
    if (journal_at_end(parser)) {
        return true;
    }
    parser->at = begin;
    return read_format(parser, &parser->block_subject);
}

/* Skips HH:MM:SS, which can follow the date of a market price if that has its year. */
static bool skip_time(struct journal_parser *parser, bool has_year)
{
    static const char shape[] = "00:00:00";
    const char *at = parser->at;
    const char *end = at;
    while (end < parser->end && *end != ' ' && *end != '\t') {
        end++;
    }
    if (!memchr(at, ':', (size_t)(end - at)) || *at == '"') {
        return true;
    }
    bool good = (size_t)(end - at) == sizeof shape - 1;
    for (size_t i = 0; good && i < sizeof shape - 1; i++) {
        good = shape[i] == ':' ? at[i] == ':' : at[i] >= '0' && at[i] <= '9';
    }
    good = good && memcmp(at, "24", 2) < 0 && at[3] < '6' && at[6] < '6';
    if (!good || !has_year) {
        return journal_problem(parser, "a time is HH:MM:SS after a date with its year: '%.*s'",
                               SLICE_ARGUMENTS(slice_between(at, end)));
    }
    parser->at = end;
    journal_skip_blanks(parser);
    return true;
}

/* D AMOUNT. It shows how a commodity is written; hledger gives it to amounts without one, too. */
static bool read_default(struct journal_parser *parser)
{
    uint32_t commodity = 0;
    parser->scope.has_default = false;
    if (!read_format(parser, &commodity)) {
        return false;
    }
    parser->scope.has_default = true;
    parser->scope.has_default_comma = parser->book->commodities[commodity].has_commas;
    return true;
}

/* Reads a market price. It changes no balance; only steps of the user's use it. */
static bool read_market_price(struct journal_parser *parser)
{
    uint32_t date;
    uint32_t commodity;
    struct money price;
    const char *begin = parser->at;
    if (!journal_date(parser, parser->scope.year, &date)) {
        return false;
    }
    bool has_year = parser->at - begin > 5;
    if (parser->at == parser->end || (*parser->at != ' ' && *parser->at != '\t')) {
        return journal_problem(parser, "a space goes after the date");
    }
    journal_skip_blanks(parser);
    if (!skip_time(parser, has_year) || !journal_symbol(parser, &commodity)) {
        return false;
    }
    journal_skip_blanks(parser);
    if (!journal_amount(parser, &price) || !expect_end(parser, "the price")) {
        return false;
    }
    book_add_price(parser->book, commodity, date, price);
    return true;
}

/* Checks a commodity without market prices. This changes no balance. */
static bool read_without_prices(struct journal_parser *parser)
{
    uint32_t commodity;
    return journal_symbol(parser, &commodity) && expect_end(parser, "the commodity");
}

/* Reads the name of a payee or tag. Both programs only list it. */
static bool read_listed_name(struct journal_parser *parser)
{
    parser->block = BLOCK_NAME;
    return !journal_at_end(parser) || journal_problem(parser, "a name is missing");
}

/* Reads the year of dates without one: YYYY alone. */
static bool read_year(struct journal_parser *parser)
{
    uint32_t year = 0;
    const char *end = parser->end;
    while (end > parser->at && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    bool good = end - parser->at == 4;
    for (const char *at = parser->at; good && at < end; at++) {
        good = *at >= '0' && *at <= '9';
        year = year * 10 + (uint32_t)(*at - '0');
    }
    if (!good || year < 1400) {
        return journal_problem(parser, "a year is YYYY, from 1400 on, and alone: '%.*s'",
                               (int)(parser->end - parser->at), parser->at);
    }
    parser->scope.year = year;
    return true;
}

/* Returns the path of an included file, which is relative to the file that includes it. */
static char *path_beside(const char *includer, struct slice name)
{
    const char *slash = strrchr(includer, '/');
    size_t folder = slash && name.data[0] != '/' ? (size_t)(slash - includer) + 1 : 0;
    char *path = memory_zeroed(folder + name.size + 1, 1);
    memcpy(path, includer, folder);
    memcpy(path + folder, name.data, name.size);
    return path;
}

static bool read_include(struct journal_parser *parser)
{
    struct slice name = slice_between(parser->at, parser->end);
    while (name.size > 0 && (name.data[name.size - 1] == ' ' || name.data[name.size - 1] == '\t')) {
        name.size--;
    }
    if (name.size == 0) {
        return journal_problem(parser, "include needs a file's name");
    }
    if (slice_equal(name, slice_of("-"))) {
        return journal_problem(parser, "standard input cannot be included");
    }
    for (size_t i = 0; i < name.size; i++) {
        if (strchr("*?[]{}\"'~;", name.data[i])) {
            return journal_problem(parser, "include takes one plain file name, not '%.*s'",
                                   SLICE_ARGUMENTS(name));
        }
    }
    parser->included_path = path_beside(parser->book->sources.items[parser->source]->name, name);
    return true;
}

static bool read_comment_block(struct journal_parser *parser)
{
    parser->block = BLOCK_COMMENT;
    if (!journal_check_line_end(parser, "'comment'")) {
        return false;
    }
    return parser->at == parser->end ||
           journal_problem(parser, "'comment' must be alone on its line");
}

struct directive {
    const char *word;
    bool (*read)(struct journal_parser *parser);
};

static const struct directive directives[] = { { "account", read_account_directive },
                                               { "commodity", read_commodity_directive },
                                               { "P", read_market_price },
                                               { "include", read_include },
                                               { "comment", read_comment_block },
                                               { "payee", read_listed_name },
                                               { "tag", read_listed_name },
                                               { "N", read_without_prices },
                                               { "Y", read_year },
                                               { "D", read_default },
                                               { "alias", journal_read_alias },
                                               { "apply", journal_read_apply },
                                               { "end", journal_read_end } };

/* Directives that the two programs read differently, or that only one reads. */
static const struct {
    const char *word, *advice;
} refused_directives[] = {
    { "year", "hledger does not read it: write Y and the year" },
    { "test", "hledger does not read it: write comment and end comment" },
    { "bucket", "hledger does not read it: write the account in each transaction" },
    { "A", "hledger does not read it: write the account in each transaction" },
    { "assert", "it is an expression, and hledger does not read it: leave it out" },
    { "check", "it is an expression, and hledger does not read it: leave it out" },
    { "define", "it is an expression, and hledger does not read it: write its value" },
    { "eval", "it is an expression, and hledger does not read it: leave it out" },
    { "C", "ledger converts amounts, hledger does not: write them in one commodity" },
    { "i", "hledger reads time logs from files of their own: leave it out" },
    { "o", "hledger reads time logs from files of their own: leave it out" },
    { "decimal-mark", "ledger does not read it: leave it out" },
};

static bool refuse_directive(struct journal_parser *parser, struct slice word)
{
    if (word.data[0] == '=') {
        return journal_problem(parser, "automated transactions ('=') are not in the portable "
                                       "subset: 'hledger print -x --auto' writes them out");
    }
    if (word.data[0] == '~') {
        return journal_problem(parser, "periodic transactions ('~') are not in the portable "
                                       "subset: leave them out, or 'hledger print -x --forecast' "
                                       "writes them out");
    }
    for (size_t i = 0; i < sizeof refused_directives / sizeof *refused_directives; i++) {
        if (slice_equal(word, slice_of(refused_directives[i].word))) {
            return journal_problem(parser, "'%s' is not in the portable subset: %s",
                                   refused_directives[i].word, refused_directives[i].advice);
        }
    }
    return journal_problem(parser, "'%.*s' is not in the portable subset", SLICE_ARGUMENTS(word));
}

bool journal_directive(struct journal_parser *parser)
{
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at != ' ' && *parser->at != '\t') {
        parser->at++;
    }
    struct slice word = slice_between(begin, parser->at);
    /* Y2024 is one word. */
    if (word.size > 1 && *begin == 'Y' && begin[1] >= '0' && begin[1] <= '9') {
        parser->at = begin + 1;
        word.size = 1;
    }
    journal_skip_blanks(parser);
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (slice_equal(word, slice_of(directives[i].word))) {
            return directives[i].read(parser);
        }
    }
    return refuse_directive(parser, word);
}

static bool read_format_line(struct journal_parser *parser)
{
    uint32_t commodity;
    return read_format(parser, &commodity) &&
           (commodity == parser->block_subject ||
            journal_problem(parser, "the format is of another commodity"));
}

/*
 * Checks a line of an account directive. hledger ignores all of them; ledger ignores most, but each
 * word needs something that follows it.
 */
static bool check_account_line(struct journal_parser *parser, struct slice word)
{
    static const char *const expressions[] = { "assert", "check", "eval", "expr", "value" };
    if (slice_equal(word, slice_of("alias"))) {
        return journal_problem(parser, "hledger does not read an alias here: write 'alias NAME = "
                                       "ACCOUNT' at the margin");
    }
    if (slice_equal(word, slice_of("payee"))) {
        return journal_problem(parser, "ledger changes accounts by 'payee', hledger does not: "
                                       "leave it out");
    }
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        if (slice_equal(word, slice_of(expressions[i]))) {
            return journal_problem(parser,
                                   "'%s' is an expression, which hledger does not read: "
                                   "leave it out",
                                   expressions[i]);
        }
    }
    return !journal_at_end(parser) || slice_equal(word, slice_of("default")) ||
           journal_problem(parser, "something must follow '%.*s'", SLICE_ARGUMENTS(word));
}

bool journal_subdirective(struct journal_parser *parser)
{
    if (*parser->at == ';') {
        return parser->block != BLOCK_ACCOUNT ||
               read_account_comment(parser, parser->block_subject);
    }
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at != ' ' && *parser->at != '\t') {
        parser->at++;
    }
    struct slice word = slice_between(begin, parser->at);
    journal_skip_blanks(parser);
    if (parser->block == BLOCK_ACCOUNT) {
        return check_account_line(parser, word);
    }
    if (parser->block == BLOCK_COMMODITY && slice_equal(word, slice_of("format"))) {
        return read_format_line(parser);
    }
    return journal_problem(parser, "hledger does not read '%.*s' here: leave it out",
                           SLICE_ARGUMENTS(word));
}
