/* Owns the rows about held clients and tasks. */
#include "commit/held_rows.h"

#include <stdlib.h>

#include "base/nearest.h"
#include "commit/task_header.h"
#include "memory.h"

/* --- which clients a command resumes --- */

enum lane_hold {
    NOT_HELD,
    WAITS,      /* held because of another lane's failure */
    HAS_FAILED, /* held because of its own failure */
    IS_RESUMED
};

struct choosing {
    struct store *store;
    struct quarantine *quarantine;
    const struct held_choice *choice;
    enum lane_hold *lanes; /* by lane */
    uint32_t *failed_seqs; /* by lane */
    size_t held_count;
    struct problem *problem;
};

typedef bool (*held_visitor)(struct choosing *choosing, const struct stored_held *held);

static bool visit_rows(struct choosing *choosing, held_visitor visit)
{
    struct stored_held held;
    struct store_cursor *cursor = store_cursor_open(choosing->store, STORE_HELD, choosing->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &held, choosing->problem);
        if (step == STORE_ROW && !visit(choosing, &held)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool load_lane(struct choosing *choosing, const struct stored_held *held)
{
    if (held->lane > plan_house_lane(choosing->quarantine->plan)) {
        return problem_set(choosing->problem, EXIT_CODE_IO,
                           "the database is damaged: its rows do not belong to this input");
    }
    choosing->lanes[held->lane] = held->seq == held->failed_seq ? HAS_FAILED : WAITS;
    choosing->failed_seqs[held->lane] = held->failed_seq;
    choosing->held_count++;
    return true;
}

/* Holds a lane that has failed itself. Lanes that only wait are held again when their tasks run. */
static bool hold_failed_lane(struct choosing *choosing, const struct stored_held *held)
{
    if (choosing->lanes[held->lane] == HAS_FAILED) {
        quarantine_hold(choosing->quarantine, held->lane, held->failed_seq, held->reason);
    }
    return true;
}

/* Returns the lane of a client's name; one past the last if there is no such client. */
static uint32_t find_lane(const struct plan *plan, struct slice name)
{
    for (uint32_t i = 0; i < plan->clients.count; i++) {
        if (slice_equal(plan->clients.items[i].name, name)) {
            return i;
        }
    }
    return plan_house_lane(plan) + !slice_equal(name, slice_of(PLAN_HOUSE_NAME));
}

static bool report_unknown_client(const struct choosing *choosing, const char *client)
{
    char hint[NEAREST_HINT_SIZE];
    const struct clients *clients = &choosing->quarantine->plan->clients;
    struct nearest nearest = nearest_to(slice_of(client));
    for (size_t i = 0; i < clients->count; i++) {
        nearest_try(&nearest, clients->items[i].name);
    }
    return problem_set(choosing->problem, EXIT_CODE_INPUT, "there is no client '%s'%s", client,
                       nearest_hint(&nearest, hint));
}

static bool resume_client(struct choosing *choosing, const char *client)
{
    const struct plan *plan = choosing->quarantine->plan;
    uint32_t lane = find_lane(plan, slice_of(client));
    if (lane > plan_house_lane(plan)) {
        return report_unknown_client(choosing, client);
    }
    switch (choosing->lanes[lane]) {
    case NOT_HELD:
        return problem_set(choosing->problem, EXIT_CODE_INPUT, "the client '%s' is not held",
                           client);
    case WAITS:
        return problem_set(choosing->problem, EXIT_CODE_INPUT,
                           "the client '%s' only waits, because task %u failed: name the clients "
                           "that it failed for",
                           client, choosing->failed_seqs[lane]);
    case HAS_FAILED:
    case IS_RESUMED:
        break;
    }
    choosing->lanes[lane] = IS_RESUMED;
    return true;
}

static bool resume_chosen(struct choosing *choosing)
{
    const struct held_choice *choice = choosing->choice;
    if (!choice->is_retry || choice->all) {
        memset(choosing->lanes, 0,
               (plan_house_lane(choosing->quarantine->plan) + 1) * sizeof *choosing->lanes);
    }
    for (size_t i = 0; i < choice->client_count; i++) {
        if (!resume_client(choosing, choice->clients[i])) {
            return false;
        }
    }
    return true;
}

bool held_rows_load(struct store *store, struct quarantine *quarantine,
                    const struct held_choice *choice, size_t deferral_count, size_t *held_count,
                    struct problem *problem)
{
    size_t lanes = (size_t)plan_house_lane(quarantine->plan) + 1;
    struct choosing choosing = { .store = store,
                                 .quarantine = quarantine,
                                 .choice = choice,
                                 .lanes = memory_zeroed(lanes, sizeof *choosing.lanes),
                                 .failed_seqs = memory_zeroed(lanes, sizeof *choosing.failed_seqs),
                                 .problem = problem };
    bool loaded = visit_rows(&choosing, load_lane);
    *held_count = choosing.held_count;
    if (loaded && choosing.held_count == 0 && deferral_count > 0 && choice->client_count > 0) {
        loaded = problem_set(problem, EXIT_CODE_INPUT,
                             "nothing is held, and deferred transactions are retried together: "
                             "give --all instead of --lane");
    }
    if (loaded && choice->is_retry && choosing.held_count == 0 && deferral_count == 0) {
        loaded = problem_set(problem, EXIT_CODE_INPUT,
                             "nothing is held; to resume a batch that was stopped: "
                             "ledgerbatch run");
    }
    loaded = loaded && resume_chosen(&choosing) && visit_rows(&choosing, hold_failed_lane);
    free(choosing.lanes);
    free(choosing.failed_seqs);
    return loaded;
}

/* --- recording held clients and tasks --- */

static bool put_held_lane(struct store *store, const struct quarantine *quarantine, uint32_t lane,
                          struct problem *problem)
{
    const struct lane_state *state = &quarantine->lanes[lane];
    struct stored_held held = { lane, state->held_seq, state->root_seq,
                                slice_of(quarantine_reason(quarantine, lane)) };
    return store_put_held(store, &held, problem);
}

static bool put_held_task(struct store *store, const struct quarantine *quarantine,
                          const struct held_task *held, struct buffer *text,
                          struct problem *problem)
{
    struct stored_transaction header = task_header(quarantine->plan, &held->task, text);
    bool put = store_put_held_task(store, &header, problem);
    for (size_t i = 0; put && i < held->holders.count; i++) {
        struct stored_share holder = { held->task.seq, held->holders.items[i] };
        put = store_put_holder(store, &holder, problem);
    }
    return put;
}

static bool put_held_rows(struct store *store, const struct quarantine *quarantine,
                          struct problem *problem)
{
    struct buffer text = { 0 };
    bool put = true;
    for (uint32_t i = 0; put && i <= plan_house_lane(quarantine->plan); i++) {
        put = quarantine->lanes[i].held_seq == 0 || put_held_lane(store, quarantine, i, problem);
    }
    for (size_t i = 0; put && i < quarantine->task_count; i++) {
        put = put_held_task(store, quarantine, &quarantine->tasks[i], &text, problem);
    }
    buffer_fini(&text);
    return put;
}

bool held_rows_record(struct store *store, struct quarantine *quarantine, struct problem *problem)
{
    bool recorded = store_begin(store, problem) && store_clear_held(store, problem) &&
                    put_held_rows(store, quarantine, problem) && store_commit(store, problem);
    if (!recorded) {
        store_rollback(store);
    }
    return recorded;
}
