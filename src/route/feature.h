/*
 * Features: what a task or a pool may ask for beyond claims. The core calls no feature by name. It
 * calls the functions of this struct where a task passes. It does so for wide tasks only: a task
 * that such a feature concerns is wide. The exception is a feature with room in plain tasks.
 * pool/features.c lists the features that fill such a struct, in the order of the calls.
 *
 * There are two kinds of functions. Of the *claiming* ones, the first that returns true has taken
 * the task over, and no other is called. Of the *observing* ones, all are called. If one of several
 * features refuses a task, those before it undo what they have done, in reverse order.
 *
 * A function that a feature does not need is NULL. Threads: S the submitter, R the role's holder, W
 * the thread that runs or ends the task, C the clock thread.
 *
 * Room. A feature may have room in the block of each wide task: behind the task's entries, where
 * `as.wide.room` leads. Under a rule with kinds, which need that field, the rooms are in front of
 * the entries, at a fixed offset.
 */
#ifndef LANEPOOL_SRC_ROUTE_FEATURE_H
#define LANEPOOL_SRC_ROUTE_FEATURE_H

#include "lane/lane.h"
#include "lane/visits.h"
#include "lanepool/pool.h"
#include "route/offers.h"
#include "sched/thread_record.h"

struct lanepool_detached;

/* The next step of a ready cut. */
typedef enum lanepool_i_turn {
    LANEPOOL_I_TURN_CALL,  /* the function is to be called */
    LANEPOOL_I_TURN_ENDED, /* the task ends, or fails: its function is not called */
    LANEPOOL_I_TURN_VISITS /* `visits` is to be called */
} lanepool_i_turn;

/* The room that a feature has in a plain task; see lanepool_i_line_behind. */
typedef enum lanepool_i_plain_use {
    LANEPOOL_I_PLAIN_NONE,
    LANEPOOL_I_PLAIN_POINTERS, /* a pointer for each claim, or a record */
    LANEPOOL_I_PLAIN_FRONT,    /* the front of the line behind */
    LANEPOOL_I_PLAIN_LINE      /* the whole line */
} lanepool_i_plain_use;

