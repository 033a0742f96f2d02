/* Owns the looks at what runs and at what gets on, and the calls that come of them; see
 * watchdog.h. */
#include "observe/watchdog.h"

#include "base/timer_heap.h"
#include "core/caller_runs.h"
#include "feature/delay.h"
#include "feature/detach.h"
#include "feature/pause.h"
#include "feature/pump.h"
#include "observe/take_census.h"
#include "route/pool.h"

/* A task that was seen running. */
struct suspect {
    uint64_t ticket;
    uint64_t since_ns; /* it has been running since, at least */
    bool told;
};

/* The time between two looks: half of the time given, so that the second look after the one that
 * has seen it first tells. */
static uint64_t period_of(uint64_t limit_ns)
{
    uint64_t period_ns = limit_ns / 2 + limit_ns % 2;
    return period_ns > LANEPOOL_I_LOOK_NS_MIN ? period_ns : LANEPOOL_I_LOOK_NS_MIN;
}

static uint64_t later(uint64_t moment_ns, uint64_t by_ns)
{
    return by_ns < UINT64_MAX - moment_ns ? moment_ns + by_ns : UINT64_MAX;
}

/* A shutdown now waits for the clock thread: nobody is called any more. */
static bool is_over(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING ||
           lanepool_i_workers_is_stopped(&pool->workers);
}

static void enter_callback(lanepool_i_thread_record *record)
{
    record->callbacks++;
    record->watch_callbacks++;
}

static void leave_callback(lanepool_i_thread_record *record)
{
    record->watch_callbacks--;
    record->callbacks--;
}

/* --- tasks that run for long --- */

/* One look. */
struct look {
    uint64_t began_ns;
    lanepool_i_vector running; /* struct suspect */
    lanepool_i_vector slow;    /* lanepool_slow_task: to be told of */
};

/* Both are sorted by ticket: `at` only moves on. */
static const struct suspect *find(const lanepool_i_vector *running, size_t *at, uint64_t ticket)
{
    const struct suspect *suspects = running->items;
    while (*at < running->count && lanepool_i_ticket_before(suspects[*at].ticket, ticket))
        ++*at;
    return *at < running->count && suspects[*at].ticket == ticket ? &suspects[*at] : NULL;
}

static lanepool_slow_task describe(lanepool_pool *pool, const lanepool_i_census_row *seen)
{
    const lanepool_options *options = &pool->options;
    uint32_t tag = lanepool_i_task_tag(seen->task);
    return (lanepool_slow_task){ .pool = pool,
                                 .function = seen->task->function,
                                 .context = seen->task->context,
                                 .ticket = seen->ticket,
                                 .tag = tag,
                                 .label =
                                     tag < options->tag_name_count ? options->tag_names[tag] : NULL,
                                 .worker = seen->worker };
}

/* What cannot be told for want of memory is told after the next look. */
static void judge(lanepool_pool *pool, struct look *look, const lanepool_i_census_row *seen,
                  struct suspect *suspect)
{
    if (suspect->told || look->began_ns < later(suspect->since_ns, pool->options.slow_task_ns))
        return;
    lanepool_slow_task *slow = lanepool_i_vector_add(&look->slow, sizeof *slow);
    if (slow == NULL)
        return;
    *slow = describe(pool, seen);
    slow->running_ns = look->began_ns - suspect->since_ns;
    suspect->told = true;
}

static void compare(lanepool_pool *pool, struct look *look, const lanepool_i_census *census)
{
    uint64_t seen_ns = lanepool_i_clock_now();
    size_t at = 0;
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *seen = lanepool_i_census_row_at(census, i);
        const struct suspect *before = find(&pool->watchdog->running, &at, seen->ticket);
        struct suspect *suspect = (struct suspect *)look->running.items + i;
        *suspect = before != NULL ? *before : (struct suspect){ seen->ticket, seen_ns, false };
        judge(pool, look, seen, suspect);
    }
    look->running.count = census->rows.count;
}

/* Role's holder. Without memory the look was none: what ran before it may still run after it. */
static void look_at_running(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
    struct look *look = context;
    lanepool_i_census census = { .pool = pool, .record = record };
    lanepool_i_census_take_running(&census);
    if (!census.out_of_memory &&
        lanepool_i_vector_reserve(&look->running, census.rows.count + 1, sizeof(struct suspect))) {
        compare(pool, look, &census);
        lanepool_i_vector_fini(&pool->watchdog->running);
        pool->watchdog->running = look->running;
    }
    lanepool_i_census_end(&census);
    lanepool_i_census_fini(&census);
}

static void tell_of_slow(lanepool_pool *pool, lanepool_i_thread_record *record,
                         const struct look *look)
{
    const lanepool_slow_task *slow = look->slow.items;
    for (size_t i = 0; i < look->slow.count && !is_over(pool); i++) {
        enter_callback(record);
        pool->options.on_slow_task(pool->options.user, &slow[i]);
        leave_callback(record);
    }
}

/* The role's holder may be in a callback that does not return: then the next look finds the same.
 */
