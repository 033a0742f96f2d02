/*
 * What scenarios are written with: one pool, a few tasks, threads beside them, and a judgement at
 * the end. A scenario is the body of a simulated run's first thread; there is one at a time, so
 * that its parts are global.
 *
 *     scene_open(&options);
 *     struct scene_task *task = scene_task("Ab");
 *     EXPECT_STATUS(OK, scene_submit(task));
 *     scene_close();
 *
 * Whatever a scenario looks for itself, every task is judged at the end: that it had its one call
 * if it was accepted and none if not, that it did not overlap or overtake what it conflicts with,
 * that its future and its release say the same. Whenever no thread can go on, nobody may wait
 * without a reason.
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

/* Moments are places in one order of everything that was noted; 0: not yet. */
struct scene_task {
    /* What it is: the scenario's to set before the submit. */
    const char *claims; /* a letter for each key: "A" exclusive, "a" shared; "*": a barrier */
    void (*body)(struct scene_task *self);
    uint64_t takes;                    /* virtual time, after the body */
    void (*then)(struct scene_task *); /* called when the future completes */
    bool has_future;
    bool has_release;
    bool fails;                            /* with a policy: the last attempt has */
    const lanepool_failure_policy *policy; /* NULL: none; else it takes a release, too */
    uint32_t fails_first;                  /* with a policy: so many attempts fail */
    lanepool_pool *pool;                   /* NULL: the scene's */
    lanepool_group *group;
    lanepool_pump *pump;
    uint32_t priority;
    bool may_be_cancelled; /* by the scenario */
    lanepool_lane *lane;   /* claimed in place of the first key, which is its; or NULL */
    void (*told)(struct scene_task *self); /* what its cancelling call does, or NULL */

    /* What has become of it. */
    lanepool_future *future;
    bool then_asked;
    _Atomic int form;      /* of the submit that goes on */
    _Atomic int submitted; /* a status, once submit_end is set */
    _Atomic uint64_t submit_begin, submit_end;
    _Atomic uint32_t calls;
    _Atomic int call; /* enum scene_call */
    _Atomic uint64_t call_begin, call_end;
    _Atomic uint64_t ticket;
    _Atomic uint32_t thread; /* that made the call */
    _Atomic uint32_t releases, thens;
    _Atomic uint64_t attempt_end; /* with a policy: of the last one; the call's, when it ends */
    _Atomic uint32_t attempts;
    _Atomic uint32_t cancels;  /* calls that said that they have cancelled it */
    _Atomic bool told_running; /* one that came too late was told so */
};

struct scene {
    lanepool_pool *pool;
    lanepool_options options;
    struct scene_task tasks[SCENE_TASKS_MAX];
    uint32_t task_count;
    _Atomic uint64_t clock;
    _Atomic bool stops;          /* a shutdown now is called, or about to be */
    _Atomic bool paused;         /* what could run does not have to */
    _Atomic uint64_t stopped;    /* when one had returned */
    _Atomic uint32_t cancels;    /* calls that cancel, made */
    _Atomic uint32_t cancelling; /* the same, going on */
    _Atomic size_t counted;      /* tasks that calls have cancelled which tell how many */
    uint64_t limits[SCENE_KEYS]; /* of the keys' lanes, in place of the pool's; 0: none */
    uint64_t cells[SCENE_KEYS];  /* guarded by the keys' lanes alone */
    lanepool_i_thread threads[SCENE_THREADS_MAX];
    uint32_t thread_count;
    lanepool_i_semaphore gates[SCENE_GATES_MAX];
    uint32_t gate_count;
};

extern struct scene scene;
/* The seed of the run that goes on. */
extern uint64_t scene_seed;

/* --- the pool --- */

/* A number below `count` that goes with the run's seed; 0 in an exploration. Before scene_open().
 */
uint32_t scene_variant(uint32_t count);
/* Begins a scenario: makes the pool, and waits until its workers sleep. */
void scene_open(const lanepool_options *options);
/* The same for a run in which it may fail for want of something: nothing is to be closed then. */
bool scene_try_open(const lanepool_options *options);
/* A pool with so many workers and everything else at its default. */
void scene_open_with(unsigned workers);
/* Joins the threads, shuts the pool down, awaits its end, judges, and destroys it. */
void scene_close(void);
/* The same for a pool that has terminated. */
void scene_end(void);
/* The same for one that is still at work, shut down or not: destroying waits for it. */
void scene_destroy(void);
/* Two tasks with a letter in common conflict. For `is_compatible`. */
bool scene_rule(const lanepool_task_view *a, const lanepool_task_view *b, void *user);

/* --- tasks --- */

/* A new task. Its claims are not copied. */
struct scene_task *scene_task(const char *claims);
lanepool_status scene_submit(struct scene_task *task);
lanepool_status scene_submit_within(struct scene_task *task, uint64_t wait_ns_max);
lanepool_status scene_submit_or_run(struct scene_task *task);
/* Shutdown now, noted; with the hand-back that notes each task, or with cancelling calls. */
lanepool_status scene_stop(bool hands_back);

/* Gives a key's lane a limit of its own, by its large letter. */
void scene_limit_lane(char key, size_t pending_max);

/* Cancels one task; what is answered is compared with what has become of it. */
lanepool_status scene_cancel(struct scene_task *task);
lanepool_status scene_cancel_wait(struct scene_task *task, uint64_t wait_ns_max);
/* Cancels all tasks of a key, by its large letter; or all. */
lanepool_status scene_cancel_lane(char key);
lanepool_status scene_cancel_all(void);

bool scene_has_begun(const struct scene_task *task);
bool scene_has_ended(const struct scene_task *task);
/* Whether the first call had ended before the second began. */
bool scene_before(const struct scene_task *first, const struct scene_task *second);

/* Whether they have a letter in common, and one of the two large; or one is a barrier. */
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
/* Waits for all that were spawned. */
void scene_join(void);
/* Makes so many gates, closed. */
void scene_make_gates(uint32_t count);
/* Lets one thread pass that waits at the gate, or will. */
void scene_open_gate(uint32_t gate);
void scene_wait_at_gate(uint32_t gate);

/* --- judging --- */

/* For the runs' `quiet`: fails the run when somebody waits without a reason. */
void scene_judge_quiet(void *context);
/* When everything has ended. */
void scene_judge_end(void);

#define EXPECT(condition) \
    ((condition)          \
         ? (void)0        \
         : sim_fail("%s, line %d: it does not hold that %s", __func__, __LINE__, #condition))
#define EXPECT_STATUS(expected, call) \
    scene_expect_status(LANEPOOL_##expected, call, #call, __func__, __LINE__)
void scene_expect_status(lanepool_status expected, lanepool_status answered, const char *call,
                         const char *where, int line);

#endif
