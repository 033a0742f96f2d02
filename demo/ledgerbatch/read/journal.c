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
    if (transaction->has_assigned) {
        return settle_later(&parser->settler, book, number, parser->problem);
    }
    return settle_transaction(&parser->settler, book, number, parser->problem);
}

/*
 * Notes a fault and drops its transaction. The reader then goes on with the next line. Returns
 * false if it cannot.
 */
static bool pass_fault(struct journal_parser *parser)
{
    if (parser->has_stopped) {
        return false;
    }
    parser->has_stopped = !faults_take(&parser->book->faults, parser->problem);
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

static void read_text(struct journal_parser *parser, struct transaction *transaction)
{
    const char *begin = parser->at;
    const char *end = memchr(begin, ';', (size_t)(parser->end - begin));
    end = end ? end : parser->end;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    transaction->text = begin;
    transaction->text_size = (uint32_t)(end - begin);
}

/* Returns the unread bytes of the line up to a blank. */
static struct slice first_word(const struct journal_parser *parser)
{
    const char *end = parser->at;
    while (end < parser->end && *end != ' ' && *end != '\t') {
        end++;
    }
    return slice_between(parser->at, end);
}

/* DATE [*|!] [(CODE)] TEXT */
static bool read_header(struct journal_parser *parser)
{
    uint32_t date;
    const char *wrong = syntax_date(&parser->at, parser->end, &date);
    if (wrong) {
        return journal_problem(parser, "%s: '%.*s'", wrong, SLICE_ARGUMENTS(first_word(parser)));
    }
    if (parser->at < parser->end && *parser->at != ' ' && *parser->at != '\t') {
        return journal_problem(parser, *parser->at == '='
                                           ? "secondary dates are not in the portable subset"
                                           : "a space goes after the date");
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
    if (!read_code(parser, transaction)) {
        return false;
    }
    read_text(parser, transaction);
    parser->block = BLOCK_TRANSACTION;
    parser->seen_elided = false;
    return true;
}

static bool read_indented(struct journal_parser *parser)
{
    journal_skip_blanks(parser);
    if (parser->at == parser->end) {
        return end_block(parser);
    }
    switch (parser->block) {
    case BLOCK_TRANSACTION:
        return *parser->at == ';' || journal_posting(parser);
    case BLOCK_FAULTY:
        return true;
    case BLOCK_ACCOUNT:
    case BLOCK_COMMODITY:
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
    if (!end_block(parser)) {
        return false;
    }
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
    if (slice_equal(line, closing)) {
        parser->block = BLOCK_NONE;
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
        return end_block(parser);
    }
    if (*parser->at == ' ' || *parser->at == '\t') {
        return read_indented(parser);
    }
    return read_at_margin(parser);
}

static bool read_lines(struct journal_parser *parser, struct journal_file *file)
{
    while (file->next < file->end) {
        const char *newline = memchr(file->next, '\n', (size_t)(file->end - file->next));
        parser->at = file->next;
        parser->end = newline ? newline : file->end;
        file->next = newline ? newline + 1 : file->end;
        parser->line++;
        if (parser->end > parser->at && parser->end[-1] == '\r') {
            parser->end--;
        }
        if (parser->block == BLOCK_NONE) {
            parser->block_line = parser->line;
        }
        if (!read_line(parser)) {
            if (!pass_fault(parser)) {
                return false;
            }
            parser->block = BLOCK_FAULTY;
        }
    }
    if (parser->block == BLOCK_COMMENT) {
        parser->line = parser->block_line;
        journal_problem(parser, "this comment has no 'end comment'");
        return pass_fault(parser);
    }
    return end_block(parser);
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
    parser->file = &file;
    parser->source = file.source;
    parser->line = 0;
    parser->block = BLOCK_NONE;
    bool read = read_lines(parser, &file);
    parser->file = file.includer;
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
    const struct source *source = sources_read(sources, name, namer, parser->problem);
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

bool journal_read(struct book *book, const char *name, struct problem *problem)
{
    struct journal_parser parser = { .book = book,
                                     .problem = problem,
                                     .good_count = book->transaction_count };
    bool read = read_file(&parser, name) || faults_take(&book->faults, problem);
    settler_fini(&parser.settler);
    return read;
}

bool journal_read_text(struct book *book, const char *name, struct slice text,
                       struct problem *problem)
{
    struct journal_parser parser = { .book = book,
                                     .problem = problem,
                                     .good_count = book->transaction_count };
    struct source *source = sources_add(&book->sources, name);
    source->size = text.size;
    source->data = memory_zeroed(text.size + 1, 1);
    memcpy(source->data, text.data, text.size);
    bool read = (sources_accept(source, problem) && read_source(&parser, source)) ||
                faults_take(&book->faults, problem);
    settler_fini(&parser.settler);
    return read;
}
