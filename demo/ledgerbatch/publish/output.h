/*
 * The outputs of a finished batch, written from its store.
 */
#ifndef LEDGERBATCH_PUBLISH_OUTPUT_H
#define LEDGERBATCH_PUBLISH_OUTPUT_H

#include "base/buffer.h"
#include "store/store.h"
#include "store/stored_book.h"

/* Where in the input a transaction stands: the store does not know files. */
struct output_places {
    void (*find)(const void *context, uint32_t seq, struct slice *file, uint32_t *line);
    const void *context;
};

struct output_options {
    const char *folder;
    bool statements; /* the plan has month-end statements */
    bool is_partial; /* the batch is held: see output_write() */
    struct output_places places;
};

/*
 * Writes balances.csv, posted.journal, refused.csv, statements/ and close/ into
 * the folder. While it reads, it adds everything up again: a store that does
 * not add up is reported and nothing is put in place.
 *
 * Of a batch that is held, the outputs are those of the rollups so far, which name
 * the clients that they went without: no balances.csv and no refused.csv, which
 * could not say that they are incomplete.
 */
bool output_write(struct store *store, const struct output_options *options,
                  struct problem *problem);

/* account,commodity,amount lines of all balances that are not zero, sorted, with a header. */
void output_balances(const struct stored_book *book, struct buffer *text);

#endif
