/* Owns the list of faults; see book/faults.h. */
#include "book/faults.h"

#include <stdlib.h>

#include "memory.h"

bool faults_take(struct faults *faults, const struct problem *problem)
{
    if (!problem->has_place || faults->count == FAULTS_MAX) {
        return false;
    }
    faults->items =
        memory_grow(faults->items, &faults->capacity, faults->count + 1, sizeof *faults->items);
    faults->items[faults->count++] = *problem;
    return faults->count < FAULTS_MAX;
}

bool faults_none(const struct faults *faults, struct problem *problem)
{
    if (faults->count == 0) {
        return true;
    }
    *problem = faults->items[0];
    return false;
}

void faults_fini(struct faults *faults)
{
    free(faults->items);
    *faults = (struct faults){ 0 };
}
