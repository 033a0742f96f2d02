/* Owns the reading of transfers. */
#include "read/csv.h"

#include <stdarg.h>

#include "base/syntax.h"

#define CSV_COLUMNS 6

enum csv_column { CSV_SEQ, CSV_DATE, CSV_FROM, CSV_TO, CSV_AMOUNT, CSV_COMMODITY };

static const char *const column_names[CSV_COLUMNS] = { "seq", "date",   "from",
                                                       "to",  "amount", "commodity" };

struct csv_parser {
    struct book *book;
    struct problem *problem;
    uint32_t source, line; /* the first line of the record */
    uint32_t next_line;
    const char *next, *end;
    bool is_cut; /* a quoted field has no end, so that nothing can be read behind it */
    struct slice fields[CSV_COLUMNS];
    size_t field_count;
};

static bool csv_problem(struct csv_parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    book_problem_list(parser->book, parser->problem, parser->source, parser->line, format,
                      arguments);
    va_end(arguments);
    return false;
}

/* Copies a field without its doubled quotes. */
static struct slice unquote(struct csv_parser *parser, struct slice field)
{
    char *text = source_add_text(parser->book->sources.items[parser->source], field.size);
    size_t size = 0;
    for (size_t i = 0; i < field.size; i++) {
        text[size++] = field.data[i];
        i += field.data[i] == '"';
    }
    return (struct slice){ text, size };
}

/* Reads a field in quotes; a doubled quote becomes one. */
static bool read_quoted_field(struct csv_parser *parser, struct slice *field)
{
    const char *at = parser->next + 1;
    const char *begin = at;
    bool has_quotes = false;
    for (; at < parser->end; at++) {
        if (*at == '"') {
            if (at + 1 == parser->end || at[1] != '"') {
                break;
            }
            has_quotes = true;
            at++;
        }
        parser->next_line += *at == '\n';
    }
    if (at == parser->end) {
        parser->is_cut = true;
        return csv_problem(parser, "a quoted field is not closed");
    }
    parser->next = at + 1;
    *field = slice_between(begin, at);
    if (has_quotes) {
        *field = unquote(parser, *field);
    }
    return true;
}

static bool read_plain_field(struct csv_parser *parser, struct slice *field)
{
    const char *begin = parser->next;
    while (parser->next < parser->end && !memchr(",\r\n\"", *parser->next, 4)) {
        parser->next++;
    }
    if (parser->next < parser->end && *parser->next == '"') {
        return csv_problem(parser, "a quote inside a field that is not quoted");
    }
    *field = slice_between(begin, parser->next);
    return true;
}

static bool take_line_end(struct csv_parser *parser)
{
    if (parser->next < parser->end && *parser->next == '\r') {
        parser->next++;
    }
    if (parser->next < parser->end) {
        if (*parser->next != '\n') {
            return csv_problem(parser, "a field is followed by a comma or a line end");
        }
        parser->next++;
    }
    parser->next_line++;
    return true;
}

static bool read_record(struct csv_parser *parser)
{
    parser->line = parser->next_line;
    parser->field_count = 0;
    for (;;) {
        struct slice field;
        bool quoted = parser->next < parser->end && *parser->next == '"';
        if (!(quoted ? read_quoted_field(parser, &field) : read_plain_field(parser, &field))) {
            return false;
        }
        if (parser->field_count == CSV_COLUMNS) {
            return csv_problem(parser, "more than %d fields", CSV_COLUMNS);
        }
        parser->fields[parser->field_count++] = field;
        if (parser->next == parser->end || *parser->next != ',') {
            return take_line_end(parser);
        }
        parser->next++;
    }
}

static bool check_header(struct csv_parser *parser)
{
    if (!read_record(parser)) {
        return false;
    }
    bool good = parser->field_count == CSV_COLUMNS;
    for (size_t i = 0; good && i < CSV_COLUMNS; i++) {
        good = slice_equal(parser->fields[i], slice_of(column_names[i]));
    }
    return good || csv_problem(parser, "the header line is seq,date,from,to,amount,commodity");
}

static bool read_seq(struct csv_parser *parser, uint64_t *last_seq)
{
    struct slice text = parser->fields[CSV_SEQ];
    uint64_t seq = 0;
    bool good = text.size > 0 && text.size <= 18;
    for (size_t i = 0; good && i < text.size; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        seq = seq * 10 + (uint64_t)(text.data[i] - '0');
    }
    if (!good || seq == 0) {
        return csv_problem(parser, "seq is a whole number from 1: '%.*s'", SLICE_ARGUMENTS(text));
    }
    if (seq <= *last_seq) {
        return csv_problem(parser, "seq strictly increases: %llu after %llu",
                           (unsigned long long)seq, (unsigned long long)*last_seq);
    }
    *last_seq = seq;
    return true;
}

static bool read_account_field(struct csv_parser *parser, enum csv_column column, uint32_t *account)
{
    struct slice name = parser->fields[column];
    const char *wrong = syntax_account_problem(name);
    if (wrong) {
        return csv_problem(parser, "%s: '%.*s'", wrong, SLICE_ARGUMENTS(name));
    }
    *account = book_account(parser->book, name, parser->source, parser->line);
    return true;
}

