/*
 * Owns the run of a plan: the times of all tasks in a pool that does not exist.
 *
 * The run follows the pool (sched/worker.h, core/run.c, lane/visits.h), with all ready tasks in one
 * queue:
 *
 * 1. Tasks are routed in the order of their submits. A task is ready when each of its lanes has
 * been granted to it. With one order for all workers, all are routed at the start. Otherwise a
 * worker that finds nothing ready routes a batch, and one with little to do routes once a quantum.
 * 2. A task that becomes ready enters the queue at its end. Without the one order the worker that
 *    has made it ready takes it at once, in a chain of at most a quantum.
 * 3. A cut has *visitors*, which are queued like tasks. A visitor takes granted entries one by one.
 *
 * The plan of a snapshot has begun: all of its tasks are routed at the start. Those that run get
 * workers then, or run *apart* from them. A task may be endless. Then it has no job, keeps its
 * worker, and never releases its lanes.
 *
 * An *item* is what the queue has: the number of a task; or a visitor, whose number comes after all
 * tasks.
 */
#include "inspect/memory.h"
#include "inspect/plan_parts.h"

#define NONE LANEPOOL_I_PLAN_NONE

/* As in base/sizes.h, feature/cut.c and the defaults of the options. */
enum { ROUTE_BATCH = 64, ENOUGH_READY = 32, VISITS_AT_ONCE = 64, QUANTUM_TASKS = 64 };
#define QUANTUM_NS UINT64_C(1000000)

/* A first-in first-out list of numbers, linked through an array. */
struct number_list {
    size_t first;
    size_t last;
    size_t count;
};

struct run_lane {
    size_t next; /* the first entry that is not granted, or NONE */
    size_t open; /* granted entries that are not released */
    uint8_t mode;
};

struct run_task {
    size_t missing;            /* entries that are not granted; of a visited task: not visited */
    struct number_list listed; /* granted entries that no visitor has taken */
    size_t idle;               /* a list of its visitors that are not active, or NONE */
    size_t active;             /* its other visitors */
    bool begun;                /* a visit has begun */
    lanepool_plan_time time;
};

/* A worker's task or visit. */
struct job {
    uint64_t end_ns;
    uint64_t number; /* jobs that end together end in the order of their starts */
    size_t item;
    size_t entry;      /* of a visitor: the entry that it visits */
    unsigned visits;   /* of a visitor: since it was taken from the queue */
    unsigned chained;  /* tasks in the chain, with this one */
    uint64_t since_ns; /* when the chain began */
    size_t worker;
};

/* A worker's tasks since it last routed for others. */
struct run_worker {
    uint64_t since_ns;
    unsigned ran;
};

struct plan_run {
    const lanepool_i_plan_view *view;
    const lanepool_plan *plan;
    bool in_one_order;
    unsigned quantum_tasks;
    uint64_t quantum_ns;
    struct run_lane *lanes;
    struct run_task *tasks;
    size_t *next_item;    /* of each item: in the queue, or in a list of idle visitors */
    size_t *cut_of;       /* of each visitor: its task */
    size_t *next_listed;  /* of each entry */
    uint64_t *granted_ns; /* of each entry, or NULL */
    struct job *jobs;     /* a heap: the first one ends first */
    size_t job_count;
    size_t *idle; /* a stack of idle workers */
    size_t idle_count;
    struct run_worker *workers;
    struct number_list queue;
    size_t routed; /* tasks */
    uint64_t now_ns;
    uint64_t job_number;
};

/* --- lists --- */

static struct number_list no_numbers(void)
{
    return (struct number_list){ NONE, NONE, 0 };
}

static void list_add(struct number_list *list, size_t *next, size_t number)
{
    next[number] = NONE;
    if (list->first == NONE)
        list->first = number;
    else
        next[list->last] = number;
    list->last = number;
    list->count++;
}

static size_t list_take(struct number_list *list, const size_t *next)
{
    size_t number = list->first;
    if (number == NONE)
        return NONE;
    list->first = next[number];
    list->count--;
    return number;
}

