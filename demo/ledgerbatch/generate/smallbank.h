/*
 * Books for load tests: a journal with the transactions of the SmallBank benchmark. Equal
 * options give equal journals.
 */
#ifndef LEDGERBATCH_GENERATE_SMALLBANK_H
#define LEDGERBATCH_GENERATE_SMALLBANK_H

#include "problem.h"

struct generate_options {
    unsigned long customers, transactions, months, seed;
};

/* Writes the journal to standard output. */
bool generate_smallbank(const struct generate_options *options, struct problem *problem);

#endif
