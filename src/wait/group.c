/*
 * Owns what a program does with a group: waiting for its members, cancelling
 * them, and taking those that have ended. What happens when one ends is member.c's.
 */
#include "lanepool/group.h"

#include "base/deadline.h"
#include "future/member.h"
#include "lanepool/cancel.h"
#include "sched/thread_record.h"

#include <string.h>

/* --- its life --- */

static bool are_valid(const lanepool_group_options *options)
{
    return options == NULL || options->struct_size == sizeof *options;
}

lanepool_status lanepool_group_create(const lanepool_group_options *options, lanepool_group **group)
{
    if (group == NULL)
        return LANEPOOL_INVALID;
    *group = NULL;
    if (!are_valid(options))
        return LANEPOOL_INVALID;
    lanepool_group *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    memset(made, 0, sizeof *made);
    made->keeps_completions = options != NULL && options->keeps_completions;
    made->is_referenced = true;
    made->creator = lanepool_i_creator_self();
    made->ring.older = made->ring.newer = &made->ring;
    made->last = &made->untaken;
    if (!lanepool_i_mutex_init(&made->lock)) {
        lanepool_i_memory_free(made);
        return LANEPOOL_NO_THREAD;
    }
    *group = made;
    return LANEPOOL_OK;
}

/* From the moment that it is not held, nobody looks at what was kept or at the event. */
void lanepool_group_destroy(lanepool_group *group)
{
    if (group == NULL || !lanepool_i_group_is_here(group))
        return;
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_member *kept = group->untaken;
    lanepool_i_event event = group->event;
    bool has_event = group->has_event;
    bool over = group->pending == 0;
    group->is_referenced = false;
    lanepool_i_mutex_unlock(&group->lock);
    if (over)
        lanepool_i_group_free(group);
    while (kept != NULL) {
        lanepool_i_member *next = kept->next_untaken;
        lanepool_future_release(&kept->future);
        kept = next;
    }
    if (has_event)
        lanepool_i_event_fini(&event);
}

size_t lanepool_group_pending(lanepool_group *group)
{
    if (!lanepool_i_group_is_here(group))
        return 0;
    lanepool_i_mutex_lock(&group->lock);
    size_t pending = group->pending;
    lanepool_i_mutex_unlock(&group->lock);
    return pending;
}

/* --- going through the members --- */

/* The newest member before a place, with a reference for the caller: while it is in the list, its
 * task holds one. */
static lanepool_i_member *member_before_locked(const lanepool_group *group,
                                               const lanepool_i_link *place)
{
    const lanepool_i_link *link = place->older;
    while (link != &group->ring && link->member == NULL)
        link = link->older;
    if (link->member != NULL)
        lanepool_future_retain(&link->member->future);
    return link->member;
}

/* Takes a place behind all members that there are. */
static void begin(lanepool_group *group, lanepool_i_link *place)
{
    place->member = NULL;
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_link_before(&group->ring, place);
    lanepool_i_mutex_unlock(&group->lock);
}

static lanepool_i_member *next_before(lanepool_group *group, const lanepool_i_link *place)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_member *member = member_before_locked(group, place);
    lanepool_i_mutex_unlock(&group->lock);
    return member;
}

static void end(lanepool_group *group, lanepool_i_link *place)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_unlink(place);
    lanepool_i_mutex_unlock(&group->lock);
}

/* --- waiting for all --- */

