/*
 * The check of output files against their hashes in the database.
 */
#ifndef LEDGERBATCH_INSPECT_VERIFY_OUTPUTS_H
#define LEDGERBATCH_INSPECT_VERIFY_OUTPUTS_H

#include "store/store.h"

/*
 * Checks that a folder has exactly the files that the store's batches have written, with the same
 * bytes. Sets *count to how many there are. It is a problem if a file has changed, is missing, or
 * is of no batch.
 */
bool verify_outputs(struct store *store, const char *folder, size_t *count,
                    struct problem *problem);

#endif
