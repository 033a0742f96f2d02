/*
 * Members: futures of tasks that belong to a group or a pump, or have a failure policy. A member
 * carries the memory that these need, so nothing is allocated when it ends.
 *
 * A group lists the members that were accepted and have not ended:
 *   - The submitter holds the group's lock while it appends a member's task to the inbox. So the
 *     task of a listed member is in the inbox, or was.
 *   - A member leaves the list under its future's lock, when the future completes. A thread that
 *     has waited for the future does not find the member in the list again.
 *
 * A thread that walks over the list, to wait or to cancel, inserts a link of its own that has no
 * member. It moves this link from the newest member to the oldest.
 *
 * A group is freed when the program has destroyed it and its last member has ended.
 */
#ifndef LANEPOOL_SRC_FUTURE_MEMBER_H
#define LANEPOOL_SRC_FUTURE_MEMBER_H

#include "base/quarantine.h"
#include "base/ready_flag.h"
#include "base/waiter.h"
#include "future/future.h"
#include "future/tombstone.h"
#include "task/task.h"

typedef struct lanepool_i_member lanepool_i_member;

/* A link of a group's list. */
typedef struct lanepool_i_member_link {
    lanepool_i_link link;
    lanepool_i_member *member; /* or NULL in a walking thread's link */
} lanepool_i_member_link;

/* Guards: I immutable, L the group's lock. */
struct lanepool_i_member {
    lanepool_future future;                    /* must be first: the future leads to its member */
    const lanepool_allocator *allocator;       /* I: of this memory; NULL: the system's */
    size_t size;                               /* I: of this memory */
    struct lanepool_i_attempts_memory *memory; /* I: gets this memory back, or NULL */
    lanepool_i_tombstone_message tombstone_message; /* so that its cancel allocates nothing */
    lanepool_group *group;            /* I: or NULL; alive while the member is pending */
    lanepool_pump *pump;              /* I: or NULL; alive while the member is */
    bool has_policy;                  /* I: part of a lanepool_i_attempts; see attempts.h */
    struct lanepool_i_expiry *expiry; /* I: or NULL: the task has a deadline; see expiry.h */
    void *context;                    /* I: the task's */
    lanepool_i_member_link link;      /* L: in `members` or `untaken` */
};

/* Guards: I immutable, L the lock. No lock is taken under it; it may be taken under a future's. */
struct lanepool_group {
    lanepool_i_mutex lock;
    lanepool_i_creator creator;       /* I */
    bool keeps_completions;           /* I: the program takes the completions */
    bool is_referenced;               /* L: the program has not destroyed the group */
    bool closed;                      /* L: the group takes no more members */
    size_t pending;                   /* L: members in the list, and reservations */
    lanepool_i_list members;          /* L: the newest is the last */
    lanepool_i_list untaken;          /* L: members that have ended; each has a reference */
    lanepool_i_list waiters;          /* L: threads that wait for a completion */
    lanepool_i_ready_flag ready_flag; /* L: set while there is an untaken member, and at the end */
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantined quarantined; /* L: names that of the first member's pool */
#endif
};

/* Like lanepool_i_future_is_here(), for a group's lock. */
static inline bool lanepool_i_group_is_here(lanepool_group *group)
{
    return lanepool_i_creator_is_here(group->creator, &group->lock);
}

static inline lanepool_i_member *lanepool_i_member_of(lanepool_future *future)
{
    return (lanepool_i_member *)future;
}

/* Returns the task's member, or NULL. The task must still hold its reference to its future. */
static inline lanepool_i_member *lanepool_i_task_member(const lanepool_i_task *task)
{
    lanepool_future *future = lanepool_i_task_future(task);
    return future != NULL && lanepool_i_future_is_member(future) ? lanepool_i_member_of(future)
                                                                 : NULL;
}

/* Returns true if the future was made after its task had started; see attempts.h. */
static inline bool lanepool_i_future_is_late(lanepool_future *future)
{
    return future != NULL && lanepool_i_future_is_member(future) &&
           lanepool_i_member_of(future)->memory != NULL;
}

/* Creates a member with two references, like a future. The task of a pump gets a third, which is
 * given back with the task's block. The member is the front of a block of `size` bytes; the caller
 * fills the rest. Returns NULL if memory cannot be allocated. */
lanepool_future *lanepool_i_member_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, const lanepool_task *description);
/* Initializes the member of a task that has started without one, with the task's reference. Cannot
 * fail. `memory` gets the block back. */
void lanepool_i_member_init_late(lanepool_i_member *member, size_t size,
                                 struct lanepool_i_attempts_memory *memory, lanepool_pool *pool,
                                 lanepool_i_creator creator, lanepool_i_task *task);
/* Counts the member out of its pump, since its task was not accepted, and gives back the reference
 * of the task's block. The caller gives back the other two. */
void lanepool_i_member_refuse(lanepool_future *future);
/* Undoes the creation of a member that no other thread has seen. */
void lanepool_i_member_undo_create(lanepool_future *future);
/* Releases what the member owns. Called when its last reference has been given back. */
void lanepool_i_member_fini(lanepool_future *future);
/* Gives the member's memory back. */
void lanepool_i_member_free(lanepool_future *future);

/* These two enclose an append of tasks linked from first to last, all of them members of the group.
 * The first locks the group and lists the members; it returns false, without the lock, if the group
 * is closed. The second removes them from the list if they were not accepted, and unlocks the
 * group. */
bool lanepool_i_members_enter(lanepool_group *group, lanepool_i_task *first, lanepool_i_task *last);
void lanepool_i_members_entered(lanepool_group *group, lanepool_i_task *first,
                                lanepool_i_task *last, bool accepted);

/* Reserves a place for a member that is listed later, whether or not the group is closed by then.
 * Returns false if the group is closed. Either of the other two follows. */
bool lanepool_i_member_reserve(lanepool_group *group);
void lanepool_i_member_enter_reserved(lanepool_group *group, lanepool_i_task *task);
void lanepool_i_member_give_up_reserved(lanepool_group *group);

/* Returns true if no completion will arrive any more. */
static inline bool lanepool_i_group_is_over_locked(const lanepool_group *group)
{
    return group->closed && group->pending == 0;
}
/* Shows the event loop whether there is a completion to take, or the group is over. */
static inline void lanepool_i_group_update_flag_locked(lanepool_group *group)
{
    lanepool_i_ready_flag_put_locked(&group->ready_flag,
                                     !lanepool_i_list_is_empty(&group->untaken) ||
                                         lanepool_i_group_is_over_locked(group));
}
/* Called when the group is closed or its last member has ended, once for each. If the group is
 * over, notifies waiting threads and the event loop. */
void lanepool_i_group_announce_end_locked(lanepool_group *group);

/* Records in the group and the pump that the member's task has ended. Called under the future's
 * lock. Returns the group if nothing uses it any more; the caller frees it without any lock. */
lanepool_group *lanepool_i_member_complete_locked(lanepool_future *future);
void lanepool_i_group_free(lanepool_group *group);

/* Returns the member's group; NULL if it has none or the program has destroyed it. */
lanepool_group *lanepool_i_member_group(lanepool_future *future);

#endif