static void queue_all(struct plan_run *run, struct number_list *items)
{
    size_t item;
    while ((item = list_take(items, run->next_item)) != NONE)
        list_add(&run->queue, run->next_item, item);
}

/* --- jobs --- */

static bool ends_before(const struct job *a, const struct job *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number < b->number;
}

static void add_job(struct plan_run *run, struct job job, uint64_t duration_ns)
{
    if (duration_ns == LANEPOOL_I_PLAN_ENDLESS)
        return;
    job.end_ns = run->now_ns + duration_ns;
    job.number = run->job_number++;
    size_t at = run->job_count++;
    while (at > 0 && ends_before(&job, &run->jobs[(at - 1) / 2])) {
        run->jobs[at] = run->jobs[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    run->jobs[at] = job;
}

static struct job take_first_job(struct plan_run *run)
{
    struct job first = run->jobs[0];
    struct job last = run->jobs[--run->job_count];
    size_t at = 0;
    for (size_t below = 1; below < run->job_count; below = 2 * at + 1) {
        if (below + 1 < run->job_count && ends_before(&run->jobs[below + 1], &run->jobs[below]))
            below++;
        if (!ends_before(&run->jobs[below], &last))
            break;
        run->jobs[at] = run->jobs[below];
        at = below;
    }
    run->jobs[at] = last;
    return first;
}

/* --- lanes --- */

static void activate_visitor(struct plan_run *run, struct run_task *cut, struct number_list *ready)
{
    size_t visitor = cut->idle;
    if (visitor == NONE)
        return;
    cut->idle = run->next_item[visitor];
    cut->active++;
    list_add(ready, run->next_item, visitor);
}

/* Before its first visit, a cut has one active visitor. */
static void list_entry(struct plan_run *run, size_t task, size_t entry, struct number_list *ready)
{
    struct run_task *cut = &run->tasks[task];
    list_add(&cut->listed, run->next_listed, entry);
    if (cut->begun || cut->active == 0)
        activate_visitor(run, cut, ready);
}

static void grant_planned_entry(struct plan_run *run, size_t entry, struct number_list *ready)
{
    const lanepool_i_plan_entry *planned = &run->plan->entries[entry];
    struct run_lane *lane = &run->lanes[planned->lane];
    struct run_task *task = &run->tasks[planned->task];
    lane->next = planned->next_of_lane;
    lane->open++;
    lane->mode = (uint8_t)lanepool_i_plan_mode_of(run->view, entry);
    if (run->granted_ns != NULL)
        run->granted_ns[entry] = run->now_ns;
    if (task->time.granted_ns == UINT64_MAX)
        task->time.granted_ns = run->now_ns;
    if (lanepool_i_plan_form_of(run->view, planned->task) != LANEPOOL_PLAN_PLAIN)
        list_entry(run, planned->task, entry, ready);
    else if (--task->missing == 0)
        list_add(ready, run->next_item, planned->task);
}

/* Entries are granted in their order: the first one, and all behind it that overlap with it. */
static void advance_lane(struct plan_run *run, struct run_lane *lane, struct number_list *ready)
{
    while (lane->next != NONE && run->plan->entries[lane->next].task < run->routed &&
           (lane->open == 0 ||
            lanepool_modes_overlap(lanepool_i_plan_mode_of(run->view, lane->next), lane->mode)))
        grant_planned_entry(run, lane->next, ready);
}

static void release_lane(struct plan_run *run, size_t entry, struct number_list *ready)
{
    struct run_lane *lane = &run->lanes[run->plan->entries[entry].lane];
    lane->open--;
    advance_lane(run, lane, ready);
}

/* --- routing --- */

static void route_task(struct plan_run *run)
{
    const lanepool_i_planned *planned = &run->plan->tasks[run->routed++];
    for (size_t i = 0; i < planned->entry_count; i++)
        advance_lane(run, &run->lanes[run->plan->entries[planned->first_entry + i].lane],
                     &run->queue);
    if (planned->entry_count == 0)
        list_add(&run->queue, run->next_item, run->routed - 1);
}

/* Routes a batch, and more if nothing is ready then. Returns true if something is. */
static bool route_batch(struct plan_run *run)
{
    for (size_t i = 0;
         run->routed < run->plan->task_count && (i < ROUTE_BATCH || run->queue.count == 0); i++)
        route_task(run);
    return run->queue.count > 0;
}

/* A worker routes once a quantum unless it has enough ready tasks. */
static void route_by_quantum(struct plan_run *run, struct run_worker *worker, size_t worker_count)
{
    worker->ran++;
    if (run->in_one_order ||
        (worker->ran < run->quantum_tasks && run->now_ns - worker->since_ns <= run->quantum_ns))
        return;
    worker->ran = 0;
    worker->since_ns = run->now_ns;
    if (run->queue.count / worker_count < ENOUGH_READY)
        (void)route_batch(run);
}

/* --- what workers do --- */

static void retire_visitor(struct plan_run *run, size_t visitor, struct number_list *ready)
{
    size_t task = run->cut_of[visitor - run->plan->task_count];
    struct run_task *cut = &run->tasks[task];
    run->next_item[visitor] = cut->idle;
    cut->idle = visitor;
    cut->active--;
    if (cut->missing == 0 && cut->active == 0)
        list_add(ready, run->next_item, task);
}

/* Returns false if no entry is listed. The first visit of a cut makes all listed entries get
 * visitors. */
static bool visit_next(struct plan_run *run, struct job job)
{
    size_t task = run->cut_of[job.item - run->plan->task_count];
    struct run_task *cut = &run->tasks[task];
    job.entry = list_take(&cut->listed, run->next_listed);
    if (job.entry == NONE)
        return false;
    job.visits++;
    bool begins = !cut->begun;
    cut->begun = true;
    for (size_t i = 0; begins && i < cut->listed.count; i++)
        activate_visitor(run, cut, &run->queue);
    add_job(run, job, lanepool_i_plan_visit_of(run->view, task));
    return true;
}

/* Starts an item. Returns false if it was a visitor without a listed entry. */
static bool start_item(struct plan_run *run, struct job job)
{
    if (job.item < run->plan->task_count) {
        run->tasks[job.item].time.start_ns = run->now_ns;
        add_job(run, job, lanepool_i_plan_duration_of(run->view, job.item));
        return true;
    }
    if (visit_next(run, job))
        return true;
    retire_visitor(run, job.item, &run->queue);
    return false;
}

/* Lets idle workers take what is ready. */
static void start_ready(struct plan_run *run)
{
    while (run->idle_count > 0 && (run->queue.count > 0 || route_batch(run))) {
        struct job job = { .item = list_take(&run->queue, run->next_item),
                           .chained = 1,
                           .since_ns = run->now_ns,
                           .worker = run->idle[run->idle_count - 1] };
        if (start_item(run, job))
            run->idle_count--;
    }
}

static void end_planned_task(struct plan_run *run, size_t task, struct number_list *ready)
{
    const lanepool_i_planned *planned = &run->plan->tasks[task];
    run->tasks[task].time.end_ns = run->now_ns;
    if (lanepool_i_plan_form_of(run->view, task) == LANEPOOL_PLAN_CUT)
        return;
    for (size_t i = 0; i < planned->entry_count; i++)
        release_lane(run, planned->first_entry + i, ready);
}

/* Returns true if the visitor makes another visit. Tasks that the lane makes ready enter the queue.
 * The cut's function enters `ready`. */
static bool end_planned_visit(struct plan_run *run, struct job job, struct number_list *ready)
{
    size_t task = run->cut_of[job.item - run->plan->task_count];
    run->tasks[task].missing--;
    if (lanepool_i_plan_form_of(run->view, task) == LANEPOOL_PLAN_CUT)
        release_lane(run, job.entry, &run->queue);
    if (job.visits >= VISITS_AT_ONCE) {
        list_add(&run->queue, run->next_item, job.item);
        return false;
    }
    if (visit_next(run, job))
        return true;
    retire_visitor(run, job.item, ready);
    return false;
}

/* Starts the first item of `ready` on the worker of the job. Returns true if it has started. */
static bool continue_chain(struct plan_run *run, struct job job, struct number_list *ready)
{
    if (run->in_one_order || ready->count == 0 || job.chained >= run->quantum_tasks ||
        run->now_ns - job.since_ns > run->quantum_ns)
        return false;
    job.item = list_take(ready, run->next_item);
    job.chained++;
    job.visits = 0;
    return start_item(run, job);
}

/* A job without a worker is the rest of a task that runs apart, or the time until one returns. */
static void end_job_apart(struct plan_run *run, struct job job)
{
    if (run->tasks[job.item].time.start_ns == UINT64_MAX)
        list_add(&run->queue, run->next_item, job.item);
    else
        end_planned_task(run, job.item, &run->queue);
    start_ready(run);
}

static void end_first_job(struct plan_run *run, size_t worker_count)
{
    struct job job = take_first_job(run);
    struct number_list ready = no_numbers();
    run->now_ns = job.end_ns;
    if (job.worker == NONE) {
        end_job_apart(run, job);
        return;
    }
    bool goes_on = false;
    if (job.item < run->plan->task_count)
        end_planned_task(run, job.item, &ready);
    else
        goes_on = end_planned_visit(run, job, &ready);
    route_by_quantum(run, &run->workers[job.worker], worker_count);
    goes_on = goes_on || continue_chain(run, job, &ready);
    queue_all(run, &ready);
    if (!goes_on)
        run->idle[run->idle_count++] = job.worker;
    start_ready(run);
}

/* --- the run --- */

/* A cut has at most as many visitors as workers, and as entries. Returns how many all cuts have. */
static size_t count_visitors(const lanepool_i_plan_view *view, size_t worker_count)
{
    size_t count = 0;
    for (size_t task = 0; task < view->plan->task_count; task++) {
        size_t entries = view->plan->tasks[task].entry_count;
        if (lanepool_i_plan_form_of(view, task) != LANEPOOL_PLAN_PLAIN)
            count += entries < worker_count ? entries : worker_count;
    }
    return count;
}

static void init_task(struct plan_run *run, size_t task, size_t *visitor, size_t worker_count)
{
    size_t entries = run->plan->tasks[task].entry_count;
    size_t visitors = entries < worker_count ? entries : worker_count;
    run->tasks[task] = (struct run_task){ .missing = entries,
                                          .listed = no_numbers(),
                                          .idle = NONE,
                                          .time = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
    if (lanepool_i_plan_form_of(run->view, task) == LANEPOOL_PLAN_PLAIN)
        return;
    for (size_t i = 0; i < visitors; i++) {
        run->cut_of[*visitor] = task;
        run->next_item[run->plan->task_count + *visitor] = run->tasks[task].idle;
        run->tasks[task].idle = run->plan->task_count + (*visitor)++;
    }
}

static bool init_run(struct plan_run *run, size_t worker_count)
{
    const lanepool_plan *plan = run->plan;
    size_t visitors = count_visitors(run->view, worker_count);
    run->lanes = lanepool_i_inspect_alloc((plan->keys.count + 1) * sizeof *run->lanes);
    run->tasks = lanepool_i_inspect_alloc((plan->task_count + 1) * sizeof *run->tasks);
    run->next_item =
        lanepool_i_inspect_alloc((plan->task_count + visitors + 1) * sizeof *run->next_item);
    run->cut_of = lanepool_i_inspect_alloc((visitors + 1) * sizeof *run->cut_of);
    run->next_listed = lanepool_i_inspect_alloc((plan->entry_count + 1) * sizeof *run->next_listed);
    size_t apart = plan->has_begun ? plan->task_count : 0;
    run->jobs = lanepool_i_inspect_alloc((worker_count + apart) * sizeof *run->jobs);
    run->idle = lanepool_i_inspect_alloc(worker_count * sizeof *run->idle);
    run->workers = lanepool_i_inspect_alloc_zeroed(worker_count * sizeof *run->workers);
    if (run->lanes == NULL || run->tasks == NULL || run->next_item == NULL || run->cut_of == NULL ||
        run->next_listed == NULL || run->jobs == NULL || run->idle == NULL || run->workers == NULL)
        return false;
    for (size_t i = 0; i < plan->keys.count; i++)
        run->lanes[i] = (struct run_lane){ .next = plan->lanes[i].first };
    size_t visitor = 0;
    for (size_t task = 0; task < plan->task_count; task++)
        init_task(run, task, &visitor, worker_count);
    for (size_t worker = worker_count; worker-- > 0;)
        run->idle[run->idle_count++] = worker;
    run->queue = no_numbers();
    return true;
}

static void fini_run(struct plan_run *run)
{
    lanepool_i_inspect_free(run->lanes);
    lanepool_i_inspect_free(run->tasks);
    lanepool_i_inspect_free(run->next_item);
    lanepool_i_inspect_free(run->cut_of);
    lanepool_i_inspect_free(run->next_listed);
    lanepool_i_inspect_free(run->jobs);
    lanepool_i_inspect_free(run->idle);
    lanepool_i_inspect_free(run->workers);
}

static uint64_t idle_time(uint64_t makespan_ns, uint64_t work_ns, unsigned workers)
{
    return makespan_ns > UINT64_MAX / workers ? UINT64_MAX : makespan_ns * workers - work_ns;
}

/* Starts what has begun already; the rest stays in the queue. */
static void begin_item(struct plan_run *run, size_t item)
{
    struct job job = { .item = item, .chained = 1, .worker = NONE };
    bool is_task = item < run->plan->task_count;
    const lanepool_i_planned *planned = is_task ? &run->plan->tasks[item] : NULL;
    if (!is_task || planned->begin == LANEPOOL_I_PLAN_WAITS) {
        list_add(&run->queue, run->next_item, item);
    } else if (planned->begin == LANEPOOL_I_PLAN_RETURNS) {
        add_job(run, job, planned->returns_ns);
    } else {
        if (planned->begin == LANEPOOL_I_PLAN_RUNS)
            job.worker = run->idle[--run->idle_count];
        (void)start_item(run, job);
    }
}

static void begin_all(struct plan_run *run)
{
    struct number_list granted = run->queue;
    size_t item;
    run->queue = no_numbers();
    while ((item = list_take(&granted, run->next_item)) != NONE)
        begin_item(run, item);
}

static void make_run(struct plan_run *run, size_t worker_count)
{
    bool routes_all = run->in_one_order || run->plan->has_begun;
    while (routes_all && run->routed < run->plan->task_count)
        route_task(run);
    if (run->plan->has_begun)
        begin_all(run);
    start_ready(run);
    while (run->job_count > 0)
        end_first_job(run, worker_count);
}

static void copy_times(const struct plan_run *run, lanepool_plan_time *times)
{
    for (size_t task = 0; task < run->plan->task_count; task++) {
        times[task] = run->tasks[task].time;
        if (times[task].granted_ns == UINT64_MAX)
            times[task].granted_ns = times[task].start_ns;
    }
}

lanepool_status lanepool_i_plan_simulate(const lanepool_i_plan_view *view,
                                         const lanepool_plan_pool *pool,
                                         lanepool_plan_result *result, lanepool_plan_time *times,
                                         uint64_t *granted_ns)
{
    struct plan_run run = { .view = view,
                            .plan = view->plan,
                            .in_one_order = pool->in_one_order,
                            .quantum_tasks =
                                pool->quantum_tasks == 0 ? QUANTUM_TASKS : pool->quantum_tasks,
                            .quantum_ns = pool->quantum_ns == 0 ? QUANTUM_NS : pool->quantum_ns,
                            .granted_ns = granted_ns };
    bool has_memory = init_run(&run, pool->workers);
    if (has_memory) {
        make_run(&run, pool->workers);
        result->makespan_ns = run.now_ns;
        result->idle_ns = idle_time(run.now_ns, view->plan->work_ns, pool->workers);
        if (times != NULL)
            copy_times(&run, times);
    }
    fini_run(&run);
    return has_memory ? LANEPOOL_OK : LANEPOOL_NOMEM;
}
