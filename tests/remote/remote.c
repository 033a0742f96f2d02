/* What lanepool/remote.h promises, with a store in memory on real threads. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "remote/batch.h"
#include "remote/door.h"
#include "support/gate.h"
#include "support/random.h"
#include "support/test.h"

#define WAIT_NS UINT64_C(10000000000)

/* A batch without faults. */
struct scene {
    struct model model;
    struct server *server;
    struct connection *connection;
    lanepool_options pool;
    lanepool_remote_options options;
};

static struct scene scene;

static void fail_model(const char *why, uint64_t seq, uint64_t lane)
{
    door_fail("%s: task %llu, lane %llu", why, (unsigned long long)seq, (unsigned long long)lane);
}

static void open_scene(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    memset(&scene, 0, sizeof scene);
    model_fail = fail_model;
    model_draw(&scene.model, &random);
    scene.server =
        server_create(&scene.model, 4, random, (struct store_faults){ 0 }, STORE_IS_RIGHT);
    scene.connection = connection_create(scene.server);
    scene.pool = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    scene.pool.workers = 2;
    scene.options = (lanepool_remote_options)LANEPOOL_REMOTE_OPTIONS_INIT;
    scene.options.kinds = model_kinds();
    scene.options.kind_count = MODEL_KINDS;
    scene.options.user = &scene.model;
    scene.options.pool = &scene.pool;
    scene.options.lease_ns = 100000000;
}

static lanepool_remote *open_remote(struct connection *connection)
{
    lanepool_remote *remote;
    expect_ok(lanepool_remote_open(store_functions(), connection, &scene.options, &remote));
    return remote;
}

static void close_scene(void)
{
    connection_destroy(scene.connection);
    server_destroy(scene.server);
}

static void submit_model(lanepool_remote *remote)
{
    lanepool_remote_task tasks[MODEL_TASKS_MAX];
    uint64_t first = 0;
    model_describe(&scene.model, tasks);
    expect_ok(lanepool_remote_submit_many(remote, tasks, scene.model.task_count, WAIT_NS, &first));
    expect_eq(first, 1);
}

static lanepool_status open_with(const lanepool_remote_options *options)
{
    lanepool_remote *remote;
    lanepool_status status =
        lanepool_remote_open(store_functions(), scene.connection, options, &remote);
    expect((remote == NULL) == (status != LANEPOOL_OK));
    lanepool_remote_close(remote);
    return status;
}

Test(remote, wrong_options_are_refused)
{
    lanepool_remote_store_functions functions = *store_functions();
    lanepool_remote *remote;
    open_scene(1);
    expect_status(lanepool_remote_open(NULL, scene.connection, NULL, &remote), LANEPOOL_INVALID);
    expect_status(lanepool_remote_open(&functions, scene.connection, NULL, NULL), LANEPOOL_INVALID);
    functions.step = NULL;
    expect_status(lanepool_remote_open(&functions, scene.connection, NULL, &remote),
                  LANEPOOL_INVALID);
    expect_ok(open_with(NULL));
    expect_ok(open_with(&scene.options));
    lanepool_remote_options options = scene.options;
    options.kinds = NULL;
    expect_status(open_with(&options), LANEPOOL_INVALID);
    scene.pool.user = &scene;
    expect_status(open_with(&scene.options), LANEPOOL_INVALID);
    scene.pool.user = NULL;
    scene.pool.layout = LANEPOOL_PER_WORKER;
    expect_status(open_with(&scene.options), LANEPOOL_UNSUPPORTED);
    scene.pool.layout = LANEPOOL_PER_KEY;
    scene.pool.lane_pending_max = 3;
    expect_status(open_with(&scene.options), LANEPOOL_UNSUPPORTED);
    close_scene();
}

/* A program that was compiled against a later header. */
Test(remote, unknown_options_must_be_zero)
{
    struct {
        lanepool_remote_options known;
        uint64_t unknown;
    } later;
    open_scene(1);
    memset(&later, 0, sizeof later);
    later.known = scene.options;
    later.known.struct_size = sizeof later;
    expect_ok(open_with(&later.known));
    later.unknown = 1;
    expect_status(open_with(&later.known), LANEPOOL_INVALID);
    later.known.struct_size = offsetof(lanepool_remote_options, reserved);
    expect_ok(open_with(&later.known));
    later.known.struct_size = 0;
    expect_status(open_with(&later.known), LANEPOOL_INVALID);
    close_scene();
}

