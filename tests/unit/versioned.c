/* Structs that carry their size, from an older, an equal and a newer program. */
#include <string.h>

#include "base/versioned.h"
#include "support/test.h"

enum { KNOWN = 16, LONGER = 24 };

Test(versioned, the_known_size_is_valid_whatever_it_holds)
{
    unsigned char given[KNOWN];

    memset(given, 0xff, sizeof given);
    expect(lanepool_i_struct_is_valid(given, KNOWN, KNOWN));
}

Test(versioned, a_shorter_struct_is_refused)
{
    unsigned char given[KNOWN] = { 0 };

    expect(!lanepool_i_struct_is_valid(given, KNOWN - 1, KNOWN));
    expect(!lanepool_i_struct_is_valid(given, 0, KNOWN));
}

Test(versioned, a_longer_struct_is_valid_if_the_rest_is_zero)
{
    unsigned char given[LONGER] = { 0 };

    memset(given, 0xff, KNOWN);
    expect(lanepool_i_struct_is_valid(given, KNOWN + 1, KNOWN));
    expect(lanepool_i_struct_is_valid(given, LONGER, KNOWN));
}

Test(versioned, each_byte_of_the_rest_counts)
{
    for (size_t at = KNOWN; at < LONGER; at++) {
        unsigned char given[LONGER] = { 0 };

        given[at] = 1;
        expect(!lanepool_i_struct_is_valid(given, LONGER, KNOWN));
        expect(lanepool_i_struct_is_valid(given, at, KNOWN)); /* beyond the given size */
    }
}
