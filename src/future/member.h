/*
 * Members: futures of tasks that belong to a group, to a pump, or to both, or that
 * have a policy for failures. They carry what these need, so that nothing is allocated
 * when a member ends.
 *
 * A group lists the members that were accepted and have not ended. It is locked
 * around the append of a member, so that whoever finds one in the list finds a
 * task that has its place in the inbox. A member leaves the list when its future
 * completes, in one step with that, under the future's lock: who has waited for
 * the future does not find it here again.
 *
 * Whoever goes through the list (waiting, cancelling) has a place of its own in
 * it, a link without a member, and moves it from the newest to the oldest.
 *
 * A group lives until the program has destroyed it and its last member has
 * ended, whichever comes last.
 */
#ifndef LANEPOOL_SRC_FUTURE_MEMBER_H
#define LANEPOOL_SRC_FUTURE_MEMBER_H

#include "future/future.h"
#include "task/task.h"

typedef struct lanepool_i_member lanepool_i_member;

/* A place in a group's list, which is a ring. */
typedef struct lanepool_i_link {
    struct lanepool_i_link *older;
    struct lanepool_i_link *newer;
    lanepool_i_member *member; /* NULL: somebody's place, or the ring's own link */
} lanepool_i_link;

/* Guards: I immutable, L the group's lock. */
struct lanepool_i_member {
    lanepool_future future;          /* the first: a member is found from its future */
    lanepool_group *group;           /* I: or NULL; alive as long as the member is pending */
    lanepool_pump *pump;             /* I: or NULL; likewise */
    bool has_policy;                 /* I: it is a lanepool_i_attempts's; see retry.h */
    void *context;                   /* I: the task's */
    lanepool_i_link link;            /* L: while it is pending */
    lanepool_i_member *next_untaken; /* L: once it has ended */
};

/* A thread that waits for a completion; on its stack. */
typedef struct lanepool_i_group_waiter {
    struct lanepool_i_group_waiter *next; /* L */
    lanepool_i_semaphore semaphore;
} lanepool_i_group_waiter;

/* Guards: I immutable, L the lock. It is a leaf, taken under a future's or alone. */
struct lanepool_group {
    lanepool_i_mutex lock;
    lanepool_i_creator creator; /* I */
    bool keeps_completions;     /* I: completions are kept until they are taken */
    bool is_referenced;         /* L: the program has not destroyed it */
    size_t pending;             /* L: members in the list */
    lanepool_i_link ring;       /* L: the ring's own link: newest member before it, oldest after */
    lanepool_i_member
        *untaken;             /* L: ended and not yet taken, oldest first; each with a reference */
    lanepool_i_member **last; /* L: where the next one goes */
    lanepool_i_group_waiter *waiters; /* L: who waits for one, oldest first */
    bool has_event;                   /* L */
    lanepool_i_event event;           /* L: set while something is kept */
};

/* Before the lock, in what a program calls: false: in this child of fork() it is held for ever. */
static inline bool lanepool_i_group_is_here(lanepool_group *group)
{
    return lanepool_i_creator_is_here(group->creator, &group->lock);
}

static inline lanepool_i_member *lanepool_i_member_of(lanepool_future *future)
{
    return (lanepool_i_member *)future;
}

/* The member that a task is, or NULL. Until its future has completed. */
static inline lanepool_i_member *lanepool_i_task_member(const lanepool_i_task *task)
{
    if (!lanepool_i_task_is_wide(task) || task->as.wide.future == NULL ||
        !task->as.wide.future->is_member)
        return NULL;
    return lanepool_i_member_of(task->as.wide.future);
}

/* With two references, like a future, and for a pump's task a third, which goes with the task's
 * block; in front of a block of `size` bytes, of which the rest is the caller's to fill. NULL with
 * the status set. */
lanepool_future *lanepool_i_member_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, const lanepool_task *description,
                                          lanepool_status *status);
/* It was not accepted after all: but for the two references as if it had never been made. */
void lanepool_i_member_refuse(lanepool_future *future);
/* The last reference to it has gone. */
void lanepool_i_member_fini(lanepool_future *future);

/* Around an append of tasks linked from first to last, all of them members of the group: locks
 * it, and unlocks it when it is known whether they were accepted. */
void lanepool_i_members_enter(lanepool_group *group, lanepool_i_task *first, lanepool_i_task *last);
void lanepool_i_members_entered(lanepool_group *group, lanepool_i_task *first,
                                lanepool_i_task *last, bool accepted);

/* Under the future's lock: its task has ended. The group, if that was the last of it: then it is
 * to be freed without a lock. */
lanepool_group *lanepool_i_member_complete_locked(lanepool_future *future);
void lanepool_i_group_free(lanepool_group *group);

/* The member's group, unless the program has destroyed it. */
lanepool_group *lanepool_i_member_group(lanepool_future *future);

void lanepool_i_link_before(lanepool_i_link *newer, lanepool_i_link *link);
void lanepool_i_unlink(lanepool_i_link *link);

#endif
