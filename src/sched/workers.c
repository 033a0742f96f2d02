/* Owns the workers' threads: starting, ending, halting and joining them; see worker.h. */
#include "sched/worker.h"

/* --- one thread --- */

static void run_guarded(lanepool_i_worker *worker);

/* Runs when a task has ended the thread (pthread_exit), while the thread unwinds. The worker
 * continues its loop here, and the thread ends when the pool does. If several tasks have done so,
 * the outer calls unwind then and are called here again. */
static void continue_after_thread_end(void *argument)
{
    lanepool_i_worker *worker = argument;
    if (worker->ended)
        return;
    worker->workers->work->end_abandoned(worker->workers->owner, worker);
    run_guarded(worker);
}

static void run_guarded(lanepool_i_worker *worker)
{
    LANEPOOL_I_THREAD_END_PUSH(continue_after_thread_end, worker);
    lanepool_i_worker_run_loop(worker);
    LANEPOOL_I_THREAD_END_POP();
    worker->ended = true;
    worker->workers->work->end(worker->workers->owner, worker);
}

static void *thread_main(void *argument)
{
    lanepool_i_worker *worker = argument;
    worker->workers->work->begin(worker->workers->owner, worker);
    run_guarded(worker);
    return NULL;
}

/* The worker begins by searching, as if woken, since it may have to wake another one. */
static void *thread_main_of_absent(void *argument)
{
    lanepool_i_worker *worker = argument;
    lanepool_i_semaphore_wait(&worker->workers->sleepers.all[worker->index].semaphore);
    if (worker->has_previous_thread) {
        lanepool_i_thread_join(&worker->previous_thread);
        lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    }
    worker->is_leaving = false;
    worker->ended = false;
    worker->workers->work->begin(worker->workers->owner, worker);
    lanepool_i_worker_begin_search(worker);
    run_guarded(worker);
    return NULL;
}

/* --- all workers --- */

static void start_absent_worker(void *owner, size_t index)
{
    const lanepool_i_workers *workers = owner;
    workers->work->start(workers->owner, index);
}

bool lanepool_i_workers_init(lanepool_i_workers *workers, size_t worker_count, size_t resident,
                             const lanepool_i_work *work, void *owner)
{
    workers->worker_count = worker_count;
    atomic_init(&workers->refused_ns, 0);
    workers->work = work;
    workers->owner = owner;
    workers->overflow = (lanepool_i_tasks){ NULL, NULL, 0 };
    atomic_init(&workers->overflow_count, 0);
    atomic_init(&workers->halt, 0);
    workers->all = lanepool_i_memory_alloc(worker_count * sizeof *workers->all);
    if (workers->all == NULL)
        return false;
    atomic_init(&workers->urgent, 0);
    lanepool_i_word_lock_init(&workers->overflow_lock, LANEPOOL_I_LOCK_OVERFLOW);
    if (!lanepool_i_sleepers_init(&workers->sleepers, worker_count, resident, start_absent_worker,
                                  workers))
        goto free_workers;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_worker *worker = &workers->all[i];
        lanepool_i_ready_ring_init(&worker->queue, workers->order == NULL);
        worker->workers = workers;
        worker->index = i;
        worker->record = NULL;
        worker->ring = NULL;
        worker->context = NULL;
        worker->kept = (lanepool_i_tasks){ NULL, NULL, 0 };
        worker->ran = 0;
        worker->quantum_start_ns = 0;
        worker->now_ns = 0;
        worker->turn = i;
        worker->next_worker_took = 0;
        worker->routing_put_off = 0;
        worker->own_took = 0;
        worker->idle_since_ns = 0;
        worker->idle_gaps = (lanepool_i_gap_mean){ 0, false };
        worker->looked_elsewhere = false;
        worker->searching = false;
        worker->ended = false;
        worker->is_leaving = false;
        worker->begun = false;
        worker->has_thread = false;
        worker->has_previous_thread = false;
        atomic_init(&worker->stolen, 0);
        atomic_init(&worker->task_ns, 0);
    }
    return true;
free_workers:
    lanepool_i_memory_free(workers->all);
    return false;
}

void lanepool_i_workers_fini(lanepool_i_workers *workers)
{
    lanepool_i_sleepers_fini(&workers->sleepers);
    lanepool_i_memory_free(workers->all);
}

bool lanepool_i_workers_start(lanepool_i_workers *workers)
{
    for (size_t i = 0; i < workers->sleepers.resident; i++) {
        lanepool_i_worker *worker = &workers->all[i];
        worker->has_thread =
            lanepool_i_thread_start(&worker->thread, workers->stack_size, thread_main, worker);
        if (!worker->has_thread) {
            lanepool_i_workers_stop(workers);
            lanepool_i_workers_join(workers);
            return false;
        }
    }
    return true;
}

/* The post comes last: the new thread waits for it, so it and any later claimer find these fields
 * written. */
bool lanepool_i_workers_start_absent(lanepool_i_workers *workers, size_t index)
{
    lanepool_i_worker *worker = &workers->all[index];
    lanepool_i_thread thread;
    if (!lanepool_i_thread_start(&thread, workers->stack_size, thread_main_of_absent, worker))
        return false;
    worker->previous_thread = worker->thread;
    worker->has_previous_thread = worker->has_thread;
    worker->thread = thread;
    worker->has_thread = true;
    lanepool_i_semaphore_post(&workers->sleepers.all[index].semaphore);
    return true;
}

/* The time is made odd, so never 0, which would mean that no thread was refused. */
void lanepool_i_workers_thread_failed(lanepool_i_workers *workers, size_t index)
{
    lanepool_i_sleepers_thread_failed(&workers->sleepers, index);
    store_relaxed(&workers->refused_ns, lanepool_i_clock_coarse() | 1);
}

void lanepool_i_workers_stop(lanepool_i_workers *workers)
{
    fetch_or_seq(&workers->halt, LANEPOOL_I_HALT_STOP);
    lanepool_i_sleepers_wake_all(&workers->sleepers);
}

void lanepool_i_workers_pause(lanepool_i_workers *workers)
{
    fetch_or_seq(&workers->halt, LANEPOOL_I_HALT_PAUSE);
}

void lanepool_i_workers_resume(lanepool_i_workers *workers)
{
    if ((fetch_and_seq(&workers->halt, ~LANEPOOL_I_HALT_PAUSE) & LANEPOOL_I_HALT_PAUSE) != 0)
        lanepool_i_sleepers_wake_all(&workers->sleepers);
}

void lanepool_i_workers_join(lanepool_i_workers *workers)
{
    for (size_t i = workers->worker_count; i-- > 0;) {
        lanepool_i_worker *worker = &workers->all[i];
        if (worker->has_thread)
            lanepool_i_thread_join(&worker->thread);
        worker->has_thread = false;
    }
}
