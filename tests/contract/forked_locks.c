/* In a child of fork(), a lock may be held for ever by a thread that does not exist there. Futures
 * and groups belong to no pool and have such locks: no call on them waits for one. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

/* The thread is stopped at arbitrary points. In a good part of the rounds it is inside a lock. */
enum { ROUNDS = 60, ANSWERS_MAX = 16 };

/* The answers that the child got, in memory that it shares with the parent. */
struct answers {
    unsigned count;
    lanepool_status statuses[ANSWERS_MAX];
    lanepool_status of_done;
    lanepool_result done;
    bool has_ended; /* it has made all of its calls */
};

struct things {
    lanepool_pool *pool;
    struct gate gate;
    struct step done, waiting;
    lanepool_group *group;
    lanepool_future *done_future, *waiting_future;
    struct answers *answers;
    void (*use)(struct things *things); /* the calls that the thread repeats all the time */
    _Atomic bool stop;
};

static void open_things(struct things *things)
{
    lanepool_group_options keeping = LANEPOOL_GROUP_OPTIONS_INIT;

    memset(things, 0, sizeof *things);
    keeping.keeps_completions = true;
    things->answers = process_shared_memory(sizeof *things->answers);
    things->pool = pool_make(1, LANEPOOL_PER_KEY);
    things->done.value = things;
    gate_init(&things->gate);
    things->waiting.gate = &things->gate;
    expect_ok(lanepool_group_create(&keeping, &things->group));
    lanepool_task done = step_task(&things->done, NULL, 0);
    lanepool_task waiting = step_task(&things->waiting, NULL, 0);
    done.future = &things->done_future;
    waiting.future = &things->waiting_future;
    waiting.group = things->group;
    expect_ok(lanepool_pool_submit(things->pool, &done));
    expect_ok(lanepool_future_wait(things->done_future, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_pool_submit(things->pool, &waiting));
    expect(gate_await(&things->gate, 1));
}

static void close_things(struct things *things)
{
    gate_open(&things->gate, 1);
    expect_ok(lanepool_group_wait(things->group, LANEPOOL_FOREVER));
    pool_end(things->pool);
    lanepool_group_destroy(things->group);
    lanepool_future_release(things->waiting_future);
    lanepool_future_release(things->done_future);
    gate_fini(&things->gate);
    process_shared_memory_free(things->answers, sizeof *things->answers);
}

/* --- a thread that a signal stops at any point --- */

static int is_stopped[2], goes_on[2]; /* pipes */

static void stop_here(int signal_number)
{
    int before = errno;
    char byte = 0;

    (void)signal_number;
    if (write(is_stopped[1], &byte, 1) == 1)
        while (read(goes_on[0], &byte, 1) != 1)
            continue;
    errno = before;
}

static void *use_things(void *context)
{
    struct things *things = context;

    while (!atomic_load(&things->stop))
        things->use(things);
    return NULL;
}

static void note(struct answers *answers, lanepool_status status)
{
    if (answers->count < ANSWERS_MAX)
        answers->statuses[answers->count++] = status;
}

static bool fork_beside(struct things *things, pthread_t thread, void (*body)(void *context))
{
    char byte = 0;
    int end;

    memset(things->answers, 0, sizeof *things->answers);
    if (pthread_kill(thread, SIGUSR1) != 0 || read(is_stopped[0], &byte, 1) != 1)
        return false;
    end = process_run_apart(body, things);
    return write(goes_on[1], &byte, 1) == 1 && end == 0 && things->answers->has_ended;
}

/* Forks again and again while a thread uses the things. */
static void fork_beside_uses(void (*use)(struct things *things), void (*body)(void *context),
                             void (*judge)(const struct things *things))
{
    struct things things;
    struct sigaction action = { .sa_handler = stop_here }, before;
    pthread_t thread;
    bool ended = true;

    open_things(&things);
    things.use = use;
    expect(pipe(is_stopped) == 0 && pipe(goes_on) == 0);
    expect_eq(sigaction(SIGUSR1, &action, &before), 0);
    expect_eq(pthread_create(&thread, NULL, use_things, &things), 0);
    for (int i = 0; i < ROUNDS && ended; i++) {
        ended = fork_beside(&things, thread, body);
        if (ended)
            judge(&things);
    }
    atomic_store(&things.stop, true);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_eq(sigaction(SIGUSR1, &before, NULL), 0);
    for (int i = 0; i < 2; i++)
        expect(close(is_stopped[i]) == 0 && close(goes_on[i]) == 0);
    close_things(&things);
    expect(ended);
}

/* --- futures --- */

static void poll_futures(struct things *things)
{
    (void)!lanepool_future_wait(things->waiting_future, 0, NULL);
    (void)!lanepool_future_wait(things->done_future, 0, NULL);
}

static void do_nothing(void *context, const lanepool_result *result)
{
    (void)context;
    (void)result;
}

static void use_futures_in_child(void *context)
{
    struct things *things = context;
    struct answers *answers = things->answers;
    lanepool_future *waiting = things->waiting_future;
    lanepool_future *both[2] = { waiting, waiting };
    size_t index;

    note(answers, lanepool_future_wait(waiting, LANEPOOL_FOREVER, NULL));
    note(answers, lanepool_future_wait(waiting, 0, NULL));
    note(answers, lanepool_future_wait_any(both, 2, LANEPOOL_FOREVER, &index));
    note(answers, lanepool_future_wait_all(both, 2, LANEPOOL_FOREVER));
    note(answers, lanepool_future_then(waiting, do_nothing, NULL));
    note(answers, lanepool_future_cancel(waiting));
    note(answers, lanepool_future_cancel_wait(waiting, LANEPOOL_FOREVER));
    note(answers, lanepool_group_wait(things->group, LANEPOOL_FOREVER));
    answers->of_done = lanepool_future_wait(things->done_future, LANEPOOL_FOREVER, &answers->done);
    lanepool_future_release(things->done_future);
    lanepool_future_release(waiting);
    lanepool_group_destroy(things->group);
    answers->has_ended = lanepool_pool_destroy(things->pool) == LANEPOOL_OK;
}

/* The thread may have been asking for the ended task, too; then the answer is FORKED. */
static void judge_futures(const struct things *things)
{
    const struct answers *answers = things->answers;

    expect_eq(answers->count, 8);
    for (unsigned i = 0; i < answers->count; i++) {
        expect_status(answers->statuses[i], LANEPOOL_FORKED);
    }
    if (answers->of_done == LANEPOOL_OK) {
        expect_ok(answers->done.status);
        expect(answers->done.value == things);
    } else {
        expect_status(answers->of_done, LANEPOOL_FORKED);
    }
}

Test(forked_locks, child_hangs_at_no_future_that_a_thread_was_asking_for)
{
    fork_beside_uses(poll_futures, use_futures_in_child, judge_futures);
}

/* --- groups --- */

static void poll_group(struct things *things)
{
    (void)!lanepool_group_pending(things->group);
}

/* Submits a member to a pool of the child. It is accepted, or the group cannot be used any more.
 * Skipped under sanitizers, which do not allow threads in a child of a process with threads. */
static bool submit_to_own_pool(struct things *things)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *own;

    task.group = things->group;
    if (PROCESS_IS_SANITIZED)
        return true;
    if (lanepool_pool_create(NULL, &own) != LANEPOOL_OK)
        return false;
    lanepool_status status = lanepool_pool_submit(own, &task);
    return lanepool_pool_destroy(own) == LANEPOOL_OK &&
           status == (step.runs == 1 ? LANEPOOL_OK : LANEPOOL_INVALID);
}

