/*
 * Reading structs that carry their size, which programs built for an older or a newer version pass.
 * An older program's struct is shorter: the members that it lacks are read as zero, their default.
 * A newer program's struct is longer: it is valid if the part that this library does not know is
 * all zero.
 */
#ifndef LANEPOOL_SRC_BASE_VERSIONED_H
#define LANEPOOL_SRC_BASE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The size of a struct up to and with a member. */
#define LANEPOOL_I_SIZE_WITH(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Asserts that the struct ends with its last member. Bytes behind that would hold garbage, and a
 * later version would take them for its own member. */
#define LANEPOOL_I_ASSERT_NO_TAIL(type, last)                        \
    _Static_assert(sizeof(type) == LANEPOOL_I_SIZE_WITH(type, last), \
                   #type " has no padding behind its last member")

/* Returns true if a struct of `given_size` bytes can be read: it has at least `first_size` bytes,
 * the size in the first release, and is zero beyond `known_size`. */
static inline bool lanepool_i_struct_is_valid(const void *given, size_t given_size,
                                              size_t first_size, size_t known_size)
{
    const unsigned char *bytes = given;
    for (size_t i = known_size; i < given_size; i++)
        if (bytes[i] != 0)
            return false;
    return given_size >= first_size;
}

/* Copies a struct that begins with its size. Members beyond the given size are zero in the copy.
 * Returns false if the struct cannot be read. */
static inline bool lanepool_i_struct_read(void *known, size_t known_size, size_t first_size,
                                          const void *given)
{
    size_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    if (!lanepool_i_struct_is_valid(given, given_size, first_size, known_size))
        return false;
    size_t copied = given_size < known_size ? given_size : known_size;
    memcpy(known, given, copied);
    memset((char *)known + copied, 0, known_size - copied);
    memcpy(known, &known_size, sizeof known_size);
    return true;
}

/* Returns the size that a struct of the library's gives itself before a program copies it: the
 * first release's if all later members are zero. A program that does not know these copies no more.
 */
static inline size_t lanepool_i_struct_shortest_size(const void *known, size_t known_size,
                                                     size_t first_size)
{
    return lanepool_i_struct_is_valid(known, known_size, first_size, first_size) ? first_size
                                                                                 : known_size;
}

/* `last` is the last member of the first release. It stays when members are added behind it. */
#define LANEPOOL_I_STRUCT_READ(known, given, type, last) \
    lanepool_i_struct_read(known, sizeof(type), LANEPOOL_I_SIZE_WITH(type, last), given)

#endif
