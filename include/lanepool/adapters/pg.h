/**
 * @file
 * Remote batches in PostgreSQL: a store for remote.h. In a library of its own: link `lanepool::pg`.
 * It needs libpq 14 or later, and a server of version 14 or later. See docs/remote-postgresql.md.
 */
#ifndef LANEPOOL_ADAPTERS_PG_H
#define LANEPOOL_ADAPTERS_PG_H

#include "lanepool/remote_store.h"

LANEPOOL_C_BEGIN

/**
 * @addtogroup remote_stores
 * @{
 */

/** A connection to a batch in PostgreSQL. It serves one node, or one submitter, at a time. */
typedef struct lanepool_pg_store lanepool_pg_store;

/** How a batch is opened. Begin with LANEPOOL_PG_OPTIONS_INIT. */
typedef struct lanepool_pg_options {
    size_t struct_size;        /**< sizeof(lanepool_pg_options) */
    uint32_t shard_count;      /**< of a new batch, up to 16384; 0: 64, or what the batch has */
    bool must_exist;           /**< do not make a new batch */
    uint64_t statement_max_ns; /**< the server ends a longer statement; 0: 30 s */
    uint64_t lock_max_ns;      /**< and one that waits longer for one lock; 0: 10 s */
    uint64_t idle_max_ns;      /**< and a transaction that is open and idle for longer; 0: 10 s */
    char *error;               /**< receives the text of a failure, "" otherwise; or NULL */
    size_t error_size;         /**< the bytes of `error`; a longer text is cut off */
} lanepool_pg_options;

/** The default options. */
#define LANEPOOL_PG_OPTIONS_INIT                             \
    {                                                        \
        sizeof(lanepool_pg_options), 0, false, 0, 0, 0, 0, 0 \
    }

/**
 * Connects to a server, and opens a batch. Unless it exists, makes its schema, `lanepool_BATCH`,
 * for which the role needs the right CREATE in the database, or must own an empty schema of that
 * name. No role needs to be a superuser.
 * @param conninfo What PQconnectdb() takes: keywords, an URI, or "". Copied; passwords and TLS are
 *                 configured as libpq offers.
 * @param batch    The name: 1 to 54 bytes, any characters.
 * @param options  NULL: the defaults. Read during the call only.
 * @param store    Receives the store, for lanepool_pg_close(); NULL on failure.
 * @retval LANEPOOL_INVALID     Also: there is no such batch, and it must exist; or it has another
 *                              version of the schema, or another number of shards.
 * @retval LANEPOOL_UNAVAILABLE The server cannot be reached, or refuses. Try again later.
 * @also NOMEM. @threads Any thread; waits for the server.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pg_open(
    const char *conninfo, const char *batch, const lanepool_pg_options *options,
    lanepool_pg_store **store);

/**
 * Disconnects, and frees the store. A node that has not left counts as dead from now on.
 * @param store NULL does nothing. No other call may use it.
 */
LANEPOOL_API void lanepool_pg_close(lanepool_pg_store *store);

/**
 * Returns the functions of such stores; never NULL. Their `store` is a lanepool_pg_store. A call
 * waits at most 2 s longer than `statement_max_ns` for the server.
 */
LANEPOOL_API const lanepool_remote_store_functions *lanepool_pg_functions(void);

/** @} */

LANEPOOL_C_END

#endif
