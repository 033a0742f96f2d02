/**
 * @file
 * The version of the headers and of the library that is linked.
 */
#ifndef LANEPOOL_VERSION_H
#define LANEPOOL_VERSION_H

#include "lanepool/export.h"

/** Incompatible changes of the interface. */
#define LANEPOOL_VERSION_MAJOR 0
/** Compatible additions. */
#define LANEPOOL_VERSION_MINOR 1
/** Corrections. */
#define LANEPOOL_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the linked library as text, such as "0.1.0".
 *
 * @return A static string; never NULL.
 * @par Threads
 * Any thread, at any time; never blocks.
 */
LANEPOOL_API const char *lanepool_version(void);

#ifdef __cplusplus
}
#endif

#endif
