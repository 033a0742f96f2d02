/* Owns the credits and the queue of blocked submitters; see admission.h. */
#include "sched/admission.h"

#include "lanepool/pool.h"

#define BATCH_MAX 64u
/* A credit is at most this part of the limit, so unused credits of threads hardly matter. */
#define CREDITS_TO_LIMIT 1024u
#define UNLIMITED_CREDIT ((uint64_t)1 << 62)

/* A blocked submitter; on its own stack. */
struct blocked_submitter {
    lanepool_i_waiter waiter;  /* called when it is served */
    lanepool_i_charge *charge; /* I */
    uint64_t credit;           /* L: given when served; 0 if refused */
};

bool lanepool_i_admission_init(lanepool_i_admission *admission, lanepool_i_thread_records *records,
                               size_t pending_max, lanepool_i_lane_quotas *quotas)
{
    admission->limit = pending_max == LANEPOOL_UNLIMITED ? UINT64_MAX : pending_max;
    admission->batch = pending_max / CREDITS_TO_LIMIT;
    if (admission->batch > BATCH_MAX)
        admission->batch = BATCH_MAX;
    if (admission->batch == 0)
        admission->batch = 1;
    admission->records = records;
    admission->quotas = quotas;
    admission->admitted = 0;
    admission->room = 0;
    lanepool_i_list_init(&admission->submitters);
    admission->closed = false;
    atomic_init(&admission->waiting, 0);
    return lanepool_i_mutex_init(&admission->lock, LANEPOOL_I_LOCK_ADMISSION);
}

void lanepool_i_admission_fini(lanepool_i_admission *admission)
{
    lanepool_i_mutex_fini(&admission->lock);
}

/* Takes back the credits that ended threads have not used. */
static void take_back_credits_locked(lanepool_i_admission *admission)
{
    lanepool_i_thread_records *records = admission->records;
    lanepool_i_mutex_lock(&records->lock);
    admission->admitted -= records->admitted;
    records->admitted = 0;
    lanepool_i_mutex_unlock(&records->lock);
}

/* Returns the room that is left; at least a whole credit, if there is so much. Tasks only finish,
 * so the room that was found last can be given before it is counted again. */
static uint64_t room_locked(lanepool_i_admission *admission)
{
    if (admission->limit == UINT64_MAX)
        return UNLIMITED_CREDIT;
    if (admission->room >= admission->batch)
        return admission->room;
    take_back_credits_locked(admission);
    uint64_t pending = admission->admitted - lanepool_i_thread_records_finished(admission->records);
    admission->room = pending < admission->limit ? admission->limit - pending : 0;
    return admission->room;
}

/* Gives a credit: a batch, or less if there is less room. Without any limit: one very large
 * credit. */
static uint64_t give_credit_locked(lanepool_i_admission *admission, uint64_t room)
{
    uint64_t most = admission->limit == UINT64_MAX ? room : admission->batch;
    uint64_t credit = room < most ? room : most;
    admission->admitted += credit;
    admission->room -= credit < admission->room ? credit : admission->room;
    return credit;
}

/* --- waiting --- */

static void count_waiting_locked(lanepool_i_admission *admission, int by)
{
    store_seq(&admission->waiting, load_relaxed(&admission->waiting) + (uint32_t)by);
}

/* The call comes last: the submitter's stack frame may be gone after it. */
static void serve_one_locked(lanepool_i_admission *admission, struct blocked_submitter *submitter,
                             uint64_t credit)
{
    count_waiting_locked(admission, -1);
    submitter->credit = credit;
    lanepool_i_waiter_call_locked(&submitter->waiter);
}

/* Counts the task in its lanes, if it is its turn there and they have room. */
static bool count_in_lanes_locked(lanepool_i_admission *admission, lanepool_i_charge *charge)
{
    return admission->quotas == NULL || charge == NULL || charge->count == 0 ||
           lanepool_i_lane_quotas_count_in_turn(admission->quotas, charge);
}

/* Serves blocked submitters, oldest first. A submitter that waits for a lane also blocks every
 * later one that wants that lane. Returns the room that is left; if there is none, not all
 * submitters were checked. With lane limits any room is enough: what blocks a submitter may be its
 * lane. */
static uint64_t serve_waiting_locked(lanepool_i_admission *admission, bool any)
{
    uint64_t least = any || admission->quotas != NULL ? 1 : admission->batch;
    if (admission->quotas != NULL)
        lanepool_i_lane_quotas_begin_walk(admission->quotas);
    uint64_t room = room_locked(admission);
    LANEPOOL_I_EACH(struct blocked_submitter, submitter, &admission->submitters, waiter.link) {
        if (room < least)
            break;
        if (!count_in_lanes_locked(admission, submitter->charge))
            continue;
        serve_one_locked(admission, submitter, give_credit_locked(admission, room));
        room = room_locked(admission);
    }
    return room;
}

/* --- admitting --- */

/* Returns where a thread has its credits. */
static uint64_t *credits_of(const lanepool_i_admission *admission, lanepool_i_thread_record *record)
{
    return admission->quotas != NULL ? &record->lane_credits : &record->admitted;
}

/* A task that claims nothing needs no more than a credit, as in a pool without lane limits. */
static bool admit_without_lock(lanepool_i_admission *admission,
                               const lanepool_i_thread_record *record, lanepool_i_charge *charge)
{
    return record->lane_credits > 0 &&
           (charge == NULL || charge->count == 0 ||
            lanepool_i_lane_quotas_count(admission->quotas, charge, &admission->waiting));
}

