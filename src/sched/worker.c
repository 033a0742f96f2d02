/* Owns the workers' loop and the ready tasks; see worker.h. Sleeping and waking is in sleep.h, the
 * workers' threads are in workers.c. */
#include "sched/worker.h"

#include "base/deadline.h"
#include "base/planted.h"

/* --- the overflow list --- */

void lanepool_i_workers_each_overflow_locked(const lanepool_i_workers *workers,
                                             void (*found)(lanepool_i_task *task, void *context),
                                             void *context)
{
    if (workers->order != NULL)
        workers->order->each(workers->order, found, context);
    else
        lanepool_i_tasks_each(&workers->overflow, found, context);
}

static void put_into_overflow(lanepool_i_workers *workers, lanepool_i_tasks *ready)
{
    lanepool_i_word_lock_lock(&workers->overflow_lock);
    size_t count = load_relaxed(&workers->overflow_count) + ready->count;
    if (workers->order != NULL)
        workers->order->add(workers->order, ready);
    while (ready->count > 0)
        lanepool_i_tasks_add(&workers->overflow, lanepool_i_tasks_take(ready));
    store_seq(&workers->overflow_count, count);
    lanepool_i_word_lock_unlock(&workers->overflow_lock);
}

static lanepool_i_task *take_overflow(lanepool_i_workers *workers)
{
    if (load_relaxed(&workers->overflow_count) == 0)
        return NULL;
    lanepool_i_word_lock_lock(&workers->overflow_lock);
    lanepool_i_task *task = workers->order != NULL ? workers->order->take(workers->order, 0)
                                                   : lanepool_i_tasks_take(&workers->overflow);
    store_relaxed(&workers->overflow_count,
                  load_relaxed(&workers->overflow_count) - (task != NULL));
    lanepool_i_word_lock_unlock(&workers->overflow_lock);
    return task;
}

void lanepool_i_workers_put(lanepool_i_workers *workers, size_t index, lanepool_i_tasks *ready)
{
    if (ready->count == 0)
        return;
    lanepool_i_ready_ring_put(&workers->all[index].queue, ready);
    if (ready->count > 0)
        put_into_overflow(workers, ready);
    if (!PLANTED(IDLE_BESIDE_WORK))
        lanepool_i_sleepers_wake(&workers->sleepers);
}

/* In a paused pool this wakes no worker. A woken worker would find nothing to take, and leave. In
 * leaving it wakes waits inside tasks; these take the ready tasks out and put them back here,
 * without end. A resume after the second check here wakes the workers itself. */
void lanepool_i_workers_put_back(lanepool_i_workers *workers, size_t index, lanepool_i_tasks *ready)
{
    if (!lanepool_i_workers_are_paused(workers)) {
        lanepool_i_workers_put(workers, index, ready);
        return;
    }
    put_into_overflow(workers, ready);
    if (!lanepool_i_workers_are_paused(workers))
        lanepool_i_sleepers_wake(&workers->sleepers);
}

size_t lanepool_i_workers_least_loaded(const lanepool_i_workers *workers)
{
    size_t fewest = 0;
    uint32_t count = lanepool_i_ready_ring_count(&workers->all[0].queue);
    for (size_t i = 1; i < workers->worker_count && count > 0; i++) {
        uint32_t other = lanepool_i_ready_ring_count(&workers->all[i].queue);
        if (other < count) {
            count = other;
            fewest = i;
        }
    }
    return fewest;
}

void lanepool_i_workers_pin(lanepool_i_workers *workers, size_t index, lanepool_i_task *task)
{
    lanepool_i_ready_ring_pin(&workers->all[index].queue, task);
    lanepool_i_sleepers_wake_one(&workers->sleepers, index);
}

bool lanepool_i_workers_have_ready(const lanepool_i_workers *workers)
{
    if (load_seq(&workers->overflow_count) > 0)
        return true;
    for (size_t i = 0; i < workers->worker_count; i++)
        if (lanepool_i_ready_ring_count(&workers->all[i].queue) > 0)
            return true;
    return false;
}