/* The newest first: when it has ended, so have most of the others as a rule. */
lanepool_status lanepool_group_wait(lanepool_group *group, uint64_t wait_ns_max)
{
    if (group == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    uint64_t deadline_ns = lanepool_i_deadline(wait_ns_max);
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_link place;
    lanepool_i_member *member;
    begin(group, &place);
    while (status == LANEPOOL_OK && (member = next_before(group, &place)) != NULL) {
        status = lanepool_future_wait(&member->future, lanepool_i_deadline_left(deadline_ns), NULL);
        lanepool_future_release(&member->future);
    }
    end(group, &place);
    return status;
}

/* --- cancelling --- */

/* The newest first: what stands behind others must not start because these were cancelled. A member
 * that runs stays in the list: the place moves past each before it is cancelled. */
static lanepool_i_member *pass_one(lanepool_group *group, lanepool_i_link *place)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_i_member *member = member_before_locked(group, place);
    if (member != NULL) {
        lanepool_i_unlink(place);
        lanepool_i_link_before(&member->link, place);
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
    lanepool_i_link place;
    lanepool_i_member *member;
    begin(group, &place);
    while (status != LANEPOOL_NOMEM && status != LANEPOOL_FORKED &&
           (member = pass_one(group, &place)) != NULL) {
        status = lanepool_future_cancel(&member->future);
        cancelled += status == LANEPOOL_OK;
        lanepool_future_release(&member->future);
    }
    end(group, &place);
    if (count != NULL)
        *count = cancelled;
    return status == LANEPOOL_NOMEM || status == LANEPOOL_FORKED ? status : LANEPOOL_OK;
}

/* --- taking in completion order --- */

static lanepool_i_member *take_locked(lanepool_group *group)
{
    lanepool_i_member *member = group->untaken;
    if (member == NULL)
        return NULL;
    group->untaken = member->next_untaken;
    if (group->untaken == NULL) {
        group->last = &group->untaken;
        if (group->has_event)
            lanepool_i_event_clear(&group->event);
    }
    return member;
}

static void enter_locked(lanepool_group *group, lanepool_i_group_waiter *taker)
{
    lanepool_i_group_waiter **at = &group->waiters;
    while (*at != NULL)
        at = &(*at)->next;
    taker->next = NULL;
    *at = taker;
}

/* Who is posted has left already. */
static void leave_locked(lanepool_group *group, const lanepool_i_group_waiter *taker)
{
    lanepool_i_group_waiter **at = &group->waiters;
    while (*at != NULL && *at != taker)
        at = &(*at)->next;
    if (*at != NULL)
        *at = taker->next;
}

/* OK: taken; DONE: nothing can come; TIMED_OUT: not yet, and the taker is entered if there is one.
 */
static lanepool_status try_to_take(lanepool_group *group, lanepool_i_group_waiter *taker,
                                   lanepool_i_member **taken)
{
    lanepool_i_mutex_lock(&group->lock);
    lanepool_status status = LANEPOOL_OK;
    *taken = take_locked(group);
    if (*taken == NULL)
        status = group->pending == 0 ? LANEPOOL_DONE : LANEPOOL_TIMED_OUT;
    if (status == LANEPOOL_TIMED_OUT && taker != NULL)
        enter_locked(group, taker);
    lanepool_i_mutex_unlock(&group->lock);
    return status;
}

/* When the time has passed it looks once more: it may have been posted at that moment, and what it
 * was posted for is to be taken by somebody. */
static lanepool_status wait_to_take(lanepool_group *group, uint64_t deadline_ns,
                                    lanepool_i_member **taken)
{
    lanepool_i_group_waiter taker;
    if (!lanepool_i_semaphore_init(&taker.semaphore))
        return LANEPOOL_NO_THREAD;
    lanepool_status status = LANEPOOL_TIMED_OUT;
    bool in_time = true;
    while (status == LANEPOOL_TIMED_OUT && in_time) {
        status = try_to_take(group, &taker, taken);
        if (status == LANEPOOL_TIMED_OUT)
            in_time = lanepool_i_semaphore_wait_until(&taker.semaphore, deadline_ns);
    }
    if (!in_time) {
        lanepool_i_mutex_lock(&group->lock);
        leave_locked(group, &taker);
        lanepool_i_mutex_unlock(&group->lock);
        status = try_to_take(group, NULL, taken);
    }
    lanepool_i_semaphore_fini(&taker.semaphore);
    return status;
}

/* Whether the newest member is pending in a pool that this child of fork() has left behind. */
static bool is_left_behind(lanepool_group *group)
{
    lanepool_i_member *member = next_before(group, &group->ring);
    if (member == NULL)
        return false;
    lanepool_status status = lanepool_future_wait(&member->future, 0, NULL);
    lanepool_future_release(&member->future);
    return status == LANEPOOL_FORKED;
}

static lanepool_status wait_for_next(lanepool_group *group, uint64_t wait_ns_max,
                                     lanepool_i_member **taken)
{
    if (lanepool_i_thread_is_inside_any())
        return LANEPOOL_DEADLOCK;
    if (is_left_behind(group))
        return LANEPOOL_FORKED;
    return wait_to_take(group, lanepool_i_deadline(wait_ns_max), taken);
}

lanepool_status lanepool_group_next(lanepool_group *group, uint64_t wait_ns_max,
                                    lanepool_completion *completion)
{
    if (group == NULL || completion == NULL || !group->keeps_completions)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    lanepool_i_member *taken;
    lanepool_status status = try_to_take(group, NULL, &taken);
    if (status == LANEPOOL_TIMED_OUT && wait_ns_max > 0)
        status = wait_for_next(group, wait_ns_max, &taken);
    if (status != LANEPOOL_OK)
        return status;
    completion->context = taken->context;
    completion->result = taken->future.result;
    lanepool_future_release(&taken->future);
    return LANEPOOL_OK;
}

/* --- the event loop's --- */

/* Under the lock nothing is opened or closed: two may come at once, and one has opened in vain. */
lanepool_status lanepool_group_fd(lanepool_group *group, int *fd)
{
    if (group == NULL || fd == NULL || !group->keeps_completions)
        return LANEPOOL_INVALID;
    if (!lanepool_i_group_is_here(group))
        return LANEPOOL_FORKED;
    lanepool_i_event event;
    if (!lanepool_i_event_init(&event))
        return LANEPOOL_NO_THREAD;
    lanepool_i_mutex_lock(&group->lock);
    bool is_first = !group->has_event;
    if (is_first) {
        group->event = event;
        group->has_event = true;
        if (group->untaken != NULL)
            lanepool_i_event_set(&group->event);
    }
    *fd = lanepool_i_event_fd(&group->event);
    lanepool_i_mutex_unlock(&group->lock);
    if (!is_first)
        lanepool_i_event_fini(&event);
    return LANEPOOL_OK;
}
