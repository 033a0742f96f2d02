/* Owns the workers' loop and the spill; see worker.h, and sleep.h for sleeping and waking. */
#include "sched/worker.h"

#include "base/deadline.h"
#include "base/planted.h"

/* --- the spill --- */

size_t lanepool_i_crew_spilled_locked(const lanepool_i_crew *crew)
{
    return crew->levels != NULL ? crew->levels->count : crew->spill.count;
}

void lanepool_i_crew_each_spilled_locked(const lanepool_i_crew *crew,
                                         void (*found)(lanepool_i_task *task, void *context),
                                         void *context)
{
    if (crew->levels != NULL) {
        lanepool_i_levels_each(crew->levels, found, context);
        return;
    }
    lanepool_i_task *task = crew->spill.first;
    for (size_t left = crew->spill.count; left > 0; left--) {
        found(task, context);
        task = load_relaxed(&task->next);
    }
}

static void add_locked(lanepool_i_crew *crew, lanepool_i_tasks *ready)
{
    uint64_t now_ns = crew->levels != NULL ? lanepool_i_clock_coarse() : 0;
    while (ready->count > 0) {
        lanepool_i_task *task = lanepool_i_tasks_take(ready);
        if (crew->levels != NULL)
            lanepool_i_levels_add(crew->levels, task, now_ns);
        else
            lanepool_i_tasks_add(&crew->spill, task);
    }
}

static void spill(lanepool_i_crew *crew, lanepool_i_tasks *ready)
{
    lanepool_i_mutex_lock(&crew->spill_lock);
    add_locked(crew, ready);
    store_seq(&crew->spill_count, lanepool_i_crew_spilled_locked(crew));
    lanepool_i_mutex_unlock(&crew->spill_lock);
}

