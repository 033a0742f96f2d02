/*
 * Reads transfers as comma-separated values (RFC 4180) with the header line
 * seq,date,from,to,amount,commodity.
 */
#ifndef LEDGERBATCH_READ_CSV_H
#define LEDGERBATCH_READ_CSV_H

#include "book/book.h"

/* Reads one file into the book. *last_seq is carried from file to file: it only rises. */
bool csv_read(struct book *book, const char *name, uint64_t *last_seq, struct problem *problem);

#endif
