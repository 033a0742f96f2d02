/* Implements the comparisons of test.h for both runners. */
#include <inttypes.h>

#include "support/test.h"

void test_equal(const char *file, int line, const char *text, intmax_t actual, intmax_t wanted)
{
    if (actual != wanted) {
        test_fail(file, line, "%s: %" PRIdMAX " is not %" PRIdMAX, text, actual, wanted);
    }
}

void test_status(const char *file, int line, const char *text, lanepool_status actual,
                 lanepool_status wanted)
{
    if (actual != wanted) {
        test_fail(file, line, "%s: %s is not %s", text, lanepool_status_name(actual),
                  lanepool_status_name(wanted));
    }
}