typedef struct lanepool_i_feature {
    /* --- a pool --- */

    /* Returns true if the pool's options ask for the feature. NULL: every pool has it. */
    bool (*is_wanted)(const lanepool_options *options);
    /* With `is_wanted`: the row of offers.h that says which sorts of pools offer it. */
    lanepool_i_offer offer;
    /* In a pool with the feature, all tasks are wide. */
    bool all_wide;
    /* Bytes of the pool's memory that are the feature's. */
    size_t part_size;
    /* A pool with the feature is created; its other parts are not made yet. `part` is all zero. */
    void (*open)(lanepool_pool *pool, void *part);

    /* --- room in a block --- */

    size_t room_size;
    /* More bytes for each entry. Only for the last feature with room; 0 under a rule with kinds. */
    size_t room_per_entry;
    /* Not NONE: the feature has room in plain tasks, too. Its functions are then called for plain
     * tasks. If two features want the same room, the pool has no plain tasks. */
    lanepool_i_plain_use plain_use;
    /* Observing: initializes the room, when the block is built, and before each later run of a
     * periodic task. */
    void (*init_room)(lanepool_pool *pool, const lanepool_task *task, lanepool_i_task *block);

    /* --- a submit, by S --- */

    /* Observing: charges a task before it is admitted, in the thread record. */
    lanepool_status (*admit)(lanepool_pool *pool, lanepool_i_thread_record *record,
                             const lanepool_task *task);
    void (*unadmit)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* Claiming: returns the size of the task's member record; 0 if the feature needs none. */
    size_t (*member_size)(const lanepool_pool *pool, const lanepool_task *task);
    /* Observing: adds to a block that is complete otherwise, and has its member. A member that the
     * block gives back takes what was added to it along. */
    lanepool_status (*build)(lanepool_pool *pool, lanepool_i_thread_record *record,
                             const lanepool_task *task, lanepool_i_task *block);
    void (*unbuild)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *block);

    /* --- routing, by R --- */

    /* Claiming, by R: routes the task in another way than its rule does, and returns true. Called
     * only for a task that `build` has made a MESSAGE, and for one that was held back. */
    bool (*route)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                  lanepool_i_grants *grants);

    /* Observing, by R: the rule was asked about a new task and an old one. */
    void (*asked)(lanepool_pool *pool, lanepool_i_thread_record *record,
                  const lanepool_i_task *new_one, const lanepool_i_task *old, bool compatible);

    /* --- in the lanes of keys, one feature at most --- */

    /* R: the task's entries have their lanes, but are in none yet. */
    void (*place)(lanepool_pool *pool, lanepool_i_task *task);
    /* W: the task is about to leave its lanes. */
    void (*leave)(lanepool_pool *pool, lanepool_i_task *task);
    /* R: the task is about to leave one lane early; the last entry takes the entry's index. */
    void (*leave_entry)(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
    /* R: the task's entry is about to leave its lane without having been granted. The entry stays
     * in the task, and waits for nothing. W: the same of a cut's granted entry, which was visited.
     */
    void (*withdraw_entry)(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
    /* R: a cancelled rollup is about to leave its lanes one by one. */
    void (*leave_tombstone)(lanepool_pool *pool, lanepool_i_task *task);
    /* W: the receiver is about to get all lanes of the task. */
    void (*move_lanes)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver);
    /* Bytes behind each visitor of a cut. */
    size_t visitor_room;
    /* W: a visit has failed, so its lane waits for the cut's other lanes. */
    void (*keep_entry)(lanepool_pool *pool, lanepool_i_task *cut, size_t entry);
    /* By the thread that ends a cut's round: entries that were withdrawn are not in the cut any
     * more. The others have moved to the front, in their order. */
    void (*end_round)(lanepool_pool *pool, lanepool_i_task *cut);
    /* W: a visitor has made a visit. Returns true if it may make another one before other ready
     * tasks. */
    bool (*may_visit_on)(lanepool_pool *pool, lanepool_i_visitor *visitor);

    /* --- a worker's thread --- */

    /* Observing: the thread begins, before it calls `worker_start`. */
    void (*begin_worker)(lanepool_pool *pool);

    /* --- a run, by W --- */

    /* Claiming: calls the task's function, and returns what that has returned. Only with
     * `all_wide`.
     */
    int (*call)(lanepool_pool *pool, lanepool_run *run, lanepool_i_task *task);
    /* With `call`: makes a visitor's call of `at_lane`, and returns what that has returned. */
    int (*call_at_lane)(lanepool_pool *pool, lanepool_run *run, lanepool_i_visitor *visitor);
    /* One feature: the turn of a task with CUT has come. Sets *result if the task ends. */
    lanepool_i_turn (*turn)(lanepool_i_task *task, lanepool_result *result);
    /* With `turn`: makes visits. `is_abandoned`: the last visit has ended its thread. */
    void (*visits)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   bool is_abandoned, lanepool_i_grants *grants);
    /* With `turn`: a task with CUT ends, and has not succeeded. It still has its lanes. */
    void (*ends_uncalled)(lanepool_i_thread_record *record, const lanepool_i_task *task);
    /* Observing, with room: a visit of a cut begins; see visits.h. Its part has the
     * cut's ticket, function, context and tag. The part's room is not initialized. */
    void (*begin_visit)(lanepool_pool *pool, lanepool_i_task *cut, lanepool_i_task *part,
                        uint32_t number);
    /* Observing: `at_lane` has returned or ended its thread. The lane has not gone on. */
    void (*end_at_lane)(lanepool_pool *pool, lanepool_i_visitor *visitor);
    /* Observing, with room: the visit has succeeded, and its lane is about to go on. */
    void (*end_visit)(lanepool_pool *pool, lanepool_i_task *part, lanepool_mode mode);
    /* Observing: the task is about to release this lane before it ends. */
    void (*release_early)(lanepool_pool *pool, lanepool_i_task *task, const lanepool_i_lane *lane,
                          lanepool_mode mode);
    /* Claiming: returns true if the function must not be called. *result is then the task's. */
    bool (*refuses_start)(lanepool_i_task *task, lanepool_result *result);
    /* Claiming: handles a failed attempt. Returns true if the task has not ended, and is not the
     * caller's any more; a task that is ready again was added to `grants`. A task that has handed
     * its lanes over ends (`has_lanes` is false). */
    bool (*failed)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   const lanepool_result *result, bool has_lanes, lanepool_i_grants *grants);
    /* Claiming: the task ends now, with this result; it still has its lanes, or a receiver has
     * them. `was_called`: its function was called in this attempt. Returns true if the feature
     * completes the task's future later. */
    bool (*ended)(lanepool_pool *pool, lanepool_i_task *task, const lanepool_result *result,
                  bool was_called, bool has_lanes);
    /* Observing: `on_error` has returned. The task still has its lanes. */
    void (*reported)(lanepool_pool *pool, lanepool_i_task *task);
    /* Observing: the task has failed, and will be ready again. */
    void (*retried)(lanepool_pool *pool, lanepool_i_task *task);
    /* Observing, by R with the waits' lock: a wait inside a task has begun. */
    void (*wait_inside)(lanepool_pool *pool);
    /* Observing: a call with a record ends, before the task's lanes are released. */
    void (*end_call)(lanepool_pool *pool, struct lanepool_detached *call);
    /* Observing: the receiver takes the task's place in its lanes. */
    void (*hand_over)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver);

    /* --- the end of a task, by W or R --- */

    /* Claiming: returns true if the task that is to be disposed of, maybe without its release
     * callback, must stay. The feature disposes of it later in the same way. */
    bool (*postpones)(lanepool_pool *pool, lanepool_i_task *task, bool silently);
    /* Claiming: keeps the block of a task that has ended, for another run. */
    bool (*recycle)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
    /* Observing: the block is about to be given back, and the task to count as finished. */
    void (*dispose)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);

    /* Observing, by R: adds to the description of a task that is handed back. */
    void (*hand_back)(lanepool_pool *pool, lanepool_i_task *task, lanepool_task *description);

    /* --- a snapshot --- */

    /* Observing, by any thread that keeps the block from being reused. */
    void (*describe)(lanepool_pool *pool, lanepool_i_task *task, lanepool_snapshot_task *described);

    /* --- the clock thread --- */

    /* Observing, by C, which holds no lock: does what is due. Returns when it must be called again,
     * or UINT64_MAX. */
    uint64_t (*on_clock)(lanepool_pool *pool, lanepool_i_thread_record *record);
} lanepool_i_feature;

