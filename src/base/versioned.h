/* The check of structs that carry their size. A caller built for a later version may pass a longer
 * struct, as long as the part that this library does not know is all zero. */
#ifndef LANEPOOL_SRC_BASE_VERSIONED_H
#define LANEPOOL_SRC_BASE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>

/* `given_size` is the caller's size, `known_size` the one this library was built with. */
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
