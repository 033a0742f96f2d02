/* Requests of a customer run in order, in a session that stays open for a while after them.
 * Requests of different customers run in parallel. */
#include <lanepool/lanepool.h>
#include <stdio.h>
#include <stdlib.h>

struct session { /* costly to open: a connection, a cache; guarded by the customer's lane */
    int served;
};

static struct request {
    const char *customer;
    int place; /* its number in the session */
} requests[6] = {
    { "ann", 0 }, { "bob", 0 }, { "ann", 0 }, { "ann", 0 }, { "bob", 0 }, { "cy", 0 }
};

static int open_session(void *user, const lanepool_claim *customer, void **session)
{
    (void)user, (void)customer;
    *session = calloc(1, sizeof(struct session));
    return *session == NULL;
}

static void close_session(void *user, const lanepool_claim *customer, void *session)
{
    (void)user, (void)customer;
    free(session);
}

static int serve(lanepool_run *run, void *context, lanepool_call call)
{
    struct request *request = context;
    void *session;
    if (call == LANEPOOL_CALL_CANCELLED || lanepool_run_context(run, NULL, &session, NULL))
        return 1;
    request->place = ++((struct session *)session)->served;
    return 0;
}

/* Blocks while pending_max requests are pending. */
static lanepool_status submit(lanepool_pool *pool, struct request *request,
                              lanepool_future **future)
{
    lanepool_claim customer = lanepool_claim_string(request->customer, LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = serve;
    task.context = request;
    task.claims = &customer;
    task.claim_count = 1;
    task.future = future;
    return lanepool_pool_submit(pool, &task);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *futures[6] = { NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_context_options sessions = LANEPOOL_CONTEXT_OPTIONS_INIT;
    sessions.open = open_session;
    sessions.close = close_session;
    sessions.linger_ns_min = 10000000000; /* idle for 10 s; the default adapts to the customer */
    options.contexts = &sessions;
    options.workers = 2;
    options.pending_max = 4;
    lanepool_status status = lanepool_pool_create(&options, &pool);
    for (int i = 0; i < 6 && status == LANEPOOL_OK; i++)
        status = submit(pool, &requests[i], &futures[i]);
    for (int i = 0; i < 6 && status == LANEPOOL_OK; i++) {
        lanepool_result result;
        status = lanepool_future_wait(futures[i], LANEPOOL_FOREVER, &result);
        if (status == LANEPOOL_OK && result.status == LANEPOOL_OK)
            printf("%s: request %d of the session\n", requests[i].customer, requests[i].place);
    }
    for (int i = 0; i < 6; i++)
        lanepool_future_release(futures[i]);
    lanepool_pool_destroy(pool); /* closes the sessions */
    return status != LANEPOOL_OK;
}
