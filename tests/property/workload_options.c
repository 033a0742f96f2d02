/*
 * Options of a pool that change no result: an allocator that counts, the watchdog, callbacks of
 * workers, names of keys, tags and threads, a quantum of time, the size of stacks. Checks what they
 * are called with. Checks of claims are in workload_checks.c.
 */
#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/random.h"

/* Checks of the watchdog take virtual time. With shorter limits nothing else would run. */
enum { STACK_SIZE = 1 << 20, LIMIT_LEAST = 400, LIMIT_MOST = 2000, SEARCH_MOST = 20 };

/* Tags without a name: one in the table, one behind it. */
enum { TAG_NAMES = 3, TAGS = 4 };
static const char *const tag_names[TAG_NAMES] = { "zero", NULL, "two" };

#define POOL_NAME "random"

/* --- drawing --- */

/* This is not drawn, so that older seeds still draw the same tasks. In a calm workload no other
 * thread may be in a call while the worker chooses. */
static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;
    uint64_t dice = random_mix(params->seed ^ 0x09);

    (void)choices;
    params->options = dice % 2 == 0 ? 0 : (uint32_t)(dice >> 8) & WORKLOAD_OPTIONS_ALL;
    if (params->calm) {
        params->options &= ~(uint32_t)WORKLOAD_WATCHDOG;
    }
}

static bool has(const struct run *run, uint32_t option)
{
    return (run->workload->params.options & option) != 0;
}

/* Returns a number of nanoseconds that follows from the seed. */
static uint64_t limit_of(const struct run *run)
{
    return LIMIT_LEAST + random_mix(run->workload->params.seed ^ 0x71) % (LIMIT_MOST - LIMIT_LEAST);
}

static void print_params(const struct workload *workload, FILE *out)
{
    static const char *const names[] = { "allocator",     "watchdog",      "callbacks of workers",
                                         "names of keys", "quantum_ns",    "stack size",
                                         "name",          "names of tags", "checks of claims",
                                         "search_ns" };

    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (workload->params.options >> i & 1) {
            fprintf(out, ", %s", names[i]);
        }
    }
}

/* --- the allocator --- */

static uint64_t number_of(const void *memory, size_t size)
{
    return random_mix((uintptr_t)memory ^ random_mix(size));
}

static void *allocate(void *user, size_t size, size_t alignment)
{
    struct oracle_log *log = user;
    void *memory = world_memory_get(size, alignment);

    if (memory != NULL) {
        oracle_expect(log, (uintptr_t)memory % alignment == 0, "memory is not aligned");
        atomic_fetch_add(&log->options.pieces, 1);
        atomic_fetch_add(&log->options.sum, number_of(memory, size));
    }
    return memory;
}

static void deallocate(void *user, void *memory, size_t size)
{
    struct oracle_log *log = user;

    atomic_fetch_sub(&log->options.pieces, 1);
    atomic_fetch_sub(&log->options.sum, number_of(memory, size));
    world_memory_put(memory, size);
}

/* --- callbacks --- */

static void *begin_shift(void *user, size_t worker_index)
{
    struct run *run = user;
    bool is_known = worker_index < run->workload->params.workers;

    oracle_expect(run->log, is_known, "a worker with an unknown number starts");
    if (!is_known) {
        return NULL;
    }
    struct oracle_shift *shift = &run->log->options.shifts[worker_index];
    oracle_expect(run->log, !atomic_exchange(&shift->begun, true), "a worker starts twice");
    return shift;
}

static void end_shift(void *user, size_t worker_index, void *context)
{
    struct run *run = user;
    struct oracle_shift *shift = context;
    bool is_own = shift == &run->log->options.shifts[worker_index];

    oracle_expect(run->log, is_own, "a worker stops with the context of another one");
    oracle_expect(run->log, is_own && atomic_exchange(&shift->begun, false),
                  "a worker stops that has not started");
}

static void check_slow_task(void *user, const lanepool_slow_task *task)
{
    struct run *run = user;

    oracle_expect(run->log,
                  task->running_ns >= limit_of(run) && task->function != NULL &&
                      (task->worker == SIZE_MAX || task->worker < run->workload->params.workers),
                  "a task is reported as slow that is not");
    oracle_expect(run->log, workload_is_label(run->workload, task->tag, task->label),
                  "a slow task has a wrong label");
}

