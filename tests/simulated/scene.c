/* Owns the current scenario: its pool, the bodies of its tasks, and the notes that they leave. */
#include "simulated/scene.h"

#include <string.h>

#include "task/task.h"

struct scene scene;
uint64_t scene_seed;

static uint64_t moment(void)
{
    return atomic_fetch_add_explicit(&scene.clock, 1, memory_order_relaxed) + 1;
}

static void note(_Atomic uint64_t *when)
{
    atomic_store_explicit(when, moment(), memory_order_relaxed);
}

void scene_expect_status(lanepool_status expected, lanepool_status answered, const char *call,
                         const char *where, int line)
{
    if (answered != expected)
        sim_fail("%s, line %d: %s answers %s", where, line, call, lanepool_status_name(answered));
}

/* --- what tasks do --- */

#define EVERY_KEY "ABCDEFGH"

/* Accesses plain memory that only the lanes guard, so that ThreadSanitizer reports tasks that
 * overlap. */
static void touch_cells(const struct scene_task *task)
{
    for (const char *key = *task->claims == '*' ? EVERY_KEY : task->claims; *key; key++) {
        volatile uint64_t *cell = &scene.cells[toupper(*key) - 'A'];
        if (isupper(*key))
            *cell = *cell + 1;
        else
            (void)*cell;
    }
}

static void note_call(struct scene_task *task, enum scene_call call, uint64_t ticket)
{
    atomic_fetch_add_explicit(&task->calls, 1, memory_order_relaxed);
    atomic_store_explicit(&task->call, call, memory_order_relaxed);
    atomic_store_explicit(&task->ticket, ticket, memory_order_relaxed);
    atomic_store_explicit(&task->thread, sim_self(), memory_order_relaxed);
    note(&task->call_begin);
}

/* Counts an attempt. Returns true for the first one. All attempts are one call, which ends when the
 * task does. */
static bool note_attempt(struct scene_task *task)
{
    return atomic_fetch_add_explicit(&task->attempts, 1, memory_order_relaxed) == 0;
}

static int end_attempt(struct scene_task *task)
{
    uint32_t attempts = atomic_load_explicit(&task->attempts, memory_order_relaxed);

    task->fails = attempts <= task->fails_first;
    note(&task->attempt_end);
    return task->fails;
}

static int call_task(lanepool_run *run, void *context)
{
    struct scene_task *task = context;

    if (task->policy == NULL || note_attempt(task))
        note_call(task, SCENE_RAN, lanepool_run_ticket(run));
    touch_cells(task);
    if (task->body != NULL)
        task->body(task);
    if (task->takes > 0)
        sim_sleep(task->takes);
    touch_cells(task);
    lanepool_run_set_result(run, task);
    if (task->policy != NULL)
        return end_attempt(task);
    note(&task->call_end);
    return task->fails;
}

static void task_cancelled(void *context, lanepool_status why)
{
    struct scene_task *task = context;

    EXPECT(why == LANEPOOL_CANCELLED || why == LANEPOOL_POISONED || why == LANEPOOL_SHUT_DOWN ||
           why == LANEPOOL_TIMED_OUT);
    note_call(task, SCENE_CANCELLED, 0);
    if (task->told != NULL)
        task->told(task);
    note(&task->call_end);
}

static lanepool_cancelled_fn cancelled_of(lanepool_task_fn function)
{
    return function == call_task ? task_cancelled : NULL;
}

static void hand_back(void *context, const lanepool_task *description, uint64_t ticket)
{
    struct scene_task *task = description->context;

    EXPECT(context == &scene);
    note_call(task, SCENE_HANDED_BACK, ticket);
    note(&task->call_end);
}

static void release(void *context)
{
    struct scene_task *task = context;

    uint64_t end = atomic_load_explicit(&task->attempt_end, memory_order_relaxed);

    if (end != 0)
        atomic_store_explicit(&task->call_end, end, memory_order_relaxed);
    atomic_fetch_add_explicit(&task->releases, 1, memory_order_relaxed);
}

