/* oneTBB's flow graph: a serial node for each key, whose queue keeps the key's order. A task passes
 * one node, so it has one key. */
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "engine.h"

namespace {

namespace flow = oneapi::tbb::flow;
using oneapi::tbb::global_control;
using oneapi::tbb::task_arena;
using Node = flow::function_node<const bench_task *>;

std::unique_ptr<global_control> control;
std::unique_ptr<task_arena> arena;
std::unique_ptr<flow::graph> graph;
std::vector<std::unique_ptr<Node>> nodes;

flow::continue_msg run(const bench_task *task) {
    bench_task_run(task);
    return {};
}

/* An arena always reserves a slot for a thread of the program. It remains empty, because submitters
 * stay outside of the arena. */
void start(const bench_setup *setup) {
    unsigned threads = setup->workers + 1;
    control = std::make_unique<global_control>(global_control::max_allowed_parallelism, threads);
    arena = std::make_unique<task_arena>(static_cast<int>(threads), 1);
    arena->execute([] { graph = std::make_unique<flow::graph>(); });
    nodes.reserve(setup->key_count);
    for (uint32_t key = 0; key < setup->key_count; key++)
        nodes.push_back(std::make_unique<Node>(*graph, flow::serial, run));
}

void submit(const bench_task *task) { bench_require(nodes[task->key]->try_put(task), "a submit"); }

/* The wait ends at once, because all tasks have run. */
void stop() {
    graph->wait_for_all();
    nodes.clear();
    graph.reset();
    arena.reset();
    control.reset();
}

} // namespace

/* There is no `wait`, because a thread that waits for a graph becomes one more worker. */
const bench_hooks bench_engine = [] {
    bench_hooks hooks = {};
    hooks.name = "tbb";
    hooks.features = BENCH_GATES | BENCH_SEVERAL_SUBMITTERS;
    hooks.start = start;
    hooks.submit = submit;
    hooks.stop = stop;
    return hooks;
}();
