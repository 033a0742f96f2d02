// Tasks that do not run, or fail for good: what their futures and captures see.
#include <future>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"

using lanepool::exclusive;
using std::chrono::nanoseconds;

// Keeps account 1 busy until the gate opens.
static lanepool::future<void> occupy(lanepool::pool &pool, gate &closed) {
    auto future = pool.submit(exclusive(1), [&closed] { closed.pass(); });
    closed.wait_for_arrival();
    return future;
}

static void cancelled_before_the_start() {
    lanepool::pool pool(2);
    gate closed;
    auto first = occupy(pool, closed);
    auto second = pool.submit(exclusive(1), [capture = counted()] { return 1; });
    CHECK(!second.wait(nanoseconds(0)) && counted::live == 1);
    CHECK(second.cancel() == LANEPOOL_OK && counted::live == 0);
    CHECK(second.cancel() == LANEPOOL_DONE && second.wait(nanoseconds(0)));
    CHECK_THROWS(second.get(), cancelled, LANEPOOL_CANCELLED);
    CHECK(first.cancel() == LANEPOOL_RUNNING);
    closed.open();
    first.get();
}

static void pool_destroyed_with_tasks_waiting() {
    std::vector<lanepool::future<int>> waiting;
    gate closed;
    bool has_run = false;
    {
        lanepool::pool pool(2);
        lanepool::future<void> first = occupy(pool, closed);
        for (int i = 0; i < 100; i++) {
            waiting.push_back(pool.submit(exclusive(1), [&has_run, capture = counted()] {
                has_run = true;
                return 1;
            }));
        }
        pool.post(exclusive(1), [&has_run, capture = counted()] { has_run = true; });
        CHECK(lanepool_pool_shutdown_now(pool.handle(), nullptr, nullptr) == LANEPOOL_OK);
        closed.open();
    }
    CHECK(!has_run && counted::live == 0);
    for (auto &future : waiting) {
        CHECK_THROWS(future.get(), cancelled, LANEPOOL_SHUT_DOWN);
    }
}

// The destructor cancels what is left, also in a paused pool.
static void destructor_cancels() {
    lanepool::future<void> never;
    {
        lanepool::pool pool(1);
        CHECK(lanepool_pool_pause(pool.handle()) == LANEPOOL_OK);
        never = pool.submit([capture = counted()] {});
        lanepool::group group;
        pool.post(
            {}, [capture = counted()] {}, group);
        CHECK(group.cancel() == 1 && group.wait());
    }
    CHECK(counted::live == 0);
    CHECK_THROWS(never.get(), cancelled, LANEPOOL_SHUT_DOWN);
}

static void parked() {
    lanepool::future<int> failed;
    lanepool::future<int> behind;
    {
        lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
        policy.at_end = LANEPOOL_FAILURE_POISON;
        lanepool::options options(2);
        options.on_failure = &policy;
        lanepool::pool pool(options);
        failed = pool.submit(exclusive(1), [capture = counted()]() -> int {
            throw std::runtime_error("no such account");
        });
        behind = pool.submit(exclusive(1), [capture = counted()] { return 1; });
        CHECK(pool.quiesce() == LANEPOOL_PARKED);
        CHECK(!failed.wait(nanoseconds(0)));
        CHECK(pool.drain() == LANEPOOL_PARKED);
        CHECK(pool.close() == LANEPOOL_PARKED && pool.handle() != nullptr);
    }
    CHECK(counted::live == 0);
    CHECK_THROWS(behind.get(), cancelled, LANEPOOL_SHUT_DOWN);
    try {
        failed.get();
        CHECK(false);
    } catch (const std::runtime_error &) {
    }
}

static void full() {
    lanepool::options options(1);
    options.pending_max = 1;
    lanepool::pool pool(options);
    gate closed;
    auto first = occupy(pool, closed);
    auto task = [capture = counted()] { return 5; };
    CHECK(!pool.try_submit(exclusive(2), task));
    CHECK(!pool.try_submit(exclusive(2), task, {}, nanoseconds(1)));
    CHECK(counted::live == 1);
    closed.open();
    first.get();
    CHECK(pool.quiesce() == LANEPOOL_OK);
    auto second = pool.try_submit(exclusive(2), task);
    CHECK(second && second->get() == 5);
    CHECK(pool.drain() == LANEPOOL_OK);
    CHECK_THROWS(pool.try_submit({}, task), error, LANEPOOL_SHUT_DOWN);
    CHECK_THROWS(pool.submit(task), error, LANEPOOL_SHUT_DOWN);
}

// A handed-back task belongs to the program, which can submit it elsewhere.
static void handed_back() {
    int runs = 0;
    lanepool::future<void> future;
    lanepool::pool other(1);
    {
        lanepool::pool pool(2);
        gate closed;
        auto first = occupy(pool, closed);
        future = pool.submit(exclusive(1), [&runs, capture = counted()] { ++runs; });
        auto hand_back = [](void *to, const lanepool_task *task, std::uint64_t) {
            CHECK(lanepool_pool_submit(static_cast<lanepool_pool *>(to), task) == LANEPOOL_OK);
        };
        CHECK(lanepool_pool_shutdown_now(pool.handle(), hand_back, other.handle()) == LANEPOOL_OK);
        closed.open();
    }
    CHECK(other.close() == LANEPOOL_OK);
    CHECK(runs == 1 && counted::live == 0);
    CHECK_THROWS(future.get(), cancelled, LANEPOOL_CANCELLED);
}

static void detached() {
    lanepool::pool pool(1);
    std::promise<lanepool_detached *> detached;
    auto future = pool.submit(exclusive(1), [&detached](lanepool_run *run) {
        lanepool_detached *later = nullptr;
        CHECK(lanepool_run_detach(run, &later) == LANEPOOL_OK);
        detached.set_value(later);
        return 6;
    });
    lanepool_detached *later = detached.get_future().get();
    CHECK(!future.wait(nanoseconds(0)));
    CHECK(lanepool_task_complete(later, 0, nullptr) == LANEPOOL_OK);
    CHECK(future.get() == 6);
    future = pool.submit(exclusive(1), [](lanepool_run *run) {
        lanepool_detached *now = nullptr;
        CHECK(lanepool_run_detach(run, &now) == LANEPOOL_OK);
        CHECK(lanepool_task_complete(now, 3, nullptr) == LANEPOOL_OK);
        return 6;
    });
    CHECK_THROWS(future.get(), error, LANEPOOL_FAILED);
}

static void refused_pools() {
    CHECK_THROWS(lanepool::pool(LANEPOOL_WORKERS_MAX + 1), error, LANEPOOL_INVALID);
    lanepool::pool first(1);
    lanepool_pool *handle = first.handle();
    lanepool::pool second = std::move(first);
    CHECK(first.handle() == nullptr && second.handle() == handle);
    CHECK_THROWS(first.submit([] {}), error, LANEPOOL_INVALID);
    second = lanepool::pool(2); // ends the first pool
    CHECK(lanepool_pool_worker_count(second.handle()) == 2);
}

int main() {
    cancelled_before_the_start();
    pool_destroyed_with_tasks_waiting();
    destructor_cancels();
    parked();
    full();
    handed_back();
    detached();
    refused_pools();
    return 0;
}
