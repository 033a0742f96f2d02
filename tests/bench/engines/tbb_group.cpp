/* oneTBB's task group, which knows no keys: tasks run in any order. The submitting thread is inside
 * the workers' arena. */
#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "engine.h"

namespace {

using oneapi::tbb::global_control;
using oneapi::tbb::task_arena;
using oneapi::tbb::task_group;

std::unique_ptr<global_control> control;
std::unique_ptr<task_arena> arena;
std::unique_ptr<task_group> group;

void start(const bench_setup *setup) {
    unsigned threads = setup->workers + 1;
    control = std::make_unique<global_control>(global_control::max_allowed_parallelism, threads);
    arena = std::make_unique<task_arena>(static_cast<int>(threads), 1);
    group = std::make_unique<task_group>();
}

/* Waits for the group only when all its tasks have run, because a waiting thread becomes one more
 * worker. */
void enter(void (*measured)()) {
    arena->execute([measured] {
        measured();
        group->wait();
    });
}

void submit(const bench_task *task) {
    group->run([task] { bench_task_run(task); });
}

void stop() {
    group.reset();
    arena.reset();
    control.reset();
}

} // namespace

const bench_hooks bench_engine = [] {
    bench_hooks hooks = {};
    hooks.name = "tbb-group";
    hooks.features = BENCH_GATES | BENCH_UNORDERED;
    hooks.start = start;
    hooks.submit = submit;
    hooks.stop = stop;
    hooks.enter = enter;
    return hooks;
}();
