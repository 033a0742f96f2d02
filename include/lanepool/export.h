/**
 * @file
 * Attributes used by every public header: visibility, must-check results.
 */
#ifndef LANEPOOL_EXPORT_H
#define LANEPOOL_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
/** Marks a symbol that the shared library exports. */
#define LANEPOOL_API __attribute__((visibility("default")))
/** Marks a result that the caller must look at. */
#define LANEPOOL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LANEPOOL_API
#define LANEPOOL_MUST_CHECK
#endif

#endif
