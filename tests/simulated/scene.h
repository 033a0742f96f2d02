/*
 * The tools for writing scenarios: one pool, a few tasks, additional threads, and a judgement at
 * the end. A scenario is the body of the first thread of a simulated run. Only one scenario runs at
 * a time, so its parts are global.
 *
 *     scene_open(&options);
 *     struct scene_task *task = scene_task("Ab");
 *     EXPECT_STATUS(OK, scene_submit(task));
 *     scene_close();
 *
 * Besides the scenario's own checks, every task is judged at the end:
 * * An accepted task was called once; a refused one was not called.
 * * A task neither overlapped nor overtook a task that it conflicts with.
 * * Its future and its release callback agree with that.
 *
 * Whenever no thread is ready, no thread may wait without a reason.
 */
#ifndef TESTS_SIMULATED_SCENE_H
#define TESTS_SIMULATED_SCENE_H

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/lanepool.h"
#include "platform/platform.h"
#include "simulator/simulator.h"

enum {
    SCENE_TASKS_MAX = 24,
    SCENE_THREADS_MAX = 6,
    SCENE_GATES_MAX = 4,
    SCENE_CLAIMS_MAX = 8,
    SCENE_KEYS = 26
};

enum scene_form { SCENE_WAITS, SCENE_OR_RUN };
enum scene_call { SCENE_NOT_CALLED, SCENE_RAN, SCENE_CANCELLED, SCENE_HANDED_BACK };

/* A moment is a position in the one order of all notes; 0: not yet. */
struct scene_task {
    /* The task's properties, which the scenario sets before it submits the task. */
    const char *claims; /* a letter for each key: "A" exclusive, "a" shared; "*": a barrier */
    void (*body)(struct scene_task *self);
    uint64_t takes;                    /* in virtual time, after the body */
    void (*then)(struct scene_task *); /* called when the future completes */
    bool has_future;
    bool has_release;
    bool fails; /* with a policy: true if the last attempt failed */
    /* Or NULL. A task with a policy has a release callback, too. */
    const lanepool_failure_policy *policy;
    uint32_t fails_first; /* with a policy: how many attempts fail */
    lanepool_pool *pool;  /* or NULL for the scene's pool */
    lanepool_group *group;
    lanepool_pump *pump;
    uint32_t priority;
    uint64_t start_within; /* deadlines in virtual time; 0: none. It may be cancelled then */
    uint64_t run_within;
    bool may_be_cancelled; /* the scenario cancels it by other means than those below */
    lanepool_lane *lane;   /* a handle of the first key, claimed instead of that key; or NULL */
    void (*told)(struct scene_task *self); /* called by its cancelling call; or NULL */

    /* The task's history. */
    lanepool_future *future;
    bool then_asked;
    _Atomic int form;      /* of the submit that is running */
    _Atomic int submitted; /* a status, once submit_end is set */
    _Atomic uint64_t submit_begin, submit_end;
    _Atomic uint32_t calls;
    _Atomic int call; /* enum scene_call */
    _Atomic uint64_t call_begin, call_end;
    _Atomic uint64_t ticket;
    _Atomic uint32_t thread; /* the thread that made the call */
    _Atomic uint32_t releases, thens;
    /* With a policy: the end of the last attempt, which becomes the end of the call. */
    _Atomic uint64_t attempt_end;
    _Atomic uint32_t attempts;
    _Atomic uint32_t cancels;  /* how many calls answered that they have cancelled it */
    _Atomic bool told_running; /* a cancelling call came too late and answered RUNNING */
};

struct scene {
    lanepool_pool *pool;
    lanepool_options options;
    struct scene_task tasks[SCENE_TASKS_MAX];
    uint32_t task_count;
    _Atomic uint64_t clock;
    _Atomic bool stops;          /* a shutdown now has been called, or is about to be called */
    _Atomic bool paused;         /* ready tasks need not run */
    _Atomic uint64_t stopped;    /* when a shutdown now had returned */
    _Atomic uint32_t cancels;    /* how many cancelling calls were made */
    _Atomic uint32_t cancelling; /* how many cancelling calls are running */
    _Atomic size_t counted;      /* sum of the counts that cancelling calls returned */
    uint64_t limits[SCENE_KEYS]; /* limits of single lanes, instead of the pool's; 0: none */
    uint64_t cells[SCENE_KEYS];  /* plain memory, guarded only by the keys' lanes */
    lanepool_i_thread threads[SCENE_THREADS_MAX];
    uint32_t thread_count;
    lanepool_i_semaphore gates[SCENE_GATES_MAX];
    uint32_t gate_count;
};

