/* Metrics: a server's answer to GET /metrics, in Prometheus' format. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static int post(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static void print(void *context, const char *text, size_t size)
{
    fwrite(text, 1, size, context);
}

int main(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    lanepool_stats stats;
    lanepool_worker_stats worker;
    options.workers = 1;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK)
        return 1;
    for (uint64_t client = 0; client < 3; client++)
        if (lanepool_pool_run(pool, lanepool_key_id(client), post, NULL) != LANEPOOL_OK)
            return 1;
    if (lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) ||
        lanepool_pool_stats(pool, &stats, &worker, 1))
        return 1;

    lanepool_metrics_source source = { 0 };
    source.pool = "ledger";
    source.stats = &stats;
    source.workers = &worker, source.worker_count = 1;
    if (lanepool_metrics_write(&source, 1, print, stdout) != LANEPOOL_OK)
        return 1;
    lanepool_pool_destroy(pool);
    return 0;
}
