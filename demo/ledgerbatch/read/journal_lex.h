/*
 * The lines and tokens of a journal, and the parser's state: internal to the
 * journal reader (read/journal.c, read/journal_posting.c, read/journal_directive.c).
 */
#ifndef LEDGERBATCH_READ_JOURNAL_LEX_H
#define LEDGERBATCH_READ_JOURNAL_LEX_H

#include "book/book.h"
#include "book/settle.h"

/* What an indented line belongs to. */
enum journal_block { BLOCK_NONE, BLOCK_TRANSACTION, BLOCK_ACCOUNT, BLOCK_COMMODITY, BLOCK_COMMENT };

/* One open file. */
struct journal_file {
    const struct journal_file *includer; /* NULL for the one that the user named */
    uint32_t source;
    const char *next, *end; /* what is still unread */
};

struct journal_parser {
    struct book *book;
    struct problem *problem;
    struct settler settler;
    const struct journal_file *file;
    const char *at, *end; /* the rest of the current line, without its line end */
    uint32_t source, line;
    enum journal_block block;
    uint32_t block_line;    /* where the block began */
    uint32_t block_subject; /* the account or commodity of a directive */
    bool seen_elided;       /* the open transaction has a posting without an amount */
    char *included_path;    /* a file to be read next, which an include directive names; or NULL */
};

bool journal_problem(struct journal_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void journal_skip_blanks(struct journal_parser *parser);

/* Whether the rest of the line is empty or a comment. */
bool journal_at_end(const struct journal_parser *parser);

/* An account's name: it ends at two spaces, a tab or the end of the line. */
bool journal_account(struct journal_parser *parser, uint32_t *account);

/* A commodity's symbol, quoted or not. */
bool journal_symbol(struct journal_parser *parser, uint32_t *commodity);

/* An amount with its commodity, which learns how it is written. */
bool journal_amount(struct journal_parser *parser, struct money *money);

/* One posting of the open transaction. */
bool journal_posting(struct journal_parser *parser);

/* A line at the margin that is neither transaction nor comment; may set included_path. */
bool journal_directive(struct journal_parser *parser);

/* An indented line of an account or commodity directive. */
bool journal_subdirective(struct journal_parser *parser);

#endif
