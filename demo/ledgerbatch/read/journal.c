/* Owns the lines of a journal: the kind of each line, and the ends of transactions. */
#include "read/journal.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "read/journal_lex.h"

/* ledger reads lines of at most 4095 bytes; those of a refused transaction get "; " in front. */
#define LINE_SIZE_MAX 4000
/*
 * Each nested file takes stack. Files that each include the next one twice double the count at
 * every step, so the count is limited, too.
 */
#define INCLUDE_DEPTH_MAX 100
#define INCLUDE_COUNT_MAX 100000

static bool end_transaction(struct journal_parser *parser)
{
    struct book *book = parser->book;
    uint32_t number = (uint32_t)book->transaction_count - 1;
    const struct transaction *transaction = &book->transactions[number];
    if (transaction->posting_count == 0) {
        parser->line = transaction->line;
        return journal_problem(parser, "a transaction needs postings");
    }
    if (transaction->has_assigned && transaction->has_bracketed) {
        parser->line = transaction->line;
        return journal_problem(parser, "a transaction with postings in square brackets has no "
                                       "balance assignment: write the amount");
    }
    if (transaction->has_assigned && parser->seen_elided && parser->seen_price) {
        parser->line = parser->elided_line;
        return journal_problem(parser,
                               "hledger leaves prices out of a missing amount if there is a "
                               "balance assignment: write the amount");
    }
    bool is_settled = transaction->has_assigned
                          ? settle_later(&parser->settler, book, number, parser->problem)
                          : settle_transaction(&parser->settler, book, number, parser->problem);
    if (!is_settled && book->rejects.is_on) {
        book_add_reject_sums(book, number);
    }
    return is_settled;
}

/*
 * Notes a fault and drops its transaction. The reader then continues at the next line. Returns
 * false if it cannot.
 */
static bool pass_fault(struct journal_parser *parser)
{
    if (parser->has_stopped) {
        return false;
    }
    parser->has_stopped =
        !book_take_fault(parser->book, parser->source, parser->entry_line, parser->problem);
    book_drop_transactions(parser->book, parser->good_count);
    return !parser->has_stopped;
}

/* Ends the transaction or directive that an indented line would belong to. */
static bool end_block(struct journal_parser *parser)
{
    bool is_transaction = parser->block == BLOCK_TRANSACTION;
    uint32_t line = parser->line;
    parser->block = BLOCK_NONE;
    if (is_transaction && !end_transaction(parser)) {
        parser->line = line;
        return pass_fault(parser);
    }
    parser->good_count = parser->book->transaction_count;
    return true;
}

static bool read_code(struct journal_parser *parser, struct transaction *transaction)
{
    if (parser->at == parser->end || *parser->at != '(') {
        return true;
    }
    const char *begin = parser->at + 1;
    const char *close = memchr(begin, ')', (size_t)(parser->end - begin));
    if (!close) {
        return journal_problem(parser, "the code's bracket is not closed");
    }
    transaction->has_code = true;
    transaction->code = begin;
    transaction->code_size = (uint32_t)(close - begin);
    parser->at = close + 1;
    journal_skip_blanks(parser);
    return true;
}

/* Sets the client of a transaction with a text. A tag in a comment may change it. */
static bool begin_client(struct journal_parser *parser, struct slice text)
{
    const char *bar = text.size > 0 ? memchr(text.data, '|', text.size) : NULL;
    if (parser->clients->by == CLIENT_BY_PAYEE) {
        return journal_take_client(parser, bar ? slice_between(text.data, bar) : text);
    }
    return parser->clients->by != CLIENT_BY_TAG ||
           journal_take_client(parser, slice_of(JOURNAL_NO_CLIENT));
}

/* Reads the text, and checks the comment that may follow it. */
static bool read_text(struct journal_parser *parser, struct transaction *transaction)
{
    const char *begin = parser->at;
    const char *comment = memchr(begin, ';', (size_t)(parser->end - begin));
    const char *end = comment ? comment : parser->end;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    transaction->text = begin;
    transaction->text_size = (uint32_t)(end - begin);
    if (!begin_client(parser, slice_between(begin, end))) {
        return false;
    }
    return !comment || journal_comment(parser, slice_between(comment, parser->end), false);
}

