/*
 * The limit of --max-refused: how many transactions may be refused, as a number or in per cent.
 */
#ifndef LEDGERBATCH_RUN_REFUSAL_LIMIT_H
#define LEDGERBATCH_RUN_REFUSAL_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/amount.h"

struct refusal_limit {
    const char *text; /* as the user wrote it */
    bool is_set, is_percent;
    struct decimal value;
};

/* Reads N or P%. P may have decimals. Returns false if the text is neither. */
bool refusal_limit_read(struct refusal_limit *limit, const char *text);

/* Returns true if `refused` of `read` transactions are more than the limit. */
bool refusal_limit_is_exceeded(const struct refusal_limit *limit, size_t refused, size_t read);

#endif
