/* Owns the opening of an existing database, and the end of standard output. */
#include "inspect/existing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct store *inspect_open(const char *database, struct store_facts *facts, struct problem *problem)
{
    struct store *store = store_open(database, STORE_READ, problem);
    if (!store) {
        return NULL;
    }
    if (store_read_facts(store, facts, problem) &&
        (facts->state != STORE_EMPTY ||
         problem_set(problem, EXIT_CODE_OTHER, "%s: the database is empty", database))) {
        return store;
    }
    store_close(store);
    return NULL;
}

void inspect_warn(const char *database, const struct store_facts *facts, const char *what)
{
    if (facts->state == STORE_UNFINISHED) {
        fprintf(stderr, "ledgerbatch: %s is not finished: these are the %s so far\n", database,
                what);
    }
}

bool inspect_flush(struct problem *problem)
{
    return (!ferror(stdout) && fflush(stdout) == 0) ||
           problem_set(problem, EXIT_CODE_IO, "standard output: %s", strerror(errno));
}
