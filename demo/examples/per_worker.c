/* A lane for each worker, and a rule of the program's: accounts of a client conflict, a statement
 * is a rollup. Each worker counts on its own, without locks: only its thread runs its lane's tasks.
 */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { WORKERS = 4, CLIENTS = 3, REQUESTS = 7 };

static long balance[CLIENTS];
static long handled[WORKERS]; /* by each worker */

static struct request {
    unsigned clients; /* one bit for each */
    long amount;      /* posted to each of them; 0: a statement */
    long sum;         /* of their balances afterwards */
} requests[REQUESTS] = { { 1, 100, 0 }, { 2, 20, 0 }, { 4, 3, 0 }, { 1 | 2, 0, 0 },
                         { 1, 50, 0 },  { 2, 7, 0 },  { 7, 0, 0 } };

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct request *one = a->context, *other = b->context;
    (void)user;
    return (one->clients & other->clients) == 0;
}

static void *begin_worker(void *user, size_t worker)
{
    (void)user;
    return &handled[worker];
}

static int work(lanepool_run *run, void *context)
{
    struct request *request = context;
    long *counter = lanepool_run_worker_context(run);
    for (int i = 0; i < CLIENTS; i++)
        if ((request->clients >> i & 1) != 0)
            request->sum += balance[i] += request->amount;
    ++*counter;
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.layout = LANEPOOL_PER_WORKER;
    options.is_compatible = is_compatible;
    options.workers = WORKERS;
    options.worker_start = begin_worker;
    options.priorities = true; /* each worker has an order of its own */
    printf("priorities: %s\n", lanepool_status_name(lanepool_pool_create(&options, &pool)));
    options.priorities = false;
    lanepool_status status = lanepool_pool_create(&options, &pool);
    for (int i = 0; i < REQUESTS && status == LANEPOOL_OK; i++)
        status =
            lanepool_pool_submit(pool, LANEPOOL_TASK(.function = work, .context = &requests[i]));
    lanepool_pool_destroy(pool);
    printf("statements: %ld and %ld\n", requests[3].sum, requests[6].sum);
    printf("handled: %ld\n", handled[0] + handled[1] + handled[2] + handled[3]);
    return status != LANEPOOL_OK;
}
