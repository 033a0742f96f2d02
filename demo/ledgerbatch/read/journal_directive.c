/* Owns the directives of a journal: account, commodity, P, include, comment. */
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
    if (!journal_account(parser, &account)) {
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
    if (sample.scale == 0 && memchr(begin, ',', (size_t)(parser->at - begin))) {
        return journal_problem(parser, "a commodity's format shows its decimal point");
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

/* Checks the form of a market price. It changes no balance, so nothing is stored. */
static bool read_market_price(struct journal_parser *parser)
{
    uint32_t date;
    uint32_t commodity;
    struct money price;
    const char *wrong = syntax_date(&parser->at, parser->end, &date);
    if (wrong) {
        return journal_problem(parser, "%s: '%.*s'", wrong, (int)(parser->end - parser->at),
                               parser->at);
    }
    journal_skip_blanks(parser);
    if (!journal_symbol(parser, &commodity)) {
        return false;
    }
    journal_skip_blanks(parser);
    return journal_amount(parser, &price) && expect_end(parser, "the price");
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
    return parser->at == parser->end ||
           journal_problem(parser, "'comment' must be alone on its line");
}

struct directive {
    const char *word;
    bool (*read)(struct journal_parser *parser);
};

bool journal_directive(struct journal_parser *parser)
{
    static const struct directive directives[] = { { "account", read_account_directive },
                                                   { "commodity", read_commodity_directive },
                                                   { "P", read_market_price },
                                                   { "include", read_include },
                                                   { "comment", read_comment_block } };
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at != ' ' && *parser->at != '\t') {
        parser->at++;
    }
    struct slice word = slice_between(begin, parser->at);
    journal_skip_blanks(parser);
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (slice_equal(word, slice_of(directives[i].word))) {
            return directives[i].read(parser);
        }
    }
    if (*begin == '=' || *begin == '~') {
        return journal_problem(parser,
                               "automated and periodic transactions ('%c') are not in the "
                               "portable subset",
                               *begin);
    }
    return journal_problem(parser, "'%.*s' is not in the portable subset", SLICE_ARGUMENTS(word));
}

bool journal_subdirective(struct journal_parser *parser)
{
    if (*parser->at == ';') {
        return parser->block != BLOCK_ACCOUNT ||
               read_account_comment(parser, parser->block_subject);
    }
    static const char format[] = "format";
    size_t size = sizeof format - 1;
    if (parser->block == BLOCK_COMMODITY && (size_t)(parser->end - parser->at) > size &&
        memcmp(parser->at, format, size) == 0 &&
        (parser->at[size] == ' ' || parser->at[size] == '\t')) {
        uint32_t commodity;
        parser->at += size;
        journal_skip_blanks(parser);
        if (!read_format(parser, &commodity)) {
            return false;
        }
        return commodity == parser->block_subject ||
               journal_problem(parser, "the format is of another commodity");
    }
    return journal_problem(parser, "'%.*s' is not in the portable subset",
                           (int)(parser->end - parser->at), parser->at);
}