extern struct scene scene;
/* The seed of the current run. */
extern uint64_t scene_seed;

/* --- the pool --- */

/* Returns a number below `count` that follows from the run's seed; 0 in an exploration. To be
 * called before scene_open(). */
uint32_t scene_variant(uint32_t count);
/* Begins a scenario: creates the pool, and waits until its workers sleep. */
void scene_open(const lanepool_options *options);
/* Like scene_open(), for a run with faults. Returns false if the pool cannot be created; then
 * nothing is to be closed. */
bool scene_try_open(const lanepool_options *options);
/* Opens a pool with `workers` workers and defaults for everything else. */
void scene_open_with(unsigned workers);
/* Joins the threads, shuts the pool down, awaits its end, judges, and destroys it. */
void scene_close(void);
/* Judges and destroys a pool that has terminated. */
void scene_end(void);
/* Destroys a pool that may still have work, which waits for its end; then judges. The pool may or
 * may not have been shut down. */
void scene_destroy(void);
/* For `is_compatible`: two tasks conflict by the rule of scene_conflict(). */
bool scene_rule(const lanepool_task_view *a, const lanepool_task_view *b, void *user);

/* --- tasks --- */

/* Returns a new task. Does not copy the claims. */
struct scene_task *scene_task(const char *claims);
lanepool_status scene_submit(struct scene_task *task);
lanepool_status scene_submit_within(struct scene_task *task, uint64_t wait_max_ns);
lanepool_status scene_submit_or_run(struct scene_task *task);
/* Calls shutdown now. Unfinished tasks are handed back, or get a cancelling call. */
lanepool_status scene_stop(bool hands_back);

/* Gives a key's lane a limit of its own. The key is a capital letter. */
void scene_limit_lane(char key, size_t pending_max);

/* Cancels one task, and compares the answer with the task's history. */
lanepool_status scene_cancel(struct scene_task *task);
lanepool_status scene_cancel_wait(struct scene_task *task, uint64_t wait_max_ns);
/* Cancel all tasks of a key, which is a capital letter, or all tasks. */
lanepool_status scene_cancel_lane(char key);
lanepool_status scene_cancel_all(void);

bool scene_has_begun(const struct scene_task *task);
bool scene_has_ended(const struct scene_task *task);
/* Returns true if the call of `first` had ended before the call of `second` began. */
bool scene_before(const struct scene_task *first, const struct scene_task *second);

/* Returns true if the tasks have a letter in common that is a capital in one of them, or if one of
 * them is a barrier. */
static inline bool scene_conflict(const struct scene_task *a, const struct scene_task *b)
{
    if (*a->claims == '*' || *b->claims == '*')
        return true;
    for (const char *one = a->claims; *one; one++)
        for (const char *other = b->claims; *other; other++)
            if (toupper(*one) == toupper(*other) && (isupper(*one) || isupper(*other)))
                return true;
    return false;
}

/* --- threads and gates --- */

void scene_spawn(void (*main)(void *argument), void *argument);
/* Waits for all spawned threads. */
void scene_join(void);
/* Makes `count` closed gates. */
void scene_make_gates(uint32_t count);
/* Lets one thread pass that waits at the gate now or later. */
void scene_open_gate(uint32_t gate);
void scene_wait_at_gate(uint32_t gate);

/* --- judging --- */

/* For `quiet` of the simulator: fails the run if a thread waits without a reason. */
void scene_judge_quiet(void *context);
/* Judges the tasks when all of them have ended. */
void scene_judge_end(void);

#define EXPECT(condition) \
    ((condition) ? (void)0 : sim_fail("%s, line %d: expected %s", __func__, __LINE__, #condition))
#define EXPECT_STATUS(expected, call) \
    scene_expect_status(LANEPOOL_##expected, call, #call, __func__, __LINE__)
void scene_expect_status(lanepool_status expected, lanepool_status answered, const char *call,
                         const char *where, int line);

#endif
