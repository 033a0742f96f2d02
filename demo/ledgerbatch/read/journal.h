/*
 * Reads journals: the portable subset of the plain-text format that ledger and
 * hledger both accept. Whatever lies outside stops with FILE:LINE: message.
 */
#ifndef LEDGERBATCH_READ_JOURNAL_H
#define LEDGERBATCH_READ_JOURNAL_H

#include "book/book.h"

/* Reads one journal, and what it includes, into the book. "-" is standard input. */
bool journal_read(struct book *book, const char *name, struct problem *problem);

#endif