static void completed(void *context, const lanepool_result *result)
{
    struct scene_task *task = context;

    (void)result;
    atomic_fetch_add_explicit(&task->thens, 1, memory_order_relaxed);
    task->then(task);
}

/* --- tasks --- */

struct scene_task *scene_task(const char *claims)
{
    EXPECT(scene.task_count < SCENE_TASKS_MAX);
    struct scene_task *task = &scene.tasks[scene.task_count++];
    memset(task, 0, sizeof *task);
    task->claims = claims;
    return task;
}

static lanepool_task describe(struct scene_task *task)
{
    lanepool_task description = LANEPOOL_TASK_INIT;

    description.function = call_task;
    description.context = task;
    description.release = task->has_release ? release : NULL;
    /* Plain tasks stay plain; the library calls back for them, too. */
    description.cancelled = task->has_release || task->has_future ? task_cancelled : NULL;
    description.on_failure = task->policy;
    description.group = task->group;
    description.pump = task->pump;
    description.priority = task->priority;
    description.start_within_ns = task->start_within;
    description.run_within_ns = task->run_within;
    description.future = task->has_future || task->then != NULL ? &task->future : NULL;
    return description;
}

static size_t make_claims(const struct scene_task *task, lanepool_claim *claims)
{
    size_t count = strlen(task->claims);

    EXPECT(count <= SCENE_CLAIMS_MAX);
    if (*task->claims == '*')
        claims[0] = lanepool_claim_all();
    for (size_t i = 0; i < count && *task->claims != '*'; i++)
        claims[i] =
            lanepool_claim_of(lanepool_key_id((uint64_t)toupper(task->claims[i])),
                              isupper(task->claims[i]) ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
    if (task->lane != NULL)
        claims[0] = lanepool_claim_of(lanepool_key_lane(task->lane), LANEPOOL_EXCLUSIVE);
    return count;
}

static lanepool_status submit(struct scene_task *task, enum scene_form form, uint64_t wait_max_ns)
{
    lanepool_claim claims[SCENE_CLAIMS_MAX];
    lanepool_task description = describe(task);
    lanepool_pool *pool = task->pool != NULL ? task->pool : scene.pool;
    lanepool_status status;

    if (scene.options.is_compatible == NULL || *task->claims == '*') {
        description.claim_count = make_claims(task, claims);
        description.claims = claims;
    }
    atomic_store_explicit(&task->form, form, memory_order_relaxed);
    note(&task->submit_begin);
    if (form == SCENE_OR_RUN)
        status = lanepool_pool_submit_or_run(pool, &description);
    else if (wait_max_ns == LANEPOOL_FOREVER)
        status = lanepool_pool_submit(pool, &description);
    else
        status = lanepool_pool_submit_within(pool, &description, wait_max_ns);
    atomic_store_explicit(&task->submitted, (int)status, memory_order_relaxed);
    note(&task->submit_end);
    if (status == LANEPOOL_OK && task->then != NULL)
        task->then_asked = lanepool_future_then(task->future, completed, task) == LANEPOOL_OK;
    return status;
}

lanepool_status scene_submit(struct scene_task *task)
{
    return submit(task, SCENE_WAITS, LANEPOOL_FOREVER);
}

lanepool_status scene_submit_within(struct scene_task *task, uint64_t wait_max_ns)
{
    return submit(task, SCENE_WAITS, wait_max_ns);
}

lanepool_status scene_submit_or_run(struct scene_task *task)
{
    return submit(task, SCENE_OR_RUN, LANEPOOL_FOREVER);
}

lanepool_status scene_stop(bool hands_back)
{
    atomic_store_explicit(&scene.stops, true, memory_order_relaxed);
    lanepool_status status =
        lanepool_pool_shutdown_now(scene.pool, hands_back ? hand_back : NULL, &scene);
    if (atomic_load(&scene.stopped) == 0)
        note(&scene.stopped);
    return status;
}

void scene_limit_lane(char key, size_t pending_max)
{
    lanepool_key wanted = lanepool_key_id((uint64_t)key);
    lanepool_lane *lane;

    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, wanted, &lane));
    scene.limits[key - 'A'] = pending_max;
    EXPECT_STATUS(OK, lanepool_lane_set_pending_max(lane, pending_max));
    lanepool_lane_release(lane);
}

