/*
 * Owns the longest chain of tasks that wait for one another.
 *
 * The entries of a lane form groups: a group's modes overlap, and each waits for the whole group
 * before it. So the earliest start of a group is the latest end of all groups before it, and one
 * pass over the entries is enough.
 *
 * The chain consists of *steps*: the functions of tasks, and the visits of cuts. A step's number is
 * that of its task, or the count of tasks plus the number of its entry.
 */
#include "inspect/plan_parts.h"

#include "inspect/memory.h"

#define NONE LANEPOOL_I_PLAN_NONE

/* A moment, and the step that ends then; NONE: the start of the run. */
struct moment {
    uint64_t ns;
    size_t step;
};

struct path_lane {
    struct moment begin; /* of the last group: the end of all groups before it */
    struct moment end;   /* the latest end of all entries */
    uint8_t mode;        /* of the last group */
    bool any;            /* the lane has an entry */
};

struct path_search {
    const lanepool_i_plan_view *view;
    struct path_lane *lanes;
    size_t *before; /* for each step the one that it waits for the longest, or NONE */
};

static void make_latest(struct moment *latest, struct moment other)
{
    if (other.ns > latest->ns)
        *latest = other;
}

/* Returns the earliest moment at which the entry is granted. */
static struct moment enter_lane(struct path_search *search, size_t entry)
{
    struct path_lane *lane = &search->lanes[search->view->plan->entries[entry].lane];
    lanepool_mode mode = lanepool_i_plan_mode_of(search->view, entry);
    if (lane->any && !lanepool_modes_overlap(mode, lane->mode))
        lane->begin = lane->end;
    lane->any = true;
    lane->mode = (uint8_t)mode;
    return lane->begin;
}

static void leave_lane(struct path_search *search, size_t entry, struct moment end)
{
    make_latest(&search->lanes[search->view->plan->entries[entry].lane].end, end);
}

/* Returns the end of the entry's visit. */
static struct moment plan_visit(struct path_search *search, size_t entry, struct moment granted)
{
    size_t task = search->view->plan->entries[entry].task;
    size_t step = search->view->plan->task_count + entry;
    search->before[step] = granted.step;
    return (struct moment){ granted.ns + lanepool_i_plan_visit_of(search->view, task), step };
}

/* Returns the earliest end of a task. */
static struct moment pass_task(struct path_search *search, size_t task)
{
    const lanepool_i_planned *planned = &search->view->plan->tasks[task];
    lanepool_plan_form form = lanepool_i_plan_form_of(search->view, task);
    size_t first = planned->first_entry;
    struct moment start = { 0, NONE };
    for (size_t entry = first; entry < first + planned->entry_count; entry++) {
        struct moment granted = enter_lane(search, entry);
        if (form != LANEPOOL_PLAN_PLAIN)
            granted = plan_visit(search, entry, granted);
        if (form == LANEPOOL_PLAN_CUT)
            leave_lane(search, entry, granted);
        make_latest(&start, granted);
    }
    search->before[task] = start.step;
    struct moment end = { start.ns + lanepool_i_plan_duration_of(search->view, task), task };
    for (size_t i = 0; i < planned->entry_count && form != LANEPOOL_PLAN_CUT; i++)
        leave_lane(search, first + i, end);
    return end;
}

/* Two steps of one task that follow each other are one task of the chain. */
static size_t task_of_step(const lanepool_plan *plan, size_t step)
{
    return step < plan->task_count ? step : plan->entries[step - plan->task_count].task;
}

static size_t count_path_tasks(const struct path_search *search, size_t last)
{
    const lanepool_plan *plan = search->view->plan;
    size_t count = 0;
    size_t counted = NONE;
    for (size_t step = last; step != NONE; step = search->before[step]) {
        count += task_of_step(plan, step) != counted;
        counted = task_of_step(plan, step);
    }
    return count;
}

static void write_path_tasks(const struct path_search *search, size_t last, size_t *tasks,
                             size_t capacity, size_t count)
{
    const lanepool_plan *plan = search->view->plan;
    size_t written = NONE;
    for (size_t step = last; step != NONE; step = search->before[step]) {
        size_t task = task_of_step(plan, step);
        if (task != written && --count < capacity)
            tasks[count] = task;
        written = task;
    }
}

lanepool_status lanepool_i_plan_find_path(const lanepool_i_plan_view *view, uint64_t *length_ns,
                                          size_t *tasks, size_t capacity, size_t *count)
{
    const lanepool_plan *plan = view->plan;
    size_t lanes_size = (plan->keys.count + 1) * sizeof(struct path_lane);
    size_t steps_size = (plan->task_count + plan->entry_count + 1) * sizeof(size_t);
    struct path_search search = { view, lanepool_i_inspect_alloc_zeroed(lanes_size),
                                  lanepool_i_inspect_alloc(steps_size) };
    struct moment last = { 0, NONE };
    *count = 0;
    bool has_memory = search.lanes != NULL && search.before != NULL;
    if (has_memory) {
        for (size_t i = 0; i < plan->keys.count; i++)
            search.lanes[i].begin.step = search.lanes[i].end.step = NONE;
        for (size_t task = 0; task < plan->task_count; task++)
            make_latest(&last, pass_task(&search, task));
        *length_ns = last.ns;
        *count = count_path_tasks(&search, last.step);
        write_path_tasks(&search, last.step, tasks, capacity, *count);
    }
    lanepool_i_inspect_free(search.lanes);
    lanepool_i_inspect_free(search.before);
    return has_memory ? LANEPOOL_OK : LANEPOOL_NOMEM;
}
