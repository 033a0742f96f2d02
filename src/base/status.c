/* Owns the names and texts of the statuses, made from the table in status.h. */
#include "lanepool/status.h"

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
