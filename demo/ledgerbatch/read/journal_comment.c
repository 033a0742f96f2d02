/* Owns the comments of transactions and postings: dates of postings, and the tag of a client. */
#include "read/journal_lex.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns true if hledger finds the tag at this place of a comment. */
static bool is_tag_at(struct slice comment, size_t at, const char *tag)
{
    size_t size = strlen(tag);
    return at + size < comment.size && memcmp(comment.data + at, tag, size) == 0 &&
           comment.data[at + size] == ':' && (at == 0 || memchr(" \t,:;", comment.data[at - 1], 5));
}

/* Returns the value of a tag: up to a comma or the end, without the blanks around it. */
static struct slice tag_value(struct slice comment, size_t begin)
{
    const char *at = comment.data + begin;
    const char *end = comment.data + comment.size;
    const char *comma = memchr(at, ',', (size_t)(end - at));
    end = comma ? comma : end;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    while (end > at && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    return slice_between(at, end);
}

/*
 * Returns true if a program could read the text between square brackets as the date of a posting.
 * Both read [DATE]. ledger refuses other texts that begin with a digit, and hledger refuses other
 * texts of digits and separators. Both ignore a secondary date: [=DATE].
 */
static bool is_bracketed_date(struct slice text, uint32_t year)
{
    if (text.size == 0 || !(is_digit(text.data[0]) || memchr("=-/.", text.data[0], 4))) {
        return false;
    }
    if (text.data[0] == '=') {
        return !journal_is_date((struct slice){ text.data + 1, text.size - 1 }, year);
    }
    size_t i = 0;
    while (i < text.size && (is_digit(text.data[i]) || memchr("=-/.", text.data[i], 4))) {
        i++;
    }
    return is_digit(text.data[0]) || i == text.size;
}

static bool check_brackets(struct journal_parser *parser, struct slice comment, bool of_posting)
{
    const char *end = comment.data + comment.size;
    const char *at = comment.data;
    while ((at = memchr(at, '[', (size_t)(end - at))) != NULL) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (!close) {
            return true;
        }
        at++;
        struct slice text = slice_between(at, close);
        if (is_bracketed_date(text, parser->scope.year)) {
            return journal_problem(
                parser,
                of_posting ? "'[%.*s]' would be a date of this posting alone: write a transaction "
                             "of that date for it, and one more account between the two"
                           : "ledger takes '[%.*s]' for the transaction's date, hledger does not: "
                             "write that date in front, or leave the brackets out",
                SLICE_ARGUMENTS(text));
        }
    }
    return true;
}

/* hledger reads "date:" in a posting's comment as the date of the posting. ledger does not. */
static bool check_date_tags(struct journal_parser *parser, struct slice comment)
{
    static const char first[] = "date";
    static const char second[] = "date2";
    for (size_t i = 0; i < comment.size; i++) {
        bool is_second = is_tag_at(comment, i, second);
        if (!is_second && !is_tag_at(comment, i, first)) {
            continue;
        }
        if (is_second &&
            journal_is_date(tag_value(comment, i + sizeof second), parser->scope.year)) {
            continue;
        }
        return journal_problem(parser,
                               "hledger reads '%s:' as a date of this posting alone, ledger does "
                               "not: write a transaction of that date for it, and one more account "
                               "between the two, or name the tag otherwise",
                               is_second ? second : first);
    }
    return true;
}

/* Finds the client of a transaction in a tag. */
static bool read_client_tag(struct journal_parser *parser, struct slice comment, bool of_posting)
{
    const char *tag = parser->clients->tag;
    for (size_t i = 0; i < comment.size; i++) {
        if (!is_tag_at(comment, i, tag)) {
            continue;
        }
        if (of_posting) {
            return journal_problem(parser,
                                   "the tag '%s' says which client a transaction is of, not "
                                   "a posting: write it before the first posting",
                                   tag);
        }
        return journal_take_client(parser, tag_value(comment, i + strlen(tag) + 1));
    }
    return true;
}

/* ledger evaluates what follows NAME:: at the beginning of a comment. */
static bool check_typed_tag(struct journal_parser *parser, struct slice comment)
{
    const char *end = comment.data + comment.size;
    const char *at = comment.data;
    while (at < end && memchr("; \t", *at, 3)) {
        at++;
    }
    const char *begin = at;
    while (at < end && *at != ' ' && *at != '\t') {
        at++;
    }
    return at - begin < 3 || at[-1] != ':' || at[-2] != ':' ||
           journal_problem(parser,
                           "ledger reads an expression behind '%.*s', hledger a text: write "
                           "one ':'",
                           SLICE_ARGUMENTS(slice_between(begin, at)));
}

bool journal_comment(struct journal_parser *parser, struct slice comment, bool of_posting)
{
    return check_typed_tag(parser, comment) && check_brackets(parser, comment, of_posting) &&
           (!of_posting || check_date_tags(parser, comment)) &&
           (parser->clients->by != CLIENT_BY_TAG || read_client_tag(parser, comment, of_posting));
}
