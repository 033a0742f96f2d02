/* Why does this task not run? A statement waits behind a close, and the close for a posting. */
#include <lanepool/lanepool.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t started, may_end;

static int post(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run, (void)context, (void)call;
    sem_post(&started);
    return sem_wait(&may_end);
}

static int nothing(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run, (void)context, (void)call;
    return 0;
}

static size_t client_name(void *user, const lanepool_claim *key, char *text, size_t size)
{
    (void)user;
    return (size_t)snprintf(text, size, "client %llu", (unsigned long long)key->key.id);
}

static void print(void *context, const char *text, size_t size)
{
    (void)context;
    fwrite(text, 1, size, stdout);
}

static int submit(lanepool_pool *pool, lanepool_task_fn function, lanepool_future **future,
                  size_t count, const uint64_t *clients)
{
    lanepool_claim claims[2];
    lanepool_task task = LANEPOOL_TASK_INIT;
    for (size_t i = 0; i < count; i++)
        claims[i] = lanepool_claim_id(clients[i], LANEPOOL_EXCLUSIVE);
    task.function = function;
    task.claims = claims;
    task.claim_count = count;
    task.future = future;
    return lanepool_pool_submit(pool, &task);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *statement = NULL;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 2;
    options.key_name = client_name; /* without this, lanes are called by their numbers */
    if (sem_init(&started, 0, 0) || sem_init(&may_end, 0, 0) ||
        lanepool_pool_create(&options, &pool))
        return 1;
    int failed = submit(pool, post, NULL, 1, (uint64_t[]){ 1 }) ||
                 submit(pool, nothing, NULL, 2, (uint64_t[]){ 1, 2 }) || /* the close */
                 submit(pool, nothing, &statement, 1, (uint64_t[]){ 2 }) || sem_wait(&started) ||
                 lanepool_explain(statement, print, NULL);
    sem_post(&may_end);
    lanepool_pool_destroy(pool);
    lanepool_future_release(statement);
    return failed;
}
