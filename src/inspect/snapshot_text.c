/* Owns the text form of snapshots and of reasons; see snapshot_text.h. */
#include "inspect/snapshot_text.h"

#include <string.h>

#define REASONS_MAX  64 /* reasons written; the rest are counted */
#define BLOCKERS_MAX 3  /* blocking tasks named for an idle worker */

/* --- pieces --- */

void lanepool_i_out_text(const lanepool_i_out *out, const char *text)
{
    out->write(out->context, text, strlen(text));
}

static void write_digits(const lanepool_i_out *out, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    out->write(out->context, digits + at, sizeof digits - at);
}

void lanepool_i_out_number(const lanepool_i_out *out, uint64_t number)
{
    write_digits(out, number, 10);
}

void lanepool_i_out_count(const lanepool_i_out *out, uint64_t count, const char *what)
{
    lanepool_i_out_number(out, count);
    lanepool_i_out_text(out, " ");
    lanepool_i_out_text(out, what);
    if (count != 1)
        lanepool_i_out_text(out, "s");
}

void lanepool_i_out_ms(const lanepool_i_out *out, uint64_t from_ns, uint64_t to_ns)
{
    lanepool_i_out_number(out, to_ns > from_ns ? (to_ns - from_ns) / UINT64_C(1000000) : 0);
    lanepool_i_out_text(out, " ms");
}

static void write_name(const lanepool_i_out *out, const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char byte = (unsigned char)*name;
        bool plain = byte >= 0x80 || (byte >= ' ' && byte != 0x7f && byte != '"' && byte != '\\');
        out->write(out->context, plain ? name : "?", 1);
    }
}

void lanepool_i_out_task(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t task)
{
    lanepool_i_out_text(out, "task ");
    lanepool_i_out_number(out, snapshot->tasks[task].ticket);
    if (snapshot->tasks[task].label != NULL) {
        lanepool_i_out_text(out, " (");
        write_name(out, snapshot->tasks[task].label);
        lanepool_i_out_text(out, ")");
    }
}

static void write_key(const lanepool_i_out *out, const char *name, uint32_t type, uint64_t number)
{
    if (name[0] != '\0') {
        write_name(out, name);
    } else if (type == LANEPOOL_EVENT_LANE_POINTER) {
        lanepool_i_out_text(out, "0x");
        write_digits(out, number, 16);
    } else {
        lanepool_i_out_number(out, number);
    }
}

void lanepool_i_out_lane(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t index)
{
    const lanepool_snapshot_lane *lane = &snapshot->lanes[index];
    if (lane->type == LANEPOOL_EVENT_LANE_WORKER)
        lanepool_i_out_text(out, "worker ");
    write_key(out, lane->name, lane->type, lane->number);
}

static void write_retry(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                        const lanepool_snapshot_task *task)
{
    lanepool_i_out_text(out, " has failed ");
    lanepool_i_out_count(out, task->attempts, "time");
    lanepool_i_out_text(out, " and is retried in ");
    lanepool_i_out_ms(out, snapshot->time_ns, task->retry_ns);
}

static void write_priority(const lanepool_i_out *out, const lanepool_snapshot_task *task)
{
    if (task->priority > 0 || task->level > 0) {
        lanepool_i_out_text(out, ", priority ");
        lanepool_i_out_number(out, task->priority);
    }
    if (task->level > task->priority) {
        lanepool_i_out_text(out, ", lent ");
        lanepool_i_out_number(out, task->level);
    }
}

static void write_context_caller(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                                 const lanepool_snapshot_context *context)
{
    if (context->closing) {
        lanepool_i_out_text(out, "being closed");
        return;
    }
    lanepool_i_out_text(out, "being opened or asked by ");
    if (context->task == LANEPOOL_SNAPSHOT_NONE)
        lanepool_i_out_text(out, "a task that has just started");
    else
        lanepool_i_out_task(out, snapshot, context->task);
}

/* Writes why a running task may make no progress. */
static void write_busy_context(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                               size_t task)
{
    const lanepool_snapshot_context *context =
        &snapshot->contexts[snapshot->tasks[task].busy_context];
    if (context->task == task) {
        lanepool_i_out_text(out, ", and opens or asks context ");
        write_key(out, context->name, context->type, context->number);
        return;
    }
    lanepool_i_out_text(out, ", and waits for context ");
    write_key(out, context->name, context->type, context->number);
    lanepool_i_out_text(out, ", which is ");
    write_context_caller(out, snapshot, context);
}