void lanepool_i_workers_take_all(lanepool_i_workers *workers, lanepool_i_tasks *tasks)
{
    lanepool_i_task *task;
    for (size_t i = 0; i < workers->worker_count; i++)
        while ((task = lanepool_i_ready_ring_take(&workers->all[i].queue)) != NULL)
            lanepool_i_tasks_add(tasks, task);
    while ((task = take_overflow(workers)) != NULL)
        lanepool_i_tasks_add(tasks, task);
}

void lanepool_i_workers_take_all_pinned(lanepool_i_workers *workers, lanepool_i_tasks *tasks)
{
    lanepool_i_task *task;
    for (size_t i = 0; i < workers->worker_count; i++)
        if ((task = lanepool_i_ready_ring_take_pinned(&workers->all[i].queue)) != NULL)
            lanepool_i_tasks_add(tasks, task);
}

/* --- finding the next task --- */

static void count_taken(lanepool_i_worker *worker, const lanepool_i_worker *other, size_t count)
{
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_STEAL, other->index, (uint32_t)count);
    store_relaxed(&worker->stolen, load_relaxed(&worker->stolen) + count);
}

static lanepool_i_worker *worker_at(lanepool_i_worker *worker, size_t distance)
{
    lanepool_i_workers *workers = worker->workers;
    return &workers->all[(worker->index + distance) % workers->worker_count];
}

static lanepool_i_task *take_half_of(lanepool_i_worker *worker, lanepool_i_worker *other)
{
    lanepool_i_tasks taken = { NULL, NULL, 0 };
    size_t count = lanepool_i_ready_ring_take_half(&other->queue, &taken);
    if (count == 0)
        return NULL;
    count_taken(worker, other, count);
    lanepool_i_task *task = lanepool_i_tasks_take(&taken);
    lanepool_i_workers_put(worker->workers, worker->index, &taken);
    return task;
}

static lanepool_i_task *take_half_of_others(lanepool_i_worker *worker)
{
    lanepool_i_task *task = NULL;
    for (size_t i = 1; i < worker->workers->worker_count && task == NULL; i++)
        task = take_half_of(worker, worker_at(worker, i));
    return task;
}

/* Takes from the next worker's ring if nothing was taken from it since the last call. That
 * worker is in a long task, or has no processor: its tasks have waited longer than those not
 * routed yet. */
static lanepool_i_task *relieve_next_worker(lanepool_i_worker *worker)
{
    lanepool_i_worker *other = worker_at(worker, 1);
    uint32_t took = lanepool_i_ready_ring_taken(&other->queue);
    bool is_stuck = took == worker->next_worker_took;
    worker->next_worker_took = took;
    return is_stuck && other != worker ? take_half_of(worker, other) : NULL;
}

/* Takes from the worker's own ring if nothing was taken from it since the last call. The overflow
 * list comes first, but must not keep the worker from its ring for more than a quantum: a key with
 * a long backlog may put its next task there each time. */
static lanepool_i_task *take_own_if_passed_over(lanepool_i_worker *worker)
{
    bool was_passed_over =
        worker->looked_elsewhere && lanepool_i_ready_ring_taken(&worker->queue) == worker->own_took;
    worker->looked_elsewhere = false;
    lanepool_i_task *task = was_passed_over ? lanepool_i_ready_ring_take(&worker->queue) : NULL;
    worker->own_took = lanepool_i_ready_ring_taken(&worker->queue);
    return task;
}

/* Looks for work that only other workers would find, even while this worker has tasks of its
 * own. */
static lanepool_i_task *look_around(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    worker->ran = 0;
    worker->quantum_start_ns = worker->now_ns;
    workers->work->trim_busy(workers->owner, worker);
    workers->work->bring_ready(workers->owner, worker);
    lanepool_i_task *task = take_own_if_passed_over(worker);
    if (task != NULL)
        return task;
    worker->looked_elsewhere = true;
    worker->turn = (worker->turn + 1) % workers->worker_count;
    if (worker->turn == worker->index)
        return take_overflow(workers);
    lanepool_i_worker *other = &workers->all[worker->turn];
    task = lanepool_i_ready_ring_take(&other->queue);
    if (task != NULL)
        count_taken(worker, other, 1);
    return task;
}