static lanepool_i_task *take_spilled(lanepool_i_crew *crew)
{
    if (load_relaxed(&crew->spill_count) == 0)
        return NULL;
    lanepool_i_mutex_lock(&crew->spill_lock);
    lanepool_i_task *task = crew->levels != NULL
                                ? lanepool_i_levels_take(crew->levels, lanepool_i_clock_coarse())
                                : lanepool_i_tasks_take(&crew->spill);
    store_relaxed(&crew->spill_count, lanepool_i_crew_spilled_locked(crew));
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

/* What stands in a paused pool wakes nobody: who was woken, or came, for it would look for it in
 * vain and leave, and the wait inside a task that it wakes in leaving would take it out and put it
 * back again, without end. A resume that this look misses finds it, and wakes. */
void lanepool_i_crew_put_back(lanepool_i_crew *crew, size_t index, lanepool_i_tasks *ready)
{
    if (!lanepool_i_crew_is_paused(crew)) {
        lanepool_i_crew_put(crew, index, ready);
        return;
    }
    spill(crew, ready);
    if (!lanepool_i_crew_is_paused(crew))
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

/* The spill comes before the worker's own queue: a key with a long backlog, whose next task goes to
 * the spill each time, must not keep it from there for longer than a quantum. */
static lanepool_i_task *take_own_if_passed_over(lanepool_i_worker *worker)
{
    bool was_passed_over =
        worker->took_elsewhere && lanepool_i_runq_taken(&worker->queue) == worker->own_took;
    worker->took_elsewhere = false;
    lanepool_i_task *task = was_passed_over ? lanepool_i_runq_take(&worker->queue) : NULL;
    worker->own_took = lanepool_i_runq_taken(&worker->queue);
    return task;
}

/* So that work which only others would find does not wait for as long as this one has its own. */
static lanepool_i_task *look_around(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    worker->ran = 0;
    worker->looked_at_ns = worker->now_ns;
    crew->work->look(crew->owner, worker);
    lanepool_i_task *task = take_own_if_passed_over(worker);
    if (task != NULL)
        return task;
    worker->took_elsewhere = true;
    worker->turn = (worker->turn + 1) % crew->worker_count;
    if (worker->turn == worker->index)
        return take_spilled(crew);
    lanepool_i_worker *other = &crew->workers[worker->turn];
    task = lanepool_i_runq_take(&other->queue);
    if (task != NULL)
        count_taken(worker, other, 1);
    return task;
}

lanepool_i_task *lanepool_i_worker_leave(lanepool_i_worker *worker, lanepool_i_task *task)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    lanepool_i_tasks_add(&ready, task);
    lanepool_i_crew_put_back(worker->crew, worker->index, &ready);
    return NULL;
}

static lanepool_i_task *find_ready(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    lanepool_i_task *task = take_spilled(crew);
    worker->took_elsewhere |= task != NULL;
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

/* What comes from the worker's own lane was taken there with a look whether to halt. */
static lanepool_i_task *find(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    if (__builtin_expect(load_relaxed(&crew->halt) != 0, 0)) {
        crew->work->look(crew->owner, worker);
        return NULL;
    }
    lanepool_i_task *task = lanepool_i_worker_quantum_is_over(worker) ? look_around(worker) : NULL;
    if (task == NULL) {
        task = crew->work->own(crew->owner, worker);
        if (task != NULL)
            return task;
        task = find_ready(worker);
    }
    return lanepool_i_worker_unless_halted(worker, task);
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

static void is_back(lanepool_i_worker *worker)
{
    worker->now_ns = lanepool_i_clock_coarse();
    worker->looked_at_ns = worker->now_ns;
}

/* False: the worker leaves. */
static bool sleep_until_woken(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_PARK, 0, 0);
    if (worker->index < crew->park.resident)
        lanepool_i_park_sleep(&crew->park, worker->index);
    else if (!lanepool_i_park_sleep_or_leave(&crew->park, worker->index,
                                             lanepool_i_deadline(crew->idle_ns)))
        return false;
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    return true;
}

/* The program is told before: from then on another thread may be there. False: the thread ends. */
static bool comes_back(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    worker->searching = false;
    crew->work->leave(crew->owner, worker);
    lanepool_i_park_be_absent(&crew->park, worker->index);
    crew->work->idle(crew->owner, worker);
    if (lanepool_i_crew_is_stopped(crew) || !anything_left(worker) ||
        !lanepool_i_park_come_back(&crew->park, worker->index))
        return false;
    crew->work->come_back(crew->owner, worker);
    start_search(worker);
    lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    return true;
}

static void lie_down(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    lanepool_i_park_lie_down(&crew->park, worker->index);
    crew->work->idle(crew->owner, worker);
    if (anything_left(worker) && !PLANTED(LOST_WAKE_UP)) {
        lanepool_i_park_stay(&crew->park, worker->index);
    } else if (!sleep_until_woken(worker) && !comes_back(worker)) {
        worker->leaves = true;
        return;
    }
    is_back(worker);
}

void lanepool_i_worker_try_again(lanepool_i_worker *worker)
{
    lanepool_i_crew *crew = worker->crew;
    uint64_t lacked_ns = load_relaxed(&crew->lacked_ns);
    if (lacked_ns == 0 || lanepool_i_clock_coarse() - lacked_ns < LANEPOOL_I_TRY_AGAIN_NS ||
        !cas_seq(&crew->lacked_ns, &lacked_ns, 0))
        return;
    lanepool_i_park_allow(&crew->park);
    if (anything_left(worker))
        lanepool_i_park_wake(&crew->park);
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
        if (task == NULL) {
            if (worker->leaves)
                return;
            continue;
        }
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

/* Then it searches like one that was woken: it may have to wake another. That it had slept is what
 * its events say. */
static void *thread_main_of_absent(void *argument)
{
    lanepool_i_worker *worker = argument;
    lanepool_i_semaphore_wait(&worker->crew->park.sleepers[worker->index].semaphore);
    if (worker->has_before) {
        lanepool_i_thread_join(&worker->before);
        lanepool_i_trace(worker->ring, LANEPOOL_EVENT_WAKE, 0, 0);
    }
    worker->leaves = false;
    worker->ended = false;
    is_back(worker);
    worker->crew->work->begin(worker->crew->owner, worker);
    start_search(worker);
    run_guarded(worker);
    return NULL;
}

/* --- the crew --- */

static void start_absent(void *owner, size_t index)
{
    const lanepool_i_crew *crew = owner;
    crew->work->start(crew->owner, index);
}

bool lanepool_i_crew_init(lanepool_i_crew *crew, size_t worker_count, size_t resident,
                          const lanepool_i_work *work_for, void *owner, lanepool_i_levels *levels)
{
    crew->worker_count = worker_count;
    atomic_init(&crew->lacked_ns, 0);
    crew->work = work_for;
    crew->owner = owner;
    crew->spill = (lanepool_i_tasks){ NULL, NULL, 0 };
    crew->levels = levels;
    atomic_init(&crew->spill_count, 0);
    atomic_init(&crew->halt, 0);
    crew->workers = lanepool_i_memory_alloc(worker_count * sizeof *crew->workers);
    if (crew->workers == NULL)
        return false;
    if (!lanepool_i_mutex_init(&crew->spill_lock))
        goto free_workers;
    if (!lanepool_i_park_init(&crew->park, worker_count, resident, start_absent, crew))
        goto fini_lock;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_worker *worker = &crew->workers[i];
        lanepool_i_runq_init(&worker->queue, levels == NULL);
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
        worker->put_off = 0;
        worker->own_took = 0;
        worker->took_elsewhere = false;
        worker->searching = false;
        worker->ended = false;
        worker->leaves = false;
        worker->has_thread = false;
        worker->has_before = false;
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
    for (size_t i = 0; i < crew->park.resident; i++) {
        lanepool_i_worker *worker = &crew->workers[i];
        worker->has_thread = lanepool_i_thread_start(&worker->thread, thread_main, worker);
        if (!worker->has_thread) {
            lanepool_i_crew_stop(crew);
            lanepool_i_crew_join(crew);
            return false;
        }
    }
    return true;
}

/* The post comes last: then the next one to claim this worker finds all of it written. */
bool lanepool_i_crew_start_absent(lanepool_i_crew *crew, size_t index)
{
    lanepool_i_worker *worker = &crew->workers[index];
    lanepool_i_thread thread;
    if (!lanepool_i_thread_start(&thread, thread_main_of_absent, worker))
        return false;
    worker->before = worker->thread;
    worker->has_before = worker->has_thread;
    worker->thread = thread;
    worker->has_thread = true;
    lanepool_i_semaphore_post(&crew->park.sleepers[index].semaphore);
    return true;
}

/* The time is never 0: that would say that nothing is lacking. */
void lanepool_i_crew_lack(lanepool_i_crew *crew, size_t index)
{
    lanepool_i_park_lack(&crew->park, index);
    store_relaxed(&crew->lacked_ns, lanepool_i_clock_coarse() | 1);
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
    for (size_t i = crew->worker_count; i-- > 0;) {
        lanepool_i_worker *worker = &crew->workers[i];
        if (worker->has_thread)
            lanepool_i_thread_join(&worker->thread);
        worker->has_thread = false;
    }
}