enum { LANEPOOL_I_FEATURES_MAX = 14 };

/* A pool's features that have a certain function, in their order; the last one is NULL. */
typedef const lanepool_i_feature *lanepool_i_slot[LANEPOOL_I_FEATURES_MAX + 1];

/* I */
typedef struct lanepool_i_slots {
    lanepool_i_slot room;
    lanepool_i_slot admit;
    lanepool_i_slot member_size;
    lanepool_i_slot build;
    lanepool_i_slot route;
    lanepool_i_slot asked;
    lanepool_i_slot begin_worker;
    lanepool_i_slot refuses_start;
    lanepool_i_slot call;
    lanepool_i_slot begin_visit;
    lanepool_i_slot end_at_lane;
    lanepool_i_slot end_visit;
    lanepool_i_slot release_early;
    lanepool_i_slot failed;
    lanepool_i_slot ended;
    lanepool_i_slot postpones;
    lanepool_i_slot reported;
    lanepool_i_slot retried;
    lanepool_i_slot wait_inside;
    lanepool_i_slot end_call;
    lanepool_i_slot hand_over;
    lanepool_i_slot recycle;
    lanepool_i_slot dispose;
    lanepool_i_slot hand_back;
    lanepool_i_slot describe;
    lanepool_i_slot on_clock;
    lanepool_i_slot in_plain;           /* those with room in plain tasks */
    const lanepool_i_feature *in_lanes; /* the one with `place` and the like, or NULL */
    const lanepool_i_feature *cut;      /* the one with `turn` */
} lanepool_i_slots;

/* Where blocks have room for features. I */
typedef struct lanepool_i_room {
    size_t at;        /* its offset in the block; 0: `as.wide.room` leads to it */
    size_t size;      /* bytes of it behind the entries */
    size_t per_entry; /* more of them for each entry */
    bool in_line;     /* features need the line behind each plain task */
} lanepool_i_room;

/* Returns the size of the parts of the features that the options ask for. The list ends with NULL.
 */
size_t lanepool_i_features_part_size(const lanepool_i_feature *const *features,
                                     const lanepool_options *options);
/* Fills the slots of a pool that has its options, its rule and the rule's extension, and opens the
 * features. Their parts are at `parts`. */
void lanepool_i_features_open(lanepool_pool *pool, const lanepool_i_feature *const *features,
                              void *parts);

/* Returns the feature's room in a wide task's block. */
void *lanepool_i_features_room(const lanepool_pool *pool, const lanepool_i_feature *feature,
                               lanepool_i_task *task);

/* S: fills the room in a plain task, and calls `build`. Returns OK, or an error: then nothing was
 * built. */
lanepool_status lanepool_i_features_build_plain(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                const lanepool_task *task, lanepool_i_task *block);
/* S: each calls the functions of its name, and undoes them if one of them fails. */
lanepool_status lanepool_i_features_admit(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task);
void lanepool_i_features_unadmit(lanepool_pool *pool, lanepool_i_thread_record *record);
lanepool_status lanepool_i_features_build(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, lanepool_i_task *block);
void lanepool_i_features_unbuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *block);
/* Returns the size of a task's member record as a feature needs it; 0 if none needs one. */
size_t lanepool_i_features_member_size(const lanepool_pool *pool, const lanepool_task *task);

/* R: routes a task by the feature that claims it, or by the rule. */
void lanepool_i_features_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, lanepool_i_grants *grants);

/* W: calls `dispose` of each feature that has to do with the task. */
void lanepool_i_features_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task);
void lanepool_i_features_dispose_plain(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task);

#endif
