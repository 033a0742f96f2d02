// Claims and keys, order, submits and waits inside tasks.
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"

using lanepool::exclusive;
using lanepool::shared;

enum class account : std::uint64_t { cash = 3 };

static bool is_id(lanepool_key key, std::uint64_t id) {
    return key.type == LANEPOOL_KEY_ID && key.id == id;
}

static bool is_bytes(lanepool_key key, std::string_view bytes) {
    return key.type == LANEPOOL_KEY_BYTES && key.size == bytes.size() &&
           bytes == std::string_view(static_cast<const char *>(key.bytes), key.size);
}

static void keys() {
    int object = 0;
    std::string name = "client";
    CHECK(is_id(lanepool::key(0), 0) && is_id(lanepool::key(7u), 7));
    CHECK(is_id(lanepool::key(account::cash), 3) && is_id(lanepool::key(-1), UINT64_MAX));
    CHECK(lanepool::key(&object).type == LANEPOOL_KEY_POINTER);
    CHECK(lanepool::key(&object).pointer == &object);
    CHECK(is_bytes(lanepool::key("client"), name) && is_bytes(lanepool::key(name), name));
    CHECK(is_bytes(lanepool::key(std::string_view("a\0b", 3)), std::string_view("a\0b", 3)));
    CHECK(exclusive("client").mode == LANEPOOL_EXCLUSIVE && shared(name).mode == LANEPOOL_SHARED);
    CHECK(lanepool::commuting("client").mode == LANEPOOL_COMMUTING);
    CHECK(exclusive("client").key.type == LANEPOOL_KEY_BYTES);
    CHECK(is_id(exclusive(lanepool_key_id(5)).key, 5));
}

// Each key's tasks append to a vector that only their lane guards.
static void conflicts_keep_their_order() {
    lanepool::pool pool(4);
    std::vector<int> seen[8];
    for (int i = 0; i < 4000; i++) {
        int key = i % 8;
        pool.post(exclusive(key), [&list = seen[key], i] { list.push_back(i); });
        if (i % 100 == 99) {
            int other = (key + 3) % 8;
            pool.post({ exclusive(key), exclusive(other) }, [&seen, key, other, i] {
                seen[key].push_back(i);
                seen[other].push_back(i);
            });
        }
    }
    std::vector<lanepool_claim> all;
    for (int key = 0; key < 8; key++) {
        all.push_back(shared(key));
    }
    std::size_t total = pool.submit(all,
                                    [&seen] {
                                        std::size_t sum = 0;
                                        for (auto &list : seen) {
                                            sum += list.size();
                                        }
                                        return sum;
                                    })
                            .get();
    CHECK(total == 4000 + 2 * 40);
    for (auto &list : seen) {
        for (std::size_t i = 1; i < list.size(); i++) {
            CHECK(list[i - 1] <= list[i]);
        }
    }
}

// A lane, its key, and a barrier conflict as in C.
static void lanes_and_barriers() {
    lanepool::pool pool(4);
    lanepool::lane lane(pool, "client");
    lanepool::lane moved = std::move(lane);
    std::string log;
    gate closed;
    pool.post(exclusive(moved), [&] {
        closed.pass();
        log += '1';
    });
    closed.wait_for_arrival();
    pool.post(exclusive("client"), [&log] { log += '2'; });
    pool.post(lanepool_claim_all(), [&log] { log += '3'; });
    auto last = pool.submit({ exclusive(moved), shared(5) }, [&log] { log += '4'; });
    closed.open();
    last.get();
    CHECK(log == "1234");
    CHECK_THROWS(lanepool::lane(pool, lanepool_key_none()), error, LANEPOOL_INVALID);
}

static int fibonacci(lanepool::pool &pool, int n) {
    if (n < 2) {
        return n;
    }
    auto left = pool.submit([&pool, n] { return fibonacci(pool, n - 1); });
    auto right = pool.submit([&pool, n] { return fibonacci(pool, n - 2); });
    return left.get() + right.get();
}

static void submits_and_waits_inside_tasks() {
    lanepool::pool pool(2);
    CHECK(pool.submit([&pool] { return fibonacci(pool, 12); }).get() == 144);

    // A wait for a task behind the own lane could never end. The future stays valid.
    lanepool::future<int> inner;
    pool.submit(exclusive(1),
                [&pool, &inner] {
                    inner = pool.submit(exclusive(1), [] { return 9; });
                    CHECK_THROWS(inner.get(), error, LANEPOOL_DEADLOCK);
                    CHECK(inner.valid());
                })
        .get();
    CHECK(inner.get() == 9);
}

static void groups() {
    lanepool::pool pool(2);
    lanepool::group group;
    lanepool::task_options member(group);
    member.tag = 1;
    int sum = 0;
    gate closed;
    pool.post(
        exclusive(1), [&closed] { closed.pass(); }, member);
    pool.post(
        exclusive(1), [&sum] { sum = 1; }, member);
    CHECK(!group.wait(std::chrono::nanoseconds(0)));
    closed.open();
    CHECK(group.wait() && sum == 1 && group.cancel() == 0);
}

int main() {
    keys();
    conflicts_keep_their_order();
    lanes_and_barriers();
    submits_and_waits_inside_tasks();
    groups();
    return 0;
}
