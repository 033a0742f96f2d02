// Results of callables: values, references, exceptions; how callables are stored and freed.
#include <array>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "check.hpp"

using lanepool::exclusive;

extern std::atomic<long> allocated; // allocations.cpp

static int seven() { return 7; }

struct only_movable {
    explicit only_movable(int number) : value(std::make_unique<int>(number)) {}
    std::unique_ptr<int> value;
};

static void values(lanepool::pool &pool) {
    static_assert(!std::is_copy_constructible_v<lanepool::future<int>>, "move-only");
    static_assert(!std::is_copy_constructible_v<lanepool::pool>, "move-only");
    CHECK(pool.submit([] { return 42; }).get() == 42);
    CHECK(pool.submit(exclusive(1), seven).get() == 7);
    CHECK(pool.submit([] { return std::string(100, 'x'); }).get() == std::string(100, 'x'));
    CHECK(*pool.submit([] { return only_movable(5); }).get().value == 5);

    int count = 0;
    lanepool::future<void> nothing = pool.submit(exclusive(1), [&count] { ++count; });
    static_assert(std::is_void_v<decltype(nothing.get())>, "void");
    CHECK(nothing.valid());
    nothing.get();
    CHECK(count == 1 && !nothing.valid());
    CHECK_THROWS(nothing.get(), error, LANEPOOL_INVALID);
    CHECK_THROWS(lanepool::future<int>().wait(), error, LANEPOOL_INVALID);
}

static void references(lanepool::pool &pool) {
    int number = 1;
    auto future = pool.submit([&number]() -> int & { return number; });
    static_assert(std::is_same_v<decltype(future.get()), int &>, "a reference stays one");
    CHECK(&future.get() == &number);
}

static void captures(lanepool::pool &pool) {
    auto owned = std::make_unique<int>(3);
    CHECK(pool.submit([owned = std::move(owned)] { return *owned; }).get() == 3);
    // A callable may change what it has captured, and is copied from an lvalue.
    auto counter = [n = 0]() mutable { return ++n; };
    CHECK(pool.submit(counter).get() == 1 && pool.submit(counter).get() == 1);
    // It may take the call that it is in.
    CHECK(pool.submit([](lanepool_run *run) { return lanepool_run_attempt(run); }).get() == 1);
    lanepool_pool *handle = pool.handle();
    CHECK(pool.submit([handle](auto... run) { return (... && (lanepool_run_pool(run) == handle)); })
              .get());
}

static void exceptions(lanepool::pool &pool) {
    auto fails = pool.submit(exclusive(1), []() -> int { throw std::out_of_range("account"); });
    bool was_thrown = false;
    try {
        fails.get();
    } catch (const std::out_of_range &thrown) {
        was_thrown = thrown.what() == std::string("account");
    }
    CHECK(was_thrown && !fails.valid());
    // Its lane continues, and what is not an std::exception arrives, too.
    try {
        pool.submit(exclusive(1), [] { throw 5; }).get();
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 5);
    }
    CHECK(lanepool::error(LANEPOOL_FULL).what() ==
          std::string(lanepool_status_text(LANEPOOL_FULL)));
}

static void threads_that_exit(lanepool::pool &pool) {
    counted capture;
    auto future = pool.submit(exclusive(1), [capture]() -> int { pthread_exit(nullptr); });
    CHECK_THROWS(future.get(), error, LANEPOOL_ABANDONED);
    CHECK(pool.submit(exclusive(1), seven).get() == 7);
}

struct errors {
    std::atomic<int> count{ 0 };
    std::atomic<int> code{ 0 };
};

static void posts() {
    errors seen;
    lanepool::options options(2);
    options.user = &seen;
    options.on_error = [](void *user, const lanepool_error *error) {
        static_cast<errors *>(user)->code = error->code;
        ++static_cast<errors *>(user)->count;
    };
    lanepool::pool pool(options);
    int sum = 0;
    pool.post(exclusive(1), [&sum] { sum += 1; });
    pool.post(exclusive(1), []() -> int { throw std::runtime_error("seen by on_error only"); });
    pool.post(exclusive(1), [&sum] { sum += 2; });
    CHECK(pool.close() == LANEPOOL_OK && pool.handle() == nullptr);
    CHECK(sum == 3 && seen.count == 1 && seen.code == lanepool::exception_code);
}

static void retries() {
    lanepool::pool pool(1);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = 2;
    lanepool::task_options options;
    options.on_failure = &policy;
    auto third_time = [n = 0, capture = counted()]() mutable {
        if (++n < 3) {
            throw n;
        }
        return n;
    };
    CHECK(pool.submit(exclusive(1), third_time, options).get() == 3);
}

// Without a lanepool_run a callable is gone when its future completes.
static void lifetimes(lanepool::pool &pool) {
    CHECK(counted::live == 0);
    auto future = pool.submit(exclusive(1), [capture = counted()] { return 1; });
    CHECK(future.get() == 1 && counted::live == 0);

    counted original;
    counted::copies = 0;
    pool.submit([capture = std::make_unique<counted>()] {}).get();
    CHECK(counted::copies == 0 && counted::live == 1);
    auto copied = [capture = original] {};
    counted::copies = 0;
    pool.submit(copied).get();
    CHECK(counted::copies == 1 && counted::live == 2);

    // If storing the callable throws, there is no task.
    counted::copy_throws = true;
    try {
        pool.post({}, copied);
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 1);
    }
    counted::copy_throws = false;
    counted::move_throws = true;
    try {
        pool.post({}, std::move(copied));
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 2);
    }
    counted::move_throws = false;
    // So if the submit is refused.
    std::array<lanepool_claim, 2> wrong = { lanepool_claim_all(), exclusive(1) };
    CHECK_THROWS(pool.submit(wrong, copied), error, LANEPOOL_INVALID);
    CHECK(counted::live == 2);
}

int main() {
    // The first round allocates what this thread and the runtime use later, too.
    for (int round = 0; round < 2; round++) {
        long before = allocated;
        {
            lanepool::pool pool(2);
            values(pool);
            references(pool);
            captures(pool);
            exceptions(pool);
            threads_that_exit(pool);
            CHECK(pool.quiesce() == LANEPOOL_OK);
            lifetimes(pool);
            posts();
            retries();
        }
        CHECK(counted::live == 0);
        CHECK(round == 0 || allocated == before);
    }
    // A submit with a future allocates once.
    {
        lanepool::pool pool(1);
        long before = allocated;
        pool.post({}, [] {});
        CHECK(pool.quiesce() == LANEPOOL_OK && allocated == before);
        gate closed;
        auto future = pool.submit([&closed] { closed.pass(); });
        closed.wait_for_arrival();
        CHECK(allocated == before + 1);
        closed.open();
        future.get();
    }
    return 0;
}
