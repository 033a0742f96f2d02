#include "remote/batch.h"

#include "remote/door.h"
#include "support/random.h"

static void fail_model(const char *why, uint64_t seq, uint64_t lane)
{
    door_fail("%s: task %llu, lane %llu", why, (unsigned long long)seq, (unsigned long long)lane);
}

static void want(lanepool_status status, const char *what)
{
    if (status != LANEPOOL_OK)
        door_fail("%s answers %s", what, lanepool_status_name(status));
}

/* --- programs --- */

/* In one call or in two. */
static void submit_all(struct run *run, lanepool_remote *remote)
{
    lanepool_remote_task tasks[MODEL_TASKS_MAX];
    size_t count = run->model.task_count;
    size_t first = 1 + run->seed % count;
    uint64_t seq = 0;
    model_describe(&run->model, tasks);
    want(lanepool_remote_submit_many(remote, tasks, first, LANEPOOL_FOREVER, &seq), "submit");
    if (seq != 1)
        door_fail("the first task is %llu", (unsigned long long)seq);
    want(lanepool_remote_submit_many(remote, tasks + first, count - first, LANEPOOL_FOREVER, &seq),
         "submit");
    if (first < count && seq != first + 1)
        door_fail("the second batch begins with %llu", (unsigned long long)seq);
    want(lanepool_remote_seal(remote, LANEPOOL_FOREVER), "seal");
}

static void check_outcome(struct run *run, lanepool_remote *remote)
{
    uint64_t seq = 1 + run->seed % run->model.task_count;
    lanepool_remote_outcome outcome;
    want(lanepool_remote_await(remote, seq, LANEPOOL_FOREVER, &outcome), "await");
    if ((outcome.code != 0) != run->model.tasks[seq - 1].fails)
        door_fail("task %llu has the outcome %d", (unsigned long long)seq, (int)outcome.code);
}

static lanepool_remote *open_node(struct program *program)
{
    lanepool_remote *remote;
    want(lanepool_remote_open(store_functions(), program->connection, &program->options, &remote),
         "open");
    return remote;
}

static void *run_program(void *argument)
{
    struct program *program = argument;
    struct run *run = program->run;
    door_sleep(program->begin_ns);
    lanepool_remote *remote = open_node(program);
    if (program->submits)
        submit_all(run, remote);
    if (program->leaves) {
        want(lanepool_remote_leave(remote, LANEPOOL_FOREVER), "leave");
        lanepool_remote_close(remote);
        remote = open_node(program);
    }
    if (program->submits)
        check_outcome(run, remote);
    want(lanepool_remote_await_all(remote, LANEPOOL_FOREVER), "await_all");
    lanepool_remote_view view;
    want(lanepool_remote_status(remote, LANEPOOL_FOREVER, &view), "status");
    door_enter();
    run->counts.incarnations += view.counts.incarnations;
    run->counts.letters += view.counts.letters;
    run->counts.steps += view.counts.steps;
    run->counts.given_up += view.counts.given_up;
    door_leave();
    lanepool_remote_close(remote);
    return NULL;
}

/* --- a run --- */

static void draw_program(struct run *run, struct program *program, unsigned index)
{
    *program = (struct program){ .run = run, .submits = index == 0 };
    program->begin_ns = index == 0 ? 0 : random_below(&run->random, 30000);
    program->leaves = random_below(&run->random, 6) == 0;
    program->pool = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    program->pool.workers = run->has_threads ? 2 : 1;
    program->pool.step_seed = run->has_threads ? 0 : random_next(&run->random) | 1;
    program->options = (lanepool_remote_options)LANEPOOL_REMOTE_OPTIONS_INIT;
    program->options.kinds = model_kinds();
    program->options.kind_count = MODEL_KINDS;
    program->options.user = &run->model;
    program->options.pool = &program->pool;
    program->options.lease_ns = 40000000;
    program->options.step_tasks = 1 + random_below(&run->random, 12);
    program->options.window_tasks = 1 + random_below(&run->random, 12);
}

/* With threads, nodes begin anew only a few times: a simulation has not many threads. */
static struct store_faults draw_faults(uint64_t *random, bool has_threads)
{
    if (has_threads)
        return (struct store_faults){ .kills = random_below(random, 2),
                                      .deaths = random_below(random, 2),
                                      .stops = random_below(random, 4),
                                      .moves = random_below(random, 4) };
    return (struct store_faults){ .kills = random_below(random, 5),
                                  .deaths = random_below(random, 5),
                                  .stops = random_below(random, 4),
                                  .crashes = random_below(random, 4) / 2,
                                  .moves = random_below(random, 9) };
}

void run_batch(struct run *run)
{
    model_fail = fail_model;
    run->random = random_mix(run->seed);
    model_draw(&run->model, &run->random);
    uint32_t shard_count = 2 + random_below(&run->random, 3);
    struct store_faults faults = draw_faults(&run->random, run->has_threads);
    run->server =
        server_create(&run->model, shard_count, random_next(&run->random), faults, run->planted);
    run->program_count =
        1 + random_below(&run->random, run->has_threads ? 2 : (uint32_t)PROGRAMS_MAX);
    for (unsigned i = 0; i < run->program_count; i++) {
        struct program *program = &run->programs[i];
        draw_program(run, program, i);
        program->connection = connection_create(run->server);
        program->thread = door_start(run_program, program);
    }
    for (unsigned i = 0; i < run->program_count; i++)
        door_join(run->programs[i].thread);
    server_judge(run->server);
    for (unsigned i = 0; i < run->program_count; i++)
        connection_destroy(run->programs[i].connection);
    server_destroy(run->server);
}
