/* Owns the workers' loop and the spill; see worker.h, and park.h for sleeping and waking. */
#include "worker.h"

#include "planted.h"

/* --- the spill --- */

static void spill(lanepool_i_crew *crew, lanepool_i_tasks *ready)
{
    lanepool_i_mutex_lock(&crew->spill_lock);
    while (ready->count > 0)
        lanepool_i_tasks_add(&crew->spill, lanepool_i_tasks_take(ready));
    store_seq(&crew->spill_count, crew->spill.count);
    lanepool_i_mutex_unlock(&crew->spill_lock);
}

static lanepool_i_task *take_spilled(lanepool_i_crew *crew)
{
    if (load_relaxed(&crew->spill_count) == 0)
        return NULL;
    lanepool_i_mutex_lock(&crew->spill_lock);
    lanepool_i_task *task = lanepool_i_tasks_take(&crew->spill);
    store_relaxed(&crew->spill_count, crew->spill.count);
    lanepool_i_mutex_unlock(&crew->spill_lock);
    return task;
}

void lanepool_i_crew_put(lanepool_i_crew *crew, size_t index, lanepool_i_tasks *ready)
{
    if (ready->count == 0)
        return;
    lanepool_i_runq_put(&crew->workers[index].queue, ready);
    if (ready->count > 0)
        spill(crew, ready);
    if (!PLANTED(IDLE_BESIDE_WORK))
        lanepool_i_park_wake(&crew->park);
}

size_t lanepool_i_crew_fewest(const lanepool_i_crew *crew)
{
    size_t fewest = 0;
    uint32_t count = lanepool_i_runq_count(&crew->workers[0].queue);
    for (size_t i = 1; i < crew->worker_count && count > 0; i++) {
        uint32_t other = lanepool_i_runq_count(&crew->workers[i].queue);
        if (other < count) {
            count = other;
            fewest = i;
        }
    }
    return fewest;
}

bool lanepool_i_crew_has_ready(const lanepool_i_crew *crew)
{
    if (load_seq(&crew->spill_count) > 0)
        return true;
    for (size_t i = 0; i < crew->worker_count; i++)
        if (lanepool_i_runq_count(&crew->workers[i].queue) > 0)
            return true;
    return false;
}

void lanepool_i_crew_clear(lanepool_i_crew *crew, lanepool_i_tasks *tasks)
{
    lanepool_i_task *task;
    for (size_t i = 0; i < crew->worker_count; i++)
        while ((task = lanepool_i_runq_take(&crew->workers[i].queue)) != NULL)
            lanepool_i_tasks_add(tasks, task);
    while ((task = take_spilled(crew)) != NULL)
        lanepool_i_tasks_add(tasks, task);
}

/* --- finding the next task --- */

static void count_taken(lanepool_i_worker *worker, const lanepool_i_worker *other, size_t count)
{
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_STEAL, other->index, (uint32_t)count);
    store_relaxed(&worker->taken_from_others, load_relaxed(&worker->taken_from_others) + count);
}

static lanepool_i_worker *neighbour(lanepool_i_worker *worker, size_t distance)
{
    lanepool_i_crew *crew = worker->crew;
    return &crew->workers[(worker->index + distance) % crew->worker_count];
}

static lanepool_i_task *take_half_of(lanepool_i_worker *worker, lanepool_i_worker *other)
{
    lanepool_i_tasks taken = { NULL, NULL, 0 };
    size_t count = lanepool_i_runq_take_half(&other->queue, &taken);
    if (count == 0)
        return NULL;
    count_taken(worker, other, count);
    lanepool_i_task *task = lanepool_i_tasks_take(&taken);
    lanepool_i_crew_put(worker->crew, worker->index, &taken);
    return task;
}

static lanepool_i_task *take_half_of_others(lanepool_i_worker *worker)
{
    lanepool_i_task *task = NULL;
    for (size_t i = 1; i < worker->crew->worker_count && task == NULL; i++)
        task = take_half_of(worker, neighbour(worker, i));
    return task;
}

/* What stands before a worker that is held up, by a long task or for want of a processor, has
 * waited longer than what is not routed yet. */
