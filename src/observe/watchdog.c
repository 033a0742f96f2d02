/* Owns the checks for slow tasks and for a stalled pool; see watchdog.h. */
#include "observe/watchdog.h"

#include "base/timer_heap.h"
#include "core/call_record.h"
#include "core/caller_runs.h"
#include "feature/delay.h"
#include "feature/pause.h"
#include "feature/pump.h"
#include "lane/visits.h"
#include "observe/take_census.h"
#include "route/pool.h"

/* A task that a check found running. */
struct suspect {
    uint64_t ticket;
    uint64_t since_ns; /* running since then, at least */
    bool reported;
};

/* Half of the limit, so the second check after the one that found a task first reports it. */
static uint64_t time_between_checks(uint64_t limit_ns)
{
    uint64_t period_ns = limit_ns / 2 + limit_ns % 2;
    return period_ns > LANEPOOL_I_WATCHDOG_MIN_NS ? period_ns : LANEPOOL_I_WATCHDOG_MIN_NS;
}

static uint64_t moment_after(uint64_t moment_ns, uint64_t by_ns)
{
    return by_ns < UINT64_MAX - moment_ns ? moment_ns + by_ns : UINT64_MAX;
}

/* A shutdown now waits for the clock thread, so no callback is called any more. */
static bool pool_is_ending(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING ||
           lanepool_i_workers_are_stopped(&pool->workers);
}

static void enter_callback(lanepool_i_thread_record *record)
{
    record->callbacks++;
    record->watchdog_callbacks++;
}

static void leave_callback(lanepool_i_thread_record *record)
{
    record->watchdog_callbacks--;
    record->callbacks--;
}

/* --- tasks that run for long --- */

struct slow_check {
    uint64_t began_ns;
    lanepool_i_vector running; /* struct suspect */
    lanepool_i_vector slow;    /* lanepool_slow_task: to report */
};

/* Returns the suspect, or NULL. Suspects and the tickets searched for both increase, so `*at` only
 * grows. */
static const struct suspect *find_suspect(const lanepool_i_vector *running, size_t *at,
                                          uint64_t ticket)
{
    const struct suspect *suspects = running->items;
    while (*at < running->count && lanepool_i_ticket_before(suspects[*at].ticket, ticket))
        ++*at;
    return *at < running->count && suspects[*at].ticket == ticket ? &suspects[*at] : NULL;
}

static lanepool_slow_task describe_slow_task(lanepool_pool *pool, const lanepool_i_census_row *row)
{
    const lanepool_options *options = &pool->options;
    uint32_t tag = lanepool_i_task_or_cut_tag(row->task);
    return (lanepool_slow_task){ .pool = pool,
                                 .function = row->task->function,
                                 .context = row->task->context,
                                 .ticket = row->ticket,
                                 .tag = tag,
                                 .label =
                                     tag < options->tag_name_count ? options->tag_names[tag] : NULL,
                                 .worker = row->worker };
}

/* If memory cannot be allocated, the next check reports the task. */
static void check_suspect(lanepool_pool *pool, struct slow_check *check,
                          const lanepool_i_census_row *row, struct suspect *suspect)
{
    if (suspect->reported ||
        check->began_ns < moment_after(suspect->since_ns, pool->options.slow_task_ns))
        return;
    lanepool_slow_task *slow = lanepool_i_vector_add(&check->slow, sizeof *slow);
    if (slow == NULL)
        return;
    *slow = describe_slow_task(pool, row);
    slow->running_ns = check->began_ns - suspect->since_ns;
    suspect->reported = true;
}

static void update_suspects(lanepool_pool *pool, struct slow_check *check,
                            const lanepool_i_census *census)
{
    uint64_t now_ns = lanepool_i_clock_now();
    size_t at = 0;
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *row = lanepool_i_census_row_at(census, i);
        const struct suspect *before = find_suspect(&pool->watchdog->running, &at, row->ticket);
        struct suspect *suspect = (struct suspect *)check->running.items + i;
        *suspect = before != NULL ? *before : (struct suspect){ row->ticket, now_ns, false };
        check_suspect(pool, check, row, suspect);
    }
    check->running.count = census->rows.count;
}

/* Role's holder. If memory cannot be allocated, the old suspects stay for the next check. */
static void check_running_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                                void *context, lanepool_i_grants *grants)
{
    (void)grants;
    struct slow_check *check = context;
    lanepool_i_census census = { .pool = pool, .record = record };
    lanepool_i_census_take_running(&census);
    if (!census.out_of_memory &&
        lanepool_i_vector_reserve(&check->running, census.rows.count + 1, sizeof(struct suspect))) {
        update_suspects(pool, check, &census);
        lanepool_i_vector_fini(&pool->watchdog->running);
        pool->watchdog->running = check->running;
    }
    lanepool_i_census_end(&census);
    lanepool_i_census_fini(&census);
}

static void report_slow_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                              const struct slow_check *check)
{
    const lanepool_slow_task *slow = check->slow.items;
    for (size_t i = 0; i < check->slow.count && !pool_is_ending(pool); i++) {
        enter_callback(record);
        pool->options.on_slow_task(pool->options.user, &slow[i]);
        leave_callback(record);
    }
}

/* Waits for the role only until the next check: its holder may be in a callback that does not
 * return. */
