/* Owns what --store refuses, and the commits of a batch that processes of many machines have run.
 */
#include "run/machines.h"

#include <stdlib.h>

#include "base/stop.h"

static bool refuse(struct problem *problem, const char *what)
{
    return problem_set(problem, EXIT_CODE_INPUT,
                       "%s is not offered with --store: run this batch on one machine", what);
}

/* Returns the first option that a batch of many machines does not have; NULL if there is none. */
static const char *find_option(const struct run_options *options)
{
    const struct {
        bool is_given;
        const char *name;
    } refused[] = { { options->fail_on.count > 0, "--fail-on" },
                    { options->defers, "--on-failure defer" },
                    { options->has_on_quarantine, "--on-quarantine" },
                    { options->watch.trace != NULL, "--trace" },
                    { options->watch.is_live, "--live" } };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (refused[i].is_given) {
            return refused[i].name;
        }
    }
    return NULL;
}

bool machines_check(const struct run_options *options, const struct plan *plan,
                    struct problem *problem)
{
    const char *option = find_option(options);
    if (option) {
        return refuse(problem, option);
    }
    for (size_t i = 0; i < plan->rules.steps.count; i++) {
        if (plan->rules.steps.items[i].kind == MONTH_END_USER) {
            return refuse(problem, "a step of the user's (step=PATH)");
        }
    }
    return true;
}

bool machines_work(struct remote **remote, const struct run_options *options, struct plan *plan,
                   bool *publishes, struct problem *problem)
{
    const struct remote_options remote_options = { .store = options->store,
                                                   .must_exist = options->joins,
                                                   .workers = options->workers,
                                                   .task_wait_us = options->task_wait_us };
    return machines_check(options, plan, problem) &&
           remote_work(remote, plan, &remote_options, publishes, problem);
}

static bool report_stop(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_STOPPED,
                       "stopped by SIGTERM: what is published is committed; run the same command "
                       "again to go on");
}

static bool commit(struct submitter *submitter, struct problem *problem)
{
    struct committer *committer = submitter->committer;
    if (!committer_commit(committer)) {
        *problem = committer->problem;
        return false;
    }
    return !stop_is_asked() || report_stop(problem);
}

/* Takes a task into the next commit, unless it was committed before. */
static bool take(struct submitter *submitter, struct remote *remote, struct task *task,
                 struct lane_list *lanes, struct problem *problem)
{
    if (submit_is_done(submitter, task, lanes)) {
        return true;
    }
    if (!remote_read(remote, submitter->batch, task, problem)) {
        return false;
    }
    committer_take(submitter->committer, task);
    return submitter->committer->taken_count < submitter->commit_size || commit(submitter, problem);
}

static bool has_leftovers(const struct submitter *submitter)
{
    const struct leftovers *leftovers = submitter->leftovers;
    return leftovers->part_count + leftovers->late_count + leftovers->deferral_count > 0 ||
           submitter->batch->quarantine.is_used;
}

bool machines_commit(struct submitter *submitter, struct remote *remote, struct problem *problem)
{
    const struct plan *plan = submitter->batch->plan;
    struct lane_list lanes = { 0 };
    bool good = true;
    if (has_leftovers(submitter)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the database was begun without --store, and has work that is held or "
                           "left over; name another one with --db");
    }
    stop_begin();
    for (size_t i = 0; good && i < plan->task_count; i++) {
        good = take(submitter, remote, &plan->tasks[i], &lanes, problem);
        progress_draw(submitter->progress, "publishing", i + 1);
    }
    if (submitter->committer->taken_count > 0 && (good || problem->code == EXIT_CODE_HELD)) {
        struct problem other;
        bool committed = commit(submitter, good ? problem : &other);
        good = good && committed;
    }
    stop_end();
    free(lanes.items);
    return good;
}

bool machines_end(struct remote *remote, struct store *store, struct problem *problem)
{
    char head[SHA256_TEXT_SIZE];
    return !remote || (store_read_head(store, head, problem) && remote_end(remote, head, problem));
}
