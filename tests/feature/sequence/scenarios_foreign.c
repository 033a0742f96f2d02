/* Owns the foreign executor and the steps of its sequence; see scenarios_foreign.h. */
#include "feature/sequence/scenarios_foreign.h"

#include <string.h>

enum { WORKS_MAX = 64, THREADS_MAX = 4 };

struct foreign foreign;

/* Guard: L the lock. */
static struct behind {
    struct foreign_manner manner;
    lanepool_i_mutex lock;
    lanepool_i_semaphore arrivals;
    lanepool_work *works[WORKS_MAX]; /* L */
    uint32_t count, taken;           /* L */
    uint32_t executes;               /* L */
    lanepool_work *alarm;            /* L; or NULL */
    uint64_t alarm_ns;               /* L */
    uint32_t alarms;                 /* L */
    bool ends;                       /* L */
    lanepool_i_semaphore changes;    /* posted when the alarm changes */
    lanepool_i_thread threads[THREADS_MAX];
    lanepool_i_thread clock;
    uint32_t thread_count;
    bool has_clock; /* `clock` was started */
    _Atomic uint32_t released;
    bool inside;     /* guarded by the sequence */
    uint32_t places; /* guarded by the sequence */
} behind;

/* --- the executor --- */

static void keep_locked(lanepool_work *work)
{
    for (uint32_t i = 0; i < behind.manner.times; i++) {
        EXPECT(behind.count < WORKS_MAX);
        behind.works[behind.count++] = work;
        lanepool_i_semaphore_post(&behind.arrivals);
    }
}

static lanepool_status execute(void *context, lanepool_work *work)
{
    EXPECT(context == &behind);
    lanepool_i_mutex_lock(&behind.lock);
    uint32_t call = behind.executes++;
    bool refuses = call < 64 && (behind.manner.refuses >> call & 1) != 0;
    if ((!refuses || behind.manner.lies) && behind.manner.kind != FOREIGN_INSIDE)
        keep_locked(work);
    lanepool_i_mutex_unlock(&behind.lock);
    if (refuses)
        return LANEPOOL_FULL;
    for (uint32_t i = 0; behind.manner.kind == FOREIGN_INSIDE && i < behind.manner.times; i++)
        lanepool_work_run(work);
    return LANEPOOL_OK;
}

static lanepool_work *take(void)
{
    lanepool_i_mutex_lock(&behind.lock);
    lanepool_work *work = behind.taken < behind.count ? behind.works[behind.taken++] : NULL;
    lanepool_i_mutex_unlock(&behind.lock);
    return work;
}

static void *thread_main(void *argument)
{
    lanepool_work *work;

    do {
        lanepool_i_semaphore_wait(&behind.arrivals);
        work = take();
        if (work != NULL)
            lanepool_work_run(work);
    } while (work != NULL);
    return argument;
}

static lanepool_status execute_after(void *context, uint64_t delay_ns, lanepool_work *work)
{
    EXPECT(context == &behind);
    lanepool_i_mutex_lock(&behind.lock);
    uint32_t number = behind.alarms++;
    bool refuses = number < behind.manner.deaf_for;
    if (!refuses) {
        behind.alarm = work;
        behind.alarm_ns = sim_now();
        if (number >= behind.manner.deaf_for + behind.manner.early)
            behind.alarm_ns += delay_ns + behind.manner.late_ns;
        lanepool_i_semaphore_post(&behind.changes);
    }
    lanepool_i_mutex_unlock(&behind.lock);
    return refuses ? LANEPOOL_FULL : LANEPOOL_OK;
}

static bool take_back(void *context, lanepool_work *work)
{
    EXPECT(context == &behind);
    lanepool_i_mutex_lock(&behind.lock);
    bool waits = behind.alarm == work;
    behind.alarm = NULL;
    lanepool_i_mutex_unlock(&behind.lock);
    return waits;
}

