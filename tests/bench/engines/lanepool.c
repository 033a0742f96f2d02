/*
 * The library, used as by a program. Options:
 *
 *     --layout per_key|per_worker
 *     --rule claims|predicate|kinds|scope
 *                                     conflicts are decided by claims; by a function of the
 *                                     program; by it with kinds for tasks with one key; or by it
 *                                     for tasks that claim a common key
 *     --pending N                     the limit on pending tasks; no limit by default
 *     --resident N                    how many workers always have a thread; all by default
 *     --priorities N                  priorities from 0 to N - 1, by a task's first key; the pool
 *                                     has none by default
 *     --trace N                       how many events each thread's ring has; none are recorded
 *                                     by default
 *     --sample N                      records every N-th task; a power of two
 *     --policy park|leave             tasks that fail are parked, by a policy of the pool; with
 *                                     `leave` others leave their lanes, and run without
 *     --search-ns N                   how long a worker searches for tasks before it sleeps
 *     --lane-pending N                the limit on pending tasks of each key; none by default
 *     --journal ended|written         the pool has a journal, whose `write` stores the numbers;
 *                                     futures complete when tasks have ended, or are written
 *     --future none|released|kept     tasks have no future, as by default; one that the submitter
 *                                     releases at once; one that is released when all have run
 */
#include <lanepool/lanepool.h>

#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define CLAIMS_MAX (4 * BENCH_KEYS_MAX)

static lanepool_pool *pool;
static lanepool_options options = LANEPOOL_OPTIONS_INIT;
static lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
static lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
static uint64_t written_number;
static bool has_kinds, has_scope;
static uint32_t sample = 1;
static uint32_t priorities = 1; /* the number of priorities */
static enum { FUTURE_NONE, FUTURE_RELEASED, FUTURE_KEPT } futures = FUTURE_NONE;

/* Futures that a submitter keeps. Each chunk leads to the one before. */
#define CHUNK_FUTURES 65535
static struct chunk {
    struct chunk *before;
    lanepool_future *futures[CHUNK_FUTURES];
} * kept[BENCH_SUBMITTERS_MAX];
static size_t kept_in_last[BENCH_SUBMITTERS_MAX];

static int run(lanepool_run *call_run, void *context)
{
    (void)call_run;
    bench_task_run(context);
    return 0;
}

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct bench_task *one = a->context, *other = b->context;
    uint32_t i = 0, j = 0;
    (void)user;
    if (one->is_shared && other->is_shared)
        return true;
    while (i < bench_task_lanes(one) && j < bench_task_lanes(other)) {
        uint32_t key = bench_task_key(one, i), other_key = bench_task_key(other, j);
        if (key == other_key)
            return false;
        if (key < other_key)
            i++;
        else
            j++;
    }
    return true;
}

static int write_entries(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    (void)user;
    (void)watermark;
    for (size_t i = 0; i < count; i++)
        written_number = entries[i].number;
    return 0;
}

static bool set_option(const char *name, const char *value)
{
    if (strcmp(name, "layout") == 0) {
        options.layout = strcmp(value, "per_worker") == 0 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
        return options.layout == LANEPOOL_PER_WORKER || strcmp(value, "per_key") == 0;
    }
    if (strcmp(name, "rule") == 0) {
        has_kinds = strcmp(value, "kinds") == 0;
        has_scope = strcmp(value, "scope") == 0;
        if (has_kinds || has_scope || strcmp(value, "predicate") == 0)
            options.is_compatible = is_compatible;
        return options.is_compatible != NULL || strcmp(value, "claims") == 0;
    }
    if (strcmp(name, "policy") == 0) {
        policy.at_end = LANEPOOL_FAILURE_POISON;
        if (strcmp(value, "leave") == 0)
            policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
        options.on_failure = &policy;
        return strcmp(value, "leave") == 0 || strcmp(value, "park") == 0;
    }
    if (strcmp(name, "journal") == 0) {
        journal.write = write_entries;
        journal.completes_when_written = strcmp(value, "written") == 0;
        options.journal = &journal;
        return journal.completes_when_written || strcmp(value, "ended") == 0;
    }
    if (strcmp(name, "future") == 0) {
        futures = strcmp(value, "released") == 0 ? FUTURE_RELEASED
                  : strcmp(value, "kept") == 0   ? FUTURE_KEPT
                                                 : FUTURE_NONE;
        return futures != FUTURE_NONE || strcmp(value, "none") == 0;
    }
    size_t count = strtoul(value, NULL, 10);
    if (strcmp(name, "pending") == 0)
        options.pending_max = count;
    else if (strcmp(name, "search-ns") == 0)
        options.search_ns = count;
    else if (strcmp(name, "lane-pending") == 0)
        options.lane_pending_max = count;
    else if (strcmp(name, "resident") == 0)
        options.workers_min = (unsigned)count;
    else if (strcmp(name, "trace") == 0)
        options.trace_events = count;
    else if (strcmp(name, "sample") == 0)
        sample = (uint32_t)count;
    else if (strcmp(name, "priorities") == 0)
        priorities = (uint32_t)count;
    else
        return false;
    options.priorities |= strcmp(name, "priorities") == 0;
    return count > 0 && priorities <= LANEPOOL_PRIORITY_MAX + 1;
}

