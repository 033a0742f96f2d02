/* Owns the texts of the statuses, all made from the one table in status.h. */
#include "lanepool/status.h"
#include "lanepool/version.h"

#define TEXT_OF(number)                   #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *lanepool_status_name(lanepool_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text) \
    case LANEPOOL_##name:              \
        return "LANEPOOL_" #name;
        LANEPOOL_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
    }
    return "LANEPOOL_UNKNOWN";
}

const char *lanepool_status_text(lanepool_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text) \
    case LANEPOOL_##name:              \
        return text;
        LANEPOOL_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *lanepool_version(void)
{
    return VERSION_TEXT(LANEPOOL_VERSION_MAJOR, LANEPOOL_VERSION_MINOR, LANEPOOL_VERSION_PATCH);
}
