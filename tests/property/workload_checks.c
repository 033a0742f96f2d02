/*
 * Assertions of claims (on_check): a body asserts each claim that its task has, and some that it
 * does not have. Only the latter fail, each once.
 */
#include "feature/cut/workload.h"
#include "feature/delay/workload.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"

static bool has_checks(const struct workload *workload)
{
    return (workload->params.options & WORKLOAD_ON_CHECK) != 0;
}

/* Another visit of the same cut may just be recording the ticket. */
static void note_failed_check(void *user, const lanepool_failed_check *failed)
{
    struct run *run = user;
    struct task_context *context = workload_current_run(failed->context);

    run_expect(context,
               failed->pool == run->pool && failed->run != NULL && context->run == run &&
                   (workload_is_cut(run->workload, context->task) ||
                    failed->ticket == record_of(context)->ticket),
               "a failed check is reported for another task");
    atomic_fetch_add(&context->failed_checks, 1);
}

static void fill_options(struct run *run, lanepool_options *options)
{
    options->on_check = has_checks(run->workload) ? note_failed_check : NULL;
}

/* Asserts a claim, which must fail if the task does not have it. By key, even if the task has
 * claimed a handle: the body may run after the handle was released. */
static void check_claim(struct task_context *self, const lanepool_run *call,
                        struct workload_claim claim, bool is_had)
{
    struct run *run = self->run;
    lanepool_claim asserted = lanepool_claim_of(lanepool_key_id(claim.key), claim.mode);
    unsigned before = atomic_load(&self->failed_checks);

    run_expect(self, lanepool_run_claims(call, asserted) == is_had,
               "a task has other claims than it was submitted with");
    lanepool_assert_claimed(run->pool, asserted);
    run_expect(self, atomic_load(&self->failed_checks) == before + !is_had,
               is_had ? "a claim that the task has fails its check"
                      : "a claim that the task does not have passes its check");
}

/* A barrier claims all keys. */
static bool claims_key(const struct workload_task *what, uint32_t key)
{
    bool claims = what->is_barrier;

    for (uint32_t i = 0; i < what->merged_count; i++) {
        claims |= what->merged[i].key == key;
    }
    return claims;
}

/* Visits run in parallel, so only the function counts the checks that have failed. */
void workload_check_visit_claims(struct task_context *self, const lanepool_run *call, uint32_t lane)
{
    struct run *run = self->run;
    const struct workload_claim *own = &what_of(self)->merged[lane];
    lanepool_key key = lanepool_key_id(own->key);
    lanepool_key foreign = lanepool_key_id(own->key + 1);

    run_expect(self, lanepool_run_holds(call, key), "a visit does not hold its lane");
    run_expect(self, !lanepool_run_holds(call, foreign), "a visit holds another lane");
    if (!has_checks(run->workload)) {
        return;
    }
    run_expect(self, lanepool_run_claims(call, lanepool_claim_of(key, own->mode)),
               "a visit does not have its claim");
    run_expect(self,
               lanepool_run_claims(call, lanepool_exclusive(own->key)) ==
                   (own->mode == LANEPOOL_EXCLUSIVE),
               "a visit has its claim in another mode");
    lanepool_assert_claimed(run->pool, lanepool_claim_of(key, own->mode));
    atomic_fetch_add(&self->failed_in_visits, 1);
    lanepool_assert_claimed(run->pool, lanepool_claim_of(foreign, LANEPOOL_SHARED));
}

/* A receiver has the claims of its giver, but for a lane that it may have given up. An attempt
 * after the first may have given up a lane, too. */
static void prepare_body(struct task_context *self, lanepool_run *call)
{
    const struct run *run = self->run;
    const struct workload_task *what = what_of(self);
    bool claims = workload_submits_claims(run->workload) &&
                  (!workload_is_cut(run->workload, self->task) || what->holds_lanes);
    bool may_lack = what->is_heir || oracle_when(&record_of(self)->gave_up_at) != 0;

    struct workload_claim foreign = { self->task % run->workload->params.key_count,
                                      LANEPOOL_SHARED };

    if (!has_checks(run->workload)) {
        return;
    }
    for (uint32_t i = 0; i < what->merged_count && !may_lack; i++) {
        struct workload_claim claim = what->merged[i];
        bool is_had = what->is_barrier ||
                      (claims && !oracle_misses(run->log, run->workload, self->task, claim.key));
        bool is_stronger_had = is_had && (what->is_barrier || claim.mode == LANEPOOL_EXCLUSIVE);

        check_claim(self, call, claim, is_had);
        claim.mode = LANEPOOL_EXCLUSIVE;
        check_claim(self, call, claim, is_stronger_had);
    }
    if (!what->is_heir && !claims_key(what, foreign.key)) {
        check_claim(self, call, foreign, false);
    }
}

const struct workload_feature workload_feature_checks = {
    .fill_options = fill_options,
    .prepare_body = prepare_body,
};
