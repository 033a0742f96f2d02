/* Cuts in pools with priorities: each visit is chosen like a task, at the level of its lane. */
#include <stdlib.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { STEPS = 16, LANES = 8 };

/* A pool whose only worker waits at the gate. Lanes are named by the letters a to h. The journal
 * has a visit as its lane's letter, the function of a cut as '!', and a step as its name. */
struct scene {
    lanepool_pool *pool;
    struct gate gate;
    struct journal journal;
    struct step blocker;
    struct step steps[STEPS];
    uint32_t count;
    _Atomic(const char *) fails; /* lanes whose next visit fails */
};

struct cut {
    struct scene *scene;
    const char *lanes;
    _Atomic(struct step *) submits; /* the first visit submits this step, or NULL */
    uint32_t priority;              /* of that step */
    lanepool_claim claims[LANES];
};

static struct scene *scene_make_with(const lanepool_options *options)
{
    struct scene *scene = calloc(1, sizeof *scene);

    expect(scene != NULL);
    gate_init(&scene->gate);
    scene->pool = pool_make_with(options);
    scene->blocker.gate = &scene->gate;
    scene->fails = "";
    expect_ok(step_submit(scene->pool, &scene->blocker));
    expect(gate_await(&scene->gate, 1));
    return scene;
}

static lanepool_options with_priorities(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.priorities = true;
    options.priority_age_ns = LANEPOOL_FOREVER;
    return options;
}

static struct scene *scene_make(void)
{
    lanepool_options options = with_priorities();

    return scene_make_with(&options);
}

static void scene_end(struct scene *scene, const char *order)
{
    char found[64] = "";

    gate_open(&scene->gate, 1);
    pool_end(scene->pool);
    expect(scene->journal.count < sizeof found);
    for (uint32_t i = 0; i < scene->journal.count; i++)
        found[i] = (char)scene->journal.ids[i];
    for (uint32_t i = 0; i < scene->count; i++)
        expect_status(scene->steps[i].why, LANEPOOL_OK);
    if (strcmp(found, order) != 0)
        test_fail(__FILE__, __LINE__, "the order is %s, not %s", found, order);
    gate_fini(&scene->gate);
    free(scene);
}

static void note(struct scene *scene, char letter)
{
    uint32_t at = atomic_fetch_add(&scene->journal.count, 1);

    expect(at < JOURNAL_MAX);
    scene->journal.ids[at] = (uint32_t)letter;
}

static int at_lane(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;
    struct step *step = atomic_exchange(&cut->submits, NULL); /* visits are not ordered */

    note(cut->scene, cut->lanes[index]);
    if (step != NULL) {
        lanepool_task task = step_task(step, NULL, 0);
        task.priority = cut->priority;
        step->why = lanepool_pool_submit(lanepool_run_pool(run), &task);
    }
    if (strchr(cut->scene->fails, cut->lanes[index]) == NULL)
        return 0;
    cut->scene->fails = "";
    return 1;
}

static int at_end(lanepool_run *run, void *context)
{
    struct cut *cut = context;

    (void)run;
    note(cut->scene, '!');
    return 0;
}

static size_t claims_of(const char *lanes, lanepool_claim *claims)
{
    size_t count = strlen(lanes);

    expect(count <= LANES);
    for (size_t i = 0; i < count; i++)
        claims[i] = lanepool_exclusive((uint64_t)lanes[i]);
    return count;
}

static lanepool_task cut_task(struct scene *scene, struct cut *cut, uint32_t priority,
                              const char *lanes)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    *cut = (struct cut){ .scene = scene, .lanes = lanes };
    task.function = at_end;
    task.at_lane = at_lane;
    task.context = cut;
    task.claim_count = claims_of(lanes, cut->claims);
    task.claims = cut->claims;
    task.priority = priority;
    return task;
}

