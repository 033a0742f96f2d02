// A program in C++17: every header, a task by lanepool.hpp, and a lambda as a C function.
#include <atomic>

#include <lanepool/lanepool.hpp>

int main() {
    std::atomic<int> runs{ 0 };
    lanepool::pool pool;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claim = lanepool_shared(1);

    task.function = [](lanepool_run *, void *context) {
        ++*static_cast<std::atomic<int> *>(context);
        return 0;
    };
    task.context = &runs;
    task.claims = &claim;
    task.claim_count = 1;
    for (int i = 0; i < 3; i++) {
        if (lanepool_pool_submit(pool.handle(), &task) != LANEPOOL_OK) {
            return 1;
        }
    }
    return pool.submit(lanepool::exclusive(1), [&runs] { return runs == 3 ? 0 : 1; }).get();
}
