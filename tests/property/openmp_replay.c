#include "property/openmp_replay.h"

#include <stdlib.h>

#include "base/sizes.h"
#include "feature/cut/workload.h"
#include "support/memory.h"

enum { TICKET_BITS = 40 };

/* --- the replayed tasks --- */

struct place {
    uint64_t ticket;    /* relative to the first one, because tickets wrap around */
    uint64_t called_at; /* orders tasks with equal tickets: a receiver has its giver's */
    uint32_t task;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->ticket == b->ticket) {
        return (a->called_at > b->called_at) - (a->called_at < b->called_at);
    }
    return a->ticket > b->ticket ? 1 : -1;
}

/* Stores the tasks that ran by ascending ticket in `places`. Returns their number. */
static uint32_t sort_by_ticket(const struct oracle_log *log, uint32_t task_count,
                               struct place *places)
{
    const uint64_t ticket_mask = ((uint64_t)1 << TICKET_BITS) - 1;
    uint32_t count = 0;

    for (uint32_t i = 0; i < task_count; i++) {
        if (log->tasks[i].call == CALL_RUN) {
            places[count].ticket = (log->tasks[i].ticket - LANEPOOL_I_FIRST_TICKET) & ticket_mask;
            places[count].called_at = oracle_when(&log->tasks[i].call_begin);
            places[count++].task = i;
        }
    }
    qsort(places, count, sizeof *places, compare_places);
    return count;
}

/* --- the replay --- */

/* The keys that one task claims, separated by mode. A commuting claim counts as an exclusive one:
 * the order does not matter, so one order is as good as any. */
struct claimed {
    uint32_t *exclusive;
    uint32_t *shared;
    uint32_t exclusive_count;
    uint32_t shared_count;
};

static void set_apart(const struct oracle_log *log, const struct workload *workload, uint32_t task,
                      struct claimed *claimed)
{
    const struct workload_task *what = &workload->tasks[task];

    claimed->exclusive_count = 0;
    claimed->shared_count = 0;
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (oracle_misses(log, workload, task, what->merged[i].key)) {
            continue;
        }
        if (what->merged[i].mode == LANEPOOL_SHARED) {
            claimed->shared[claimed->shared_count++] = what->merged[i].key;
        } else {
            claimed->exclusive[claimed->exclusive_count++] = what->merged[i].key;
        }
    }
}

/* OpenMP evaluates the dependences when the task is made, not when it runs. */
/* clang-format off */
static void replay_one(struct oracle_log *replay, const struct workload *workload, uint32_t task,
                       const struct claimed *claimed)
{
    struct oracle_key *keys = replay->keys;

    (void)keys; /* GCC does not count the dependences as a use */
#pragma omp task firstprivate(replay, workload, task) \
    depend(iterator(uint32_t i = 0 : claimed->exclusive_count), \
           inout : keys[claimed->exclusive[i]]) \
    depend(iterator(uint32_t i = 0 : claimed->shared_count), \
           in : keys[claimed->shared[i]])
    oracle_touch_keys(replay, workload, task);
}
/* clang-format on */

static void replay_all(struct oracle_log *replay, const struct workload *workload,
                       const struct place *places, uint32_t count, int threads)
{
    uint32_t key_count = workload->params.key_count;
    struct claimed claimed = { .exclusive = memory_get(key_count, sizeof *claimed.exclusive),
                               .shared = memory_get(key_count, sizeof *claimed.shared) };

#pragma omp parallel num_threads(threads)
#pragma omp single
    for (uint32_t i = 0; i < count; i++) {
        set_apart(replay, workload, places[i].task, &claimed);
        replay_one(replay, workload, places[i].task, &claimed);
    }
    free(claimed.exclusive);
    free(claimed.shared);
}

/* --- comparing --- */

static bool is_same(const struct oracle_log *log, const struct oracle_log *replay,
                    const struct workload_params *params)
{
    for (uint32_t i = 0; i < params->task_count; i++) {
        if (log->tasks[i].seen != replay->tasks[i].seen) {
            return false;
        }
    }
    for (uint32_t i = 0; i < params->key_count; i++) {
        if (log->keys[i].history != replay->keys[i].history ||
            atomic_load(&log->keys[i].readers) != atomic_load(&replay->keys[i].readers) ||
            atomic_load(&log->keys[i].adders) != atomic_load(&replay->keys[i].adders)) {
            return false;
        }
    }
    return true;
}

/* A cut is replayed as its visits, which are tasks of their own. */
bool openmp_replay_agrees(const struct oracle_log *whole_log, const struct workload *whole,
                          int threads)
{
    struct oracle_split split;

    oracle_split_cuts(&split, whole_log, whole);
    const struct oracle_log *log = &split.log;
    const struct workload *workload = &split.workload;
    struct place *places = memory_get(workload->params.task_count, sizeof *places);
    uint32_t count = sort_by_ticket(log, workload->params.task_count, places);
    struct oracle_log replay;
    bool agrees;

    oracle_log_init(&replay, workload);
    oracle_copy_misses(&replay, log, workload);
    replay_all(&replay, workload, places, count, threads);
    agrees = is_same(log, &replay, &workload->params);
    oracle_log_fini(&replay);
    oracle_split_fini(&split);
    free(places);
    return agrees;
}
