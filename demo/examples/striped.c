/* A striped executor: postings of one client run in order, those of others in parallel. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static long balance[2]; /* guarded by the clients' lanes, without a lock */

static struct posting {
    uint64_t from, to; /* equal: only this client's balance changes */
    long amount;
    long after; /* balance of `from` after the posting */
} postings[5] = {
    { 0, 0, 500, 0 }, { 1, 1, -30, 0 }, { 0, 0, -200, 0 }, { 1, 1, 50, 0 }, { 0, 1, -100, 0 }
};

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;
    if (balance[posting->from] + posting->amount < 0)
        return 1; /* refused: the client's lane continues, and the future has the status */
    posting->after = balance[posting->from] += posting->amount;
    if (posting->to != posting->from)
        balance[posting->to] -= posting->amount;
    lanepool_run_set_result(run, &posting->after);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *futures[5] = { NULL };
    lanepool_status status = lanepool_pool_create(NULL, &pool);
    /* A rollup blocks the lanes of both clients. A key that is claimed twice counts once. */
    for (int i = 0; i < 5 && status == LANEPOOL_OK; i++)
        status = lanepool_pool_submit(
            pool, LANEPOOL_TASK(.function = post, .context = &postings[i], .future = &futures[i],
                                LANEPOOL_CLAIMS(lanepool_exclusive(postings[i].from),
                                                lanepool_exclusive(postings[i].to))));
    for (int i = 0; i < 5 && status == LANEPOOL_OK; i++) {
        lanepool_result result = { LANEPOOL_FAILED, 0, NULL };
        status = lanepool_future_wait(futures[i], LANEPOOL_FOREVER, &result);
        if (result.status == LANEPOOL_OK)
            printf("client %d: %ld\n", (int)postings[i].from, *(long *)result.value);
        else
            printf("client %d: refused\n", (int)postings[i].from);
    }
    for (int i = 0; i < 5; i++)
        lanepool_future_release(futures[i]);
    lanepool_pool_destroy(pool);
    return status != LANEPOOL_OK;
}
