/* Structs that carry their size, from an older, an equal and a newer program. */
#include <string.h>

#include "base/versioned.h"
#include "support/test.h"

enum { WORDS = 3 };

struct longest {
    size_t struct_size;
    size_t words[WORDS];
};

enum { FIRST = 2 * sizeof(size_t), KNOWN = 3 * sizeof(size_t) };

/* Reads a struct of `size` bytes, with the first `set` words set. */
static bool read_struct(struct longest *known, size_t size, size_t set)
{
    struct longest given = { size, { 0 } };

    memset(known, 0xaa, sizeof *known);
    for (size_t i = 0; i < set; i++) {
        given.words[i] = i + 1;
    }
    return lanepool_i_struct_read(known, KNOWN, FIRST, &given);
}

Test(versioned, equal_struct_is_copied)
{
    struct longest known;

    expect(read_struct(&known, KNOWN, 2));
    expect_eq(known.struct_size, KNOWN);
    expect_eq(known.words[0], 1);
    expect_eq(known.words[1], 2);
    expect_eq(known.words[2] & 0xff, 0xaa); /* beyond what the library knows */
}

Test(versioned, members_that_an_older_program_lacks_are_zero)
{
    struct longest known;

    expect(read_struct(&known, FIRST, 3));
    expect_eq(known.struct_size, KNOWN);
    expect_eq(known.words[0], 1);
    expect_eq(known.words[1], 0);
}

Test(versioned, size_of_a_description_for_any_program_leaves_out_what_is_zero)
{
    struct longest known;

    expect(read_struct(&known, KNOWN, 1));
    expect_eq(lanepool_i_struct_shortest_size(&known, KNOWN, FIRST), FIRST);
    expect(read_struct(&known, KNOWN, 2));
    expect_eq(lanepool_i_struct_shortest_size(&known, KNOWN, FIRST), KNOWN);
}

Test(versioned, struct_below_the_first_release_is_refused)
{
    struct longest known;

    expect(!read_struct(&known, FIRST - 1, 3));
    expect(!read_struct(&known, 0, 3));
}

Test(versioned, longer_struct_is_valid_if_the_rest_is_zero)
{
    struct longest known;

    expect(read_struct(&known, sizeof known, 2));
    expect_eq(known.struct_size, KNOWN);
    expect_eq(known.words[1], 2);
    expect(!read_struct(&known, sizeof known, 3));
}

Test(versioned, each_byte_of_the_rest_counts)
{
    for (size_t at = KNOWN; at < sizeof(struct longest); at++) {
        unsigned char given[sizeof(struct longest)] = { 0 };

        given[at] = 1;
        expect(!lanepool_i_struct_is_valid(given, sizeof given, FIRST, KNOWN));
        expect(lanepool_i_struct_is_valid(given, at, FIRST, KNOWN)); /* beyond the given size */
    }
}