static lanepool_i_task *relieve_neighbour(lanepool_i_worker *worker)
{
    lanepool_i_worker *other = neighbour(worker, 1);
    uint32_t took = lanepool_i_runq_taken(&other->queue);
    bool is_held_up = took == worker->neighbour_took;
    worker->neighbour_took = took;
    return is_held_up && other != worker ? take_half_of(worker, other) : NULL;
}

/* So that work which only others would find does not wait for as long as this one has its own. */
static lanepool_i_task *look_around(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    worker->ran = 0;
    worker->looked_at_ns = worker->now_ns;
    crew->work->look(crew->owner, worker);
    worker->turn = (worker->turn + 1) % crew->worker_count;
    if (worker->turn == worker->index)
        return take_spilled(crew);
    lanepool_i_worker *other = &crew->workers[worker->turn];
    lanepool_i_task *task = lanepool_i_runq_take(&other->queue);
    if (task != NULL)
        count_taken(worker, other, 1);
    return task;
}

static lanepool_i_task *find(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    if (__builtin_expect(load_relaxed(&crew->halt) != 0, 0)) {
        crew->work->look(crew->owner, worker);
        return NULL;
    }
    lanepool_i_task *task = lanepool_i_worker_quantum_is_over(worker) ? look_around(worker) : NULL;
    if (task == NULL)
        task = crew->work->own(crew->owner, worker);
    if (task == NULL)
        task = take_spilled(crew);
    if (task == NULL)
        task = lanepool_i_runq_take(&worker->queue);
    if (task == NULL)
        task = relieve_neighbour(worker);
    if (task == NULL) {
        crew->work->look(crew->owner, worker);
        task = lanepool_i_runq_take(&worker->queue);
    }
    if (task == NULL)
        task = take_half_of_others(worker);
    return task;
}

/* --- searching and sleeping --- */

static bool anything_left(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    uint32_t halt = load_seq(&crew->halt);
    if ((halt & LANEPOOL_I_HALT_STOP) != 0 || crew->work->left(crew->owner, worker))
        return true;
    return (halt & LANEPOOL_I_HALT_PAUSE) == 0 &&
           (lanepool_i_crew_has_ready(crew) || crew->work->has_own(crew->owner, worker));
}

static void start_search(lanepool_i_worker *worker)
{
    if (!worker->searching)
        lanepool_i_park_start_search(&worker->crew->park);
    worker->searching = true;
}

static void end_search(lanepool_i_worker *worker)
{
    if (!worker->searching)
        return;
    worker->searching = false;
    lanepool_i_crew *crew = worker->crew;
    if (lanepool_i_park_end_search(&crew->park) &&
        (anything_left(worker) || crew->work->uncertain(crew->owner, worker)))
        lanepool_i_park_wake(&crew->park);
}

static void lie_down(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    lanepool_i_park_lie_down(&crew->park, worker->index);
    crew->work->idle(crew->owner, worker);
    if (anything_left(worker) && !PLANTED(LOST_WAKE_UP)) {
        lanepool_i_park_stay(&crew->park, worker->index);
    } else {
        lanepool_i_trace(worker->ring, LANEPOOL_EVENT_PARK, 0, 0);
        lanepool_i_park_sleep(&crew->park, worker->index);
        lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    }
    worker->now_ns = lanepool_i_clock_coarse();
    worker->looked_at_ns = worker->now_ns;
}

/* Looks for a while, then sleeps; returns when there may be something. It never yields: a searcher
 * that stands behind a busy worker on its core would still count as searching, and nobody would be
 * woken. */
static lanepool_i_task *search(lanepool_i_worker *worker)
{
    start_search(worker);
    for (int round = 0; round < LANEPOOL_I_SEARCH_ROUNDS; round++) {
        lanepool_i_task *task = find(worker);
        if (task != NULL || (load_relaxed(&worker->crew->halt) & LANEPOOL_I_HALT_STOP) != 0)
            return task;
        for (int i = 0; i < LANEPOOL_I_SEARCH_PAUSES && i < 4 << round; i++)
            lanepool_i_pause();
    }
    lie_down(worker);
    return NULL;
}

/* --- the thread --- */

static void work(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    while ((load_acquire(&crew->halt) & LANEPOOL_I_HALT_STOP) == 0) {
        lanepool_i_task *task = find(worker);
        if (task == NULL)
            task = search(worker);
        if (task == NULL)
            continue;
        end_search(worker);
        crew->work->run(crew->owner, worker, task);
    }
    if (worker->searching)
        lanepool_i_park_end_search(&crew->park);
    worker->searching = false;
}

