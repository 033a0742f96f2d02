/* Why does this task not run, and when will it? A statement waits behind a close, and the close for
 * a posting. */
#include <lanepool/lanepool.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t started, may_end;

static int post(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    sem_post(&started);
    return sem_wait(&may_end);
}

static int nothing(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

/* The library does not guess how long tasks take. Here each takes 20 ms. */
static bool expect(void *user, const lanepool_snapshot *snapshot, size_t task,
                   lanepool_expected *expected)
{
    (void)user, (void)snapshot, (void)task;
    expected->duration_ns = 20000000;
    return true;
}

static size_t client_name(void *user, lanepool_key key, char *text, size_t size)
{
    (void)user;
    return (size_t)snprintf(text, size, "client %llu", (unsigned long long)key.id);
}

static void print(void *context, const char *text, size_t size)
{
    (void)context;
    fwrite(text, 1, size, stdout);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *statement = NULL;
    const lanepool_task *close =
        LANEPOOL_TASK(.function = nothing,
                      LANEPOOL_CLAIMS(lanepool_exclusive(1), lanepool_exclusive(2)));
    const lanepool_task *state = LANEPOOL_TASK(.function = nothing, .future = &statement,
                                               LANEPOOL_CLAIMS(lanepool_exclusive(2)));
    /* Without a key_name, lanes are called by their numbers. */
    if (sem_init(&started, 0, 0) || sem_init(&may_end, 0, 0) ||
        lanepool_pool_create(LANEPOOL_OPTIONS(.workers = 2, .key_name = client_name), &pool))
        return 1;
    int failed = lanepool_pool_run(pool, lanepool_key_id(1), post, NULL) ||
                 lanepool_pool_submit(pool, close) || lanepool_pool_submit(pool, state) ||
                 sem_wait(&started) ||
                 lanepool_explain_forecast(statement, expect, NULL, NULL, print, NULL);
    sem_post(&may_end);
    lanepool_pool_destroy(pool);
    lanepool_future_release(statement);
    return failed;
}