static void add_cut(struct scene *scene, struct cut *cut, uint32_t priority, const char *lanes)
{
    lanepool_task task = cut_task(scene, cut, priority, lanes);

    expect_ok(lanepool_pool_submit(scene->pool, &task));
}

static struct step *next_step(struct scene *scene, char name)
{
    struct step *step = &scene->steps[scene->count++];

    expect(scene->count <= STEPS);
    *step = (struct step){ .id = (uint32_t)name, .journal = &scene->journal };
    return step;
}

/* Adds a cut of level 2 whose first visit submits the step. */
static void add_submitting_cut(struct scene *scene, struct cut *cut, struct step *submits,
                               uint32_t priority)
{
    lanepool_task task = cut_task(scene, cut, 2, "abc");

    cut->submits = submits;
    cut->priority = priority;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
}

static void add(struct scene *scene, char name, uint32_t priority, const char *lanes)
{
    lanepool_claim claims[LANES];
    size_t count = claims_of(lanes, claims);
    lanepool_task task = step_task(next_step(scene, name), claims, count);

    task.priority = priority;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
}

/* --- what shows the level of a visit --- */

static void append(void *context, const char *text, size_t size)
{
    (void)strncat(context, text, size);
}

Test(cut_priorities, a_snapshot_shows_the_level_of_a_lane)
{
    struct scene *scene = scene_make();
    struct cut cut;
    lanepool_snapshot *snapshot;
    char reasons[512] = "";

    add_cut(scene, &cut, 1, "abc");
    add(scene, 'U', 5, "b");
    expect_ok(lanepool_snapshot_take(scene->pool, &snapshot));
    expect_eq(snapshot->task_count, 3);
    const lanepool_snapshot_task *shown = &snapshot->tasks[1];
    expect_eq(shown->level, 1);
    expect_eq(shown->entry_count, 3);
    for (size_t i = 0; i < 3; i++)
        expect_eq(snapshot->entries[shown->first_entry + i].level, i == 1 ? 5 : 1);
    expect_eq(snapshot->entries[snapshot->tasks[2].first_entry].level, 5);
    expect_ok(
        lanepool_snapshot_write_reasons(snapshot, snapshot->tasks[2].ticket, append, reasons));
    expect(strstr(reasons, ", priority 1, lent 5 in this lane\n") != NULL);
    lanepool_snapshot_release(snapshot);
    scene_end(scene, "bUac!");
}

/* --- the order of visits --- */

Test(cut_priorities, a_task_behind_a_cut_makes_its_own_lane_urgent_and_no_other)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add_cut(scene, &cut, 0, "abcdef");
    add(scene, 'M', 3, "");
    add(scene, 'U', 5, "e");
    scene_end(scene, "eUMabcdf!");
}

Test(cut_priorities, urgent_lanes_are_visited_by_their_levels)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add_cut(scene, &cut, 1, "abcdef");
    add(scene, 'S', 2, "c");
    add(scene, 'T', 4, "f");
    add(scene, 'U', 6, "b");
    add(scene, 'V', 4, "d");
    scene_end(scene, "bUfdTVcSae!");
}

Test(cut_priorities, of_a_cut_count_for_its_visits_and_for_the_tasks_before_it)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add(scene, 'M', 3, "");
    add(scene, 'A', 0, "b");
    add_cut(scene, &cut, 4, "ab");
    add(scene, 'Z', 0, "a");
    scene_end(scene, "Aab!MZ");
}

/* The task before the cut in that lane runs early; those in the other lanes do not. */
Test(cut_priorities, are_passed_on_through_a_cut_in_one_lane)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add(scene, 'A', 0, "a");
    add(scene, 'B', 0, "b");
    add_cut(scene, &cut, 0, "ab");
    add(scene, 'M', 3, "");
    add(scene, 'U', 5, "b");
    scene_end(scene, "BbUMAa!");
}

Test(cut_priorities, a_worker_chooses_anew_after_each_visit)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add_submitting_cut(scene, &cut, next_step(scene, 'U'), 3);
    scene_end(scene, "aUbc!");
}

