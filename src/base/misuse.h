/*
 * Misuse that a call finds but cannot answer with a status. With LANEPOOL_CHECKED the program ends,
 * and a message names the mistake. Without it the call answers something safe.
 */
#ifndef LANEPOOL_SRC_BASE_MISUSE_H
#define LANEPOOL_SRC_BASE_MISUSE_H

#include "platform/platform.h"

#if defined(LANEPOOL_CHECKED)
#define LANEPOOL_I_MISUSED(wrong, what) \
    ((wrong) && (lanepool_i_report_misuse(__func__, what), true))
#else
#define LANEPOOL_I_MISUSED(wrong, what) (wrong)
#endif

/* Misuse that only a checked build looks for; `wrong` may read members that only it has. */
#if defined(LANEPOOL_CHECKED)
#define LANEPOOL_I_FIND_MISUSE(wrong, what) ((void)LANEPOOL_I_MISUSED(wrong, what))
#else
#define LANEPOOL_I_FIND_MISUSE(wrong, what) ((void)0)
#endif

/* A condition of the library itself. A checked build and the tests check it. */
#if defined(LANEPOOL_CHECKED) || defined(LANEPOOL_TESTING)
#define LANEPOOL_I_ASSERT(condition) \
    ((condition) ? (void)0 : lanepool_i_report_misuse(__func__, "internal error: not " #condition))
#else
#define LANEPOOL_I_ASSERT(condition) ((void)0)
#endif

#endif