Test(remote, wrong_tasks_are_refused)
{
    lanepool_remote_claim claim = { 1, 0, LANEPOOL_EXCLUSIVE };
    lanepool_remote_task task = { 0, &claim, 1, { NULL, 0 } };
    open_scene(1);
    lanepool_remote *remote = open_remote(scene.connection);
    task.claim_count = 0;
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL), LANEPOOL_INVALID);
    task.claim_count = 1;
    task.kind = MODEL_KINDS;
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL), LANEPOOL_INVALID);
    task.kind = 0;
    claim.mode = LANEPOOL_SHARED;
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL),
                  LANEPOOL_UNSUPPORTED);
    claim.mode = LANEPOOL_COMMUTING;
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL),
                  LANEPOOL_UNSUPPORTED);
    lanepool_remote_claim twice[3] = { { 1, 0, LANEPOOL_EXCLUSIVE },
                                       { 2, 0, LANEPOOL_EXCLUSIVE },
                                       { 1, 0, LANEPOOL_EXCLUSIVE } };
    task.claims = twice;
    task.claim_count = 3;
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_remote_submit_many(remote, &task, 0, WAIT_NS, NULL));
    lanepool_remote_close(remote);
    close_scene();
}

Test(remote, sealed_batch_ends_and_takes_no_tasks)
{
    lanepool_remote_view view;
    open_scene(2);
    lanepool_remote *remote = open_remote(scene.connection);
    submit_model(remote);
    expect_status(lanepool_remote_await_all(remote, 20000000), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_remote_seal(remote, WAIT_NS));
    expect_ok(lanepool_remote_await_all(remote, WAIT_NS));
    lanepool_remote_claim claim = { 1, 0, LANEPOOL_EXCLUSIVE };
    lanepool_remote_task task = { 0, &claim, 1, { NULL, 0 } };
    expect_status(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL), LANEPOOL_SHUT_DOWN);
    expect_ok(lanepool_remote_status(remote, WAIT_NS, &view));
    expect_eq(view.news.appended, scene.model.task_count);
    expect_eq(view.news.done, scene.model.task_count);
    expect(view.news.is_sealed);
    expect_eq(view.shards, 4);
    expect_eq(view.own_shards, 4);
    expect_eq(view.free_shards, 0);
    expect_eq(view.live_nodes, 1);
    expect_eq(view.counts.incarnations, 1);
    expect_eq(view.counts.tasks, scene.model.task_count);
    server_judge(scene.server);
    lanepool_remote_close(remote);
    close_scene();
}

Test(remote, outcomes_are_those_of_the_functions)
{
    open_scene(3);
    lanepool_remote *remote = open_remote(scene.connection);
    submit_model(remote);
    for (uint64_t seq = 1; seq <= scene.model.task_count; seq++) {
        lanepool_remote_outcome outcome = { -1, 0 };
        expect_ok(lanepool_remote_await(remote, seq, WAIT_NS, &outcome));
        expect_eq(outcome.code, scene.model.tasks[seq - 1].fails ? 7 : 0);
    }
    expect_status(lanepool_remote_await(remote, scene.model.task_count + 1, 20000000, NULL),
                  LANEPOOL_TIMED_OUT);
    expect_status(lanepool_remote_await(remote, 0, WAIT_NS, NULL), LANEPOOL_INVALID);
    lanepool_remote_close(remote);
    close_scene();
}

/* --- long functions --- */

static struct {
    struct gate gate; /* opens with the third lease while the function runs */
    _Atomic bool has_begun;
    uint32_t leases;
} watch;

static lanepool_status lease_watched(void *store, const lanepool_remote_node *node,
                                     const lanepool_remote_lease *lease,
                                     const lanepool_remote_visitor *visitor,
                                     lanepool_remote_share *share)
{
    if (watch.has_begun && ++watch.leases == 3)
        gate_open(&watch.gate, 1);
    return store_functions()->lease(store, node, lease, visitor, share);
}

static int run_long(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    if (!watch.has_begun) {
        watch.has_begun = true;
        gate_pass(&watch.gate);
    }
    return model_kinds()[task->kind].run(run, task, user);
}

