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

static int open_session(void *user, lanepool_key customer, void **session)
{
    (void)user, (void)customer;
    *session = calloc(1, sizeof(struct session));
    return *session == NULL;
}

static void close_session(void *user, lanepool_key customer, void *session)
{
    (void)user, (void)customer;
    free(session);
}

static int serve(lanepool_run *run, void *context)
{
    struct request *request = context;
    void *session;
    if (lanepool_run_context(run, lanepool_key_none(), &session, NULL))
        return 1;
    request->place = ++((struct session *)session)->served;
    return 0;
}

/* Blocks while pending_max requests are pending. */
static lanepool_status submit(lanepool_pool *pool, struct request *request,
                              lanepool_future **future)
{
    lanepool_key customer = lanepool_key_string(request->customer);
    return lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = serve, .context = request, .future = future,
                            LANEPOOL_CLAIMS(lanepool_claim_of(customer, LANEPOOL_EXCLUSIVE))));
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *futures[6] = { NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_context_options sessions = LANEPOOL_CONTEXT_OPTIONS_INIT;
    sessions.open = open_session;
    sessions.close = close_session;
    sessions.linger_min_ns = 10000000000; /* idle for 10 s; the default adapts to the customer */
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
