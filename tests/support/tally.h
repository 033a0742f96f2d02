/* Counts for the summary that tests/run prints. */
#ifndef TESTS_SUPPORT_TALLY_H
#define TESTS_SUPPORT_TALLY_H

#include <stdio.h>
#include <stdlib.h>

/* Appends a line "<count> <what>" to the file that LANEPOOL_TALLY names, if it is set. */
static inline void tally(unsigned long long count, const char *what)
{
    const char *path = getenv("LANEPOOL_TALLY");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (file) {
        fprintf(file, "%llu %s\n", count, what);
        fclose(file);
    }
}

#endif