/* Takes the work of an alarm that is due. Returns NULL if none is due, and stores the time of the
 * next one in *next_ns. */
static lanepool_work *take_alarm(uint64_t *next_ns)
{
    lanepool_i_mutex_lock(&behind.lock);
    lanepool_work *work = behind.alarm;
    *next_ns = work != NULL ? behind.alarm_ns : UINT64_MAX;
    if (*next_ns > sim_now())
        work = NULL;
    if (work != NULL)
        behind.alarm = NULL;
    lanepool_i_mutex_unlock(&behind.lock);
    return work;
}

static bool has_ended(void)
{
    lanepool_i_mutex_lock(&behind.lock);
    bool ends = behind.ends && behind.alarm == NULL;
    lanepool_i_mutex_unlock(&behind.lock);
    return ends;
}

static void *clock_main(void *argument)
{
    while (!has_ended()) {
        uint64_t next_ns;
        lanepool_work *work = take_alarm(&next_ns);
        for (uint32_t i = 0; work != NULL && i < behind.manner.times; i++)
            lanepool_work_run(work);
        if (work == NULL)
            (void)lanepool_i_semaphore_wait_until(&behind.changes, next_ns);
    }
    return argument;
}

static void note_release(void *context)
{
    EXPECT(context == &behind);
    atomic_fetch_add(&behind.released, 1);
}

/* --- start and end --- */

static void start_threads(void)
{
    for (; behind.thread_count < behind.manner.threads; behind.thread_count++)
        EXPECT(lanepool_i_thread_start(&behind.threads[behind.thread_count], 0, thread_main, NULL));
    if (behind.manner.has_timer)
        EXPECT(lanepool_i_thread_start(&behind.clock, 0, clock_main, NULL));
    behind.has_clock = behind.manner.has_timer;
}

static void end_threads(void)
{
    lanepool_i_mutex_lock(&behind.lock);
    behind.ends = true;
    lanepool_i_mutex_unlock(&behind.lock);
    lanepool_i_semaphore_post(&behind.changes);
    for (uint32_t i = 0; i < behind.thread_count; i++)
        lanepool_i_semaphore_post(&behind.arrivals);
    for (uint32_t i = 0; i < behind.thread_count; i++)
        lanepool_i_thread_join(&behind.threads[i]);
    if (behind.has_clock)
        lanepool_i_thread_join(&behind.clock);
}

/* Creates the lock and the semaphores, then the executor. If one fails, frees those before it. */
bool foreign_try_open(const struct foreign_manner *manner)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;

    memset(&scene, 0, sizeof scene);
    memset(&foreign, 0, sizeof foreign);
    memset(&behind, 0, sizeof behind);
    behind.manner = *manner;
    behind.manner.times += behind.manner.times == 0;
    if (!lanepool_i_mutex_init(&behind.lock, LANEPOOL_I_LOCK_LIFECYCLE))
        return false;
    if (!lanepool_i_semaphore_init(&behind.arrivals))
        goto fini_lock;
    if (!lanepool_i_semaphore_init(&behind.changes))
        goto fini_arrivals;
    functions.execute = execute;
    functions.execute_after = manner->has_timer ? execute_after : NULL;
    functions.take_back = manner->has_timer ? take_back : NULL;
    functions.release = note_release;
    if (lanepool_executor_create(&functions, &behind, &foreign.executor) == LANEPOOL_OK)
        return true;
    lanepool_i_semaphore_fini(&behind.changes);
fini_arrivals:
    lanepool_i_semaphore_fini(&behind.arrivals);
fini_lock:
    lanepool_i_mutex_fini(&behind.lock);
    return false;
}

void foreign_open(const struct foreign_manner *manner)
{
    EXPECT(foreign_try_open(manner));
    start_threads();
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &foreign.sequence));
}

void foreign_run_kept(void)
{
    lanepool_work *work;

    while ((work = take()) != NULL)
        lanepool_work_run(work);
}

