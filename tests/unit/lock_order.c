/* The order of locks: a checked build ends when a thread takes locks in another order. */
#include <signal.h>
#include <sys/wait.h>

#include "platform/platform.h"
#include "support/process.h"
#include "support/test.h"

struct order {
    lanepool_i_lock first;
    lanepool_i_lock second;
};

static void take_both(void *context)
{
    const struct order *order = context;
    lanepool_i_mutex first;
    lanepool_i_mutex second;

    if (!lanepool_i_mutex_init(&first, order->first) ||
        !lanepool_i_mutex_init(&second, order->second)) {
        return;
    }
    lanepool_i_mutex_lock(&first);
    lanepool_i_mutex_lock(&second);
    lanepool_i_mutex_unlock(&first);
    lanepool_i_mutex_unlock(&second);
    lanepool_i_mutex_fini(&second);
    lanepool_i_mutex_fini(&first);
}

static bool is_accepted(lanepool_i_lock first, lanepool_i_lock second)
{
    struct order order = { first, second };
    int status = process_run_apart(take_both, &order);

    expect(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return status == 0;
}

Test(lock_order, later_locks_may_be_taken)
{
    expect(is_accepted(LANEPOOL_I_LOCK_WAITS, LANEPOOL_I_LOCK_FUTURE));
    expect(is_accepted(LANEPOOL_I_LOCK_FUTURE, LANEPOOL_I_LOCK_GROUP));
}

Test(lock_order, several_stripes_of_quotas_may_be_locked)
{
    expect(is_accepted(LANEPOOL_I_LOCK_LANE_QUOTAS, LANEPOOL_I_LOCK_LANE_QUOTAS));
}

#if defined(LANEPOOL_CHECKED)
Test(lock_order, an_earlier_lock_ends_a_checked_build)
{
    expect(!is_accepted(LANEPOOL_I_LOCK_FUTURE, LANEPOOL_I_LOCK_WAITS));
}

Test(lock_order, two_locks_of_one_sort_end_a_checked_build)
{
    expect(!is_accepted(LANEPOOL_I_LOCK_FUTURE, LANEPOOL_I_LOCK_FUTURE));
}
#endif
