// A program in C++17: includes every header, and runs a task that is a lambda.
#include <atomic>

#include <lanepool/lanepool.h>

int main()
{
    std::atomic<int> runs{ 0 };
    lanepool_pool *pool = nullptr;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claim = lanepool_claim_id(1, LANEPOOL_SHARED);

    if (lanepool_pool_create(nullptr, &pool) != LANEPOOL_OK) {
        return 1;
    }
    task.function = [](lanepool_run *, void *context, lanepool_call) {
        ++*static_cast<std::atomic<int> *>(context);
        return 0;
    };
    task.context = &runs;
    task.claims = &claim;
    task.claim_count = 1;
    for (int i = 0; i < 3; i++) {
        if (lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
            return 1;
        }
    }
    lanepool_pool_destroy(pool);
    return runs == 3 ? 0 : 1;
}