static void use_group_in_child(void *context)
{
    struct things *things = context;
    struct answers *answers = things->answers;
    lanepool_completion completion;

    note(answers, lanepool_group_wait(things->group, LANEPOOL_FOREVER));
    note(answers, lanepool_group_cancel(things->group, NULL));
    note(answers, lanepool_group_next(things->group, LANEPOOL_FOREVER, &completion));
    (void)!lanepool_group_pending(things->group);
    answers->has_ended = submit_to_own_pool(things);
    (void)!lanepool_group_close(things->group);
    lanepool_group_destroy(things->group);
    answers->has_ended &= lanepool_pool_destroy(things->pool) == LANEPOOL_OK;
}

static void judge_group(const struct things *things)
{
    const struct answers *answers = things->answers;

    expect_eq(answers->count, 3);
    for (unsigned i = 0; i < answers->count; i++) {
        expect_status(answers->statuses[i], LANEPOOL_FORKED);
    }
}

Test(forked_locks, child_hangs_at_no_group_that_a_thread_was_asking_for)
{
    fork_beside_uses(poll_group, use_group_in_child, judge_group);
}

/* --- what the child may do --- */

/* The group is created before the fork and used after it: an empty group belongs to no process. */
static void use_inherited_group(void *context)
{
    struct things *things = context;
    struct answers *answers = things->answers;
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    lanepool_completion completion;
    lanepool_pool *own;

    answers->has_ended = lanepool_pool_create(NULL, &own) == LANEPOOL_OK;
    task.group = things->group;
    task.future = &future;
    note(answers, lanepool_pool_submit(own, &task));
    note(answers, lanepool_group_wait(things->group, LANEPOOL_FOREVER));
    note(answers, lanepool_future_wait(future, 0, &answers->done));
    note(answers, lanepool_group_next(things->group, LANEPOOL_FOREVER, &completion));
    lanepool_future_release(future);
    lanepool_group_destroy(things->group);
    answers->has_ended &= lanepool_pool_destroy(own) == LANEPOOL_OK;
}

Test(forked_locks, child_may_use_a_group_that_was_empty)
{
    struct things things = { .pool = NULL };
    lanepool_group_options keeping = LANEPOOL_GROUP_OPTIONS_INIT;

    if (PROCESS_IS_SANITIZED)
        return; /* sanitizers do not allow threads in the child */
    things.answers = process_shared_memory(sizeof *things.answers);
    keeping.keeps_completions = true;
    expect_ok(lanepool_group_create(&keeping, &things.group));
    expect_eq(process_run_apart(use_inherited_group, &things), 0);
    expect(things.answers->has_ended);
    expect_eq(things.answers->count, 4);
    for (unsigned i = 0; i < things.answers->count; i++) {
        expect_ok(things.answers->statuses[i]);
    }
    lanepool_group_destroy(things.group);
    process_shared_memory_free(things.answers, sizeof *things.answers);
}
