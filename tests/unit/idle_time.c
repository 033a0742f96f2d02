/* How long an unused context stays open, from the gaps between uses of its key. */
#include "base/idle_time.h"
#include "support/test.h"

enum { MIN_NS = 100, MAX_NS = 100000 };

static uint64_t idle_time(const lanepool_i_gap_mean *pace)
{
    return lanepool_i_gap_mean_idle_time(pace, MIN_NS, MAX_NS);
}

static void note(lanepool_i_gap_mean *pace, uint64_t gap_ns)
{
    lanepool_i_gap_mean_note(pace, gap_ns, MAX_NS);
}

Test(idle_time, an_unknown_key_stays_for_the_least_time)
{
    lanepool_i_gap_mean pace = { 0, false };

    expect_eq(idle_time(&pace), MIN_NS);
}

Test(idle_time, the_first_gap_is_the_mean)
{
    lanepool_i_gap_mean pace = { 0, false };

    note(&pace, 1000);
    expect_eq(idle_time(&pace), 1000 * LANEPOOL_I_GAPS_BRIDGED);
}

Test(idle_time, later_gaps_move_the_mean_by_their_weight)
{
    lanepool_i_gap_mean pace = { 0, false };

    note(&pace, 1000);
    note(&pace, 2000);
    expect_eq(idle_time(&pace), (1000 + 1000 / LANEPOOL_I_GAP_WEIGHT) * LANEPOOL_I_GAPS_BRIDGED);
    note(&pace, 250); /* from 1250 */
    expect_eq(idle_time(&pace), (1250 - 1000 / LANEPOOL_I_GAP_WEIGHT) * LANEPOOL_I_GAPS_BRIDGED);
}

Test(idle_time, the_mean_follows_a_changed_pace)
{
    lanepool_i_gap_mean pace = { 0, false };

    note(&pace, 8000);
    for (int i = 0; i < 100; i++) {
        note(&pace, 400);
    }
    expect(idle_time(&pace) >= 400 * LANEPOOL_I_GAPS_BRIDGED);
    expect(idle_time(&pace) < 410 * LANEPOOL_I_GAPS_BRIDGED);
}

Test(idle_time, stays_within_its_bounds)
{
    lanepool_i_gap_mean pace = { 0, false };

    note(&pace, 0);
    expect_eq(idle_time(&pace), MIN_NS);
    pace = (lanepool_i_gap_mean){ 0, false };
    note(&pace, MAX_NS / LANEPOOL_I_GAPS_BRIDGED);
    expect_eq(idle_time(&pace), MAX_NS);
    pace = (lanepool_i_gap_mean){ 0, false };
    note(&pace, MAX_NS);
    expect_eq(idle_time(&pace), MAX_NS);
}

Test(idle_time, a_gap_beyond_the_upper_bound_forgets_the_key)
{
    lanepool_i_gap_mean pace = { 0, false };

    note(&pace, 1000);
    note(&pace, MAX_NS + 1);
    expect_eq(idle_time(&pace), MIN_NS);
    note(&pace, 500);
    expect_eq(idle_time(&pace), 500 * LANEPOOL_I_GAPS_BRIDGED);
}

Test(idle_time, the_longest_times_do_not_overflow)
{
    lanepool_i_gap_mean pace = { 0, false };

    lanepool_i_gap_mean_note(&pace, UINT64_MAX, UINT64_MAX);
    expect(lanepool_i_gap_mean_idle_time(&pace, 0, UINT64_MAX) == UINT64_MAX);
    lanepool_i_gap_mean_note(&pace, 0, UINT64_MAX);
    lanepool_i_gap_mean_note(&pace, UINT64_MAX, UINT64_MAX);
    expect(pace.mean_ns > UINT64_MAX / 2);
}
