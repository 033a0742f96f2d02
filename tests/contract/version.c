/* The linked library and the headers have the same version, and every status has a name. */
#include <stdio.h>
#include <string.h>

#include "lanepool/lanepool.h"
#include "support/test.h"

Test(version, library_and_headers_agree)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "%d.%d.%d", LANEPOOL_VERSION_MAJOR, LANEPOOL_VERSION_MINOR,
             LANEPOOL_VERSION_PATCH);
    expect(strcmp(lanepool_version(), wanted) == 0);
}

Test(version, every_status_has_its_name_and_a_text)
{
#define CHECK_STATUS(name, value, text)                                                     \
    expect(strcmp(lanepool_status_name((lanepool_status)(value)), "LANEPOOL_" #name) == 0); \
    expect(strcmp(lanepool_status_text((lanepool_status)(value)), text) == 0);
    LANEPOOL_STATUS_TABLE(CHECK_STATUS)
#undef CHECK_STATUS
}

Test(version, unknown_status_is_named_as_such)
{
    expect(strcmp(lanepool_status_name((lanepool_status)-1), "LANEPOOL_UNKNOWN") == 0);
    expect(strcmp(lanepool_status_name((lanepool_status)1000), "LANEPOOL_UNKNOWN") == 0);
    expect(strcmp(lanepool_status_text((lanepool_status)1000), "unknown status") == 0);
}