static void write_running(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                          size_t index)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[index];
    if (task->detached) {
        lanepool_i_out_text(out, " is detached until it is completed");
        return;
    }
    lanepool_i_out_text(out, " runs on ");
    if (task->worker == LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_text(out, task->pumped ? "its pump's thread" : "its submitter's thread");
    } else {
        lanepool_i_out_text(out, "worker ");
        lanepool_i_out_number(out, task->worker);
    }
    if (task->busy_context != LANEPOOL_SNAPSHOT_NONE)
        write_busy_context(out, snapshot, index);
}

void lanepool_i_out_state(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                          size_t index)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[index];
    switch (task->state) {
    case LANEPOOL_SNAPSHOT_RUNNING:
        write_running(out, snapshot, index);
        break;
    case LANEPOOL_SNAPSHOT_READY:
        lanepool_i_out_text(out, task->pumped ? " is ready and waits for its pump"
                                              : " is ready and waits for a worker");
        if (snapshot->paused)
            lanepool_i_out_text(out, "; the pool is paused");
        break;
    case LANEPOOL_SNAPSHOT_RETRYING:
        write_retry(out, snapshot, task);
        break;
    case LANEPOOL_SNAPSHOT_PARKED:
        lanepool_i_out_text(out, " has failed ");
        lanepool_i_out_count(out, task->attempts, "time");
        lanepool_i_out_text(out, " and is parked until it is resolved");
        break;
    case LANEPOOL_SNAPSHOT_VISITED:
        lanepool_i_out_text(out, " is a cut that has begun, and has ");
        lanepool_i_out_count(out, task->entry_count, "lane");
        lanepool_i_out_text(out, " left to visit");
        break;
    case LANEPOOL_SNAPSHOT_LATCHED:
        lanepool_i_out_text(out, " is latched with ");
        lanepool_i_out_number(out, task->arrived);
        lanepool_i_out_text(out, " of ");
        lanepool_i_out_count(out, task->entry_count, "lane");
        break;
    default:
        lanepool_i_out_text(out, " waits");
    }
    if (task->missing > 0) {
        lanepool_i_out_text(out, ", without ");
        lanepool_i_out_count(out, task->missing, "poisoned lane");
    }
    write_priority(out, task);
}

/* --- reasons --- */

/* Writes the level of a task's entry in the lane, if the task itself has a lower one. */
static void write_level_in_lane(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                                size_t index, size_t lane)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[index];
    const lanepool_snapshot_entry *entries = &snapshot->entries[task->first_entry];
    for (size_t i = 0; i < task->entry_count; i++) {
        if (entries[i].lane != lane || entries[i].level <= task->level)
            continue;
        lanepool_i_out_text(out, ", lent ");
        lanepool_i_out_number(out, entries[i].level);
        lanepool_i_out_text(out, " in this lane");
    }
}

static void write_reason(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                         const lanepool_snapshot_reason *reason)
{
    const lanepool_snapshot_entry *entry = &snapshot->entries[reason->entry];
    for (size_t i = 0; i <= reason->depth; i++)
        lanepool_i_out_text(out, "  ");
    lanepool_i_out_task(out, snapshot, entry->task);
    if (entry->lane == LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_text(out, " conflicts with an earlier one: ");
    } else {
        lanepool_i_out_text(out, " waits in lane ");
        lanepool_i_out_lane(out, snapshot, entry->lane);
        lanepool_i_out_text(out, " with ");
        lanepool_i_out_number(out, entry->ahead);
        lanepool_i_out_text(out, " before it: ");
    }
    if (reason->blocker == LANEPOOL_SNAPSHOT_NONE && entry->lane != LANEPOOL_SNAPSHOT_NONE &&
        snapshot->lanes[entry->lane].paused) {
        lanepool_i_out_text(out, "the lane is paused");
    } else if (reason->blocker == LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_text(out, "a task that enters or leaves");
    } else {
        lanepool_i_out_task(out, snapshot, reason->blocker);
        lanepool_i_out_state(out, snapshot, reason->blocker);
        if (entry->lane != LANEPOOL_SNAPSHOT_NONE)
            write_level_in_lane(out, snapshot, reason->blocker, entry->lane);
    }
    lanepool_i_out_text(out, "\n");
}

