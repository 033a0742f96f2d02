/*
 * Reads journals in the portable subset of the plain-text format, which ledger and hledger both
 * accept. Anything outside the subset is a problem "FILE:LINE: message".
 */
#ifndef LEDGERBATCH_READ_JOURNAL_H
#define LEDGERBATCH_READ_JOURNAL_H

#include "book/book.h"

/* How the reader finds the client of a transaction. */
enum client_by {
    CLIENT_BY_DEPTH, /* the first components of its accounts' names */
    CLIENT_BY_FILE,  /* the file that the user named; its name without folders and ending */
    CLIENT_BY_PAYEE, /* its text, up to '|' */
    CLIENT_BY_TAG    /* a tag in its comments */
};

/* Unless it is by depth, each account of the journal gets the client's name before its own. */
struct journal_clients {
    enum client_by by;
    const char *tag; /* of CLIENT_BY_TAG; else NULL */
};

/* The client of a transaction that has no payee, or not the tag. */
#define JOURNAL_NO_CLIENT "none"

/* Reads one journal, and the files that it includes, into the book. "-" is standard input. */
bool journal_read(struct book *book, const char *name, const struct journal_clients *clients,
                  struct problem *problem);

/*
 * Reads a journal from memory, with accounts whose names begin with the client. Problems call it by
 * the name. Copies the text.
 */
bool journal_read_text(struct book *book, const char *name, struct slice text,
                       struct problem *problem);

#endif
