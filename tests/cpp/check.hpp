// Shared by the C++ tests: checks, a gate that tasks stop at, and captures that are counted.
#ifndef TESTS_CPP_CHECK_HPP
#define TESTS_CPP_CHECK_HPP

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <lanepool/lanepool.hpp>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

// Checks that an expression throws a lanepool exception of this very kind, with this status.
#define CHECK_THROWS(expression, kind, expected)  \
    do {                                          \
        bool was_thrown = false;                  \
        try {                                     \
            static_cast<void>(expression);        \
        } catch (const lanepool::kind &thrown) {  \
            was_thrown = true;                    \
            CHECK(thrown.status() == (expected)); \
        }                                         \
        CHECK(was_thrown);                        \
    } while (0)

// Tasks wait at a gate until the test opens it.
class gate {
public:
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    void wait_for_arrival() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return arrived_; });
    }
    void open() {
        std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool arrived_ = false;
    bool open_ = false;
};

// A capture. `live` counts those that exist; an original has one descendant at a time if moved.
class counted {
public:
    static inline std::atomic<int> live{ 0 };
    static inline std::atomic<int> copies{ 0 };
    static inline std::atomic<bool> move_throws{ false };
    static inline std::atomic<bool> copy_throws{ false };

    counted() { ++live; }
    counted(const counted &) {
        if (copy_throws) {
            throw 1;
        }
        ++copies;
        ++live;
    }
    counted(counted &&) {
        if (move_throws) {
            throw 2;
        }
        ++live;
    }
    counted &operator=(const counted &) = delete;
    ~counted() { --live; }
};

#endif
