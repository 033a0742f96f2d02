/*
 * Owns the checks of a rule's answers. Whenever the rule was asked about a new task and an old one,
 * the role's holder asks again, so that a rule which changes its answer is found:
 *
 * - once more about these two;
 * - about the old one and each task that waits for it, since the rule has said that they conflict.
 *
 * The rule may answer differently for (a, b) and (b, a): two tasks conflict if either answer says
 * so.
 */
#include "core/run.h"
#include "lanepool/check.h"
#include "route/conflict.h"
#include "route/rule_scope.h"

typedef struct rule_check {
    lanepool_pool *pool;
    const lanepool_i_task *old;
    const lanepool_i_task *new_one;
} rule_check;

static bool pool_checks(const lanepool_pool *pool, uint64_t bit)
{
    return (pool->options.checks & bit) != 0;
}

static LANEPOOL_I_COLD void report_rule(const rule_check *check, lanepool_check_kind kind,
                                        const lanepool_i_task *task)
{
    const lanepool_options *options = &check->pool->options;
    lanepool_failed_check failed = { .pool = check->pool, .kind = kind };
    failed.function = task->function;
    failed.context = task->context;
    failed.ticket = lanepool_i_task_ticket(task);
    failed.other_ticket = lanepool_i_task_ticket(check->old);
    if (options->on_check != NULL)
        options->on_check(options->user, &failed);
    else
        lanepool_i_report_misuse("is_compatible", kind == LANEPOOL_CHECK_RULE_CHANGED
                                                      ? "the rule has changed its answer"
                                                      : "the rule lets conflicting claims overlap");
}

/* Excludes tasks of waits for claims, which the program does not know, and tombstones, whose
 * context the program may have freed. */
static bool may_be_asked_about(const lanepool_i_task *task)
{
    return !lanepool_i_task_is_tombstone(task) && task->function != lanepool_i_run_nothing;
}

static void check_dependent(lanepool_i_task *dependent, void *context)
{
    const rule_check *check = context;
    if (dependent != check->new_one && may_be_asked_about(dependent) &&
        lanepool_i_rule_permits(check->pool, dependent, check->old))
        report_rule(check, LANEPOOL_CHECK_RULE_CHANGED, dependent);
}

static void check_answer(lanepool_pool *pool, lanepool_i_thread_record *record,
                         const lanepool_i_task *new_one, const lanepool_i_task *old,
                         bool compatible)
{
    rule_check check = { pool, old, new_one };
    record->callbacks++;
    if (pool_checks(pool, LANEPOOL_CHECK_RULE)) {
        if (lanepool_i_rule_permits(pool, new_one, old) != compatible)
            report_rule(&check, LANEPOOL_CHECK_RULE_CHANGED, new_one);
        if (pool->options.layout == LANEPOOL_PER_KEY)
            pool->rule->each_dependent(pool, (lanepool_i_task *)old,
                                       lanepool_i_task_ticket(new_one), check_dependent, &check);
    }
    /* A rule with claims as its scope is asked only about claims that conflict. */
    if (compatible && pool_checks(pool, LANEPOOL_CHECK_RULE_CLAIMS) &&
        lanepool_i_scope_has_claims(new_one) && lanepool_i_scope_has_claims(old))
        report_rule(&check, LANEPOOL_CHECK_RULE_AGAINST_CLAIMS, new_one);
    record->callbacks--;
}

static bool wants_rule_checks(const lanepool_options *options)
{
    return options->is_compatible != NULL &&
           (options->checks & (LANEPOOL_CHECK_RULE | LANEPOOL_CHECK_RULE_CLAIMS)) != 0;
}

const lanepool_i_feature lanepool_i_feature_rule_answers = {
    .is_wanted = wants_rule_checks,
    .offer = LANEPOOL_I_RULE_CHECKS,
    .asked = check_answer,
};
