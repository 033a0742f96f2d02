/*
 * Reads journals in the portable subset of the plain-text format, which ledger and hledger both
 * accept. Anything outside the subset is a problem "FILE:LINE: message".
 */
#ifndef LEDGERBATCH_READ_JOURNAL_H
#define LEDGERBATCH_READ_JOURNAL_H

#include "book/book.h"

/* Reads one journal, and the files that it includes, into the book. "-" is standard input. */
bool journal_read(struct book *book, const char *name, struct problem *problem);

/* Reads a journal from memory. Problems call it by the name. Copies the text. */
bool journal_read_text(struct book *book, const char *name, struct slice text,
                       struct problem *problem);

#endif
