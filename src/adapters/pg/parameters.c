#include "adapters/pg/parameters.h"

#include <stdlib.h>
#include <string.h>

/* An array begins with these five numbers of four bytes each. */
enum { ARRAY_DIMENSIONS, ARRAY_HAS_NULLS, ARRAY_TYPE, ARRAY_COUNT, ARRAY_FIRST_INDEX, ARRAY_WORDS };

#define ARRAY_HEAD  ((size_t)ARRAY_WORDS * 4)
#define NULL_LENGTH UINT32_MAX
/* The server refuses a message of 1 GiB. */
#define SIZE_MOST ((size_t)1000 << 20)

void lanepool_i_pg_clear(struct pg_parameters *parameters)
{
    parameters->size = 0;
    parameters->count = 0;
    parameters->no_memory = false;
}

void lanepool_i_pg_free(struct pg_parameters *parameters)
{
    free(parameters->bytes);
    memset(parameters, 0, sizeof *parameters);
}

/* Returns room for `size` bytes more; NULL if there is no memory. */
static unsigned char *make_room(struct pg_parameters *parameters, size_t size)
{
    if (parameters->no_memory)
        return NULL;
    size_t needed = parameters->size + size;
    if (size > SIZE_MOST || needed > SIZE_MOST) {
        parameters->no_memory = true;
        return NULL;
    }
    if (needed > parameters->capacity) {
        size_t capacity = needed * 2 + 256;
        unsigned char *bytes = realloc(parameters->bytes, capacity);
        if (bytes == NULL) {
            parameters->no_memory = true;
            return NULL;
        }
        parameters->bytes = bytes;
        parameters->capacity = capacity;
    }
    unsigned char *room = parameters->bytes + parameters->size;
    parameters->size = needed;
    return room;
}

static void write_int4(unsigned char *room, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        room[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void write_int8(unsigned char *room, uint64_t value)
{
    write_int4(room, (uint32_t)(value >> 32));
    write_int4(room + 4, (uint32_t)value);
}

uint32_t lanepool_i_pg_read_int4(const void *bytes)
{
    const unsigned char *at = bytes;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint64_t lanepool_i_pg_read_int8(const void *bytes)
{
    const unsigned char *at = bytes;
    return (uint64_t)lanepool_i_pg_read_int4(at) << 32 | lanepool_i_pg_read_int4(at + 4);
}

static void begin_parameter(struct pg_parameters *parameters)
{
    parameters->begin[parameters->count] = parameters->size;
}

static void end_parameter(struct pg_parameters *parameters)
{
    int last = parameters->count++;
    parameters->length[last] = (int)(parameters->size - parameters->begin[last]);
}

void lanepool_i_pg_add_int4(struct pg_parameters *parameters, uint32_t value)
{
    begin_parameter(parameters);
    unsigned char *room = make_room(parameters, 4);
    if (room != NULL)
        write_int4(room, value);
    end_parameter(parameters);
}

void lanepool_i_pg_add_int8(struct pg_parameters *parameters, uint64_t value)
{
    begin_parameter(parameters);
    unsigned char *room = make_room(parameters, 8);
    if (room != NULL)
        write_int8(room, value);
    end_parameter(parameters);
}

/* An empty value needs a place in the buffer, too: a NULL pointer would be an SQL NULL. */
void lanepool_i_pg_add_bytes(struct pg_parameters *parameters, const void *bytes, size_t size)
{
    begin_parameter(parameters);
    unsigned char *room = make_room(parameters, size);
    if (room != NULL && size > 0)
        memcpy(room, bytes, size);
    end_parameter(parameters);
}

void lanepool_i_pg_add_text(struct pg_parameters *parameters, const char *text)
{
    lanepool_i_pg_add_bytes(parameters, text, strlen(text));
}

void lanepool_i_pg_begin_array(struct pg_parameters *parameters, enum pg_type type)
{
    begin_parameter(parameters);
    parameters->element_count = 0;
    unsigned char *room = make_room(parameters, ARRAY_HEAD);
    if (room == NULL)
        return;
    write_int4(room + 4 * ARRAY_DIMENSIONS, 1);
    write_int4(room + 4 * ARRAY_HAS_NULLS, 0);
    write_int4(room + 4 * ARRAY_TYPE, type);
    write_int4(room + 4 * ARRAY_FIRST_INDEX, 1);
}

void lanepool_i_pg_put_int4(struct pg_parameters *parameters, uint32_t value)
{
    unsigned char *room = make_room(parameters, 8);
    if (room == NULL)
        return;
    write_int4(room, 4);
    write_int4(room + 4, value);
    parameters->element_count++;
}

void lanepool_i_pg_put_int8(struct pg_parameters *parameters, uint64_t value)
{
    unsigned char *room = make_room(parameters, 12);
    if (room == NULL)
        return;
    write_int4(room, 8);
    write_int8(room + 4, value);
    parameters->element_count++;
}

void lanepool_i_pg_put_bytes(struct pg_parameters *parameters, const void *bytes, size_t size)
{
    unsigned char *room = make_room(parameters, size + 4);
    if (room == NULL)
        return;
    write_int4(room, (uint32_t)size);
    if (size > 0)
        memcpy(room + 4, bytes, size);
    parameters->element_count++;
}

void lanepool_i_pg_put_null(struct pg_parameters *parameters)
{
    unsigned char *room = make_room(parameters, 4);
    if (room == NULL)
        return;
    write_int4(room, NULL_LENGTH);
    write_int4(parameters->bytes + parameters->begin[parameters->count] + 4 * ARRAY_HAS_NULLS, 1);
    parameters->element_count++;
}

/* An array without elements has no dimension, and ends after its type. */
void lanepool_i_pg_end_array(struct pg_parameters *parameters)
{
    if (!parameters->no_memory) {
        unsigned char *head = parameters->bytes + parameters->begin[parameters->count];
        write_int4(head + 4 * ARRAY_COUNT, (uint32_t)parameters->element_count);
        if (parameters->element_count == 0) {
            write_int4(head + 4 * ARRAY_DIMENSIONS, 0);
            parameters->size = parameters->begin[parameters->count] + 4 * ARRAY_COUNT;
        }
    }
    end_parameter(parameters);
}