static void start(const struct bench_setup *setup)
{
    options.workers = setup->workers;
    if (options.pending_max == 0)
        options.pending_max = LANEPOOL_UNLIMITED;
    bench_require(lanepool_pool_create(&options, &pool) == LANEPOOL_OK, "a pool");
    if (options.trace_events > 0)
        bench_require(lanepool_trace_choose(pool, UINT32_MAX, sample) == LANEPOOL_OK, "a sample");
}

/* Fills in the description of a task. Returns how many claims it has used. */
static uint32_t describe(lanepool_task *description, lanepool_claim *claims,
                         const struct bench_task *task)
{
    lanepool_mode mode = task->is_shared ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    uint32_t count = bench_task_lanes(task);
    *description = (lanepool_task)LANEPOOL_TASK_INIT;
    description->function = run;
    description->context = (void *)(uintptr_t)task; /* only read */
    description->priority = count > 0 ? bench_task_key(task, 0) % priorities : 0;
    if (options.is_compatible != NULL && !has_scope) {
        if (has_kinds && count == 1)
            description->kind = 1 + 2 * (uint64_t)task->key + task->is_shared;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++)
        claims[i] = lanepool_claim_of(lanepool_key_id(bench_task_key(task, i)), mode);
    description->claims = claims;
    description->claim_count = count;
    return count;
}

static void keep(unsigned submitter, lanepool_future *future)
{
    if (kept[submitter] == NULL || kept_in_last[submitter] == CHUNK_FUTURES) {
        struct chunk *chunk = malloc(sizeof *chunk);
        bench_require(chunk != NULL, "memory for futures");
        chunk->before = kept[submitter];
        kept[submitter] = chunk;
        kept_in_last[submitter] = 0;
    }
    kept[submitter]->futures[kept_in_last[submitter]++] = future;
}

static void release_kept(unsigned submitter)
{
    while (kept[submitter] != NULL) {
        struct chunk *chunk = kept[submitter];
        for (size_t i = 0; i < kept_in_last[submitter]; i++)
            lanepool_future_release(chunk->futures[i]);
        kept[submitter] = chunk->before;
        kept_in_last[submitter] = CHUNK_FUTURES;
        free(chunk);
    }
}

static void submit(const struct bench_task *task)
{
    lanepool_task description;
    lanepool_claim claims[BENCH_KEYS_MAX];
    lanepool_future *future;
    describe(&description, claims, task);
    if (futures != FUTURE_NONE)
        description.future = &future;
    bench_require(lanepool_pool_submit(pool, &description) == LANEPOOL_OK, "a submit");
    if (futures == FUTURE_RELEASED)
        lanepool_future_release(future);
    else if (futures == FUTURE_KEPT)
        keep(task->submitter, future);
}

static void submit_described(const lanepool_task *descriptions, size_t count)
{
    bench_require(lanepool_pool_submit_batch(pool, descriptions, count, LANEPOOL_FOREVER, NULL) ==
                      LANEPOOL_OK,
                  "the submit of a batch");
}

/* Submits as many tasks at once as there is room for their claims. */
static void submit_batch(const struct bench_task *tasks, size_t count)
{
    lanepool_task descriptions[BENCH_BATCH_MAX];
    lanepool_claim claims[CLAIMS_MAX];
    size_t described = 0, claimed = 0;
    for (size_t i = 0; i < count; i++) {
        if (claimed + bench_task_lanes(&tasks[i]) > CLAIMS_MAX) {
            submit_described(descriptions, described);
            described = claimed = 0;
        }
        claimed += describe(&descriptions[described++], &claims[claimed], &tasks[i]);
    }
    submit_described(descriptions, described);
}

static void wait_for_quiet(void)
{
    bench_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "a quiesce");
    for (unsigned i = 0; i < BENCH_SUBMITTERS_MAX; i++)
        release_kept(i);
}

static void stop(void)
{
    bench_require(lanepool_pool_destroy(pool) == LANEPOOL_OK, "the end of the pool");
}

const struct bench_hooks bench_engine = {
    .name = "lanepool",
    .features = BENCH_SEVERAL_KEYS | BENCH_SHARED | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS,
    .option = set_option,
    .start = start,
    .submit = submit,
    .submit_batch = submit_batch,
    .wait = wait_for_quiet,
    .stop = stop,
};