static void look_for_slow(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t period_ns = period_of(pool->options.slow_task_ns);
    struct look look = { .began_ns = lanepool_i_clock_now() };
    (void)lanepool_i_with_role(pool, record, later(look.began_ns, period_ns), look_at_running,
                               &look);
    tell_of_slow(pool, record, &look);
    lanepool_i_vector_fini(&look.slow);
    pool->watchdog->slow_look_ns = later(lanepool_i_clock_now(), period_ns);
}

/* --- a pool that does not get on --- */

static void look_at_gates(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
    bool *closed = context;
    (void)record;
    *closed = lanepool_i_gates_some_closed(&pool->lane_table);
}

static bool has_detached(lanepool_i_detaches *detaches)
{
    lanepool_i_mutex_lock(&detaches->lock);
    bool has = detaches->first != NULL;
    lanepool_i_mutex_unlock(&detaches->lock);
    return has;
}

static bool has_ready_in_pumps(lanepool_i_waits *waits)
{
    lanepool_i_mutex_lock(&waits->lock);
    bool has = lanepool_i_pumps_ready_locked(waits) > 0;
    lanepool_i_mutex_unlock(&waits->lock);
    return has;
}

/* Whether all that is pending waits for paused lanes, where one is: if nothing runs and nothing is
 * ready, nobody else is left who could let anything go on. */
static bool is_held_up(lanepool_pool *pool, lanepool_i_thread_record *record, size_t inside)
{
    bool closed = false;
    if (inside > 0 || lanepool_i_workers_has_ready(&pool->workers) ||
        has_detached(pool->detaches) || has_ready_in_pumps(&pool->waits))
        return false;
    (void)lanepool_i_with_role(pool, record,
                               later(lanepool_i_clock_now(), period_of(pool->options.stalled_ns)),
                               look_at_gates, &closed);
    return closed;
}

static void tell_of_stall(lanepool_pool *pool, lanepool_i_thread_record *record,
                          const lanepool_stall *stall)
{
    if (is_over(pool))
        return;
    enter_callback(record);
    pool->options.on_stalled(pool->options.user, stall);
    leave_callback(record);
}

/* What has finished is added up before what was accepted, so that at least as much is pending. */
static bool has_moved(lanepool_pool *pool, lanepool_stall *stall)
{
    uint64_t before = pool->watchdog->finished;
    bool moved = lanepool_i_thread_records_have_moved(&pool->records, &stall->threads);
    pool->watchdog->finished = lanepool_i_thread_records_finished(&pool->records);
    stall->pending = lanepool_i_thread_records_accepted(&pool->records) - pool->watchdog->finished;
    return moved || pool->watchdog->finished != before;
}

static void look_for_stall(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_watchdog *watchdog = pool->watchdog;
    lanepool_stall stall = { .pool = pool };
    uint64_t began_ns = lanepool_i_clock_now();
    bool moved = has_moved(pool, &stall);
    bool stands_still =
        !moved && stall.pending > 0 && !lanepool_i_workers_is_paused(&pool->workers);
    if (moved)
        watchdog->stall_told = false;
    if (!stands_still) {
        watchdog->still_since_ns = lanepool_i_clock_now();
    } else if (!watchdog->stall_told &&
               began_ns >= later(watchdog->still_since_ns, pool->options.stalled_ns)) {
        if (is_held_up(pool, record, stall.threads)) {
            watchdog->still_since_ns = lanepool_i_clock_now();
        } else {
            stall.stalled_ns = began_ns - watchdog->still_since_ns;
            watchdog->stall_told = true;
            tell_of_stall(pool, record, &stall);
        }
    }
    watchdog->stall_look_ns = later(lanepool_i_clock_now(), period_of(pool->options.stalled_ns));
}

/* --- the clock thread's turn --- */

static uint64_t next_look(const lanepool_pool *pool)
{
    const lanepool_i_watchdog *watchdog = pool->watchdog;
    uint64_t slow_ns = pool->options.on_slow_task != NULL ? watchdog->slow_look_ns : UINT64_MAX;
    uint64_t stall_ns = pool->options.on_stalled != NULL ? watchdog->stall_look_ns : UINT64_MAX;
    return slow_ns < stall_ns ? slow_ns : stall_ns;
}

uint64_t lanepool_i_watchdog_look(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    const lanepool_options *options = &pool->options;
    if ((options->on_slow_task == NULL && options->on_stalled == NULL) || is_over(pool))
        return UINT64_MAX;
    uint64_t now_ns = lanepool_i_clock_now();
    if (options->on_stalled != NULL && now_ns >= pool->watchdog->stall_look_ns)
        look_for_stall(pool, record);
    if (options->on_slow_task != NULL && now_ns >= pool->watchdog->slow_look_ns)
        look_for_slow(pool, record);
    return next_look(pool);
}

lanepool_status lanepool_i_watchdog_start(lanepool_pool *pool)
{
    if (pool->options.on_slow_task == NULL && pool->options.on_stalled == NULL)
        return LANEPOOL_OK;
    pool->watchdog->still_since_ns = lanepool_i_clock_now();
    lanepool_status status = lanepool_i_delays_ready_clock(pool);
    if (status == LANEPOOL_OK)
        lanepool_i_timers_interrupt(&pool->delays->timers);
    return status;
}

void lanepool_i_watchdog_fini(lanepool_i_watchdog *watchdog)
{
    lanepool_i_vector_fini(&watchdog->running);
}
