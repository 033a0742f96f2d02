/*
 * Reads transfers: comma-separated values (RFC 4180) with the header line
 * seq,date,from,to,amount,commodity.
 */
#ifndef LEDGERBATCH_READ_CSV_H
#define LEDGERBATCH_READ_CSV_H

#include "book/book.h"

/*
 * Reads one file into the book. A record of one field that begins with # is a comment.
 * *last_seq is 0 at first, and is passed on from file to file.
 */
bool csv_read(struct book *book, const char *name, uint64_t *last_seq, struct problem *problem);

#endif
