/*
 * Owns what a program does with a group: waiting for its members, cancelling them, and taking
 * completions. member.c owns what happens when a member ends.
 */
#include "lanepool/future.h"

#include "base/misuse.h"
#include "base/versioned.h"
#include "future/member.h"
#include "platform/notes.h"
#include "sched/thread_record.h"
#include "wait/future_wait.h"

#include <string.h>

/* --- creating and destroying --- */

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_group_options, reserved);

static bool read_group_options(const lanepool_group_options *given, lanepool_group_options *options)
{
    *options = (lanepool_group_options)LANEPOOL_GROUP_OPTIONS_INIT;
    static const unsigned char zero[sizeof options->reserved];
    if (given == NULL)
        return true;
    return LANEPOOL_I_STRUCT_READ(options, given, lanepool_group_options, reserved) &&
           memcmp(options->reserved, zero, sizeof zero) == 0;
}

lanepool_status lanepool_group_create(const lanepool_group_options *options, lanepool_group **group)
{
    if (group == NULL)
        return LANEPOOL_INVALID;
    *group = NULL;
    lanepool_group_options known;
    if (!read_group_options(options, &known))
        return LANEPOOL_INVALID;
    lanepool_group *created = lanepool_i_memory_alloc(sizeof *created);
    if (created == NULL)
        return LANEPOOL_NOMEM;
    memset(created, 0, sizeof *created);
    created->keeps_completions = known.keeps_completions;
    created->is_referenced = true;
    created->creator = lanepool_i_creator_self();
    lanepool_i_list_init(&created->members);
    lanepool_i_list_init(&created->untaken);
    lanepool_i_list_init(&created->waiters);
    if (!lanepool_i_mutex_init(&created->lock, LANEPOOL_I_LOCK_GROUP)) {
        lanepool_i_memory_free(created);
        return LANEPOOL_NO_RESOURCE;
    }
    *group = created;
    return LANEPOOL_OK;
}

/* Once is_referenced is false, no other thread uses the untaken completions. The flag is taken
 * out of the group: a member that ends later must not use the closed descriptor. */
void lanepool_group_destroy(lanepool_group *group)
{
    if (group == NULL || !lanepool_i_group_is_here(group))
        return;
    lanepool_i_link *link;
    lanepool_i_list untaken;
    lanepool_i_list_init(&untaken);
    lanepool_i_mutex_lock(&group->lock);
    LANEPOOL_I_FIND_MISUSE(!group->is_referenced, "the group was destroyed before");
    lanepool_i_ready_flag flag = group->ready_flag;
    group->ready_flag.has_event = false;
    bool over = group->pending == 0;
    group->is_referenced = false;
    while ((link = lanepool_i_list_take(&group->untaken)) != NULL)
        lanepool_i_list_add(&untaken, link);
    lanepool_i_mutex_unlock(&group->lock);
    if (over)
        lanepool_i_group_free(group);
    while ((link = lanepool_i_list_take(&untaken)) != NULL)
        lanepool_i_future_release(
            &LANEPOOL_I_ITEM(link, lanepool_i_member_link, link)->member->future);
    lanepool_i_ready_flag_fini(&flag);
}

