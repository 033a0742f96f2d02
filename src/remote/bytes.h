/*
 * Bytes of entries and letters: numbers of 8 bytes, the lowest byte first, and strings with their
 * size before them. So machines of any byte order read them.
 */
#ifndef LANEPOOL_SRC_REMOTE_BYTES_H
#define LANEPOOL_SRC_REMOTE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/remote_store.h"

/* Bytes that grow. Zeroed, there are none. */
typedef struct lanepool_i_remote_buffer {
    unsigned char *data;
    size_t size;
    size_t capacity;
    bool has_failed; /* memory could not be allocated: the contents are useless */
} lanepool_i_remote_buffer;

void lanepool_i_remote_put_number(lanepool_i_remote_buffer *buffer, uint64_t number);
void lanepool_i_remote_put_bytes(lanepool_i_remote_buffer *buffer, lanepool_remote_bytes bytes);
/* Without its size. */
void lanepool_i_remote_put_raw(lanepool_i_remote_buffer *buffer, lanepool_remote_bytes bytes);
void lanepool_i_remote_buffer_fini(lanepool_i_remote_buffer *buffer);

/* Reads from the front of `bytes`, which get shorter. Past the end: 0, no bytes, and *is_wrong. */
typedef struct lanepool_i_remote_reader {
    lanepool_remote_bytes bytes;
    bool is_wrong;
} lanepool_i_remote_reader;

uint64_t lanepool_i_remote_get_number(lanepool_i_remote_reader *reader);
lanepool_remote_bytes lanepool_i_remote_get_bytes(lanepool_i_remote_reader *reader);

/* Makes *copy an own copy of `bytes`; frees what it had. Returns false, and changes nothing, if
 * memory cannot be allocated. */
bool lanepool_i_remote_copy(lanepool_remote_bytes *copy, lanepool_remote_bytes bytes);
/* Frees own bytes, and makes them none. */
void lanepool_i_remote_drop(lanepool_remote_bytes *copy);

#endif
