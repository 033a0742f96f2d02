/* Owns the form of entries and letters; see bytes.h. */
#include "remote/bytes.h"

#include <string.h>

#include "remote/memory.h"

/* --- writing --- */

void lanepool_i_remote_put_raw(lanepool_i_remote_buffer *buffer, lanepool_remote_bytes bytes)
{
    if (!lanepool_i_remote_grow(&buffer->data, &buffer->capacity, buffer->size + bytes.size, 1)) {
        buffer->has_failed = true;
        return;
    }
    if (bytes.size > 0)
        memcpy(buffer->data + buffer->size, bytes.data, bytes.size);
    buffer->size += bytes.size;
}

void lanepool_i_remote_put_number(lanepool_i_remote_buffer *buffer, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    lanepool_i_remote_put_raw(buffer, (lanepool_remote_bytes){ bytes, sizeof bytes });
}

void lanepool_i_remote_put_bytes(lanepool_i_remote_buffer *buffer, lanepool_remote_bytes bytes)
{
    lanepool_i_remote_put_number(buffer, bytes.size);
    lanepool_i_remote_put_raw(buffer, bytes);
}

void lanepool_i_remote_buffer_fini(lanepool_i_remote_buffer *buffer)
{
    lanepool_i_remote_free(buffer->data);
    *buffer = (lanepool_i_remote_buffer){ 0 };
}

/* --- reading --- */

static const unsigned char *take_front(lanepool_i_remote_reader *reader, uint64_t size)
{
    if (size > reader->bytes.size) {
        reader->is_wrong = true;
        reader->bytes.size = 0;
        return NULL;
    }
    const unsigned char *data = reader->bytes.data;
    if (size > 0)
        reader->bytes.data = data + size;
    reader->bytes.size -= (size_t)size;
    return data;
}

uint64_t lanepool_i_remote_get_number(lanepool_i_remote_reader *reader)
{
    const unsigned char *data = take_front(reader, 8);
    uint64_t number = 0;
    for (unsigned i = 0; data != NULL && i < 8; i++)
        number |= (uint64_t)data[i] << (8 * i);
    return number;
}

lanepool_remote_bytes lanepool_i_remote_get_bytes(lanepool_i_remote_reader *reader)
{
    uint64_t size = lanepool_i_remote_get_number(reader);
    const unsigned char *data = take_front(reader, size);
    return (lanepool_remote_bytes){ data, reader->is_wrong ? 0 : (size_t)size };
}

/* --- copies --- */

bool lanepool_i_remote_copy(lanepool_remote_bytes *copy, lanepool_remote_bytes bytes)
{
    void *data = NULL;
    if (bytes.size > 0) {
        data = lanepool_i_remote_alloc(bytes.size);
        if (data == NULL)
            return false;
        memcpy(data, bytes.data, bytes.size);
    }
    lanepool_i_remote_drop(copy);
    *copy = (lanepool_remote_bytes){ data, bytes.size };
    return true;
}

void lanepool_i_remote_drop(lanepool_remote_bytes *copy)
{
    lanepool_i_remote_free((void *)copy->data);
    *copy = (lanepool_remote_bytes){ NULL, 0 };
}