/* Reads the date. Both programs ignore the secondary date that may follow it: DATE=DATE. */
static bool read_dates(struct journal_parser *parser, uint32_t *date)
{
    uint32_t secondary;
    if (!journal_date(parser, parser->scope.year, date)) {
        return false;
    }
    if (parser->at < parser->end && *parser->at == '=') {
        parser->at++;
        if (!journal_date(parser, *date / 10000, &secondary)) {
            return false;
        }
    }
    return parser->at == parser->end || *parser->at == ' ' || *parser->at == '\t' ||
           journal_problem(parser, "a space goes after the date");
}

/* DATE[=DATE] [*|!] [(CODE)] TEXT */
static bool read_header(struct journal_parser *parser)
{
    uint32_t date;
    if (!read_dates(parser, &date)) {
        return false;
    }
    journal_skip_blanks(parser);
    struct transaction *transaction = book_add_transaction(parser->book);
    transaction->date = date;
    transaction->line = parser->line;
    transaction->source = parser->source;
    if (parser->at < parser->end && (*parser->at == '*' || *parser->at == '!')) {
        transaction->status = *parser->at++;
        journal_skip_blanks(parser);
    }
    if (!read_code(parser, transaction) || !read_text(parser, transaction)) {
        return false;
    }
    parser->block = BLOCK_TRANSACTION;
    parser->seen_elided = false;
    parser->seen_price = false;
    return true;
}

/* Reads a line of a transaction: a posting, or a comment on the posting or header before it. */
static bool read_in_transaction(struct journal_parser *parser)
{
    const struct book *book = parser->book;
    if (*parser->at != ';') {
        return journal_posting(parser);
    }
    bool of_posting = book->transactions[book->transaction_count - 1].posting_count > 0;
    return journal_comment(parser, slice_between(parser->at, parser->end), of_posting);
}

static bool read_indented(struct journal_parser *parser)
{
    journal_skip_blanks(parser);
    if (parser->at == parser->end) {
        bool ended = end_block(parser);
        parser->entry_line = 0;
        return ended;
    }
    switch (parser->block) {
    case BLOCK_TRANSACTION:
        return read_in_transaction(parser);
    case BLOCK_FAULTY:
        return true;
    case BLOCK_ACCOUNT:
    case BLOCK_COMMODITY:
    case BLOCK_NAME:
        return journal_subdirective(parser);
    case BLOCK_NONE:
    case BLOCK_COMMENT:
        break;
    }
    return journal_problem(parser, "an indented line belongs to no transaction or directive");
}

static bool read_file(struct journal_parser *parser, const char *name);

/* Reads the file that an include directive has named, if the line was one. */
static bool read_included(struct journal_parser *parser)
{
    char *path = parser->included_path;
    bool read = true;
    if (path) {
        parser->included_path = NULL;
        read = read_file(parser, path);
        free(path);
    }
    return read;
}

static bool read_at_margin(struct journal_parser *parser)
{
    char first = *parser->at;
    if (first == ';' || first == '#' || first == '*') {
        return true;
    }
    if (first >= '0' && first <= '9') {
        return read_header(parser);
    }
    return journal_directive(parser) && read_included(parser);
}

static bool read_in_comment(struct journal_parser *parser)
{
    struct slice line = slice_between(parser->at, parser->end);
    struct slice closing = slice_of("end comment");
    struct slice other = slice_of("end test");
    if (!journal_check_line_end(parser, "the last line of a comment")) {
        return false;
    }
    if (slice_equal(line, closing)) {
        parser->block = BLOCK_NONE;
    } else if (line.size >= other.size && memcmp(line.data, other.data, other.size) == 0) {
        return journal_problem(parser, "'end test' ends a comment for ledger only: indent it");
    } else if (line.size > closing.size && memcmp(line.data, closing.data, closing.size) == 0) {
        return journal_problem(parser, "'end comment' must be alone on its line");
    }
    return true;
}