lanepool_status lanepool_group_close(lanepool_group *group)
{
    if (group == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    lanepool_i_mutex_lock(&group->lock);
    bool is_first = !group->closed;
    group->closed = true;
    if (is_first)
        lanepool_i_group_announce_end_locked(group);
    lanepool_i_mutex_unlock(&group->lock);
    return LANEPOOL_OK;
}

size_t lanepool_group_pending(lanepool_group *group)
{
    if (LANEPOOL_I_MISUSED(group == NULL, "group is NULL"))
        return 0;
    if (!lanepool_i_group_is_here(group))
        return 0;
    lanepool_i_mutex_lock(&group->lock);
    size_t pending = group->pending;
    lanepool_i_mutex_unlock(&group->lock);
    return pending;
}

/* --- walking over the members --- */

/* Returns the next member that is older than a cursor, with a reference for the caller. While it is
 * in the list, its task has a reference. */
static lanepool_i_member *member_before_locked(const lanepool_group *group,
                                               const lanepool_i_link *cursor)
{
    for (lanepool_i_link *link = cursor->previous; link != &group->members.ends;
         link = link->previous) {
        lanepool_i_member *member = LANEPOOL_I_ITEM(link, lanepool_i_member_link, link)->member;
        if (member == NULL)
            continue;
        lanepool_i_future_retain(&member->future);
        return member;
    }
    return NULL;
}

/* All present members are older than the cursor. */
static void enter_cursor(lanepool_group *group, lanepool_i_member_link *cursor)
{
    cursor->member = NULL;
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_list_add(&group->members, &cursor->link);
    lanepool_i_mutex_unlock(&group->lock);
}

static lanepool_i_member *get_newest_before(lanepool_group *group, const lanepool_i_link *cursor)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_member *member = member_before_locked(group, cursor);
    lanepool_i_mutex_unlock(&group->lock);
    return member;
}

static void remove_cursor(lanepool_group *group, lanepool_i_member_link *cursor)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_unlink(&cursor->link);
    lanepool_i_mutex_unlock(&group->lock);
}

/* --- waiting for all --- */

/* Returns the driver of the newest member's pool, if that has no threads; else NULL. */
static lanepool_i_driver *newest_driver(lanepool_group *group)
{
    lanepool_i_member *member = get_newest_before(group, &group->members.ends);
    if (member == NULL)
        return NULL;
    lanepool_i_driver *driver = lanepool_i_future_driver(&member->future);
    lanepool_i_future_release(&member->future);
    return driver;
}

/* The newest first: when it has ended, most others usually have, too. */
lanepool_status lanepool_group_wait(lanepool_group *group, uint64_t wait_max_ns)
{
    if (group == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    const lanepool_i_driver *driver = newest_driver(group);
    uint64_t deadline_ns = lanepool_i_driver_deadline(driver, wait_max_ns);
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_member_link cursor;
    lanepool_i_member *member;
    enter_cursor(group, &cursor);
    while (status == LANEPOOL_OK && (member = get_newest_before(group, &cursor.link)) != NULL) {
        status = lanepool_future_wait(&member->future,
                                      lanepool_i_driver_deadline_left(driver, deadline_ns), NULL);
        lanepool_i_future_release(&member->future);
    }
    remove_cursor(group, &cursor);
    if (status == LANEPOOL_OK)
        lanepool_i_note_acquire(group);
    return status;
}

/* --- cancelling --- */

/* Returns the next older member. Newest first: a task behind others must not start because these
 * were cancelled. A running member stays in the list, so the cursor moves past each member before
 * the member is cancelled. */
static lanepool_i_member *move_cursor_past_newest(lanepool_group *group,
                                                  lanepool_i_member_link *cursor)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_member *member = member_before_locked(group, &cursor->link);
    if (member != NULL) {
        lanepool_i_unlink(&cursor->link);
        lanepool_i_link_before(&member->link.link, &cursor->link);
    }
    lanepool_i_mutex_unlock(&group->lock);
    return member;
}

