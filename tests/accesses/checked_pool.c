/*
 * Owns the pools of contract tests that run with LANEPOOL_CHECK_ACCESSES: the tests are compiled
 * with another name for lanepool_pool_create(). A report of ThreadSanitizer ends the program with a
 * failure.
 */
#include "lanepool/lanepool.h"

const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return LANEPOOL_CHECK_SUPPRESSIONS;
}

#undef lanepool_pool_create
lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool);

/* Options of another size test the size. */
lanepool_status checked_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    lanepool_options checked = LANEPOOL_OPTIONS_INIT;
    if (options != NULL && options->struct_size != sizeof checked)
        return lanepool_pool_create(options, pool);
    if (options != NULL)
        checked = *options;
    checked.checks |= LANEPOOL_CHECK_ACCESSES;
    return lanepool_pool_create(&checked, pool);
}
