/* An urgent statement behind a long batch. It starts before all tasks that are only ready; so do
 * the tasks that it waits for. A client with too many pending tasks is refused, other clients
 * are not. */
#include <lanepool/lanepool.h>
#include <semaphore.h>
#include <stdio.h>

enum { CLIENTS = 4, ROUNDS = 2 };

static sem_t started, may_end;
static const char *const names[] = { "client 0", "client 1", "client 2", "client 3" };

static int hold(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    sem_post(&started);
    return sem_wait(&may_end);
}

static int print(lanepool_run *run, void *context)
{
    (void)run;
    printf("%s\n", (const char *)context);
    return 0;
}

static lanepool_status submit(lanepool_pool *pool, lanepool_task_fn function, const char *text,
                              uint64_t client, uint32_t priority)
{
    const lanepool_task *task =
        LANEPOOL_TASK(.function = function, .context = (void *)text, .priority = priority,
                      LANEPOOL_CLAIMS(lanepool_exclusive(client)));
    return lanepool_pool_submit_within(pool, task, 0); /* refused at once if a limit is reached */
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1;
    options.priorities = true;    /* without this, a priority is LANEPOOL_INVALID */
    options.lane_pending_max = 3; /* for each client */
    if (sem_init(&started, 0, 0) || sem_init(&may_end, 0, 0) ||
        lanepool_pool_create(&options, &pool))
        return 1;
    int failed = submit(pool, hold, NULL, CLIENTS, 0) || sem_wait(&started);
    for (int i = 0; i < CLIENTS * ROUNDS && !failed; i++)
        failed = submit(pool, print, names[i % CLIENTS], (uint64_t)(i % CLIENTS), 0) != LANEPOOL_OK;
    failed |= submit(pool, print, "statement of client 3", 3, LANEPOOL_PRIORITY_MAX) != LANEPOOL_OK;
    printf("one more of client 3: %s\n",
           lanepool_status_name(submit(pool, print, "one more", 3, LANEPOOL_PRIORITY_MAX)));
    sem_post(&may_end);
    lanepool_pool_destroy(pool);
    return failed;
}
