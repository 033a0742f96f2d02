/* Boost.Asio: a strand for each key, on a thread pool. Strands know no tasks with several keys, so
 * these are implemented here. A marker is posted to each of the task's strands. A strand that
 * reaches a marker stores the key's later tasks. The strand that reaches the last marker runs the
 * task. */
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "engine.h"

namespace {

namespace asio = boost::asio;

struct Rollup {
    const bench_task *task;
    std::atomic<uint32_t> missing; /* markers that are not reached yet */
};

struct Item {
    const bench_task *task;
    Rollup *rollup; /* null for a task with one key; otherwise this is a marker */
};

/* Accessed only inside the strand. */
struct Lane {
    asio::strand<asio::thread_pool::executor_type> strand;
    std::deque<Item> aside;
    bool is_held = false; /* by a rollup that has not run yet */

    explicit Lane(asio::thread_pool &pool) : strand(asio::make_strand(pool)) {}
};

std::unique_ptr<asio::thread_pool> pool;
std::vector<std::unique_ptr<Lane>> lanes;

/* Locked while a rollup's markers are posted, so that all strands have markers in the same
 * order. */
std::mutex rollups;

void let_go(uint32_t key);

/* Called in the strand of a lane that is not held. */
void pass(Lane &lane, const Item &item) {
    Rollup *rollup = item.rollup;
    if (rollup == nullptr) {
        bench_task_run(item.task);
        return;
    }
    lane.is_held = true;
    if (rollup->missing.fetch_sub(1, std::memory_order_acq_rel) > 1)
        return;
    bench_task_run(item.task);
    for (uint32_t i = 0; i < item.task->key_count; i++) {
        uint32_t key = bench_task_key(item.task, i);
        asio::post(lanes[key]->strand, [key] { let_go(key); });
    }
    delete rollup;
}

void let_go(uint32_t key) {
    Lane &lane = *lanes[key];
    lane.is_held = false;
    while (!lane.is_held && !lane.aside.empty()) {
        Item item = lane.aside.front();
        lane.aside.pop_front();
        pass(lane, item);
    }
}

void post(uint32_t key, const Item &item) {
    Lane &lane = *lanes[key];
    asio::post(lane.strand, [&lane, item] {
        if (lane.is_held)
            lane.aside.push_back(item);
        else
            pass(lane, item);
    });
}

void start(const bench_setup *setup) {
    pool = std::make_unique<asio::thread_pool>(setup->workers);
    lanes.reserve(setup->key_count);
    for (uint32_t key = 0; key < setup->key_count; key++)
        lanes.push_back(std::make_unique<Lane>(*pool));
}

void submit(const bench_task *task) {
    if (task->key_count <= 1) {
        post(task->key, { task, nullptr });
        return;
    }
    auto *rollup = new Rollup{ task, { task->key_count } };
    std::lock_guard<std::mutex> guard(rollups);
    for (uint32_t i = 0; i < task->key_count; i++)
        post(bench_task_key(task, i), { task, rollup });
}

void stop() {
    pool->join();
    lanes.clear();
    pool.reset();
}

} // namespace

const bench_hooks bench_engine = [] {
    bench_hooks hooks = {};
    hooks.name = "asio";
    hooks.features = BENCH_SEVERAL_KEYS | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS;
    hooks.start = start;
    hooks.submit = submit;
    hooks.stop = stop;
    return hooks;
}();