/* --- cancelling --- */

static void begin_cancel(void)
{
    atomic_fetch_add_explicit(&scene.cancels, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&scene.cancelling, 1, memory_order_relaxed);
}

static void end_cancel(size_t count)
{
    atomic_fetch_add_explicit(&scene.counted, count, memory_order_relaxed);
    atomic_fetch_sub_explicit(&scene.cancelling, 1, memory_order_relaxed);
}

/* Checks that a call that cancelled the task has also made the task's one call. */
static lanepool_status note_cancel(struct scene_task *task, lanepool_status status)
{
    end_cancel(0);
    if (status == LANEPOOL_OK) {
        EXPECT(scene_has_ended(task));
        EXPECT(atomic_load_explicit(&task->call, memory_order_relaxed) == SCENE_CANCELLED);
        EXPECT(atomic_load_explicit(&task->thread, memory_order_relaxed) == sim_self());
        atomic_fetch_add_explicit(&task->cancels, 1, memory_order_relaxed);
    } else if (status == LANEPOOL_RUNNING) {
        atomic_store_explicit(&task->told_running, true, memory_order_relaxed);
    }
    return status;
}

lanepool_status scene_cancel(struct scene_task *task)
{
    begin_cancel();
    return note_cancel(task, lanepool_future_cancel(task->future));
}

lanepool_status scene_cancel_wait(struct scene_task *task, uint64_t wait_max_ns)
{
    begin_cancel();
    lanepool_status status =
        note_cancel(task, lanepool_future_cancel_wait(task->future, wait_max_ns));

    EXPECT(status != LANEPOOL_DONE || scene_has_ended(task));
    return status;
}

lanepool_status scene_cancel_lane(char key)
{
    lanepool_key wanted = lanepool_key_id((uint64_t)key);
    lanepool_lane *lane;
    size_t count = 0;
    lanepool_status status = lanepool_lane_acquire(scene.pool, wanted, &lane);

    if (status != LANEPOOL_OK)
        return status;
    begin_cancel();
    status = lanepool_lane_cancel(lane, &count);
    end_cancel(count);
    lanepool_lane_release(lane);
    return status;
}

lanepool_status scene_cancel_all(void)
{
    size_t count = 0;

    begin_cancel();
    lanepool_status status = lanepool_pool_cancel(scene.pool, &count);
    end_cancel(count);
    return status;
}

bool scene_has_begun(const struct scene_task *task)
{
    return atomic_load_explicit(&task->call_begin, memory_order_relaxed) != 0;
}

bool scene_has_ended(const struct scene_task *task)
{
    return atomic_load_explicit(&task->call_end, memory_order_relaxed) != 0;
}

bool scene_before(const struct scene_task *first, const struct scene_task *second)
{
    uint64_t end = atomic_load_explicit(&first->call_end, memory_order_relaxed);
    uint64_t begin = atomic_load_explicit(&second->call_begin, memory_order_relaxed);

    return end != 0 && begin != 0 && end < begin;
}

static bool is_released(const struct scene_task *task)
{
    return atomic_load_explicit(&task->releases, memory_order_relaxed) != 0;
}

bool scene_rule(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)user;
    EXPECT(!is_released(a->context) && !is_released(b->context));
    return !scene_conflict(a->context, b->context);
}

/* --- threads --- */

struct spawned {
    void (*main)(void *argument);
    void *argument;
};

