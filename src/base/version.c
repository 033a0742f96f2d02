/* Owns the library's version text. */
#include "lanepool/status.h"

#define TEXT_OF(number)                   #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *lanepool_version(void)
{
    return VERSION_TEXT(LANEPOOL_VERSION_MAJOR, LANEPOOL_VERSION_MINOR, LANEPOOL_VERSION_PATCH);
}