lanepool_status lanepool_snapshot_write_reasons(const lanepool_snapshot *snapshot, uint64_t ticket,
                                                lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    lanepool_snapshot_reason reasons[REASONS_MAX];
    size_t count;
    if (snapshot == NULL || write == NULL)
        return LANEPOOL_INVALID;
    size_t task = lanepool_snapshot_find(snapshot, ticket);
    if (task == LANEPOOL_SNAPSHOT_NONE)
        return LANEPOOL_INVALID;
    lanepool_status status =
        lanepool_snapshot_explain(snapshot, task, reasons, REASONS_MAX, &count);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_out_task(&out, snapshot, task);
    lanepool_i_out_state(&out, snapshot, task);
    lanepool_i_out_text(&out, "\n");
    for (size_t i = 0; i < count && i < REASONS_MAX; i++)
        write_reason(&out, snapshot, &reasons[i]);
    if (count > REASONS_MAX) {
        lanepool_i_out_text(&out, "  and ");
        lanepool_i_out_count(&out, count - REASONS_MAX, "more reason");
        lanepool_i_out_text(&out, "\n");
    }
    return LANEPOOL_OK;
}

/* --- the whole snapshot --- */

static size_t count_tasks_in_state(const lanepool_snapshot *snapshot, lanepool_snapshot_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->task_count; i++)
        count += snapshot->tasks[i].state == state;
    return count;
}

/* Returns whether the task has started and another task waits behind it. */
static bool blocks_others(const lanepool_snapshot *snapshot, size_t index)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[index];
    if (task->state < LANEPOOL_SNAPSHOT_RUNNING)
        return false;
    for (size_t i = 0; i < task->entry_count; i++) {
        const lanepool_snapshot_entry *entry = &snapshot->entries[task->first_entry + i];
        if (entry->lane != LANEPOOL_SNAPSHOT_NONE && snapshot->lanes[entry->lane].waiting > 0 &&
            !snapshot->lanes[entry->lane].by_rule)
            return true;
    }
    for (size_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].behind == index)
            return true;
    return false;
}

static void write_idle_reason(const lanepool_i_out *out, const lanepool_snapshot *snapshot)
{
    size_t waiting = count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_WAITING) +
                     count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_LATCHED);
    if (snapshot->paused) {
        lanepool_i_out_text(out, " idles: the pool is paused\n");
        return;
    }
    if (count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_READY) > 0) {
        lanepool_i_out_text(out, " is about to take up a ready task\n");
        return;
    }
    if (waiting == 0) {
        lanepool_i_out_text(out, " idles: no task waits\n");
        return;
    }
    lanepool_i_out_text(out, " idles: ");
    lanepool_i_out_count(out, waiting, "waiting task");
    const char *before = waiting == 1 ? " needs the end of " : " need the end of ";
    size_t named = 0;
    for (size_t i = 0; i < snapshot->task_count; i++)
        if (blocks_others(snapshot, i) && named++ < BLOCKERS_MAX) {
            lanepool_i_out_text(out, named == 1 ? before : ", ");
            lanepool_i_out_task(out, snapshot, i);
        }
    if (named > BLOCKERS_MAX) {
        lanepool_i_out_text(out, " and ");
        lanepool_i_out_number(out, named - BLOCKERS_MAX);
        lanepool_i_out_text(out, " more");
    }
    lanepool_i_out_text(out, "\n");
}

static void write_worker(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t index)
{
    const lanepool_snapshot_worker *worker = &snapshot->workers[index];
    lanepool_i_out_text(out, "worker ");
    lanepool_i_out_number(out, index);
    if (worker->absent) {
        lanepool_i_out_text(out, " is absent\n");
        return;
    }
    if (worker->task == LANEPOOL_SNAPSHOT_NONE) {
        write_idle_reason(out, snapshot);
        return;
    }
    lanepool_i_out_text(out, " runs ");
    lanepool_i_out_task(out, snapshot, worker->task);
    if (worker->ready > 0) {
        lanepool_i_out_text(out, ", ");
        lanepool_i_out_count(out, worker->ready, "ready task");
        lanepool_i_out_text(out, " in its queue");
    }
    lanepool_i_out_text(out, "\n");
}

/* A pending task counts against the limit before it has an entry in the lane. */
static void write_lane_limit(const lanepool_i_out *out, const lanepool_snapshot_lane *lane)
{
    lanepool_i_out_text(out, ", ");
    lanepool_i_out_number(out, lane->pending);
    lanepool_i_out_text(out, " of at most ");
    lanepool_i_out_number(out, lane->pending_max);
    lanepool_i_out_text(out, " pending");
}

