/* Cancelling: a task that has not started never runs. A running task can be asked to end early. */
#include <lanepool/lanepool.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t has_started;

static int count_up(lanepool_run *run, void *context)
{
    (void)context;
    sem_post(&has_started);
    while (!lanepool_run_is_cancelled(run)) /* long work asks now and then */
        ;
    return 1;
}

static int post(lanepool_run *run, void *number)
{
    (void)run;
    printf("posting %d: posted\n", *(int *)number); /* never printed here */
    return 0;
}

static void not_posted(void *number, lanepool_status why)
{
    printf("posting %d: %s\n", *(int *)number, lanepool_status_name(why));
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_group *group;
    lanepool_future *future = NULL;
    lanepool_result result;
    int numbers[3] = { 1, 2, 3 };
    size_t count;
    const lanepool_claim account = lanepool_exclusive(7);
    if (sem_init(&has_started, 0, 0) || lanepool_group_create(NULL, &group) ||
        lanepool_pool_create(NULL, &pool))
        return 1;
    if (lanepool_pool_submit(pool, LANEPOOL_TASK(.function = count_up, .group = group,
                                                 .future = &future, LANEPOOL_CLAIMS(account))))
        return 1;
    for (int i = 0; i < 3; i++) /* these wait behind the first one */
        if (lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post, .context = &numbers[i],
                                                     .cancelled = not_posted, .group = group,
                                                     LANEPOOL_CLAIMS(account))))
            return 1;
    sem_wait(&has_started);
    if (lanepool_group_cancel(group, &count) != LANEPOOL_OK ||
        lanepool_future_wait(future, LANEPOOL_FOREVER, &result) != LANEPOOL_OK)
        return 1;
    printf("cancelled: %zu\n", count);
    printf("the first: %s\n", lanepool_status_name(result.status));
    lanepool_future_release(future);
    lanepool_pool_destroy(pool);
    lanepool_group_destroy(group);
    return 0;
}
