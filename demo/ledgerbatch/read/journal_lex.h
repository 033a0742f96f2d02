/*
 * The state of the journal reader, and its parts: tokens (read/journal_lex.c), dates
 * (read/journal_date.c), comments (read/journal_comment.c), names (read/journal_names.c), postings
 * (read/journal_posting.c), lots (read/journal_lot.c), directives (read/journal_directive.c). Only
 * the journal reader uses this.
 */
#ifndef LEDGERBATCH_READ_JOURNAL_LEX_H
#define LEDGERBATCH_READ_JOURNAL_LEX_H

#include "base/buffer.h"
#include "base/names.h"
#include "book/book.h"
#include "book/settle.h"
#include "read/journal.h"

/* The kinds of lines that an indented line can belong to. Those of a faulty one are skipped. */
enum journal_block {
    BLOCK_NONE,
    BLOCK_TRANSACTION,
    BLOCK_ACCOUNT,
    BLOCK_COMMODITY,
    BLOCK_NAME, /* a directive that takes comments only: payee, tag */
    BLOCK_COMMENT,
    BLOCK_FAULTY
};

/* One open file. */
struct journal_file {
    const struct journal_file *includer; /* NULL for the one that the user named */
    uint32_t source;
    const char *next, *end; /* the unread bytes */
};

/*
 * The state that directives set. An included file begins with its includer's, and does not change
 * it.
 */
struct journal_scope {
    uint32_t year;          /* of dates without one; or 0 */
    bool has_default;       /* there was a D: hledger gives its commodity to amounts without one */
    bool has_default_comma; /* its decimals follow a comma: so hledger reads those of all */
    size_t applied_count;   /* of "apply account": those at the beginning of the file */
};

struct journal_alias {
    struct slice account; /* that it stands for; inside a source */
    bool is_over;         /* its included file has ended: ledger still reads it */
};

/* How apply account and alias change the names of accounts. */
struct journal_names {
    struct buffer client;  /* goes before all: "C:"; empty if clients are by depth */
    struct buffer applied; /* goes before each name: "A:B:" */
    size_t *sizes;         /* of `applied`, before each "apply account" that is not ended */
    size_t applied_count, size_capacity;
    struct names alias_names;
    struct journal_alias *aliases; /* by number of the name; the last one counts */
    uint32_t *defined;             /* these numbers in the order of definitions */
    size_t defined_count, alias_capacity, defined_capacity;
    struct buffer text; /* the name that is made; reused */
};

struct journal_parser {
    struct book *book;
    struct problem *problem;
    const struct journal_clients *clients;
    struct settler settler;
    const struct journal_file *file;
    const char *at, *end; /* the rest of the current line, without its line end */
    bool has_line_end;    /* of the current line; only the last one of a file can lack it */
    uint32_t source, line;
    struct journal_scope scope;
    struct journal_names names;
    enum journal_block block;
    uint32_t block_line;    /* the first line of the block */
    uint32_t block_subject; /* the account or commodity of a directive */
    size_t good_count;      /* how many transactions of the book have no fault */
    uint32_t entry_line;    /* the first line of the transaction, in which a fault is; or 0 */
    struct reject *reject;  /* the rejected transaction that the line belongs to, or NULL */
    bool has_stopped;       /* after a fault that cannot be passed */
    bool seen_elided;       /* the open transaction has a posting without an amount */
    uint32_t elided_line;   /* the line of that posting */
    bool seen_price;        /* the open transaction has a price */
    char *included_path;    /* set by an include directive: the file to read next; else NULL */
};

/* Returns true if each transaction has its own client. */
static inline bool journal_client_of_each(const struct journal_parser *parser)
{
    return parser->clients->by == CLIENT_BY_PAYEE || parser->clients->by == CLIENT_BY_TAG;
}

bool journal_problem(struct journal_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Refuses the last line of a file if it has no line end and hledger needs one after `what`. */
bool journal_check_line_end(struct journal_parser *parser, const char *what);

void journal_skip_blanks(struct journal_parser *parser);

/* Returns true if the rest of the line is empty or a comment. */
bool journal_at_end(const struct journal_parser *parser);

/* Reads an account's name, which ends at two spaces, a tab or the end of the line. */
struct slice journal_name(struct journal_parser *parser);

/* Return the account of a name in a posting, or in an account directive. Aliases are for postings.
 */
bool journal_posting_account(struct journal_parser *parser, struct slice name, uint32_t *account);
bool journal_declared_account(struct journal_parser *parser, struct slice name, uint32_t *account);

/*
 * Sets the client of the file or transaction that begins. In its name, ':' and '|' become '-', and
 * blanks become one space. Returns NULL, or what is wrong with it.
 */
const char *journal_set_client(struct journal_parser *parser, struct slice name);

/* Sets the client of a transaction, or reports that its name is wrong. */
bool journal_take_client(struct journal_parser *parser, struct slice name);

/* Read the rest of a directive: alias, apply, end. */
bool journal_read_alias(struct journal_parser *parser);
bool journal_read_apply(struct journal_parser *parser);
bool journal_read_end(struct journal_parser *parser);

/* Ends an included file, before which `defined_count` aliases had been defined. */
bool journal_names_end_file(struct journal_parser *parser, size_t defined_count);

/* Ends the file that the user has named, and frees. */
void journal_names_fini(struct journal_names *names, struct book *book);

/* Reads a commodity's symbol, quoted or not. */
bool journal_symbol(struct journal_parser *parser, uint32_t *commodity);

/*
 * Reads an amount. Without a commodity, its symbol is empty. The first one sets how the commodity
 * is written.
 */
bool journal_amount(struct journal_parser *parser, struct money *money);

/* Reads a date. `year` is that of a date without one; 0 if such a date is wrong. */
bool journal_date(struct journal_parser *parser, uint32_t year, uint32_t *date);

/* Returns true if a text is a valid date, and nothing follows it. */
bool journal_is_date(struct slice text, uint32_t year);

/*
 * Refuses a comment of a transaction or of one of its postings if a program would read a date of a
 * posting in it. Such a posting would be in another day's balances. Takes the client from its tag.
 */
bool journal_comment(struct journal_parser *parser, struct slice comment, bool of_posting);

/* Refuses an amount other than zero without a commodity after D: the two programs differ. */
bool journal_check_default(struct journal_parser *parser, const struct money *money);

/* Reads @ or @@ and the price of a posting in a commodity. */
bool journal_price(struct journal_parser *parser, struct posting *posting, uint32_t commodity);

/* Reads what may follow a posting's amount: a lot, and a price. */
bool journal_lot_and_price(struct journal_parser *parser, struct posting *posting,
                           struct money amount);

/* Reads one posting of the open transaction. */
bool journal_posting(struct journal_parser *parser);

/*
 * Reads a line that is not indented and neither a transaction nor a comment. An include directive
 * sets included_path.
 */
bool journal_directive(struct journal_parser *parser);

/* Reads an indented line of a directive. */
bool journal_subdirective(struct journal_parser *parser);

#endif