lanepool_i_task *lanepool_i_worker_return_task(lanepool_i_worker *worker, lanepool_i_task *task)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    lanepool_i_tasks_add(&ready, task);
    lanepool_i_workers_put_back(worker->workers, worker->index, &ready);
    return NULL;
}

static lanepool_i_task *find_ready(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    lanepool_i_task *task = take_overflow(workers);
    worker->looked_elsewhere |= task != NULL;
    if (task == NULL)
        task = lanepool_i_ready_ring_take(&worker->queue);
    if (task == NULL)
        task = relieve_next_worker(worker);
    if (task == NULL && workers->work->is_crowded(workers->owner))
        task = take_half_of_others(worker);
    if (task == NULL) {
        workers->work->bring_ready(workers->owner, worker);
        task = lanepool_i_ready_ring_take(&worker->queue);
    }
    if (task == NULL)
        task = take_half_of_others(worker);
    return task;
}

/* Leaves the pinned task where it is if the workers were halted; lanepool_i_worker_unless_halted()
 * tells why the relaxed load suffices. */
static lanepool_i_task *take_pinned_unless_halted(lanepool_i_worker *worker)
{
    if (!lanepool_i_ready_ring_has_pinned(&worker->queue) ||
        load_relaxed(&worker->workers->halt) != 0)
        return NULL;
    return lanepool_i_ready_ring_take_pinned(&worker->queue);
}

static lanepool_i_task *find_task(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    if (__builtin_expect(load_relaxed(&workers->halt) != 0, 0)) {
        workers->work->bring_ready(workers->owner, worker);
        return NULL;
    }
    if (lanepool_i_worker_is_in_order(worker))
        return lanepool_i_worker_find_in_order(worker);
    lanepool_i_task *task = lanepool_i_worker_quantum_is_over(worker) ? look_around(worker) : NULL;
    if (task == NULL) {
        task = take_pinned_unless_halted(worker);
        if (task != NULL)
            return task;
        task = find_ready(worker);
    }
    return lanepool_i_worker_unless_halted(worker, task);
}

/* --- searching and sleeping --- */

static bool is_work_left(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    uint32_t halt = load_seq(&workers->halt);
    if ((halt & LANEPOOL_I_HALT_STOP) != 0 || workers->work->is_work_left(workers->owner, worker))
        return true;
    return (halt & LANEPOOL_I_HALT_PAUSE) == 0 &&
           (lanepool_i_workers_have_ready(workers) ||
            lanepool_i_ready_ring_has_pinned(&worker->queue));
}

static void start_search(lanepool_i_worker *worker)
{
    if (!worker->searching)
        lanepool_i_sleepers_start_search(&worker->workers->sleepers);
    worker->searching = true;
}

/* A gap beyond GAPS_BRIDGED times `search_ns` says that the program has paused; the gaps before it
 * say nothing about those after it. */
static void note_idle_gap(lanepool_i_worker *worker)
{
    if (worker->idle_since_ns == 0)
        return;
    uint64_t search_ns = worker->workers->search_ns;
    uint64_t gap_max_ns = search_ns < UINT64_MAX / LANEPOOL_I_GAPS_BRIDGED
                              ? search_ns * LANEPOOL_I_GAPS_BRIDGED
                              : UINT64_MAX;
    lanepool_i_gap_mean_note(&worker->idle_gaps, lanepool_i_clock_now() - worker->idle_since_ns,
                             gap_max_ns);
    worker->idle_since_ns = 0;
}

