/* Owns a group's list of members and its list of untaken completions; see member.h. */
#include "future/member.h"

#include "future/attempts.h"
#include "future/expiry.h"
#include "future/pump.h"
#include "platform/notes.h"

static void init_member(lanepool_i_member *member, size_t size, void *context)
{
    member->allocator = NULL;
    member->size = size;
    member->memory = NULL;
    member->group = NULL;
    member->pump = NULL;
    member->has_policy = false;
    member->expiry = NULL;
    member->context = context;
    member->link.member = member;
}

void lanepool_i_member_init_late(lanepool_i_member *member, size_t size,
                                 struct lanepool_i_attempts_memory *memory, lanepool_pool *pool,
                                 lanepool_i_creator creator, lanepool_i_task *task)
{
    lanepool_future *future = &member->future;
    lanepool_i_future_init(future, LANEPOOL_I_FUTURE_MEMBER, creator, pool, task);
    init_member(member, size, task->context);
    member->memory = memory;
    store_relaxed(&future->references, 1);
    store_relaxed(&future->phase, LANEPOOL_I_PHASE_RUNNING);
#if defined(LANEPOOL_CHECKED)
    store_relaxed(&future->held, 0);
#endif
}

lanepool_future *lanepool_i_member_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, const lanepool_task *description)
{
    lanepool_i_member *member = lanepool_i_allocate(allocator, size);
    if (member == NULL)
        return NULL;
    lanepool_future *future = &member->future;
    lanepool_i_future_init(future, LANEPOOL_I_FUTURE_MEMBER, creator, pool, task);
    init_member(member, size, description->context);
    member->allocator = allocator;
    member->group = description->group;
    member->pump = description->pump;
    if (member->pump != NULL) {
        lanepool_i_future_retain(future);
        fetch_add_relaxed(&member->pump->pending, 1);
        fetch_add_relaxed(&member->pump->references, 1);
    }
    return future;
}

/* Counts the member as ended in its pump. Release: destroying the pump acquires the count and
 * succeeds only if nothing is pending, so this thread's uses of the pump happen before. */
static void leave_pump(const lanepool_i_member *member)
{
    if (member->pump != NULL)
        fetch_sub_acq_rel(&member->pump->pending, 1);
}

void lanepool_i_member_refuse(lanepool_future *future)
{
    const lanepool_i_member *member = lanepool_i_member_of(future);
    leave_pump(member);
    if (member->pump != NULL)
        lanepool_i_future_release(future);
}

void lanepool_i_member_undo_create(lanepool_future *future)
{
    lanepool_i_member_refuse(future);
    lanepool_i_future_release(future);
    lanepool_i_future_release(future);
}

void lanepool_i_pump_release(lanepool_pump *pump)
{
    if (fetch_sub_acq_rel(&pump->references, 1) == 1)
        lanepool_i_memory_free(pump);
}

void lanepool_i_member_fini(lanepool_future *future)
{
    lanepool_pump *pump = lanepool_i_member_of(future)->pump;
    if (lanepool_i_member_of(future)->has_policy)
        lanepool_i_attempts_free_gates((lanepool_i_attempts *)future);
    lanepool_i_memory_free(lanepool_i_member_of(future)->expiry);
    if (pump != NULL)
        lanepool_i_pump_release(pump);
}

void lanepool_i_member_free(lanepool_future *future)
{
    lanepool_i_member *member = lanepool_i_member_of(future);
    if (member->memory != NULL)
        lanepool_i_attempts_memory_give(member->memory, member);
    else
        lanepool_i_deallocate(member->allocator, member, member->size);
}

/* --- the list --- */

static void add_member_locked(lanepool_group *group, lanepool_i_member *member)
{
    lanepool_i_list_add(&group->members, &member->link.link);
    LANEPOOL_I_QUARANTINE_NAME(group, member->future.quarantined.quarantine);
}

/* The members are listed before the append: after it, the links between the tasks are the
 * router's. */
