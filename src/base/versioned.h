/* Descriptions and options carry their size: one of a later version may be longer than what this
 * library knows, as long as it asks for nothing more. */
#ifndef LANEPOOL_SRC_BASE_VERSIONED_H
#define LANEPOOL_SRC_BASE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>

/* `given_size` is what the caller says; `known_size` what this library has compiled in. */
static inline bool lanepool_i_struct_is_valid(const void *given, size_t given_size,
                                              size_t known_size)
{
    const unsigned char *bytes = given;
    for (size_t i = known_size; i < given_size; i++)
        if (bytes[i] != 0)
            return false;
    return given_size >= known_size;
}

#endif