static bool read_line(struct journal_parser *parser)
{
    if (memchr(parser->at, 0, (size_t)(parser->end - parser->at))) {
        return journal_problem(parser, "a zero byte: this is not text");
    }
    if (parser->end - parser->at > LINE_SIZE_MAX) {
        return journal_problem(parser, "a line has at most %d bytes", LINE_SIZE_MAX);
    }
    if (parser->block == BLOCK_COMMENT) {
        return read_in_comment(parser);
    }
    if (parser->at == parser->end) {
        return true;
    }
    if (*parser->at == ' ' || *parser->at == '\t') {
        return read_indented(parser);
    }
    return read_at_margin(parser);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Begins a line. One that is not indented ends the transaction or directive before it. */
static bool begin_line(struct journal_parser *parser)
{
    bool is_empty = parser->at == parser->end;
    if (parser->block == BLOCK_COMMENT || (!is_empty && is_blank(*parser->at))) {
        return true;
    }
    if (!end_block(parser)) {
        return false;
    }
    bool begins_entry = !is_empty && *parser->at >= '0' && *parser->at <= '9';
    parser->block_line = parser->line;
    parser->entry_line = begins_entry ? parser->line : 0;
    parser->reject = rejects_find(&parser->book->rejects, parser->source, parser->entry_line);
    if (parser->reject) {
        parser->reject->text = (struct slice){ parser->at, 0 };
    }
    return true;
}

/* Passes over a line of a rejected transaction, if it is one: up to `next`. */
static bool pass_rejected(struct journal_parser *parser, const char *next)
{
    const char *at = parser->at;
    while (at < parser->end && is_blank(*at)) {
        at++;
    }
    if (!parser->reject || at == parser->end) {
        parser->reject = NULL;
        return false;
    }
    struct slice *text = &parser->reject->text;
    *text = slice_between(text->data, next);
    return true;
}

static bool read_lines(struct journal_parser *parser, struct journal_file *file)
{
    while (file->next < file->end) {
        const char *newline = memchr(file->next, '\n', (size_t)(file->end - file->next));
        parser->at = file->next;
        parser->end = newline ? newline : file->end;
        parser->has_line_end = newline != NULL;
        file->next = newline ? newline + 1 : file->end;
        parser->line++;
        if (parser->end > parser->at && parser->end[-1] == '\r') {
            parser->end--;
        }
        if (!begin_line(parser)) {
            return false;
        }
        if (!pass_rejected(parser, file->next) && !read_line(parser)) {
            if (!pass_fault(parser)) {
                return false;
            }
            parser->block = parser->block == BLOCK_COMMENT ? BLOCK_COMMENT : BLOCK_FAULTY;
        }
    }
    return end_block(parser); /* The end of a file ends a comment, too. */
}

/* Checks that one more file may be included. */
static bool check_include_limits(struct journal_parser *parser)
{
    unsigned depth = 0;
    for (const struct journal_file *file = parser->file; file; file = file->includer) {
        depth++;
    }
    if (depth > INCLUDE_DEPTH_MAX) {
        return journal_problem(parser, "files include one another more than %d deep",
                               INCLUDE_DEPTH_MAX);
    }
    return depth == 0 || parser->book->sources.count < INCLUDE_COUNT_MAX ||
           journal_problem(parser, "more than %d files are included", INCLUDE_COUNT_MAX);
}

static bool includes_itself(const struct journal_parser *parser, const struct source *source)
{
    for (const struct journal_file *file = parser->file; file; file = file->includer) {
        const struct source *open = parser->book->sources.items[file->source];
        if (open->device == source->device && open->inode == source->inode) {
            return true;
        }
    }
    return false;
}

/* Reads the lines of the source that was added last. */
static bool read_source(struct journal_parser *parser, const struct source *source)
{
    struct journal_file file = { parser->file, (uint32_t)parser->book->sources.count - 1,
                                 source->data, source->data + source->size };
    struct journal_scope scope = parser->scope;
    size_t defined_count = parser->names.defined_count;
    parser->scope.applied_count = parser->names.applied_count;
    parser->file = &file;
    parser->source = file.source;
    parser->line = 0;
    parser->block = BLOCK_NONE;
    parser->entry_line = 0;
    parser->reject = NULL;
    bool read = read_lines(parser, &file);
    parser->entry_line = 0;
    if (file.includer && !journal_names_end_file(parser, defined_count)) {
        read = pass_fault(parser) && read;
    }
    parser->file = file.includer;
    parser->scope = scope;
    return read;
}

/* Reads an included file, or the file that the user named. */
static bool read_file(struct journal_parser *parser, const char *name)
{
    struct sources *sources = &parser->book->sources;
    uint32_t line = parser->line;
    uint32_t includer = parser->source;
    if (!check_include_limits(parser)) {
        return false;
    }
    enum source_namer namer = parser->file ? SOURCE_INCLUDED : SOURCE_OF_USER;
    const struct source *source = sources_read_once(sources, name, namer, parser->problem);
    if (!source && parser->file && parser->problem->code == EXIT_CODE_IO) {
        struct problem reason = *parser->problem;
        return journal_problem(parser, "%.900s", reason.text);
    }
    if (!source) {
        return false;
    }
    if (includes_itself(parser, source)) {
        return journal_problem(parser, "%s includes itself", name);
    }
    bool read = read_source(parser, source);
    parser->source = includer;
    parser->line = line;
    return read;
}

/* Sets the client of all that the file has: its name without folders and ending. */
static bool set_client_of_file(struct journal_parser *parser, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct slice name = slice_of(slash ? slash + 1 : path);
    const char *dot = strrchr(name.data, '.');
    if (dot && dot > name.data) {
        name.size = (size_t)(dot - name.data);
    }
    struct names *known = &parser->book->file_clients;
    size_t count = known->count;
    if (strcmp(path, "-") == 0) {
        return problem_set(parser->problem, EXIT_CODE_INPUT,
                           "--client-by file: standard input has no name");
    }
    if (names_intern(known, name) < count) {
        return problem_set(parser->problem, EXIT_CODE_INPUT,
                           "--client-by file: two files have the name '%.*s'",
                           SLICE_ARGUMENTS(name));
    }
    const char *wrong = sources_is_utf8(name) ? journal_set_client(parser, name) : "no UTF-8 text";
    return !wrong || problem_set(parser->problem, EXIT_CODE_INPUT,
                                 "--client-by file: '%.*s' cannot be the name of a client: %s",
                                 SLICE_ARGUMENTS(name), wrong);
}

static bool finish(struct journal_parser *parser, bool read)
{
    read = read || (!parser->has_stopped && faults_take(&parser->book->faults, parser->problem));
    settler_fini(&parser->settler);
    journal_names_fini(&parser->names, parser->book);
    return read;
}

bool journal_read(struct book *book, const char *name, const struct journal_clients *clients,
                  struct problem *problem)
{
    struct journal_parser parser = {
        .book = book, .problem = problem, .clients = clients, .good_count = book->transaction_count
    };
    if (clients->by == CLIENT_BY_FILE && !set_client_of_file(&parser, name)) {
        journal_names_fini(&parser.names, book);
        return false;
    }
    return finish(&parser, read_file(&parser, name));
}

bool journal_read_text(struct book *book, const char *name, struct slice text,
                       struct problem *problem)
{
    static const struct journal_clients by_depth = { .by = CLIENT_BY_DEPTH };
    struct journal_parser parser = { .book = book,
                                     .problem = problem,
                                     .clients = &by_depth,
                                     .good_count = book->transaction_count };
    struct source *source = sources_add(&book->sources, name);
    source->size = text.size;
    source->data = memory_zeroed(text.size + 1, 1);
    memcpy(source->data, text.data, text.size);
    return finish(&parser, sources_accept(source, problem) && read_source(&parser, source));
}