void foreign_run_first(void)
{
    lanepool_work_run(behind.works[0]);
}

/* A work that runs more often than it was handed over must not run after the executor's end. */
void foreign_close(void)
{
    bool may_be_late = behind.manner.times == 1 && !behind.manner.lies;

    if (!may_be_late) {
        end_threads();
        foreign_run_kept();
    }
    EXPECT_STATUS(OK, lanepool_executor_destroy(foreign.executor));
    if (may_be_late)
        end_threads();
    foreign_run_kept();
    EXPECT(atomic_load(&behind.released) == 1);
    lanepool_i_semaphore_fini(&behind.changes);
    lanepool_i_semaphore_fini(&behind.arrivals);
    lanepool_i_mutex_fini(&behind.lock);
    while (scene.gate_count > 0)
        lanepool_i_semaphore_fini(&scene.gates[--scene.gate_count]);
}

/* --- steps --- */

static int call_step(lanepool_run *run, void *context)
{
    struct foreign_step *step = context;

    EXPECT(lanepool_run_pool(run) == NULL && lanepool_run_worker(run) == SIZE_MAX);
    EXPECT(!behind.inside);
    behind.inside = true;
    atomic_fetch_add(&step->runs, 1);
    step->place = behind.places++;
    step->started_ns = sim_now();
    if (step->body != NULL)
        step->body(step);
    lanepool_run_set_result(run, step);
    behind.inside = false;
    return 0;
}

static void step_cancelled(void *context, lanepool_status why)
{
    struct foreign_step *step = context;

    EXPECT(why == LANEPOOL_CANCELLED || why == LANEPOOL_SHUT_DOWN);
    atomic_fetch_add(&step->cancels, 1);
}

static void release_step(void *context)
{
    struct foreign_step *step = context;

    atomic_fetch_add(&step->releases, 1);
}

lanepool_status foreign_submit(struct foreign_step *step)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = call_step;
    task.context = step;
    task.release = release_step;
    task.cancelled = step_cancelled;
    task.future = &step->future;
    /* Set before the submit, because the step may run and be judged before the submit returns. */
    step->accepted = true;
    lanepool_status status =
        step->delay_ns != 0
            ? lanepool_sequence_submit_after(foreign.sequence, &task, step->delay_ns)
            : lanepool_sequence_submit(foreign.sequence, &task);
    if (status != LANEPOOL_OK)
        step->accepted = false;
    return status;
}

static void judge(struct foreign_step *step)
{
    uint32_t runs = atomic_load(&step->runs);
    uint32_t calls = runs + atomic_load(&step->cancels);
    lanepool_result result;

    if (calls != step->accepted || atomic_load(&step->releases) != calls)
        sim_fail("step %d was %saccepted, ran %u times, was called %u times and released %u times",
                 (int)(step - foreign.steps), step->accepted ? "" : "not ", runs, calls,
                 atomic_load(&step->releases));
    EXPECT(foreign.cancels || runs == step->accepted);
    EXPECT((step->future != NULL) == step->accepted);
    if (step->future == NULL)
        return;
    EXPECT_STATUS(OK, lanepool_future_wait(step->future, 0, &result));
    EXPECT(result.status == (runs == 1 ? LANEPOOL_OK : LANEPOOL_CANCELLED));
    EXPECT(result.value == (runs == 1 ? step : NULL));
    EXPECT_STATUS(DONE, lanepool_future_cancel(step->future));
    lanepool_future_release(step->future);
}

void foreign_end_sequence(void)
{
    EXPECT_STATUS(OK, lanepool_sequence_destroy(foreign.sequence));
    for (uint32_t i = 0; i < FOREIGN_STEPS_MAX; i++)
        judge(&foreign.steps[i]);
    memset(foreign.steps, 0, sizeof foreign.steps);
}

void foreign_end(void)
{
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    foreign_end_sequence();
    foreign_close();
}