static void check_for_slow_tasks(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t period_ns = time_between_checks(pool->options.slow_task_ns);
    struct slow_check check = { .began_ns = lanepool_i_clock_now() };
    (void)lanepool_i_control_call(pool, record, moment_after(check.began_ns, period_ns),
                                  check_running_tasks, &check);
    report_slow_tasks(pool, record, &check);
    lanepool_i_vector_fini(&check.slow);
    pool->watchdog->slow_check_ns = moment_after(lanepool_i_clock_now(), period_ns);
}

/* --- a stalled pool --- */

static void find_closed_gate(lanepool_pool *pool, lanepool_i_thread_record *record, void *context,
                             lanepool_i_grants *grants)
{
    bool *closed = context;
    (void)record, (void)grants;
    *closed = lanepool_i_gates_any_closed(&pool->lane_table);
}

static bool has_detached_tasks(lanepool_i_call_records *calls)
{
    lanepool_i_mutex_lock(&calls->lock);
    bool has = !lanepool_i_list_is_empty(&calls->list);
    lanepool_i_mutex_unlock(&calls->lock);
    return has;
}

/* Returns whether a lane is paused and no task runs or is ready: then no task can release a
 * lane. */
static bool is_blocked_by_pauses(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 size_t inside)
{
    bool closed = false;
    if (inside > 0 || lanepool_i_workers_have_ready(&pool->workers) ||
        has_detached_tasks(pool->call_records) || lanepool_i_pumps_have_ready(&pool->waits))
        return false;
    (void)lanepool_i_control_call(
        pool, record,
        moment_after(lanepool_i_clock_now(), time_between_checks(pool->options.stalled_ns)),
        find_closed_gate, &closed);
    return closed;
}

static void report_stall(lanepool_pool *pool, lanepool_i_thread_record *record,
                         const lanepool_stall *stall)
{
    if (pool_is_ending(pool))
        return;
    enter_callback(record);
    pool->options.on_stalled(pool->options.user, stall);
    leave_callback(record);
}

/* Adds up the finished tasks before the accepted ones, so that `pending` is never too small. */
static bool has_progressed(lanepool_pool *pool, lanepool_stall *stall)
{
    uint64_t before = pool->watchdog->finished;
    bool progressed = lanepool_i_thread_records_have_progressed(&pool->records, &stall->threads);
    pool->watchdog->finished = lanepool_i_thread_records_finished(&pool->records);
    stall->pending = lanepool_i_thread_records_accepted(&pool->records) - pool->watchdog->finished;
    return progressed || pool->watchdog->finished != before;
}

static void check_for_stall(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_watchdog *watchdog = pool->watchdog;
    lanepool_stall stall = { .pool = pool };
    uint64_t began_ns = lanepool_i_clock_now();
    bool progressed = has_progressed(pool, &stall);
    bool no_progress =
        !progressed && stall.pending > 0 && !lanepool_i_workers_are_paused(&pool->workers);
    if (progressed)
        watchdog->stall_reported = false;
    if (!no_progress) {
        watchdog->still_since_ns = lanepool_i_clock_now();
    } else if (!watchdog->stall_reported &&
               began_ns >= moment_after(watchdog->still_since_ns, pool->options.stalled_ns)) {
        if (is_blocked_by_pauses(pool, record, stall.threads)) {
            watchdog->still_since_ns = lanepool_i_clock_now();
        } else {
            stall.stalled_ns = began_ns - watchdog->still_since_ns;
            watchdog->stall_reported = true;
            report_stall(pool, record, &stall);
        }
    }
    watchdog->stall_check_ns =
        moment_after(lanepool_i_clock_now(), time_between_checks(pool->options.stalled_ns));
}

/* --- called by the clock thread --- */

static uint64_t next_check_due(const lanepool_pool *pool)
{
    const lanepool_i_watchdog *watchdog = pool->watchdog;
    uint64_t slow_ns = pool->options.on_slow_task != NULL ? watchdog->slow_check_ns : UINT64_MAX;
    uint64_t stall_ns = pool->options.on_stalled != NULL ? watchdog->stall_check_ns : UINT64_MAX;
    return slow_ns < stall_ns ? slow_ns : stall_ns;
}

static uint64_t check_on_clock(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    const lanepool_options *options = &pool->options;
    if ((options->on_slow_task == NULL && options->on_stalled == NULL) || pool_is_ending(pool))
        return UINT64_MAX;
    uint64_t now_ns = lanepool_i_clock_now();
    if (options->on_stalled != NULL && now_ns >= pool->watchdog->stall_check_ns)
        check_for_stall(pool, record);
    if (options->on_slow_task != NULL && now_ns >= pool->watchdog->slow_check_ns)
        check_for_slow_tasks(pool, record);
    return next_check_due(pool);
}

lanepool_status lanepool_i_watchdog_start(lanepool_pool *pool)
{
    if (pool->options.on_slow_task == NULL && pool->options.on_stalled == NULL)
        return LANEPOOL_OK;
    pool->watchdog->still_since_ns = lanepool_i_clock_now();
    lanepool_status status = lanepool_i_delays_start_clock(pool);
    if (status == LANEPOOL_OK)
        lanepool_i_timers_interrupt(&pool->delays->timers);
    return status;
}

void lanepool_i_watchdog_fini(lanepool_i_watchdog *watchdog)
{
    lanepool_i_vector_fini(&watchdog->running);
}

const lanepool_i_feature lanepool_i_feature_watchdog = {
    .on_clock = check_on_clock,
};