static void end_search(lanepool_i_worker *worker)
{
    if (!worker->searching)
        return;
    worker->searching = false;
    note_idle_gap(worker);
    lanepool_i_workers *workers = worker->workers;
    if (lanepool_i_sleepers_end_search(&workers->sleepers) &&
        (is_work_left(worker) || workers->work->may_work_be_hidden(workers->owner, worker)))
        lanepool_i_sleepers_wake(&workers->sleepers);
}

static void restart_quantum(lanepool_i_worker *worker)
{
    worker->now_ns = lanepool_i_clock_coarse();
    worker->quantum_start_ns = worker->now_ns;
}

/* Gives memory back, too, if there is any after a while. Looks for it less and less often, since
 * other threads may free some, and then not any more. */
static void sleep_as_resident(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    lanepool_i_sleepers *sleepers = &workers->sleepers;
    uint64_t nap_ns = LANEPOOL_I_TRIM_AFTER_NS;
    for (; nap_ns < LANEPOOL_I_TRIM_REST_MAX_NS && workers->work->may_trim(workers->owner);
         nap_ns *= 2) {
        if (lanepool_i_sleepers_sleep_until(sleepers, worker->index, lanepool_i_deadline(nap_ns)))
            return;
        workers->work->trim_asleep(workers->owner, worker);
        if (!lanepool_i_sleepers_is_asleep(sleepers, worker->index))
            break;
    }
    lanepool_i_sleepers_sleep(sleepers, worker->index);
}

/* Returns false if the worker is to leave. */
static bool sleep_until_woken(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_SLEEP, 0, 0);
    if (worker->index < workers->sleepers.resident)
        sleep_as_resident(worker);
    else if (!lanepool_i_sleepers_sleep_or_leave(&workers->sleepers, worker->index,
                                                 lanepool_i_deadline(workers->idle_ns)))
        return false;
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    return true;
}

/* Makes the worker absent. Returns true if it has found work and is back; false if its thread ends.
 * Calls the program first: another thread may run the worker as soon as it is absent. */
static bool leave_or_return(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    worker->searching = false;
    workers->work->worker_leaves(workers->owner, worker);
    lanepool_i_sleepers_set_absent(&workers->sleepers, worker->index);
    workers->work->before_sleep(workers->owner, worker);
    if (lanepool_i_workers_are_stopped(workers) || !is_work_left(worker) ||
        !lanepool_i_sleepers_take_back(&workers->sleepers, worker->index))
        return false;
    workers->work->worker_returns(workers->owner, worker);
    start_search(worker);
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    return true;
}

static void go_to_sleep(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    lanepool_i_sleepers_prepare(&workers->sleepers, worker->index);
    workers->work->before_sleep(workers->owner, worker);
    if (is_work_left(worker) && !PLANTED(LOST_WAKE_UP)) {
        lanepool_i_sleepers_stay_awake(&workers->sleepers, worker->index);
    } else if (!sleep_until_woken(worker) && !leave_or_return(worker)) {
        worker->is_leaving = true;
        return;
    }
    restart_quantum(worker);
}

void lanepool_i_worker_retry_threads(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    uint64_t refused_ns = load_relaxed(&workers->refused_ns);
    if (refused_ns == 0 || lanepool_i_clock_coarse() - refused_ns < LANEPOOL_I_TRY_AGAIN_NS ||
        !cas_seq(&workers->refused_ns, &refused_ns, 0))
        return;
    lanepool_i_sleepers_retry_threads(&workers->sleepers);
    if (is_work_left(worker))
        lanepool_i_sleepers_wake(&workers->sleepers);
}

/* Leaves the search, naps unless a task is ready, and searches again; sleep.h tells why no work is
 * lost. The last searcher wakes no other worker for the tasks in the inbox: it leaves them there on
 * purpose. */
static void take_nap(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    worker->searching = false;
    lanepool_i_sleepers_end_search(&workers->sleepers);
    if (!lanepool_i_workers_have_ready(workers))
        lanepool_i_nap(LANEPOOL_I_NAP_NS);
    start_search(worker);
    restart_quantum(worker);
}