bool lanepool_i_members_enter(lanepool_group *group, lanepool_i_task *first, lanepool_i_task *last)
{
    lanepool_i_mutex_lock(&group->lock);
    if (group->closed) {
        lanepool_i_mutex_unlock(&group->lock);
        return false;
    }
    for (lanepool_i_task *task = first;; task = load_relaxed(&task->next)) {
        add_member_locked(group, lanepool_i_task_member(task));
        group->pending++;
        if (task == last)
            return true;
    }
}

void lanepool_i_members_entered(lanepool_group *group, lanepool_i_task *first,
                                lanepool_i_task *last, bool accepted)
{
    for (lanepool_i_task *task = first; !accepted; task = load_relaxed(&task->next)) {
        lanepool_i_unlink(&lanepool_i_task_member(task)->link.link);
        group->pending--;
        accepted = task == last;
    }
    lanepool_i_mutex_unlock(&group->lock);
}

bool lanepool_i_member_reserve(lanepool_group *group)
{
    lanepool_i_mutex_lock(&group->lock);
    bool open = !group->closed;
    group->pending += open;
    lanepool_i_mutex_unlock(&group->lock);
    return open;
}

void lanepool_i_member_enter_reserved(lanepool_group *group, lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&group->lock);
    add_member_locked(group, lanepool_i_task_member(task));
    lanepool_i_mutex_unlock(&group->lock);
}

void lanepool_i_member_give_up_reserved(lanepool_group *group)
{
    lanepool_i_mutex_lock(&group->lock);
    group->pending--;
    lanepool_i_group_announce_end_locked(group);
    lanepool_i_mutex_unlock(&group->lock);
}

lanepool_group *lanepool_i_member_group(lanepool_future *future)
{
    lanepool_group *group = lanepool_i_member_of(future)->group;
    if (group == NULL)
        return NULL;
    lanepool_i_mutex_lock(&group->lock);
    bool is_referenced = group->is_referenced;
    lanepool_i_mutex_unlock(&group->lock);
    return is_referenced ? group : NULL;
}

/* --- a member ends --- */

/* A waiter that is called checks the list itself: another thread may have taken the completion
 * first. */
static void add_untaken_locked(lanepool_group *group, lanepool_i_member *member)
{
    lanepool_i_future_retain(&member->future);
    lanepool_i_list_add(&group->untaken, &member->link.link);
    lanepool_i_group_update_flag_locked(group);
    (void)lanepool_i_waiter_call_first_locked(&group->waiters);
}

void lanepool_i_group_announce_end_locked(lanepool_group *group)
{
    if (!lanepool_i_group_is_over_locked(group))
        return;
    lanepool_i_group_update_flag_locked(group);
    while (lanepool_i_waiter_call_first_locked(&group->waiters))
        ;
}

/* Returns true if the group must be freed. */
static bool end_member_locked(lanepool_group *group, lanepool_i_member *member)
{
    lanepool_i_unlink(&member->link.link);
    group->pending--;
    if (group->keeps_completions && group->is_referenced)
        add_untaken_locked(group, member);
    lanepool_i_group_announce_end_locked(group);
    return !group->is_referenced && group->pending == 0;
}

lanepool_group *lanepool_i_member_complete_locked(lanepool_future *future)
{
    lanepool_i_member *member = lanepool_i_member_of(future);
    lanepool_group *group = member->group;
    leave_pump(member);
    if (group == NULL)
        return NULL;
    lanepool_i_note_release(group);
    lanepool_i_mutex_lock(&group->lock);
    bool is_last = end_member_locked(group, member);
    lanepool_i_mutex_unlock(&group->lock);
    return is_last ? group : NULL;
}

static void free_group(void *record)
{
    lanepool_group *group = record;
    lanepool_i_mutex_fini(&group->lock);
    lanepool_i_memory_free(group);
}

void lanepool_i_group_free(lanepool_group *group)
{
    LANEPOOL_I_QUARANTINE_KEEP(group, free_group);
}