static bool read_amount_fields(struct csv_parser *parser, struct money *money)
{
    struct slice amount = parser->fields[CSV_AMOUNT];
    struct slice symbol = parser->fields[CSV_COMMODITY];
    const char *at = amount.data;
    const char *end = amount.data + amount.size;
    unsigned scale;
    if (amount.size > 0 && amount.data[0] == '-') {
        return csv_problem(parser, "an amount is positive: '%.*s'", SLICE_ARGUMENTS(amount));
    }
    const char *wrong = syntax_number_problem(number_read(&at, end, &money->units, &scale));
    if (wrong || at != end) {
        return csv_problem(parser, "the amount '%.*s' is not a number: %s", SLICE_ARGUMENTS(amount),
                           wrong ? wrong : "something follows it");
    }
    if (money->units <= 0) {
        return csv_problem(parser, "an amount is positive");
    }
    wrong = syntax_symbol_problem(symbol);
    if (wrong) {
        return csv_problem(parser, "%s", wrong);
    }
    money->scale = (uint8_t)scale;
    money->commodity = book_commodity(parser->book, symbol);
    struct commodity *commodity = &parser->book->commodities[money->commodity];
    commodity->seen = true;
    commodity->spaced = true;
    book_see_scale(parser->book, money->commodity, scale);
    return true;
}

static void add_transfer_posting(struct csv_parser *parser, uint32_t account,
                                 const struct money *money, bool taken)
{
    uint32_t cell = book_cell(parser->book, account, money->commodity);
    struct posting *posting = book_add_posting(parser->book);
    posting->cell = cell;
    posting->amount = taken ? -money->units : money->units;
    posting->scale = money->scale;
    posting->line = parser->line;
}

static bool read_transfer(struct csv_parser *parser, uint64_t *last_seq)
{
    uint32_t date = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    struct money money;
    if (parser->field_count != CSV_COLUMNS) {
        return csv_problem(parser, "%zu fields where %d are expected", parser->field_count,
                           CSV_COLUMNS);
    }
    if (!read_seq(parser, last_seq)) {
        return false;
    }
    struct slice day = parser->fields[CSV_DATE];
    const char *at = day.data;
    const char *wrong = syntax_date(&at, day.data + day.size, &date);
    if (wrong || at != day.data + day.size) {
        return csv_problem(parser, "%s: '%.*s'", wrong ? wrong : "something follows the date",
                           SLICE_ARGUMENTS(day));
    }
    if (!read_account_field(parser, CSV_FROM, &from) || !read_account_field(parser, CSV_TO, &to) ||
        !read_amount_fields(parser, &money)) {
        return false;
    }
    struct transaction *transaction = book_add_transaction(parser->book);
    transaction->date = date;
    transaction->line = parser->line;
    transaction->source = parser->source;
    transaction->status = '*';
    transaction->has_code = true;
    transaction->code = parser->fields[CSV_SEQ].data;
    transaction->code_size = (uint32_t)parser->fields[CSV_SEQ].size;
    transaction->text = "transfer";
    transaction->text_size = sizeof "transfer" - 1;
    transaction->posting_count = 2;
    add_transfer_posting(parser, from, &money, true);
    add_transfer_posting(parser, to, &money, false);
    return true;
}

/* Goes to the next line, after a record that has no end. */
static void skip_line(struct csv_parser *parser)
{
    while (parser->next < parser->end && *parser->next != '\n') {
        parser->next++;
    }
    if (parser->next < parser->end) {
        parser->next++;
    }
    parser->next_line++;
}

/* A record of one field that begins with # is a comment, as in a file of rejected records. */
static bool is_comment(const struct csv_parser *parser)
{
    return parser->field_count == 1 && parser->fields[0].size > 0 &&
           parser->fields[0].data[0] == '#';
}

/* Notes a fault of the record. `last_seq` is what it was before. */
static bool pass_fault(struct csv_parser *parser, uint64_t last_seq, uint64_t *seq)
{
    *seq = parser->book->rejects.is_on ? last_seq : *seq;
    return book_take_fault(parser->book, parser->source, parser->is_cut ? 0 : parser->line,
                           parser->problem);
}

/* Reads a record, unless it was rejected. Returns false if the reader must stop. */
static bool read_next(struct csv_parser *parser, uint64_t *last_seq)
{
    const char *begin = parser->next;
    uint64_t seq = *last_seq;
    bool is_whole = read_record(parser);
    struct reject *reject = rejects_find(&parser->book->rejects, parser->source, parser->line);
    if (!is_whole) {
        skip_line(parser);
    }
    if (reject) {
        reject->text = slice_between(begin, parser->next);
        return true;
    }
    return (is_whole && (is_comment(parser) || read_transfer(parser, last_seq))) ||
           pass_fault(parser, seq, last_seq);
}

bool csv_read(struct book *book, const char *name, uint64_t *last_seq, struct problem *problem)
{
    const struct source *source = sources_read_once(&book->sources, name, SOURCE_OF_USER, problem);
    if (!source) {
        return false;
    }
    struct csv_parser parser = { .book = book,
                                 .problem = problem,
                                 .source = (uint32_t)book->sources.count - 1,
                                 .line = 1,
                                 .next_line = 1,
                                 .next = source->data,
                                 .end = source->data + source->size };
    bool goes_on = check_header(&parser);
    while (goes_on && parser.next < parser.end) {
        goes_on = read_next(&parser, last_seq);
    }
    return goes_on;
}
