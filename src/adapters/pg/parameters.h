/*
 * Parameters of one statement in PostgreSQL's binary format, all in one growing buffer. No value is
 * ever part of the SQL.
 *
 * If memory cannot be allocated, the parameters remember it, and later calls do nothing: the caller
 * checks `no_memory` once, before it executes the statement.
 */
#ifndef LANEPOOL_ADAPTERS_PG_PARAMETERS_H
#define LANEPOOL_ADAPTERS_PG_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PG_PARAMETERS_MAX = 28 };

/* PostgreSQL's numbers of the types that are used. They never change. */
enum pg_type { PG_TYPE_BYTEA = 17, PG_TYPE_INT8 = 20, PG_TYPE_INT4 = 23, PG_TYPE_TEXT = 25 };

struct pg_parameters {
    unsigned char *bytes; /* owned */
    size_t size;
    size_t capacity;
    size_t begin[PG_PARAMETERS_MAX]; /* where each parameter begins */
    int length[PG_PARAMETERS_MAX];
    int count;
    size_t element_count; /* of the array that is being filled */
    bool no_memory;       /* or the parameters are larger than PostgreSQL accepts */
};

/* Removes all parameters, and keeps the memory. */
void lanepool_i_pg_clear(struct pg_parameters *parameters);

void lanepool_i_pg_free(struct pg_parameters *parameters);

/* Each adds a parameter. Unsigned numbers are stored by their bits. */
void lanepool_i_pg_add_int4(struct pg_parameters *parameters, uint32_t value);
void lanepool_i_pg_add_int8(struct pg_parameters *parameters, uint64_t value);
void lanepool_i_pg_add_bytes(struct pg_parameters *parameters, const void *bytes, size_t size);
void lanepool_i_pg_add_text(struct pg_parameters *parameters, const char *text);

/* Adds an array of one dimension: begin, elements of that type, end. */
void lanepool_i_pg_begin_array(struct pg_parameters *parameters, enum pg_type type);
void lanepool_i_pg_put_int4(struct pg_parameters *parameters, uint32_t value);
void lanepool_i_pg_put_int8(struct pg_parameters *parameters, uint64_t value);
void lanepool_i_pg_put_bytes(struct pg_parameters *parameters, const void *bytes, size_t size);
void lanepool_i_pg_put_null(struct pg_parameters *parameters);
void lanepool_i_pg_end_array(struct pg_parameters *parameters);

/* Read numbers of PostgreSQL's binary format. */
uint32_t lanepool_i_pg_read_int4(const void *bytes);
uint64_t lanepool_i_pg_read_int8(const void *bytes);

#endif