static struct spawned spawned[SCENE_THREADS_MAX];

static void *spawned_main(void *argument)
{
    const struct spawned *self = argument;

    self->main(self->argument);
    return NULL;
}

void scene_spawn(void (*main)(void *argument), void *argument)
{
    uint32_t at = scene.thread_count++;

    EXPECT(at < SCENE_THREADS_MAX);
    spawned[at] = (struct spawned){ main, argument };
    EXPECT(lanepool_i_thread_start(&scene.threads[at], 0, spawned_main, &spawned[at]));
}

void scene_join(void)
{
    while (scene.thread_count > 0)
        lanepool_i_thread_join(&scene.threads[--scene.thread_count]);
}

void scene_make_gates(uint32_t count)
{
    EXPECT(count <= SCENE_GATES_MAX);
    for (; scene.gate_count < count; scene.gate_count++)
        EXPECT(lanepool_i_semaphore_init(&scene.gates[scene.gate_count]));
}

void scene_open_gate(uint32_t gate)
{
    lanepool_i_semaphore_post(&scene.gates[gate]);
}

void scene_wait_at_gate(uint32_t gate)
{
    lanepool_i_semaphore_wait(&scene.gates[gate]);
}

/* --- the pool --- */

uint32_t scene_variant(uint32_t count)
{
    return (uint32_t)(scene_seed % count);
}

bool scene_try_open(const lanepool_options *options)
{
    memset(&scene, 0, sizeof scene);
    scene.options = *options;
    lanepool_i_cancelled_of = cancelled_of;
    if (lanepool_pool_create(options, &scene.pool) != LANEPOOL_OK)
        return false;
    sim_sleep(1);
    return true;
}

void scene_open(const lanepool_options *options)
{
    EXPECT(scene_try_open(options));
}

void scene_open_with(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    scene_open(&options);
}

/* Returns true if the task may have ended between two attempts, because it was asked to stop. */
static bool may_be_called_off(const struct scene_task *task, enum scene_call call)
{
    return call == SCENE_RAN && task->fails && task->policy != NULL &&
           (atomic_load(&scene.cancels) > 0 || atomic_load(&scene.stops));
}

/* Returns true if the deadline for the task's start may have passed. */
static bool may_be_late(const struct scene_task *task, enum scene_call call)
{
    return call == SCENE_CANCELLED && task->start_within != 0;
}

static void check_future(struct scene_task *task)
{
    static const lanepool_status statuses[] = { LANEPOOL_OK, LANEPOOL_OK, LANEPOOL_CANCELLED,
                                                LANEPOOL_CANCELLED };
    enum scene_call call = (enum scene_call)atomic_load(&task->call);
    lanepool_status expected = call == SCENE_RAN && task->fails ? LANEPOOL_FAILED : statuses[call];
    lanepool_result result;

    if (task->future == NULL)
        return;
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, 0, &result));
    EXPECT(result.status == expected ||
           (may_be_late(task, call) && result.status == LANEPOOL_TIMED_OUT) ||
           (may_be_called_off(task, call) && result.status == LANEPOOL_CANCELLED));
    EXPECT(result.value == (call == SCENE_RAN ? task : NULL));
    lanepool_future_release(task->future);
}

static void end_with(bool judges_first)
{
    lanepool_pool *pool = scene.pool;

    if (judges_first)
        scene_judge_end();
    scene.pool = NULL;
    EXPECT_STATUS(OK, lanepool_pool_destroy(pool));
    if (!judges_first)
        scene_judge_end();
    for (uint32_t i = 0; i < scene.task_count; i++)
        check_future(&scene.tasks[i]);
    while (scene.gate_count > 0)
        lanepool_i_semaphore_fini(&scene.gates[--scene.gate_count]);
}

void scene_end(void)
{
    end_with(true);
}

void scene_destroy(void)
{
    end_with(false);
}

void scene_close(void)
{
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}