static void run_guarded(lanepool_i_worker *worker);

/* A task ended the thread (pthread_exit). This runs while the thread is on its way out; the
 * worker's work simply goes on from here, and the thread ends when the pool does. If that happened
 * more than once, the outer ones are still on their way out then, and come here again. */
static void thread_ends(void *argument)
{
    lanepool_i_worker *worker = argument;
    if (worker->ended)
        return;
    worker->crew->work->abandoned(worker->crew->owner, worker);
    run_guarded(worker);
}

static void run_guarded(lanepool_i_worker *worker)
{
    LANEPOOL_I_THREAD_END_PUSH(thread_ends, worker);
    work(worker);
    LANEPOOL_I_THREAD_END_POP();
    worker->ended = true;
    worker->crew->work->end(worker->crew->owner, worker);
}

static void *thread_main(void *argument)
{
    lanepool_i_worker *worker = argument;
    worker->crew->work->begin(worker->crew->owner, worker);
    run_guarded(worker);
    return NULL;
}

/* --- the crew --- */

bool lanepool_i_crew_init(lanepool_i_crew *crew, size_t worker_count,
                          const lanepool_i_work *work_for, void *owner)
{
    crew->worker_count = worker_count;
    crew->started = 0;
    crew->work = work_for;
    crew->owner = owner;
    crew->spill = (lanepool_i_tasks){ NULL, NULL, 0 };
    atomic_init(&crew->spill_count, 0);
    atomic_init(&crew->halt, 0);
    crew->workers = lanepool_i_memory_alloc(worker_count * sizeof *crew->workers);
    if (crew->workers == NULL)
        return false;
    if (!lanepool_i_mutex_init(&crew->spill_lock))
        goto free_workers;
    if (!lanepool_i_park_init(&crew->park, worker_count))
        goto fini_lock;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_worker *worker = &crew->workers[i];
        lanepool_i_runq_init(&worker->queue);
        worker->crew = crew;
        worker->index = i;
        worker->local = NULL;
        worker->ring = NULL;
        worker->context = NULL;
        worker->ran = 0;
        worker->looked_at_ns = 0;
        worker->now_ns = 0;
        worker->turn = i;
        worker->neighbour_took = 0;
        worker->searching = false;
        worker->ended = false;
        atomic_init(&worker->taken_from_others, 0);
    }
    return true;
fini_lock:
    lanepool_i_mutex_fini(&crew->spill_lock);
free_workers:
    lanepool_i_memory_free(crew->workers);
    return false;
}

void lanepool_i_crew_fini(lanepool_i_crew *crew)
{
    lanepool_i_park_fini(&crew->park);
    lanepool_i_mutex_fini(&crew->spill_lock);
    lanepool_i_memory_free(crew->workers);
}

bool lanepool_i_crew_start(lanepool_i_crew *crew)
{
    while (crew->started < crew->worker_count) {
        lanepool_i_worker *worker = &crew->workers[crew->started];
        if (!lanepool_i_thread_start(&worker->thread, thread_main, worker)) {
            lanepool_i_crew_stop(crew);
            lanepool_i_crew_join(crew);
            return false;
        }
        crew->started++;
    }
    return true;
}

void lanepool_i_crew_stop(lanepool_i_crew *crew)
{
    fetch_or_seq(&crew->halt, LANEPOOL_I_HALT_STOP);
    lanepool_i_park_wake_all(&crew->park);
}

void lanepool_i_crew_pause(lanepool_i_crew *crew)
{
    fetch_or_seq(&crew->halt, LANEPOOL_I_HALT_PAUSE);
}

void lanepool_i_crew_resume(lanepool_i_crew *crew)
{
    if ((fetch_and_seq(&crew->halt, ~LANEPOOL_I_HALT_PAUSE) & LANEPOOL_I_HALT_PAUSE) != 0)
        lanepool_i_park_wake_all(&crew->park);
}

void lanepool_i_crew_join(lanepool_i_crew *crew)
{
    while (crew->started > 0)
        lanepool_i_thread_join(&crew->workers[--crew->started].thread);
}
