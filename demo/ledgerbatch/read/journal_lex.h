/*
 * The state of the journal reader, and its parts: tokens (read/journal_lex.c), postings
 * (read/journal_posting.c), directives (read/journal_directive.c). Only the journal reader uses
 * this.
 */
#ifndef LEDGERBATCH_READ_JOURNAL_LEX_H
#define LEDGERBATCH_READ_JOURNAL_LEX_H

#include "book/book.h"
#include "book/settle.h"

/* The kinds of lines that an indented line can belong to. Those of a faulty one are skipped. */
enum journal_block {
    BLOCK_NONE,
    BLOCK_TRANSACTION,
    BLOCK_ACCOUNT,
    BLOCK_COMMODITY,
    BLOCK_COMMENT,
    BLOCK_FAULTY
};

/* One open file. */
struct journal_file {
    const struct journal_file *includer; /* NULL for the one that the user named */
    uint32_t source;
    const char *next, *end; /* the unread bytes */
};

struct journal_parser {
    struct book *book;
    struct problem *problem;
    struct settler settler;
    const struct journal_file *file;
    const char *at, *end; /* the rest of the current line, without its line end */
    uint32_t source, line;
    enum journal_block block;
    uint32_t block_line;    /* the first line of the block */
    uint32_t block_subject; /* the account or commodity of a directive */
    size_t good_count;      /* how many transactions of the book have no fault */
    bool has_stopped;       /* after a fault that cannot be passed */
    bool seen_elided;       /* the open transaction has a posting without an amount */
    uint32_t elided_line;   /* the line of that posting */
    char *included_path;    /* set by an include directive: the file to read next; else NULL */
};

bool journal_problem(struct journal_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void journal_skip_blanks(struct journal_parser *parser);

/* Returns true if the rest of the line is empty or a comment. */
bool journal_at_end(const struct journal_parser *parser);

/* Reads an account's name, which ends at two spaces, a tab or the end of the line. */
bool journal_account(struct journal_parser *parser, uint32_t *account);

/* Reads a commodity's symbol, quoted or not. */
bool journal_symbol(struct journal_parser *parser, uint32_t *commodity);

/* Reads an amount with its commodity. The first one sets how the commodity is written. */
bool journal_amount(struct journal_parser *parser, struct money *money);

/* Reads one posting of the open transaction. */
bool journal_posting(struct journal_parser *parser);

/*
 * Reads a line that is not indented and neither a transaction nor a comment. An include directive
 * sets included_path.
 */
bool journal_directive(struct journal_parser *parser);

/* Reads an indented line of an account or commodity directive. */
bool journal_subdirective(struct journal_parser *parser);

#endif