Test(remote, leases_are_renewed_while_all_workers_are_busy)
{
    lanepool_remote_kind kinds[MODEL_KINDS];
    lanepool_remote *remote;
    lanepool_remote_view view;
    lanepool_remote_store_functions functions = *store_functions();
    open_scene(4);
    memset(&watch, 0, sizeof watch);
    gate_init(&watch.gate);
    functions.lease = lease_watched;
    scene.pool.workers = 1;
    for (size_t i = 0; i < MODEL_KINDS; i++)
        kinds[i] = (lanepool_remote_kind){ run_long, model_kinds()[i].is_cut };
    scene.options.kinds = kinds;
    expect_ok(lanepool_remote_open(&functions, scene.connection, &scene.options, &remote));
    submit_model(remote);
    expect_ok(lanepool_remote_seal(remote, WAIT_NS));
    expect_ok(lanepool_remote_await_all(remote, WAIT_NS));
    expect_ok(lanepool_remote_status(remote, WAIT_NS, &view));
    expect_eq(view.counts.incarnations, 1);
    server_judge(scene.server);
    lanepool_remote_close(remote);
    gate_fini(&watch.gate);
    close_scene();
}

/* --- explain --- */

struct text {
    char bytes[2000];
    size_t size;
};

static void keep_text(void *context, const char *text, size_t size)
{
    struct text *kept = context;
    expect(kept->size + size < sizeof kept->bytes);
    memcpy(kept->bytes + kept->size, text, size);
    kept->size += size;
}

static bool explains(lanepool_remote *remote, uint64_t seq, const char *wanted)
{
    struct text text = { .size = 0 };
    expect_ok(lanepool_remote_explain(remote, seq, WAIT_NS, keep_text, &text));
    bool is_found = strstr(text.bytes, wanted) != NULL;
    if (!is_found)
        printf("%s", text.bytes);
    return is_found;
}

Test(remote, explain_names_shards_and_nodes)
{
    open_scene(2);
    lanepool_remote_options working = scene.options;
    scene.options.kind_count = 0; /* takes no shards, so nothing runs */
    lanepool_remote *remote = open_remote(scene.connection);
    expect(explains(remote, 1, "Task 1 does not exist: the batch has 0 tasks."));
    submit_model(remote);
    expect(explains(remote, 1, "Task 1 is not done."));
    expect(explains(remote, 1, "its home: all tasks up to 0 are done; no node has it."));
    scene.options = working;
    struct connection *connection = connection_create(scene.server);
    lanepool_remote *worker = open_remote(connection);
    expect_ok(lanepool_remote_seal(worker, WAIT_NS));
    expect_ok(lanepool_remote_await_all(worker, WAIT_NS));
    expect(explains(remote, 1, "Task 1 is done."));
    expect(explains(remote, 1, "its home: done; node 2 (node) has it"));
    lanepool_remote_close(worker);
    lanepool_remote_close(remote);
    connection_destroy(connection);
    close_scene();
}

static void submit_on(lanepool_remote *remote, uint64_t first, uint64_t second)
{
    lanepool_remote_claim claims[] = { { .lane = first }, { .lane = second } };
    lanepool_remote_task task = { .claims = claims, .claim_count = first == second ? 1 : 2 };
    expect_ok(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL));
}

Test(remote, explain_names_lanes_and_the_tasks_before)
{
    enum { MANY = 40 };
    lanepool_remote_claim claims[MANY];
    lanepool_remote_task task = { .claims = claims, .claim_count = MANY };
    open_scene(2);
    scene.options.kind_count = 0; /* takes no shards, so nothing runs */
    lanepool_remote *remote = open_remote(scene.connection);
    submit_on(remote, 7, 7);
    submit_on(remote, 7, 8);
    submit_on(remote, 8, 8);
    submit_on(remote, 7, 9);
    expect(explains(remote, 1, "\n    lane 7: no task is before it.\n"));
    expect(explains(remote, 2, "\n    lane 7: task 1 is before it.\n"));
    expect(explains(remote, 2, "\n    lane 8: no task is before it.\n"));
    expect(explains(remote, 3, "\n    lane 8: task 2 is before it.\n"));
    expect(explains(remote, 4, "\n    lane 7: task 1 is the first of 2 before it.\n"));
    for (size_t i = 0; i < MANY; i++) {
        claims[i] = (lanepool_remote_claim){ .lane = 100 + i, .group = 1 };
    }
    expect_ok(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL));
    expect(explains(remote, 5, "    lane 100: no task is before it.\n"));
    expect(explains(remote, 5, "    and 24 more lanes.\n"));
    lanepool_remote_close(remote);
    close_scene();
}

