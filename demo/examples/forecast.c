/* How many workers are worth it? A plan answers before anything runs. Each day all clients post,
 * one of them slowly. Then a report reads all balances. */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { DAYS = 5, CLIENTS = 20, SLOW_CLIENT = 0 };

#define MS UINT64_C(1000000)

static lanepool_status add_posting(lanepool_plan *plan, unsigned client)
{
    lanepool_claim claim = lanepool_exclusive(client);
    lanepool_plan_task posting = { .claims = &claim,
                                   .claim_count = 1,
                                   .duration_ns = client == SLOW_CLIENT ? 20 * MS : 2 * MS };
    return lanepool_plan_add(plan, &posting);
}

static lanepool_status add_report(lanepool_plan *plan)
{
    lanepool_claim claims[CLIENTS];
    for (unsigned i = 0; i < CLIENTS; i++)
        claims[i] = lanepool_shared(i);
    lanepool_plan_task report = {
        .claims = claims, .claim_count = CLIENTS, .duration_ns = CLIENTS * MS / 2, .tag = 1
    };
    return lanepool_plan_add(plan, &report);
}

static lanepool_status add_day(lanepool_plan *plan)
{
    lanepool_status status = LANEPOOL_OK;
    for (unsigned client = 0; client < CLIENTS && status == LANEPOOL_OK; client++)
        status = add_posting(plan, client);
    return status == LANEPOOL_OK ? add_report(plan) : status;
}

/* Prints how long some numbers of workers take, as it is and with reports that are cuts. */
static lanepool_status print_plan(const lanepool_plan *plan)
{
    lanepool_status status = LANEPOOL_OK;
    for (unsigned workers = 1; workers <= 8 && status == LANEPOOL_OK; workers *= 2) {
        lanepool_plan_pool pool = { .workers = workers };
        lanepool_plan_result as_it_is, with_cuts;
        status = lanepool_plan_run(plan, &pool, &as_it_is, NULL);
        pool.change = LANEPOOL_PLAN_CUT_TAG;
        pool.tag = 1;
        if (status == LANEPOOL_OK)
            status = lanepool_plan_run(plan, &pool, &with_cuts, NULL);
        if (status == LANEPOOL_OK)
            printf("%u workers: %3u ms, with cuts %3u ms\n", workers,
                   (unsigned)(as_it_is.makespan_ns / MS), (unsigned)(with_cuts.makespan_ns / MS));
    }
    return status;
}

int main(void)
{
    lanepool_plan *plan;
    lanepool_status status = lanepool_plan_create(&plan);
    for (unsigned day = 0; day < DAYS && status == LANEPOOL_OK; day++)
        status = add_day(plan);
    if (status == LANEPOOL_OK)
        status = print_plan(plan);
    lanepool_plan_destroy(plan);
    return status == LANEPOOL_OK ? 0 : 1;
}
