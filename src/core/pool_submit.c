/*
 * Owns submitting: checks a description, admits the task, fills its block, and appends it to the
 * inbox. Every step that can fail comes before the append. After the append the task is accepted,
 * and its function will be called once.
 */
#include "core/pool_submit.h"

#include "core/caller_runs.h"
#include "core/run.h"
#include "core/task_build.h"
#include "future/expiry.h"
#include "future/member.h"

#include <string.h>

/* --- admission --- */

bool lanepool_i_submit_is_open(const lanepool_pool *pool, bool inside)
{
    uint32_t state = load_relaxed(pool->lifecycle.state);
    return state == LANEPOOL_I_RUNNING || (inside && state == LANEPOOL_I_DRAINING);
}

static lanepool_status admit_charged(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_charge *charge, lanepool_i_terms terms)
{
    if (lanepool_i_admission_is_counted(record, charge))
        return LANEPOOL_OK;
    bool inside = lanepool_i_thread_is_inside_pool(record);
    if (lanepool_i_admission_try(&pool->admission, record, charge))
        return LANEPOOL_OK;
    if (terms.full == LANEPOOL_I_WAIT_FOR_ROOM && terms.wait_max_ns == 0)
        return lanepool_i_submit_is_open(pool, inside) ? LANEPOOL_FULL : LANEPOOL_SHUT_DOWN;
    if (inside || terms.full == LANEPOOL_I_RUN_BY_CALLER) {
        lanepool_i_admission_force(&pool->admission, record, charge);
        return inside ? LANEPOOL_OK : LANEPOOL_FULL;
    }
    lanepool_i_router_try_route(pool, record);
    uint64_t deadline_ns = terms.deadline_ns;
    if (deadline_ns == 0)
        deadline_ns = lanepool_i_driver_deadline(pool->driver, terms.wait_max_ns);
    return lanepool_i_admission_wait(&pool->admission, record, charge, deadline_ns);
}

static bool is_admitted(lanepool_status status, lanepool_i_terms terms)
{
    return status == LANEPOOL_OK ||
           (status == LANEPOOL_FULL && terms.full == LANEPOOL_I_RUN_BY_CALLER);
}

/* A charge stays in the thread record until the task's block takes it over. */
static LANEPOOL_I_COLD lanepool_status admit_slowly(lanepool_pool *pool,
                                                    lanepool_i_thread_record *record,
                                                    const lanepool_task *task,
                                                    lanepool_i_terms terms)
{
    if (!lanepool_i_submit_is_open(pool, lanepool_i_thread_is_inside_pool(record)))
        return lanepool_i_pool_is_forked(pool) ? LANEPOOL_FORKED : LANEPOOL_SHUT_DOWN;
    lanepool_status status = lanepool_i_features_admit(pool, record, task);
    if (status != LANEPOOL_OK)
        return status;
    status = admit_charged(pool, record, &record->charge, terms);
    if (!is_admitted(status, terms))
        lanepool_i_features_unadmit(pool, record);
    return status;
}

lanepool_status lanepool_i_submit_admit(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        const lanepool_task *task, lanepool_i_terms terms)
{
    if (record->admitted == 0 || load_relaxed(pool->lifecycle.state) != LANEPOOL_I_RUNNING)
        return admit_slowly(pool, record, task, terms);
    record->admitted--;
    return LANEPOOL_OK;
}

void lanepool_i_submit_take_back_admission(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_features_unadmit(pool, record);
    lanepool_i_admission_return_to_thread(&pool->admission, record);
}

/* --- one task --- */

void lanepool_i_submit_hand_out_future(const lanepool_task *task, const lanepool_i_task *block)
{
    if (task->future != NULL)
        *task->future = block->as.wide.future;
}

/* SUBMIT is written before the append: after it, the tasks may run, and their blocks be reused. */
static LANEPOOL_I_COLD void trace_each(lanepool_i_ring *ring, lanepool_event_type type,
                                       const lanepool_i_task *first, const lanepool_i_task *last)
{
    const lanepool_i_task *task = first;
    for (; task != last; task = load_relaxed(&task->next))
        lanepool_i_trace(ring, type, (uintptr_t)task, 0);
    lanepool_i_trace(ring, type, (uintptr_t)last, 0);
}

static inline bool append_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *first, lanepool_i_task *last, uint64_t count)
{
    lanepool_i_count_up(&record->accepted, count);
    if (lanepool_i_records(record->ring, LANEPOOL_EVENT_SUBMIT))
        trace_each(record->ring, LANEPOOL_EVENT_SUBMIT, first, last);
    if (lanepool_i_inbox_append(&pool->router.inbox, first, last, record->last_appended)) {
        record->last_appended = last;
        return true;
    }
    lanepool_i_count_up(&record->accepted, -count);
    if (lanepool_i_records(record->ring, LANEPOOL_EVENT_CANCEL))
        trace_each(record->ring, LANEPOOL_EVENT_CANCEL, first, last);
    return false;
}

/* Locks the group around the append, so that it never lists a task that may still be refused. */
bool lanepool_i_submit_append(lanepool_group *group, lanepool_pool *pool,
                              lanepool_i_thread_record *record, lanepool_i_task *first,
                              lanepool_i_task *last, uint64_t count)
{
    if (group == NULL)
        return append_tasks(pool, record, first, last, count);
    if (!lanepool_i_members_enter(group, first, last))
        return false;
    bool accepted = append_tasks(pool, record, first, last, count);
    lanepool_i_members_entered(group, first, last, accepted);
    return accepted;
}