Test(cut_priorities, of_the_same_level_do_not_interrupt_the_visits)
{
    struct scene *scene = scene_make();
    struct cut cut;

    add_submitting_cut(scene, &cut, next_step(scene, 'U'), 2);
    scene_end(scene, "abc!U");
}

Test(cut_priorities, cuts_that_cross_are_each_urgent_in_one_lane)
{
    struct scene *scene = scene_make();
    struct cut first, second;

    add_cut(scene, &first, 0, "ab");
    add_cut(scene, &second, 0, "bc");
    add(scene, 'M', 3, "");
    add(scene, 'U', 5, "b");
    scene_end(scene, "bbUMac!!");
}

/* --- failures, and rollups --- */

/* The lane of a failed visit goes on only after the other visits, and a retry. */
Test(cut_priorities, a_failed_visit_makes_all_visits_urgent)
{
    static const lanepool_failure_policy once_more = { .struct_size = sizeof once_more,
                                                       .retries = 1 };
    struct scene *scene = scene_make();
    struct cut cut;
    lanepool_task task = cut_task(scene, &cut, 0, "abc");

    scene->fails = "b";
    task.on_failure = &once_more;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    add(scene, 'M', 3, "");
    add(scene, 'U', 5, "b");
    scene_end(scene, "bacbU!M");
}

Test(cut_priorities, a_progressive_rollup_is_urgent_as_a_whole)
{
    struct scene *scene = scene_make();
    struct cut cut;
    lanepool_task task = cut_task(scene, &cut, 0, "abc");

    task.at_lane = NULL;
    task.at_grant = at_lane;
    add(scene, 'A', 0, "c");
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    add(scene, 'M', 3, "");
    add(scene, 'U', 5, "a");
    scene_end(scene, "Aabc!UM");
}

/* --- ends --- */

Test(cut_priorities, a_cancelled_cut_holds_nothing_up)
{
    struct scene *scene = scene_make();
    struct cut cut;
    lanepool_task task = cut_task(scene, &cut, 0, "ab");
    lanepool_future *future;

    task.future = &future;
    add(scene, 'M', 3, "");
    add(scene, 'A', 0, "a");
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    add(scene, 'U', 5, "a");
    add(scene, 'V', 1, "b");
    expect_ok(lanepool_future_cancel(future));
    lanepool_future_release(future);
    scene_end(scene, "AUMV");
}

static void hand_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)ticket;
    *(uint32_t *)context += task->priority;
}

Test(cut_priorities, are_handed_back_with_a_cut_that_has_not_begun)
{
    struct scene *scene = scene_make();
    struct cut cut;
    uint32_t sum = 0;

    add_cut(scene, &cut, 3, "ab");
    expect_ok(lanepool_pool_shutdown_now(scene->pool, hand_back, &sum));
    scene_end(scene, "");
    expect_eq(sum, 3);
}

/* --- repeated cuts --- */

static int at_end_of_run(lanepool_run *run, void *context)
{
    struct cut *cut = context;

    (void)run;
    note(cut->scene, '!');
    gate_pass(&cut->scene->gate);
    return 0;
}

/* The rank of each run is new. */
Test(cut_priorities, count_for_each_run_of_a_repeated_cut)
{
    struct scene *scene = scene_make();
    struct cut cut;
    lanepool_timer *timer;
    lanepool_task task = cut_task(scene, &cut, 4, "ab");

    task.function = at_end_of_run;
    expect_ok(lanepool_pool_submit_every(scene->pool, &task, 0, 1, LANEPOOL_FIXED_DELAY, &timer));
    gate_open(&scene->gate, 2);
    expect(gate_await(&scene->gate, 2));
    add(scene, 'A', 0, "b");
    add(scene, 'U', 5, "b");
    expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
    lanepool_timer_release(timer);
    scene_end(scene, "ab!ab!AU");
}