static void check_stall(void *user, const lanepool_stall *stall)
{
    struct run *run = user;

    oracle_expect(run->log, stall->stalled_ns >= limit_of(run) && stall->pending > 0,
                  "a pool is reported as stalled that is not");
}

static size_t name_key(void *user, lanepool_key key, char *text, size_t size)
{
    struct run *run = user;

    oracle_expect(run->log, key.type == LANEPOOL_KEY_ID && key.id < run->workload->params.key_count,
                  "the name of an unknown key is requested");
    if (size > 0) {
        text[0] = (char)('a' + key.id % 26);
    }
    return size > 0;
}

static void fill_options(struct run *run, lanepool_options *options)
{
    if (has(run, WORKLOAD_ALLOCATOR)) {
        run->allocator =
            (lanepool_allocator){ sizeof run->allocator, allocate, deallocate, run->log };
        options->allocator = &run->allocator;
    }
    if (has(run, WORKLOAD_WATCHDOG)) {
        options->on_slow_task = check_slow_task;
        options->slow_task_ns = limit_of(run);
        options->on_stalled = check_stall;
        options->stalled_ns = limit_of(run);
    }
    if (has(run, WORKLOAD_SHIFTS)) {
        options->worker_start = begin_shift;
        options->worker_stop = end_shift;
    }
    options->key_name = has(run, WORKLOAD_KEY_NAMES) ? name_key : NULL;
    options->name = has(run, WORKLOAD_NAME) ? POOL_NAME : NULL;
    if (has(run, WORKLOAD_TAG_NAMES)) {
        options->tag_names = tag_names;
        options->tag_name_count = TAG_NAMES;
    }
    options->quantum_ns = has(run, WORKLOAD_QUANTUM_NS) ? limit_of(run) : 0;
    options->search_ns = has(run, WORKLOAD_SEARCH_NS) ? 1 + limit_of(run) % SEARCH_MOST : 0;
    options->worker_stack_size = has(run, WORKLOAD_STACK_SIZE) ? STACK_SIZE : 0;
}

/* A tag takes memory, so each second task has none. */
static void describe(const struct task_context *context, lanepool_task *task)
{
    if (has(context->run, WORKLOAD_TAG_NAMES)) {
        task->tag = context->task % 2 * (context->task / 2 % TAGS);
    }
}

bool workload_is_label(const struct workload *workload, uint32_t tag, const char *label)
{
    bool has_names = (workload->params.options & WORKLOAD_TAG_NAMES) != 0;

    return tag < TAGS && label == (has_names && tag < TAG_NAMES ? tag_names[tag] : NULL);
}

static void check_thread_name(struct task_context *self, size_t worker)
{
    char name[sizeof POOL_NAME + 24];

    (void)snprintf(name, sizeof name, "%s/%zu", POOL_NAME, worker);
    run_expect(self, world_thread_is_named(name), "a worker's thread has another name");
}

static void prepare_body(struct task_context *self, lanepool_run *call)
{
    const struct run *run = self->run;
    size_t worker = lanepool_run_worker(call);
    bool has_context = has(run, WORKLOAD_SHIFTS) && worker != SIZE_MAX;

    if (has(run, WORKLOAD_NAME) && worker != SIZE_MAX && run->workload->params.step_seed == 0) {
        check_thread_name(self, worker);
    }
    run_expect(self,
               lanepool_run_worker_context(call) ==
                   (has_context ? &run->log->options.shifts[worker] : NULL),
               "a task finds the context of another worker");
}

/* --- the oracle --- */

static void judge_options(struct judge *judge)
{
    const struct oracle_options *options = &judge->log->options;

    if (atomic_load(&options->pieces) != 0 || atomic_load(&options->sum) != 0) {
        judge_blame(&judge->verdict, "memory was not freed with its size");
    }
    for (uint32_t i = 0; i < judge->workload->params.workers; i++) {
        if (atomic_load(&options->shifts[i].begun)) {
            judge_blame(&judge->verdict, "worker %u has not stopped", i);
        }
    }
}

const struct workload_feature workload_feature_options = {
    .draw = draw,
    .print_params = print_params,
    .fill_options = fill_options,
    .describe = describe,
    .prepare_body = prepare_body,
    .judge = judge_options,
};