/* A submitter leaves its credits to those that wait. */
static void give_credits_back_locked(lanepool_i_admission *admission,
                                     lanepool_i_thread_record *record)
{
    admission->admitted -= record->lane_credits;
    record->lane_credits = 0;
}

/* The submitter is behind all that wait. Those are served first. Room that becomes free after they
 * were checked belongs to them, so it is not counted. If any room is left, all of them were
 * checked: so the submitter does not overtake one in a lane. */
static bool admit_behind_locked(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                                lanepool_i_charge *charge)
{
    give_credits_back_locked(admission, record);
    uint64_t room = serve_waiting_locked(admission, true);
    if (room == 0 || !count_in_lanes_locked(admission, charge))
        return false;
    record->lane_credits = give_credit_locked(admission, room);
    return true;
}

static bool try_with_lanes(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                           lanepool_i_charge *charge)
{
    bool admitted = admit_without_lock(admission, record, charge);
    if (!admitted) {
        lanepool_i_mutex_lock(&admission->lock);
        bool open = !admission->closed || lanepool_i_thread_is_inside_pool(record);
        admitted = open && admit_behind_locked(admission, record, charge);
        lanepool_i_mutex_unlock(&admission->lock);
    }
    record->lane_credits -= admitted;
    return admitted;
}

static uint64_t room_behind_locked(lanepool_i_admission *admission)
{
    return lanepool_i_list_is_empty(&admission->submitters) ? room_locked(admission) : 0;
}

bool lanepool_i_admission_try(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                              lanepool_i_charge *charge)
{
    if (admission->quotas != NULL)
        return try_with_lanes(admission, record, charge);
    if (record->admitted == 0) {
        lanepool_i_mutex_lock(&admission->lock);
        bool open = !admission->closed || lanepool_i_thread_is_inside_pool(record);
        if (open)
            record->admitted = give_credit_locked(admission, room_behind_locked(admission));
        lanepool_i_mutex_unlock(&admission->lock);
    }
    if (record->admitted == 0)
        return false;
    record->admitted--;
    return true;
}

void lanepool_i_admission_force(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                                lanepool_i_charge *charge)
{
    uint64_t *credits = credits_of(admission, record);
    if (charge != NULL && charge->count > 0)
        lanepool_i_lane_quotas_force(admission->quotas, charge);
    if (*credits > 0) {
        --*credits;
        return;
    }
    lanepool_i_mutex_lock(&admission->lock);
    admission->admitted++;
    admission->room -= admission->room > 0;
    lanepool_i_mutex_unlock(&admission->lock);
}

/* --- leaving --- */

void lanepool_i_admission_return_to_thread(lanepool_i_admission *admission,
                                           lanepool_i_thread_record *record)
{
    if (lanepool_i_admission_is_exact(admission)) {
        lanepool_i_admission_return_to_waiting(admission);
        return;
    }
    ++*credits_of(admission, record);
    if (admission->quotas != NULL) /* the task's lanes have room again */
        lanepool_i_admission_serve_after_finish(admission);
}

void lanepool_i_admission_return_to_waiting(lanepool_i_admission *admission)
{
    lanepool_i_mutex_lock(&admission->lock);
    admission->admitted--;
    (void)serve_waiting_locked(admission, true);
    lanepool_i_mutex_unlock(&admission->lock);
}

void lanepool_i_admission_serve(lanepool_i_admission *admission, bool any)
{
    lanepool_i_mutex_lock(&admission->lock);
    (void)serve_waiting_locked(admission, any);
    lanepool_i_mutex_unlock(&admission->lock);
}

void lanepool_i_admission_close(lanepool_i_admission *admission)
{
    lanepool_i_mutex_lock(&admission->lock);
    admission->closed = true;
    LANEPOOL_I_EACH(struct blocked_submitter, submitter, &admission->submitters, waiter.link)
        serve_one_locked(admission, submitter, 0);
    lanepool_i_mutex_unlock(&admission->lock);
}

/* Returns false if the deadline has passed and the submitter was not served. It may have blocked
 * later ones, so these are served. */
static bool wait_in_queue(lanepool_i_admission *admission, struct blocked_submitter *submitter)
{
    if (lanepool_i_waiter_sleep(&submitter->waiter, &admission->lock))
        return true;
    lanepool_i_mutex_lock(&admission->lock);
    count_waiting_locked(admission, -1);
    (void)serve_waiting_locked(admission, true);
    lanepool_i_mutex_unlock(&admission->lock);
    return false;
}

lanepool_status lanepool_i_admission_wait(lanepool_i_admission *admission,
                                          lanepool_i_thread_record *record,
                                          lanepool_i_charge *charge, uint64_t deadline_ns)
{
    struct blocked_submitter submitter = { .charge = charge };
    if (!lanepool_i_waiter_init(&submitter.waiter, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    submitter.waiter.driver = admission->driver;
    lanepool_i_mutex_lock(&admission->lock);
    bool closed = admission->closed;
    if (!closed) {
        give_credits_back_locked(admission, record); /* it gets one when it is served */
        lanepool_i_waiter_enter_locked(&submitter.waiter, &admission->submitters);
        count_waiting_locked(admission, 1);
        (void)serve_waiting_locked(admission, true);
    }
    lanepool_i_mutex_unlock(&admission->lock);
    bool served = !closed && wait_in_queue(admission, &submitter);
    lanepool_i_waiter_fini(&submitter.waiter);
    if (submitter.credit > 0) {
        *credits_of(admission, record) += submitter.credit - 1;
        return LANEPOOL_OK;
    }
    return closed || served ? LANEPOOL_SHUT_DOWN : LANEPOOL_TIMED_OUT;
}