static void pause_between_rounds(int count)
{
    for (int i = 0; i < LANEPOOL_I_SEARCH_PAUSES && i < count; i++)
        lanepool_i_pause();
}

/* Records that a short search was in vain. Returns true if a task may soon be there. */
static bool is_long_search_worthwhile(lanepool_i_worker *worker)
{
    if (worker->idle_since_ns == 0)
        worker->idle_since_ns = lanepool_i_clock_now();
    return worker->idle_gaps.known && worker->idle_gaps.mean_ns / 2 <= worker->workers->search_ns;
}

/* Searches for `search_ns` unless another worker does. The worker may be the only one awake, so it
 * does in each round what it would do before it sleeps. */
static lanepool_i_task *search_for_long(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    if (!is_long_search_worthwhile(worker) ||
        !lanepool_i_sleepers_try_search_long(&workers->sleepers))
        return NULL;
    uint64_t end_ns = lanepool_i_deadline(workers->search_ns);
    lanepool_i_task *task = NULL;
    while (task == NULL && load_relaxed(&workers->halt) == 0 &&
           !workers->work->is_crowded(workers->owner) && lanepool_i_clock_now() < end_ns) {
        pause_between_rounds(LANEPOOL_I_SEARCH_PAUSES);
        workers->work->before_sleep(workers->owner, worker);
        task = find_task(worker);
    }
    lanepool_i_sleepers_end_search_long(&workers->sleepers);
    return task;
}

/* Looks for a task for a while, then sleeps. While the lanes are crowded, looks once, then naps.
 * Returns NULL after a sleep or a nap, or if the worker leaves. A searcher never yields: while it
 * waited for its core behind a busy worker, it would still count as searching, and no worker would
 * be woken. */
static lanepool_i_task *search_for_task(lanepool_i_worker *worker)
{
    start_search(worker);
    for (int round = 0; round < LANEPOOL_I_SEARCH_ROUNDS; round++) {
        lanepool_i_task *task = find_task(worker);
        if (task != NULL || (load_relaxed(&worker->workers->halt) & LANEPOOL_I_HALT_STOP) != 0)
            return task;
        if (worker->workers->work->is_crowded(worker->workers->owner)) {
            take_nap(worker);
            return NULL;
        }
        pause_between_rounds(4 << round);
    }
    lanepool_i_task *task = search_for_long(worker);
    if (task == NULL)
        go_to_sleep(worker);
    return task;
}

/* --- the loop --- */

void lanepool_i_worker_run_loop(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    while ((load_acquire(&workers->halt) & LANEPOOL_I_HALT_STOP) == 0) {
        lanepool_i_task *task = find_task(worker);
        if (task == NULL)
            task = search_for_task(worker);
        if (task == NULL) {
            if (worker->is_leaving)
                return;
            continue;
        }
        end_search(worker);
        workers->work->run(workers->owner, worker, task);
    }
    if (worker->searching)
        lanepool_i_sleepers_end_search(&workers->sleepers);
    worker->searching = false;
}

void lanepool_i_worker_begin_search(lanepool_i_worker *worker)
{
    restart_quantum(worker);
    start_search(worker);
}

/* --- steps --- */

/* What a worker does before it sleeps may make tasks ready. */
static lanepool_i_task *find_or_attend(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    lanepool_i_task *task = find_task(worker);
    if (task != NULL)
        return task;
    workers->work->before_sleep(workers->owner, worker);
    return find_task(worker);
}

bool lanepool_i_worker_step(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    if (worker->ended)
        return false;
    workers->work->worker_returns(workers->owner, worker);
    lanepool_i_task *task = find_or_attend(worker);
    if (task != NULL)
        workers->work->run(workers->owner, worker, task);
    worker->ended = lanepool_i_workers_are_stopped(workers);
    if (worker->ended)
        workers->work->end(workers->owner, worker);
    else
        workers->work->worker_leaves(workers->owner, worker);
    return task != NULL || worker->ended;
}
