/**
 * @file
 * Replaying a pool's events. docs/inspecting.md explains it.
 */
#ifndef LANEPOOL_REPLAY_H
#define LANEPOOL_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/inspect.h"
#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup replay Replay
 * A replay is fed a pool's events. After each event it holds the states of all tasks, lanes and
 * workers. Events may be missing, or in any order: a replay concludes from those that it is fed.
 * One thread at a time for each object. @{
 */

/** As an index: none. */
#define LANEPOOL_REPLAY_NONE SIZE_MAX
/** As a time: that of an event that was not seen. */
#define LANEPOOL_REPLAY_UNSEEN UINT64_MAX
/** Keeps tasks that have ended, and their entries. Otherwise later tasks get their indexes. */
#define LANEPOOL_REPLAY_TASKS 1u
/** Keeps lanes that no task is in. Lanes have names only in a replay with this flag. */
#define LANEPOOL_REPLAY_LANES 2u

/** The state of a task. */
typedef enum lanepool_replay_state {
    LANEPOOL_REPLAY_SUBMITTED = 0, /**< submitted, and not routed yet */
    LANEPOOL_REPLAY_WAITING = 1,   /**< for lanes, in some of which it may be latched; of a cut:
                                        until it has made all of its visits */
    LANEPOOL_REPLAY_READY = 2,     /**< waits for a worker only */
    LANEPOOL_REPLAY_RUNNING = 3,   /**< its function was called, and has not returned */
    LANEPOOL_REPLAY_RETRYING = 4,  /**< an attempt has failed, and the next one is not due yet */
    LANEPOOL_REPLAY_PARKED = 5,    /**< has failed, and is parked: its lanes are poisoned */
    LANEPOOL_REPLAY_ENDED = 6,     /**< has ended */
    LANEPOOL_REPLAY_CANCELLED = 7  /**< was cancelled or refused, or its end was missed */
} lanepool_replay_state;

/** The number of states. */
#define LANEPOOL_REPLAY_STATES 8

/** One call of a task's function. */
typedef struct lanepool_replay_attempt {
    uint64_t start_ns;    /**< when it began */
    uint64_t end_ns;      /**< when it ended */
    uint64_t parked_ns;   /**< when its task was parked after it */
    uint64_t ready_ns;    /**< when its task was ready again after it */
    uint16_t thread;      /**< as in events */
    uint64_t reserved[1]; /**< 0 */
} lanepool_replay_attempt;

/** A task. */
typedef struct lanepool_replay_task {
    lanepool_replay_state state; /**< its state */
    uint64_t ticket;             /**< its number in the acceptance order */
    bool has_ticket;             /**< it was routed */
    bool gone;                   /**< it is over and in no lane; see LANEPOOL_REPLAY_TASKS */
    bool is_cut;                 /**< it is a cut: it is latched in no lane */
    uint32_t tag;                /**< as submitted; 0 if its ROUTE was not seen */
    uint32_t status;             /**< ENDED: a lanepool_status */
    uint64_t submission;         /**< its submission, as in events */
    uint16_t submitter;          /**< the thread that submitted it; UINT16_MAX if not seen */
    uint16_t thread;             /**< where its last attempt runs or ran, as in events */
    uint64_t submit_ns;          /**< when it was submitted */
    uint64_t route_ns;           /**< when it was routed */
    uint64_t ready_ns;           /**< when it was ready for the first time */
    uint64_t start_ns;           /**< when its last attempt began, unless that has failed */
    uint64_t end_ns;             /**< when it ended */
    uint64_t ran_ns;             /**< how long its ended attempts took, as far as they were seen */
    size_t failed_count;         /**< failed attempts */
    lanepool_replay_attempt failed; /**< the latest of them */
    size_t first_entry;             /**< its first entry, or NONE; see `next_of_task` */
    size_t last_entry;              /**< its last entry, or NONE */
    size_t entry_count;             /**< its entries */
    size_t lane_count;              /**< those of them in lanes; more than one: a rollup */
    size_t arrived;                 /**< its granted entries */
    size_t open;                    /**< its entries that are not released */
    size_t next;                    /**< the next task in the same state, or NONE */
    size_t previous;                /**< the one before it, or NONE */
    size_t below;                   /**< RUNNING: the task inside which it runs, or NONE */
    uint64_t reserved[2];           /**< 0 */
} lanepool_replay_task;

/** A task's position in a lane. With an `is_compatible`: a task or kind that it waits for. */
typedef struct lanepool_replay_entry {
    size_t task;          /**< its task */
    size_t lane;          /**< its lane; NONE with an `is_compatible` */
    uint64_t object;      /**< as in its event */
    uint8_t object_type;  /**< as in its event */
    uint8_t mode;         /**< the claim's lanepool_mode */
    uint16_t visitor;     /**< of a cut: the thread of the latest visit, as in events */
    uint64_t enter_ns;    /**< when it entered */
    uint64_t arrive_ns;   /**< when it was granted */
    uint64_t visit_ns;    /**< of a cut: when the latest visit began */
    uint64_t visited_ns;  /**< of a cut: when that visit ended */
    uint64_t release_ns;  /**< when it was released; without a grant: given up */
    size_t next_of_task;  /**< the next entry of its task, or NONE */
    size_t next_of_lane;  /**< the next entry that there ever was in its lane, or NONE. Only with
                               LANEPOOL_REPLAY_TASKS */
    size_t next;          /**< until it is released: the one behind it in the lane, or NONE */
    size_t previous;      /**< until it is released: the one before it in the lane, or NONE */
    uint64_t reserved[1]; /**< 0 */
} lanepool_replay_entry;

/** A lane. */
typedef struct lanepool_replay_lane {
    uint64_t object;                    /**< as in its first event */
    uint8_t object_type;                /**< a lanepool_event_lane */
    uint32_t name_size;                 /**< the size of its name; 0: no NAME was seen */
    char name[LANEPOOL_EVENT_NAME_MAX]; /**< its name; may contain zeros */
    size_t first_open;                  /**< the entry at its head, or NONE */
    size_t last_open;                   /**< the last one, or NONE */
    size_t open;                        /**< its entries that are not released */
    size_t waiting;                     /**< those of them that are not granted */
    size_t first_entry;                 /**< the first entry ever, or NONE; see `next_of_lane` */
    size_t last_entry;                  /**< the last one, or NONE */
    uint64_t reserved[2];               /**< 0 */
} lanepool_replay_lane;

/** A worker. */
typedef struct lanepool_replay_worker {
    size_t task;  /**< the task that it runs (the innermost, if it waits inside one), or NONE */
    bool asleep;  /**< it sleeps */
    size_t visit; /**< the entry of a cut that it visits, perhaps inside `task`, or NONE */
    uint64_t reserved[1]; /**< 0 */
} lanepool_replay_worker;

/** The states after an event. The next event may move the arrays. */
typedef struct lanepool_replay {
    uint64_t time_ns;                      /**< of the latest event; 0: no event yet */
    const lanepool_replay_task *tasks;     /**< `task_count` tasks, as they appeared */
    size_t task_count;                     /**< their number */
    const lanepool_replay_entry *entries;  /**< `entry_count` entries, as they appeared */
    size_t entry_count;                    /**< their number */
    const lanepool_replay_lane *lanes;     /**< `lane_count` lanes, as they appeared */
    size_t lane_count;                     /**< their number */
    const lanepool_replay_worker *workers; /**< those up to the highest with an event */
    size_t worker_count;                   /**< their number */
    size_t asleep;                         /**< workers that sleep */
    size_t latched;                        /**< granted entries of rollups that are WAITING */
    size_t to_visit;                       /**< granted entries of cuts whose visit has not begun */
    size_t visits;                         /**< visits of cuts that have begun and not ended */
    size_t counts[LANEPOOL_REPLAY_STATES]; /**< tasks in each state */
    size_t first[LANEPOOL_REPLAY_STATES];  /**< the first task that reached each state, or NONE */
    size_t last[LANEPOOL_REPLAY_STATES];   /**< the last one, or NONE */
    size_t task;                           /**< the task of the last event, or NONE */
    lanepool_replay_state before;          /**< the state of that task before the event */
    size_t entry;         /**< the entry that the last event added, granted or released, or of which
                               it began or ended a visit; or NONE */
    uint64_t reserved[4]; /**< 0 */
} lanepool_replay;

/**
 * Creates a replay of no events.
 * @param keep   LANEPOOL_REPLAY_TASKS and LANEPOOL_REPLAY_LANES, or 0.
 * @param replay Receives it; the caller destroys it. NULL on failure.
 * @also INVALID, NOMEM.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_replay_create(unsigned keep, lanepool_replay **replay);

/** Destroys a replay. @complexity O(1) calls of free(). */
LANEPOOL_API void lanepool_replay_destroy(lanepool_replay *replay);

/**
 * Feeds the next event.
 * @param event As lanepool_trace_read() gave it.
 * @retval LANEPOOL_NOMEM No memory: the event is lost.
 * @also INVALID. @complexity O(lanes of the task), and O(tasks whose end was missed).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_replay_feed(lanepool_replay *replay, const lanepool_event *event);

/** Forgets all tasks and lanes. @complexity O(tasks + lanes). */
LANEPOOL_API void lanepool_replay_clear(lanepool_replay *replay);

/**
 * Returns a lane's index, or LANEPOOL_REPLAY_NONE.
 * @param type   As `object_type` of an event.
 * @param object As in an event.
 */
LANEPOOL_API size_t
lanepool_replay_lane_of(const lanepool_replay *replay, uint8_t type, uint64_t object);

/**
 * Returns the first task that a WAITING task waits for; LANEPOOL_REPLAY_NONE if none is known.
 * @param task An index of a task.
 * @complexity O(entries of the task).
 */
LANEPOOL_API size_t lanepool_replay_blocker(const lanepool_replay *replay, size_t task);

/** @} */

LANEPOOL_C_END

#endif