lanepool_status lanepool_group_cancel(lanepool_group *group, size_t *count)
{
    size_t cancelled = 0;
    if (count != NULL)
        *count = 0;
    if (group == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_member_link cursor;
    lanepool_i_member *member;
    enter_cursor(group, &cursor);
    while (status != LANEPOOL_NOMEM && status != LANEPOOL_FORKED &&
           (member = move_cursor_past_newest(group, &cursor)) != NULL) {
        status = lanepool_future_cancel(&member->future);
        cancelled += status == LANEPOOL_OK;
        lanepool_i_future_release(&member->future);
    }
    remove_cursor(group, &cursor);
    if (count != NULL)
        *count = cancelled;
    return status == LANEPOOL_NOMEM || status == LANEPOOL_FORKED ? status : LANEPOOL_OK;
}

/* --- taking in completion order --- */

static lanepool_i_member *take_completion_locked(lanepool_group *group)
{
    lanepool_i_link *link = lanepool_i_list_take(&group->untaken);
    if (link == NULL)
        return NULL;
    lanepool_i_group_update_flag_locked(group);
    return LANEPOOL_I_ITEM(link, lanepool_i_member_link, link)->member;
}

/* Returns OK; DONE if the group is over; or TIMED_OUT if there is no completion yet. Then it enters
 * the waiter, if it is not NULL. */
static lanepool_status try_to_take_completion(lanepool_group *group, lanepool_i_waiter *waiter,
                                              lanepool_i_member **taken)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_status status = LANEPOOL_OK;
    *taken = take_completion_locked(group);
    if (*taken == NULL)
        status = lanepool_i_group_is_over_locked(group) ? LANEPOOL_DONE : LANEPOOL_TIMED_OUT;
    if (status == LANEPOOL_TIMED_OUT && waiter != NULL)
        lanepool_i_waiter_enter_locked(waiter, &group->waiters);
    lanepool_i_mutex_unlock(&group->lock);
    return status;
}

/* Sleeps until the waiter is called. Returns false if its deadline has passed. */
static bool sleep_for_completion(lanepool_group *group, lanepool_i_waiter *waiter)
{
    waiter->driver = newest_driver(group);
    return lanepool_i_waiter_sleep(waiter, &group->lock);
}

/* A waiter that is called at its deadline tries once more: no other waiter was called for that
 * completion. */
static lanepool_status wait_to_take_completion(lanepool_group *group, uint64_t deadline_ns,
                                               lanepool_i_member **taken)
{
    lanepool_i_waiter waiter;
    if (!lanepool_i_waiter_init(&waiter, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    lanepool_status status;
    do
        status = try_to_take_completion(group, &waiter, taken);
    while (status == LANEPOOL_TIMED_OUT && sleep_for_completion(group, &waiter));
    lanepool_i_waiter_fini(&waiter);
    return status;
}

/* Whether the newest member is pending in a pool of the parent process. */
static bool is_of_parent_process(lanepool_group *group)
{
    lanepool_i_member *member = get_newest_before(group, &group->members.ends);
    if (member == NULL)
        return false;
    lanepool_status status = lanepool_future_wait(&member->future, 0, NULL);
    lanepool_i_future_release(&member->future);
    return status == LANEPOOL_FORKED;
}

static lanepool_status wait_for_next(lanepool_group *group, uint64_t wait_max_ns,
                                     lanepool_i_member **taken)
{
    if (lanepool_i_thread_is_inside_any())
        return LANEPOOL_DEADLOCK;
    if (is_of_parent_process(group))
        return LANEPOOL_FORKED;
    return wait_to_take_completion(
        group, lanepool_i_driver_deadline(newest_driver(group), wait_max_ns), taken);
}

lanepool_status lanepool_group_next(lanepool_group *group, uint64_t wait_max_ns,
                                    lanepool_completion *completion)
{
    if (group == NULL || completion == NULL || !group->keeps_completions)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    lanepool_i_member *taken;
    lanepool_status status = try_to_take_completion(group, NULL, &taken);
    if (status == LANEPOOL_TIMED_OUT && wait_max_ns > 0)
        status = wait_for_next(group, wait_max_ns, &taken);
    lanepool_i_note_acquire(group);
    if (status != LANEPOOL_OK)
        return status;
    *completion =
        (lanepool_completion){ .context = taken->context, .result = taken->future.result };
    lanepool_i_future_release(&taken->future);
    return LANEPOOL_OK;
}

lanepool_status lanepool_group_fd(lanepool_group *group, int *fd)
{
    if (group == NULL || fd == NULL || !group->keeps_completions)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    return lanepool_i_ready_flag_fd(&group->ready_flag, &group->lock, fd);
}
