/* A program that fills every struct that carries its size. It is built with the headers of one
 * release and runs with the library of another. In those of the later release LATER is defined, and
 * each struct has the member `later`. Returns 0 if every call answers as docs/abi.md says. */
#include <lanepool/lanepool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 20 };

static int ran; /* guarded by key 7 */

static void check(int line, int is_right)
{
    if (!is_right) {
        fprintf(stderr, "main.c:%d: not as it should be\n", line);
        exit(1);
    }
}
#define CHECK(condition) check(__LINE__, condition)

/* Fills a struct with garbage before it is set. */
#define FILL(filled, type, init)                 \
    do {                                         \
        static const type initial = init;        \
        memset(&(filled), 0xaa, sizeof(filled)); \
        (filled) = initial;                      \
    } while (0)

static int count(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    ran++;
    return 0;
}

static int open_context(void *user, lanepool_key key, void **context)
{
    (void)user, (void)key;
    *context = NULL;
    return 0;
}

static void *allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void deallocate(void *user, void *memory, size_t size)
{
    (void)user, (void)size;
    free(memory);
}

static lanepool_status execute(void *context, lanepool_work *work)
{
    (void)context;
    lanepool_work_run(work);
    return LANEPOOL_OK;
}

static lanepool_pool *make_pool(void)
{
    static lanepool_allocator allocator = { sizeof allocator, allocate, deallocate, NULL };
    lanepool_options options;
    lanepool_context_options contexts;
    lanepool_failure_policy policy;
    lanepool_pool *pool;
    FILL(options, lanepool_options, LANEPOOL_OPTIONS_INIT);
    FILL(contexts, lanepool_context_options, LANEPOOL_CONTEXT_OPTIONS_INIT);
    FILL(policy, lanepool_failure_policy, LANEPOOL_FAILURE_POLICY_INIT);
    contexts.open = open_context;
    policy.retries = 2;
    options.workers = 2;
    options.drain_waits_for_delayed = 1;
    options.contexts = &contexts;
    options.on_failure = &policy;
    options.allocator = &allocator;
#ifdef LATER
    void *const later[] = { &options.later, &contexts.later, &policy.later, &allocator.later };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        memset(later[i], 1, 1);
        CHECK(lanepool_pool_create(&options, &pool) == LANEPOOL_INVALID);
        memset(later[i], 0, 1);
    }
#endif
    CHECK(lanepool_pool_create(&options, &pool) == LANEPOOL_OK);
    return pool;
}

static void run_tasks(lanepool_pool *pool)
{
    lanepool_claim claim = lanepool_exclusive(7);
    lanepool_task tasks[TASKS];
    lanepool_failure_policy policy;
    lanepool_group_options options;
    lanepool_completion completion;
    lanepool_group *group;
    size_t accepted;
    FILL(policy, lanepool_failure_policy, LANEPOOL_FAILURE_POLICY_INIT);
    FILL(options, lanepool_group_options, LANEPOOL_GROUP_OPTIONS_INIT);
    options.keeps_completions = 1;
    CHECK(lanepool_group_create(&options, &group) == LANEPOOL_OK);
    for (size_t i = 0; i < TASKS; i++) {
        FILL(tasks[i], lanepool_task, LANEPOOL_TASK_INIT);
        tasks[i].function = count;
        tasks[i].context = &tasks[i];
        tasks[i].claims = &claim;
        tasks[i].claim_count = 1;
        tasks[i].group = group;
        tasks[i].on_failure = i % 2 == 0 ? &policy : NULL;
    }
#ifdef LATER
    tasks[TASKS - 1].later = 1;
    CHECK(lanepool_pool_submit(pool, &tasks[TASKS - 1]) == LANEPOOL_INVALID);
    CHECK(lanepool_pool_submit_batch(pool, tasks, TASKS, 0, &accepted) == LANEPOOL_INVALID);
    tasks[TASKS - 1].later = 0;
#endif
    CHECK(lanepool_pool_submit(pool, &tasks[0]) == LANEPOOL_OK);
    CHECK(lanepool_pool_submit_batch(pool, tasks + 1, TASKS - 1, LANEPOOL_FOREVER, &accepted) ==
          LANEPOOL_OK);
    CHECK(accepted == TASKS - 1);
    for (size_t i = 0; i < TASKS; i++) {
        CHECK(lanepool_group_next(group, LANEPOOL_FOREVER, &completion) == LANEPOOL_OK);
        CHECK(completion.context == &tasks[i] && completion.result.status == LANEPOOL_OK);
    }
    lanepool_group_destroy(group);
    tasks[0].group = NULL;
    CHECK(lanepool_pool_submit_after(pool, &tasks[0], 1) == LANEPOOL_OK);
}

static void run_sequence(void)
{
    lanepool_executor_functions functions;
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    lanepool_task task;
    FILL(functions, lanepool_executor_functions, LANEPOOL_EXECUTOR_FUNCTIONS_INIT);
    FILL(task, lanepool_task, LANEPOOL_TASK_INIT);
    functions.execute = execute;
    task.function = count;
    CHECK(lanepool_executor_create(&functions, NULL, &executor) == LANEPOOL_OK);
    CHECK(lanepool_sequence_create(executor, &sequence) == LANEPOOL_OK);
    CHECK(lanepool_sequence_submit(sequence, &task) == LANEPOOL_OK);
    lanepool_sequence_destroy(sequence);
    CHECK(lanepool_executor_destroy(executor) == LANEPOOL_OK);
}

int main(void)
{
    lanepool_pool *pool = make_pool();
    run_tasks(pool);
    CHECK(lanepool_pool_destroy(pool) == LANEPOOL_OK);
    CHECK(ran == TASKS + 1);
    run_sequence();
    CHECK(ran == TASKS + 2);
    return 0;
}
