/*
 * The faults of the input. A reader continues after a fault, so that the user sees many at once.
 */
#ifndef LEDGERBATCH_BOOK_FAULTS_H
#define LEDGERBATCH_BOOK_FAULTS_H

#include <stddef.h>

#include "problem.h"

/* After so many faults a reader stops. */
#define FAULTS_MAX 20

struct faults {
    struct problem *items; /* in the order of finding */
    size_t count, capacity;
};

/*
 * Takes a problem in the contents of a file. Returns true if the reader may continue.
 * Returns false for other problems, and for the last of FAULTS_MAX faults.
 */
bool faults_take(struct faults *faults, const struct problem *problem);

/* Sets the problem to the first fault, if there is one. Returns true if there is none. */
bool faults_none(const struct faults *faults, struct problem *problem);

void faults_fini(struct faults *faults);

#endif