/* --- leaving --- */

Test(remote, who_leaves_hands_over_at_once)
{
    open_scene(4);
    scene.options.lease_ns = UINT64_C(1000000000);
    lanepool_remote *first = open_remote(scene.connection);
    submit_model(first);
    expect_ok(lanepool_remote_leave(first, WAIT_NS));
    struct connection *connection = connection_create(scene.server);
    lanepool_remote *second = open_remote(connection);
    expect_ok(lanepool_remote_seal(second, WAIT_NS));
    expect_ok(lanepool_remote_await_all(second, WAIT_NS));
    server_judge(scene.server);
    lanepool_remote_close(second);
    lanepool_remote_close(first);
    connection_destroy(connection);
    close_scene();
}

Test(remote, closed_node_is_replaced)
{
    open_scene(5);
    lanepool_remote *first = open_remote(scene.connection);
    submit_model(first);
    lanepool_remote_close(first);
    lanepool_remote *second = open_remote(scene.connection);
    expect_ok(lanepool_remote_seal(second, WAIT_NS));
    expect_ok(lanepool_remote_await_all(second, WAIT_NS));
    server_judge(scene.server);
    lanepool_remote_close(second);
    close_scene();
}

/* A node whose program lacks a kind of the batch is an error for the program to see. */
Test(remote, unknown_kind_ends_the_node)
{
    open_scene(2);
    lanepool_remote_options all = scene.options;
    scene.options.kind_count = 0;
    lanepool_remote *submitter = open_remote(scene.connection);
    submit_model(submitter);
    lanepool_remote_close(submitter);
    scene.options = all;
    scene.options.kind_count = 1;
    lanepool_remote *lacking = open_remote(scene.connection);
    expect_status(lanepool_remote_await_all(lacking, WAIT_NS), LANEPOOL_INVALID);
    lanepool_remote_close(lacking);
    close_scene();
}

/* --- running tasks --- */

static int set_nothing(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    lanepool_status *statuses = user;
    uint64_t number = 1;
    statuses[0] = lanepool_remote_set_state(run, 0, &number, sizeof number);
    statuses[1] = lanepool_remote_set_state(run, task->claim_count, &number, sizeof number);
    statuses[2] = lanepool_remote_put(run, NULL, 1);
    statuses[3] =
        lanepool_remote_state(run, task->claim_count).size == 0 ? LANEPOOL_OK : LANEPOOL_FAILED;
    return 7;
}

Test(remote, cuts_set_no_states)
{
    lanepool_status statuses[4] = { LANEPOOL_OK, LANEPOOL_OK, LANEPOOL_OK, LANEPOOL_OK };
    lanepool_remote_kind kind = { set_nothing, true };
    open_scene(6);
    scene.model.tasks[0].fails = true;
    scene.model.tasks[0].after[0] = scene.model.tasks[0].before[0];
    lanepool_remote_claim claim = scene.model.tasks[0].claims[0];
    lanepool_remote_task task = { 0, &claim, 1, { NULL, 0 } };
    scene.options.kinds = &kind;
    scene.options.kind_count = 1;
    scene.options.user = statuses;
    lanepool_remote *remote = open_remote(scene.connection);
    lanepool_remote_outcome outcome;
    expect_ok(lanepool_remote_submit_many(remote, &task, 1, WAIT_NS, NULL));
    expect_ok(lanepool_remote_await(remote, 1, WAIT_NS, &outcome));
    expect_eq(outcome.code, 7);
    expect_status(statuses[0], LANEPOOL_UNSUPPORTED);
    expect_status(statuses[1], LANEPOOL_INVALID);
    expect_status(statuses[2], LANEPOOL_INVALID);
    expect_ok(statuses[3]);
    lanepool_remote_close(remote);
    close_scene();
}