/* No worker runs a pump's tasks, and the program's thread may wait for the pump's event instead of
 * routing. So they are routed now if the role is free. */
void lanepool_i_submit_route(lanepool_pool *pool, lanepool_i_thread_record *record, bool for_pump)
{
    lanepool_i_router_after_append(pool, record);
    if (for_pump)
        lanepool_i_router_try_route(pool, record);
}

static LANEPOOL_I_COLD lanepool_status refuse_task(const lanepool_task *task, lanepool_status why)
{
    if (task->future != NULL)
        *task->future = NULL;
    return why;
}

/* `member` is a constant in each call. */
static LANEPOOL_I_INLINE lanepool_status submit_as(bool member, lanepool_pool *pool,
                                                   const lanepool_task *task,
                                                   lanepool_i_terms terms)
{
    uint64_t lanes;
    if (pool == NULL || !lanepool_i_description_is_valid(pool, task, &lanes))
        return refuse_task(task, lanepool_i_description_check(pool, task));
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    if (record == NULL)
        return refuse_task(task, lanepool_i_pool_entry_error(pool));
    lanepool_status admitted = lanepool_i_submit_admit(pool, record, task, terms);
    if (!is_admitted(admitted, terms))
        return refuse_task(task, admitted);
    lanepool_i_task *block;
    lanepool_status status = lanepool_i_build(pool, record, task, member, lanes, &block);
    if (status == LANEPOOL_OK) {
        lanepool_i_expiry *expiring = NULL;
        lanepool_i_submit_hand_out_future(task, block);
        if (member)
            lanepool_i_expiry_expect(block, &expiring);
        if (admitted == LANEPOOL_FULL)
            status = lanepool_i_caller_append_and_run(pool, record, block, &expiring);
        else if (lanepool_i_submit_append(member ? task->group : NULL, pool, record, block, block,
                                          1))
            lanepool_i_submit_route(pool, record, member && task->pump != NULL);
        else
            status = LANEPOOL_SHUT_DOWN;
        if (member)
            lanepool_i_expiries_accepted(&expiring, status == LANEPOOL_OK);
        if (status != LANEPOOL_OK)
            lanepool_i_unbuild(pool, record, block, task);
    }
    if (status != LANEPOOL_OK) {
        lanepool_i_submit_take_back_admission(pool, record);
        return refuse_task(task, status);
    }
    return status;
}

static LANEPOOL_I_COLD lanepool_status submit_member(lanepool_pool *pool, const lanepool_task *task,
                                                     lanepool_i_terms terms)
{
    /* The submitter of a pump's task cannot run it. */
    bool is_offered = task->pump == NULL || terms.full != LANEPOOL_I_RUN_BY_CALLER;
    if (pool != NULL && is_offered && lanepool_i_description_fits_pool(pool, task))
        return submit_as(true, pool, task, terms);
    if (task->future != NULL)
        *task->future = NULL;
    lanepool_status status = lanepool_i_description_check(pool, task);
    return status == LANEPOOL_OK ? LANEPOOL_UNSUPPORTED : status;
}

/* Submits a task of a program that was built for another version, or a member. */
static LANEPOOL_I_COLD lanepool_status submit_unusual(lanepool_pool *pool,
                                                      const lanepool_task *task,
                                                      lanepool_i_terms terms)
{
    lanepool_task known;
    if (task->struct_size == sizeof known)
        return submit_member(pool, task, terms);
    return lanepool_i_description_copy(&known, task) ? submit_member(pool, &known, terms)
                                                     : LANEPOOL_INVALID;
}

/* Every release has the members that are read here, so that one branch is enough. */
static LANEPOOL_I_INLINE lanepool_status submit_task(lanepool_pool *pool, const lanepool_task *task,
                                                     lanepool_i_terms terms)
{
    if (task == NULL)
        return LANEPOOL_INVALID;
    bool is_unusual =
        ((task->struct_size ^ sizeof *task) | lanepool_i_description_member_bits(task)) != 0;
    if (__builtin_expect(is_unusual, 0))
        return submit_unusual(pool, task, terms);
    return submit_as(false, pool, task, terms);
}

lanepool_status lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task)
{
    lanepool_i_terms terms = { LANEPOOL_I_WAIT_FOR_ROOM, LANEPOOL_FOREVER, UINT64_MAX };
    return submit_task(pool, task, terms);
}

lanepool_status lanepool_pool_run(lanepool_pool *pool, lanepool_key key, lanepool_task_fn function,
                                  void *context)
{
    lanepool_claim claim = lanepool_claim_of(key, LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = function;
    task.context = context;
    task.claims = &claim;
    task.claim_count = key.type != LANEPOOL_KEY_NONE;
    return lanepool_pool_submit(pool, &task);
}

lanepool_status lanepool_pool_submit_within(lanepool_pool *pool, const lanepool_task *task,
                                            uint64_t wait_max_ns)
{
    lanepool_i_terms terms = { LANEPOOL_I_WAIT_FOR_ROOM, wait_max_ns, 0 };
    return submit_task(pool, task, terms);
}

lanepool_status lanepool_pool_submit_or_run(lanepool_pool *pool, const lanepool_task *task)
{
    lanepool_i_terms terms = { LANEPOOL_I_RUN_BY_CALLER, LANEPOOL_FOREVER, UINT64_MAX };
    return submit_task(pool, task, terms);
}
