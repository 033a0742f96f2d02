/* A grouped pool: tasks that share a client conflict, by a rule of the program's own. A
 * statement is a rollup over its clients. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static long balance[3];

static struct request {
    unsigned clients; /* one bit for each */
    long amount;      /* posted to each of them; 0: a statement */
    long sum;         /* of their balances afterwards */
} requests[5] = { { 1, 100, 0 }, { 2, 20, 0 }, { 1 | 2, 0, 0 }, { 4, 3, 0 }, { 1, 100, 0 } };

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct request *one = a->context, *other = b->context;
    (void)user;
    return (one->clients & other->clients) == 0;
}

static int work(lanepool_run *run, void *context)
{
    struct request *request = context;
    (void)run;
    for (int i = 0; i < 3; i++)
        if ((request->clients >> i & 1) != 0)
            request->sum += balance[i] += request->amount;
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    /* The rule works with .layout = LANEPOOL_PER_WORKER, too. */
    lanepool_status status =
        lanepool_pool_create(LANEPOOL_OPTIONS(.is_compatible = is_compatible), &pool);
    for (int i = 0; i < 5 && status == LANEPOOL_OK; i++)
        status = lanepool_pool_run(pool, lanepool_key_none(), work, &requests[i]);
    lanepool_pool_destroy(pool);
    printf("statement: %ld, at the end: %ld %ld %ld\n", requests[2].sum, balance[0], balance[1],
           balance[2]);
    return status != LANEPOOL_OK;
}