static void write_lane(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t index)
{
    const lanepool_snapshot_lane *lane = &snapshot->lanes[index];
    lanepool_i_out_text(out, "lane ");
    lanepool_i_out_lane(out, snapshot, index);
    lanepool_i_out_text(out, ": ");
    for (size_t i = 0; i < lane->granted; i++) {
        size_t task = snapshot->entries[snapshot->order[lane->first + i]].task;
        lanepool_i_out_text(out, i > 0 ? ", " : "");
        lanepool_i_out_task(out, snapshot, task);
        lanepool_i_out_state(out, snapshot, task);
    }
    if (lane->unknown > 0) {
        lanepool_i_out_text(out, lane->granted > 0 ? ", " : "");
        lanepool_i_out_count(out, lane->unknown, "task");
        lanepool_i_out_text(out, " entering or leaving");
    }
    if (lane->waiting > 0) {
        lanepool_i_out_text(out, lane->granted + lane->unknown > 0 ? "; " : "");
        lanepool_i_out_number(out, lane->waiting);
        lanepool_i_out_text(out, lane->waiting == 1 ? " waits" : " wait");
    }
    if (lane->paused)
        lanepool_i_out_text(out, " (paused)");
    if (lane->pending_max != 0 && lane->pending_max != LANEPOOL_UNLIMITED)
        write_lane_limit(out, lane);
    lanepool_i_out_text(out, "\n");
}

static void write_context_callback(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                                   const lanepool_snapshot_context *context)
{
    lanepool_i_out_text(out, ": ");
    write_context_caller(out, snapshot, context);
    if (context->waiting > 0) {
        lanepool_i_out_text(out, ", ");
        lanepool_i_out_number(out, context->waiting);
        lanepool_i_out_text(out, context->waiting == 1 ? " task waits" : " tasks wait");
    }
    lanepool_i_out_text(out, "\n");
}

static void write_context(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                          size_t index)
{
    const lanepool_snapshot_context *context = &snapshot->contexts[index];
    lanepool_i_out_text(out, "context ");
    write_key(out, context->name, context->type, context->number);
    if (context->busy) {
        write_context_callback(out, snapshot, context);
        return;
    }
    if (context->users > 0) {
        lanepool_i_out_text(out, ": used by ");
        lanepool_i_out_count(out, context->users, "task");
        lanepool_i_out_text(out, "\n");
        return;
    }
    uint64_t now_ns =
        snapshot->time_ns > context->idle_since_ns ? snapshot->time_ns : context->idle_since_ns;
    lanepool_i_out_text(out, ": idle for ");
    lanepool_i_out_ms(out, context->idle_since_ns, now_ns);
    if (context->due_ns == UINT64_MAX) {
        lanepool_i_out_text(out, ", kept until the pool ends\n");
        return;
    }
    lanepool_i_out_text(out, ", closed in ");
    lanepool_i_out_ms(out, now_ns, context->due_ns);
    lanepool_i_out_text(out, "\n");
}

static void write_failed_count(const lanepool_i_out *out, size_t count, const char *what)
{
    if (count == 0)
        return;
    lanepool_i_out_text(out, ", ");
    lanepool_i_out_number(out, count);
    lanepool_i_out_text(out, what);
}

lanepool_status lanepool_snapshot_write_text(const lanepool_snapshot *snapshot,
                                             lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    if (snapshot == NULL || write == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_out_count(&out, snapshot->task_count, "pending task");
    lanepool_i_out_text(&out, ": ");
    lanepool_i_out_number(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_RUNNING));
    lanepool_i_out_text(&out, " running, ");
    lanepool_i_out_number(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_READY));
    lanepool_i_out_text(&out, " ready, ");
    lanepool_i_out_number(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_LATCHED));
    lanepool_i_out_text(&out, " latched, ");
    lanepool_i_out_number(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_WAITING));
    lanepool_i_out_text(&out, " waiting");
    write_failed_count(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_RETRYING),
                       " to be retried");
    write_failed_count(&out, count_tasks_in_state(snapshot, LANEPOOL_SNAPSHOT_PARKED), " parked");
    lanepool_i_out_text(&out, "\n");
    if (snapshot->blocked > 0) {
        lanepool_i_out_count(&out, snapshot->blocked, "submit");
        lanepool_i_out_text(&out,
                            snapshot->blocked == 1 ? " waits for room\n" : " wait for room\n");
    }
    for (size_t i = 0; i < snapshot->worker_count; i++)
        write_worker(&out, snapshot, i);
    for (size_t i = 0; i < snapshot->lane_count; i++)
        write_lane(&out, snapshot, i);
    for (size_t i = 0; i < snapshot->context_count; i++)
        write_context(&out, snapshot, i);
    return LANEPOOL_OK;
}
